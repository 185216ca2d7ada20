"""Tests of operations in a journal: they are read back as they were written, a start of kac finds the open ones, and
one process at a time runs them.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from console.journal import file as files
from console.journal import operations
from console.journal.entries import this_process
from console.journal.file import JournalFile
from console.model.journal_lines import OperationLine, Origin, Who
from console.operations import goals
from console.operations.operation import Operation, Progress, State, Step
from console.operations.proposal import DirMove, Relocation
from console.operations.throttle import Throttles

AT = datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC)
WHO = Who("User:alice", "alice")
HERE = Origin("host-1", "moves", 17, "boot-1")
MOVES = (Relocation("orders", 0, (1, 2, 3), (1, 2, 4), 5_000),)
SETS = Throttles(10, ((1, "a"), (4, "b")), (("orders", "list", ("0:4",)),))
GOALS: list[goals.Goal] = [
    goals.Drain((3, 4)),
    goals.Replace(3, 5),
    goals.Balance(),
    goals.MoveTopic("orders", (1, 2)),
    goals.Replicate("orders", 3),
    goals.DrainDir(3, "/data 1"),
    goals.MoveIntoDir("orders", 3, "/data2"),
    goals.MoveIntoDir("orders", 3, "/data2", 0),
    goals.Restore(7, (("orders", 0, (1, 2, 3)),), (("orders", 0, 1, "/data2"),)),
    goals.Reassign((("orders", 0, (1, 2, 3)), ("returns", 1, (2,))), (("orders", 0, 1, "/data2"),)),
]


@pytest.fixture
def journal(tmp_path: Path) -> JournalFile:
    return JournalFile(tmp_path / "journal" / "id.jsonl")


DRAIN = goals.Drain((3,))


def begun(journal: JournalFile, goal: goals.Goal = DRAIN) -> int:
    return journal.begin_operation(AT, msgspec.to_builtins(operations.Begun("prod", WHO, HERE, goal, 10)))


def note(journal: JournalFile, number: int, what: Step | Progress | operations.Asked | operations.Over) -> None:
    journal.note(operations.operation_line(number, AT, what))


@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_what_is_written_is_read_back(journal: JournalFile, goal: goals.Goal) -> None:
    number = begun(journal, goal)
    within = (DirMove("orders", 0, 3, "/data1", "/data2", 5_000, (3, 1)),)
    step = Step(AT, AT + timedelta(hours=2), MOVES, SETS, within, (("orders", 0),))
    far = Progress(AT, State.RUNNING, 1, 2, ("a", "b"))
    note(journal, number, step)
    note(journal, number, far)
    expected = Operation(number, AT, "prod", WHO, HERE, goal, 10, (step,), far)
    assert (
        operations.operations(journal.read().records)
        == operations.operations(journal.open().records)
        == {number: expected}
    )


def test_what_is_asked_of_it(journal: JournalFile) -> None:
    number = begun(journal)
    note(journal, number, operations.Asked(WHO, throttle=20))
    assert operations.operations(journal.open().records)[number].throttle == 20
    note(journal, number, operations.Asked(WHO, throttle=0))
    note(journal, number, operations.Asked(WHO, cancel=True))
    asked = operations.operations(journal.open().records)[number]
    assert (asked.throttle, asked.cancelling) == (None, True)


def test_a_start_reads_open_ones_and_their_last_progress_alone(
    journal: JournalFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start reads only the open operations and their last progress, with or without a checkpoint of the journal."""
    monkeypatch.setattr(files, "CHECKPOINT_BYTES", 1_000)
    first = begun(journal)
    for copied in range(50):
        note(journal, first, Progress(AT, State.RUNNING, copied))
    note(journal, first, operations.Over(State.DONE))
    second = begun(journal, goals.Balance())
    assert second == first + 1
    for copied in range(50):
        note(journal, second, Progress(AT, State.RUNNING, copied))
        (operation,) = operations.operations(journal.open().records).values()
        assert (operation.number, operation.progress) == (second, Progress(AT, State.RUNNING, copied))
        assert len(journal.open().records) == 2
    assert [each.state for each in operations.operations(journal.read().records).values()] == [
        State.DONE,
        State.RUNNING,
    ]


def test_a_line_of_another_form_hides_no_other(journal: JournalFile) -> None:
    number = begun(journal)
    journal.note(OperationLine(number, "step", AT, {"moves": "none"}))
    note(journal, number, Progress(AT, State.WAITING))
    assert operations.operations(journal.open().records)[number].state is State.WAITING


def test_a_lease_is_one_process_at_a_time(journal: JournalFile) -> None:
    """While a live process renews the lease, no other process gets it; a lease of another host is valid until it
    expires.
    """
    me, far = this_process("moves"), Origin("another-host", "moves", 17, "boot")
    mine, theirs = operations.Lease(journal.path, me), operations.Lease(journal.path, far)
    assert theirs.take(AT) is None
    held = mine.take(AT + timedelta(seconds=59))
    assert held is not None
    assert held.by == far
    assert theirs.take(AT + timedelta(seconds=59)) is None
    assert mine.take(AT + timedelta(seconds=61)) is not None
    assert mine.take(AT + timedelta(seconds=120)) is None
    held = theirs.take(AT + timedelta(seconds=121))
    assert held is not None
    assert held.by == me
    theirs.free()
    assert mine.holder(AT + timedelta(seconds=121)) is not None
    mine.free()
    assert mine.holder(AT) is theirs.holder(AT) is None


def test_the_lease_of_a_process_that_died_is_free(journal: JournalFile) -> None:
    """The lease of a dead process can be taken, even if another process now has its id, or if the lease's file is
    truncated.
    """
    me = this_process("moves")
    dead = replace(me, started="another-boot-1")
    assert operations.Lease(journal.path, dead).take(AT) is None
    assert operations.Lease(journal.path, me).take(AT) is None
    (lease,) = journal.path.parent.rglob("operations.lease")
    lease.write_text('{"by": {"ho')
    assert operations.Lease(journal.path, me).take(AT) is None

"""Tests of a journal of many segments: it is read like one file, kac finds its open changes without reading all of it,
and it is valid after a kill at any time.
"""

import os
import pathlib
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import safe_files
from console.journal import entries
from console.journal import file as journal_file
from console.journal import segments as journal_segments
from console.journal.file import JournalFile, journal_path
from console.journal.history import history, latest_changes
from console.journal.segments import (
    BLOCK,
    JournalError,
    Segment,
    Where,
    lines,
    lines_backward,
    segments,
)
from console.model.changes import Status
from console.model.journal_lines import Mended, Sending, segment_folder, segment_path
from tests.support.examples import examples
from tests.unit.test_journal_file import AT, INTENT, WHO, numbers

APPLIED = entries.Ended(Status.APPLIED)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide the path of a journal with short segments, whose checkpoint of open changes is written at every read."""
    small(monkeypatch)
    return journal_path(tmp_path / "state" / "kac", "a-cluster")


def small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("console.journal.segments.SEGMENT_BYTES", 2_000)
    patch.setattr(journal_file, "CHECKPOINT_BYTES", -1)


def applied(journal: JournalFile, *, end: bool = True) -> int:
    number = journal.begin(INTENT)
    journal.note(Sending(number, 0, AT))
    if end:
        journal.note(entries.Answered(number, 0, AT, {0: APPLIED}))
    return number


def test_a_journal_goes_on_in_further_segments_and_reads_as_one(path: Path) -> None:
    journal = JournalFile(path)
    assert [applied(journal, end=number != 7) for number in range(1, 41)] == list(range(1, 41))
    all_ = segments(path)
    assert len(all_) > 5
    assert all_[0].path == path
    assert all(segment.size < 4_000 for segment in all_)
    assert numbers(JournalFile(path).read()) == list(range(1, 41))
    records = JournalFile(path).read().records
    assert list(JournalFile(path).latest()) == list(reversed(records))
    assert list(latest_changes(records[::-1])) == list(reversed(history(records).changes.values()))
    assert numbers(JournalFile(path).open()) == [7, *range(8, 41)], "those that touch the place of the open change"
    assert numbers(JournalFile(path).around(38)) == [38, 39, 40]
    assert JournalFile(path).numbers() == (1, 40)
    assert JournalFile(path).begin(INTENT) == 41


def test_a_long_journal_of_one_file_is_carried_on_and_not_rewritten(path: Path) -> None:
    path.parent.mkdir(parents=True)
    old = b"".join(
        line
        for number in range(1, 31)
        for line in (
            entries.intent_line(number, INTENT),
            entries.note_line(Sending(number, 0, AT)),
            *([] if number == 5 else [entries.note_line(entries.Answered(number, 0, AT, {0: APPLIED}))]),
        )
    )
    path.write_bytes(old)
    assert JournalFile(path).open().records
    assert applied(JournalFile(path)) == 31
    assert path.read_bytes() == old
    assert segment_path(path, 2).exists()
    assert numbers(JournalFile(path).read()) == list(range(1, 32))
    # An older version of kac still writes to the first segment: no line of it is lost.
    with path.open("ab") as file:
        file.write(entries.intent_line(77, INTENT))
    assert 77 in numbers(JournalFile(path).open())
    assert applied(JournalFile(path)) == 78


def sizes_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that collects the size of each line that is read from now on."""
    read: list[int] = []

    def counted(all_: list[Segment], start: Where, before: int = 0) -> Any:
        for line in lines(all_, start, before):
            read.append(line.raw.size)
            yield line

    monkeypatch.setattr("console.journal.segments.lines", counted)
    return read


def test_a_look_at_the_open_changes_reads_what_was_added_since(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = JournalFile(path)
    for number in range(60):
        applied(journal, end=number != 50)
    first = journal.open()
    read = sizes_read(monkeypatch)
    assert JournalFile(path).open() == first
    assert sum(read) == 0
    applied(journal)
    assert numbers(JournalFile(path).open()) == [*numbers(first), 61]
    assert 0 < sum(read) < 4_000


@pytest.mark.parametrize(
    "spoil",
    [
        lambda checkpoint, path: checkpoint.unlink(),
        lambda checkpoint, path: checkpoint.write_bytes(b""),
        lambda checkpoint, path: checkpoint.write_bytes(b'{"v":1}'),
        lambda checkpoint, path: checkpoint.write_bytes(
            checkpoint.read_bytes().replace(b'"open":[[', b'"open":[[9,9],[')
        ),
        lambda checkpoint, path: checkpoint.write_bytes(checkpoint.read_bytes().replace(b'"v":1', b'"v":2')),
        lambda checkpoint, path: path.write_bytes(path.read_bytes().replace(b"alice", b"carol-the-other")),
    ],
    ids=["gone", "empty", "short", "wrong place", "newer", "another journal"],
)
def test_what_is_known_of_the_open_changes_is_never_believed_where_it_does_not_fit(
    path: Path, spoil: Callable[[Path, Path], object]
) -> None:
    journal = JournalFile(path)
    for number in range(20):
        applied(journal, end=number != 3)
    journal.open()
    spoil(segment_folder(path) / "open.json", path)
    found, whole = JournalFile(path).open(), JournalFile(path).read()
    assert history(found.records).unfinished()[0].number == history(whole.records).unfinished()[0].number == 4
    assert JournalFile(path).begin(INTENT) == 21


def test_a_console_that_writes_for_long_leaves_little_to_read_to_the_next_start(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a console has written many changes without another console reading the journal, the next start still reads
    few lines.
    """
    monkeypatch.setattr(journal_file, "CHECKPOINT_BYTES", 500)
    journal = JournalFile(path)
    for _ in range(60):
        applied(journal)
    read = sizes_read(monkeypatch)
    assert JournalFile(path).open().records == ()
    assert sum(read) < 4_000
    assert len(segments(path)) > 10


def test_a_line_that_is_no_record_stays_known_by_its_number(path: Path) -> None:
    journal = JournalFile(path)
    for _ in range(10):
        applied(journal)
    last = segments(path)[-1]
    with last.path.open("ab") as file:
        file.write(b"no json\n")
    at = last.path.read_bytes().count(b"\n")
    for _ in range(3):
        (problem,) = JournalFile(path).open().problems
        assert problem == f"line {at} of {last.path} can't be read: it is no JSON"
        applied(journal)
    assert JournalFile(path).read().problems == (problem,)


@given(st.lists(st.binary(max_size=40), max_size=40), st.integers(1, 60))
@examples(40, at_length=150)
def test_backward_is_the_reverse_of_forward(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], block: int
) -> None:
    folder = tmp_path_factory.mktemp("segments")
    written = []
    for number, cut in enumerate((parts[::2], parts[1::2]), 1):
        path = folder / f"{number}"
        path.write_bytes(b"\n".join(cut))
        written.append(Segment(number, path, path.stat().st_size))
    forward = [line.raw.data for line in lines(written, Where(0, 0))]
    whole = [data.rstrip(b"\n") for data in forward if data.endswith(b"\n")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal_segments, "BLOCK", block)
        assert list(lines_backward(written)) == [line for line in reversed(whole) if line]
    assert BLOCK > 60


class Dying:
    """A replacement for the module `os` in the journal's code, which kills the process at the n-th call that has an
    effect: before the call, or in the middle of a write.
    """

    COUNTED = frozenset({"open", "write", "fsync", "close", "ftruncate", "fdopen", "fchmod"})

    def __init__(self, left: int) -> None:
        self.left = left

    def step(self) -> bool:
        """Count a call, and return whether the process has to die at it."""
        self.left -= 1
        return self.left == 0

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in self.COUNTED:
            return real

        def call(*arguments: Any, **more: Any) -> Any:
            if self.step():
                if name == "write":
                    real(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **more)

        return call


def session(path: Path, acknowledged: int, dying: Dying) -> None:
    """Write four changes as a console does; after each line is safely written, write its number to the pipe
    `acknowledged`.
    """
    for name in ("mkdir", "replace", "unlink"):
        real = getattr(pathlib.Path, name)

        def call(*arguments: Any, real: Any = real, **more: Any) -> Any:
            if dying.step():
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **more)

        setattr(pathlib.Path, name, call)
    journal_file.os = safe_files.os = dying  # type: ignore[assignment]
    journal = JournalFile(path)
    for _ in range(4):
        number = journal.begin(INTENT)
        os.write(acknowledged, b"b%d " % number)
        journal.note(Sending(number, 0, AT))
        os.write(acknowledged, b"s%d " % number)
        journal.open()
        journal.note(entries.Answered(number, 0, AT, {0: APPLIED}))
        os.write(acknowledged, b"a%d " % number)
        journal.open()


def killed_at(path: Path, step: int) -> tuple[bool, list[str]]:
    """Run `session` in a process that dies at its n-th step. Return whether it was killed, and the lines that were
    acknowledged.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            session(path, writing, Dying(step))
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read().split()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0, told


def said(records: tuple[entries.Numbered | entries.Note, ...]) -> list[str]:
    kinds = {entries.Numbered: "b", Sending: "s", entries.Answered: "a"}
    return [f"{kinds[type(each)]}{each[0] if isinstance(each, entries.Numbered) else each.change}" for each in records]  # type: ignore[union-attr]


@pytest.mark.parametrize("stride", [4, pytest.param(1, marks=pytest.mark.long)])
def test_a_kill_at_every_step_leaves_a_journal_that_says_all_it_was_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stride: int
) -> None:
    """After a kill between two system calls, or in the middle of a write, no acknowledged line is lost, at most the
    last line is cut, and a later console continues the journal.
    """
    monkeypatch.setattr("console.journal.segments.SEGMENT_BYTES", 700)
    monkeypatch.setattr(journal_file, "CHECKPOINT_BYTES", -1)
    # Import the modules of a first write here: otherwise each of the hundred killed processes imports them.
    for _ in range(2):
        applied(warm := JournalFile(journal_path(tmp_path / "warm" / "kac", "a-cluster")))
        warm.open()
    step, cut, rolled = 0, 0, 0
    while True:
        step += stride
        path = journal_path(tmp_path / str(step) / "kac", "a-cluster")
        killed, told = killed_at(path, step)
        contents = JournalFile(path).read()
        written = said(contents.records)
        assert written[: len(told)] == told, "an acknowledged record is there, in its order"
        assert len(written) <= len(told) + 1, "and at most the one that was being written"
        assert len(contents.problems) <= 1
        opened = JournalFile(path).open()
        assert opened.problems == contents.problems
        whole, part = history(contents.records), history(opened.records)
        assert [each.number for each in part.untold()] == [each.number for each in whole.untold()]
        if contents.problems:
            cut += 1
            with pytest.raises(JournalError, match="was cut short"):
                JournalFile(path).begin(INTENT)
            assert JournalFile(path).mend(Mended(AT, WHO))
        known = max((int(each[1:]) for each in written), default=0)
        assert JournalFile(path).begin(INTENT) > known
        rolled += len(segments(path)) > 1
        if not killed:
            break
    assert step > 60
    assert cut >= 12 // stride, "each of the twelve writes was cut once"
    assert rolled > step // stride // 2

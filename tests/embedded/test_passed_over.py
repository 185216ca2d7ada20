"""Tests of skipping and deleting records: kac first saves the records in a file or sends them to a dead-letter topic,
or else changes nothing; and it can send the dead letters back to their partitions.
"""

import asyncio
import json
import os
import stat
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from msgspec.structs import replace

from console.admin import exactly_once
from console.admin.errors import AdminError
from console.admin.link import Link
from console.answers.results import Printer
from console.cli.mcp.proposing import edits_of
from console.contexts.context import HIDDEN, NEVER
from console.embedded import faults
from console.embedded.brokers import ThreadedCluster
from console.embedded.groups import Committed
from console.embedded.spec import ClusterSpec
from console.embedded.state import ClusterState
from console.language.errors import CommandError
from console.language.grammar import parse
from console.language.interpret import to_edits
from console.language.needs import needs
from console.language.statements import EditStatement
from console.language.verbs.delete import DeleteRecords
from console.language.verbs.passed_over import PassingStatement
from console.language.verbs.skip import SkipRecords
from console.log_file import state_directory
from console.model import config, record_masks, secret
from console.model.changes import Status
from console.model.cluster import CommittedOffset, GroupMember, LogRange
from console.model.dead_letters import Origin, origin_of
from console.model.new_records import NewRecord, records_of_lines
from console.plan.edits import CommitOffset, SetConfig, TrimLog, WriteRecords
from console.plan.plan import EMPTY, stage, without
from console.plan.reconcile import ApplyOptions
from console.session import reading, script_runner
from console.session.apply_flow import Asks, Flags, Unattended, apply_flow
from console.session.session import Session
from tests.support import dead_letters, worlds

HEADERS = ((b"trace", b"t-9"), (b"null", None), (b"kafka_original-topic", b"elsewhere"))
POISON = NewRecord(b"\xfe\x00", b"\x00poison\xff", HEADERS, timestamp=1_790_000_000_000)
SKIP = "skip group billing topic orders partition 0"
APPLY = "apply --yes --accept assigned-consumers,records-deleted=orders,null-not-compacted"
SETTINGS: dict[str, Any] = {"request_timeout": 3.0, "lost_answer_timeout": 0.5}

cluster = worlds.cluster(
    ClusterSpec(brokers=3),
    worlds.topic("orders", [(1, 2), (2, 3)]),
    worlds.topic("orders.dlt", [(1,)]),
    worlds.group("billing", {("orders", 0): 1}),
)
link = worlds.link("cluster", **SETTINGS)
session = worlds.session("cluster", **SETTINGS)
kac = worlds.commands()


@pytest.fixture(autouse=True)
async def filled(link: Link) -> None:
    """Write four records to orders/0; the second one, at offset 1, is the poison, which can't be processed."""
    some = [NewRecord(b"a", b"0"), POISON, NewRecord(b"c", b"2"), NewRecord(b"d", None)]
    await dead_letters.write(link, "orders", 0, some)


def at(cluster: ThreadedCluster) -> int:
    """Return the group's committed offset of orders/0."""
    found: int = cluster.call(lambda each: each.state.groups["billing"].offsets["orders", 0].offset)
    return found


def starts(cluster: ThreadedCluster) -> int:
    """Return the first offset of orders/0."""
    found: int = cluster.call(lambda each: each.state.logs["orders", 0].start)
    return found


async def run(cluster: ThreadedCluster, text: str, **changes: Any) -> tuple[str, int]:
    return await worlds.script(cluster, text, **{"journal": False, **changes})


async def test_a_skipped_record_is_sent_first_and_goes_back_by_redrive(
    cluster: ThreadedCluster, link: Link, kac: worlds.Kac
) -> None:
    out, code = await run(cluster, f"{SKIP} to topic orders.dlt; plan; {APPLY}")
    assert code == 0, out
    assert "before the skip of group billing in orders/0, which is not sent unless all are written" in out
    (letter,) = await dead_letters.read(link, "orders.dlt")
    assert (letter.key, letter.value, letter.headers[:3]) == (POISON.key, POISON.value, HEADERS)
    assert dict(letter.headers)[b"kac.passed-over.timestamp"] == b"1790000000000"
    assert letter.timestamp > 1_790_000_000_000
    why = "skipped by group billing"
    assert origin_of(letter) == Origin("kac", "orders", 0, 1, why, why, "billing", b"kac.passed-over.message")
    assert at(cluster) == 2

    # The letter returns to its partition with all its former headers, including another tool's.
    ran = await asyncio.to_thread(kac, "redrive", "orders.dlt")
    assert "1 letter" in ran.out
    assert why in ran.out
    cluster.call(worlds.group("billing", {("orders", 0): 99}))  # the group has passed the first letter
    ran = await asyncio.to_thread(kac, "redrive", "orders.dlt", "--run", "--yes")
    assert ran.code == 0, ran.complaints
    back = (await dead_letters.read(link, "orders"))[-1]
    assert (back.partition, back.offset, back.key, back.value) == (0, 4, POISON.key, POISON.value)
    assert back.headers == HEADERS


async def test_deleted_records_of_all_partitions_are_sent_first(cluster: ThreadedCluster, link: Link) -> None:
    await dead_letters.write(link, "orders", 1, [NewRecord(b"e", b"4")])
    out, code = await run(cluster, f"delete records topic orders before latest to topic orders.dlt; {APPLY}")
    assert code == 0, out
    letters = await dead_letters.read(link, "orders.dlt")
    assert Counter(each.value for each in letters) == Counter([b"0", POISON.value, b"2", None, b"4"])
    assert {origin.exception for each in letters if (origin := origin_of(each)) is not None} == {"deleted"}
    assert (starts(cluster), await dead_letters.read(link, "orders")) == (4, [])


async def test_a_file_keeps_them_equal_to_the_byte(cluster: ThreadedCluster, tmp_path: Path) -> None:
    file = tmp_path / "poison.jsonl"
    out, code = await run(cluster, f"{SKIP} 2 keep {file}; {APPLY}")
    assert code == 0, out
    assert f"2 records kept in '{file}'" in out
    assert records_of_lines(file.read_bytes())[0] == replace(POISON, partition=0)
    assert (at(cluster), stat.S_IMODE(file.stat().st_mode)) == (3, 0o600)
    assert json.loads(file.read_text().splitlines()[0])["offset"] == 1


async def test_the_same_file_is_taken_and_another_is_not(
    cluster: ThreadedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "poison.jsonl"
    assert (await run(cluster, f"{SKIP} keep {file}"))[1] == 3
    assert (await run(cluster, f"{SKIP} keep {file}"))[1] == 3  # the file already has exactly these bytes
    before = file.read_bytes()
    _, code = await run(cluster, f"{SKIP} 2 keep {file}; {APPLY}")
    assert "exists already" in capsys.readouterr().err
    assert (code, file.read_bytes(), at(cluster)) == (1, before, 1)
    _, code = await run(cluster, f"{SKIP} keep {tmp_path}/none/f; {APPLY}")
    assert "can't be written: no such file" in capsys.readouterr().err.lower()
    assert (code, at(cluster)) == (1, 1)


@pytest.mark.parametrize("code", [ErrorCode.message_too_large, ErrorCode.topic_authorization_failed])
@pytest.mark.parametrize("text", [SKIP, "delete records topic orders partition 0 before 2"])
async def test_nothing_is_passed_over_if_a_letter_is_refused(cluster: ThreadedCluster, text: str, code: int) -> None:
    fault = faults.Fault(faults.Fail(code), api="produce")
    cluster.call(lambda each: each.faults.add(fault))
    out, ended = await run(cluster, f"{text} to topic orders.dlt; {APPLY}")
    assert ended == 1
    assert "the records that it passes over are not all written" in out
    assert (at(cluster), starts(cluster)) == (1, 0)
    cluster.call(lambda each: each.faults.remove(fault))
    out, ended = await run(cluster, f"{text} to topic orders.dlt; {APPLY}")
    assert ended == 0, out
    assert (at(cluster), starts(cluster)) in ((2, 0), (1, 2))


async def test_only_the_edits_with_letters_are_said_to_wait_for_them(cluster: ThreadedCluster) -> None:
    fault = faults.Fault(faults.Fail(ErrorCode.topic_authorization_failed), api="produce")
    cluster.call(lambda each: each.faults.add(fault))
    reset = "reset group billing topic orders partition 1 to offset 0"
    out, code = await run(cluster, f"{SKIP} to topic orders.dlt; {reset}; {APPLY}")
    assert code == 1
    why = {line.split("  ")[0]: line for line in out.splitlines() if "not sent: " in line}
    assert "the records that it passes over are not all written" in why["group billing orders/0"]
    assert "a change that it depends on failed" in why["group billing orders/1"]


async def test_nothing_is_skipped_while_that_is_unknown_and_the_letter_is_there_once(
    cluster: ThreadedCluster, link: Link, session: Session
) -> None:
    session.stage(to_edits(await with_letters(session), session.snapshot))
    asks, accepted = Asks(silent=True, signals=False), ApplyOptions(risks=frozenset({"assigned-consumers"}))
    fault = faults.Fault(faults.Cut(faults.Moment.BEFORE), api="produce")
    cluster.call(lambda each: each.faults.add(fault))
    (report,) = await apply_flow(session, Unattended(), accepted, asks, Flags())
    assert [each.status for result in report.results for each in result.outcomes] == [
        Status.UNKNOWN,
        Status.NOT_APPLIED,
    ]
    assert (at(cluster), len(session.plan)) == (1, 2)
    cluster.call(lambda each: each.faults.remove(fault))
    (report,) = await apply_flow(session, Unattended(), accepted, asks, Flags())
    assert report.ok
    assert (at(cluster), len(await dead_letters.read(link, "orders.dlt"))) == (2, 1)


@pytest.mark.parametrize(
    ("text", "api"),
    [(SKIP, "offset_commit"), ("delete records topic orders partition 0 before 1", "delete_records")],
)
async def test_letters_are_not_written_again_because_what_follows_them_failed(
    cluster: ThreadedCluster, link: Link, session: Session, text: str, api: str
) -> None:
    (statement,) = parse(f"{text} to topic orders.dlt")
    assert isinstance(statement, PassingStatement)
    await reading.read_needs(session, needs(statement, None))
    statement = replace(statement, letters=secret.Contents([POISON]))
    session.stage(to_edits(statement, session.snapshot))
    asks = Asks(silent=True, signals=False)
    accepted = ApplyOptions(risks=frozenset({"assigned-consumers", "records-deleted=orders"}))
    fault = faults.Fault(faults.Fail(ErrorCode.group_authorization_failed), api=api)
    cluster.call(lambda each: each.faults.add(fault))
    (report,) = await apply_flow(session, Unattended(), accepted, asks, Flags())
    assert [each.status for result in report.results for each in result.outcomes] == [Status.APPLIED, Status.FAILED]
    cluster.call(lambda each: each.faults.remove(fault))
    # kac keeps the other statement, and the skip that is staged again without letters.
    session.stage([SetConfig(config.topic_resource("orders"), "retention.ms", "86400000")])
    session.stage(to_edits(replace(statement, to=None, letters=None), session.snapshot, plan=session.plan))
    with pytest.raises(CommandError, match="are written already") as raised:
        to_edits(statement, session.snapshot, plan=session.plan)
    assert "without them" in raised.value.hint
    (report,) = await apply_flow(session, Unattended(), accepted, asks, Flags())
    assert report.ok
    assert (at(cluster), starts(cluster)) in ((2, 0), (1, 1))
    assert len(await dead_letters.read(link, "orders.dlt")) == 1


@pytest.mark.parametrize(
    "then",
    [f"{SKIP} 3 to topic orders.dlt", f"{SKIP} 3", "reset group billing topic orders partition 0 to offset 1"],
)
async def test_no_later_edit_makes_the_plan_forget_letters_that_are_written(
    cluster: ThreadedCluster, link: Link, session: Session, then: str
) -> None:
    statement = await with_letters(session)
    session.stage(to_edits(statement, session.snapshot))
    fault = faults.Fault(faults.Fail(ErrorCode.group_authorization_failed), api="offset_commit")
    cluster.call(lambda each: each.faults.add(fault))
    asks, accepted = Asks(silent=True, signals=False), ApplyOptions(risks=frozenset({"assigned-consumers"}))
    await apply_flow(session, Unattended(), accepted, asks, Flags())
    cluster.call(lambda each: each.faults.remove(fault))
    (other,) = parse(then)
    assert isinstance(other, EditStatement)
    if isinstance(other, SkipRecords) and other.keeps:
        other = replace(other, letters=secret.Contents([POISON, NewRecord(b"c", b"2"), NewRecord(b"d", None)]))
        with pytest.raises(CommandError, match="are written already"):
            to_edits(other, session.snapshot, plan=session.plan)
    else:
        report = session.stage(to_edits(other, session.snapshot, plan=session.plan))
        (refused,) = report.refused
        assert "the letters before the skip of group billing in orders/0 are written already" in refused.reason
    # The rest of the first skip is applied, and a later skip begins after it.
    assert len(session.plan) == 1
    (report,) = await apply_flow(session, Unattended(), accepted, asks, Flags())
    assert report.ok
    assert (at(cluster), len(await dead_letters.read(link, "orders.dlt"))) == (2, 1)
    _, code = await run(cluster, f"{SKIP} 2 to topic orders.dlt; {APPLY}")
    assert (code, at(cluster)) == (0, 4)
    assert [each.value for each in await dead_letters.read(link, "orders.dlt")] == [POISON.value, b"2", None]


async def test_another_run_says_that_letters_were_written_before(
    cluster: ThreadedCluster, link: Link, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = faults.Fault(faults.Fail(ErrorCode.group_authorization_failed), api="offset_commit")
    cluster.call(lambda each: each.faults.add(fault))
    assert (await run(cluster, f"{SKIP} to topic orders.dlt; {APPLY}", journal=True))[1] == 1
    cluster.call(lambda each: each.faults.remove(fault))
    assert "written before" not in capsys.readouterr().err
    # Letters for another topic, and other records for this topic, cause no warning.
    await run(cluster, "create topic orders.other partitions=1; apply --yes", journal=True)
    for text in (f"{SKIP} to topic orders.other", "produce topic orders.dlt value v"):
        assert (await run(cluster, f"{text}; {APPLY}", journal=True))[1] == 0
        assert "written before" not in capsys.readouterr().err
    cluster.call(worlds.group("billing", {("orders", 0): 1}))
    assert (await run(cluster, f"{SKIP} 2 to topic orders.dlt; {APPLY}", journal=True))[1] == 0
    said = capsys.readouterr().err
    assert "1 of 2 letters for orders.dlt was written before, by change 1: this writes them once more" in said
    assert len(await dead_letters.read(link, "orders.dlt")) == 1 + 1 + 2


async def test_letters_that_may_have_been_written_before_are_said(
    cluster: ThreadedCluster, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """If another run may have written the dead letters before, in other batches, kac warns. If the same session sends
    the same batch again, brokers write it once, without a warning.
    """
    lost = faults.Fault(faults.Cut(faults.Moment.BEFORE), api="produce")
    cluster.call(lambda each: each.faults.add(lost))
    for text in (f"{SKIP} to topic orders.dlt; {APPLY}", APPLY):
        runner = script_runner.Runner(session, text, Printer("text", StringIO()))
        await runner.carry_out(parse(text))
        assert (runner.exit_code(), len(session.plan)) == (1, 2)
    assert "written before" not in capsys.readouterr().err
    cluster.call(lambda each: each.faults.remove(lost))
    assert (await run(cluster, f"{SKIP} 2 to topic orders.dlt; {APPLY}", journal=True))[1] == 0
    said = capsys.readouterr().err
    assert "1 of 2 letters for orders.dlt may have been written before, by change 2: this may write them twice" in said


async def test_nothing_is_staged_if_the_group_goes_on_while_its_records_are_read(
    cluster: ThreadedCluster, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    def goes_on(state: ClusterState) -> None:
        # Another client moves the group beyond the skip, and a poll shows this before the skip is staged.
        state.groups["billing"].offsets["orders", 0] = Committed(3)

    dead_letters.learnt_meanwhile(cluster, session, dead_letters.gone_on("billing", ("orders", 0), 3), goes_on)
    text = f"{SKIP} to topic orders.dlt"
    await script_runner.Runner(session, text, Printer("text", StringIO())).carry_out(parse(text))
    assert "changed before this was staged: the skip of group billing in orders/0" in capsys.readouterr().err
    assert len(session.plan) == 0
    # The same statement now skips the record at the group's new offset.
    await script_runner.Runner(session, text, Printer("text", StringIO())).carry_out(parse(text))
    assert [each.edit.offset for each in session.plan.staged if isinstance(each.edit, CommitOffset)] == [4]


async def test_a_skip_that_failed_without_letters_gets_them(cluster: ThreadedCluster, session: Session) -> None:
    statement = await with_letters(session)
    bare = replace(statement, to=None, letters=None)
    session.stage(to_edits(bare, session.snapshot))
    fault = faults.Fault(faults.Fail(ErrorCode.group_authorization_failed), api="offset_commit")
    cluster.call(lambda each: each.faults.add(fault))
    accepted = ApplyOptions(risks=frozenset({"assigned-consumers"}))
    await apply_flow(session, Unattended(), accepted, Asks(silent=True, signals=False), Flags())
    assert len(session.plan) == 1
    assert len(to_edits(statement, session.snapshot, plan=session.plan)) == 2


async def test_all_are_staged_or_none(cluster: ThreadedCluster) -> None:
    small = {"max.message.bytes": "10"}
    cluster.call(lambda each: each.state.alter_config(config.topic_resource("orders.dlt"), small))
    out, code = await run(cluster, f"{SKIP} to topic orders.dlt; plan; {APPLY}")
    assert "refused: new records of orders.dlt/0, group billing orders/0: a record for orders.dlt/0 has" in out
    assert (code, at(cluster)) == (1, 1)


async def test_a_group_with_members_gets_no_letters(cluster: ThreadedCluster, session: Session) -> None:
    edits = to_edits(await with_letters(session), session.snapshot)
    position = session.snapshot.group_positions["billing"]
    assert position.group is not None
    member = GroupMember("consumer-1", "client", "/10.0.0.1")
    with_member = replace(position, group=replace(position.group, state="Stable", members=(member,)))
    snapshot = replace(session.snapshot, group_positions={"billing": with_member})
    report = stage(EMPTY, edits, snapshot)
    assert (len(report.refused), report.plan.staged) == (2, ())


async def with_letters(session: Session) -> EditStatement:
    """Return the statement that skips the poison, with the dead letter for it."""
    (statement,) = parse(f"{SKIP} to topic orders.dlt")
    assert isinstance(statement, SkipRecords)
    await reading.read_needs(session, needs(statement, None))
    return replace(statement, letters=secret.Contents([POISON]))


async def test_they_leave_the_plan_together(session: Session) -> None:
    statement = await with_letters(session)
    edits = to_edits(statement, session.snapshot)
    session.stage(edits)
    with pytest.raises(CommandError, match="already"):
        to_edits(statement, session.snapshot, plan=session.plan)
    assert [len(without(session.plan, {gone.slot})) for gone in edits] == [0, 0]


async def test_a_script_makes_letters_and_the_deletion_on_one_snapshot(
    cluster: ThreadedCluster, session: Session
) -> None:
    has_read = dead_letters.learnt_meanwhile(cluster, session, dead_letters.with_range(("orders", 0), LogRange(0, 5)))
    text = "delete records topic orders partition 0 before latest to topic orders.dlt"
    await script_runner.Runner(session, text, Printer("text", StringIO())).carry_out(parse(text))
    assert has_read.is_set()
    batch, trim = (each.edit for each in session.staging().draft.staged)
    assert isinstance(batch, WriteRecords)
    assert isinstance(trim, TrimLog)
    assert (len(batch.sizes), trim.before) == (4, 4)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (SKIP, "reset group billing topic orders partition 0 to offset 1"),
        (SKIP, f"{SKIP} 3"),
        (SKIP, "delete group billing topic orders partition 0"),
        ("delete records topic orders partition 0 before 2", "delete records topic orders partition 0 before 3"),
    ],
)
async def test_no_later_edit_parts_them(
    cluster: ThreadedCluster, link: Link, session: Session, first: str, then: str
) -> None:
    out, code = await run(cluster, f"{first} to topic orders.dlt; {then}; plan; apply --valid-only --yes")
    assert (code, out.count("refused: ")) == (1, 1)
    assert "the plan sends its records to a topic first" in out
    # If no plan sends letters, the edit is staged as before; letters then replace it.
    out, code = await run(cluster, f"{then}; {first} to topic orders.dlt; {APPLY}")
    assert code == 0, out
    assert len(await dead_letters.read(link, "orders.dlt")) in (1, 2)
    # On one line both would be staged at once.
    edits = to_edits(await with_letters(session), session.snapshot)
    (other,) = parse(f"{SKIP} 3")
    assert isinstance(other, SkipRecords)
    for some in ((*edits, *to_edits(other, session.snapshot)), (*to_edits(other, session.snapshot), *edits)):
        report = stage(EMPTY, some, session.snapshot)
        assert (len(report.refused), report.plan.staged) == (3, ())


async def test_letters_do_not_take_the_place_of_others(session: Session) -> None:
    skip = await with_letters(session)
    (delete,) = parse("delete records topic orders partition 0 before 1 to topic orders.dlt")
    assert isinstance(delete, DeleteRecords)
    await reading.read_needs(session, needs(delete, None))
    # Both sets of edits were made for an empty plan, so their batches have the same number.
    some = to_edits(skip, session.snapshot)
    more = to_edits(replace(delete, letters=secret.Contents([NewRecord(b"a", b"0")])), session.snapshot)
    assert stage(EMPTY, [*some, *more], session.snapshot).plan.staged == ()
    plan = stage(EMPTY, some, session.snapshot).plan
    report = stage(plan, more, session.snapshot)
    assert (len(report.refused), report.plan) == (2, plan)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"records": NEVER}, 'records = "never"'),
        ({"mask": (record_masks.mask_path("$.card"),)}, "masks fields"),
        ({"read_only": True}, "read-only"),
        ({"records": HIDDEN}, "hides records"),
    ],
)
async def test_contexts_that_refuse(
    cluster: ThreadedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], said: str
) -> None:
    file = tmp_path / "f"
    for words in (f"{SKIP} keep {file}", f"delete records topic orders before 2 keep {file}"):
        _, code = await run(cluster, f"{words}; {APPLY}", **changes)
        assert said in capsys.readouterr().err
        assert (code, at(cluster), starts(cluster), file.exists()) == (1, 1, 0, False)
    if changes != {"records": HIDDEN}:
        assert (await run(cluster, f"{SKIP} to topic orders.dlt; {APPLY}", **changes))[1] == 1
        assert at(cluster) == 1


@pytest.mark.parametrize("first", ["keep f", "to topic d"])
def test_an_agent_can_not_propose_it(first: str) -> None:
    for text in (f"{SKIP} {first}", f"delete records topic orders before 2 {first}"):
        with pytest.raises(CommandError, match="writes records"):
            edits_of(text)


async def test_records_of_the_topic_itself_are_not_sent_to_it(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    _, code = await run(cluster, f"{SKIP} to topic orders; {APPLY}")
    assert "the records are in that topic" in capsys.readouterr().err
    assert (code, at(cluster)) == (1, 1)


async def test_the_journal_has_no_contents(cluster: ThreadedCluster) -> None:
    out, code = await run(cluster, f"{SKIP} to topic orders.dlt; {APPLY}", journal=True)
    assert code == 0, out
    journals = [each.read_bytes() for each in (state_directory(os.environ) / "journal").rglob("*") if each.is_file()]
    text = b"".join(journals)
    assert b"first_for" in text
    assert not [each for each in (b"poison", b"t-9", b"elsewhere") if each in text]


async def test_records_of_an_open_transaction_are_not_passed_over(
    cluster: ThreadedCluster, link: Link, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = await exactly_once.take_over(link, "an application")
    never_came = faults.Fault(faults.Cut(faults.Moment.BEFORE), api="end_txn", times=1)
    cluster.call(lambda each: each.faults.add(never_came))
    some = {("orders", 0): [NewRecord(b"tx", b"in the transaction")]}
    with pytest.raises(AdminError, match="end_txn"):
        await exactly_once.commit(link, mine, some, "some group", {("orders", 1): CommittedOffset(0)})
    file = tmp_path / "f"
    for first in ("to topic orders.dlt", f"keep {file}"):
        for text in (f"{SKIP} 4", "delete records topic orders partition 0 before latest"):
            _, code = await run(cluster, f"{text} {first}; {APPLY}")
            assert "an open transaction holds back records of orders/0 before offset 5" in capsys.readouterr().err
            assert (code, at(cluster), starts(cluster), file.exists()) == (1, 1, 0, False)
    # Records before the transaction's first one are not held back.
    assert (await run(cluster, f"{SKIP} 3 to topic orders.dlt; {APPLY}"))[1] == 0
    assert (at(cluster), len(await dead_letters.read(link, "orders.dlt"))) == (4, 3)

"""Tests of changes of groups' offsets: properties of staging, prediction and reversal for any group and any logs, and
the cost of many partitions.
"""

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.language.errors import CommandError
from console.language.grammar import parse
from console.language.interpret import command_of, to_edits
from console.language.offset_files import offset_rows
from console.language.statements import EditStatement
from console.language.unparse import unparse
from console.language.verbs.reset import ResetOffsets
from console.model import cluster
from console.model.changes import CommitOffsets, DeleteOffsets, GroupTarget
from console.model.codes import GROUP
from console.model.config import ConfigResource
from console.model.snapshot import Snapshot
from console.plan.compile import compile_plan, predict
from console.plan.edits import CommitOffset, Edit
from console.plan.group_forecast import forecast
from console.plan.kinds.group_offsets import REQUEST_BYTES
from console.plan.plan import EMPTY, StageReport, discard, stage
from console.plan.requests import Facts
from console.plan.reversal import reversal
from console.plan.risks import effects, risks
from tests.support.cpu_time import least_cpu_seconds

PARTITIONS = 4
Offsets = Mapping[int, cluster.CommittedOffset]


def snapshot_of(
    logs: Mapping[int, cluster.LogRange],
    committed: Offsets,
    *,
    type_: str = "classic",
    members: tuple[cluster.GroupMember, ...] = (),
) -> Snapshot:
    group = cluster.Group("g", "Stable" if members else "Empty", type_, "consumer", members=members)
    places = {("t", number): each for number, each in committed.items()}
    return Snapshot(
        topics={
            "t": cluster.Topic("t", tuple(cluster.Partition(number, 1, (1,), (1,)) for number in logs), topic_id="id")
        },
        groups={"g": group},
        group_positions={"g": cluster.GroupPosition(group, places), "new": cluster.GroupPosition(None, {})},
        log_ranges={("t", number): each for number, each in logs.items()},
    )


def edits_of(command: str, snapshot: Snapshot) -> tuple[Edit, ...]:
    (statement,) = parse(command)
    assert isinstance(statement, EditStatement)
    return to_edits(statement, snapshot)


def staged(command: str, snapshot: Snapshot) -> StageReport:
    return stage(EMPTY, edits_of(command, snapshot), snapshot)


@st.composite
def worlds(draw: st.DrawFn) -> Snapshot:
    logs, committed = {}, {}
    for number in range(draw(st.integers(1, PARTITIONS))):
        start = draw(st.integers(0, 1_000))
        logs[number] = cluster.LogRange(start, start + draw(st.integers(0, 1_000)))
        if draw(st.booleans()):
            offset = draw(st.integers(0, logs[number].end))
            committed[number] = cluster.CommittedOffset(offset, draw(st.integers(-1, 5)), draw(st.text(max_size=5)))
    return snapshot_of(logs, committed)


commands = st.one_of(
    st.sampled_from(["reset group g topic t to earliest", "reset group g topic t to latest", "clone group g to new"]),
    st.sampled_from(["delete group g", "delete group g topic t"]),
    st.integers(-50, 50).map(lambda steps: f"reset group g to by {steps:+}"),
    st.integers(0, 2_000).map(lambda offset: f"reset group g to offset {offset}"),
)


@given(worlds(), commands)
def test_what_takes_a_change_back_makes_what_was(world: Snapshot, command: str) -> None:
    try:
        report = staged(command, world)
    except CommandError:
        return  # the command has nothing to start from
    after = predict(world, report.plan)
    for each in report.added:
        back = reversal(each)
        assert back.edits or back.loss == "the group had no offsets: its first member makes it again"
        after = predict(after, stage(EMPTY, back.edits, after).plan)
    for name, was in world.group_positions.items():
        assert dict(after.group_positions[name].committed) == dict(was.committed)


@given(worlds(), st.integers(0, 2_000))
def test_what_is_read_again_or_never_adds_up(world: Snapshot, offset: int) -> None:
    for (topic, number), committed in world.group_positions["g"].committed.items():
        log = world.log_ranges[topic, number]
        again, never = forecast(cluster.GroupOffset(committed, log), offset)
        at = max(committed.offset, log.start)
        assert min(again, never) == 0
        assert never - again == offset - at


@given(worlds())
def test_a_group_has_the_sum_of_its_lines_and_is_discarded_with_its_offsets(world: Snapshot) -> None:
    report = staged("reset group g topic t to earliest", world)
    again = sum(
        forecast(each.was, each.edit.offset)[0]
        for each in report.added
        if isinstance(each.was, cluster.GroupOffset) and isinstance(each.edit, CommitOffset)
    )
    lines = [line for lines in effects(report.added, world).values() for line in lines]
    if len(report.added) > 1 and again:
        assert any(f"up to {again:,} record" in line and "read again" in line for line in lines)
    assert sum("assign()" in line for line in lines) == bool(report.added)
    report = staged("reset group g topic t to latest", world)
    group = GroupTarget("g")
    for target in (group, ConfigResource(GROUP, "g")):
        assert not discard(report.plan, target).staged
    assert discard(report.plan, GroupTarget("other")) is report.plan
    for each in report.added:
        left = discard(report.plan, each.edit.target).staged
        assert [other.edit for other in left] == [other.edit for other in report.added if other.edit != each.edit]


@given(worlds(), st.integers(0, PARTITIONS - 1), st.integers(1, 100))
def test_to_skip_is_to_reset_by_so_many(world: Snapshot, number: int, count: int) -> None:
    where = f"group g topic t partition {number}"
    assert _outcome(f"skip {where} {count}", world) == _outcome(f"reset {where} to by +{count}", world)


def _outcome(command: str, world: Snapshot) -> object:
    try:
        return edits_of(command, world)
    except CommandError as error:
        return error.message


@given(worlds(), commands)
def test_no_offset_outside_of_the_log_is_staged(world: Snapshot, command: str) -> None:
    try:
        report = staged(command, world)
    except CommandError:
        return
    for each in report.added:
        if isinstance(each.edit, CommitOffset):
            start, end = world.log_ranges[each.edit.topic, each.edit.partition]
            assert start <= each.edit.offset <= end
    for refused in report.refused:
        assert "outside of the log" in refused.reason


@given(
    st.text(min_size=1, max_size=8).filter(lambda name: "\n" not in name),
    st.integers(0, 2**63 - 1),
    st.integers(-1, 9),
    st.text(max_size=8),
    st.booleans(),
    st.booleans(),
)
def test_an_edit_is_the_command_that_stages_it(
    group: str, offset: int, epoch: int, metadata: str, restored: bool, share: bool
) -> None:
    edit = CommitOffset(group, "t", 3, offset, epoch, metadata, restored, share)
    (statement,) = parse(command_of(edit))
    position = cluster.GroupPosition(None, {})
    world = Snapshot(
        topics={"t": cluster.Topic("t", tuple(cluster.Partition(number, 1, (1,), (1,)) for number in range(4)))},
        group_positions={group: position},
    )
    assert isinstance(statement, EditStatement)
    assert to_edits(statement, world) == (edit,)


@given(st.integers(0, 4_000_000_000_000))
def test_a_time_is_written_to_the_millisecond(ms: int) -> None:
    (statement,) = parse(f"reset group g to time {_iso(ms)}")
    assert parse(unparse(statement)) == (statement,)
    assert isinstance(statement, ResetOffsets)
    assert statement.to.number == ms


def _iso(ms: int) -> str:
    from datetime import UTC, datetime, timedelta

    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")


def test_members_are_named_where_a_group_is_refused() -> None:
    members = tuple(cluster.GroupMember(f"m{n}", f"client-{n}", f"/10.0.0.{n}") for n in range(5))
    world = snapshot_of({0: cluster.LogRange(0, 9)}, {0: cluster.CommittedOffset(3)}, members=members)
    for command in ("reset group g to earliest", "delete group g", "delete group g topic t"):
        (refused,) = staged(command, world).refused
        text = "group g has 5 members: client-0 at 10.0.0.0, client-1 at 10.0.0.1, client-2 at 10.0.0.2 and 2 more"
        assert refused.reason == text
        assert "Empty" in refused.remedy


def test_a_streams_application_keeps_its_own_topics() -> None:
    world = snapshot_of({0: cluster.LogRange(0, 9)}, {0: cluster.CommittedOffset(3)}, type_="streams")
    own = "g-counts-repartition"
    position = world.group_positions["g"]
    offsets = {**position.committed, (own, 0): cluster.CommittedOffset(1)}
    positions = {"g": cluster.GroupPosition(position.group, offsets)}
    logs = {**world.log_ranges, (own, 0): cluster.LogRange(0, 5)}
    world = Snapshot(
        topics={**world.topics, own: cluster.Topic(own, (cluster.Partition(0, 1, (1,), (1,)),))},
        group_positions=positions,
        log_ranges=logs,
    )
    report = staged("reset group g to earliest", world)
    assert [each.edit.on_topic for each in report.added] == ["t"]
    lines = [line for lines in effects(report.added, world).values() for line in lines]
    assert "the application's changelog and repartition topics stay as they are" in lines


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("t,0", "line 1 of the file: 2 columns"),
        ("topic,partition,offset", "line 1 of the file: 'partition' is no number"),
        ("t,0,1\nt,0,2", "line 2 of the file: t/0 stands there twice"),
        ("t,0,-1", "line 1 of the file: '-1' is no number"),
        ("other,t,0,1", "the file has no offset of group 'g'"),
        ("", "the file has no offset of group 'g'"),
        ("t,0,1\n" * 100_001, "line 2 of the file: t/0 stands there twice"),
        ("".join(f"t,{n},1\n" for n in range(100_001)), "the file has more than 100,000 lines"),
    ],
)
def test_a_file_that_is_none_says_where(text: str, says: str) -> None:
    with pytest.raises(CommandError) as error:
        offset_rows(text, "g")
    assert error.value.message == says


def test_a_file_with_a_column_of_groups_is_read_for_one() -> None:
    (row,) = offset_rows('"g",t,0,5\r\nother,t,0,7\r\n', "g")
    assert (row.topic, row.partition, row.offset) == ("t", 0, 5)


@pytest.mark.parametrize("count", [10_000])
def test_ten_thousand_partitions_take_few_requests_and_no_quadratic_time(count: int) -> None:
    def work(partitions: int) -> Callable[[], None]:
        logs = {number: cluster.LogRange(0, 100) for number in range(partitions)}
        world = snapshot_of(logs, {number: cluster.CommittedOffset(50) for number in range(partitions)})

        def once() -> None:
            report = staged("reset group g to earliest", world)
            assert len(report.added) == partitions
            steps = compile_plan(report.plan, Facts())
            assert sum(len(step.staged) for step in steps) == partitions
            assert len(steps) <= 1 + partitions * 110 // REQUEST_BYTES
            effects(report.added, world)
            risks(report.added, world)
            for each in report.added:
                reversal(each)

        return once

    few, many = least_cpu_seconds(work(count // 4)), least_cpu_seconds(work(count), 2)
    assert many < 10 * max(few, 0.02), (few, many)
    assert many < 5


def test_a_request_is_cut_by_what_its_coordinator_writes() -> None:
    logs = {number: cluster.LogRange(0, 100) for number in range(2_000)}
    world = snapshot_of(logs, {number: cluster.CommittedOffset(50) for number in range(2_000)})
    text = "x" * 1_000
    report = staged(f"reset group g to offset 7 metadata {text}", world)
    steps = compile_plan(report.plan, Facts())
    assert len(steps) == 5
    assert all(isinstance(step.request, CommitOffsets) for step in steps)
    gone = compile_plan(staged("delete group g topic t", world).plan, Facts())
    assert [type(step.request) for step in gone] == [DeleteOffsets]

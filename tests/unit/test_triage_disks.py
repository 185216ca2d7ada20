"""Tests of full log directories: those on one file system are one row, evidence names what else writes to it, and
remote storage does not count as a disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.describe_log_dirs.v4.response import DescribeLogDirsResponse, DescribeLogDirsResult
from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta, i64
from msgspec.structs import replace

from console.admin.cluster import dir_answers, is_disk, log_dirs
from console.model.cluster import Broker, LogDir, Reassignment, ReplicaSize, ReplicaSizes
from console.model.codes import ConfigSource
from console.model.config import topic_resource
from console.model.disk_trend import DirSample, growth
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.plan.edits import CancelMove
from console.triage.cause import Claim
from console.triage.diagnosis import diagnose
from console.triage.filled import limits_of
from tests.support.samples import config_set
from tests.unit.test_triage import START, TICK, each_of_orders, healthy, watched

GB = 1_000_000_000


def held(size: int) -> ReplicaSizes:
    return ReplicaSizes([ReplicaSize("orders", 0, size, 0, False)])


def filled(
    dirs: Mapping[tuple[int, str], tuple[int, int]],
    *,
    hosts: Mapping[int, str] | None = None,
    grows: int = 0,
    other: int = 0,
) -> list[Claim]:
    """Return the claims of `disk-filling`.

    Args:
        dirs: (broker, path) -> (total, usable) bytes.
        hosts: broker -> its host; None, or a missing broker, for the host in `healthy`.
        grows: bytes that Kafka writes to each directory in a tick.
        other: bytes that other programs write to each directory in a tick.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        by_broker: dict[int, tuple[LogDir, ...]] = dict(snapshot.log_dirs)
        for broker in {broker for broker, _ in dirs}:
            by_broker[broker] = tuple(
                LogDir(path, held(GB + grows * tick), total, usable - (grows + other) * tick)
                for (mine, path), (total, usable) in dirs.items()
                if mine == broker
            )
        named = hosts or {}
        brokers = tuple(
            Broker(each.id, named.get(each.id, each.host), each.port, each.rack) for each in snapshot.cluster.brokers
        )
        return replace(snapshot, log_dirs=by_broker, cluster=replace(snapshot.cluster, brokers=brokers))

    verdict = diagnose(watched(change, before=change(healthy(), 0)))
    return [each.claim for each in verdict.causes if each.claim.cause == "disk-filling"]


FULL = (100 * GB, 4 * GB)


@pytest.mark.parametrize(
    ("dirs", "hosts", "rows"),
    [
        ({(1, "/a"): FULL, (1, "/b"): FULL}, None, 1),
        ({(n, path): FULL for n in (1, 2, 3) for path in ("/a", "/b")}, None, 1),
        ({(1, "/a"): FULL, (2, "/a"): FULL}, {1: "one", 2: "two"}, 1),  # exactly equal sizes: a network volume
        ({(1, "/a"): FULL, (1, "/b"): (100 * GB, 4 * GB - 50_000_000)}, None, 1),  # /b was read a moment later
        ({(1, "/a"): FULL, (2, "/a"): (100 * GB, 4 * GB - 50_000_000)}, {1: "one", 2: "two"}, 2),
        ({(1, "/a"): FULL, (1, "/b"): (100 * GB, 3 * GB)}, None, 2),
        ({(1, "/a"): FULL, (1, "/b"): (90 * GB, 4 * GB)}, None, 2),
    ],
)
def test_one_file_system_is_one_row(
    dirs: Mapping[tuple[int, str], tuple[int, int]], hosts: Mapping[int, str] | None, rows: int
) -> None:
    found = filled(dirs, hosts=hosts)
    assert len(found) == rows
    if rows == 1:
        assert found[0].title.endswith(tuple(f"one file system, fill{s}: mostly topic orders" for s in ("s up", " up")))
        assert (found[0].subject.broker, found[0].subject.dir) == (1, "/a")


def test_every_full_directory_is_in_some_row() -> None:
    claims = filled({(1, "/a"): FULL, (1, "/b"): FULL, (2, "/c"): (7 * GB, GB // 10)})
    subjects = {each.subject for claim in claims for each in claim.predicted}
    assert {(each.broker, each.dir) for each in subjects if each is not None} == {(1, "/a"), (1, "/b"), (2, "/c")}


@pytest.mark.parametrize(
    ("grows", "other", "is_said"),
    [
        (0, 20_000_000, True),
        (1_000, 20_000_000, True),
        (20_000_000, 0, False),
        (20_000_000, 20_000_000, False),
        (0, 0, False),
    ],
)
def test_what_fills_it_is_said_where_it_is_not_kafka(grows: int, other: int, *, is_said: bool) -> None:
    (claim,) = filled({(2, "/a"): FULL}, grows=grows, other=other)
    assert any("something else fills it" in each.fact for each in claim.evidence) is is_said
    assert ("something else" in claim.next[0].text or "what else" in claim.next[0].text) is is_said


@pytest.mark.parametrize(
    ("usable", "grows", "severity", "words"),
    [
        (320 * GB, 0, Severity.WARNING, "/a is nearly full"),
        (320 * GB, 1_000, Severity.WARNING, "/a is nearly full"),
        (320 * GB, 2 * GB, Severity.CRITICAL, "/a fills up"),  # 400 MB a second
        (40 * GB, 0, Severity.HIGH, "/a fills up"),
    ],
)
def test_a_large_disk_that_is_nearly_full_and_rests_is_a_warning(
    usable: int, grows: int, severity: Severity, words: str
) -> None:
    (claim,) = filled({(2, "/a"): (4_000 * GB, usable)}, grows=grows)
    assert (claim.severity, claim.certainty) == (severity, Certainty.CERTAIN)
    assert claim.title == f"broker 2: {words}: mostly topic orders"


@pytest.mark.parametrize(
    ("others", "words", "command"),
    [
        ({(1, "/b"): (100 * GB, 90 * GB)}, "move topic TOPIC broker 1 to dir /b", ""),
        ({(1, "/b"): (100 * GB, 15 * GB), (2, "/a"): (100 * GB, 90 * GB)}, "kac moves drain 1", "drain broker 1"),
        ({(2, "/a"): (100 * GB, 90 * GB)}, "kac moves drain 1", "drain broker 1"),
        ({(2, "/a"): (100 * GB, 15 * GB), (3, "/a"): (100 * GB, 20 * GB)}, "no room for the 1,000,000,000 bytes", ""),
    ],
)
def test_replicas_go_where_room_is(others: Mapping[tuple[int, str], tuple[int, int]], words: str, command: str) -> None:
    """If a directory of broker 1 is full, the step moves replicas to a directory that has room: on the same broker,
    else on another one.
    """
    claim = next(each for each in filled({(1, "/a"): FULL, **others}) if each.subject.broker == 1)
    assert words in claim.next[-1].text
    assert claim.next[-1].command == command


def test_growth_is_that_of_the_samples() -> None:
    first, last = DirSample(START, 900, 10), DirSample(START + TICK, 500, 30)
    assert growth((first, last)) == (400, 20)
    assert growth((first,)) is None
    assert growth((replace(first, held=-1), last)) is None


@pytest.mark.parametrize("path", ["remote://bucket", "s3://b/kafka", "abfs+x://c", "gs://b", "Z9.x-y://"])
def test_what_is_no_disk_is_not_among_the_directories(path: str) -> None:
    def result(log_dir: str) -> DescribeLogDirsResult:
        return DescribeLogDirsResult(
            error_code=ErrorCode.none,
            log_dir=log_dir,
            topics=(),
            total_bytes=i64(-1),
            usable_bytes=i64(-1),
        )

    answer = DescribeLogDirsResponse(
        throttle_time=i32Timedelta.parse(START - START),
        error_code=ErrorCode.none,
        results=(result(path), result("/data")),
    )
    assert [each.path for each in log_dirs(dir_answers(answer))] == ["/data"]


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_every_path_of_a_file_system_is_a_disk(text: str) -> None:
    assert is_disk(f"/{text}")
    assert is_disk(f"C:\\{text}")


def filled_by(
    sizes: Callable[[int], Mapping[str, int]],
    *,
    configs: Mapping[str, str] | None = None,
    moves: tuple[Reassignment, ...] = (),
    isr: tuple[int, ...] = (1, 2, 3),
    usable: int = 4 * GB,
    total: int = 100 * GB,
    ticks: int = 8,
    future: str = "",
    ends: int = 99,
) -> Claim:
    """Return the claim about the disk of broker 2, which is nearly full.

    Args:
        sizes: tick -> topic -> bytes of its replica.
        configs: the configs of the topic debug; None if no configs were read.
        moves: the running reassignments.
        isr: the in-sync replicas of orders/0.
        usable: the free bytes at first.
        total: the size of the disk in bytes.
        ticks: the number of polls.
        future: the topic of a copy from another directory; ``""`` for no copy.
        ends: the tick from which on the reassignments are done.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        now, first = sizes(tick), sizes(0)
        replicas = ReplicaSizes([ReplicaSize(name, 0, size, 0, name == future) for name, size in now.items()])
        left = usable - sum(now.values()) + sum(first.values())
        known = {topic_resource("debug"): config_set(configs, ConfigSource(1))} if configs is not None else {}
        known_dirs = {**snapshot.log_dirs, 2: (LogDir("/data", replicas, total, left),)}
        running = moves if tick < ends else ()
        changed = replace(snapshot, log_dirs=known_dirs, configs=known, reassignments=running)
        return each_of_orders(changed, lambda each: each if each.number else each._replace(isr=isr))

    verdict = diagnose(watched(change, ticks, before=change(healthy(), 0)))
    (found,) = (each.claim for each in verdict.causes if each.claim.cause == "disk-filling")
    return found


UNLIMITED = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


@pytest.mark.parametrize(
    ("configs", "why", "step"),
    [
        (UNLIMITED, "no limit: its retention.ms and retention.bytes are -1", "limit topic debug, or stop"),
        ({**UNLIMITED, "retention.ms": "600000"}, "its retention.ms is 600,000, its retention.bytes -1", "limit topic"),
        (
            {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1.0"},
            "its cleanup.policy is compact",
            "look who writes to topic debug, and why compaction does not shrink it",
        ),
        (
            {"cleanup.policy": ""},
            "its cleanup.policy is empty: nothing is deleted or compacted",
            "look who writes to topic debug: a retention has no effect",
        ),
        ({"min.insync.replicas": "2"}, "", "limit topic debug, or stop"),
        (None, "", "limit topic debug, or stop who writes to it: if its cleanup.policy has delete"),
    ],
)
def test_the_topic_that_fills_a_disk_is_named_with_its_limits(
    configs: Mapping[str, str] | None, why: str, step: str
) -> None:
    claim = filled_by(lambda tick: {"debug": 9_000_000 * tick, "orders": GB + 1_000_000 * tick}, configs=configs)
    assert claim.title == "broker 2: /data fills up: mostly topic debug"
    facts = [each.fact for each in claim.evidence]
    assert "debug grew by 90 % of the bytes that were used up" in facts
    assert any(each.startswith("debug: ") for each in facts) is bool(why)
    assert not why or any(each.startswith(f"debug: {why}") for each in facts)
    assert claim.next[0].text.startswith(step)


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state", "_schemas", "connect-offsets"])
def test_a_topic_in_which_a_system_keeps_its_state_gets_no_retention(topic: str) -> None:
    """For a topic that stores a system's state, no step sets a retention: with delete in its cleanup.policy, groups
    would lose their offsets, and systems their state.
    """
    claim = filled_by(lambda tick: {topic: 9 * GB + 50_000_000 * tick})
    assert claim.title.endswith(f"mostly topic {topic}")
    assert "add no retention" in claim.next[0].text
    assert not any("retention.ms" in each.text for each in claim.next)


def test_the_commits_of_groups_are_compacted_only_if_their_topic_is() -> None:
    """The evidence says that __consumer_offsets is only compacted if its cleanup.policy is compact alone; with delete,
    its retention limits it.
    """
    for policy, is_said in (("compact", True), ("delete", False)):
        configs = config_set({"cleanup.policy": policy, "retention.ms": "-1"}, ConfigSource(1))
        known = replace(healthy(), configs={topic_resource("__consumer_offsets"): configs})
        assert ("is compacted" in limits_of(known, "__consumer_offsets")) is is_said


@pytest.mark.parametrize(
    ("big", "audit", "usable", "total"),
    [
        (0, 300_000, 320 * GB, 4000 * GB),  # 60 kB a second
        (0, 10_000, 320 * GB, 4000 * GB),
        (0, 300_000, 4 * GB, 100 * GB),  # full in 18 hours
        (-300_000, 300_000, 4 * GB, 100 * GB),  # nothing is used up
    ],
)
def test_a_little_growth_is_not_why_a_disk_is_nearly_full(big: int, audit: int, usable: int, total: int) -> None:
    claim = filled_by(
        lambda tick: {"big": 90 * GB + big * tick, "audit": GB + audit * tick}, usable=usable, total=total
    )
    assert claim.title.endswith("mostly topic big")
    assert not any("grew by" in each.fact for each in claim.evidence)


def test_a_burst_does_not_rename_the_row_of_a_disk_that_is_nearly_full() -> None:
    def sizes(tick: int) -> Mapping[str, int]:
        return {"big": 90 * GB, "audit": GB + (2_000_000 if (tick // 13) % 2 else 0)}

    assert {filled_by(sizes, ticks=ticks).title for ticks in range(2, 40, 3)} == {
        "broker 2: /data fills up: mostly topic big"
    }


def test_a_disk_that_does_not_grow_has_the_topic_with_most_bytes() -> None:
    claim = filled_by(lambda _: {"debug": 8 * GB, "orders": GB})
    assert "debug has 89 % of the bytes of Kafka's logs there" in [each.fact for each in claim.evidence]


def test_many_topics_that_grow_alike_are_not_named() -> None:
    claim = filled_by(lambda tick: {f"t{n}": 3_000_000 * tick for n in range(5)})
    assert claim.title == "broker 2: /data fills up"
    assert claim.next[0].text.startswith("find what grows")


@pytest.mark.parametrize(("isr", "is_clean"), [((1, 3), True), ((2,), False)])
@pytest.mark.parametrize("adding", [(2,), (3,)])
def test_a_disk_that_a_move_fills_gets_no_other_move(
    adding: tuple[int, ...], isr: tuple[int, ...], *, is_clean: bool
) -> None:
    """If a running reassignment fills a disk, no step drains the broker or moves replicas away, which would copy still
    more; the steps throttle the reassignment, or cancel it if that loses no records.
    """
    move = Reassignment("orders", 0, (1, 2, 3), adding, ())
    claim = filled_by(lambda tick: {"orders": 20_000_000 * tick, "debug": GB}, moves=(move,), isr=isr)
    texts = [each.text for each in claim.next]
    is_filled = adding == (2,)
    assert ("replicas of orders that a reassignment brings" in claim.title) is is_filled
    edits = [edit for each in claim.next for edit in each.edits]
    assert edits == ([CancelMove("orders", 0)] if is_filled and is_clean else [])
    assert any("throttle" in each for each in texts) is is_filled
    assert any("drain" in each or "move replicas" in each or "add a disk" in each for each in texts) is not is_filled


def test_a_move_that_does_not_fill_the_disk_is_not_cancelled() -> None:
    move = Reassignment("orders", 0, (1, 2, 3), (2,), ())
    claim = filled_by(
        lambda tick: {"orders": 1_000 * tick, "debug": 9 * GB + 50_000_000 * tick}, moves=(move,), isr=(1, 3)
    )
    assert claim.title.endswith("mostly topic debug")
    assert claim.next[0].text.startswith("limit topic debug")
    assert not any(each.edits for each in claim.next)
    assert "1 running move to broker 2 is not most of it" in [each.fact for each in claim.evidence]


def test_only_moves_that_grow_are_cancelled() -> None:
    moves = tuple(Reassignment(topic, 0, (1, 2, 3), (2,), ()) for topic in ("orders", "debug"))
    claim = filled_by(lambda tick: {"orders": 20_000_000 * tick, "debug": GB}, moves=moves, isr=(1, 3))
    assert [edit for each in claim.next for edit in each.edits] == [CancelMove("orders", 0)]


@pytest.mark.parametrize(("future", "ends"), [("orders", 99), ("", 6)])
def test_copies_of_replicas_are_no_growth_of_their_topic(future: str, ends: int) -> None:
    """A replica that grows because it is copied from another directory of the broker, or by a reassignment that has
    just ended, does not count as a topic that grows.
    """
    moves = () if future else (Reassignment("orders", 0, (1, 2, 3), (2,), ()),)
    for ticks in (8, 12):
        claim = filled_by(
            lambda tick: {"orders": 50_000_000 * min(tick, ends), "debug": GB},
            moves=moves,
            future=future,
            ends=ends,
            ticks=ticks,
        )
        assert claim.title.endswith("mostly new replicas of orders")
        assert not any("limit topic" in each.text for each in claim.next)


def test_what_other_programs_write_is_no_reason_to_move_replicas() -> None:
    (claim,) = filled({(2, "/a"): FULL}, other=20_000_000)
    assert len(claim.next) == 1, "no topic grows that could be found"
    assert not any(each.command or "drain" in each.text or "move replicas" in each.text for each in claim.next)

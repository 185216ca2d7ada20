"""Tests of full log directories: those on one file system are one row, evidence names other writers, and remote storage
is no disk.
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
        hosts: broker -> its host; None, or a missing broker, for the host of `healthy`.
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
    """A directory of broker 1 is full."""
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
) -> Claim:
    """Return the claim about the disk of broker 2, which has 100 GB.

    Args:
        sizes: tick -> topic -> bytes.
        configs: the configs of the topic debug; None if no configs were read.
        moves: the running moves.
        isr: the in-sync replicas of orders/0.
        usable: the free bytes at first.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        now, first = sizes(tick), sizes(0)
        replicas = ReplicaSizes([ReplicaSize(name, 0, size, 0, False) for name, size in now.items()])
        left = usable - sum(now.values()) + sum(first.values())
        known = {topic_resource("debug"): config_set(configs, ConfigSource(1))} if configs is not None else {}
        known_dirs = {**snapshot.log_dirs, 2: (LogDir("/data", replicas, 100 * GB, left),)}
        changed = replace(snapshot, log_dirs=known_dirs, configs=known, reassignments=moves)
        return each_of_orders(changed, lambda each: each if each.number else each._replace(isr=isr))

    verdict = diagnose(watched(change, before=change(healthy(), 0)))
    (found,) = (each.claim for each in verdict.causes if each.claim.cause == "disk-filling")
    return found


UNLIMITED = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


@pytest.mark.parametrize(
    ("configs", "why"),
    [
        (UNLIMITED, "no limit: its retention.ms and retention.bytes are -1"),
        ({**UNLIMITED, "retention.ms": "600000"}, "its retention.ms is 600,000, its retention.bytes -1"),
        ({"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1.0"}, "its cleanup.policy is compact"),
        ({"cleanup.policy": ""}, "its cleanup.policy is empty: nothing is deleted or compacted"),
        (None, ""),
    ],
)
def test_the_topic_that_fills_a_disk_is_named_with_its_limits(configs: Mapping[str, str] | None, why: str) -> None:
    claim = filled_by(lambda tick: {"debug": 9_000_000 * tick, "orders": GB + 1_000_000 * tick}, configs=configs)
    assert claim.title == "broker 2: /data fills up: mostly topic debug"
    facts = [each.fact for each in claim.evidence]
    assert "debug grew by 90 % of the bytes that were used up" in facts
    assert any(each.startswith(f"debug: {why}") for each in facts) is bool(why)
    assert claim.next[0].text.startswith("limit topic debug")


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
    """A drain of the broker would copy still more, and be stopped by the same disk."""
    move = Reassignment("orders", 0, (1, 2, 3), adding, ())
    claim = filled_by(lambda tick: {"orders": 20_000_000 * tick, "debug": GB}, moves=(move,), isr=isr)
    texts = [each.text for each in claim.next]
    is_filled = adding == (2,)
    assert ("replicas of orders that a reassignment brings" in claim.title) is is_filled
    edits = [edit for each in claim.next for edit in each.edits]
    assert edits == ([CancelMove("orders", 0)] if is_filled and is_clean else [])
    assert any("throttle" in each for each in texts) is is_filled
    assert any("drain" in each or "move replicas" in each or "add a disk" in each for each in texts) is not is_filled


def test_what_other_programs_write_is_no_reason_to_move_replicas() -> None:
    (claim,) = filled({(2, "/a"): FULL}, other=20_000_000)
    assert not any(each.command or "drain" in each.text or "move replicas" in each.text for each in claim.next)

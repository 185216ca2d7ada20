"""Tests of full log directories: those on one file system are one row, evidence names other writers, and remote storage
is no disk.
"""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.describe_log_dirs.v4.response import DescribeLogDirsResponse, DescribeLogDirsResult
from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta, i64
from msgspec.structs import replace

from console.admin.cluster import dir_answers, is_disk, log_dirs
from console.model.cluster import Broker, LogDir, ReplicaSize, ReplicaSizes
from console.model.disk_trend import DirSample, growth
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage.cause import Claim
from console.triage.diagnosis import diagnose
from tests.unit.test_triage import START, TICK, claims_of, healthy, watched

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
        hosts: broker -> its host; the others have the host of `healthy`.
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
    return claims_of(verdict, "disk-filling")


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
        assert found[0].title.endswith(("one file system, fills up", "one file system, fill up"))
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
    assert claim.title == f"broker 2: {words}"


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

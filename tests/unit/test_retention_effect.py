"""Tests of the forecast of what a shorter retention deletes, compared with a log of segments that is cleaned as a
broker does it.
"""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model.cluster import LogSpan
from console.model.codes import DEFAULT_CONFIG, DYNAMIC_TOPIC_CONFIG
from console.model.config import CLUSTER_DEFAULT, ConfigSet, topic_resource
from console.model.failure import Failure
from console.model.snapshot import Snapshot
from console.plan import retention
from console.plan.edits import AppendConfig, Edit, SetConfig, Slot, UnsetConfig
from console.plan.plan import EMPTY, stage
from console.present.values import deletion_text
from tests.support import samples
from tests.support.model_cluster import ModelCluster

NOW = 1_000_000
RECORD = 10
SLOT = Slot(topic_resource("t"), "retention.ms")


def cut(ms: int = -1, size: int = -1, segment: int = 100) -> retention.RetentionCut:
    return retention.RetentionCut(SLOT, "t", ms, size, segment, 10**9)


def cleaned(ages: list[int], limits: retention.RetentionCut) -> int:
    """Return the number of bytes that a broker deletes (UnifiedLog.deleteOldSegments): by time, then by size.

    ages: the ages of records of equal size in milliseconds, the oldest first.
    """
    per_segment = limits.segment_bytes // RECORD
    segments = [ages[start : start + per_segment] for start in range(0, len(ages), per_segment)]
    gone = 0
    while segments and limits.ms >= 0 and min(segments[0]) > limits.ms:
        gone += len(segments.pop(0)) * RECORD
    over = sum(map(len, segments)) * RECORD - limits.size
    while segments and limits.size >= 0 and over - len(segments[0]) * RECORD >= 0:
        over -= len(segments[0]) * RECORD
        gone += len(segments.pop(0)) * RECORD
    return gone


@given(
    ages=st.lists(st.integers(0, NOW), min_size=1, max_size=200).map(lambda found: sorted(found, reverse=True)),
    ms=st.just(-1) | st.integers(1, NOW),
    size=st.just(-1) | st.integers(0, 2_000),
    replicas=st.integers(1, 3),
)
def test_what_a_broker_deletes_is_in_the_range(ages: list[int], ms: int, size: int, replicas: int) -> None:
    limits = cut(ms, size)
    since = next((place for place, age in enumerate(ages) if age <= ms), len(ages)) if ms >= 0 else 0
    found = retention.deleted_bytes(LogSpan(7, 7 + len(ages), 7 + since), [len(ages) * RECORD] * replicas, limits)
    assert found.least <= replicas * cleaned(ages, limits) <= found.most
    if ms < 0:  # a limit by size is exact to one segment
        assert found.most - found.least <= replicas * limits.segment_bytes


@given(
    span=st.tuples(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)).map(
        lambda drawn: LogSpan(5, 5 + drawn[0], 5 + min(drawn[0], max(drawn[1:])), 5 + min(drawn[0], min(drawn[1:])))
    ),
    size=st.integers(0, 2**40),
    limits=st.tuples(st.just(-1) | st.integers(0, 2**40), st.just(-1) | st.integers(0, 2**40), st.integers(1, 2**31)),
)
def test_a_range_is_within_the_log_and_is_no_more_than_a_segment_beside_what_sizes_may_deviate(
    span: LogSpan, size: int, limits: tuple[int, int, int]
) -> None:
    found = retention.deleted_bytes(span, [size], cut(*limits))
    assert 0 <= found.least <= found.most <= size
    if not 0 <= limits[0] <= retention.SOON_MS:
        deviates = size * (4 / (span.latest - span.earliest) ** 0.5 + 0.1)
        assert found.most - found.least <= limits[2] + deviates + 2


def test_what_goes_by_time_by_size_and_altogether() -> None:
    hour = 3_600_000
    # Half of the records, three standard deviations of a million sizes, 10 % of the half, and a segment.
    assert retention.deleted_bytes(LogSpan(0, 10**6, 500_000), [1_000_000], cut(ms=hour)) == (448_500 - 100, 551_500)
    assert retention.deleted_bytes(LogSpan(0, 100, 100), [1_050, 1_050], cut(ms=hour)) == (2_100, 2_100)
    assert retention.deleted_bytes(LogSpan(0, 100, 0), [1_000], cut(ms=hour)) == (0, 0)
    assert retention.deleted_bytes(LogSpan(0, 100, 20), [1_000], cut(size=300)) == (600, 700)
    assert retention.deleted_bytes(LogSpan(0, 100, 20), [1_000], cut(size=1_001)) == (0, 0)
    assert retention.deleted_bytes(LogSpan(0, 100, 20), [1_000], cut(size=0)) == (1_000, 1_000)
    assert retention.deleted_bytes(LogSpan(5, 5, 5), [0], cut(ms=0, size=0)) == (0, 0)
    # Records that are written now are too old before the broker checks again.
    assert retention.deleted_bytes(LogSpan(0, 100, 20), [1_000], cut(ms=1_000)).most == 1_000


def test_where_little_is_written_time_ends_a_segment() -> None:
    """If segments of 1 GiB are never full, segment.ms counts: with a segment for each hour, a retention of half a day
    deletes about half of a day's records; with longer segments perhaps none.
    """
    day, hour = 86_400_000, 3_600_000
    slow = retention.RetentionCut(SLOT, "t", day // 2, -1, 2**30, hour)
    found = retention.deleted_bytes(LogSpan(0, 100_000, 50_000, 45_800), [1_000_000], slow)
    assert 400_000 <= found.least <= 450_000 < 500_000 <= found.most <= 560_000
    assert (
        retention.deleted_bytes(LogSpan(0, 100_000, 50_000), [1_000_000], slow._replace(segment_ms=7 * day)).least == 0
    )


def described(size: str = "-1", **configs: str) -> Snapshot:
    """Return a snapshot with topics t and u. size: retention.bytes of t, because the model cluster does not have this
    key. configs: of t; underscores stand for dots.
    """
    mine = {key.replace("_", "."): value for key, value in configs.items()}
    snapshot = ModelCluster(topics={"t": 2, "u": 1}, configs={topic_resource("t"): mine}).describe()
    t = topic_resource("t")
    source = DEFAULT_CONFIG if size == "-1" else DYNAMIC_TOPIC_CONFIG
    entry = samples.own_entry("retention.bytes", size, source, 5)
    entries = sorted((*snapshot.configs[t].entries, entry), key=lambda each: each.name)
    return replace(snapshot, configs={**snapshot.configs, t: ConfigSet(tuple(entries))})


def cuts(snapshot: Snapshot, *edits: Edit) -> tuple[retention.RetentionCut, ...]:
    return retention.retention_cuts(stage(EMPTY, edits, snapshot).plan.staged, snapshot)


def test_only_what_is_shorter_than_before_is_looked_at() -> None:
    known = described("800", retention_ms="5000")
    t = topic_resource("t")
    assert [each.ms for each in cuts(known, SetConfig(t, "retention.ms", "4000"))] == [4_000]
    assert cuts(known, SetConfig(t, "retention.ms", "6000")) == ()
    assert cuts(known, SetConfig(t, "retention.ms", "-1")) == ()
    assert cuts(known, UnsetConfig(t, "retention.ms")) == ()  # the default is longer
    assert cuts(known, SetConfig(t, "max.message.bytes", "7")) == ()
    (both,) = cuts(known, SetConfig(t, "retention.ms", "6000"), SetConfig(t, "retention.bytes", "0"))
    assert (both.slot, both.ms, both.size) == (Slot(t, "retention.bytes"), 6_000, 0)
    (from_none,) = cuts(described(), SetConfig(t, "retention.bytes", "9"))
    assert from_none.size == 9


def test_a_topic_that_is_compacted_deletes_nothing_and_no_number_is_for_the_brokers() -> None:
    t = topic_resource("t")
    known = described(cleanup_policy="compact", retention_ms="5000")
    assert cuts(known, SetConfig(t, "retention.ms", "1")) == ()
    (gains,) = cuts(known, AppendConfig(t, "cleanup.policy", "delete"))
    assert (gains.slot.key, gains.ms) == ("cleanup.policy", 5_000)
    snapshot = described()
    plan = stage(EMPTY, [SetConfig(topic_resource("t"), "retention.ms", "5")], snapshot).plan
    wrong = replace(plan.staged[0], edit=SetConfig(topic_resource("t"), "retention.ms", "soon"))
    assert retention.retention_cuts([wrong], snapshot) == ()


def test_the_brokers_default_shortens_what_inherits_it() -> None:
    found = cuts(described(retention_ms="5000"), SetConfig(CLUSTER_DEFAULT, "log.retention.ms", "4000"))
    assert [(each.slot, each.topic, each.ms) for each in found] == [
        (Slot(CLUSTER_DEFAULT, "log.retention.ms"), "u", 4_000)
    ]
    known = {found[0]: retention.Deletion(90, 100, 1)}
    assert retention.by_slot(found, known) == {found[0].slot: retention.Deletion(90, 100, 1)}
    assert retention.by_slot([*found, found[0]._replace(topic="v")], known) == {
        found[0].slot: retention.Deletion(90, 100, 1)
    }


def test_words() -> None:
    assert deletion_text(retention.Deletion(310 << 30, 330 << 30, 12)) == "310–330 GiB are deleted within minutes"
    assert deletion_text(retention.Deletion(5 << 20, 5 << 20, 2_000, 7_000)) == (
        "at least 5.0 MiB are deleted within minutes; 2,000 of 9,000 partitions looked at"
    )
    assert deletion_text(retention.Deletion(0, 5 << 20, 1)) == "up to 5.0 MiB are deleted within minutes"
    assert deletion_text(retention.Deletion(0, 0, 3)) == "no whole segment is deleted at once"
    denied = Failure("CLUSTER_AUTHORIZATION_FAILED", "", "Ask.")
    assert "not known: CLUSTER_AUTHORIZATION_FAILED" in deletion_text(retention.Deletion(0, 0, 0, 3, denied))
    assert retention.Deletion(1, 2, 3, 4) + retention.Deletion(10, 20, 30, 40, denied) == retention.Deletion(
        11, 22, 33, 44, denied
    )

"""The last half hour of each topic, group and broker: packed, and as lines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from console.model.cluster import Broker, ClusterInfo, Group, GroupLag, GroupMember, Partition, PartitionLag, Topic
from console.model.lag_trend import look_again
from console.model.own_half_hour import EVERY, SLOTS, OwnSample, own_values, with_own_sample
from console.model.rates import Counter, Rates
from console.model.snapshot import Snapshot
from console.present.overview import GAP, own_rows

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def cluster(lag: int = 4, size: int = 5000) -> Snapshot:
    topic = Topic("t", (Partition(0, 1, (1, 2), (1,)), Partition(1, 2, (1, 2), (1, 2))))
    counters = {("t", number): Counter(0.0, 0, 0.0, 0, 10.0, size, 1) for number in (0, 1)}
    group = GroupLag((PartitionLag("t", 0, 9 - lag, 9, lag),))
    trend = look_again(look_again(None, group, NOW.timestamp() - 60), group, NOW.timestamp())
    return Snapshot(
        cluster=ClusterInfo("c", 1, tuple(Broker(n, "h", 9092, None) for n in (1, 2, 10))),
        topics={"t": topic, "idle": Topic("idle", (Partition(0, 1, (1,), (1,)),))},
        rates=Rates(sizes=counters, ends=counters),
        groups={
            "g": Group("g", "Stable", "consumer", members=(GroupMember("m", "c", "/h", ()),)),
            "unread": Group("unread", "Empty", "consumer"),
        },
        lags={"g": group},
        lag_trends={"g": trend},
        read_at={"topics": NOW},
    )


def over_time(*looks: Snapshot) -> tuple[OwnSample, ...]:
    samples: tuple[OwnSample, ...] = ()
    for number, each in enumerate(looks):
        samples = with_own_sample(samples, each, NOW + timedelta(seconds=number * EVERY))
    return samples


def test_each_has_what_is_known_of_it_and_nothing_else() -> None:
    samples = over_time(cluster())
    (slot,) = {each.slot for each in samples}

    def known(kind: str, name: str) -> dict[str, float]:
        return {what: values[slot] for what, values in own_values(samples, kind, name).items()}  # type: ignore[arg-type]

    assert known("topic", "t") == {"bytes in": 1000, "records in": 1000}
    assert known("topic", "idle") == {}
    assert known("topic", "nothing of the kind") == {}
    assert known("group", "g") == {"lag": 4, "behind": 60, "members": 1}
    assert known("group", "unread") == {}
    assert known("broker", "1") == {"leaders": 2, "out of sync": 0}
    assert known("broker", "2") == {"leaders": 1, "out of sync": 1}
    assert known("broker", "10") == {"leaders": 0, "out of sync": 0}


def test_there_is_one_sample_each_forty_seconds_for_half_an_hour_and_names_are_kept_once() -> None:
    look, samples = cluster(), over_time(cluster())
    for second in range(2, 2000, 2):
        before = samples
        samples = with_own_sample(samples, look, NOW + timedelta(seconds=second))
        assert (samples is before) is bool((int(NOW.timestamp()) + second) % EVERY)
    assert len(samples) == SLOTS
    assert len({id(each.kinds["topic"].names) for each in samples}) == 1
    assert len(with_own_sample(samples, look, NOW - timedelta(hours=1))) == 1


def test_it_takes_few_bytes_for_each() -> None:
    """4,000 topics, 45 samples: 1.4 MB for two values of each."""
    (sample,) = over_time(cluster())
    topics = sample.kinds["topic"]
    assert [len(each) for each in topics.values] == [4 * len(topics.names)] * 2


def test_lines_of_a_topic_have_the_reader_that_is_furthest_behind() -> None:
    samples = over_time(cluster(), cluster(size=50_000))
    assert own_rows(samples[:1], "topic", "t") == ()
    axis, read, records = own_rows(samples, "topic", "t")
    assert (read.title, read.now) == ("bytes in", "9.8 KiB/s")
    assert (records.title, records.now) == ("records in", "10,000/s")
    assert read.graph.count(GAP) == 1
    assert read.graph.strip(" ").count("█") == 1
    assert len(axis.graph) == len(read.graph) == SLOTS
    (behind,) = (row for row in own_rows(samples, "topic", "t", ["unread", "g"]) if row.title == "readers behind")
    assert behind.now == "1 min"


@pytest.mark.parametrize(
    ("kind", "name", "titles"),
    [("group", "g", ["lag", "behind", "members"]), ("broker", "2", ["leaders", "out of sync"])],
)
def test_lines_of_groups_and_brokers(kind: str, name: str, titles: list[str]) -> None:
    rows = own_rows(over_time(cluster(), cluster()), kind, name)  # type: ignore[arg-type]
    assert [row.title for row in rows[1:]] == titles
    assert [row.meaning for row in rows if row.title == "out of sync"] in ([], ["failed"])

"""Tests of the last half hour of each topic, group and broker: how samples are stored, and their graphs."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from console.model import cluster as model
from console.model import half_hour
from console.model.half_hour import OWN_EVERY, OWN_SLOTS, HalfHour, OwnSample, own_values
from console.model.lag_trend import trend_after
from console.model.rates import Counter, Rates
from console.model.snapshot import Snapshot
from console.present import graphs
from console.present.overview import own_chart

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def cluster(lag: int = 4, size: int = 5000) -> Snapshot:
    topic = model.Topic("t", (model.Partition(0, 1, (1, 2), (1,)), model.Partition(1, 2, (1, 2), (1, 2))))
    counters = {("t", number): Counter(0.0, 0, 0.0, 0, 10.0, size, 1) for number in (0, 1)}
    group = model.GroupLag((model.PartitionLag("t", 0, 9 - lag, 9, lag),))
    trend = trend_after(trend_after(None, group, NOW.timestamp() - 60), group, NOW.timestamp())
    return Snapshot(
        cluster=model.ClusterInfo("c", 1, tuple(model.Broker(n, "h", 9092, None) for n in (1, 2, 10))),
        topics={"t": topic, "idle": model.Topic("idle", (model.Partition(0, 1, (1,), (1,)),))},
        rates=Rates(sizes=counters, ends=counters),
        groups={
            "g": model.Group("g", "Stable", "consumer", members=(model.GroupMember("m", "c", "/h", ()),)),
            "unread": model.Group("unread", "Empty", "consumer"),
        },
        lags={"g": group},
        lag_trends={"g": trend},
        log_dirs={
            1: (
                model.LogDir("/a", model.ReplicaSizes(()), 100, 40),
                model.LogDir("/b", model.ReplicaSizes(()), 100, 25),
            )
        },
        read_at={"topics": NOW},
    )


def over_time(*polls: Snapshot) -> tuple[OwnSample, ...]:
    found = HalfHour()
    for number, each in enumerate(polls):
        found = found.after(each, NOW + timedelta(seconds=number * OWN_EVERY))
    return found.own


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
    # The rate of writes to broker 1 is unknown, because that of a partition that it leads is unknown.
    assert known("broker", "1") == {"leaders": 2, "out of sync": 0, "read ≈": 0, "disk": 0.75}
    assert known("broker", "2") == {"leaders": 1, "out of sync": 1, "written": 500}
    assert known("broker", "10") == {"leaders": 0, "out of sync": 0}


def test_there_is_one_sample_each_forty_seconds_for_half_an_hour_and_names_are_kept_once() -> None:
    poll = cluster()
    known = HalfHour().after(poll, NOW)
    for second in range(2, 2000, 2):
        before = known
        known = known.after(poll, NOW + timedelta(seconds=second))
        assert (known.own is before.own) is bool((int(NOW.timestamp()) + second) % OWN_EVERY)
    samples = known.own
    assert len(samples) == OWN_SLOTS
    assert len({id(each.kinds["topic"].names) for each in samples}) == 1
    assert len({id(each.kinds["group"].columns[0]) for each in samples}) == 1
    assert len(known.after(poll, NOW - timedelta(hours=1)).own) == 1


# -- memory of the samples ---------------------------------------------------------------------------------------------


def many(idle: int, *rates: int) -> tuple[OwnSample, ...]:
    """Return samples with `idle` topics without writes, and a topic for each rate, in bytes per second."""
    sizes = [0] * idle + [10 * each for each in rates]
    names = [f"t-{number:06}" for number in range(len(sizes))]
    topics = {name: model.Topic(name, (model.Partition(0, 1, (1,), (1,)),)) for name in names}
    counters = {(name, 0): Counter(0.0, 0, 0.0, 0, 10.0, size, 1) for name, size in zip(names, sizes, strict=True)}
    return over_time(Snapshot(topics=topics, rates=Rates(sizes=counters), read_at={"topics": NOW}))


def kept(samples: tuple[OwnSample, ...]) -> int:
    """Return the number of bytes that the topics' values take in the only sample."""
    (sample,) = samples
    return sum(len(each.values) + len(each.places or b"") for each in sample.kinds["topic"].columns)


def rate(samples: tuple[OwnSample, ...], number: int) -> float | None:
    return next(iter(own_values(samples, "topic", f"t-{number:06}").get("bytes in", {}).values()), None)


def test_a_topic_without_writes_costs_nothing_and_others_four_bytes() -> None:
    samples = many(1000, 7, 9)
    assert kept(samples) == 2 * 8
    assert [rate(samples, number) for number in (0, 999, 1000, 1001)] == [0.0, 0.0, 7.0, 9.0]
    samples = many(1, *range(1, 1000))
    assert kept(samples) == 4 * 1000
    assert [rate(samples, number) for number in (0, 1, 999)] == [0.0, 1.0, 999.0]


def test_of_very_many_those_that_are_written_to_most_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample keeps values of only the `MOST_OWN` topics with the most writes, here three; other topics that are
    written to have no value.
    """
    monkeypatch.setattr(half_hour, "MOST_OWN", 3)
    samples = many(2, 5, 1, 9, 7, 2)
    assert kept(samples) == 3 * 8
    assert [rate(samples, number) for number in range(7)] == [None, None, 5.0, None, 9.0, 7.0, None]


def newest(samples: tuple[OwnSample, ...], kind: str, name: str, **more: object) -> dict[str, tuple[str, str]]:
    """Return title -> the newest value and its style."""
    chart = own_chart(samples, kind, name, 120, **more)  # type: ignore[arg-type]
    if chart is None:
        return {}
    values = ((each, each.values.get(chart.axis.last)) for each in chart.graphs)
    return {
        each.title: (graphs.value_text(each.what, value), graphs.meaning(each.what, value)) for each, value in values
    }


def test_graphs_of_a_topic_have_the_last_reader_and_those_of_a_broker_what_is_bad() -> None:
    samples = over_time(cluster(), cluster(size=50_000))
    assert newest(samples[:1], "topic", "t") == {}
    assert newest(samples, "topic", "t") == {"bytes in": ("9.8 KiB/s", "graph"), "records in": ("10,000/s", "graph")}
    assert newest(samples, "topic", "t", readers=["unread", "g"])["readers behind"] == ("60 s", "graph")
    # The disk of broker 2 is filling, and one of its replicas is out of sync.
    full = replace(cluster(), log_dirs={2: (model.LogDir("/a", model.ReplicaSizes(()), 100, 5),)})
    found = newest(over_time(full, full), "broker", "2")
    assert found["disk"] == ("95 %", "danger")
    assert found["out of sync"] == ("1", "failed")
    assert found["written"] == ("500 B/s", "graph")


@pytest.mark.parametrize(
    ("kind", "name", "titles"),
    [
        ("group", "g", ["lag", "behind", "members"]),
        ("broker", "1", ["leaders", "out of sync", "read ≈", "disk full in 2 h"]),
    ],
)
def test_graphs_of_groups_and_brokers(kind: str, name: str, titles: list[str]) -> None:
    assert [*newest(over_time(cluster(), cluster()), kind, name, full_in={1: 7200.0})] == titles

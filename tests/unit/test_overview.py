"""Tests of the last half hour as numbers, and of which measures get a graph."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model import cluster, half_hour
from console.model.lag_trend import LagTrend, trend_after, with_times
from console.model.rates import Counter, Rates
from console.model.snapshot import Snapshot
from console.model.throttling import Client, Throttled
from console.model.time_lag import Spot, Written
from console.present import graphs, overview

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
OFFLINE = half_hour.Measure("offline")


def over_time(
    *values: float, measure: half_hour.Measure = OFFLINE, began: datetime = NOW
) -> tuple[half_hour.Sample, ...]:
    first = int(began.timestamp()) // half_hour.EVERY
    return tuple(half_hour.Sample(first + number, {measure: value}) for number, value in enumerate(values))


def charted(shown: overview.Shown, room: int | None = None, width: int = 200) -> graphs.Chart:
    found = overview.overview_chart(shown, width, room)
    assert found is not None
    return found


def newest(chart: graphs.Chart) -> dict[str, str]:
    """Return title -> the newest value as the graph shows it."""
    at = chart.axis.last
    return {
        each.title: graphs.value_text(each.what, each.values.get(at), is_least=each.is_least) for each in chart.graphs
    }


def test_a_sample_has_what_is_known_and_nothing_else() -> None:
    assert half_hour.HalfHour().after(Snapshot(), NOW).samples == (
        half_hour.Sample(int(NOW.timestamp()) // half_hour.EVERY, {}),
    )
    topic = cluster.Topic("t", (cluster.Partition(0, 1, (1, 2), (1,)), cluster.Partition(1, -1, (1, 2), (1,))))
    counter = Counter(0.0, 0, 0.0, 0, 10.0, 5000, 1)
    lag = cluster.GroupLag((cluster.PartitionLag("t", 0, 5, 9, 4),))
    written = {Spot("t", 0, 5): Written(5, round((NOW.timestamp() - 90) * 1000))}
    known = Snapshot(
        topics={"t": topic},
        rates=Rates(sizes={("t", 0): counter, ("t", 1): counter}),
        lag_trends=with_times({"g": trend_after(None, lag, NOW.timestamp())}, written),
        log_dirs={
            1: (cluster.LogDir("/data", cluster.ReplicaSizes(()), 100, 25),),
            2: (cluster.LogDir("/data", cluster.ReplicaSizes(())),),
        },
        read_at={"topics": NOW},
    )
    (sample,) = half_hour.HalfHour().after(known, NOW).samples
    assert sample.values == {
        half_hour.Measure("under-replicated"): topic.under_replicated,
        half_hour.Measure("offline"): 1,
        half_hour.Measure("written", "1"): 500,
        half_hour.Measure("behind", "g"): pytest.approx(90),
        half_hour.Measure("disk", "1 /data"): 0.75,
    }


def test_a_lag_from_before_the_watching_is_at_least_so_long() -> None:
    lag = cluster.GroupLag((cluster.PartitionLag("t", 0, 5, 9, 4),))
    trend = trend_after(trend_after(None, lag, NOW.timestamp() - 60), lag, NOW.timestamp())
    known = Snapshot(lag_trends={"g": trend})
    samples = half_hour.HalfHour().after(known, NOW).samples
    assert samples[-1].least == {half_hour.Measure("behind", "g")}
    assert newest(charted(overview.Shown(samples))) == {"lag g": "≥ 60 s"}
    assert not over_time(1.0)[0].least


def test_what_groups_read_is_told_by_their_commits_and_what_is_written() -> None:
    """The bytes that groups read follow from their commits: of 200 records of 50 bytes per second, the group `all`
    reads all, `half` reads half and `none` reads none; `still` reads a partition without new records.
    """

    def lag(committed: int, end: int, partition: int = 0) -> cluster.GroupLag:
        return cluster.GroupLag((cluster.PartitionLag("t", partition, committed, end, end - committed),))

    at = NOW.timestamp()
    polls = {"all": (2000, 2000), "half": (1000, 2000), "none": (0, 2000)}
    trends = {
        name: trend_after(trend_after(None, lag(0, 0), at - 10), lag(committed, end), at)
        for name, (committed, end) in polls.items()
    }
    still = trend_after(trend_after(None, lag(0, 500, 1), at - 10), lag(400, 500, 1), at)
    topic = cluster.Topic("t", (cluster.Partition(0, 2, (2,), (2,)), cluster.Partition(1, 1, (1,), (1,))))
    sizes = {("t", 0): Counter(0.0, 0, 0.0, 0, 10.0, 100_000, 2), ("t", 1): Counter(0.0, 7, 0.0, 7, 10.0, 7, 1)}
    known = Snapshot(topics={"t": topic}, rates=Rates(sizes=sizes), lag_trends={**trends, "still": still})
    (sample,) = half_hour.HalfHour().after(known, NOW).samples
    assert {each.about: value for each, value in sample.values.items() if each.what == "read"} == {"2": 15_000.0}


def test_there_is_one_sample_each_ten_seconds_for_half_an_hour() -> None:
    known = half_hour.HalfHour()
    for second in range(0, 2000, 2):
        before, at = known, NOW + timedelta(seconds=second)
        known = known.after(Snapshot(), at)
        assert (known is before) is bool(second % half_hour.EVERY)
        assert (before.is_due(at), known.is_due(at)) == (known is not before, False)
    samples = known.samples
    assert len(samples) == half_hour.SLOTS
    assert samples[-1].slot - samples[0].slot == half_hour.SLOTS - 1
    assert len(known.after(Snapshot(), NOW - timedelta(hours=1)).samples) == 1
    corrected = NOW + timedelta(seconds=1990 - half_hour.CORRECTED * half_hour.EVERY)
    assert known.after(Snapshot(), corrected) is known


def test_of_many_groups_those_that_are_furthest_behind_are_measured() -> None:
    trends: dict[str, LagTrend] = {}
    for number in range(20):
        lag = cluster.GroupLag((cluster.PartitionLag("t", 0, number, 99, 99 - number),))
        found = {Spot("t", 0, number): Written(number, round((NOW.timestamp() - number) * 1000))}
        trends |= with_times({f"g-{number}": trend_after(None, lag, NOW.timestamp())}, found)
    (sample,) = half_hour.HalfHour().after(Snapshot(lag_trends=trends), NOW).samples
    assert {measure.about for measure in sample.values} == {
        f"g-{number}" for number in range(20 - half_hour.MOST_GROUPS, 20)
    }


def test_whose_requests_are_throttled_is_said_by_who_says_it() -> None:
    """Each graph's title says where the throttling comes from: kac's own throttling comes from responses to kac, and
    the throttling of the most throttled clients comes from request logs.
    """
    clients = {
        Client(f"c-{n}", "User:a", "PRODUCE"): Throttled(100, 90 - n, 500) for n in range(half_hour.MOST_THROTTLED + 2)
    }
    clients[Client("", "User:b", "FETCH")] = Throttled(1, 1, 1)
    throttled = {
        **half_hour.throttled_kac(3),
        **half_hour.throttled_by_log(dict(sorted(clients.items(), key=lambda each: -each[1].throttled))),
    }
    (sample,) = half_hour.HalfHour().after(Snapshot(), NOW, throttled).samples
    by_minute = {
        half_hour.Measure("throttled", f"c-{n} PRODUCE by log"): 90 - n for n in range(half_hour.MOST_THROTTLED)
    }
    assert sample.values == {half_hour.Measure("throttled", "kac by answers"): 18, **by_minute}
    assert half_hour.throttled_by_log({Client("", "User:b", "FETCH"): Throttled(1, 1, 1)}) == {
        half_hour.Measure("throttled", "User:b FETCH by log"): 1
    }


def test_graphs_stand_in_their_order_and_groups_that_read_well_are_left_out() -> None:
    values = {
        half_hour.Measure("disk", "10 /c"): 0.1,
        half_hour.Measure("disk", "10 /b"): 0.95,
        half_hour.Measure("disk", "2 /a"): 0.5,
        half_hour.Measure("behind", "slow"): 60.0,
        half_hour.Measure("behind", "slower"): 600.0,
        half_hour.Measure("behind", "well"): 2.0,
        half_hour.Measure("written", "1"): 2048.0,
        half_hour.Measure("read", "1"): 4096.0,
        half_hour.Measure("offline"): 0,
        half_hour.Measure("under-replicated"): 3,
    }
    sample = half_hour.Sample(int(NOW.timestamp()) // half_hour.EVERY, values)
    chart = charted(overview.Shown((sample,), full_in={2: 7200.0}))
    assert [*newest(chart).items()] == [
        ("under-replicated", "3"),
        ("offline", "0"),
        ("written to 1", "2.0 KiB/s"),
        ("read from 1 ≈", "4.0 KiB/s"),
        ("lag slower", "10 min"),
        ("lag slow", "60 s"),
        ("disk 2 full in 2 h", "50 %"),
        ("disk 10 /b", "95 %"),
        ("disk 10 /c", "10 %"),
    ]
    assert len({each.key for each in chart.graphs}) == len(chart.graphs)


def of_brokers(count: int) -> overview.Shown:
    values = {half_hour.Measure("under-replicated"): 0.0, half_hour.Measure("offline"): 0.0}
    values |= {half_hour.Measure("written", str(broker)): 1024.0 * broker for broker in range(1, count + 1)}
    values |= {half_hour.Measure("disk", f"{broker} /d"): broker / 100 for broker in range(1, count + 1)}
    return overview.Shown((half_hour.Sample(int(NOW.timestamp()) // half_hour.EVERY, values),))


def test_of_many_brokers_the_highest_have_graphs_and_the_others_one() -> None:
    assert [*newest(charted(of_brokers(9)))][2:] == [
        *(f"written to {n}" for n in range(1, 10)),
        *(f"disk {n}" for n in range(1, 10)),
    ]
    now = newest(charted(of_brokers(60)))
    highest = range(53, 61)
    assert [*now][2:] == [
        *(f"written to {n}" for n in highest),
        "written to 52 more",
        *(f"disk {n}" for n in highest),
        "disk of 52 more",
    ]
    assert (now["written to 52 more"], now["disk of 52 more"]) == ("1.3 MiB/s", "52 %")


@given(st.integers(1, 60), st.integers(6, 40))
def test_no_more_graphs_are_drawn_than_there_is_room_for(count: int, room: int) -> None:
    """There are never more graphs than room; the last graph of a measure says how many brokers it leaves out."""
    titles = [*newest(charted(of_brokers(count), room))]
    assert len(titles) <= room
    for word, number in (("written to", -2), ("disk", -2)):
        mine = [title for title in titles if word in title]
        counted = sum(int(title.split()[number]) for title in mine if "more" in title)
        assert sum("more" not in title for title in mine) + counted == count  # the last graph counts the rest


def test_who_is_throttled_has_a_graph_and_who_is_not_has_none() -> None:
    """A client gets a graph only if it is throttled. The lake's minutes are drawn together with the samples, if they
    are within the half hour.
    """
    first = int(NOW.timestamp()) // half_hour.EVERY
    kac, one = half_hour.Measure("throttled", "kac by answers"), half_hour.Measure("throttled", "one by log")
    samples = (half_hour.Sample(first, {kac: 0.0, one: 6.0}), half_hour.Sample(first + 1, {kac: 0.0, one: 4.0}))
    minute = dict.fromkeys(range(first - 5, first + 1), 40.0)
    usage = {"alice / checkout 98 % of quota by lake": minute, "before": {first - half_hour.SLOTS: 9.0}}
    chart = charted(overview.Shown(samples, usage=usage))
    assert newest(chart) == {"throttled alice / checkout 98 % of quota by lake": "–", "throttled one by log": "4/min"}
    assert [*chart.graphs[0].values.values()] == [40.0] * 6


def test_clients_and_groups_may_be_named_by_any_number_and_nothing_is_drawn_without_a_sample() -> None:
    """A name of thousands of digits gets a graph: names are not parsed as numbers, of which Python refuses more than
    4,300 digits. Without a sample there is no chart.
    """
    first = int(NOW.timestamp()) // half_hour.EVERY
    values = {half_hour.Measure("behind", each): 60.0 for each in ("9" * 5000, "12", "-")}
    values |= {half_hour.Measure("throttled", "7" * 5000): 6.0, half_hour.Measure("written", "1"): 5.0}
    chart = charted(overview.Shown((half_hour.Sample(first, values), half_hour.Sample(first + 1, values))))
    assert len(chart.graphs) == len(values)
    assert overview.overview_chart(overview.Shown((), [graphs.Mark(NOW)]), 200) is None


def test_groups_and_disks_that_are_gone_have_no_graph() -> None:
    """Groups that no longer exist have no graph; a broker that is away for a while keeps the graphs of its disks."""
    behind, disk = half_hour.Measure("behind", "billing"), half_hour.Measure("disk", "1 /a")
    (sample,) = over_time(0.0)
    gone = sample._replace(values={behind: 60.0, disk: 0.5, OFFLINE: 1.0})

    def titles(later: int, groups: tuple[str, ...] | None = None) -> list[str]:
        now = sample._replace(slot=sample.slot + later)
        return [*newest(charted(overview.Shown((gone, now), groups=groups)))]

    assert titles(1) == titles(1, ("billing",)) == ["offline", "lag billing", "disk 1"]
    assert titles(1, ()) == ["offline", "disk 1"]
    assert titles(overview.GONE_AFTER - 1) == ["offline", "lag billing", "disk 1"]
    assert titles(overview.GONE_AFTER) == ["offline", "lag billing"]


@given(st.lists(st.integers(0, 9), min_size=2, max_size=60), st.sampled_from([80, 120, 200]))
def test_between_two_columns_nothing_changes(values: list[int], width: int) -> None:
    samples, seconds = over_time(*values), graphs.seconds_for(width)
    marks = [graphs.Mark(NOW + timedelta(seconds=7 * number)) for number in range(len(values))]
    for number in range(2, len(values) + 1):
        before = charted(overview.Shown(samples[: number - 1], marks), width=width)
        after = charted(overview.Shown(samples[:number], marks), width=width)
        if (
            samples[number - 1].slot * half_hour.EVERY // seconds
            == samples[number - 2].slot * half_hour.EVERY // seconds
        ):
            assert after == before
        else:
            assert after.axis.last == before.axis.last + 1

"""The last half hour in numbers, and as lines of blocks that do not scroll."""

from __future__ import annotations

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
from console.present import overview

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
OFFLINE = half_hour.Measure("offline")
WIDTHS = (45, 90, 180)


def over_time(
    *values: float, measure: half_hour.Measure = OFFLINE, began: datetime = NOW
) -> tuple[half_hour.Sample, ...]:
    first = int(began.timestamp()) // half_hour.EVERY
    return tuple(half_hour.Sample(first + number, {measure: value}) for number, value in enumerate(values))


def graph(samples: tuple[half_hour.Sample, ...], columns: int = 180, key: str = "offline ") -> str:
    (found,) = (row.graph for row in overview.overview_rows(overview.Shown(samples), columns) if row.key == key)
    return found


# -- what is measured --------------------------------------------------------------------------------------------------


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
    (now,) = (row.now for row in overview.overview_rows(overview.Shown(samples), 45) if row.key == "behind g")
    assert now == "≥ 60 s"
    assert not over_time(1.0)[0].least


def test_what_groups_read_is_told_by_their_commits_and_what_is_written() -> None:
    """Of 200 records of 50 bytes a second one group reads all, another the half; a third reads what stands still."""

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
    """kac by answers to itself, clients by brokers' request logs; of these the most throttled."""
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


# -- how it is drawn ---------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 9), min_size=2, max_size=400), st.sampled_from(WIDTHS))
def test_a_new_sample_writes_its_column_and_the_gap_alone(values: list[int], columns: int) -> None:
    values = [9, *values]  # the scale stays
    each_has = half_hour.SLOTS // columns
    for number in range(max(1, len(values) - 40), len(values)):
        before = graph(over_time(*values)[max(0, number - half_hour.SLOTS) : number], columns)
        after = graph(over_time(*values)[max(0, number + 1 - half_hour.SLOTS) : number + 1], columns)
        assert len(before) == len(after) == columns
        changed = sum(a != b for a, b in zip(before, after, strict=True))
        # Where the highest of them leaves, the others are drawn higher.
        assert changed <= 2 or 9 not in values[max(0, number + 1 - half_hour.SLOTS) : number + 1]
        if (int(NOW.timestamp()) // half_hour.EVERY + number) % each_has:
            assert changed == 0 or 9 not in values[max(0, number + 1 - half_hour.SLOTS) : number + 1]


@pytest.mark.parametrize("columns", WIDTHS)
def test_more_is_drawn_higher_nothing_lowest_and_what_is_unknown_not_at_all(columns: int) -> None:
    each_has = half_hour.SLOTS // columns
    values = [value for value in (0, 1, 5, 10) for _ in range(each_has)]
    line = graph(over_time(*values, 0), columns)
    drawn = [sign for sign in line if sign not in (" ", overview.GAP)]
    assert drawn == sorted(drawn)
    assert (drawn[0], drawn[-1]) == (overview.BLOCKS[0], overview.BLOCKS[-1])
    assert len(drawn) == 4
    assert line.count(overview.GAP) == 1
    assert line.count(" ") == columns - 5


def test_the_least_bit_is_not_nothing() -> None:
    assert (
        graph(over_time(0, 1, 10_000, 0)).strip(f" {overview.GAP}")
        == overview.BLOCKS[0] + overview.BLOCKS[1] + overview.BLOCKS[-1]
    )


def test_lines_stand_in_their_order_and_groups_that_read_well_are_left_out() -> None:
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
    rows = overview.overview_rows(
        overview.Shown((half_hour.Sample(int(NOW.timestamp()) // half_hour.EVERY, values),), [NOW], {2: 7200.0}), 45
    )
    assert [(row.title, row.now, row.meaning) for row in rows[1:]] == [
        ("events", "1", ""),
        ("under-replicated", "3", "failed"),
        ("offline", "0", ""),
        ("written to 1", "2.0 KiB/s", ""),
        ("read from 1 ≈", "4.0 KiB/s", ""),
        ("lag slower", "10 min", ""),
        ("lag slow", "60 s", ""),
        ("disk 2 full in 2 h", "50 %", ""),
        ("disk 10 /b", "95 %", "danger"),
        ("disk 10 /c", "10 %", ""),
    ]
    assert len({row.key for row in rows}) == len(rows)
    assert all(len(row.graph) == 45 for row in rows)
    assert all(len(overview.OVERVIEW.cells(row)) == 3 for row in rows)


def of_brokers(count: int) -> overview.Shown:
    values = {half_hour.Measure("under-replicated"): 0.0, half_hour.Measure("offline"): 0.0}
    values |= {half_hour.Measure("written", str(broker)): 1024.0 * broker for broker in range(1, count + 1)}
    values |= {half_hour.Measure("disk", f"{broker} /d"): broker / 100 for broker in range(1, count + 1)}
    return overview.Shown((half_hour.Sample(int(NOW.timestamp()) // half_hour.EVERY, values),))


def test_of_many_brokers_the_highest_have_lines_and_the_others_one() -> None:
    titles = [row.title for row in overview.overview_rows(of_brokers(9), 45)]
    assert titles[4:] == [*(f"written to {n}" for n in range(1, 10)), *(f"disk {n}" for n in range(1, 10))]
    now = {row.title: row.now for row in overview.overview_rows(of_brokers(60), 45)}
    highest = range(53, 61)
    assert [*now][4:] == [
        *(f"written to {n}" for n in highest),
        "written to 52 more",
        *(f"disk {n}" for n in highest),
        "disk of 52 more",
    ]
    assert (now["written to 52 more"], now["disk of 52 more"]) == ("1.3 MiB/s", "52 %")


@given(st.integers(1, 60), st.integers(8, 40))
def test_no_more_lines_are_drawn_than_there_is_room_for(count: int, room: int) -> None:
    """Four are of the cluster, and two of each kind there are at least."""
    titles = [row.title for row in overview.overview_rows(of_brokers(count), 45, room)]
    assert len(titles) <= room
    for word, number in (("written to", -2), ("disk", -2)):
        mine = [title for title in titles if word in title]
        counted = sum(int(title.split()[number]) for title in mine if "more" in title)
        assert sum("more" not in title for title in mine) + counted == count  # whoever has no line is counted


def test_what_there_is_no_room_for_at_all_is_said() -> None:
    rows = overview.overview_rows(of_brokers(60), 45, 5)
    assert [row.title for row in rows] == ["", "events", "under-replicated", "offline", "… more: ^G"]


def test_who_is_throttled_has_a_line_and_who_is_not_has_none() -> None:
    """A lake's minutes stand beside the samples, as far as they are of the half hour."""
    first = int(NOW.timestamp()) // half_hour.EVERY
    kac, one = half_hour.Measure("throttled", "kac by answers"), half_hour.Measure("throttled", "one by log")
    samples = (half_hour.Sample(first, {kac: 0.0, one: 6.0}), half_hour.Sample(first + 1, {kac: 0.0, one: 4.0}))
    minute = dict.fromkeys(range(first - 5, first + 1), 40.0)
    usage = {"alice / checkout 98 % of quota by lake": minute, "before": {first - half_hour.SLOTS: 9.0}}
    _, _, lake, log = overview.overview_rows(overview.Shown(samples, usage=usage), 180)
    assert (lake.title, lake.now) == ("throttled alice / checkout 98 % of quota by lake", "–")
    assert lake.graph.count("▇") == 6
    assert (log.title, log.now) == ("throttled one by log", "4/min")
    assert len({lake.key, log.key}) == 2


def test_there_is_nothing_to_draw_before_the_first_sample() -> None:
    assert overview.overview_rows(overview.Shown((), [NOW]), 45) == ()


def test_events_stand_where_they_happened() -> None:
    samples = over_time(*[0] * 100)
    rows = overview.overview_rows(
        overview.Shown(samples, [NOW + timedelta(seconds=500), NOW - timedelta(hours=2)]), 180
    )
    events = next(row for row in rows if row.key == "events")
    assert events.now == "1"
    line = graph(over_time(*[0] * 100))
    assert events.graph.index("┆") == (line.index(overview.GAP) - 49) % 180
    axis = rows[0].graph
    assert sum(char == ":" for char in axis) == 3


def test_the_drawing_has_as_many_columns_as_there_is_room_for() -> None:
    assert [overview.columns_for(width) for width in (60, 80, 124, 125, 200, 219, 220)] == [45, 45, 45, 90, 90, 90, 180]
    assert all(half_hour.SLOTS % columns == 0 for columns in WIDTHS)

"""Tests of the analysis of a topic: its counts equal a plain count of the records, in whatever order partitions are
read.
"""

from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.admin.record_scans import SampleScan, sample_ranges
from console.model import topic_analysis as model
from console.model.records import BatchFacts, Progress, Record, Scanned
from console.model.schemas import SchemaKey

AT = datetime(2026, 11, 20, tzinfo=UTC)
NOW = round(AT.timestamp() * 1000)
TIMES = st.one_of(
    st.integers(NOW - 10**8, NOW), st.sampled_from([-1, 0, 1_000, NOW + 10**6, 2**63 - 1]), st.integers(-(2**63), NOW)
)
CONTENTS = st.one_of(st.none(), st.sampled_from([b"", b"a", b"\xff\x00", b"\0\0\0\0\7x", b"x" * 2_000]))
HEADERS = st.lists(st.tuples(st.sampled_from([b"trace", b"t"]), CONTENTS), max_size=2).map(tuple)


@st.composite
def topics(draw: st.DrawFn) -> list[list[Record]]:
    """Draw the records of each partition of a topic, in the order of offsets, in batches of up to three."""
    made = []
    for number in range(draw(st.integers(1, 3))):
        rows = draw(st.lists(st.tuples(TIMES, CONTENTS, CONTENTS, HEADERS), max_size=12))
        records: list[Record] = []
        for at in range(0, len(rows), 3):
            some = rows[at : at + 3]
            batch = BatchFacts(at, codec=draw(st.sampled_from(["none", "lz4"])), size=100, claimed=len(some))
            records += [Record("t", number, at + place, *row, batch) for place, row in enumerate(some)]
        made.append(records)
    return made


def counted(portions: list[list[Record]]) -> model.TopicAnalysis:
    counting = model.Counting("t", AT)
    for portion in portions:
        counting.add(portion, NOW)
    return counting.result(Progress()).facts


@given(topics(), st.data())
def test_counts_are_equal_in_any_order_of_the_partitions(partitions: list[list[Record]], data: st.DataObject) -> None:
    waiting = [[*each] for each in partitions if each]
    mixed: list[list[Record]] = []
    while waiting:
        some = data.draw(st.sampled_from(waiting))
        count = data.draw(st.integers(1, len(some)))
        mixed.append([some.pop(0) for _ in range(count)])
        waiting = [each for each in waiting if each]
    one, other = counted(partitions), counted(mixed)
    # A heavy key's partition is known only if one portion has the key twice.
    assert replace(one, heaviest=()) == replace(other, heaviest=())
    assert [each.seen for each in one.heaviest] == [each.seen for each in other.heaviest]


def _size(record: Record) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers


@given(topics())
def test_counts_equal_a_plain_count(partitions: list[list[Record]]) -> None:
    facts = counted(partitions)
    records = [record for each in partitions for record in each]
    keys = Counter(each.key for each in records if each.key is not None)
    assert facts.records == len(records)
    assert facts.nulls == sum(each.value is None for each in records)
    assert facts.keyless == len(records) - keys.total()
    assert facts.distinct == (len(keys),) * 3, "of so few keys the sketch is exact"
    heavy = sorted((count for count in keys.values() if count > 1), reverse=True)
    assert [each.seen.value for each in facts.heaviest] == heavy
    assert {each.number: (each.records, each.size) for each in facts.partitions} == {
        number: (len(each), sum(map(_size, each))) for number, each in enumerate(partitions) if each
    }
    sizes = sorted(map(_size, records))
    if sizes:
        assert facts.sizes is not None
        assert (facts.sizes.least, facts.sizes.most) == (sizes[0], sizes[-1])
        assert facts.sizes.at[0] in sizes
    named = Counter(name for each in records for name in {name for name, _ in each.headers})
    assert sorted(facts.headers) == sorted(named.values())
    assert sum(each.records for each in facts.codecs) == len(records)
    assert {each.name: each.batches for each in facts.codecs} == Counter(
        codec for each in partitions for codec in {r.batch.base_offset: r.batch.codec for r in each}.values()
    )
    assert {each.name: each.stored for each in facts.codecs} == {each.name: 100 * each.batches for each in facts.codecs}


@given(topics())
def test_times_are_placed_once_or_counted_apart(partitions: list[list[Record]]) -> None:
    times = counted(partitions).times
    usual: dict[int, list[int]] = {}
    apart: Counter[str] = Counter()
    for number, records in enumerate(partitions):
        for record in records:
            at = record.timestamp
            kind = "without" if at < 0 else "ahead" if at > NOW + model.AHEAD_MS else ""
            kind = kind or ("early" if at < model.EARLIEST_MS else "")
            apart[kind] += 1
            if not kind:
                usual.setdefault(number, []).append(at)
    assert (times.without, times.ahead, times.too_early) == (apart["without"], apart["ahead"], apart["early"])
    assert sum(count for _, count in times.timeline) == apart[""]
    every = [at for some in usual.values() for at in some]
    assert (times.first, times.last) == (min(every, default=-1), max(every, default=-1))
    back = [max(some[:place]) - at for some in usual.values() for place, at in enumerate(some) if place]
    assert times.disordered == sum(each > 0 for each in back)
    assert times.furthest_back_ms == max([0, *back])


def _records(times: list[int]) -> list[Record]:
    return [Record("t", 0, place, at, None, b"", (), BatchFacts(0)) for place, at in enumerate(times)]


def test_gaps_are_those_of_all_partitions_together() -> None:
    hour = 3_600_000
    steady = [NOW - 10 * hour + 60_000 * place for place in range(600)]
    hole = [at for at in steady if not NOW - 5 * hour < at < NOW - 4 * hour]
    assert counted([_records(steady)]).times.gaps == ()
    assert counted([_records(hole)]).times.gaps == (model.Gap(NOW - 5 * hour, NOW - 4 * hour),)
    filled = [replace(each, partition=1) for each in _records([at for at in steady if at not in hole])]
    assert counted([_records(hole), filled]).times.gaps == ()


def test_a_long_time_has_few_buckets_and_a_long_key_its_beginning() -> None:
    every = [NOW - 40_000_000 * place for place in range(8_000)]
    times = counted([_records(every[::-1])]).times
    assert len(times.timeline) <= model.MOST_BUCKETS
    assert sum(count for _, count in times.timeline) == 8_000
    assert (times.first, times.last, times.disordered) == (every[-1], NOW, 0)
    long = [b"a" * 100_000 + bytes([number]) for number in (1, 1, 2)]
    counting = model.Counting("t", AT)
    counting.add([Record("t", 0, place, NOW, key, b"", (), BatchFacts(0)) for place, key in enumerate(long)], NOW)
    found = counting.result(Progress())
    assert (found.facts.distinct.value, found.keys) == (2, (b"a" * model.KEY_BEGINS,))
    assert found.facts.heaviest[0].size == 100_001


def test_many_keys_stay_within_the_bounds_of_the_sketches() -> None:
    counting = model.Counting("t", AT)
    keys = [b"hot" if place % 3 == 0 else b"key-%d" % place for place in range(90_000)]
    records = [
        Record("t", place // 2_000 % 12, place, NOW, key, b"v", (), BatchFacts(0)) for place, key in enumerate(keys)
    ]
    for at in range(0, len(records), 2_000):
        counting.add(records[at : at + 2_000], NOW)
    found = counting.result(Progress())
    facts = found.facts
    assert facts.distinct.low <= len(set(keys)) <= facts.distinct.high
    assert abs(facts.distinct.value / len(set(keys)) - 1) < 0.03
    assert found.keys == (b"hot",), "no other key stands out of the sketch's error"
    (hot,) = facts.heaviest
    assert hot.seen.low <= 30_000 <= hot.seen.high
    assert hot.seen.high - hot.seen.low < 0.001 * facts.records
    assert facts.hot is hot
    assert hot.partition == 0


def test_schemas_beyond_the_limit_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_SCHEMAS", 2)
    values = [b"\0\0\0\0" + bytes([number]) + b"x" for number in (1, 1, 2, 3, 4)]
    counting = model.Counting("t", AT)
    counting.add([Record("t", 0, place, NOW, None, each, (), BatchFacts(0)) for place, each in enumerate(values)], NOW)
    counting.learn("value", SchemaKey(1), "too short")
    counting.learn("value", SchemaKey(1), "")
    schemas = {each.schema: each for each in counting.result(Progress()).facts.schemas}
    assert {name: each.records for name, each in schemas.items()} == {"id 1": 2, "id 2": 1, "and further schemas": 2}
    assert (schemas["id 1"].tried, schemas["id 1"].failed, schemas["id 1"].why) == (2, 1, "too short")


@given(st.integers(0, 10**12), st.integers(0, 10**7), st.floats(1e-6, 1.0))
def test_the_ranges_of_a_sample_are_spread_and_have_its_share(first: int, size: int, share: float) -> None:
    ranges = sample_ranges(first, first + size, share)
    total = sum(end - begin for begin, end in ranges)
    assert size * share <= total <= size * share + 1
    assert all(begin < end for begin, end in ranges)
    gaps = [begin - end for (_, end), (begin, _) in pairwise([(first, first), *ranges, (first + size, first + size)])]
    assert min(gaps) >= 0
    if ranges:
        inner, outer = gaps[1:-1], (gaps[0], gaps[-1])
        assert max(inner, default=0) - min(inner, default=0) <= 1
        assert abs(outer[0] - outer[1]) <= 1, "it is in the middle"


def test_a_sample_goes_from_range_to_range() -> None:
    scan = SampleScan(("t", 0), 0, 100_000, 0, 100_000, 0.01)
    ranges = sample_ranges(0, 100_000, 0.01)
    seen: list[tuple[int, int]] = []
    while not scan.is_over():
        seen.append((scan.position, scan.until))
        scan.position = scan.until
    assert seen == ranges
    assert (scan.done(), scan.size()) == (1_000, 1_000)
    assert scan.scanned() == Scanned("t", 0, 0, ranges[-1][1], 0, 100_000)


def test_a_sample_fetches_about_what_its_ranges_have() -> None:
    scan = SampleScan(("t", 0), 0, 10**7, 0, 10**7, 0.01)
    first = scan.most_bytes(2 << 20)
    scan.answered(64 << 10, 640)
    range_ = scan.until - scan.position
    assert first < scan.most_bytes(2 << 20) < 2 * 100 * range_
    assert scan.most_bytes(100) == 100


@pytest.mark.parametrize(
    ("records", "partitions", "low", "is_hot"),
    [
        (2_000, 4, 1_000, True),
        (2_000, 4, 900, False),
        (2_000, 100, 50, True),
        (2_000, 1, 2_000, False),
        (900, 4, 900, False),
    ],
)
def test_a_key_is_hot_if_it_overfills_its_partition(records: int, partitions: int, low: int, *, is_hot: bool) -> None:
    places: Any = tuple(model.PartitionCount(number, 0, 0, 0) for number in range(partitions))
    key = model.HeavyKey(3, model.Estimate(low, low, low), 0)
    facts = model.TopicAnalysis("t", AT, records=records, heaviest=(key,), partitions=places)
    assert (facts.hot is not None) == is_hot

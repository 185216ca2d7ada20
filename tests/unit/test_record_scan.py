"""Scans of partitions: whatever a log holds, and in whatever pieces leaders return it, the records are those that a
consumer reads, each once and within the bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.records import FIRST_STRETCH, Budget, merged, scan_of, take
from console.model.records import (
    MOST_BYTES,
    MOST_SCANNED,
    First,
    FromOffset,
    FromOffsets,
    Last,
    Record,
    RecordsQuery,
)
from tests.wire import record_encoder as encoder
from tests.wire.record_encoder import Plain


class Stored(NamedTuple):
    """A batch of a log. committed: the offsets that consumers with read_committed see, None for no transaction."""

    first: int
    last: int
    data: bytes
    producer: int
    control: str
    offsets: tuple[int, ...]


class Log(NamedTuple):
    """Batches in order, where each transaction began, and which of them were aborted: (producer, first, last)."""

    batches: tuple[Stored, ...]
    aborted: tuple[tuple[int, int, int], ...]
    end: int

    def visible(self, committed: bool) -> list[int]:
        """The offsets of the records that a consumer reads."""
        return [
            offset
            for batch in self.batches
            if not batch.control
            for offset in batch.offsets
            if not (committed and any(p == batch.producer and a <= offset <= z for p, a, z in self.aborted))
        ]


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Interleaved transactions of two producers, all of them ended, and records of nobody; compacted here and there."""
    offset = draw(st.integers(0, 50))
    stored: list[Stored] = []
    open_: dict[int, int] = {}
    aborted: list[tuple[int, int, int]] = []

    def end(producer: int, commit: bool) -> None:
        nonlocal offset
        data = encoder.marker(offset, producer, commit=commit)
        stored.append(Stored(offset, offset, data, producer, "commit" if commit else "abort", ()))
        if not commit:
            aborted.append((producer, open_[producer], offset))
        del open_[producer]
        offset += 1

    for _ in range(draw(st.integers(0, 14))):
        producer = draw(st.sampled_from([-1, 1, 2]))
        if producer in open_ and draw(st.booleans()):
            end(producer, draw(st.booleans()))
            continue
        size = draw(st.integers(1, 6))
        kept = sorted(draw(st.sets(st.integers(0, size - 1), min_size=1)) | {size - 1})
        plain = [Plain(delta, 1_000 + offset + delta, b"k", b"%d" % (offset + delta)) for delta in kept]
        if producer > 0:
            open_.setdefault(producer, offset)
        codec = draw(st.sampled_from([0, 1, 4]))
        attributes = 0x10 if producer > 0 else 0
        data = encoder.batch(plain, base=offset, codec=codec, attributes=attributes, producer=producer, epoch=0)
        offsets = tuple(offset + delta for delta in kept)
        stored.append(Stored(offset, offset + size - 1, data, producer, "", offsets))
        offset += size
    for producer in sorted(open_):
        end(producer, draw(st.booleans()))
    return Log(tuple(stored), tuple(aborted), offset)


def read(
    log: Log, query: RecordsQuery, at: int | None, batches_at_once: Callable[[], int]
) -> tuple[list[Record], object]:
    """The answer to a query, as leaders give it: whole batches from a position on, with what was aborted among them."""
    start = log.batches[0].first if log.batches else log.end
    scan = scan_of(query, 0, start, log.end, at)
    budget = Budget(1.0, lambda: 0.0)
    rounds = 0
    while scan.wants(query.count):
        rounds += 1
        assert rounds < 500
        sent = [batch for batch in log.batches if batch.last >= scan.position][: batches_at_once()]
        aborted = [
            (producer, first)
            for producer, first, last in log.aborted
            if query.committed and sent and first <= sent[-1].last and last >= scan.position
        ]
        take(scan, "t", b"".join(batch.data for batch in sent), aborted, query.count, None, budget)
    assert not scan.undecodable
    records, more = merged([scan], query)
    return list(records), more


@given(logs(), st.booleans(), st.integers(1, 30), st.data())
def test_first_and_last_are_what_a_consumer_reads(log: Log, committed: bool, count: int, data: st.DataObject) -> None:
    def size() -> int:
        return data.draw(st.integers(1, 4))

    visible = log.visible(committed)
    found, _ = read(log, RecordsQuery("t", 0, First(), count, committed), None, size)
    assert [record.offset for record in found] == visible[:count]
    assert [record.value for record in found] == [b"%d" % offset for offset in visible[:count]]
    newest, _ = read(log, RecordsQuery("t", 0, Last(), count, committed), None, size)
    assert [record.offset for record in newest] == visible[-count:]
    place = data.draw(st.integers(0, log.end + 3))
    since, _ = read(log, RecordsQuery("t", 0, FromOffset(place), count, committed), place, size)
    assert [record.offset for record in since] == [offset for offset in visible if offset >= place][:count]


@given(logs(), st.booleans(), st.integers(1, 9))
def test_looking_further_finds_each_record_once(log: Log, committed: bool, count: int) -> None:
    for start in (First(), Last()):
        seen: list[int] = []
        query, at = RecordsQuery("t", 0, start, count, committed), None
        for _ in range(200):
            found, more = read(log, query, at, lambda: 2)
            offsets = [record.offset for record in found]
            seen = [*offsets, *seen] if isinstance(start, Last) else [*seen, *offsets]
            if more is None:
                break
            assert isinstance(more, Last | FromOffsets)
            query = RecordsQuery("t", 0, more, count, committed)
            at = (more.before or {}).get(0) if isinstance(more, Last) else more.offsets[0]
        else:
            raise AssertionError("it goes on for ever")
        assert seen == log.visible(committed)


def one_batch(count: int, base: int = 0) -> bytes:
    return encoder.batch([Plain(place, 1, None, b"v") for place in range(count)], base=base)


def test_a_filter_that_finds_nothing_looks_at_no_more_than_the_bound() -> None:
    budget = Budget(1.0, lambda: 0.0)
    query = RecordsQuery("t", 0, First(), 10)
    scan = scan_of(query, 0, 0, 10**9, None)
    while scan.wants(10) and not budget.is_over():
        take(scan, "t", one_batch(5_000, scan.position), (), 10, lambda _: False, budget)
    assert (budget.scanned_records, budget.stopped) == (MOST_SCANNED, "records")
    records, more = merged([scan], query)
    assert (records, more) == ((), FromOffsets({0: MOST_SCANNED}))


def test_bytes_and_time_end_a_read_too() -> None:
    budget = Budget(1.0, lambda: 0.0)
    budget.bytes = MOST_BYTES
    assert budget.is_over()
    assert budget.stopped == "bytes"
    late = Budget(1.0, lambda: 1.5)
    assert late.is_over()
    assert late.stopped == "time"


def test_a_batch_that_cannot_be_decoded_is_a_line_and_the_read_goes_on() -> None:
    damaged = bytearray(one_batch(5, 10))
    damaged[-1] ^= 1
    scan = scan_of(RecordsQuery("t", 0, FromOffset(12), 100), 0, 0, 30, 12)
    take(scan, "t", bytes(damaged) + one_batch(5, 15), (), 100, None, Budget(1.0, lambda: 0.0))
    assert [str(line) for line in scan.undecodable] == [
        "t-0 offset 12..14: can't be decoded: its checksum is wrong",
    ]
    assert [record.offset for record in scan.result()] == [15, 16, 17, 18, 19]


def test_bytes_that_are_no_batch_end_the_partition_with_a_line() -> None:
    scan = scan_of(RecordsQuery("t", 0, First(), 100), 0, 0, 30, None)
    take(scan, "t", b"\xff" * 200, (), 100, None, Budget(1.0, lambda: 0.0))
    assert not scan.wants(100)
    assert len(scan.undecodable) == 1


def test_the_newest_of_a_huge_log_do_not_read_all_of_it() -> None:
    query = RecordsQuery("t", 0, Last(), 10)
    scan = scan_of(query, 0, 0, 10**12, None)
    assert scan.wants(10)
    assert scan.position == 10**12 - 10
    many = scan_of(RecordsQuery("t", 0, Last(), 10_000), 0, 0, 10**12, None)
    assert many.position == 10**12 - FIRST_STRETCH


@pytest.mark.parametrize("old", [False, True])
def test_records_before_the_first_one_that_is_wanted_end_with_the_time(old: bool) -> None:
    asked = 0

    def clock() -> float:
        nonlocal asked
        asked += 1
        return float(asked)

    count = 40_000
    if old:
        inner = b"".join(encoder.message(place, 1, 1, None, b"") for place in range(count))
        data = encoder.message(count - 1, 1, 1, None, encoder.COMPRESS[1](inner), 1)  # type: ignore[no-untyped-call]
    else:
        data = encoder.batch([Plain(place, 1, None, b"") for place in range(count)], codec=4)
    scan = scan_of(RecordsQuery("t", 0, FromOffset(count - 1), 10), 0, 0, count, count - 1)
    budget = Budget(4.0, clock)
    take(scan, "t", data, (), 10, None, budget)
    assert (budget.stopped, scan.position, scan.undecodable) == ("time", count - 1, [])
    take(scan, "t", data, (), 10, None, Budget(1e9, clock))
    assert [record.offset for record in scan.result()] == [count - 1]

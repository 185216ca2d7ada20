"""Tests of scans of partitions: for any log, and however leaders divide it into responses, a scan returns the records
that a consumer reads, each once and within the bounds.
"""

from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin import record_scans
from console.admin.record_scans import FIRST_STRETCH, BackwardScan, KeepingScan, LatestScan, Scan, Sieve, look, merged
from console.model import record_conditions as conditions_module
from console.model.internal_records import internal_decoders
from console.model.record_decoding import RecordDecoder
from console.model.record_filter import RecordFilter
from console.model.record_masks import mask_path
from console.model.records import FromOffsets, Last, Record
from console.model.schemas import Allowance, Schema, SchemaKey
from tests.wire import record_encoder as encoder
from tests.wire.record_encoder import Plain


class Stored(NamedTuple):
    """A batch of a log. committed: the offsets that consumers with read_committed see; None if the batch is in no
    transaction.
    """

    first: int
    last: int
    data: bytes
    producer: int
    control: str
    offsets: tuple[int, ...]


class Log(NamedTuple):
    """A log: its batches in order, the aborted transactions as (producer id, first offset, last offset), and the end
    offset.
    """

    batches: tuple[Stored, ...]
    aborted: tuple[tuple[int, int, int], ...]
    end: int

    def visible(self, committed: bool) -> list[int]:
        """Return the offsets of the records that a consumer reads; with `committed`, without those of aborted
        transactions.
        """
        return [
            offset
            for batch in self.batches
            if not batch.control
            for offset in batch.offsets
            if not (committed and any(p == batch.producer and a <= offset <= z for p, a, z in self.aborted))
        ]


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Draw a log with interleaved, ended transactions of two producers, and records without a producer id; some batches
    are compacted.
    """
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


PLACE = ("t", 0)
PLAIN = RecordDecoder(())


def searched(
    log: Log,
    scan: Scan,
    batches_at_once: Callable[[], int],
    *,
    committed: bool = True,
    sieve: Sieve | None = None,
) -> list[Record]:
    """Return the records that a scan finds in responses like a leader's: whole batches from a position on, and the
    aborted transactions among them. batches_at_once: number of batches in the next response. sieve: None to find all
    records.
    """
    sieve = sieve or Sieve(RecordFilter(), PLAIN)
    found: list[Record] = []
    rounds = 0
    while not scan.is_over():
        rounds += 1
        assert rounds < 500
        sent = [batch for batch in log.batches if batch.last >= scan.position][: batches_at_once()]
        aborted = [
            (producer, first)
            for producer, first, last in log.aborted
            if committed and sent and first <= sent[-1].last and last >= scan.position
        ]
        for part in look(scan, b"".join(batch.data for batch in sent), aborted, sieve):
            found += part
    assert not scan.undecodable
    return found


def begin(log: Log) -> int:
    return log.batches[0].first if log.batches else log.end


@given(logs(), st.booleans(), st.integers(1, 30), st.data())
def test_first_and_last_are_what_a_consumer_reads(log: Log, committed: bool, count: int, data: st.DataObject) -> None:
    def size() -> int:
        return data.draw(st.integers(1, 4))

    visible, start = log.visible(committed), begin(log)
    found = searched(log, Scan(PLACE, start, log.end, start), size, committed=committed)
    assert [record.offset for record in found] == visible
    assert [record.value for record in found] == [b"%d" % offset for offset in visible]
    newest = BackwardScan(PLACE, start, log.end, log.end, count)
    assert searched(log, newest, size, committed=committed) == []
    assert [record.offset for record in merged([newest], count, newest=True)[0]] == visible[-count:]
    place = data.draw(st.integers(0, log.end + 3))
    since = searched(log, Scan(PLACE, start, log.end, place), size, committed=committed)
    assert [record.offset for record in since] == [offset for offset in visible if offset >= place]
    until = data.draw(st.integers(0, log.end))
    before = searched(log, Scan(PLACE, start, log.end, start, until), size, committed=committed)
    assert [record.offset for record in before] == [offset for offset in visible if offset < until]


@given(logs(), st.booleans(), st.integers(1, 9), st.booleans())
def test_looking_further_finds_each_record_once(log: Log, committed: bool, count: int, newest: bool) -> None:
    seen: list[int] = []
    start = begin(log)
    at = log.end if newest else start
    for _ in range(200):
        scan: Scan
        scan = (
            BackwardScan(PLACE, start, log.end, at, count) if newest else KeepingScan(PLACE, start, log.end, at, count)
        )
        searched(log, scan, lambda: 2, committed=committed)
        records, more = merged([scan], count, newest=newest)
        offsets = [record.offset for record in records]
        seen = [*offsets, *seen] if newest else [*seen, *offsets]
        if more is None:
            break
        assert isinstance(more, Last | FromOffsets)
        at = (more.before or {})[PLACE] if isinstance(more, Last) else more.offsets[PLACE]
    else:
        raise AssertionError("it goes on for ever")
    assert seen == log.visible(committed)


_WORDS = ["open", "a/b", "Ä", "no", "x y", "1"]
_TEXTS = st.sampled_from(_WORDS)


def _spelled(draw: st.DrawFn, text: str) -> str:
    """Draw a JSON spelling of a text, with some characters as escapes."""
    made = "".join(
        f"\\u{ord(each):04x}" if draw(st.booleans()) else "\\/" if each == "/" and draw(st.booleans()) else each
        for each in text
    )
    return f'"{made}"'


@st.composite
def contents(draw: st.DrawFn) -> bytes | None:
    """Draw the bytes of a record's value: JSON with unusual escapes, text, or JSON after a schema id; None for no
    value.
    """
    form = draw(st.sampled_from(["null", "text", "framed", "json", "json", "json"]))
    if form == "null":
        return None
    if form == "text":
        return draw(_TEXTS).encode()
    members = [
        f"{_spelled(draw, name)}:{draw(st.sampled_from(['', ' ']))}{_spelled(draw, draw(_TEXTS))}"
        for name in draw(st.lists(st.sampled_from(["state", "card", "other"]), max_size=3, unique=True))
    ]
    if draw(st.booleans()):
        members.append('"inner": {"state": ' + _spelled(draw, draw(_TEXTS)) + "}")
    document = ("{" + ",".join(members) + "}").encode()
    return b"\0\0\0\0\7" + document if form == "framed" else document


@st.composite
def conditions(draw: st.DrawFn) -> str:
    """Draw a condition with literals on either side, joined by ``&&`` or ``||``."""
    path = st.sampled_from(["value.state", "value.card", "value['other']", "value.inner.state", "value", "key"])
    text = st.sampled_from(_WORDS).map(lambda each: f'"{each}"')

    def one() -> str:
        form = draw(
            st.sampled_from(["{} == {}", "{}.contains({})", "{}.startsWith({})", "{}.endsWith({})", "{} != {}"])
        )
        return form.format(draw(path), draw(text))

    parts = [one() for _ in range(draw(st.integers(1, 3)))]
    return draw(st.sampled_from([" && ", " || "])).join(parts)


def _upper(payload: bytes, _indexes: bytes | None, _allowance: Allowance) -> bytes:
    """Decode a payload, as a schema would, into a text that shares no literal of the conditions with the payload."""
    return payload.replace(b"no", b"open").replace(b"1", b"a/b")


def _known(key: SchemaKey) -> Schema | str | None:
    return Schema(key, "JSON", _upper) if key.id else "unknown"


DECODERS = [
    PLAIN,
    RecordDecoder((mask_path("$.**.card"),)),
    RecordDecoder((), _known),
    RecordDecoder((mask_path("$.state"),), _known),
]


@given(
    st.lists(st.tuples(st.sampled_from([None, b"open", b"1"]), contents()), min_size=1, max_size=6),
    conditions(),
    st.sampled_from(["", "open", "a/b", "no", "hidden", "••"]),
    st.sampled_from(DECODERS),
    st.sampled_from([0, 1, 3, 4]),
)
def test_the_filter_of_bytes_leaves_out_no_record_that_passes(
    held: list[tuple[bytes | None, bytes | None]], condition: str, text: str, decoder: RecordDecoder, codec: int
) -> None:
    wanted = RecordFilter(text=text, where=condition)
    # Each record is a batch, so that each can be skipped.
    plain = [encoder.batch([Plain(0, 1, key, value)], base=at, codec=codec) for at, (key, value) in enumerate(held)]
    whole = Scan(PLACE, 0, len(held), 0)
    everything = [record for part in look(whole, b"".join(plain), (), Sieve(RecordFilter(), PLAIN)) for record in part]
    sieve = Sieve(wanted, decoder)
    found = [record for part in look(Scan(PLACE, 0, len(held), 0), b"".join(plain), (), sieve) for record in part]
    # The expected records: CEL evaluates the whole expression, on values after masking.
    expected = [
        record
        for record in everything
        if (shown := decoder.readable(record, Allowance()))
        and any(text.encode() in (part or b"") for part in (shown.key, shown.value))
        and conditions_module.condition(condition).holds_for(conditions_module.fields_of(shown))
    ]
    assert [record.offset for record in found] == [record.offset for record in expected]
    assert sieve.looked_at == len(held)


def one_batch(count: int, base: int = 0) -> bytes:
    return encoder.batch([Plain(place, 1, None, b"v") for place in range(count)], base=base)


def test_a_search_that_is_stopped_says_where() -> None:
    scan, sieve = Scan(PLACE, 0, 10**9, 0), Sieve(RecordFilter(text="v"), PLAIN)
    parts = look(scan, one_batch(5_000), (), sieve)
    first = next(parts)
    sieve.stop()
    rest = [record for part in parts for record in part]
    assert scan.position == len(first) + len(rest) < 5_000


def test_parts_are_bounded() -> None:
    large = encoder.batch([Plain(place, 1, None, bytes(100_000)) for place in range(100)], codec=4)
    sizes = [
        sum(len(record.value or b"") for record in part)
        for part in look(Scan(PLACE, 0, 100, 0), large, (), Sieve(RecordFilter(), PLAIN))
    ]
    assert sum(sizes) == 10_000_000
    assert max(sizes) <= 2 * record_scans.CHUNK_BYTES


def test_a_batch_that_cannot_be_decoded_is_a_line_and_the_search_goes_on() -> None:
    damaged = bytearray(one_batch(5, 10))
    damaged[-1] ^= 1
    scan = Scan(PLACE, 0, 30, 12)
    parts = look(scan, bytes(damaged) + one_batch(5, 15), (), Sieve(RecordFilter(), PLAIN))
    found = [record.offset for part in parts for record in part]
    assert [str(line) for line in scan.undecodable] == ["t-0 offset 12..14: can't be decoded: its checksum is wrong"]
    assert found == [15, 16, 17, 18, 19]


def test_what_is_no_batch_or_expands_beyond_the_limit_is_a_line() -> None:
    bomb = encoder.batch([Plain(0, 1, None, bytes(33 << 20))], codec=4)
    scan = Scan(PLACE, 0, 10, 0)
    found = [record for part in look(scan, bomb + one_batch(2, 1), (), Sieve(RecordFilter(), PLAIN)) for record in part]
    assert [record.offset for record in found] == [1, 2]
    assert "decompress to more than 32 MiB" in scan.undecodable[0].why
    scan = Scan(PLACE, 0, 30, 0)
    assert [*look(scan, b"\xff" * 200, (), Sieve(RecordFilter(), PLAIN))] == [[]]
    assert scan.is_over()
    assert len(scan.undecodable) == 1


def test_the_newest_of_a_huge_log_do_not_read_all_of_it() -> None:
    assert BackwardScan(PLACE, 0, 10**12, 10**12, 10).position == 10**12 - 10
    assert BackwardScan(PLACE, 0, 10**12, 10**12, 10_000).position == 10**12 - FIRST_STRETCH


def test_the_newest_record_of_each_key_is_kept_on_disk_beyond_memorys_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_scans, "MOST_KEPT", 2_000)
    data = encoder.batch([Plain(place, 1, b"k%d" % (place % 7), b"%d" % place) for place in range(50)])
    scan = LatestScan(PLACE, 0, 50, 0, 1_000)
    for _ in look(scan, data, (), Sieve(RecordFilter(), PLAIN)):
        pass
    assert [(record.key, record.value) for record in scan.result()] == [
        (b"k%d" % (place % 7), b"%d" % place) for place in range(43, 50)
    ]
    few = LatestScan(PLACE, 0, 50, 0, 3)
    for _ in look(few, data, (), Sieve(RecordFilter(), PLAIN)):
        pass
    assert "more than 3 keys; from offset" in few.gap()


def test_bytes_are_not_looked_for_where_contents_are_decoded() -> None:
    """A record of __consumer_offsets is not searched for a filter's literal bytes before decoding, because its bytes do
    not contain the numbers of its JSON as text.
    """
    decoder = RecordDecoder((), own=internal_decoders(lambda data: data))
    assert Sieve(RecordFilter(text="partition"), decoder, topics=["orders"]).literals
    assert Sieve(RecordFilter(text="partition"), decoder, topics=["orders", "__consumer_offsets"]).literals == ()

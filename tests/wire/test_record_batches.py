"""Tests of record batches: encoded records read back equal. Damage, decompression bombs and random bytes end in one
line with a reason.
"""

import gzip
import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import cramjam
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder  # type: ignore[import-untyped]
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder  # type: ignore[import-untyped]
from hypothesis import example, given
from hypothesis import strategies as st

from console.model.records import Record
from console.wire.compression import DamagedData, Scratch, TooLarge, decompress
from console.wire.record_batches import MOST_UNPACKED, Batch, BatchDamage, batches, records, unpack, unpacked_records
from tests.support.examples import examples
from tests.wire import record_encoder as encoder
from tests.wire.record_encoder import Plain

CODECS = [*encoder.COMPRESS]
CONTENT = st.none() | st.binary(max_size=40) | st.binary(min_size=200, max_size=600)
HEADERS = st.lists(st.tuples(st.binary(max_size=12), CONTENT), max_size=4).map(tuple)
TIMES = st.integers(-1, 2**42)


@st.composite
def plain_records(draw: st.DrawFn) -> list[Plain]:
    """Draw the records of a batch, with gaps between their offsets like those that compaction leaves."""
    made, delta = [], 0
    for _ in range(draw(st.integers(1, 12))):
        made.append(Plain(delta, draw(TIMES), draw(CONTENT), draw(CONTENT), draw(HEADERS)))
        delta += draw(st.integers(1, 3))
    return made


SCRATCH = Scratch()


def quickly(batch: Batch, start: int) -> Iterator[Record]:
    """Yield the records of a batch from offset `start` on, decoded by the decoder in C."""
    unpack(batch, SCRATCH)
    yield from unpacked_records(batch, SCRATCH, "t", 0, start)


def read(data: bytes, start: int = -1) -> tuple[list[Record], list[str]]:
    """Return all records in the bytes from offset `start` on, and the reasons why others could not be decoded. Raises
    AssertionError if the decoder in C and kac's own differ.
    """
    found: list[Record] = []
    why: list[str] = []
    for batch in batches(data):
        whole = taken(partial(records, batch, "t", 0, start))
        if batch.facts.magic == 2:
            assert taken(partial(quickly, batch, start)) == whole
        found += whole[0]
        why += whole[1]
    return found, why


def taken(made: Callable[[], Iterator[Record]]) -> tuple[list[Record], list[str]]:
    """Return the records that the iterator yields, and a list with the reason why the rest can't be decoded; the
    list is empty if the iterator ends without an error.
    """
    found: list[Record] = []
    try:
        found.extend(made())
    except BatchDamage as damage:
        return found, [str(damage)]
    return found, []


def content(record: Record) -> tuple[Any, ...]:
    return record.offset, record.timestamp, record.key, record.value, record.headers


@given(st.lists(plain_records(), min_size=1, max_size=3), st.sampled_from(CODECS), st.integers(0, 2**40))
def test_what_was_encoded_comes_back(sets: list[list[Plain]], codec: Any, base: int) -> None:
    data, wanted = b"", []
    for plain in sets:
        data += encoder.batch(
            plain, base=base, codec=codec, producer=7, epoch=3, sequence=2**31 - 2, leader_epoch=5, attributes=0x10
        )
        wanted += [(base + each.delta, each.time, each.key, each.value, each.headers) for each in plain]
        base += plain[-1].delta + 1
    found, why = read(data)
    assert why == []
    assert [content(record) for record in found] == wanted
    facts = found[0].batch
    assert (facts.producer_id, facts.producer_epoch, facts.leader_epoch, facts.transactional) == (7, 3, 5, True)
    assert found[0].sequence == 2**31 - 2
    third = [
        each for each in found if each.batch.base_offset == facts.base_offset and each.offset - facts.base_offset == 2
    ]
    assert all(record.sequence == 0 for record in third)  # after 2^31 - 1


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_what_aiokafka_encodes_comes_back(codec: int) -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=1,
        producer_id=9,
        producer_epoch=1,
        base_sequence=0,
        batch_size=10**8,
    )
    headers = [("a", b"1"), ("ä", None), ("", b"")]
    values = [b"x" * 100_000, None, b"", bytes(range(256)) * 30]
    for place, value in enumerate(values):
        builder.append(place, 1_700_000_000_000 + place, None if place % 2 else b"k", value, headers)
    found, why = read(bytes(builder.build()))
    assert why == []
    assert [record.value for record in found] == values
    assert [record.key for record in found] == [b"k", None, b"k", None]
    assert found[0].headers == ((b"a", b"1"), ("ä".encode(), None), (b"", b""))
    assert [record.timestamp for record in found] == [1_700_000_000_000 + place for place in range(4)]
    assert found[0].batch.codec == ["none", "gzip", "snappy", "lz4", "zstd"][codec]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1, 2])
def test_message_sets_of_old_logs_come_back(magic: int, codec: int) -> None:
    """kac reads the message sets that aiokafka builds. aiokafka numbers the messages in a compressed one from 0; a
    broker writes the last offset into the outer message.
    """
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=codec, batch_size=10**6)
    for place in range(5):
        assert builder.append(place, timestamp=1_000 + place, key=b"k%d" % place, value=None if place == 2 else b"v")
    data = bytes(builder.build())
    if codec and magic:
        data = struct.pack(">q", 104) + data[8:]
    found, why = read(data, 1)
    first = 100 if codec and magic else 0
    assert why == []
    wanted = range(first, first + 5) if first else range(1, 5)
    assert [record.offset for record in found] == [*wanted]
    assert [record.key for record in found][-1] == b"k4"
    assert [record.timestamp for record in found][-1] == (1_004 if magic else -1)
    assert None in [record.value for record in found]


def test_the_brokers_time_replaces_the_producers() -> None:
    plain = [Plain(0, 5, b"k", b"v"), Plain(1, 9, b"k", b"v")]
    found, _ = read(encoder.batch(plain, attributes=0x08, max_time=77))
    assert [(record.timestamp, record.batch.append_time) for record in found] == [(77, True), (77, True)]


@given(plain_records(), st.sampled_from(CODECS), st.integers(0, 40))
def test_records_before_the_start_are_left_out(plain: list[Plain], codec: Any, start: int) -> None:
    found, why = read(encoder.batch(plain, codec=codec), start)
    assert why == []
    assert [record.offset for record in found] == [each.delta for each in plain if each.delta >= start]


@given(plain_records(), plain_records(), st.data())
def test_a_cut_last_batch_is_left_out(one: list[Plain], other: list[Plain], data: st.DataObject) -> None:
    first, second = encoder.batch(one), encoder.batch(other, base=one[-1].delta + 1)
    cut = data.draw(st.integers(0, len(second) - 1))
    found, why = read(first + second[:cut])
    assert (len(found), why) == (len(one), [])


@given(plain_records(), st.sampled_from(CODECS), st.data())
def test_a_changed_byte_is_noticed_and_the_next_batch_is_read(
    plain: list[Plain], codec: Any, data: st.DataObject
) -> None:
    whole = bytearray(encoder.batch(plain, codec=codec))
    # Change a byte after the checksum, which covers all that follows.
    at = data.draw(st.integers(17, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    found, why = read(bytes(whole) + encoder.batch([Plain(0, 1, None, b"next")], base=1000))
    assert why == ["its checksum is wrong"]
    assert [record.value for record in found] == [b"next"]


BYTES = st.binary(max_size=400)


@st.composite
def framed(draw: st.DrawFn) -> bytes:
    """Draw the bytes of batches with a right checksum and random contents."""
    made = b""
    for _ in range(draw(st.integers(1, 3))):
        made += encoder.batch_of(
            draw(BYTES),
            draw(st.integers(-2, 60) | st.sampled_from([2**31 - 1, -(2**31)])),
            draw(st.integers(-2, 60) | st.just(2**31 - 1)),
            base=draw(st.integers(-1, 2**62)),
            attributes=draw(st.integers(0, 0x3F)),
        )
    return made


@given(BYTES | framed() | st.binary(max_size=60).map(lambda tail: encoder.message(3, 1, 4, b"k", tail, 1)))
@examples(100, at_length=400)
@example(b"\xff" * 61)
@example(encoder.batch_of(b"", 2**31 - 1, 0))
@example(encoder.batch_of(b"\xff" * 40, 1, 0))
def test_any_bytes_end_in_records_or_in_a_reason(data: bytes) -> None:
    found = list(batches(data))
    assert len(found) <= len(data) // 12 + 1
    for batch in found:
        with suppress(BatchDamage):
            for record in records(batch, "t", 0):
                assert len(record.key or b"") + len(record.value or b"") <= MOST_UNPACKED
        if batch.facts.magic == 2:
            with suppress(BatchDamage):
                for record in quickly(batch, -1):
                    assert batch.base_offset <= record.offset <= batch.last_offset
                    assert len(record.key or b"") + len(record.value or b"") <= SCRATCH.end - SCRATCH.GAP
        with suppress(BatchDamage):
            assert batch.aborts in (False, True)


SHORT = st.none() | st.text(st.characters(max_codepoint=0x7F), max_size=20).map(str.encode)


@given(
    st.lists(
        st.tuples(SHORT, SHORT, st.lists(st.tuples(SHORT.filter(bool), SHORT), max_size=2)), min_size=1, max_size=4
    ),
    st.data(),
)
@examples(80, at_length=300)
def test_the_decoder_in_c_and_our_own_say_the_same_of_damaged_records(
    held: list[tuple[bytes | None, bytes | None, Any]], data: st.DataObject
) -> None:
    """If bytes of records are changed but the checksum is right, the decoder in C and kac's own return the same records
    and the same damage. All bytes are below 128: if the byte of a record's attributes, which has no meaning, is
    above, the decoder in C reads it in another format.
    """
    made = b"".join(
        encoder.record(Plain(delta, 0, key, value, tuple(headers)), 0)
        for delta, (key, value, headers) in enumerate(held)
    )
    body = bytearray(made)
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 0x7F))
    if max(body) <= 0x7F:
        read(encoder.batch_of(bytes(body), len(held), len(held) - 1, base=3))


# -- bombs -------------------------------------------------------------------------------------------------------------

HUGE = 8 * MOST_UNPACKED
"""The size of the uncompressed data of a bomb in bytes, 256 MiB: twice as much as a test may allocate."""
GIGABYTE = b"\x80\x80\x80\x80\x04"
"""A gigabyte as the length of uncompressed data, in Snappy's encoding."""


def bomb(codec: Any) -> bytes:
    """Return a small compressed body that claims to be a gigabyte, or is decompressed to `HUGE` bytes."""
    if codec == 1:
        member = gzip.compress(bytes(1 << 24), 9)
        return member * (HUGE >> 24)  # several members in a row
    if codec == "raw snappy":
        return GIGABYTE + b"\x00a" * 10
    if codec == 2:
        block = GIGABYTE + b"\x00a" * 10
        return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + struct.pack(">i", len(block)) + block
    if codec == "blocks of snappy":
        part = bytes(cramjam.snappy.compress_raw(bytes(1 << 22)))
        return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + (struct.pack(">i", len(part)) + part) * (HUGE >> 22)
    zeros = bytes(HUGE)
    return bytes((cramjam.lz4 if codec == 3 else cramjam.zstd).compress(zeros))


@pytest.mark.parametrize("codec", [1, 2, "raw snappy", "blocks of snappy", 3, 4])
def test_a_bomb_stops_at_the_limit(codec: Any) -> None:
    number = codec if isinstance(codec, int) else 2
    data = encoder.batch_of(bomb(codec), 1, 0, attributes=number)
    tracemalloc.start()
    try:
        found, why = read(data)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found, why) == ([], ["its records decompress to more than 32 MiB"])
    assert most < 4 * MOST_UNPACKED


@given(st.sampled_from([1, 2, 3, 4, "raw snappy"]), st.binary(max_size=5_000), st.integers(0, 6_000))
def test_decompression_gives_all_or_says_too_large(codec: Any, data: bytes, limit: int) -> None:
    packed = encoder.COMPRESS[codec](data)
    number = codec if isinstance(codec, int) else 2
    try:
        made = bytes(decompress(number, packed, limit))
    except TooLarge:
        assert len(data) > limit
    else:
        assert made == data
        assert len(data) <= limit


@given(st.integers(0, 9), st.binary(max_size=300))
@examples(80, at_length=300)
def test_damaged_compression_is_an_error_of_its_own(codec: int, data: bytes) -> None:
    with suppress(DamagedData):
        assert len(decompress(codec, data, 10_000)) <= 10_000


def test_ten_megabytes_are_one_value() -> None:
    value = bytes(range(256)) * 40_960
    for codec in (0, 1, 2, 3, 4):
        found, why = read(encoder.batch([Plain(0, 1, None, value)], codec=codec))
        assert why == []
        assert found[0].value == value


def test_no_content_is_in_a_repr() -> None:
    (found,), _ = read(encoder.batch([Plain(0, 1, b"a secret key", b"a secret value", ((b"h", b"secret"),))]))
    assert "secret" not in repr(found)
    assert "14 bytes" in repr(found)


def test_gzip_of_empty_members_takes_time_by_its_length() -> None:
    def seconds(count: int) -> float:
        began = time.process_time()
        assert bytes(decompress(1, gzip.compress(b"") * count + gzip.compress(b"end"), MOST_UNPACKED)) == b"end"
        return time.process_time() - began

    half = min(seconds(50_000) for _ in range(2))
    assert min(seconds(100_000) for _ in range(2)) < max(3 * half, 0.3)

"""What brokers answer of each partition: our own decoders give what kio's give, or leave the answer to it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.cluster import dir_answers
from console.wire.bounds_check import MalformedFrame
from console.wire.frames import decode_body, encode_body
from console.wire.partition_decoders import DIRS_VERSIONS, OFFSETS_VERSIONS, DirAnswer, decode_log_dirs, decode_offsets
from console.wire.schemas import response_type
from tests.support.kafka_messages import response
from tests.unit.test_config_decoder import quick

Said = tuple[int, int, int]

names = st.sampled_from(["t", "orders", "ü☃", "n" * 126, "n" * 127, "n" * 249])
int64 = st.integers(-(2**63), 2**63 - 1)
codes = st.sampled_from([0, 0, 0, 3, 6, -1])
numbers = st.integers(0, 2**31 - 1)
listed_offsets = st.lists(st.tuples(names, st.lists(st.tuples(numbers, codes, int64, int64), max_size=3)), max_size=5)
listed_dirs = st.lists(
    st.tuples(
        codes,
        st.sampled_from(["/data", "/d/2", "remote://b", "p" * 200]),
        st.lists(st.tuples(names, st.lists(st.tuples(numbers, int64, int64, st.booleans()), max_size=3)), max_size=4),
        int64,
        int64,
        st.booleans(),
    ),
    max_size=3,
)


def offsets_body(version: int, topics: list[Any]) -> bytes:
    kio = import_module(f"kio.schema.list_offsets.v{version}.response")
    rows = [(name, [(*partition, partition[0] % 3) for partition in partitions]) for name, partitions in topics]
    return encode_body(kio.ListOffsetsResponse, response(kio, throttle_time=0.007, topics=rows))


def dirs_body(version: int, dirs: list[Any], code: int = 0) -> bytes:
    kio = import_module(f"kio.schema.describe_log_dirs.v{version}.response")
    names = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")
    results = [dict(zip(names, each, strict=True)) for each in dirs]
    return encode_body(
        kio.DescribeLogDirsResponse, response(kio, throttle_time=0.007, error_code=code, results=results)
    )


def triple(code: int, when: int, offset: int) -> Said:
    return code, when, offset


def own_offsets(version: int, body: bytes) -> dict[tuple[str, int], Said] | None:
    return decode_offsets(version, body, triple)


def kio_offsets(version: int, body: bytes) -> dict[tuple[str, int], Said]:
    response = decode_body(response_type("list_offsets", version), body)
    return {
        (topic.name, each.partition_index): (each.error_code, each.timestamp, each.offset)
        for topic in response.topics
        for each in topic.partitions
    }


def kio_dirs(version: int, body: bytes) -> list[DirAnswer] | None:
    response = decode_body(response_type("describe_log_dirs", version), body)
    return None if getattr(response, "error_code", 0) else dir_answers(response)


@pytest.mark.parametrize("version", OFFSETS_VERSIONS)
@quick
@given(listed_offsets)
def test_offsets_are_as_kio_decodes_them(version: int, topics: list[Any]) -> None:
    body = offsets_body(version, topics)
    found = own_offsets(version, body)
    assert found is not None
    assert list(found.items()) == list(kio_offsets(version, body).items())


@pytest.mark.parametrize("version", DIRS_VERSIONS)
@quick
@given(listed_dirs)
def test_directories_are_as_kio_decodes_them(version: int, dirs: list[Any]) -> None:
    body = dirs_body(version, dirs)
    assert decode_log_dirs(version, body) == kio_dirs(version, body)


def test_a_name_is_that_of_other_answers() -> None:
    first, second = (own_offsets(11, offsets_body(11, [("some-topic", [(0, 0, 1, 2)])])) or {} for _ in range(2))
    assert next(iter(first))[0] is next(iter(second))[0]
    (described,) = decode_log_dirs(5, dirs_body(5, [(0, "/d", [("some-topic", [(0, 1, 2, False)])], 3, 4, True)])) or []
    assert described.replicas[0][0] is next(iter(first))[0]


def test_what_is_seldom_is_left_to_kio() -> None:
    offsets = offsets_body(11, [("t", [(0, 0, 1, 2)])])
    dirs = dirs_body(5, [(0, "/d", [("t", [(0, 1, 2, False)])], 3, 4, False)])
    assert own_offsets(11, offsets) == {("t", 0): (0, 1, 2)}
    assert decode_log_dirs(5, dirs) is not None
    assert own_offsets(5, offsets) is None
    assert own_offsets(12, offsets) is None
    assert decode_log_dirs(1, dirs) is None
    assert decode_log_dirs(6, dirs) is None
    assert decode_log_dirs(5, dirs_body(5, [], code=31)) is None
    tagged = b"\x01\x63\x02ab"
    for decode, version, body in ((own_offsets, 11, offsets), (decode_log_dirs, 5, dirs)):
        ask: Callable[[int, bytes], object] = decode  # type: ignore[assignment]
        assert ask(version, body[:-1] + tagged) is None
        assert ask(version, body + b"\x00") is None
    assert own_offsets(11, offsets_body(11, [("", [(0, 0, 1, 2)])])) is None
    assert kio_offsets(11, offsets_body(11, [("", [(0, 0, 1, 2)])])) == {("", 0): (0, 1, 2)}


@pytest.mark.parametrize(
    ("api", "version"),
    [*(("list_offsets", each) for each in OFFSETS_VERSIONS), *(("describe_log_dirs", each) for each in DIRS_VERSIONS)],
)
def test_no_garbage_is_taken_for_an_answer(api: str, version: int) -> None:
    """What is cut off or changed is left to kio, or read as kio reads it; what kio refuses is never read."""
    if api == "list_offsets":
        body = offsets_body(version, [(f"t{n}", [(0, 0, 5, 7), (1, 3, -1, -1)]) for n in range(2)])
        own, kio = own_offsets, kio_offsets
    else:
        topics = [(f"t{n}", [(0, 5, 0, False), (1, 3, 1, True)]) for n in range(2)]
        body = dirs_body(version, [(0, "/data", topics, 10, 5, True), (56, "/bad", [], -1, -1, False)])
        own, kio = decode_log_dirs, kio_dirs  # type: ignore[assignment]
    for end in range(len(body)):
        assert own(version, body[:end]) is None
    for place in range(len(body)):
        for value in (0, 1, 2, 0x7F, 0x80, 0xFF):
            spoiled = body[:place] + bytes((value,)) + body[place + 1 :]
            found = own(version, spoiled)
            if found is not None:
                assert found == kio(version, spoiled), (place, value)


@pytest.mark.parametrize("version", [11])
@quick
@given(st.binary(max_size=80))
def test_bytes_without_sense_are_never_read_otherwise_than_by_kio(version: int, garbage: bytes) -> None:
    for own, kio, which in ((own_offsets, kio_offsets, version), (decode_log_dirs, kio_dirs, 5)):
        found = own(which, garbage)  # type: ignore[operator]
        try:
            other = kio(which, garbage)  # type: ignore[operator]
        except MalformedFrame:
            assert found is None
        else:
            assert found is None or found == other

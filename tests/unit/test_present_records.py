"""Tests of records as text: limited in length, without control characters, and unchanged otherwise."""

import json
import time
from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model import records
from console.model.numbers import json_text
from console.present import records as present_records
from console.present.text import cell_width, is_harmless, plain

BATCH = records.BatchFacts(0, 3, 7, 1, 0, "zstd")
HOSTILE = "\x1b]0;x\x07\u202e\u200b[bold]\r\n\t\0e\u0301\u0301\u0301 \U000e0041".encode()
CONTENTS = st.none() | st.binary(max_size=300) | st.text(max_size=100).map(str.encode) | st.just(HOSTILE)


def record(
    value: bytes | None, key: bytes | None = b"k", offset: int = 5, time_: int = 1_790_000_000_000
) -> records.Record:
    return records.Record("t", 0, offset, time_, key, value, ((key or b"", value),), BATCH)


@given(CONTENTS, st.sampled_from(present_records.FORMS), st.integers(20, 120))
def test_whatever_is_in_a_record_is_harmless_and_fits(data: bytes | None, form: str, width: int) -> None:
    row = present_records.RecordRow(record(data, data), form)
    for text in (
        *present_records.RECORDS.texts(row),
        *map(plain, present_records.RECORDS.cells(row)),
        present_records.in_a_line(data, form),
    ):
        assert is_harmless(text)
        assert len(text) <= 3 * present_records.IN_A_CELL + 1
    for line in present_records.in_lines(data, form, width):
        assert is_harmless(line)
        assert form == "hex" or present_records.kind(data) == "binary" or cell_width(line) <= width
    for line in present_records.record_lines(row, width):
        assert is_harmless("".join(text for text, _ in line))


@given(CONTENTS, st.sampled_from(present_records.FORMS))
def test_the_data_is_json_and_loses_nothing(data: bytes | None, form: str) -> None:
    made = json.loads(json_text(present_records.record_data(present_records.RecordRow(record(data), form))))
    match made:
        case {"value": None}:
            assert data is None
        case {"value": str(text)}:
            assert text.encode() == data
        case {"value_hex": str(text)}:
            assert bytes.fromhex(text) == data
        case {"value_base64": str(text)}:
            assert b64decode(text) == data
        case {"value_json": found}:
            assert found == json.loads(data or b"")
        case _:
            raise AssertionError(made)


@given(CONTENTS.filter(lambda data: data is not None and len(data) > 3))
def test_nothing_of_hidden_contents_is_shown(data: bytes) -> None:
    row = present_records.RecordRow(record(data, data), masked=True)
    shown = [*present_records.RECORDS.texts(row), json_text(present_records.record_data(row))]
    shown += ["".join(text for text, _ in line) for line in present_records.record_lines(row, 80)[5:]]
    of_nothing = present_records.RecordRow(record(b"\0" * len(data), b"\0" * len(data)), masked=True)
    assert present_records.RECORDS.texts(row)[-2:] == present_records.RECORDS.texts(of_nothing)[-2:]
    assert {key: value for key, value in present_records.record_data(row).items() if key != "headers"} == {
        key: value for key, value in present_records.record_data(of_nothing).items() if key != "headers"
    }
    assert any(f"{len(data)} bytes" in text for text in shown)


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (None, "null"),
        (b"", "empty"),
        (b'{"a": [1, 2.50, null]}', "json"),
        (b"  [1]\n", "json"),
        (b'{"a": 1', "text"),
        (b"12", "text"),
        (b"plain \xc3\xa4\n", "text"),
        (b"\xff\xfe", "binary"),
        (b"a\0b", "binary"),
        ("ä".encode() * 40_000, "text"),
    ],
)
def test_what_contents_look_like(data: bytes | None, wanted: str) -> None:
    assert present_records.kind(data) == wanted


def test_what_a_batch_does_not_have_is_no_number() -> None:
    """Text and JSON do not show -1, the protocol's number for an absent value."""
    old = records.Record("t", 0, 5, -1, None, b"x", (), records.BatchFacts(0, magic=1))
    data = present_records.record_data(present_records.RecordRow(old))
    assert (data["timestamp"], data["leader_epoch"]) == (None, None)
    single = records.Record("t", 0, 5, 1, None, b"x", (), records.BatchFacts(0, 4, producer_id=9, producer_epoch=2))
    assert present_records.record_data(present_records.RecordRow(single))["producer"] == {
        "id": 9,
        "epoch": 2,
        "sequence": None,
        "transactional": False,
    }
    for each in (old, single):
        assert "-1" not in "".join(
            text for line in present_records.record_lines(present_records.RecordRow(each), 80) for text, _ in line
        )


def test_why_records_are_not_decoded_stands_once_for_each_reason() -> None:
    def of(offset: int, why: str, note: str = "") -> records.Record:
        return replace(record(b"\0", None, offset), value_encoding=records.Encoding("", "id 7", 1, why, note=note))

    read = records.RecordsRead(
        records.Search(("t",)), (of(1, "gone\x1b"), of(2, "gone\x1b"), of(3, "other"), of(4, "", "another's"))
    )
    assert present_records.decoding_notes(read) == [
        "partition 0 offset 1 and 1 more record: not decoded: value, schema id 7: gone\\x1b",
        "partition 0 offset 3: not decoded: value, schema id 7: other",
        "partition 0 offset 4: value, schema id 7: another's",
    ]
    many = records.RecordsRead(records.Search(("t",)), tuple(of(number, f"why {number}") for number in range(100)))
    assert len(present_records.decoding_notes(many)) == present_records.MOST_REASONS + 1
    assert present_records.decoding_notes(many)[-1].startswith("92 more reasons")


def test_json_is_indented_and_its_numbers_stay_as_they_are() -> None:
    lines = present_records.in_lines(b'{"a":1.000000000000000000001,"b":[1,{"c":"\\u00e4"}],"a":2}', "", 80)
    assert lines[0] == "{"
    assert '  "a": 1.000000000000000000001,' in lines
    assert '      "c": "\\u00e4"' in lines


@pytest.mark.parametrize(
    "value", [b"[" * 200_000 + b"]" * 200_000, b"x" * (10 << 20), b"\n" * (1 << 20), b"\xff" * (10 << 20)]
)
@pytest.mark.parametrize("form", present_records.FORMS)
def test_large_and_deep_contents_are_cut(value: bytes, form: str) -> None:
    began = time.process_time()
    lines = present_records.in_lines(value, form, 78)
    assert len(lines) <= present_records.MOST_LINES + 1
    assert sum(map(len, lines)) < 1 << 20
    assert lines[-1] == f"… {len(value):,} bytes in all"
    assert len(present_records.in_a_line(value, form)) <= 3 * present_records.IN_A_CELL + 1
    assert time.process_time() - began < 5


def test_a_value_unlike_its_neighbours_is_marked() -> None:
    values = [b'{"a": 1}', b"poison", b'{"a": 2}', None, b'{"a": 3}', b'{"a": 4}']
    read = records.RecordsRead(
        records.Search(("t",), 0),
        tuple(record(value, offset=place) for place, value in enumerate(values)),
        (records.Undecodable("t", 0, 6, 9, "its checksum is wrong"),),
        records.Progress((records.Scanned("t", 0, 0, 10, 0, 10),)),
    )
    rows = present_records.record_rows(read)
    assert [row.offset for row in rows] == [0, 1, 2, 3, 4, 5, 6]
    assert [row.offset for row in rows if row.odd] == [1]
    assert "can't be decoded to 9: its checksum is wrong" in present_records.RECORDS.texts(rows[-1])


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        (-1, "–"),
        (0, "1970-01-01 00:00:00.000"),
        (1_790_000_000_123, "2026-09-21 14:13:20.123"),
        (2**63 - 1, str(2**63 - 1)),
        (-5, "–"),
    ],
)
def test_times(timestamp: int, text: str) -> None:
    assert present_records.time_text(timestamp) == text


@pytest.mark.parametrize(
    ("values", "odd"),
    [
        ([b"{}", b"{}", b"\xff"], []),
        ([b"{}", b"{}", b"{}", b"\xff"], [3]),
        ([b"\xff", b"{}", b"{}", b"a", b"b", b"c"], [0]),
        ([b"\xff", b"\xfe", b"{}", b"a"], []),
        ([b"\xff", b"\xfe", b"\xfd", b"{}"], [3]),
        ([b"\xff"], []),
        ([], []),
    ],
)
def test_what_stands_out(values: list[bytes], odd: list[int]) -> None:
    made = tuple(record(value, offset=place) for place, value in enumerate(values))
    rows = present_records.record_rows(records.RecordsRead(records.Search(("t",), 0), made))
    assert [row.offset for row in rows if row.odd] == odd

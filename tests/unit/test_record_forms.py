"""Tests of records written as streams of bytes: each output format, and the limit of records per second."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.answers.record_forms import CSV_COLUMNS, raw_field, separator_text, stream_form
from console.model.per_second import PerSecond
from console.model.records import BatchFacts, Encoding, Record, Undecodable
from console.present.records import RecordRow, record_data

CONTENTS = st.none() | st.binary(max_size=12) | st.text(max_size=12).map(lambda text: text.encode("utf-8", "replace"))
RECORDS = st.builds(
    Record,
    topic=st.sampled_from(["orders", "a.b-c_d"]),
    partition=st.integers(0, 9),
    offset=st.integers(0, 2**62),
    timestamp=st.integers(-1, 2**53),
    key=CONTENTS,
    value=CONTENTS,
    headers=st.lists(st.tuples(st.binary(max_size=4), CONTENTS), max_size=2).map(tuple),
    batch=st.builds(
        BatchFacts,
        base_offset=st.just(0),
        leader_epoch=st.integers(-1, 5),
        producer_id=st.sampled_from([-1, 7]),
        codec=st.sampled_from(["none", "zstd"]),
        append_time=st.booleans(),
    ),
)


@given(st.lists(RECORDS, max_size=5), st.sampled_from(["", "text", "json", "hex"]), st.booleans())
def test_a_json_line_is_the_object_of_its_record(records: list[Record], form: str, masked: bool) -> None:
    parts = stream_form("jsonl", form, masked=masked)(records)
    assert len(parts) == len(records)
    for record, part in zip(records, parts, strict=True):
        assert part.count(b"\n") == 1
        assert part.endswith(b"\n")
        assert part.isascii()
        assert part[:-1].decode().isprintable()
        assert json.loads(part) == record_data(RecordRow(record, form, masked))


@given(st.lists(RECORDS, max_size=5), st.booleans())
def test_a_line_of_csv_has_a_cell_for_each_column(records: list[Record], masked: bool) -> None:
    parts = stream_form("csv", "", masked=masked)(records)
    for record, part in zip(records, parts, strict=True):
        ((topic, partition, offset, *others),) = csv.reader(io.StringIO(part.decode()))
        assert (topic, partition, offset) == (record.topic, str(record.partition), str(record.offset))
        assert len(others) + 3 == len(CSV_COLUMNS)
        assert part.count(b"\n") == 1


@given(RECORDS)
def test_raw_is_what_was_sent(record: Record) -> None:
    assert raw_field(record, "value", "") == (record.value or b"")
    assert raw_field(record, "key", "") == (record.key or b"")


def test_raw_of_a_decoded_value_is_what_was_sent_unless_a_form_is_chosen() -> None:
    sent = Encoding("avro", "s", 3, sent=b"\x00\x01\x02")
    record = Record("t", 0, 1, 2, None, b'{"a":1}', (), BatchFacts(0), value_encoding=sent)
    assert raw_field(record, "value", "") == b"\x00\x01\x02"
    assert raw_field(record, "value", "json") == b'{"a":1}'


def test_damaged_offsets_have_a_place_in_lines() -> None:
    damaged = Undecodable("t", 1, 5, 7, "checksum")
    (line,) = stream_form("jsonl", "", masked=False)([damaged])
    assert json.loads(line) == {
        "topic": "t",
        "partition": 1,
        "offset": 5,
        "last_offset": 7,
        "error": "can't be decoded: checksum",
    }
    assert b"can't be decoded to 7: checksum" in stream_form("csv", "", masked=False)([damaged])[0]
    assert stream_form("raw", "", masked=False)([damaged]) == [b""]


@pytest.mark.parametrize(
    ("text", "separator"), [("", ""), (r"\n", "\n"), (r"\0", "\0"), (r"\\n", r"\n"), (r"a\t\x", "a\t\\x")]
)
def test_separators(text: str, separator: str) -> None:
    assert separator_text(text) == separator


def test_a_cap_passes_so_many_a_second_and_counts_the_others() -> None:
    cap = PerSecond(3)
    assert cap.passed("abcde", 10.0) == "abc"
    assert cap.passed("fg", 10.9) == ""
    assert cap.left_out == 4
    assert cap.passed("hi", 11.0) == "hi"
    assert cap.left_out == 4
    unlimited = PerSecond(0)
    assert unlimited.passed("x" * 1_000, 0.0) == "x" * 1_000
    assert unlimited.left_out == 0

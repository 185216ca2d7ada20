"""Tests of records to write: exported lines give the same records again, partitions are chosen as Java does, batches
keep the order.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.answers.record_forms import stream_form
from console.model import new_records
from console.model.new_records import NewRecord, NotARecord
from console.model.records import NO_TIMESTAMP, BatchFacts, Record
from console.model.secret import Contents
from console.plan.edit_json import edit_json, edit_of
from console.plan.edits import WriteRecords

DATA = st.none() | st.just(b"") | st.binary(max_size=20) | st.text(max_size=10).map(str.encode)
HEADERS = st.lists(st.tuples(st.text(max_size=5).map(str.encode), DATA), max_size=3).map(tuple)
TIMES = st.just(NO_TIMESTAMP) | st.integers(0, 2**62)
NEW = st.builds(NewRecord, DATA, DATA, HEADERS, st.none() | st.integers(0, 5), TIMES)


@given(DATA, DATA, HEADERS, st.integers(0, 99), TIMES, st.sampled_from(["", "hex"]))
def test_an_exported_record_reads_back(key, value, headers, partition, time, form):
    record = Record("orders", partition, 7, time, key, value, headers, BatchFacts(7, producer_id=3, base_sequence=0))
    (line,) = stream_form("jsonl", form, masked=False)([record])
    assert new_records.records_of_lines(line + b"\n") == (NewRecord(key, value, headers, partition, time),)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "not JSON"),
        ("[]", "no JSON object"),
        ("{}", "no value"),
        ('{"value": 1}', "value_json"),
        ('{"value": "a", "value_hex": "00"}', "one of them"),
        ('{"value_hex": "0"}', "no hex"),
        ('{"value_base64": "?"}', "no base64"),
        ('{"value_bytes": 3}', "--reveal"),
        ('{"value_json": {}, "value_encoding": "avro"}', "--as hex"),
        ('{"value": "a", "partition": -1}', "no number"),
        ('{"value": "a", "headers": {}}', "no list"),
        ('{"value": "a", "headers": [{"value": "b"}]}', "no name"),
        ('{"value": "\\ud800"}', "no valid text"),
        ('{"offset": 1, "last_offset": 2, "error": "can\'t be decoded"}', "could not be decoded"),
    ],
)
def test_what_is_no_record_says_why_and_where(line, why):
    with pytest.raises(NotARecord, match="line 2: ") as refused:
        new_records.records_of_lines(b'{"value": "a"}\n' + line.encode())
    assert why in str(refused.value)


def test_json_members_become_compact_json_and_so_many_lines_are_taken(monkeypatch):
    line = b'{"key_json": 7, "value_json": {"a": [1, "\xc3\xa9"]}}'
    assert new_records.record_of_line(line) == NewRecord(b"7", '{"a":[1,"é"]}'.encode())
    assert new_records.record_of_line(b'{"value": "{}"}', ["value"]) == NewRecord(None, b"{}")
    with pytest.raises(NotARecord, match="a schema encodes JSON"):
        new_records.record_of_line(b'{"value_hex": "00"}', ["value"])
    monkeypatch.setattr(new_records, "MOST_RECORDS", 2)
    assert len(new_records.records_of_lines(b'{"value": ""}\n\n{"value": ""}\n')) == 2
    with pytest.raises(NotARecord, match="more than 2"):
        new_records.records_of_lines(b'{"value": ""}\n' * 3)


@given(st.lists(NEW, max_size=30), st.integers(40, 400), st.integers(1, 9))
def test_batches_keep_the_order_and_their_limits(records, most, count):
    made = list(new_records.batched(records, most, count))
    assert [each for batch in made for each in batch] == records
    for batch in made:
        assert 0 < len(batch) <= count
        assert len(batch) == 1 or sum(each.most_in_batch for each in batch) <= most


@given(st.lists(NEW, max_size=20), st.integers(6, 50))
def test_every_record_is_in_one_partition(records, count):
    found = new_records.by_partition(records, count)
    assert sum(map(len, found.values())) == len(records)
    for partition, mine in found.items():
        assert 0 <= partition < count
        assert [each for each in records if each in mine and new_records.partition_of(each, count) == partition] == mine
    assert all(each.partition == 3 for each in new_records.in_partition(records, 3))


@given(NEW, NEW)
def test_other_records_have_other_hashes(one, other):
    same = replace(one, partition=None) == replace(other, partition=None)
    assert (one.hash == other.hash) == same


@given(st.binary(min_size=1, max_size=8))
def test_only_a_key_elsewhere_is_a_stray(key):
    own = new_records.partition_of(NewRecord(key, b""), 12)
    assert not new_records.is_stray(NewRecord(key, b"", partition=own), 12)
    assert new_records.is_stray(NewRecord(key, b"", partition=(own + 1) % 12), 12)
    assert not new_records.is_stray(NewRecord(None, b"", partition=own), 12)


@given(st.lists(NEW, min_size=1, max_size=3))
def test_no_text_form_has_contents(records):
    secret = NewRecord(b"the-secret-key", b"the-secret-value", ((b"the-secret-header", b"the-secret"),))
    found = Contents([*records, secret])
    edit = WriteRecords("orders", 0, 0, tuple(r.size for r in found.reveal()), tuple(r.hash for r in found.reveal()))
    edit = replace(edit, records=found)
    kept = edit_json(edit)
    assert "the-secret" not in f"{edit!r} {found} {json.dumps(kept)} {secret!r}"
    assert edit_of(kept) == replace(edit, records=Contents())

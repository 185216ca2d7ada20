"""Tests of the records of internal topics of Kafka, MirrorMaker and Connect, which kac decodes without any setting,
against recorded output of Kafka's formatters and of Connect's REST API for the same records.
"""

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.coordinators import OFFSETS, SHARES, TRANSACTIONS
from console.model.internal_records import internal_decoders
from console.model.record_decoding import RecordDecoder
from console.model.record_masks import MASKED, mask_path
from console.model.records import BatchFacts, Record
from console.model.schemas import Allowance
from console.sensitive import data_without_secrets
from tests.support import internal_topics

RECORDED = internal_topics.recorded()
OWN = internal_decoders(partial(data_without_secrets, hidden=MASKED))
COMMIT = b"\0\1\0\1g\0\1t\0\0\0\5"
OFFSET = b"\0\3" + (7).to_bytes(8, "big") + b"\xff\xff\xff\xff\0\4card" + (1).to_bytes(8, "big")


def shown(topic: str, key: bytes | None, value: bytes | None, *mask: str) -> Record:
    """Return a record as kac shows it, decoded and masked. mask: paths of fields to hide."""
    decoder = RecordDecoder(tuple(map(mask_path, mask)), own=OWN)
    return decoder.readable(Record(topic, 0, 0, 0, key, value, (), BatchFacts(0)), Allowance())


def why(record: Record) -> str:
    """Return the reason why a record's value is not decoded."""
    assert record.value_encoding is not None
    return record.value_encoding.why


@pytest.mark.parametrize("recording", RECORDED.brokers, ids=lambda each: each.version)
def test_what_brokers_wrote_is_what_kafkas_formatters_printed(recording: internal_topics.Recording) -> None:
    assert sum(internal_topics.compare(recording).values()) >= len(recording.sent)


@pytest.mark.parametrize("recording", RECORDED.mirrors, ids=lambda each: each.version)
def test_what_mirrormaker_wrote_is_what_its_formatters_printed(recording: internal_topics.Recording) -> None:
    assert internal_topics.compare_mirror(recording).keys() == internal_topics.MIRRORED.keys()


@pytest.mark.parametrize("recording", RECORDED.connect, ids=lambda each: each.version)
def test_what_connect_wrote_is_what_its_rest_api_answered(recording: internal_topics.Recording) -> None:
    assert internal_topics.compare_connect(recording).keys() >= {"Connect's session key", "Connect's source offset"}


def test_key_and_value_have_their_type_and_version_and_masks_hold_in_them() -> None:
    record = shown(OFFSETS, COMMIT, OFFSET)
    assert record.key == b'{"group":"g","topic":"t","partition":5}'
    assert record.value == b'{"offset":7,"leaderEpoch":-1,"metadata":"card","commitTimestamp":1}'
    assert record.key_encoding is not None
    assert record.value_encoding is not None
    assert (record.key_encoding.schema, record.key_encoding.sent) == ("OffsetCommitKey, type 1", COMMIT)
    assert record.value_encoding.schema == "OffsetCommitValue, version 3"
    record = shown(OFFSETS, COMMIT, OFFSET, "$.metadata")
    assert json.loads(record.value or b"")["metadata"] == MASKED
    assert record.value_encoding is not None
    assert record.value_encoding.sent is None
    assert b"card" not in (shown(OFFSETS, COMMIT, OFFSET + b"x", "$.metadata").value or b"")


@pytest.mark.parametrize(
    ("topic", "key", "value", "reason"),
    [
        (OFFSETS, b"\0\x2a\0\1g", b"\0\0abc", "type 42, version 0: not known here"),
        (OFFSETS, COMMIT, b"\0\x09abc", "OffsetCommitValue, version 9: not known here"),
        (OFFSETS, COMMIT, OFFSET + b"x", "its fields end at byte 28 of 29"),
        (OFFSETS, COMMIT, OFFSET[:-1], "its fields run over its end"),
        (OFFSETS, COMMIT, b"\0\3" + bytes(12) + b"\xff\xff", "metadata must not be null"),
        (TRANSACTIONS, b"\0\0\0\1t", b"\0\0" + bytes(19) + b"\x7f\xff\xff\xff", "its fields run over its end"),
        (SHARES, None, b"\0\0a", "type -1, version 0: not known here"),
        (OFFSETS, COMMIT, b"\0\3" + bytes(2 << 20), "more than 1 MiB"),
    ],
)
def test_what_is_not_known_stays_hex_and_says_so(topic: str, key: bytes | None, value: bytes, reason: str) -> None:
    record = shown(topic, key, value)
    assert record.value == value
    assert reason in why(record)


@given(
    st.sampled_from([OFFSETS, TRANSACTIONS, SHARES, "heartbeats", "a.checkpoints.internal"]), st.binary(), st.binary()
)
def test_any_bytes_are_decoded_or_say_why(topic: str, key: bytes, value: bytes) -> None:
    record = shown(topic, bytes((0, key[0] % 24)) + key[1:] if key else key, value)
    for data, encoding in ((record.key, record.key_encoding), (record.value, record.value_encoding)):
        if encoding is not None and not encoding.why:
            json.loads(data or b"")


def test_the_budget_of_an_answer_holds() -> None:
    allowance = Allowance()
    allowance.bytes = 0
    decoder = RecordDecoder((), own=OWN)
    record = decoder.readable(Record(OFFSETS, 0, 0, 0, COMMIT, OFFSET, (), BatchFacts(0)), allowance)
    assert "ask for fewer records" in why(record)


def test_no_registry_is_asked_for_them() -> None:
    """Records of internal topics are decoded without a request to the registry, although their first bytes look like a
    reference to a schema.
    """
    decoder = RecordDecoder((), lambda _: None, OWN)
    key, value = b"\0\1\0\1g\0\1t\0\0\0\5", b"\0\0\0\0\0\0\1\0\0\0"
    assert list(decoder.missing(Record(OFFSETS, 0, 0, 0, key, OFFSET, (), BatchFacts(0)))) == []
    assert list(decoder.missing(Record("heartbeats", 0, 0, 0, b"\0\1A\0\1B", value, (), BatchFacts(0)))) == []
    assert list(decoder.missing(Record("orders", 0, 0, 0, key, value, (), BatchFacts(0)))) != []


def test_in_which_topics_a_search_may_look_for_bytes() -> None:
    decoder = RecordDecoder((), own=OWN)
    assert decoder.is_plain_in(["orders", "_schemas"])
    for topic in (OFFSETS, "heartbeats", "connect-configs", "mm2-configs.a.internal"):
        assert not decoder.is_plain_in(["orders", topic]), topic
    assert not RecordDecoder((mask_path("$.a"),)).is_plain_in(["orders"])
    assert not RecordDecoder((), lambda _: None).is_plain_in(["orders"])


def test_other_topics_of_their_names_stay_as_they_are_and_a_broken_config_is_hidden() -> None:
    record = shown("heartbeats", b"sensor-7", b'{"at":1}')
    assert (record.key, record.value, record.value_encoding) == (b"sensor-7", b'{"at":1}', None)
    record = shown("our-configs", b"connector-orders", b'{"properties":{"database.password":"planted"')
    assert b"planted" not in (record.value or b"")


SECRET = {"database.password": "planted", "url": "jdbc:x://me:planted@h/", "sasl.jaas.config": "x password=planted;"}


@pytest.mark.parametrize("key", [b"connector-orders", b"task-orders-0"])
def test_secrets_of_connectors_are_hidden_in_any_topic(key: bytes) -> None:
    value = json.dumps({"properties": {"name": "orders", "tasks.max": "1", **SECRET}}).encode()
    record = shown("our-configs", key, value)
    assert b"planted" not in (record.value or b"")
    assert json.loads(record.value or b"")["properties"]["tasks.max"] == "1"
    assert record.value_encoding is not None
    assert record.value_encoding.sent is None, "hex shows no secret either"
    plain = shown("our-configs", key, b'{"properties":{"name":"orders"}}')
    assert plain.value_encoding is not None
    assert plain.value_encoding.sent == b'{"properties":{"name":"orders"}}'


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"connector-7", b'{"id":7}'),
        (b"task-list", b"buy milk"),
        (b"session-key", b'{"user":1}'),
        (b'["a",{"b":1}]', b"1"),
        (b'["a","b"]', b'{"position":1}'),
    ],
)
def test_records_that_are_not_connects_are_left_as_they_are(key: bytes, value: bytes) -> None:
    record = shown("orders", key, value)
    assert (record.value, record.value_encoding) == (value, None)


def test_the_records_of_a_schema_registry_are_named() -> None:
    """Records in the form of Confluent's SchemaKey and SchemaValue, which Karapace also writes, are decoded with the
    names of their fields. They are written by hand, not by a registry.
    """
    key = b'{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}'
    record = shown("_schemas", key, b'{"subject":"orders-value","version":1,"id":7,"schema":"{}","deleted":false}')
    assert record.value_encoding is not None
    assert (record.value_encoding.form, record.value_encoding.schema) == ("json", "schema registry's SCHEMA")
    assert record.key_encoding is not None
    assert shown("orders", key, b"{}").value_encoding is None

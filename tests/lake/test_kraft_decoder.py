"""Records of the metadata log, from bytes to rows: what is in them, what is hidden, and what can't be read."""

from __future__ import annotations

import base64
import json
import math
import struct
from typing import Any

import pyarrow as pa
import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from console.lake import kraft
from console.lake.redact import hmac_hex
from tests.support.metadata_log import CONTROL, batch, record, uvarint, value

KEY = b"key of the lake"
ORIGIN = kraft.Origin("cluster-a", "/logs/00000000000000000000.log")
ALL = sorted(kraft.known_schemas().values(), key=lambda each: (each.api_key, each.version))


def rows(
    data: bytes, key: bytes | None = KEY, origin: kraft.Origin = ORIGIN
) -> tuple[list[dict[str, Any]], list[kraft.Trouble]]:
    troubles: list[kraft.Trouble] = []
    batches = list(kraft.Decoder(key, troubles.append).rows(data, origin))
    return pa.Table.from_batches(batches, kraft.ROW_SCHEMA).to_pylist(), troubles


def payload(*values: bytes) -> Any:
    (row,), troubles = rows(batch(0, values))
    assert troubles == []
    return json.loads(row["payload"])


def test_a_config_and_a_quota_as_real_brokers_write_them() -> None:
    config = bytes.fromhex("0104000204666f6f0d726574656e74696f6e2e6d73053130303000")
    quota = bytes.fromhex("010e0002057573657206616c696365001370726f64756365725f627974655f7261746541300000000000000000")
    told, troubles = rows(batch(17, [config, quota], epoch=3, stamp_ms=1_763_600_000_123))
    assert troubles == []
    assert told[0] == {
        "cluster_id": "cluster-a",
        "log_offset": 17,
        "record_index": 0,
        "in_snapshot": False,
        "leader_epoch": 3,
        "record_ts": told[0]["record_ts"],
        "record_type": "ConfigRecord",
        "api_key": 4,
        "version": 0,
        "payload": '{"resourceType":2,"resourceName":"foo","name":"retention.ms","value":"1000"}',
        "value_hmac": None,
        "file": "00000000000000000000.log",
    }
    assert told[0]["record_ts"].isoformat() == "2025-11-20T00:53:20.123000+00:00"
    assert told[1]["log_offset"] == 18
    assert json.loads(told[1]["payload"]) == {
        "entity": [{"entityType": "user", "entityName": "alice"}],
        "key": "producer_byte_rate",
        "value": 1048576.0,
        "remove": False,
    }


def test_a_controller_that_is_unregistered_as_kafka_4_4_writes_it() -> None:
    told, troubles = rows(batch(17, [bytes.fromhex("011d000000000200")]))
    assert troubles == []
    assert [(row["record_type"], row["payload"]) for row in told] == [
        ("UnregisterControllerRecord", '{"controllerId":2}')
    ]


def test_old_and_new_versions_are_known() -> None:
    assert len({schema.api_key for schema in ALL}) == 27
    assert {version for api_key, version in kraft.known_schemas() if api_key == 0} == {0, 1, 2, 3, 4}
    assert {schema.name for schema in ALL} >= {"ClearElrRecord", "ZkMigrationStateRecord"}


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_UUID = st.binary(min_size=16, max_size=16).map(lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("="))
_BOUNDS = {"int8": (-128, 127), "int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1)}
_BOUNDS |= {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


def _of_field(field: kraft.Field) -> st.SearchStrategy[Any]:
    if field.fields:
        one: st.SearchStrategy[Any] = _of_fields(field.fields)
    elif field.type in _BOUNDS:
        one = st.integers(*_BOUNDS[field.type])
    else:
        one = {"string": _TEXT, "bytes": st.binary(max_size=9), "uuid": _UUID, "bool": st.booleans()}.get(
            field.type, st.floats(allow_nan=False, allow_infinity=False)
        )
    made = st.lists(one, max_size=4) if field.is_array else one
    return made | st.none() if field.nullable else made


def _of_fields(fields: tuple[kraft.Field, ...]) -> st.SearchStrategy[dict[str, Any]]:
    placed = {field.name: _of_field(field) for field in fields if field.tag is None}
    tagged = {field.name: _of_field(field) for field in fields if field.tag is not None}
    return st.fixed_dictionaries(placed, optional=tagged)


_SOMETHING = st.sampled_from(ALL).flatmap(lambda known: st.tuples(st.just(known), _of_fields(known.fields)))


def _shown(known: kraft.RecordSchema, given: dict[str, Any]) -> dict[str, Any]:
    """What a row may tell of fields that were written."""
    if known.name == "UserScramCredentialRecord":
        return given | dict.fromkeys(("salt", "storedKey", "serverKey"), "[hidden]")
    if known.name == "ConfigRecord" and given["value"] is not None:
        return given | {"value": "[hidden]"}  # no random name is a harmless config's
    return given


@given(st.lists(_SOMETHING, min_size=1, max_size=6))
def test_what_was_encoded_is_decoded(records: list[tuple[kraft.RecordSchema, dict[str, Any]]]) -> None:
    values = [value(known.name, known.version, **fields) for known, fields in records]
    told, troubles = rows(batch(0, values))
    assert troubles == []
    assert [(row["record_type"], row["api_key"], row["version"]) for row in told] == [
        (known.name, known.api_key, known.version) for known, _ in records
    ]
    assert [json.loads(row["payload"]) for row in told] == [_shown(known, fields) for known, fields in records]


def test_numbers_that_json_has_not_are_text() -> None:
    def shown(number: float) -> object:
        return payload(value("ClientQuotaRecord", entity=[], key="k", value=number, remove=False))["value"]

    assert [shown(number) for number in (math.nan, math.inf, -math.inf)] == ["NaN", "Infinity", "-Infinity"]


def test_text_that_is_no_utf_8_does_no_harm() -> None:
    told = payload(value("TopicRecord", name=b'a\xff\x00\x1b"', topicId="A" * 22))
    assert told["name"] == 'a�\x00\x1b"'


def test_secrets_are_hidden_and_told_apart_by_their_hmac() -> None:
    def config(type_: int, name: str, text: str | None) -> bytes:
        return value("ConfigRecord", resourceType=type_, resourceName="1", name=name, value=text)

    scram = {"salt": b"planted-salt", "storedKey": b"planted-stored", "serverKey": b"planted-server"}
    values = [
        config(4, "ssl.keystore.password", "planted-1"),
        config(4, "log.retention.ms", "1000"),
        config(4, "ssl.keystore.password", "planted-2"),
        config(4, "listener.name.sasl.plain.sasl.jaas.config", None),
        config(2, "nobody.knows.this", "planted-3"),
        config(99, "retention.ms", "planted-4"),
        value("UserScramCredentialRecord", name="alice", mechanism=1, iterations=8192, **scram),
    ]
    told, troubles = rows(batch(0, values))
    assert troubles == []
    payloads = [json.loads(row["payload"]) for row in told]
    assert [each.get("value") for each in payloads] == [
        "[hidden]",
        "1000",
        "[hidden]",
        None,
        "[hidden]",
        "[hidden]",
        None,
    ]
    assert payloads[-1] == {
        "name": "alice",
        "mechanism": 1,
        "salt": "[hidden]",
        "storedKey": "[hidden]",
        "serverKey": "[hidden]",
        "iterations": 8192,
    }
    joined = ":".join(base64.b64encode(each).decode() for each in scram.values())
    hidden = ["planted-1", None, "planted-2", None, "planted-3", "planted-4", joined]
    assert [row["value_hmac"] for row in told] == [each if each is None else hmac_hex(KEY, each) for each in hidden]
    assert "planted" not in str(told)
    assert [row["value_hmac"] for row in rows(batch(0, values), key=None)[0]] == [None] * 7


def test_hmacs_stay_with_their_rows_when_others_are_left_out() -> None:
    values = [
        value("ConfigRecord", resourceType=4, resourceName="1", name="ssl.key.password", value=f"secret-{at}")
        for at in range(5)
    ]
    data = batch(0, [*values, value("NoOpRecord")])
    (told,) = kraft.Decoder(KEY, pytest.fail).rows(data, ORIGIN, [(0, 0), (2, 2), (4, 4)])
    assert told.column("log_offset").to_pylist() == [1, 3, 5]
    assert told.column("value_hmac").to_pylist() == [hmac_hex(KEY, "secret-1"), hmac_hex(KEY, "secret-3"), None]


def test_what_a_newer_release_writes_is_a_row_and_told_once() -> None:
    values = [b"\x01\x63\x00abc", b"\x01\x63\x00def", b"\x01\x04\x07xyz", value("NoOpRecord"), b"\x02\x04\x00"]
    told, troubles = rows(batch(5, values))
    assert [(row["record_type"], row["api_key"], row["version"], row["payload"]) for row in told] == [
        ("UNKNOWN(99)", 99, 0, "{}"),
        ("UNKNOWN(99)", 99, 0, "{}"),
        ("UNKNOWN(4)", 4, 7, "{}"),
        ("NoOpRecord", 20, 0, "{}"),
        ("UNKNOWN(-1)", -1, -1, "{}"),
    ]
    newer = "is newer than this release of kac; only the first is reported"
    assert [trouble.reason for trouble in troubles] == [
        f"record at offset 5: record type 99 (version 0) {newer}",
        f"record at offset 7: version 7 of ConfigRecord {newer}",
        "record at offset 9: unknown frame version 2",
    ]


@given(_SOMETHING.filter(lambda each: bool(each[0].fields)), st.data())
def test_a_record_cut_short_is_no_record_and_hides_nothing_wrongly(
    chosen: tuple[kraft.RecordSchema, dict[str, Any]], data: st.DataObject
) -> None:
    known, fields = chosen
    whole = value(known.name, known.version, **fields)
    cut = whole[: data.draw(st.integers(3, len(whole) - 1))]
    told, troubles = rows(batch(0, [cut, value("NoOpRecord")]))
    assert [row["record_type"] for row in told] == [f"UNKNOWN({known.api_key})", "NoOpRecord"]
    assert [row["value_hmac"] for row in told] == [None, None]
    assert len(troubles) == 1
    assert troubles[0].reason.startswith("record at offset 0: ")


@given(st.binary(max_size=60))
def test_no_bytes_in_a_batch_make_it_crash(noise: bytes) -> None:
    whole = batch(0, [noise, value("NoOpRecord")])
    told, _ = rows(whole)
    assert told[-1]["record_type"] == "NoOpRecord"
    body = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 3) + noise
    head = struct.pack(">qiiBI", 0, len(body) + 9, 0, 2, crc32c(body))
    rows(head + body)


def test_a_sample_shows_shapes_alone() -> None:
    _, (trouble,) = rows(batch(0, [b"\x01\x04\x00\x02\x04foo\x16ssl.key.password\x09planted"]))
    assert "planted" not in trouble.sample
    assert "x" in trouble.sample
    assert len(trouble.sample) <= 200
    assert trouble.byte_pos == 0
    assert trouble.file == ORIGIN.path


def test_control_batches_are_no_rows() -> None:
    data = batch(0, [b"\0\0"], attributes=CONTROL) + batch(1, [value("NoOpRecord")])
    assert [row["log_offset"] for row in rows(data)[0]] == [1]


def test_times_are_the_records_own() -> None:
    noop = value("NoOpRecord")
    body = struct.pack(">hiqqqhii", 0, 1, 1000, 9000, -1, -1, -1, 2) + record(noop, 0) + record(noop, 1, later_ms=250)
    head = struct.pack(">qiiBI", 0, len(body) + 9, 0, 2, crc32c(body))
    assert [row["record_ts"].timestamp() * 1000 for row in rows(head + body)[0]] == [1000, 1250]


def test_numbers_of_types_are_as_large_as_they_are() -> None:
    told, _ = rows(batch(0, [uvarint(1) + uvarint(300) + uvarint(200) + b"x", uvarint(1) + uvarint(1 << 40) + b"\0"]))
    assert [(row["record_type"], row["api_key"], row["version"]) for row in told] == [
        ("UNKNOWN(300)", 300, 200),
        ("UNKNOWN(-1)", -1, 0),
    ]

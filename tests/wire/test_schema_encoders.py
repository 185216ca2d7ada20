"""JSON to payloads: what kac encodes its decoders read as the same JSON, and others' readers as the same values."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from console.model.schemas import NotDecoded, SchemaText

fastavro = pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")

from console.admin.protobuf_compiler import MAIN, compiled  # noqa: E402
from console.wire.avro import avro_decoder, avro_encoder  # noqa: E402
from console.wire.protobuf import protobuf_decoder, protobuf_encoder  # noqa: E402

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "paid", "type": "boolean"},
        {"name": "ratio", "type": "double"},
        {"name": "email", "type": ["null", "string"]},
        {"name": "data", "type": "bytes"},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "DONE"]}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {"name": "inner", "type": ["null", {"type": "record", "name": "In", "fields": [{"name": "a", "type": "int"}]}]},
        {"name": "other", "type": ["null", "In"]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "nanos", "type": {"type": "long", "logicalType": "timestamp-nanos"}},
        {"name": "clock", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "key", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "wait", "type": {"type": "fixed", "name": "Wait", "size": 12, "logicalType": "duration"}},
    ],
}
TEXT = SchemaText("AVRO", json.dumps(ORDER))
LONG = st.integers(-(2**63), 2**63 - 1)
INT = st.integers(-(2**31), 2**31 - 1)
SECONDS = st.integers(-60_000_000_000, 250_000_000_000)
VALUES = st.fixed_dictionaries(
    {
        "id": LONG,
        "paid": st.booleans(),
        "ratio": st.floats(allow_nan=False),
        "email": st.none() | st.text(),
        "data": st.binary(max_size=9),
        "state": st.sampled_from(["NEW", "DONE"]),
        "tags": st.lists(st.text(max_size=3), max_size=3),
        "counts": st.dictionaries(st.text(max_size=3), INT, max_size=3),
        "inner": st.none() | st.fixed_dictionaries({"a": INT}),
        "other": st.none() | st.fixed_dictionaries({"a": INT}),
        "day": st.integers(-700_000, 2_900_000),
        "at": SECONDS.map(lambda each: each * 1000 + each % 1000),
        "nanos": st.integers(-(10**18), 10**18),
        "clock": st.integers(0, 86_399_999_999),
        "price": st.integers(-(10**9) + 1, 10**9 - 1).map(
            lambda each: each.to_bytes(each.bit_length() // 8 + 1, "big", signed=True)
        ),
        "key": st.uuids().map(str),
        "wait": st.binary(min_size=12, max_size=12),
    }
)
"""Values with their logical types as the numbers and bytes that others write."""
RAW = fastavro.parse_schema(json.loads(json.dumps(ORDER).replace("logicalType", "ignored")))


@given(VALUES)
def test_avro_comes_back_as_the_same_bytes(value):
    """fastavro writes, kac decodes to JSON, kac encodes that: a second decoding, and the bytes, are the same."""
    output = io.BytesIO()
    fastavro.schemaless_writer(output, RAW, value)
    try:
        shown = avro_decoder(TEXT)(output.getvalue())
    except NotDecoded:
        assume(False)
    assert avro_encoder(TEXT)(shown) == output.getvalue()


BRANCHES = SchemaText(
    "AVRO", json.dumps(["null", "bytes", "string", "long", {"type": "record", "name": "R", "fields": []}])
)


@pytest.mark.parametrize(("document", "branch"), [(b"null", 0), (b'"YQ=="', 2), (b"7", 3), (b"{}", 4)])
def test_a_union_takes_text_before_bytes(document, branch):
    payload = avro_encoder(BRANCHES)(document)
    assert payload[0] == branch * 2
    assert json.loads(avro_decoder(BRANCHES)(payload)) == json.loads(document)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"id": "x"}, "it.id is no long"),
        ({"id": 2**63}, "it.id is no long"),
        ({"id": True}, "it.id is no long"),
        ({"state": "GONE"}, "it.state is no enum"),
        ({"price": "1.234"}, "it.price is no"),
        ({"day": "2026-02-30"}, "it.day is no date"),
        ({"at": "2026-11-20T14:05:00.0001Z"}, "it.at is no timestamp-millis"),
        ({"inner": {"b": 1}}, "has b"),
        ({"extra": 1}, "it has extra"),
        ({"tags": [1]}, "it.tags[0] is no string"),
        ({"data": "??"}, "it.data is no bytes"),
        ({"wait": "AA=="}, "it.wait is no duration"),
    ],
)
def test_what_does_not_fit_names_its_place(change, why):
    base = {
        **{"id": 1, "paid": True, "ratio": 1, "email": None, "data": "", "state": "NEW", "tags": [], "counts": {}},
        **{"inner": None, "other": None, "day": "2026-11-20", "at": "2026-11-20T14:05:00.250Z", "nanos": 1},
        **{"clock": "14:05:00", "price": "12.30", "key": "a", "wait": "P1M2DT3.500S"},
    }
    assert json.loads(avro_decoder(TEXT)(avro_encoder(TEXT)(json.dumps(base).encode())))["price"] == "12.30"
    with pytest.raises(NotDecoded) as refused:
        avro_encoder(TEXT)(json.dumps({**base, **change}).encode())
    assert why in str(refused.value)
    gone = dict(base)
    del gone["paid"]
    with pytest.raises(NotDecoded, match="it has no paid"):
        avro_encoder(TEXT)(json.dumps(gone).encode())


PROTO = SchemaText(
    "PROTOBUF",
    """syntax = "proto3"; package shop;
    message Order { int64 id = 1; string email = 2; bytes data = 3; repeated int32 counts = 4; Inner inner = 5;
      message Inner { bool a = 1; } map<string, double> rates = 6; State state = 7; }
    enum State { NEW = 0; DONE = 1; }""",
)


@pytest.fixture(scope="module")
def proto() -> tuple[Callable[..., bytes], Callable[..., bytes]]:
    descriptors = compiled(PROTO)
    return protobuf_encoder(descriptors, MAIN), protobuf_decoder(descriptors, MAIN)


@given(
    st.fixed_dictionaries(
        {
            "id": LONG,
            "email": st.text(),
            "data": st.sampled_from(["", "AA==", "/+8="]),
            "counts": st.lists(INT, max_size=3),
            "inner": st.none() | st.fixed_dictionaries({"a": st.booleans()}),
            "rates": st.dictionaries(st.text(max_size=3), st.floats(allow_nan=False, allow_infinity=False), max_size=2),
            "state": st.sampled_from(["NEW", "DONE"]),
        }
    )
)
def test_protobuf_reads_back(proto, value):
    encode, decode = proto
    given_ = {name: each for name, each in value.items() if each is not None}
    assert json.loads(decode(encode(json.dumps(value).encode()))) == given_


@pytest.mark.parametrize("document", [b'{"nothing": 1}', b'{"id": "x"}', b"[]", b"x"])
def test_no_such_message(proto, document):
    with pytest.raises(NotDecoded, match="no such message"):
        proto[0](document)

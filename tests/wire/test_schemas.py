"""Tests of payloads with schemas, which kac decodes to JSON and encodes from JSON."""

import io
import json
import sys
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from console.admin.protobuf_compiler import MAIN, compiled
from console.admin.schema_registry import decoder_of
from console.model import schemas
from console.model.schemas import NotDecoded, SchemaText
from console.wire.avro import (
    avro_decoder,
    avro_encoder,
)
from console.wire.protobuf import (
    message_indexes,
    protobuf_decoder,
    protobuf_encoder,
)

fastavro = pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")

ORDER = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "rates", "type": {"type": "map", "values": "double"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "DONE"]}},
        {"name": "sum", "type": {"type": "fixed", "name": "Sum", "size": 4}},
        {"name": "lines", "type": {"type": "array", "items": "int"}},
        {"name": "flag", "type": "boolean"},
        {"name": "part", "type": "float"},
        {"name": "parent", "type": ["null", "shop.Order"]},
    ],
}
AN_ORDER: dict[str, Any] = {
    "id": -7,
    "note": "grün",
    "at": datetime(2026, 1, 2, tzinfo=UTC),
    "price": Decimal("12.50"),
    "rates": {"a": float("nan"), "b": 1.5, "c": float("-inf")},
    "state": "DONE",
    "sum": b"\0\1\2\3",
    "lines": [1, -2, 300_000],
    "flag": True,
    "part": 0.5,
    "parent": None,
}


def avro(schema: Any, *references: Any) -> Any:
    """Return the decoder of payloads with this Avro schema. references: the schemas to which it refers."""
    texts = tuple(schemas.SchemaText("AVRO", json.dumps(each), each["name"]) for each in references)
    return avro_decoder(schemas.SchemaText("AVRO", json.dumps(schema), references=texts))


def long(number: int) -> bytes:
    """Return a number as a zigzag varint, as in Avro's data and in the message indexes of Protobuf payloads."""
    left, made = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*made, left))


def written(schema: Any, value: Any) -> bytes:
    """Return a value as an Avro payload, encoded by fastavro."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def test_each_type_of_avro() -> None:
    payload = written(ORDER, {**AN_ORDER, "parent": {**AN_ORDER, "note": None}})
    found = json.loads(avro(ORDER)(payload, None))
    parent = found.pop("parent")
    assert found == {
        "id": -7,
        "note": "grün",
        "at": "2026-01-02T00:00:00Z",
        "price": "12.50",
        "rates": {"a": "NaN", "b": 1.5, "c": "-Infinity"},
        "state": "DONE",
        "sum": "AAECAw==",
        "lines": [1, -2, 300_000],
        "flag": True,
        "part": 0.5,
    }
    assert parent == {**found, "note": None, "parent": None}


def test_a_time_outside_of_the_calendar_is_its_number() -> None:
    assert avro({"type": "long", "logicalType": "timestamp-millis"})(long(2**60), None) == b"%d" % 2**60


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}


def test_a_decimal_has_all_its_digits_until_there_are_too_many() -> None:
    """kac shows all digits of a decimal of up to 1,024 bytes, which fastavro would round. It shows a longer one as
    base64: the time to compute the digits grows with the square of the length, and all other work would wait for it.
    """
    assert avro(DECIMAL)(long(10) + b"\x7f" * 10, None) == b'"6020924670237564909320.95"'
    most = long(1_024) + b"\x7f" * 1_024
    assert len(avro(DECIMAL)(most, None)) > 2_400
    more = b"\x7f" * 300_000
    assert avro(DECIMAL)(long(len(more)) + more, None) == b'"%s"' % b64encode(more)
    fixed = {"type": "fixed", "name": "F", "size": 2_000, "logicalType": "decimal", "precision": 5, "scale": 2}
    assert avro(["null", fixed])(long(1) + more[:2_000], None) == b'"%s"' % b64encode(more[:2_000])


def test_schemas_that_refer_to_others() -> None:
    money = {"type": "record", "name": "shop.Money", "fields": [{"name": "cents", "type": "int"}]}
    bill = {"type": "record", "name": "Bill", "fields": [{"name": "sum", "type": "shop.Money"}]}
    assert json.loads(avro(bill, money)(long(5), None)) == {"sum": {"cents": 5}}
    with pytest.raises(schemas.NotDecoded, match=r"shop\.Money"):
        avro(bill)


def test_a_union_of_references_and_a_lone_name() -> None:
    """kac decodes payloads whose schema is a union of references, or only the name of a reference. Confluent's registry
    accepts both as schemas.
    """
    money = {"type": "record", "name": "shop.Money", "fields": [{"name": "cents", "type": "int"}]}
    note = {"type": "record", "name": "shop.Note", "fields": [{"name": "text", "type": "string"}]}
    union = avro(["shop.Money", "shop.Note", "null"], money, note)
    assert union(long(0) + long(5), None) == b'{"cents":5}'
    assert union(long(1) + b"\4ab", None) == b'{"text":"ab"}'
    assert union(long(2), None) == b"null"
    assert avro("shop.Money", money)(long(5), None) == b'{"cents":5}'


@pytest.mark.parametrize("default", ["no number", None, {}, 7.5, [1]])
def test_a_default_is_nothing_that_a_payload_is_read_by(default: Any) -> None:
    field = {"name": "cents", "type": "int", "default": default}
    enum = {"name": "state", "type": {"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}}
    decode = avro({"type": "record", "name": "M", "fields": [field, enum]})
    assert decode(long(5) + long(0), None) == b'{"cents":5,"state":"A"}'
    # A field may have the name `default`.
    named = avro({"type": "record", "name": "M", "fields": [{"name": "default", "type": "int"}]})
    assert named(long(5), None) == b'{"default":5}'


@pytest.mark.parametrize(
    ("schema", "payload", "shown"),
    [
        (
            {"type": "long", "logicalType": "timestamp-nanos"},
            long(1_700_000_000_123_456_789),
            "2023-11-14T22:13:20.123456789Z",
        ),
        ({"type": "long", "logicalType": "timestamp-nanos"}, long(-1), "1969-12-31T23:59:59.999999999Z"),
        ({"type": "long", "logicalType": "local-timestamp-nanos"}, long(10**18), "2001-09-09T01:46:40"),
        ({"type": "long", "logicalType": "timestamp-nanos"}, long(2**62), "2116-02-20T23:53:38.427387904Z"),
        (
            {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"},
            bytes(range(16)),
            "00010203-0405-0607-0809-0a0b0c0d0e0f",
        ),
        ({"type": "fixed", "name": "U", "size": 2, "logicalType": "uuid"}, b"\0\1", "AAE="),
        (
            {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"},
            b"\1\0\0\0\2\0\0\0\xac\x0d\0\0",
            "P1M2DT3.500S",
        ),
    ],
)
def test_types_that_fastavro_leaves_as_they_are(schema: Any, payload: bytes, shown: str) -> None:
    assert json.loads(avro(schema)(payload, None)) == shown


@pytest.mark.parametrize("kind", ["bytes", "fixed"])
@pytest.mark.parametrize(
    ("attributes", "shown"),
    [
        ({"precision": 2, "scale": 1}, "214748364.7"),  # more digits than its schema allows: none is lost
        ({"precision": 4}, "2147483647"),
        # Java, whose producers register such schemas, does not read these as decimals.
        ({}, "f////w=="),
        ({"precision": 4, "scale": -2}, "f////w=="),
        ({"precision": 4, "scale": 5}, "f////w=="),
        ({"precision": 4, "scale": "2"}, "f////w=="),
        ({"precision": 0}, "f////w=="),
        ({"precision": True}, "f////w=="),
    ],
)
def test_a_decimal_is_what_was_sent_or_bytes(kind: str, attributes: dict[str, Any], shown: str) -> None:
    schema = {"type": kind, "name": "F", "size": 4, "logicalType": "decimal", **attributes}
    payload = b"\x7f\xff\xff\xff" if kind == "fixed" else long(4) + b"\x7f\xff\xff\xff"
    assert json.loads(avro(schema)(payload, None)) == shown


def test_a_fixed_too_small_for_its_precision_is_bytes() -> None:
    schema = {"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 40}
    assert avro(schema)(b"\0\5", None) == b'"AAU="'


def test_a_value_that_its_schema_cannot_mean_leaves_the_others_as_they_are() -> None:
    """If a value is not valid for its logical type, kac shows the underlying value, and decodes the other fields. The
    values are a date in the year 5,881,580, times before and after a day, and a text that is no UUID.
    """
    kinds = [("int", "date"), ("int", "time-millis"), ("int", "time-millis"), ("string", "uuid")]
    fields = [{"name": f"f{n}", "type": {"type": t, "logicalType": of}} for n, (t, of) in enumerate(kinds)]
    payload = written(
        {"type": "record", "name": "R", "fields": [{**each, "type": each["type"]["type"]} for each in fields]},
        {"f0": 2**31 - 1, "f1": -1, "f2": 86_400_000, "f3": "none"},
    )
    good = [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": DECIMAL},
    ]
    decode = avro({"type": "record", "name": "R", "fields": [*fields, *good]})
    assert json.loads(decode(payload + long(1_000) + long(1) + b"\5", None)) == {
        "f0": 2**31 - 1,
        "f1": -1,
        "f2": 86_400_000,
        "f3": "none",
        "at": "1970-01-01T00:00:01Z",
        "price": "0.05",
    }


def test_names_that_java_takes() -> None:
    """kac accepts the names in schemas that Java accepts: letters of any language, a name without its namespace, and a
    type that is nested one level too deep.
    """
    symbols = {"type": "enum", "name": "E", "symbols": ["GRÜN", "A-B", "1"]}
    assert avro(symbols)(long(0), None) == '"GRÜN"'.encode()
    assert avro({"type": "record", "name": "R", "fields": [{"name": "e", "type": symbols}]})(long(2), None) == (
        b'{"e":"1"}'
    )
    money = {"type": "record", "name": "Money", "fields": [{"name": "cents", "type": "int"}]}
    bill = {"type": "record", "name": "shop.Bill", "fields": [{"name": "sum", "type": ["null", "Money"]}]}
    assert avro(bill, money)(long(1) + long(5), None) == b'{"sum":{"cents":5}}'
    own = {"type": "record", "name": "shop.Money", "fields": [{"name": "units", "type": "int"}]}
    assert avro(bill, money, own)(long(1) + long(5), None) == b'{"sum":{"units":5}}'
    assert avro({"type": {"type": ["null", "long"]}})(long(1) + long(5), None) == b"5"


SIMPLE = st.sampled_from(["null", "boolean", "int", "long", "float", "double", "bytes", "string"])
SCHEMAS = st.recursive(
    SIMPLE,
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda values: {"type": "map", "values": values}, inner)
        | st.builds(lambda of: ["null", of] if isinstance(of, str) and of != "null" else of, inner)
    ),
    max_leaves=4,
)


@given(SCHEMAS, st.binary(max_size=60))
def test_any_payload_is_decoded_or_refused(schema: Any, payload: bytes) -> None:
    """kac decodes or refuses every payload. Its check also refuses those that fastavro would decode with bytes left
    over, or would never finish decoding.
    """
    try:
        made = avro(schema)(payload, None)
    except schemas.NotDecoded:
        return
    json.loads(made)


@pytest.mark.parametrize(
    ("schema", "payload", "why"),
    [
        ({"type": "array", "items": "null"}, long(2**60) + b"\0", "more than 250,000 values"),
        ({"type": "array", "items": "null"}, long(-(2**60)) + long(1) + b"\0", "more than 250,000 values"),
        ({"type": "array", "items": "long"}, long(2**60) + b"\2\2", "cut short"),
        ({"type": "map", "values": "null"}, long(2**60) + b"\2a", "cut short"),
        (
            {"type": "array", "items": {"type": "record", "name": "None", "fields": []}},
            long(2**50),
            "more than 250,000 values",
        ),
        ("string", long(2**40) + b"a", "cut short"),
        ("string", long(-1), "cut short"),
        ("bytes", b"\xff" * 20, "more than 64 bits"),
        ("long", long(1) + b"rest", "4 bytes are left"),
        (["null", "int"], long(2), "branch of a union 2, of 2"),
        (["null", "int"], long(-1), "branch of a union -1, of 2"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, long(1), "symbol of an enum 1, of 1"),
        ("string", b"\2\xff", "UnicodeDecodeError"),
        # fastavro alone ends the process here: it uses a level of C's stack for each byte.
        (
            {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]},
            b"\2" * 500_000 + b"\0",
            "nested deeper",
        ),
        ({"type": "record", "name": "R", "fields": [{"name": "x", "type": "R"}]}, b"", "nested deeper"),
        ({"type": "fixed", "name": "F", "size": -5}, b"", "cut short"),
        ({"type": "fixed", "name": "F", "size": "x"}, b"", "not what it should be"),
    ],
)
def test_a_hostile_payload_of_avro(schema: Any, payload: bytes, why: str) -> None:
    with pytest.raises(schemas.NotDecoded, match=why):
        avro(schema)(payload, None)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", "7", "null", '"nope"', '{"type":"record","name":"R","fields":7}', '{"type":"enum"}'),
        "[" * 10_000 + "]" * 10_000,
        '{"type":"array","items":' * 10_000 + '"int"' + "}" * 10_000,
        '{"type":"array","items":' * 400 + '"int"' + "}" * 400,
        json.dumps([{"type": "fixed", "name": f"F{n}", "size": 1} for n in range(20_000)]),
        '{"type":"record","name":"R","fields":[{"name":"\x1b[2J","type":"int"}]}',
    ],
)
def test_what_is_no_schema_of_avro(text: str) -> None:
    with pytest.raises(schemas.NotDecoded) as caught:
        avro_decoder(schemas.SchemaText("AVRO", text))
    assert len(str(caught.value)) < 400


# -- Protobuf ----------------------------------------------------------------------------------------------------------

PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "common/money.proto";
message Outer { message Inner { int64 n = 1; } enum State { NEW = 0; DONE = 1; } }
message Order {
  int64 id = 1; string note = 2; optional string more = 3; map<string, double> rates = 4;
  repeated Outer.Inner inner = 5; Outer.State state = 6; google.protobuf.Timestamp at = 7; bytes raw = 8;
  oneof choice { int32 a = 9; string b = 10; } Order parent = 11; repeated int32 packed = 12; Money price = 13;
  map<bool, Outer.State> flags = 14;
}
"""
MONEY = schemas.SchemaText(
    "PROTOBUF", 'syntax = "proto3"; package shop; message Money { int32 cents = 1; }', "common/money.proto"
)
IN_ORDER = long(1) + long(1)
"""The message indexes of the second message, in the newer encoding."""


@pytest.fixture(scope="module")
def descriptors() -> bytes:
    """Provide the compiled descriptors of `PROTO`."""
    return compiled(schemas.SchemaText("PROTOBUF", PROTO, references=(MONEY,)))


@pytest.fixture(scope="module")
def order(descriptors: bytes) -> Any:
    """Provide the generated class of the second message of `PROTO`, as other programs use it."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def test_each_type_of_protobuf(descriptors: bytes, order: Any) -> None:
    decode = protobuf_decoder(descriptors, MAIN)
    value = order(id=2**60, note="x\x1b", state=1, raw=b"\0\1", b="chosen", packed=[1, 2])
    value.rates["a"] = float("inf")
    value.at.FromJsonString("2026-01-02T00:00:00.5Z")
    value.inner.add(n=3)
    value.flags[True] = 7
    value.parent.id = 5
    value.price.cents = 1250
    found = json.loads(decode(IN_ORDER + value.SerializeToString(), None))
    assert found == {
        "id": 2**60,
        "note": "x\x1b",
        "rates": {"a": "Infinity"},
        "inner": [{"n": 3}],
        "state": "DONE",
        "at": "2026-01-02T00:00:00.500Z",
        "raw": "AAE=",
        "b": "chosen",
        "packed": [1, 2],
        "price": {"cents": 1250},
        "flags": {"true": 7},
        # A field without presence shows its default, as in Kafka's own tools.
        "parent": {"id": 5, "note": "", "rates": {}, "inner": [], "state": "NEW", "raw": "", "packed": [], "flags": {}},
    }
    # The indexes may be in a header, and a single zero means the first message.
    assert decode(value.SerializeToString(), IN_ORDER) == decode(IN_ORDER + value.SerializeToString(), None)
    assert decode(long(2) + long(0) + long(0) + b"\x08\x03", None) == b'{"n":3}'
    assert decode(b"\0", None) == b"{}"


def test_indexes_of_older_serializers_and_of_apicurios(descriptors: bytes) -> None:
    """kac reads the message indexes of older serializers for Python and .NET, which write varints without zigzag, and
    the message names that Apicurio's serializers write in their place.
    """
    decode = protobuf_decoder(descriptors, MAIN)
    inner, order = b"\x08\x03", b"\x08\x07"
    assert json.loads(decode(b"\1\1" + order, None))["id"] == 7
    assert json.loads(decode(order, b"\1\1"))["id"] == 7
    assert decode(b"\2\0\0" + inner, None) == b'{"n":3}'
    assert decode(b"\1\0", None) == b"{}"
    assert json.loads(decode(b"\7\x0a\5Order" + order, None))["id"] == 7
    assert json.loads(decode(order, b"Order"))["id"] == 7
    # Decode the indexes as Confluent's own serializer for Python writes them.
    pytest.importorskip("confluent_kafka.schema_registry.protobuf")
    from confluent_kafka.schema_registry.protobuf import ProtobufSerializer

    for zigzag in (True, False):
        for indexes, message, shown in (([1], order, '"id":7'), ([0, 0], inner, '"n":3')):
            out = io.BytesIO()
            ProtobufSerializer._encode_varints(out, indexes, zigzag=zigzag)
            assert shown in decode(out.getvalue() + message, None).decode()
    # These indexes are valid in both forms; kac reads them in the newer form.
    assert json.loads(decode(b"\2\2" + order, None))["id"] == 7
    with pytest.raises(schemas.NotDecoded, match="of that name"):
        decode(order, b"Gone")
    with pytest.raises(schemas.NotDecoded, match=r"cut short|no message|indexes"):
        decode(b"\7\x0a\5Other" + order, None)


def test_names_of_messages_within_messages(descriptors: bytes) -> None:
    decode, inner = protobuf_decoder(descriptors, MAIN), b"\x08\x03"
    for name in (b"Inner", b"Outer.Inner", b"shop.Outer.Inner"):
        assert decode(inner, name) == b'{"n":3}'
        assert decode(bytes((len(name) + 2, 0x0A, len(name))) + name + inner, None) == b'{"n":3}'
    twice = compiled(
        schemas.SchemaText("PROTOBUF", "message A { message C {} } message B { message C {} message D {} }")
    )
    for name, why in ((b"C", "2 messages of that name"), (b"A.D", "no message of that name")):
        with pytest.raises(schemas.NotDecoded, match=why):
            protobuf_decoder(twice, MAIN)(b"", name)
    assert protobuf_decoder(twice, MAIN)(b"", b"B.C") == b"{}"


def test_descriptors_in_base64_are_a_schema_too(descriptors: bytes, order: Any) -> None:
    """kac decodes payloads whose schema is a file descriptor in base64, as Confluent's serializer for Python registers
    it.
    """
    from google.protobuf import descriptor_pb2

    files = {file.name: file for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors).file}
    text = {name: b64encode(file.SerializeToString()).decode() for name, file in files.items()}
    money = schemas.SchemaText("PROTOBUF", text[MONEY.name], MONEY.name)
    decode = decoder_of(schemas.SchemaText("PROTOBUF", text[MAIN], references=(money,)))
    value = order(id=7)
    value.price.cents = 5
    found = json.loads(decode(IN_ORDER + value.SerializeToString(), None))
    assert (found["id"], found["price"]) == (7, {"cents": 5})
    with pytest.raises(schemas.NotDecoded, match="is a text"):
        decoder_of(schemas.SchemaText("PROTOBUF", text[MAIN], references=(MONEY,)))
    with pytest.raises(schemas.NotDecoded, match=r"common/money\.proto"):
        decoder_of(schemas.SchemaText("PROTOBUF", text[MAIN]))


KNOWN = """
syntax = "proto3";
import "google/protobuf/any.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";
import "google/type/datetime.proto";
import "google/type/money.proto";
import "confluent/meta.proto";
import "confluent/type/decimal.proto";
message Bill {
  google.protobuf.Struct details = 1;
  google.protobuf.Value whole = 2;
  google.protobuf.Int64Value count = 3;
  repeated google.protobuf.Any parts = 4;
  google.type.Money sum = 5;
  google.type.DateTime at = 6;
  confluent.type.Decimal exact = 7;
  string card = 8 [(confluent.field_meta).tags = "PII"];
  google.protobuf.ListValue list = 9;
}
"""


@pytest.fixture(scope="module")
def bills() -> tuple[schemas.SchemaText, Any]:
    """Provide a Protobuf schema that imports Google's types, for which serializers register no reference, and the
    generated class of its message.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    schema = schemas.SchemaText("PROTOBUF", KNOWN)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(compiled(schema)).file:
        pool.Add(file)
    return schema, message_factory.GetMessageClass(pool.FindMessageTypeByName("Bill"))


def a_bill(bill: Any) -> Any:
    inner = bill(card="4111")
    inner.parts.add().Pack(bill(card="4222"))
    value = bill(count={"value": 2**60}, sum={"currency_code": "EUR", "units": 5}, exact={"value": b"\1", "scale": 2})
    value.details.update({"card": "4000", "n": [1, 2.5, None, {"deep": True}]})
    value.whole.string_value = "text"
    value.list.extend([float(2**60), False])
    value.parts.add().Pack(inner)
    value.parts.add(type_url="example.org/of.another", value=b"\0\1")
    value.parts.add().Pack(value.details)
    return value


def test_googles_types_have_the_forms_of_json(bills: tuple[schemas.SchemaText, Any]) -> None:
    """kac shows Google's well-known types in the form that Protobuf's JSON mapping gives them, so a mask uses the path
    in the shown JSON.
    """
    schema, bill = bills
    value = a_bill(bill)
    found = json.loads(decoder_of(schema)(long(0) + value.SerializeToString(), None))
    assert found["details"] == {"card": "4000", "n": [1, 2.5, None, {"deep": True}]}
    assert (found["whole"], found["count"], found["list"]) == ("text", 2**60, [float(2**60), False])
    first, other, struct = found["parts"]
    assert (first["@type"], first["card"]) == ("type.googleapis.com/Bill", "4111")
    assert first["parts"][0]["card"] == "4222"
    assert other == {"@type": "example.org/of.another", "value": "AAE="}
    assert struct == {"@type": "type.googleapis.com/google.protobuf.Struct", "value": found["details"]}
    assert found["sum"] == {"currency_code": "EUR", "units": 5, "nanos": 0}
    assert found["exact"] == {"value": "AQ==", "precision": 0, "scale": 2}


def test_maps_are_read_in_the_same_order(bills: tuple[schemas.SchemaText, Any]) -> None:
    schema, bill = bills
    names = [f"key-{number}" for number in range(50)]
    value = bill()
    value.details.update(dict.fromkeys(reversed(names), 1))
    found = json.loads(decoder_of(schema)(long(0) + value.SerializeToString(), None))
    assert list(found["details"]) == sorted(names)


@given(st.binary(max_size=30), st.integers(0, 200), st.integers(0, 200))
def test_bytes_of_anything_are_read_or_refused(
    bills: tuple[schemas.SchemaText, Any], data: bytes, start: int, end: int
) -> None:
    """The decoder returns JSON or raises NotDecoded, whatever bytes a message contains."""
    schema, bill = bills
    whole = a_bill(bill).SerializeToString()
    with suppress(schemas.NotDecoded):
        json.loads(_decoder(schema)(long(0) + whole[:start] + data + whole[end:], None))


@cache
def _decoder(schema: schemas.SchemaText) -> Any:
    return decoder_of(schema)


def test_descriptors_import_what_is_known_too(bills: tuple[schemas.SchemaText, Any]) -> None:
    """A file descriptor in base64 may import Google's well-known types, for which serializers register no reference.
    kac refuses a dependency that is not the name of a file.
    """
    from google.protobuf import descriptor_pb2

    schema, bill = bills
    files = {each.name: each for each in descriptor_pb2.FileDescriptorSet.FromString(compiled(schema)).file}
    text = b64encode(files[MAIN].SerializeToString()).decode()
    payload = long(0) + a_bill(bill).SerializeToString()
    assert decoder_of(schemas.SchemaText("PROTOBUF", text))(payload, None) == decoder_of(schema)(payload, None)
    odd = descriptor_pb2.FileDescriptorProto(name="a", dependency=['x";import "y.proto'])
    with pytest.raises(schemas.NotDecoded, match="no file's name"):
        decoder_of(schemas.SchemaText("PROTOBUF", b64encode(odd.SerializeToString()).decode()))


@pytest.mark.parametrize(
    "text",
    [
        "message Any { int32 x = 1; }",
        "message Value { int32 x = 1; }",
        "message Struct { int32 x = 1; int32 y = 2; }",
        "message Int64Value { int32 x = 1; }",
        "message Timestamp { int32 x = 1; }",
    ],
)
def test_types_that_are_only_called_as_googles(text: str) -> None:
    decode = decoder_of(schemas.SchemaText("PROTOBUF", f'syntax = "proto3"; package google.protobuf; {text}'))
    try:
        assert json.loads(decode(b"\0\x08\1", None)) == {"x": 1}
    except schemas.NotDecoded as problem:
        assert "is called as one of Google's" in str(problem)  # noqa: PT017  # either is right


def test_a_time_of_protobuf_outside_of_the_calendar(descriptors: bytes, order: Any) -> None:
    value = order()
    value.at.seconds = 2**62
    found = json.loads(protobuf_decoder(descriptors, MAIN)(IN_ORDER + value.SerializeToString(), None))
    assert found["at"] == {"seconds": 2**62}


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"", "cut short"),
        (long(1) + long(2), "no message 2"),
        (long(2) + long(1) + long(0), r"no message 1\.0"),
        (long(1) + long(-2), "below 0"),
        (long(1_000), "1000 indexes"),
        (long(-3), "-3 indexes"),
        (b"\xff" * 9, "cut short"),
        (IN_ORDER + b"\x62\xff", "no such message"),
        (IN_ORDER + b"\x12\x01\xff", "no such message"),
        (IN_ORDER + b"\x2a\x00" * 400_000, "more than 250,000 values"),
        (IN_ORDER + b"\x62" + b"\xc0\x84\x3d" + b"\1" * 1_000_000, "more than 250,000 values"),
    ],
)
def test_a_hostile_message_of_protobuf(descriptors: bytes, payload: bytes, why: str) -> None:
    with pytest.raises(schemas.NotDecoded, match=why):
        protobuf_decoder(descriptors, MAIN)(payload, None)


def nested(levels: int) -> bytes:
    """Return the payload of an order with `levels` messages nested in each other."""
    made = b""
    for _ in range(levels):
        size, left = bytearray(), len(made)
        while left > 0x7F:
            size.append(left & 0x7F | 0x80)
            left >>= 7
        made = b"\x5a" + bytes((*size, left)) + made
    return IN_ORDER + made


@pytest.mark.parametrize("levels", [61, 99, 5_000])
def test_a_message_within_messages_without_end(descriptors: bytes, levels: int) -> None:
    decode = protobuf_decoder(descriptors, MAIN)
    assert decode(nested(50), None).count(b'"id"') == 51
    with pytest.raises(schemas.NotDecoded, match=r"nested deeper|no such message"):
        decode(nested(levels), None)


@given(st.binary(max_size=40))
def test_indexes_of_any_bytes(data: bytes) -> None:
    try:
        indexes, rest = message_indexes(data)
    except schemas.NotDecoded:
        return
    assert data.endswith(rest)
    assert all(index >= 0 for index in indexes)
    assert indexes


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('syntax = "proto3"; message M {', "not compiled"),
        ("message M {" * 10_000 + "}" * 10_000, "recursion limit"),
        ('syntax = "proto3"; import "other.proto";', "other.proto"),
        ('syntax = "proto3"; import "/etc/passwd";', "etc/passwd"),
        ("\x00\x1b[2J", "not compiled"),
    ],
)
def test_what_is_no_schema_of_protobuf(text: str, why: str) -> None:
    with pytest.raises(schemas.NotDecoded, match=why) as caught:
        decoder_of(schemas.SchemaText("PROTOBUF", text))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["../out.proto", "/tmp/out.proto", "a/../../out.proto", "", MAIN, "a\nb", "x" * 400])
def test_a_file_that_is_imported_stays_in_its_folder(name: str) -> None:
    with pytest.raises(schemas.NotDecoded, match="no file's name"):
        compiled(schemas.SchemaText("PROTOBUF", PROTO, references=(schemas.SchemaText("PROTOBUF", "", name),)))


def test_a_schema_of_another_kind_is_named() -> None:
    with pytest.raises(schemas.NotDecoded, match="its schema is XML"):
        decoder_of(schemas.SchemaText("XML", ""))


def test_a_value_by_a_schema_of_json_is_json() -> None:
    decode = decoder_of(schemas.SchemaText("JSON", "{}"))
    assert decode(b'{"a": 1.50}', None) == b'{"a": 1.50}'
    with pytest.raises(schemas.NotDecoded, match="and it is not JSON"):
        decode(b"\x00", None)


@pytest.mark.parametrize("kind", ["AVRO", "PROTOBUF"])
def test_without_the_extra_it_says_what_to_install(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fastavro", "fastavro.schema", "grpc_tools", "google.protobuf"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(schemas.NotDecoded, match=r"pip install '.*\[schemas\]'"):
        decoder_of(schemas.SchemaText(kind, '"int"'))


# -- keys of schemas ---------------------------------------------------------------------------------------------------

GUID = bytes(range(16))
UUID_TEXT = "00010203-0405-0607-0809-0a0b0c0d0e0f"
VALUE, KEY = schemas.VALUE_HEADER, schemas.KEY_HEADER
SEVEN = bytes(7) + b"\7"
GLOBAL, CONTENT = b"apicurio.value.globalId", b"apicurio.value.contentId"


def framed(rest: bytes, indexes: bytes | None = None, **key: Any) -> schemas.Framed:
    """Return a payload split as kac does it: the key of its schema (from `key`), the bytes after it, and the message
    indexes; None for no indexes.
    """
    return schemas.Framed(schemas.SchemaKey(**key), rest, *(() if indexes is None else (indexes,)))


@pytest.mark.parametrize(
    ("data", "headers", "found"),
    [
        (b"\0\0\0\0\7abc", (), framed(b"abc", id=7)),
        (b"\0\0\0\0\7", (), framed(b"", id=7)),
        (b"abc", ((VALUE, b"\1" + GUID),), framed(b"abc", b"", guid=GUID.hex())),
        (b"abc", ((VALUE, b"\1" + GUID + b"\2\0"),), framed(b"abc", b"\2\0", guid=GUID.hex())),
        (b"abc", ((VALUE, b"\0\0\0\0\7"),), framed(b"abc", b"", id=7)),
        # A program that reads and writes records may keep the former header.
        (b"abc", ((VALUE, b"\1" + bytes(16)), (VALUE, b"\1" + GUID)), framed(b"abc", b"", guid=GUID.hex())),
        (b"\0\0\0\0\7abc", ((VALUE, b"\1" + GUID), (VALUE, None)), framed(b"abc", id=7)),
        # No schema: the header of a key, a header cut short, null, the id 0, and a number.
        (b"abc", ((KEY, b"\1" + GUID),), None),
        (b"abc", ((VALUE, b"\1" + GUID[:9]),), None),
        (b"abc", ((VALUE, None),), None),
        (None, ((VALUE, b"\1" + GUID),), None),
        (b"", (), None),
        (b"\0\0\0\0\0\0\0\7", (), None),
        (bytes(8) + b"\7abc", (), framed(b"abc", id=7, of=schemas.APICURIO_ID)),
        (bytes(8) + b"\7", (), None),
        (b"\3\0" + GUID + b"abc", (), framed(b"abc", guid=UUID_TEXT, of=schemas.GLUE)),
        (b"\3\5" + GUID, (), framed(b"", guid=UUID_TEXT, of=schemas.GLUE)),
        (b"\3\1" + GUID + b"abc", (), None),
        (b"\3\0" + GUID[:15], (), None),
        (b"\xc3\x01\1\2\3\4\5\6\7\x08abc", (), framed(b"abc", guid="0807060504030201", of=schemas.FINGERPRINT)),
        (b"\xc3\x01\1\2\3\4\5\6\7", (), None),
        (b"abc", ((GLOBAL, SEVEN),), framed(b"abc", id=7, of=schemas.GLOBAL_ID)),
        (b"abc", ((CONTENT, SEVEN),), framed(b"abc", id=7, of=schemas.CONTENT_ID)),
        (b"abc", ((b"apicurio.key.contentId", SEVEN),), None),
        (b"abc", ((GLOBAL, b"\7"),), None),
        (
            b"abc",
            ((GLOBAL, SEVEN), (b"apicurio.protobuf.type", b"Payment")),
            framed(b"abc", b"Payment", id=7, of=schemas.GLOBAL_ID),
        ),
        (
            b"abc",
            ((b"apicurio.value.artifactId", b"orders-value"),),
            framed(b"abc", of=schemas.ARTIFACT, subject="orders-value"),
        ),
        (b"{}", ((GLOBAL, SEVEN), (b"apicurio.value.encoding", b"JSON")), None),
        (b"\0\xff\xff\xff\xff", (), None),
        (b"\0\0\0\7", (), None),
        (b'{"id": 1}', (), None),
    ],
)
def test_what_names_a_schema(data: bytes | None, headers: Any, found: schemas.Framed | None) -> None:
    assert schemas.framed(data, headers, schemas.VALUE_HEADER) == found


# -- JSON to payloads: kac's decoders read the same JSON from them, and other readers the same values ------------------

pytest.importorskip("grpc_tools")

WRITTEN_ORDER = {
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
TEXT = SchemaText("AVRO", json.dumps(WRITTEN_ORDER))
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
"""Values of logical types, in the numbers and bytes that other programs write for them."""
RAW = fastavro.parse_schema(json.loads(json.dumps(WRITTEN_ORDER).replace("logicalType", "ignored")))


@given(VALUES)
def test_avro_comes_back_as_the_same_bytes(value):
    """kac decodes a payload of fastavro to JSON and encodes the JSON to the same bytes."""
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


WRITTEN_PROTO = SchemaText(
    "PROTOBUF",
    """syntax = "proto3"; package shop;
    message Order { int64 id = 1; string email = 2; bytes data = 3; repeated int32 counts = 4; Inner inner = 5;
      message Inner { bool a = 1; } map<string, double> rates = 6; State state = 7; }
    enum State { NEW = 0; DONE = 1; }""",
)


@pytest.fixture(scope="module")
def proto() -> tuple[Callable[..., bytes], Callable[..., bytes]]:
    descriptors = compiled(WRITTEN_PROTO)
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

"""Tests of records with schemas of a registry: written by other programs' serializers, and read with faulty
registries.
"""

import asyncio
import io
import json
import ssl
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from msgspec.structs import replace

from console.admin.client import AdminClient
from console.admin.link import Link
from console.admin.rest import LARGEST_ANSWER
from console.admin.schema_registry import (
    AT_ONCE,
    MOST_KEPT,
    Missing,
    SchemaRegistry,
    look_up,
    registry_decoder,
)
from console.admin.settings import HttpSettings, Store, TlsSettings
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.language.grammar import parse
from console.model import record_decoding, record_masks, secret
from console.model.records import BatchFacts, Record
from console.model.schemas import Allowance, SchemaKey, kind_of
from tests.support import worlds
from tests.support.apicurio import apicurio, apicurio_folder
from tests.support.certificates import Authority
from tests.support.changing import make_topic
from tests.support.older_brokers import like
from tests.support.patience import PATIENCE
from tests.support.real_clusters import or_skip
from tests.support.record_apicurio_payloads import RECORDED
from tests.support.registry_server import Bad, RegistryServer, registry

pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "email", "type": "string"},
            {"name": "price", "type": ["null", "double"], "default": None},
        ],
    }
)
PROTO = """
syntax = "proto3";
package shop;
import "common/money.proto";
message Unused { string x = 1; }
message Payment { int64 id = 1; string email = 2; Money sum = 3; }
"""
MONEY = 'syntax = "proto3";\npackage shop;\nmessage Money { int64 cents = 1; string currency = 2; }\n'
TOPIC = "orders"

schemas = worlds.running(registry, scope="module")


@pytest.fixture(scope="module")
def cluster(schemas: RegistryServer) -> Iterator[ThreadedCluster]:
    """Provide a cluster with a topic that has a record of each format."""
    with run_in_thread(like("4.4", brokers=1)) as running:
        asyncio.run(_fill(running, schemas.url, guids=True))
        yield running


def by_serializers(url: str, *, guids: bool) -> list[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]]:
    """Return (key, value, headers) of records that Confluent's serializers write; None for no key or value. guids:
    whether the registry has GUIDs.
    """
    pytest.importorskip("confluent_kafka.schema_registry.avro")
    from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
    from confluent_kafka.schema_registry.avro import AvroSerializer
    from confluent_kafka.schema_registry.json_schema import JSONSerializer
    from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    client = SchemaRegistryClient({"url": url})
    made: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]] = []

    def add(serializer: Any, value: Any, key: Any = None) -> None:
        headers: list[tuple[str, bytes]] = []
        shown = serializer(value, SerializationContext(TOPIC, MessageField.VALUE, headers))
        key = None if key is None else serializer(key, SerializationContext(TOPIC, MessageField.KEY, []))
        made.append((key, shown, headers))

    avro = AvroSerializer(client, ORDER)
    add(avro, {"id": 1, "email": "a@example.org", "price": 2.5}, {"id": 7, "email": "k@example.org", "price": None})
    by_header = AvroSerializer(client, ORDER, conf={"schema.id.serializer": header_schema_id_serializer})
    add(by_header if guids else avro, {"id": 2, "email": "b@example.org", "price": None})
    message = payment_class()
    add(ProtobufSerializer(message, client), message(id=3, email="c@example.org", sum={"cents": 5, "currency": "EUR"}))
    shape = json.dumps({"title": "T", "type": "object", "properties": {"id": {"type": "integer"}}})
    add(JSONSerializer(shape, client), {"id": 4, "email": "d@example.org"})
    return made


def payment_class() -> Any:
    """Return the class of a Protobuf message, compiled by Google's compiler."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    from console.admin.protobuf_compiler import compiled
    from console.model.schemas import SchemaText

    money = SchemaText("PROTOBUF", MONEY, "common/money.proto")
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(
        compiled(SchemaText("PROTOBUF", PROTO, references=(money,)))
    ).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Payment"))


async def _fill(running: ThreadedCluster, url: str, *, guids: bool) -> None:
    link = Link(worlds.settings(running))
    await make_topic(link, TOPIC, partitions=1, retention_ms="-1")
    await link.close()
    written = by_serializers(url, guids=guids)
    written.append((None, b"\0\0\0\x03\xe7\x01", []))  # with a schema id that is not registered
    written.append((None, b"\0" + struct.pack(">i", 1) + b"\x02", []))  # cut short
    written.append((b"plain", b'{"id": 7, "email": "e@example.org"}', []))
    written.append((b"gone", None, []))
    producer = AIOKafkaProducer(bootstrap_servers=running.bootstrap)
    await producer.start()
    for key, value, headers in written:
        await producer.send_and_wait(TOPIC, value, key, 0, headers=headers)
    await producer.stop()


async def run(running: ThreadedCluster, text: str, output: str = "json", **changes: Any) -> str:
    """Run a script on a cluster, and return its output. changes: other fields of the context."""
    out, code = await worlds.script(running, text, output, **changes)
    assert code == 0
    return out


async def found(running: ThreadedCluster, text: str, **changes: Any) -> list[dict[str, Any]]:
    return list(json.loads(await run(running, f"records {TOPIC} {text}", **changes))["records"])


async def test_what_others_serializers_write_is_read(cluster: ThreadedCluster, schemas: RegistryServer) -> None:
    avro, by_guid, proto, shaped, unknown, short, plain, tombstone = await found(
        cluster, "first 20", schemas=schemas.settings
    )
    assert avro["value_json"] == {"id": 1, "email": "a@example.org", "price": 2.5}
    assert (avro["value_encoding"], avro["value_schema"]) == ("avro", "orders-value version 1, id 1")
    assert avro["key_json"] == {"id": 7, "email": "k@example.org", "price": None}
    assert by_guid["value_json"] == {"id": 2, "email": "b@example.org", "price": None}
    assert by_guid["value_schema"].startswith("guid ")
    assert proto["value_json"] == {"id": 3, "email": "c@example.org", "sum": {"cents": 5, "currency": "EUR"}}
    assert proto["value_encoding"] == "protobuf"
    assert (shaped["value_json"], shaped["value_encoding"]) == ({"id": 4, "email": "d@example.org"}, "json")
    assert unknown["value_error"] == "the registry answers 404: Schema not found"
    assert (unknown["value_schema"], unknown["value_base64"]) == ("id 999", "AAAAA+cB")
    assert short["value_error"] == "it is cut short"
    assert (plain["key"], plain["value"]) == ("plain", '{"id": 7, "email": "e@example.org"}')
    assert (tombstone["value"], "value_error" in tombstone) == (None, False)


async def test_hex_is_what_was_sent_and_text_says_why(cluster: ThreadedCluster, schemas: RegistryServer) -> None:
    avro, *_ = await found(cluster, "first 1 as hex", schemas=schemas.settings)
    assert avro["value_hex"].startswith("0000000001")
    text = await run(cluster, f"records {TOPIC} first 8", "text", schemas=schemas.settings)
    assert '{"id":1,"email":"a@example.org","price":2.5}' in text
    assert "(id 999) 00 00 00 03 e7 01" in text
    assert "offset 4: not decoded: value, schema id 999: the registry answers 404: Schema not found" in text
    assert "offset 5: not decoded: value, schema orders-value version 1, id 1: it is cut short" in text
    without = await found(cluster, "first 1")
    assert "value_schema" not in without[0]


async def test_filters_see_what_is_decoded(cluster: ThreadedCluster, schemas: RegistryServer) -> None:
    async def offsets(text: str, **changes: Any) -> list[int]:
        return [each["offset"] for each in await found(cluster, text, schemas=schemas.settings, **changes)]

    assert await offsets("first 20 where 'value.price > 2.0'") == [0]
    assert await offsets("first 20 where 'value.sum.currency == \"EUR\"'") == [2]
    assert await offsets("first 20 where 'value.id >= 2'") == [1, 2, 3, 6]
    assert await offsets("first 20 text b@example.org") == [1]
    mask = (record_masks.mask_path("$.email"),)
    assert await offsets("first 20 text example.org", mask=mask) == []
    assert await offsets("first 20 where 'value.id >= 2'", mask=mask) == [1, 2, 3, 6]


async def test_masked_fields_of_what_is_decoded(cluster: ThreadedCluster, schemas: RegistryServer) -> None:
    mask = (record_masks.mask_path("$.**.email"),)
    for output in ("json", "text", "csv"):
        for form in ("", " as hex", " as text"):
            for known in (schemas.settings, None):
                text = f"records {TOPIC} first 20{form}"
                out = await run(cluster, text, output, schemas=known, mask=mask)
                assert "example.org" not in out
                assert b"example.org".hex() not in out.replace(" ", "")
    hidden, *_ = await found(cluster, "first 20", mask=mask)
    assert hidden["value"].startswith("•••• ")


@pytest.mark.slow
async def test_what_others_serializers_write_by_apicurio() -> None:
    with or_skip():
        folder = apicurio_folder()
    with apicurio(folder) as url, run_in_thread(like("4.4", brokers=1)) as cluster:
        await asyncio.to_thread(asyncio.run, _fill(cluster, url, guids=False))
        parts = urlsplit(url)
        settings = HttpSettings(parts.hostname or "", parts.port or 0, parts.path)
        avro, second, proto, shaped, unknown, short, *_ = await found(cluster, "first 20", schemas=settings)
        assert avro["value_json"] == {"id": 1, "email": "a@example.org", "price": 2.5}
        assert avro["key_json"] == {"id": 7, "email": "k@example.org", "price": None}
        assert avro["value_schema"].startswith(f"{TOPIC}-")
        assert second["value_json"]["id"] == 2
        assert proto["value_json"] == {"id": 3, "email": "c@example.org", "sum": {"cents": 5, "currency": "EUR"}}
        assert shaped["value_json"] == {"id": 4, "email": "d@example.org"}
        assert "the registry answers 404: No content with id/hash" in unknown["value_error"]
        assert short["value_error"] == "it is cut short"
        out, _ = await worlds.script(cluster, f"describe schema {TOPIC}-value", "json", schemas=settings)
        (use,) = (each for each in json.loads(out)["ids_in_records"] if each["part"] == "value")
        assert (use["topic"], use["read"]) == (TOPIC, 8)
        assert use["records"] >= 4


APICURIO: dict[str, Any] = json.loads(RECORDED.read_text())
"""Payloads of Apicurio's own Java serializers, and the answers of its registry about their ids."""


@pytest.fixture(scope="module")
def apicurios() -> Iterator[RegistryServer]:
    """Provide a registry with the recorded answers of Apicurio's registry."""
    with registry() as running:
        for path, body in APICURIO["answers"].items():
            running.bad[path.partition("?")[0]] = Bad(body=body.encode())
        yield running


def as_record(payload: dict[str, Any]) -> Record:
    """Return a payload of another serializer as a record."""
    headers = tuple((name.encode(), bytes.fromhex(value)) for name, value in payload["headers"])
    data, is_key = bytes.fromhex(payload["data"]), payload["name"].startswith("key-")
    return Record(TOPIC, 0, 0, -1, data if is_key else None, None if is_key else data, headers, BatchFacts(0))


async def read_by(settings: HttpSettings, record: Record, *mask: str) -> Record:
    """Return a record as kac shows it, decoded with the registry's schemas. mask: paths of fields to hide."""
    of = SchemaRegistry(settings)
    decoder = registry_decoder(tuple(map(record_masks.mask_path, mask)), of)
    await of.look_up(decoder.missing(record))
    return await asyncio.to_thread(decoder.readable, record, Allowance())


@pytest.mark.parametrize("payload", APICURIO["payloads"], ids=lambda payload: payload["name"])
async def test_what_apicurios_own_serializers_write_is_read(apicurios: RegistryServer, payload: dict[str, Any]) -> None:
    if payload["name"].endswith("-4-bytes"):
        return  # Confluent's form through Confluent's API: tests with a real registry have it
    shown = await read_by(replace(apicurios.settings, path="/apis/ccompat/v7"), as_record(payload))
    contents, encoding = shown.value or shown.key, shown.value_encoding or shown.key_encoding
    assert contents is not None
    assert json.loads(contents) == {
        "avro": {"id": 7, "email": "a@example.org"},
        "references": {"id": 7, "sum": {"id": 5, "at": "1970-01-01T00:00:01Z"}},
    }.get(payload["name"].partition("-")[0], {"id": 7})
    if payload["name"] != "avro-json":  # already a text, as its header says
        assert encoding is not None
        assert "Apicurio" in encoding.schema
        assert not encoding.why


async def test_an_id_of_apicurios_is_never_asked_for_as_confluents(schemas: RegistryServer) -> None:
    """kac never looks up an id from Apicurio's serializers by Confluent's API, where the same id is another
    schema's.
    """
    before = len(schemas.asked)
    (payload,) = (each for each in APICURIO["payloads"] if each["name"] == "avro-global")
    shown = await read_by(schemas.settings, as_record(payload))
    assert shown.value_encoding is not None
    assert shown.value_encoding.schema == "Apicurio id 1"
    assert "its url would have /apis/ccompat/" in shown.value_encoding.why
    assert len(schemas.asked) == before


async def test_an_id_that_may_be_two_schemas_says_so(apicurios: RegistryServer) -> None:
    with registry() as running:
        running.bad = dict(apicurios.bad)
        running.bad["/apis/registry/v2/ids/contentIds/1"] = Bad(body=b'"string"')
        (payload,) = (each for each in APICURIO["payloads"] if each["name"] == "avro-global")
        shown = await read_by(replace(running.settings, path="/apis/ccompat/v7"), as_record(payload))
        assert shown.value_encoding is not None
        assert "it may be Apicurio content id 1, which is another schema" in shown.value_encoding.note


def by_hand(topic: str, value: bytes) -> Record:
    return Record(topic, 0, 0, -1, None, value, (), BatchFacts(0))


@pytest.mark.parametrize("compression", [b"\0", b"\5"])
async def test_what_glue_writes_is_named(schemas: RegistryServer, compression: bytes) -> None:
    record = by_hand(TOPIC, b"\3" + compression + bytes(range(16)) + b"rest")
    shown = await read_by(schemas.settings, record)
    assert shown.value_encoding is not None
    assert shown.value_encoding.schema == "AWS Glue version 00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert shown.value_encoding.why
    alone = record_decoding.RecordDecoder(()).readable(record, Allowance())
    assert alone.value == record.value
    assert alone.value_encoding is not None
    assert "AWS Glue version 00010203-0405-0607-0809-0a0b0c0d0e0f" in alone.value_encoding.why


@pytest.mark.parametrize(
    ("value", "is_named"),
    [
        (b"\0\0\0\0\7\2ab", False),  # eight bytes: a long of Java's serializer
        (b"\0\0\0\0\7\2abc", True),
        (b"\0\1\xfe poison", False),  # not an id: no registry has 33 million schemas
        (b'{"id": 7}', False),
        (b"text", False),
        (b"\xff\xfe", False),
    ],
)
def test_a_context_without_registry_says_what_names_a_schema(value: bytes, *, is_named: bool) -> None:
    shown = record_decoding.RecordDecoder(()).readable(by_hand(TOPIC, value), Allowance())
    assert shown.value == value
    assert (shown.value_encoding is not None) == is_named
    if shown.value_encoding is not None:
        assert shown.value_encoding.why == (
            "it names a schema, id 7 in Confluent's form, and the context has no schema registry"
        )


async def test_bytes_without_a_name_are_read_by_the_topics_newest_schema() -> None:
    with registry() as running:
        running.register("bare-value", '"string"')
        running.register("bare-value", ORDER)
        running.register("numbers-value", '"long"')
        payload = b"\x0e\x1aa@example.org\0"
        shown = await read_by(running.settings, by_hand("bare", payload))
        assert shown.value == b'{"id":7,"email":"a@example.org","price":null}'
        assert shown.value_encoding is not None
        assert shown.value_encoding.schema == "bare-value version 2, id 2"
        assert "names no schema" in shown.value_encoding.note
        more = await read_by(running.settings, by_hand("bare", payload + b"\1"))
        assert more.value_encoding is not None
        assert more.value == payload + b"\1"
        assert "names no schema, and this is the topic's newest: 1 bytes are left" in more.value_encoding.why
        # A single number fits too many payloads; masked values are not decoded by a guess; a topic without a subject
        # has no schema.
        number = await read_by(running.settings, by_hand("numbers", b"\2"))
        assert number.value_encoding is not None
        assert "says too little" in number.value_encoding.why
        masked = await read_by(running.settings, by_hand("bare", payload), "$.email")
        assert masked.value is not None
        assert b"bytes hidden" in masked.value
        assert (await read_by(running.settings, by_hand("other", payload))).value_encoding is None
        text = await read_by(running.settings, by_hand("bare", b"text"))
        assert text.value_encoding is None


@pytest.mark.parametrize(
    ("subject", "is_of_topic"),
    [
        ("orders-value", True),
        ("orders-key", True),
        ("orders-shop.Order", True),
        ("orders", True),
        ("shop.Order", True),
        (":.other:orders-value", True),
        ("payments-value", False),
        ("ordersets-value", False),
        ("Order", False),
    ],
)
async def test_a_schema_of_another_topic_says_so(subject: str, *, is_of_topic: bool) -> None:
    with registry() as running:
        number = running.register(subject, ORDER)
        value = b"\0" + struct.pack(">i", number) + b"\x0e\x1aa@example.org\0"
        shown = await read_by(running.settings, by_hand("orders", value))
        assert shown.value_encoding is not None
        assert shown.value_encoding.form == "avro"
        assert shown.value_encoding.note == (
            "" if is_of_topic else f"its schema belongs to no subject of this topic: it is registered under {subject}"
        )


async def test_unions_and_names_that_refer_to_others_and_defaults_that_do_not_fit() -> None:
    """kac decodes values of unusual schemas that Confluent's registry accepts: unions, names that refer to others, and
    defaults of another type. fastavro encodes the values.
    """
    import fastavro

    invoice = {"type": "record", "name": "shop.Invoice", "fields": [{"name": "n", "type": "int", "default": "none"}]}
    refund = {"type": "record", "name": "shop.Refund", "fields": [{"name": "why", "type": "string", "default": 7}]}
    at = [{"name": each["name"], "subject": each["name"], "version": 1} for each in (invoice, refund)]
    with registry() as running:
        for each in (invoice, refund):
            running.register(str(each["name"]), json.dumps(each))
        union = running.register("orders-value", '["shop.Invoice", "shop.Refund"]', references=at)
        lone = running.register("orders-key", '"shop.Refund"', references=at)
        out = io.BytesIO()
        fields = [{"name": "why", "type": "string"}]
        fastavro.schemaless_writer(out, {"type": "record", "name": "shop.Refund", "fields": fields}, {"why": "late"})
        for number, before in ((union, b"\2"), (lone, b"")):
            value = b"\0" + struct.pack(">i", number) + before + out.getvalue()
            assert (await read_by(running.settings, by_hand("orders", value))).value == b'{"why":"late"}'


async def test_an_alias_is_masked_as_the_name_that_it_stands_for() -> None:
    field = {"name": "cc", "type": "string", "aliases": ["card"]}
    with registry() as running:
        number = running.register("orders-value", json.dumps({"type": "record", "name": "R", "fields": [field]}))
        shown = await read_by(
            running.settings, by_hand("orders", b"\0" + struct.pack(">i", number) + b"\x084111"), "$.card"
        )
        assert shown.value == '{"cc":"••••"}'.encode()


# -- registries --------------------------------------------------------------------------------------------------------


async def asked(settings: HttpSettings, *numbers: int) -> list[Any]:
    """Look up schemas by their ids. Return, for each id, the schema or the failure that the client then has."""
    client = SchemaRegistry(settings)
    keys = [SchemaKey(number) for number in numbers]
    await client.look_up(keys)
    return [client.known(key) for key in keys]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (Bad(500, body=b'{"error_code": 50001, "message": "\\u001b[2J down"}'), "answers 500: [2J down"),
        (Bad(404), "answers 404"),
        (Bad(401, body=b"<html>"), "answers 401"),
        (Bad(body=b"<html>"), "is no schema registry"),
        (Bad(body=b'{"schema": 7}'), "is no schema registry"),
        (Bad(body=b"[" * 100_000), "is no schema registry"),
        (Bad(size=100 << 20), "more than 2 MiB"),
        (Bad(302, {"Location": "http://127.0.0.1:1/stolen"}), "answers 302: another address is not gone to"),
        (Bad(307, {"Location": "/elsewhere"}), "answers 307"),
        (Bad(body=b'{"schema": "message M {", "schemaType": "PROTOBUF"}'), "not compiled"),
        (Bad(body=b'{"schema": "\\"int\\"", "schemaType": "XML\\u001b"}'), "its schema is XML"),
        (
            Bad(body=b'{"schema": "\\"int\\"", "references": [{"name": "a", "subject": "gone", "version": 1}]}'),
            "what its schema refers to, gone: the registry answers 404",
        ),
    ],
)
async def test_a_bad_registry_is_named(bad: Bad, why: str) -> None:
    with registry() as running:
        running.bad["/schemas/ids/1"] = bad
        (missing,) = await asked(replace(running.settings, token=secret.Secret("sesame")), 1)
        assert isinstance(missing, Missing)
        assert why in missing.why
        assert missing.why.isprintable()
        assert "sesame" not in missing.why
        at = ("/schemas/ids/1", "/schemas/ids/1/versions", "/subjects/gone/versions/1")
        assert {each.path for each in running.asked} <= set(at)


@pytest.mark.parametrize(
    ("text", "told", "kind"),
    [
        (ORDER, None, "AVRO"),
        ('"int"', None, "AVRO"),
        ('["null", "int"]', None, "AVRO"),
        ('{"type": "array", "items": "int"}', None, "AVRO"),
        ('{"type": "object"}', None, "JSON"),
        ('{"$ref": "#/x"}', None, "JSON"),
        (PROTO, None, "PROTOBUF"),
        ("ChJjb21tb24=", None, "PROTOBUF"),
        ("[" * 5_000, None, "AVRO"),
        (ORDER, "PROTOBUF", "PROTOBUF"),
        (ORDER, "", "AVRO"),
    ],
)
def test_the_kind_of_a_schema_that_is_not_told(text: str, told: str | None, kind: str) -> None:
    assert kind_of(text, told) == kind


async def test_references_in_a_circle_and_without_end() -> None:
    with registry() as running:
        around = [{"name": "a", "subject": "a", "version": 1}]
        running.register("a", '"int"', references=around)
        many = [{"name": f"s{n}", "subject": f"s{n}", "version": 1} for n in range(101)]
        for each in many:
            running.register(str(each["subject"]), f'"int" {each["name"]}')
        number = running.register("many", '"int"', references=many)
        circle, endless = await asked(running.settings, 1, number)
        assert "in a circle" in circle.why
        assert "more than 100 others" in endless.why


async def test_logins_go_to_the_registry_alone() -> None:
    with registry() as elsewhere, registry() as running:
        running.bad["/schemas/ids/1"] = Bad(301, {"Location": f"{elsewhere.url}/schemas/ids/1"})
        with_name = replace(running.settings, username="kac", password=secret.Secret("open sesame"))
        await asked(with_name, 1)
        await asked(replace(running.settings, token=secret.Secret("abc.def")), 1)
        assert [each.login for each in running.asked] == ["Basic a2FjOm9wZW4gc2VzYW1l", "Bearer abc.def"]
        assert elsewhere.asked == []
        (refused,) = await asked(replace(running.settings, token=secret.Secret("a\r\nX: y")), 1)
        assert "characters that no token has" in refused.why
        assert "X:" not in refused.why


async def test_tls_with_a_certificate_of_our_own(cluster: ThreadedCluster, tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path / "ca"), Authority(tmp_path / "other")
    server, own = authority.issue("registry", "127.0.0.1"), authority.issue("kac")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.pem))
    context.load_cert_chain(str(server.pem))
    context.verify_mode = ssl.CERT_REQUIRED
    trusted = TlsSettings(trust=Store("PEM", authority.pem), key_store=Store("PEM", own.pem))
    with registry(context) as running, AdminClient(worlds.settings(cluster)) as client:
        running.register("s", '"int"')

        async def answer(tls: TlsSettings) -> Any:
            """Look up the schema on the client's event loop, on which the connections to brokers also run; return
            it.
            """
            of = SchemaRegistry(replace(running.settings, tls=tls))
            await client.run(look_up, of, [SchemaKey(1)])
            return of.known(SchemaKey(1))

        assert str(await answer(trusted)) == "s version 1, id 1"
        wrong = await answer(replace(trusted, trust=Store("PEM", stranger.pem)))
        assert "the registry is not reached: " in wrong.why
        assert "certificate" in wrong.why
        missing = await answer(replace(trusted, trust=Store("PEM", tmp_path / "gone.pem")))
        assert "no such file" in missing.why
        assert isinstance(await answer(replace(trusted, key_store=None)), Missing)
    assert [each.path for each in running.asked] == ["/schemas/ids/1", "/schemas/ids/1/versions"]


async def test_a_silent_registry_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.admin.rest.SECONDS", 0.1)
    with registry() as running:
        running.bad["/schemas/ids/1"] = Bad(silent=True)
        (missing,) = await asked(running.settings, 1)
        assert "does not answer within 0.1 s" in missing.why
    (gone,) = await asked(running.settings, 1)
    assert "is not reached" in gone.why


async def test_a_schema_is_asked_for_once_and_kept() -> None:
    with registry() as running:
        for number in range(3):
            running.register(f"s{number}", json.dumps({"type": "fixed", "name": f"F{number}", "size": 1}))
        client = SchemaRegistry(running.settings)
        keys = [SchemaKey(number) for number in (1, 2, 3, 9)]
        await asyncio.gather(*(client.look_up(keys) for _ in range(AT_ONCE + 2)))
        paths = [each.path for each in running.asked]
        assert sorted(paths) == sorted(set(paths))
        await client.look_up(keys)
        assert len(running.asked) == len(paths)


async def test_what_failed_is_asked_for_again_after_a_while_and_little_is_kept() -> None:
    with registry() as running:
        now = 0.0
        client = SchemaRegistry(running.settings, clock=lambda: now)
        await client.look_up([SchemaKey(1)])
        running.register("s", '"int"')
        await client.look_up([SchemaKey(1)])
        assert isinstance(client.known(SchemaKey(1)), Missing)
        now = 31.0
        assert client.known(SchemaKey(1)) is None
        await client.look_up([SchemaKey(1)])
        assert str(client.known(SchemaKey(1))) == "s version 1, id 1"
        assert MOST_KEPT >= 100
        assert LARGEST_ANSWER <= 4 << 20


async def test_which_schema_is_the_newest_is_asked_again_after_a_while() -> None:
    with registry() as running:
        now, key = 0.0, SchemaKey(subject="s")
        client = SchemaRegistry(running.settings, clock=lambda: now)
        for place, version in enumerate((1, 1, 3)):
            now = 20.0 * place
            running.register("s", json.dumps({"type": "fixed", "name": f"F{place}", "size": 1}) if place else '"int"')
            await client.look_up([key])
            assert str(client.known(key)).startswith(f"s version {version},")


async def test_little_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.admin.schema_registry.MOST_KEPT", 2)
    with registry() as running:
        for number in range(4):
            running.register("s", json.dumps({"type": "fixed", "name": f"F{number}", "size": 1}))
        client = SchemaRegistry(running.settings)
        for number in range(1, 8):
            await client.look_up([SchemaKey(number)])
        known = [number for number in range(1, 8) if client.known(SchemaKey(number)) is not None]
        assert known == [3, 4, 6, 7], "two schemas, and two that are missing"


async def test_no_read_waits_for_a_registry(cluster: ThreadedCluster) -> None:
    with registry() as running:
        running.bad["/schemas/ids/1"] = Bad(silent=True)
        with worlds.session_on(worlds.settings(cluster, schemas=running.settings), "console") as session:
            (statement,) = parse(f"records {TOPIC} first 1")
            async with asyncio.timeout(PATIENCE):
                read = await session.records.read(statement)  # type: ignore[arg-type]
                (record,) = (await session.records.readable(read)).records
            assert record.value_encoding is not None
            assert record.value_encoding.why == "its schema is asked for"
            assert running.asked == []

"""Which topics use a schema, by the ids in their newest records: read for `describe schema`, `whose topic`, Enter and a
deletion, never in a context without records."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.client import AdminClient
from console.admin.settings import HttpSettings
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import Fail, Fault
from console.embedded.spec import ClusterSpec
from console.lint.schemas import RULES
from console.model.parts import Part
from console.model.schema_use import MOST_TOPICS, candidates
from console.model.snapshot import Snapshot
from console.model.subjects import SchemaVersion, Subject
from console.plan.risks import risks
from console.session.lint_reading import seen_by
from console.session.schema_reads import read_schema_samples
from console.session.session import Session
from tests.support import worlds
from tests.support.record_apicurio_payloads import RECORDED
from tests.support.registry_server import Bad, RegistryServer, registry
from tests.support.staging import staged

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
NEWER = (
    '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"},'
    '{"name":"note","type":"string","default":""}]}'
)
Written = list[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]]


def by_id(number: int) -> bytes:
    """A value in Confluent's framing."""
    return b"\0" + struct.pack(">i", number) + b"\x02"


def produce(running: ThreadedCluster, topic: str, records: Written) -> None:
    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=running.bootstrap) as producer:
            for key, value, headers in records:
                await producer.send_and_wait(topic, value, key, 0, headers=headers)

    asyncio.run(send())


@pytest.fixture(scope="module")
def schemas() -> Iterator[RegistryServer]:
    """Subjects: of a topic's name, of a record's name, and one whose topic holds others' records."""
    with registry() as running:
        assert [running.register("orders-value", text) for text in (ORDER, NEWER)] == [1, 2]
        assert running.register("shop.Order", ORDER) == 1
        assert running.register("carts-value", '"int"') == 3
        yield running


@pytest.fixture(scope="module")
def cluster(schemas: RegistryServer) -> Iterator[ThreadedCluster]:
    from console.embedded.brokers import run_in_thread

    with run_in_thread(ClusterSpec(brokers=1)) as running:
        for name in ("orders", "carts", "archive", "empty"):
            running.call(worlds.topic(name, 1, brokers=(1,)))
        produce(
            running, "orders", [(b"k", by_id(1), []), (b"k", by_id(2), []), (b"k", by_id(2), []), (b"k", b"{}", [])]
        )
        produce(running, "carts", [(None, b"\0\0\0\0\x63\x02", []), (b"gone", None, [])])
        produce(running, "archive", [(by_id(1), None, [])])
        yield running


async def told(cluster: ThreadedCluster, schemas: RegistryServer, text: str, **changes: Any) -> str:
    out, code = await worlds.script(cluster, text, schemas=schemas.settings, **changes)
    assert code == 0
    return out


async def test_a_subjects_topics_are_told_by_name_and_by_ids(cluster: ThreadedCluster, schemas: RegistryServer) -> None:
    out = await told(cluster, schemas, "describe schema orders-value")
    assert (
        "topic orders, value (by name: TopicNameStrategy; "
        "by the ids of 3 of the 4 newest records, value, version 1, 2)" in out
    )
    # Its ids are others' too: the same schema has one id in all subjects.
    out, _ = await worlds.script(cluster, "describe schema orders-value", "json", schemas=schemas.settings)
    assert json.loads(out)["ids_in_records"] == [
        {"topic": "orders", "part": "value", "records": 3, "read": 4, "versions": [1, 2]}
    ]


async def test_a_topic_whose_records_are_others_is_told(cluster: ThreadedCluster, schemas: RegistryServer) -> None:
    out = await told(cluster, schemas, "describe schema carts-value")
    assert "topic carts, value (by name: TopicNameStrategy; none of the 2 newest records has its ids)" in out


async def test_a_records_own_name_is_looked_for_in_topics_without_a_subject(
    cluster: ThreadedCluster, schemas: RegistryServer
) -> None:
    out = await told(cluster, schemas, "describe schema shop.Order")
    assert "topic archive (by the ids of 1 of the 1 newest records, key, version 1)" in out


async def test_whose_topic_names_its_schemas(cluster: ThreadedCluster, schemas: RegistryServer) -> None:
    out, _ = await worlds.script(cluster, "whose topic orders", "json", schemas=schemas.settings)
    uses = {(each["what"], each["who"]): (each["sure"], each["why"]) for each in json.loads(out)["uses"]}
    why = "its ids are in 3 of the 4 newest records, as value, version 1,2"
    assert uses["describes", "schema orders-value"] == ("sure", why)
    assert uses["describes", "schema shop.Order"][0] == "sure"
    out, _ = await worlds.script(cluster, "whose topic carts", "json", schemas=schemas.settings)
    uses = {(each["what"], each["who"]): (each["sure"], each["why"]) for each in json.loads(out)["uses"]}
    assert uses["describes", "schema carts-value"] == ("likely", "by name: TopicNameStrategy, value")


async def test_no_records_are_read_where_none_may_be(cluster: ThreadedCluster, schemas: RegistryServer) -> None:
    cluster.call(lambda one: one.faults.add(Fault(Fail(29), api="fetch")))
    try:
        out = await told(cluster, schemas, "describe schema orders-value", records="never")
        assert "topic orders, value (by name: TopicNameStrategy)" in out
        # A principal without rights to the records gets the name alone, too.
        assert "(by name: TopicNameStrategy)" in await told(cluster, schemas, "describe schema orders-value")
    finally:
        cluster.call(lambda one: one.faults.clear())
    with AdminClient(worlds.settings(cluster, schemas=schemas.settings)) as client:
        never = Context("test", "tests", client.settings, records="never")
        session = Session(client, never, "test")
        await session.read_topics()
        await session.keep(read_schema_samples(client, never, session.snapshot, ["orders"]))
        assert session.snapshot.schema_samples == {}


async def test_a_deletion_of_what_records_use_says_so(cluster: ThreadedCluster, schemas: RegistryServer) -> None:
    with AdminClient(worlds.settings(cluster, schemas=schemas.settings)) as client:
        session = Session(client, Context("test", "tests", client.settings), "test")
        await staged(session, "delete schema shop.Order")
        (risk,) = risks(session.plan.staged, session.snapshot)
        assert risk.name == "in-use"
        assert "topic archive uses it, and newest records of archive have its ids" in risk.text


async def test_lint_names_topics_with_records_without_a_schema(
    cluster: ThreadedCluster, schemas: RegistryServer
) -> None:
    with AdminClient(worlds.settings(cluster, schemas=schemas.settings)) as client:
        session = Session(client, Context("test", "tests", client.settings), "test")
        await session.read_topics()
        await session.read_whole(Part.SCHEMAS)
        rule = next(each for each in RULES if each.name == "records-without-schema")

        def found() -> list[str]:
            seen = seen_by(session.snapshot, session.clock.now(), session.context)
            return [f"{each.subject.name}: {each.what}" for each in rule.find(seen)]  # type: ignore[union-attr]

        assert found() == []
        names = ["orders", "carts", "empty"]
        await session.keep(read_schema_samples(client, session.context, session.snapshot, names))
        assert found() == ["orders: 1 of its 4 newest records have a value without a schema"]


async def test_apicurios_own_ids_are_looked_up(cluster: ThreadedCluster) -> None:
    recorded = json.loads(RECORDED.read_text())
    (payload,) = (each for each in recorded["payloads"] if each["name"] == "avro-global")
    headers = [(name, bytes.fromhex(value)) for name, value in payload["headers"]]
    cluster.call(worlds.topic("by-apicurio", 1, brokers=(1,)))
    await asyncio.to_thread(produce, cluster, "by-apicurio", [(None, bytes.fromhex(payload["data"]), headers)])
    with registry() as running:
        for path, body in recorded["answers"].items():
            running.bad[path.partition("?")[0]] = Bad(body=body.encode())
        settings = worlds.settings(cluster, schemas=HttpSettings("127.0.0.1", running.port, "/apis/ccompat/v7"))
        with AdminClient(settings) as client:
            session = Session(client, Context("test", "tests", settings), "test")
            await session.read_topics()
            await session.keep(read_schema_samples(client, session.context, session.snapshot, ["by-apicurio"]))
    sample = session.snapshot.schema_samples["by-apicurio"]
    ((key, names),) = sample.subjects.items()
    assert key.of.startswith("Apicurio")
    assert len(names) > 0


def test_only_so_many_topics_are_read_for_a_subject() -> None:
    from console.model.cluster import Topic

    topics = {f"t{n:03}": Topic(f"t{n:03}", ()) for n in range(100)}
    subject = Subject("shop.Order", (SchemaVersion(1, 1, "AVRO", "shop.Order"),))
    taken = Subject("t000-value", (SchemaVersion(1, 2, "AVRO"),))
    snapshot = Snapshot(topics=topics, schemas={each.name: each for each in (subject, taken)})
    found = candidates(snapshot, "shop.Order")
    assert len(found) == MOST_TOPICS
    assert "t000" not in found
    assert candidates(snapshot, "t000-value") == ["t000"]
    assert candidates(snapshot, "unknown") == []

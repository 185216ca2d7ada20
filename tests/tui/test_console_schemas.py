"""Tests of records with schemas in the console: it shows them as hex at first, and decoded after the registry has
answered.
"""

import asyncio
import json

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.link import Link
from console.embedded.brokers import ThreadedCluster
from console.model.record_masks import mask_path
from tests.support import worlds
from tests.support.changing import make_topic
from tests.support.older_brokers import like
from tests.support.registry_server import Bad, RegistryServer, registry
from tests.tui.console_app import driven_on

pytest.importorskip("fastavro")

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "long"}, {"name": "email", "type": "string"}],
    }
)


schemas = worlds.running(registry)

cluster = worlds.cluster(like("4.4", brokers=1), after=lambda running: asyncio.run(_fill(running)), scope="module")


async def _fill(running: ThreadedCluster) -> None:
    link = Link(worlds.settings(running))
    await make_topic(link, "orders", partitions=1, retention_ms="-1")
    await link.close()
    producer = AIOKafkaProducer(bootstrap_servers=running.bootstrap)
    await producer.start()
    for place in range(3):
        await producer.send_and_wait("orders", b"\0\0\0\0\1" + bytes((2 * place,)) + b"\x0aalice", b"k", 0)
    await producer.send_and_wait("orders", b"\0\0\0\0\2\2", b"k", 0)
    await producer.stop()


async def test_hex_until_the_registry_answers(cluster: ThreadedCluster, schemas: RegistryServer) -> None:
    schemas.register("orders-value", SCHEMA)
    schemas.bad["/schemas/ids/1"] = Bad(silent=True)
    async with driven_on(cluster, size=(120, 24), schemas=schemas.settings) as it:
        await it.command("records orders", shows=("(id 1) 00 00 00 00 01", "its schema is asked for"))
        await it.press("j")  # keys work before the registry answers
        del schemas.bad["/schemas/ids/1"]
        schemas.released.set()
        await it.shows("value, schema id 1: ")
        await it.press("r", shows="(id 2) 00 00 00 00 02 02")


async def test_decoded_records_and_why_one_is_not(cluster: ThreadedCluster, schemas: RegistryServer) -> None:
    schemas.register("orders-value", SCHEMA)
    async with driven_on(cluster, size=(120, 30), schemas=schemas.settings) as it:
        await it.command("records orders", shows='{"id":2,"email":"alice"}')
        assert " avro " in it.text
        await it.press("G", shows="value, schema id 2: the registry answers 404: Schema not found")
        await it.press("k", "enter", shows='"email": "alice"')
        await it.shows("schema orders-value version 1, id 1", "12 bytes, avro")
        await it.press("escape", "y")
        assert it.app.clipboard == '{"id":2,"email":"alice"}'
        await it.press("t", "t", "t", shows="00 00 00 00 01 04 0a")
        await it.command("records orders where 'value.id >= 1'", shows="2 records of 4 looked at")


async def test_masked_fields_of_decoded_records(cluster: ThreadedCluster, schemas: RegistryServer) -> None:
    schemas.register("orders-value", SCHEMA)
    async with driven_on(cluster, size=(120, 30), schemas=schemas.settings, mask=(mask_path("$.email"),)) as it:
        await it.command("records orders", shows='{"id":2,"email":"••••"}')
        assert "alice" not in it.text
        await it.press("t", "t", "t", shows="as hex")
        assert b"alice".hex(" ") not in it.text

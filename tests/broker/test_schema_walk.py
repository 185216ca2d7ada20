"""A test with real brokers, Connect workers and a schema registry. A sink connector fails because the schema of its
topic changed. The console names this cause, and its steps lead to a healthy cluster again. A second sink that reads
the same records is healthy throughout.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from console.admin.settings import ConnectSettings, HttpSettings
from console.model.parts import Part
from tests.support import kafka_cluster, kafka_jars, patience, real_clusters
from tests.support.apicurio import API, VERSION, apicurio, apicurio_folder
from tests.support.connect_cluster import ConnectCluster, ask, until
from tests.tui.console_app import driven_on

pytestmark = [pytest.mark.broker, pytest.mark.slow, pytest.mark.long, pytest.mark.takes(60)]

CONVERTER = f"io.apicurio:apicurio-registry-utils-converter:{VERSION}"
FIRST = {"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "id", "type": "long"}]}
WITH_EMAIL = FIRST | {"fields": [{"name": "id", "type": "long"}, {"name": "email", "type": "string"}]}


class Stage(NamedTuple):
    """Brokers, a schema registry (its URL), and a Connect worker that decodes records with it."""

    brokers: kafka_cluster.KafkaCluster
    registry: str
    connect: ConnectCluster

    def settings(self) -> dict[str, Any]:
        """Return the keyword arguments of connection settings for the registry and the Connect cluster."""
        registry, worker = urlsplit(self.registry), urlsplit(self.connect.urls[0])
        return {
            "schemas": HttpSettings(registry.hostname or "", registry.port or 0, registry.path),
            "connect": (ConnectSettings("main", (HttpSettings(worker.hostname or "", worker.port or 0),)),),
        }

    def register(self, topic: str, schema: dict[str, Any]) -> int:
        """Register a new version of the schema of a topic's values; return the schema's id."""
        body = json.dumps({"schema": json.dumps(schema)}).encode()
        headers = {"Content-Type": "application/json"}
        url = f"{self.registry}/subjects/{topic}-value/versions"
        with urlopen(Request(url, body, headers), timeout=patience.PATIENCE) as answer:
            return int(json.loads(answer.read())["id"])

    def versions(self, topic: str) -> list[int]:
        """Return the version numbers of the schema of a topic's values, without deleted versions."""
        with urlopen(f"{self.registry}/subjects/{topic}-value/versions", timeout=patience.PATIENCE) as answer:
            return list(json.loads(answer.read()))

    def write(self, topic: str, id_: int, number: int, email: str | None = None) -> None:
        """Write an order to a topic, in the framing of Confluent's serializers with this schema id. email: None for an
        order without this field.
        """
        text = b"" if email is None else bytes([len(email) << 1]) + email.encode()
        producer = Producer({"bootstrap.servers": self.brokers.bootstrap})
        producer.produce(topic, b"\0" + id_.to_bytes(4, "big") + bytes([number << 1]) + text)
        assert producer.flush(patience.PATIENCE) == 0

    def end(self, topic: str) -> int:
        """Return the end offset of a topic with one partition."""
        consumer = Consumer({"bootstrap.servers": self.brokers.bootstrap, "group.id": "of-the-test"})
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=patience.PATIENCE)[1])
        finally:
            consumer.close()

    def create_sink(self, name: str, topic: str, **more: str) -> Path:
        """Create a sink connector that writes a topic's records to a file; return the path of the file. Raises
        AssertionError if the worker refuses it.
        """
        file = self.connect.folder / name
        converter = {
            "": "io.apicurio.registry.utils.converter.AvroConverter",
            ".apicurio.registry.url": self.registry.removesuffix(API) + "/apis/registry/v2",
            ".apicurio.registry.headers.enabled": "false",
            ".apicurio.registry.as-confluent": "true",
            ".apicurio.registry.use-id": "contentId",
        }
        config = {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "topics": topic,
            "file": str(file),
            **{f"value.converter{key}": value for key, value in converter.items()},
            **more,
        }
        reply = ask(self.connect.urls[0], "POST", "/connectors", {"name": name, "config": config})
        assert reply.status == 201, reply
        return file

    def states(self, name: str) -> list[str]:
        """Return the states of a connector's tasks."""
        return [each["state"] for each in ask(self.connect.urls[0], "GET", f"/connectors/{name}/status").body["tasks"]]


EMAILS = {
    "transforms": "email",
    "transforms.email.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
    "transforms.email.field": "email",
}
"""Configs of a sink's transform that requires the field `email` in each record."""


@pytest.fixture(scope="module")
def staged() -> Iterator[Stage]:
    with ExitStack() as running:
        with real_clusters.or_skip():
            jars = kafka_jars.fetched(f"apicurio-converter-{VERSION}", (CONVERTER,))
            folder = apicurio_folder()
            brokers = kafka_cluster.KafkaCluster(kafka_jars.KAFKA_4_3, brokers=1)
        running.enter_context(brokers)
        connect = running.enter_context(ConnectCluster(kafka_jars.KAFKA_4_3, brokers.bootstrap, classes=jars / "*"))
        yield Stage(brokers, running.enter_context(apicurio(folder)), connect)


def has(file: Path, text: str) -> bool:
    return file.exists() and text in file.read_text()


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=str)
async def test_from_a_schema_that_fails_a_sink_to_green(staged: Stage, size: tuple[int, int]) -> None:
    topic = f"orders{size[0]}"
    emails, archive = f"{topic}-emails", f"{topic}-archive"
    good = staged.register(topic, WITH_EMAIL)
    staged.write(topic, good, 1, "a@example.org")
    of_emails = staged.create_sink(emails, topic, **EMAILS)
    of_archive = staged.create_sink(archive, topic)
    until(lambda: has(of_emails, "a@example.org") and has(of_archive, "a@example.org"), "both sinks write")
    async with driven_on(staged.brokers, size, start_pane="now", **staged.settings()) as it:
        await it.watches(Part.SCHEMAS, Part.CONNECT)
        await it.shows("no trouble")
        bad = staged.register(topic, FIRST)
        staged.write(topic, bad, 2)
        staged.write(topic, good, 3, "c@example.org")
        await it.shows("version 2 registered")
        assert f"schema {topic}-value: version 2 registered" in it.text
        assert archive not in it.text
        await it.shows("Unknown field: email")
        await it.fix()
        await it.press("7", "c", shows="checked")
        assert "delete version 2" in it.text
        assert "all (connector)" in it.line("errors.tolerance")
        await it.press("A", shows="in-use")
        await it.type(f"{topic}-value", "enter", shows="applied")
        await it.press("full_stop", shows="no trouble")
    until(lambda: has(of_emails, "c@example.org"), "the sink goes on behind the record")
    until(lambda: staged.states(emails) == ["RUNNING"], "the sink runs")
    assert staged.states(archive) == ["RUNNING"]
    assert staged.end(f"{topic}-dead-letters") == 1
    assert staged.versions(topic) == [1]
    # Once it has committed an offset after the bad record, the connector works without errors.tolerance.
    read = partial(ask, staged.connect.urls[0], "GET", f"/connectors/{emails}/offsets")
    until(lambda: read().body["offsets"][0]["offset"]["kafka_offset"] == 3, "it has committed behind the record")
    ask(staged.connect.urls[0], "PATCH", f"/connectors/{emails}/config", {"errors.tolerance": None})
    staged.write(topic, good, 4, "d@example.org")
    until(lambda: has(of_emails, "d@example.org"), "the sink writes without it")
    assert staged.states(emails) == ["RUNNING"]

"""Tests of a sink connector that fails after the schema of its topic changed: the pane Now names the cause, leads to
the schema, and offers a fix for the schema and the connector together. tests/broker/test_schema_walk.py does the
same with a real worker and a real registry.
"""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.connect.state import FAILED
from console.embedded.spec import ClusterSpec, ConnectSpec
from console.model.connect import connector_resource
from console.model.parts import Part
from console.plan import edits
from console.plan.kinds.schemas import DropSchema
from tests.support import worlds
from tests.support.connect_cluster import ask
from tests.support.paces import poll_often
from tests.support.registry_server import registry
from tests.support.running_connectors import connect_settings
from tests.tui.console_app import driven_on

SIZES = [(80, 24), (200, 60)]
cluster = worlds.cluster(
    ClusterSpec(brokers=1, connect=ConnectSpec(workers=1)), worlds.topic("orders", 1, 1, brokers=(1,))
)
FIELDS = [{"name": "id", "type": "long"}, {"name": "email", "type": "string"}]
TRACE = """org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler
\tat org.apache.kafka.connect.runtime.TransformationChain.apply(TransformationChain.java:58)
Caused by: java.lang.IllegalArgumentException: Unknown field: email
\tat org.apache.kafka.connect.transforms.ExtractField.apply(ExtractField.java:90)
"""
"""The stack trace of a failed task, from a worker of Kafka 4.3."""


def schema(*fields: object) -> str:
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})


def create(cluster: ThreadedCluster, name: str) -> None:
    config = {"connector.class": "FileStreamSink", "topics": "orders", "file": f"/tmp/{name}"}
    assert ask(cluster.connect_urls[0], "POST", "/connectors", {"name": name, "config": config}).status == 201


def fail(cluster: EmbeddedCluster) -> None:
    """Let all tasks of the sink connector `emails` fail, which requires the field that the new schema lacks."""
    assert cluster.connect is not None
    workers = cluster.connect
    sink = workers.state.connectors["emails"]
    tasks = tuple(replace(each, state=FAILED, trace=TRACE) for each in sink.tasks)
    workers.change(workers.state.with_connector(replace(sink, tasks=tasks)))


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_from_the_cause_of_a_failed_sink_to_its_schema_and_back_to_green(
    cluster: ThreadedCluster, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    poll_often(monkeypatch, 0.5, Part.CONNECT)
    create(cluster, "emails")
    create(cluster, "archive")
    with registry() as schemas:
        schemas.register("orders-value", schema(*FIELDS))
        services: dict[str, Any] = {"schemas": schemas.settings, "connect": connect_settings(cluster)}
        async with driven_on(cluster, size, start_pane="now", **services) as it:
            await it.watches(Part.SCHEMAS, Part.CONNECT)
            schemas.register("orders-value", schema(FIELDS[0]))
            cluster.call(fail)
            await it.shows("version 2 registered", "connector main/emails")
            assert "archive" not in it.text
            await it.press("enter", shows=("orders-value", "schemas", "Compatib"))
            await it.press("escape", shows="version 2 registered")
            await it.fix()
            sink = connector_resource("main", "emails")
            assert {type(each) for each in it.edits} == {DropSchema, edits.SetConfig, edits.RestartConnector}
            assert edits.SetConfig(sink, "errors.tolerance", "all") in it.edits
            await it.press("7", "A", shows="in-use")
            await it.type("orders-value", "enter", shows="applied")
            await it.press("full_stop")
            await it.until(lambda: "version 2 registered" not in it.text and "emails" not in it.text)
        assert [each.number for each in schemas.state.subjects["orders-value"] if not each.is_deleted] == [1]
    status = ask(cluster.connect_urls[0], "GET", "/connectors/emails/status").body
    assert [each["state"] for each in status["tasks"]] == ["RUNNING"]

"""`kac mcp` on real brokers: what is asked of them, and that a proposal changes nothing until a person applies it."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client

from console.admin import changes, configs
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.model.changes import CreateTopics, DeleteTopics, NewTopic
from console.model.config import topic_resource
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE

TOPIC = "proposed-by-an-agent"
ALTERING = ("ALTER", "CREATE", "DELETE", "INCREMENTAL", "UPDATE", "ELECT", "WRITE", "UNREGISTER")


async def retention(client: AdminClient) -> str | None:
    """The topic's retention, as its brokers describe it."""
    resource = topic_resource(TOPIC)
    found = await client.run(configs.describe_configs, [resource])
    entry = found.sets[resource].get("retention.ms")
    return entry.value if entry is not None else None


async def test_a_session_of_all_tools_on_real_brokers(plain_cluster: KafkaCluster) -> None:
    bootstrap = ",".join(f"{host}:{port}" for host, port in plain_cluster.addresses)
    client = AdminClient(ConnectionSettings(plain_cluster.addresses))
    client.start()
    try:
        made = CreateTopics((NewTopic(TOPIC, 3, 3),))
        assert all(each.ok for each in await client.run(changes.send, made, validate_only=False))
        mark = plain_cluster.request_log.mark()
        before = await retention(client)
        data = await _session(bootstrap)
        assert await retention(client) == before
        logged = plain_cluster.request_log.read(since=mark)
        # A voter that has just started tells the leader of itself.
        seen = [each for each in logged if each.api.startswith(ALTERING) and "raft" not in each.client_id]
        # Only one request could change something, and it was to be checked alone.
        assert {each.api for each in seen} == {"INCREMENTAL_ALTER_CONFIGS"}
        assert {each.request["validateOnly"] for each in seen} == {True}
        assert await asyncio.to_thread(cli.run, [*shlex.split(data["command"])[1:], "--yes"]) == 0
        assert await retention(client) == "172800000"
    finally:
        await client.run(changes.send, DeleteTopics((TOPIC,)), validate_only=False)
        client.close()


async def _session(bootstrap: str) -> Any:
    """Ask with each tool; returns what was proposed."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "console", "mcp", "-b", bootstrap], env=dict(os.environ)
    )
    calls: list[tuple[str, dict[str, Any]]] = [
        ("verdict", {"seconds": 1}),
        ("list", {"kind": "topics", "filter": TOPIC}),
        ("describe", {"entity": f"topic {TOPIC}"}),
        ("describe", {"entity": "broker 1", "rows": 1000}),
        ("effective_quota", {"user": "alice", "client": "app"}),
        ("events", {"seconds": 1}),
        ("history", {}),
        ("compare", {}),
        ("propose", {"statements": f"set topic {TOPIC} retention.ms=2d"}),
    ]
    async with (
        asyncio.timeout(PATIENCE),
        stdio_client(server) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        found: Any = None
        for tool, given in calls:
            result = await session.call_tool(tool, given)
            assert not result.is_error, result.structured_content
            found = result.structured_content
        refused = await session.call_tool(
            "propose", {"statements": f"set topic {TOPIC} retention.ms=1 min.insync.replicas=0"}
        )
        assert refused.is_error
        assert "min.insync.replicas" in refused.structured_content["error"]["message"]
    return found["data"]

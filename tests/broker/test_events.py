"""Events on real brokers, 4.3 and 3.9: a change by kafka-configs is seen as another's, ours has its author, and Enter
takes the other one back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from console.admin import changes
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.contexts.console_settings import ConsoleSettings
from console.model.changes import CreateTopics, NewTopic
from console.model.config import own_value, topic_resource
from console.present.events import what_text
from console.session.session import Session
from console.tui.app import Console
from tests.support.kafka_cluster import KafkaCluster
from tests.tui.console_app import Driven

CONFIGS = "kafka.admin.ConfigCommand"


@pytest.fixture(params=["plain_cluster", pytest.param("kafka39", marks=pytest.mark.long)])
def cluster(request: pytest.FixtureRequest) -> KafkaCluster:
    found: KafkaCluster = request.getfixturevalue(request.param)
    return found


@pytest.fixture
async def screen(cluster: KafkaCluster, name: str) -> AsyncIterator[Driven]:
    """The console on a cluster with a topic of this test's, at its events, when everything has been read once."""
    settings = ConnectionSettings(cluster.addresses)
    with AdminClient(settings) as client:
        outcomes = await client.run(changes.send, CreateTopics((NewTopic(name, 1, 1),)), validate_only=False)
        assert all(outcome.ok for outcome in outcomes)
        app = Console(Session(client, Context("events", "test", settings)), ConsoleSettings(refresh=1.0))
        async with app.run_test(size=(120, 40)) as pilot:
            it = Driven(app, pilot, client)
            await it.press("comma")
            await it.until(lambda: app.journal.events.record is not None and not app.journal.events.gaps())
            yield it


def _events(it: Driven, name: str) -> list[str]:
    record = it.app.journal.events.record
    return [what_text(event) for event in record.events if name in what_text(event)] if record is not None else []


@pytest.mark.takes(50)
async def test_another_clients_change_ours_and_the_way_back(screen: Driven, cluster: KafkaCluster, name: str) -> None:
    def kafka_configs(type_: str, value: str) -> None:
        cluster.run_admin_tool(CONFIGS, "--alter", "--entity-type", type_, "--entity-name", name, "--add-config", value)

    await asyncio.to_thread(kafka_configs, "topics", "retention.ms=3600000")
    await asyncio.to_thread(kafka_configs, "users", "consumer_byte_rate=1048576")
    await screen.shows(f"topic {name} retention.ms")
    await screen.shows(f"user {name} consumer_byte_rate")
    assert "not kac" in screen.line(f"user {name} consumer_byte_rate")
    assert "not kac" in screen.line(f"topic {name} retention.ms")

    await screen.command(f"set topic {name} segment.ms=7200000")
    await screen.press("7", "A")
    await screen.shows("IncrementalAlterConfigs")
    await screen.press("y")
    await screen.shows("applied")
    await screen.press("comma")
    await screen.shows(f"topic {name} segment.ms")
    assert "not kac" not in screen.line(f"topic {name} segment.ms")

    await screen.press("slash")
    await screen.type("retention.ms")
    await screen.press("enter", "g")
    await screen.shows("was –; became 3600000 (1 h)")
    await screen.press("enter")
    await screen.until(lambda: bool(screen.app.session.plan.staged))
    await screen.press("7", "A")
    await screen.shows("IncrementalAlterConfigs")
    await screen.press("y")
    await screen.shows("applied")
    await screen.app.session.read_configs([topic_resource(name)])
    entry = screen.app.session.snapshot.configs[topic_resource(name)].get("retention.ms")
    assert own_value(entry, topic_resource(name)) is None
    await screen.until(lambda: _events(screen, name).count(f"topic {name} retention.ms") == 2)

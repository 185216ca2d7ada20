"""Three brokers are upgraded one after another, 3.9 to 4.3, under an open screen and a series of changes."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from console.admin import changes, configs
from console.admin.client import AdminClient
from console.admin.cluster import describe_versions
from console.admin.errors import AdminError
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.contexts.console_settings import ConsoleSettings
from console.model.changes import AlterConfigs, ConfigOp, CreateTopics, NewTopic, Status
from console.model.codes import SET
from console.model.config import topic_resource
from console.session.session import Session
from console.tui.app import Console
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3
from tests.support.real_clusters import running
from tests.tui.console_app import Driven

TOPIC = topic_resource("upgraded")


class Series:
    """Changes of one config, one after another, and what was said of each."""

    def __init__(self, client: AdminClient) -> None:
        self._client = client
        self.outcomes: Counter[str] = Counter()
        self.ended = False

    async def run(self) -> None:
        """Until `ended`. Fails where an outcome is not what the cluster then shows."""
        value = 1_000_000
        while not self.ended:
            value += 1
            request = AlterConfigs({TOPIC: (ConfigOp("retention.ms", SET, str(value)),)})
            try:
                (outcome,) = await self._client.run(changes.send, request, validate_only=False)
            except AdminError as error:
                # Nothing was sent, or a read failed: no outcome is claimed.
                self.outcomes[error.failure.name] += 1
                continue
            self.outcomes[outcome.status.name] += 1
            if outcome.status is Status.APPLIED:
                assert await self._shown() == str(value)
            elif outcome.status is Status.FAILED:
                assert await self._shown() != str(value), outcome

    async def _shown(self) -> str | None:
        while True:
            try:
                found = (await self._client.run(configs.describe_configs, [TOPIC])).sets
            except AdminError:
                continue
            if TOPIC in found:
                return next((each.value for each in found[TOPIC].overrides(TOPIC) if each.name == "retention.ms"), None)


@pytest.mark.long
async def test_a_rolling_upgrade_under_an_open_screen_and_changes() -> None:
    for cluster in running(lambda: KafkaCluster(KAFKA_3_9, brokers=3)):
        await _upgrade(cluster)


async def _upgrade(cluster: KafkaCluster) -> None:
    settings = ConnectionSettings(cluster.addresses)
    with AdminClient(settings) as client, AdminClient(settings) as other:
        await other.run(changes.send, CreateTopics((NewTopic(TOPIC.name, 3, 3),)), validate_only=False)
        app = Console(
            Session(client, Context("rolling", "test", settings)), ConsoleSettings(start_pane="brokers", refresh=1.0)
        )
        async with app.run_test(size=(110, 30)) as pilot:
            screen = Driven(app, pilot, None)  # type: ignore[arg-type]  # only what stays within the app is used
            await screen.shows("kafka 3.9")
            series = Series(other)
            changing = asyncio.create_task(series.run())
            for broker in cluster.broker_ids:
                await asyncio.to_thread(cluster.upgrade, broker, KAFKA_4_3)
                assert not changing.done(), changing.result()
            series.ended = True
            await changing
            await screen.shows("kafka 4.3")
            assert await asyncio.to_thread(len, cluster.running) == 3
            assert {each.release for each in (await other.run(describe_versions)).values()} == {"4.3"}
        assert series.outcomes["APPLIED"] > 10, series.outcomes
        assert not series.outcomes["FAILED"], series.outcomes

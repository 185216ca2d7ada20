"""Tests of a screen's requests to a cluster of 100,000 topics, 1,000,000 quota entities and 100,000 ACLs, counted by
the cluster.

A minute has twelve ticks. The test causes them one after another, without waiting between them.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from console.admin.client import AdminClient
from console.cli.demo import context_of
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.embedded.brokers import ThreadedCluster
from console.embedded.request_pipeline import Count
from console.embedded.scenarios.large import ACLS, TOPICS
from console.embedded.spec import ClusterSpec
from console.model.quota import QuotaEntity
from console.session.session import Session
from console.tui.app import Console
from tests.support import worlds
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.slow
MINUTE = 12
"""Number of ticks in a minute, with the console's refresh interval of 5 s."""
WAIT = PATIENCE
ROWS = 40

large = worlds.cluster(ClusterSpec(scenario="large"), scope="module")
"""A fixture: the large cluster, which no other client changes."""


class Idle:
    """A console that reads only when the test causes a tick of its refresh timer."""

    def __init__(self, cluster: ThreadedCluster, app: Console, pilot: Pilot[Any]) -> None:
        self.cluster = cluster
        self.app = app
        self.pilot = pilot

    async def at_rest(self) -> None:
        """Wait until no read is in progress. Raises TimeoutError after `WAIT` seconds."""
        async with asyncio.timeout(WAIT):
            while not self.app.reading.resting:
                await self.pilot.pause(0.01)
        await self.pilot.pause()

    async def minute(self) -> dict[str, Count]:
        """Cause the ticks of a minute; return API -> the number and bytes of its requests."""
        await self.at_rest()
        self.cluster.call(lambda running: running.counters.reset())
        for _ in range(MINUTE):
            self.app.reading.tick()
            await self.at_rest()
        return self.cluster.call(
            lambda running: {api: running.counters.total(api) for api in running.counters.by_api()}
        )

    def total(self, api: str) -> Count:
        """Return the number and bytes of an API's requests since the counters were reset."""
        return self.cluster.call(lambda running: running.counters.total(api))

    async def until_read(self, part: str) -> None:
        """Wait until the snapshot has a part, and no read is in progress. Raises TimeoutError after `WAIT` seconds."""
        async with asyncio.timeout(WAIT):
            while part not in self.app.session.snapshot.read_at:
                await self.pilot.pause(0.01)
        await self.at_rest()


@asynccontextmanager
async def idle(cluster: ThreadedCluster) -> AsyncIterator[Idle]:
    """Run the console on its topics, paused so that it has no ticks of its own, and yield it."""
    cluster.call(lambda running: running.counters.reset())
    context = context_of("large", cluster.bootstrap, 1)
    with AdminClient(context.settings) as client:
        app = Console(
            Session(client, context), ConsoleSettings(start_pane="topics", refresh=0), contexts=Given([context])
        )
        async with app.run_test(size=(120, ROWS)) as pilot:
            it = Idle(cluster, app, pilot)
            await it.until_read("topics")
            yield it


@pytest.mark.long
async def test_a_minute_of_topics_reads_what_is_seen(large: ThreadedCluster) -> None:
    async with idle(large) as it:
        assert len(it.app.session.snapshot.topics) >= TOPICS
        whole = it.total("metadata").bytes_out
        assert whole > 10_000_000
        asked = await it.minute()
        # With each tick the console also looks for changes of the other topics, in turn.
        assert asked["metadata"].requests <= 2 * MINUTE
        assert asked["metadata"].bytes_out < whole / 10, "all topics were read again within a minute of fast ticks"
        assert asked["describe_configs"].requests == MINUTE
        # 33 keys with their synonyms, for the visible rows: 3 KB for each topic and tick.
        assert asked["describe_configs"].bytes_out < MINUTE * ROWS * 4_000
        # Rates need the end offsets of the visible partitions, and of others in turn.
        assert asked["list_offsets"].requests <= 3 * MINUTE
        assert asked["list_offsets"].bytes_out < MINUTE * ROWS * 4_000
        others = {api: count.requests for api, count in asked.items()}
        others |= {"metadata": 0, "describe_configs": 0, "list_offsets": 0}
        assert sum(others.values()) <= 5 * 3, others


async def test_a_minute_of_quotas_reads_the_user_under_the_cursor(large: ThreadedCluster) -> None:
    async with idle(large) as it:
        await it.pilot.press("4")
        await it.until_read("quotas")
        assert it.app.session.snapshot.quotas_sparse
        # Users without clients: a fifth of all entities, and not the million.
        assert it.total("describe_client_quotas").bytes_out < 25_000_000
        asked = await it.minute()
        # One more request if the cursor has only just come to rest.
        assert MINUTE <= asked["describe_client_quotas"].requests <= MINUTE + 1
        assert asked["describe_client_quotas"].bytes_out < MINUTE * 1_000
        assert "metadata" not in asked or asked["metadata"].requests <= 1
        assert "describe_configs" not in asked
        await it.pilot.press("j", "enter")
        await it.at_rest()
        clients = [entity for entity in it.app.session.snapshot.quotas if entity.is_combined]
        assert len(clients) == 4
        assert {entity.name_of("user") for entity in clients} == {"user-000000"}


async def test_a_minute_of_acls_does_not_read_them_all_each_time(large: ThreadedCluster) -> None:
    async with idle(large) as it:
        await it.pilot.press("5")
        await it.until_read("acls")
        assert len(it.app.session.snapshot.acls) == ACLS
        asked = await it.minute()
        assert asked.get("describe_acls", Count()).requests <= 1


async def test_a_pane_that_shows_nothing_of_the_cluster_reads_next_to_nothing(large: ThreadedCluster) -> None:
    async with idle(large) as it:
        await it.pilot.press("7")
        asked = await it.minute()
        assert sum(count.bytes_out for count in asked.values()) < 100_000, asked
        assert not asked.keys() & {"describe_configs", "describe_client_quotas", "describe_acls"}


async def test_an_edit_of_one_user_asks_for_that_user(large: ThreadedCluster) -> None:
    async with idle(large) as it:
        await it.pilot.press("4")
        await it.until_read("quotas")
        it.cluster.call(lambda running: running.counters.reset())
        it.app.bar.command("set user user-000123 client loader producer_byte_rate=7MiB/s")
        await it.pilot.press("enter")
        async with asyncio.timeout(WAIT):
            while not it.app.session.plan:
                await it.pilot.pause(0.01)
        assert it.total("describe_client_quotas").bytes_out < 20_000
        loader = QuotaEntity.of({"user": "user-000123", "client-id": "loader"})
        assert it.app.session.snapshot.quotas[loader]

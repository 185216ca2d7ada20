"""Of very many configs those that a new symptom depends on are read at once, the others in their time."""

from __future__ import annotations

import asyncio

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context, parse_bootstrap
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.model.config import topic_resource
from console.session import triage_polls
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.observations import after, begin
from tests.support import worlds
from tests.support.patience import PATIENCE

# A factor of 3, so that a broker that goes is missed in one topic alone.
cluster = worlds.cluster(ClusterSpec(brokers=3), worlds.topic("orders", 1, 3), worlds.topic("audit", 1, 1))
ORDERS, AUDIT = topic_resource("orders"), topic_resource("audit")
KEY = "max.message.bytes"


def limited(running: EmbeddedCluster) -> None:
    """Another client sets the same key of both topics."""
    for each in (ORDERS, AUDIT):
        running.state.alter_config(each, {KEY: "2000"})


async def test_what_a_new_symptom_depends_on_is_read_at_once(
    cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triage_polls, "FEW_CONFIGS", 1)
    monkeypatch.setattr(triage_polls, "MANY_SECONDS", 3_600.0)
    settings = ConnectionSettings(parse_bootstrap(cluster.bootstrap))
    with AdminClient(settings) as client:
        session = Session(client, Context("test", "tests", settings))
        async with Poller(session) as poller:
            observations = begin(await poller.poll(whole=True))
            poller.follow(observations)
            cluster.call(limited)
            # Not the broker of the topic with one replica.
            (one,) = session.snapshot.topics["audit"].partitions[0].replicas
            away = 3 if one != 3 else 2
            cluster.run(lambda running: running.broker_down(away))
            async with asyncio.timeout(PATIENCE):
                while (entry := session.snapshot.configs[ORDERS].get(KEY)) is None or entry.value != "2000":
                    await poller.rest()
                    observations = after(observations, await poller.poll())
                    poller.follow(observations)
            other = session.snapshot.configs[AUDIT].get(KEY)
            assert other is None or other.value != "2000"

"""A record of real brokers is replayed: the verdict of each poll is the one that was seen."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from console.admin.changes import send
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.model.changes import AlterConfigs, ConfigOp, CreateTopics, NewTopic
from console.model.codes import SET
from console.model.config import topic_resource
from tests.support.changing import applied
from tests.support.kafka_cluster import KafkaCluster
from tests.support.recorded_polls import compare, watched

TOPIC = "replayed"


@pytest.mark.takes(25)
async def test_replay_gives_the_live_verdicts_of_real_brokers(own_cluster: KafkaCluster, tmp_path: Path) -> None:
    """A broker is killed and started again, and a topic gets a min ISR that it can not have."""
    settings = ConnectionSettings(own_cluster.addresses)
    link = Link(settings)
    try:
        assert await applied(link, CreateTopics((NewTopic(TOPIC, 6, 3),)))
        impossible = AlterConfigs({topic_resource(TOPIC): (ConfigOp("min.insync.replicas", SET, "4"),)})
        await send(link, impossible, validate_only=False)
    finally:
        await link.close()

    def step(number: int) -> None:
        if number == 3:
            own_cluster.kill(3)
        if number == 16:
            own_cluster.bring_up()

    file = tmp_path / "real.flight"
    live = await watched(own_cluster.bootstrap, file, 24, step)
    named = {(each.claim.cause, each.claim.subject.broker) for verdict in live for each in verdict.causes}
    assert ("broker-down", 3) in named
    assert "min-isr-impossible" in {cause for cause, _ in named}
    await asyncio.to_thread(compare, live, file)  # it has a loop of its own

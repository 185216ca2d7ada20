"""What only looks makes nothing on a real cluster that has nothing yet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.admin.topics import describe_topics
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3
from tests.support.looks import look_at_everything
from tests.support.real_clusters import by_release, running


@pytest.fixture(params=by_release([KAFKA_3_9, KAFKA_4_3], KAFKA_4_3))
def fresh(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """A broker that nobody has used."""
    yield from running(lambda: KafkaCluster(request.param, brokers=1))


async def test_all_that_looks_leaves_a_fresh_cluster_as_it_is(fresh: KafkaCluster) -> None:
    with AdminClient(ConnectionSettings(fresh.addresses)) as client:
        assert (await client.run(describe_topics)).topics == {}
        await look_at_everything(fresh.bootstrap)
        assert (await client.run(describe_topics)).topics == {}

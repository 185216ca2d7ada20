"""How each key of a broker is altered, as the tables have it, is how brokers of each release alter it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from console.admin.configs import describe_configs
from console.model.config import broker_resource
from tests.support import worlds
from tests.support.kafka_cluster import KafkaCluster
from tests.support.real_clusters import by_release, running
from tests.support.record_dynamic_keys import TRIED, cluster_of, contradictions, tried

KEY = "advertised.listeners"


@pytest.fixture(params=by_release(TRIED, "4.3"))
def of_release(request: pytest.FixtureRequest) -> Iterator[tuple[str, KafkaCluster]]:
    """A release and a broker of it."""
    for cluster in running(lambda: cluster_of(request.param)):
        yield request.param, cluster


@pytest.mark.takes(25)
async def test_every_key_is_altered_as_it_is_said_to_be(of_release: tuple[str, KafkaCluster]) -> None:
    release, cluster = of_release
    found = await tried(cluster.addresses)
    assert len(found) > 200
    assert list(contradictions(found)) == []
    async with worlds.linked(worlds.settings(cluster)) as link:
        resource = broker_resource(min(cluster.broker_ids))
        entry = (await describe_configs(link, [resource])).sets[resource].get(KEY)
    assert entry is not None
    assert entry.read_only is (release not in ("2.8", "3.9")), "from 4.0 on it is refused"

"""What scenarios put in, Kafka of that release would have taken."""

from __future__ import annotations

from itertools import islice

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.config_changes import config_messages
from console.embedded.config_definitions import NOTHING, BrokerLayers, release_configs
from console.embedded.config_describe import layers_of
from console.embedded.config_rules import check_broker_values, check_group, check_topic
from console.embedded.own_resources import check_client_metrics
from console.embedded.spec import RELEASE_NAMES, ClusterSpec
from console.model.codes import BROKER, CLIENT_METRICS, TOPIC


@pytest.mark.parametrize("release", RELEASE_NAMES)
@pytest.mark.parametrize("scenario", ["quiet", "incident", "large"])
def test_all_configs_are_valid(scenario: str, release: str) -> None:
    cluster = EmbeddedCluster(ClusterSpec(scenario=scenario, versions=release))
    configs = release_configs(release)
    modern = cluster.release.number >= (4, 0)
    seen = 0
    for resource, own in islice(cluster.state.configs.items(), 1000):
        if resource.type == TOPIC:
            check_topic(configs, own, NOTHING)
        elif resource.type == BROKER:
            nothing_set = BrokerLayers(configs, NOTHING, NOTHING, NOTHING)
            check_broker_values(nothing_set, own, config_messages(release), own=bool(resource.name))
        elif resource.type == CLIENT_METRICS:
            check_client_metrics(layers_of(cluster, 1, cluster.state.view), own, modern=modern)
        else:
            check_group(layers_of(cluster, 1, cluster.state.view), own)
        seen += 1
    assert seen > 8


def test_a_broker_does_not_start_with_a_value_that_can_not_be() -> None:
    with pytest.raises(
        ValueError, match=r"^Invalid value x for configuration num\.partitions: Not a number of type INT$"
    ):
        EmbeddedCluster(ClusterSpec(static_configs={"num.partitions": "x"}))

"""What scenarios put in, Kafka of that release would have taken."""

from __future__ import annotations

from itertools import islice

import pytest

from console.embedded.cluster import EmbeddedCluster
from console.embedded.configs.broker_file import layers_of
from console.embedded.configs.broker_rules import check_broker_values
from console.embedded.configs.definitions import release_configs
from console.embedded.configs.group_rules import check_client_metrics, check_group
from console.embedded.configs.inheritance import NOTHING, BrokerLayers
from console.embedded.configs.messages import messages_of
from console.embedded.configs.topic_rules import check_topic
from console.embedded.spec import ClusterSpec
from console.embedded.versions.release import RELEASE_NAMES
from console.model.codes import BROKER, CLIENT_METRICS, TOPIC


@pytest.mark.parametrize("release", RELEASE_NAMES)
@pytest.mark.parametrize("scenario", ["quiet", "incident", "large"])
def test_all_configs_are_valid(scenario: str, release: str) -> None:
    cluster = EmbeddedCluster(ClusterSpec(scenario=scenario, versions=release))
    configs = release_configs(release)
    seen = 0
    for resource, own in islice(cluster.state.configs.items(), 1000):
        if resource.type == TOPIC:
            check_topic(configs, own, NOTHING)
        elif resource.type == BROKER:
            nothing_set = BrokerLayers(configs, NOTHING, NOTHING, NOTHING)
            check_broker_values(nothing_set, own, messages_of(release), own=bool(resource.name))
        elif resource.type == CLIENT_METRICS:
            check_client_metrics(layers_of(cluster, 1, cluster.state.view), own, modern=release == "4.3")
        else:
            check_group(layers_of(cluster, 1, cluster.state.view), own)
        seen += 1
    assert seen > 8


def test_a_broker_does_not_start_with_a_value_that_can_not_be() -> None:
    with pytest.raises(
        ValueError, match=r"^Invalid value x for configuration num\.partitions: Not a number of type INT$"
    ):
        EmbeddedCluster(ClusterSpec(static_configs={"num.partitions": "x"}))

"""A cluster as the largest are: 100,000 topics, 1,000,000 quota entities, 100,000 ACLs, and no memory for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.embedded.scenarios.filling import DAY, MIB, quota
from console.embedded.scenarios.large_rights import EACH, LargeAcls, LargeQuotas
from console.embedded.scenarios.large_topics import LargeConfigs, LargeTopics
from console.embedded.scenarios.others import somebody_else
from console.embedded.scenarios.scenario import Scenario
from console.embedded.state.coordinators import ensure_topic
from console.model.config import CLUSTER_DEFAULT

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster

TOPICS = 100_000
QUOTA_ENTITIES = 1_000_000
ACLS = 100_000


def lay(cluster: EmbeddedCluster) -> None:
    """Put the functions under the tables."""
    tables = cluster.state.tables
    topics = LargeTopics(cluster.state, TOPICS)
    tables.topics.source = topics
    tables.configs.source = LargeConfigs(topics)
    tables.quotas.source = LargeQuotas(QUOTA_ENTITIES // EACH)
    tables.acls.source = LargeAcls(ACLS)


def fill(cluster: EmbeddedCluster) -> None:
    """What is there beside them."""
    state = cluster.state
    ensure_topic(state)
    state.alter_config(CLUSTER_DEFAULT, {"log.retention.ms": str(3 * DAY)})
    quota(state, {"user": None}, producer_byte_rate=10 * MIB, consumer_byte_rate=20 * MIB)
    quota(state, {"client-id": None}, request_percentage=100.0)


SCENARIO = Scenario(fill, lay, somebody_else)

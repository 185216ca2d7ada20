"""A small healthy cluster: topics of four teams, overrides at every level, quotas, ACLs, SCRAM users, groups."""

from __future__ import annotations

import asyncio

from console.embedded.config_definitions import release_configs
from console.embedded.context import Cluster
from console.embedded.group_coordinator import ensure_topic
from console.embedded.scenarios import seed as scenarios_seed
from console.model.acl import CLUSTER_NAME
from console.model.codes import CLIENT_METRICS, GROUP
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource

TEAMS = {
    "checkout": ("orders", "orders-dlq", "payments", "refunds", "carts"),
    "logistics": ("shipments", "stock", "stock-changes", "carriers"),
    "identity": ("logins", "sessions", "audit"),
    "platform": ("metrics", "traces", "mirror-heartbeats"),
}
_PARTITIONS = (12, 3, 24, 6, 1)
_OVERRIDES = {
    "checkout.orders": {"retention.ms": str(7 * scenarios_seed.DAY), "min.insync.replicas": "2"},
    "checkout.payments": {
        "cleanup.policy": "compact,delete",
        "min.insync.replicas": "2",
        "retention.ms": str(30 * scenarios_seed.DAY),
    },
    "checkout.orders-dlq": {"retention.ms": str(14 * scenarios_seed.DAY)},
    "logistics.stock": {"cleanup.policy": "compact"},
    "identity.audit": {"retention.ms": "-1", "compression.type": "zstd"},
    "platform.traces": {"retention.ms": str(scenarios_seed.HOUR), "segment.bytes": str(64 * 2**20)},
}

FAILED_ORDERS = "checkout.orders-dlq"
"""The topic of which all records can be read, so that a search finds them."""
GROUPS = (
    ("billing", ("checkout.orders", "checkout.payments"), ("billing-1", "billing-2", "billing-3"), 12),
    ("warehouse", ("logistics.shipments", "logistics.stock"), ("warehouse-1", "warehouse-2"), 3),
    ("fraud-check", ("checkout.payments", "identity.logins"), ("fraud-check",), 40),
    ("search-index", ("logistics.stock",), ("indexer-1", "indexer-2"), 150),
    ("year-end-report", ("checkout.orders", "checkout.refunds"), (), 180_000),
)
"""The groups: name, topics, client ids of the members, and lag as a number of offsets. The last one has no members and
a large lag.
"""


def seed(cluster: Cluster) -> None:
    """Fill the state of the cluster."""
    state = cluster.state
    for team, names in TEAMS.items():
        for place, name in enumerate(names):
            full = f"{team}.{name}"
            scenarios_seed.add_topic(state, full, _PARTITIONS[place % len(_PARTITIONS)], configs=_OVERRIDES.get(full))
            seed_topic = scenarios_seed.seed_failures if full == FAILED_ORDERS else scenarios_seed.seed_records
            seed_topic(cluster, full)
    for name, topics, clients, lag in GROUPS:
        scenarios_seed.add_group(cluster, name, topics, clients, lag)
    ensure_topic(state)
    state.alter_config(CLUSTER_DEFAULT, {"log.retention.ms": str(3 * scenarios_seed.DAY), "log.cleaner.threads": "2"})
    state.alter_config(broker_resource(max(state.alive())), {"log.retention.ms": str(2 * scenarios_seed.DAY)})
    if release_configs(state.release.name).group:
        state.alter_config(ConfigResource(GROUP, "billing"), {"consumer.session.timeout.ms": "50000"})
    state.alter_config(
        ConfigResource(CLIENT_METRICS, "producers"),
        {"metrics": "org.apache.kafka.producer.", "interval.ms": "30000"},
    )
    scenarios_seed.quota(
        state, {"user": None}, producer_byte_rate=10 * scenarios_seed.MIB, consumer_byte_rate=20 * scenarios_seed.MIB
    )
    scenarios_seed.quota(state, {"user": "alice"}, consumer_byte_rate=50 * scenarios_seed.MIB, request_percentage=200.0)
    scenarios_seed.quota(state, {"user": "alice", "client-id": None}, producer_byte_rate=scenarios_seed.MIB)
    scenarios_seed.quota(state, {"user": "alice", "client-id": "checkout"}, producer_byte_rate=5 * scenarios_seed.MIB)
    scenarios_seed.quota(state, {"user": "bob", "client-id": "loader"}, producer_byte_rate=40 * scenarios_seed.MIB)
    scenarios_seed.quota(state, {"client-id": None}, controller_mutation_rate=50.0)
    scenarios_seed.quota(state, {"client-id": "mirror-maker"}, producer_byte_rate=80 * scenarios_seed.MIB)
    scenarios_seed.quota(state, {"ip": None}, connection_creation_rate=20.0)
    scenarios_seed.allow(state, "User:alice", "READ", "TOPIC", "checkout.", "PREFIXED")
    scenarios_seed.allow(state, "User:alice", "WRITE", "TOPIC", "checkout.orders")
    scenarios_seed.allow(state, "User:alice", "READ", "GROUP", "billing")
    scenarios_seed.allow(state, "User:bob", "WRITE", "TOPIC", "logistics.", "PREFIXED")
    scenarios_seed.allow(state, "User:bob", "DESCRIBE_CONFIGS", "TOPIC", "logistics.", "PREFIXED")
    scenarios_seed.allow(state, "User:mirror", "READ", "TOPIC", "*")
    scenarios_seed.allow(state, "User:mirror", "DESCRIBE", "CLUSTER", CLUSTER_NAME)
    for user in ("alice", "bob"):
        scenarios_seed.scram_user(state, user, f"{user}-in-a-demo")


IDLE = frozenset({"checkout.orders-dlq", "checkout.refunds", "checkout.carts", "identity.audit"})
"""Topics to which nothing is written, since most clusters have some of these."""
BUSY = tuple(name for team, names in TEAMS.items() for each in names if (name := f"{team}.{each}") not in IDLE)


async def live(cluster: Cluster) -> None:
    """Simulate producers, consumers, and changes by other clients, until cancelled."""
    await asyncio.gather(scenarios_seed.write_as_producers(cluster, BUSY), scenarios_seed.change_as_others(cluster))


SCENARIO = scenarios_seed.Scenario(seed, live=live)

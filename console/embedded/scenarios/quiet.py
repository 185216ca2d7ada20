"""A small healthy cluster: topics of four teams, overrides on every level, quotas, ACLs, SCRAM users, groups."""

from __future__ import annotations

import asyncio

from console.embedded.config_definitions import release_configs
from console.embedded.context import Cluster
from console.embedded.group_coordinator import ensure_topic
from console.embedded.scenarios.seed import (
    DAY,
    HOUR,
    MIB,
    Scenario,
    add_group,
    add_topic,
    allow,
    change_as_others,
    quota,
    scram_user,
    seed_records,
    write_as_producers,
)
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
    "checkout.orders": {"retention.ms": str(7 * DAY), "min.insync.replicas": "2"},
    "checkout.payments": {
        "cleanup.policy": "compact,delete",
        "min.insync.replicas": "2",
        "retention.ms": str(30 * DAY),
    },
    "checkout.orders-dlq": {"retention.ms": str(14 * DAY)},
    "logistics.stock": {"cleanup.policy": "compact"},
    "identity.audit": {"retention.ms": "-1", "compression.type": "zstd"},
    "platform.traces": {"retention.ms": str(HOUR), "segment.bytes": str(64 * 2**20)},
}

GROUPS = (
    ("billing", ("checkout.orders", "checkout.payments"), ("billing-1", "billing-2", "billing-3"), 12),
    ("warehouse", ("logistics.shipments", "logistics.stock"), ("warehouse-1", "warehouse-2"), 3),
    ("fraud-check", ("checkout.payments", "identity.logins"), ("fraud-check",), 40),
    ("search-index", ("logistics.stock",), ("indexer-1", "indexer-2"), 150),
    ("year-end-report", ("checkout.orders", "checkout.refunds"), (), 180_000),
)
"""Group, topics, client ids of its members, and its lag. The last one has no members and a large lag."""


def seed(cluster: Cluster) -> None:
    """Fill the state."""
    state = cluster.state
    for team, names in TEAMS.items():
        for place, name in enumerate(names):
            full = f"{team}.{name}"
            add_topic(state, full, _PARTITIONS[place % len(_PARTITIONS)], configs=_OVERRIDES.get(full))
            seed_records(cluster, full)
    for name, topics, clients, lag in GROUPS:
        add_group(cluster, name, topics, clients, lag)
    ensure_topic(state)
    state.alter_config(CLUSTER_DEFAULT, {"log.retention.ms": str(3 * DAY), "log.cleaner.threads": "2"})
    state.alter_config(broker_resource(max(state.alive())), {"log.retention.ms": str(2 * DAY)})
    if release_configs(state.release.name).group:
        state.alter_config(ConfigResource(GROUP, "billing"), {"consumer.session.timeout.ms": "50000"})
    state.alter_config(
        ConfigResource(CLIENT_METRICS, "producers"),
        {"metrics": "org.apache.kafka.producer.", "interval.ms": "30000"},
    )
    quota(state, {"user": None}, producer_byte_rate=10 * MIB, consumer_byte_rate=20 * MIB)
    quota(state, {"user": "alice"}, consumer_byte_rate=50 * MIB, request_percentage=200.0)
    quota(state, {"user": "alice", "client-id": None}, producer_byte_rate=MIB)
    quota(state, {"user": "alice", "client-id": "checkout"}, producer_byte_rate=5 * MIB)
    quota(state, {"user": "bob", "client-id": "loader"}, producer_byte_rate=40 * MIB)
    quota(state, {"client-id": None}, controller_mutation_rate=50.0)
    quota(state, {"client-id": "mirror-maker"}, producer_byte_rate=80 * MIB)
    quota(state, {"ip": None}, connection_creation_rate=20.0)
    allow(state, "User:alice", "READ", "TOPIC", "checkout.", "PREFIXED")
    allow(state, "User:alice", "WRITE", "TOPIC", "checkout.orders")
    allow(state, "User:alice", "READ", "GROUP", "billing")
    allow(state, "User:bob", "WRITE", "TOPIC", "logistics.", "PREFIXED")
    allow(state, "User:bob", "DESCRIBE_CONFIGS", "TOPIC", "logistics.", "PREFIXED")
    allow(state, "User:mirror", "READ", "TOPIC", "*")
    allow(state, "User:mirror", "DESCRIBE", "CLUSTER", CLUSTER_NAME)
    for user in ("alice", "bob"):
        scram_user(state, user, f"{user}-in-a-demo")


IDLE = frozenset({"checkout.orders-dlq", "checkout.refunds", "checkout.carts", "identity.audit"})
"""Topics that no client writes to, as there are some in each cluster."""
BUSY = tuple(name for team, names in TEAMS.items() for each in names if (name := f"{team}.{each}") not in IDLE)


async def live(cluster: Cluster) -> None:
    """Run producers, consumers, and other clients' changes."""
    await asyncio.gather(write_as_producers(cluster, BUSY), change_as_others(cluster))


SCENARIO = Scenario(seed, live=live)

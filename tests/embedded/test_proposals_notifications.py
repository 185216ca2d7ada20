"""KIP-21's change notifications: ordered, versioned, caught up with, dropped after 15 minutes."""

from __future__ import annotations

from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import ClusterSpec
from console.model.codes import BROKER, TOPIC
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from tests.support.manual_clock import ManualClock
from tests.support.notifications import missed, notifications

BARE = ClusterSpec(versions="3.9")
"""Later releases begin with a config of their own."""
CLIENT = QuotaEntity.of({"client-id": "c"})


def change_all(cluster: EmbeddedCluster) -> None:
    cluster.state.alter_config(ConfigResource(TOPIC, "t"), {"retention.ms": "1"})
    cluster.state.alter_quota(QuotaEntity.of({"user": "u"}), {"producer_byte_rate": 1.0})
    cluster.state.alter_quota(CLIENT, {"producer_byte_rate": 1.0})
    cluster.state.alter_config(ConfigResource(BROKER, "1"), {"log.retention.ms": "1"})
    cluster.state.alter_config(ConfigResource(TOPIC, "t"), {"retention.ms": None})


ALL = [("topic", "t"), ("client", "c"), ("broker", "1"), ("topic", "t")]


def test_every_change_has_an_entry_in_order() -> None:
    cluster = EmbeddedCluster(BARE, ManualClock())
    change_all(cluster)
    found = list(notifications(cluster.state))
    assert [(entry.entity_type, entry.entity_name) for entry in found] == ALL
    assert [entry.sequence for entry in found] == sorted({entry.sequence for entry in found})
    assert {entry.version for entry in found} == {1}
    assert list(notifications(cluster.state, found[1].sequence)) == found[2:]


def test_entries_are_dropped_after_15_minutes() -> None:
    clock = ManualClock()
    cluster = EmbeddedCluster(BARE, clock)
    cluster.state.alter_quota(CLIENT, {"producer_byte_rate": 1.0})
    clock.advance(600)
    cluster.state.alter_config(ConfigResource(TOPIC, "t"), {"retention.ms": "1"})
    clock.advance(300)
    assert len(list(notifications(cluster.state))) == 2
    clock.advance(1)
    assert [entry.entity_name for entry in notifications(cluster.state)] == ["t"]
    clock.advance(600)
    assert not list(notifications(cluster.state))


async def test_a_broker_that_was_down_catches_up() -> None:
    async with EmbeddedCluster(ClusterSpec()) as cluster:
        await cluster.broker_down(3)
        stopped = cluster.propagation.applied(3)
        change_all(cluster)
        assert [(entry.entity_type, entry.entity_name) for entry in missed(cluster.state, stopped)] == ALL
        assert CLIENT not in cluster.view_of(3).quotas
        await cluster.broker_up(3)
        assert cluster.view_of(3).quotas[CLIENT] == {"producer_byte_rate": 1.0}
        assert missed(cluster.state, cluster.propagation.applied(3)) == ()

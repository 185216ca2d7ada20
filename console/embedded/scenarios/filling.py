"""Short words for what scenarios put into a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID, uuid5

from console.embedded.sasl.credentials import ScramHash, credential_of
from console.embedded.state.cluster_state import ClusterState
from console.embedded.state.liveness import with_, without
from console.embedded.state.placement import new_topic, striped
from console.embedded.state.values import ScramKey
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.config import topic_resource
from console.model.quota import QuotaEntity

MIB = 1_048_576.0
HOUR = 3_600_000
DAY = 24 * HOUR
IDS = UUID("6b616363-6c75-5374-8572-746f70696373")


def topic_id(name: str) -> UUID:
    """The id of a scenario's topic: the same in every run."""
    return uuid5(IDS, name)


def add_topic(
    state: ClusterState, name: str, partitions: int, replication: int = 3, configs: Mapping[str, str] | None = None
) -> None:
    """A topic with its overrides; of as many replicas as there are brokers, if there are fewer."""
    alive = state.alive()
    assignments = striped(alive, partitions, min(replication, len(alive)), len(state.topics))
    state.put_topic(new_topic(name, assignments, alive, topic_id=topic_id(name)))
    if configs:
        state.alter_config(topic_resource(name), configs)


def quota(state: ClusterState, parts: Mapping[str, str | None], **values: float) -> None:
    """Limits of an entity; a None name is the default."""
    state.alter_quota(QuotaEntity.of(parts), values)


def allow(state: ClusterState, principal: str, operation: str, type_: str, name: str, pattern: str = "LITERAL") -> None:
    """An ACL that allows something from every host."""
    state.add_acl(
        Acl(
            AclResourceType.parse(type_),
            name,
            PatternType.parse(pattern),
            principal,
            "*",
            AclOperation.parse(operation),
            Permission.parse("ALLOW"),
        )
    )


def scram_user(state: ClusterState, user: str, password: str, *mechanisms: ScramHash) -> None:
    """A user with a password, for both mechanisms or for these."""
    for mechanism in mechanisms or tuple(ScramHash):
        salt = uuid5(IDS, f"{user} {mechanism.label}").bytes
        state.put_scram(ScramKey(user, mechanism), credential_of(password, mechanism, salt=salt))


def leave_isr(state: ClusterState, name: str, broker: int) -> None:
    """A replica falls behind in all partitions of a topic where it is not the last in sync."""
    topic = state.topics[name]
    alive = frozenset(state.alive())
    state.put_topic(
        replace(
            topic,
            partitions=tuple(
                without(partition, broker, alive) if len(partition.isr) > 1 else partition
                for partition in topic.partitions
            ),
        )
    )


def join_isr(state: ClusterState, name: str, broker: int) -> None:
    """A replica has caught up in all partitions of a topic."""
    topic = state.topics[name]
    state.put_topic(replace(topic, partitions=tuple(with_(partition, broker) for partition in topic.partitions)))

"""What Connect has in its Kafka cluster: its internal topics, the group of its workers, and the groups of its sinks."""

from __future__ import annotations

from collections.abc import Sequence

from console.embedded.connect import records
from console.embedded.connect.state import RUNNING, STOPPED, Connector, ConnectState, Task
from console.embedded.context import Cluster
from console.embedded.group_coordinator import CONSUMERS, ensure_topic
from console.embedded.groups import Committed, Group, GroupState
from console.embedded.partition_log import PartitionLog
from console.embedded.scenarios import seed

INTERNAL_TOPICS = {records.CONFIGS: 1, records.OFFSETS: 25, records.STATUS: 5}
"""Internal topic -> its number of partitions (config.storage.topic, offset.storage.topic, status.storage.topic)."""
_GROUP_OVERRIDE = "consumer.override.group.id"
_WORKERS = "connect"
"""The protocol type of the workers' group."""


def ensure_topics(cluster: Cluster) -> bool:
    """Create those of the internal topics that are missing, as the first worker does when it starts. Return whether the
    topic of configs was missing, so that the caller has to write the connectors into it.
    """
    is_new = records.CONFIGS not in cluster.state.topics
    for name, partitions in INTERNAL_TOPICS.items():
        if name not in cluster.state.topics and cluster.state.alive():
            seed.add_topic(cluster.state, name, partitions, configs={"cleanup.policy": "compact"})
            for partition in range(partitions):
                cluster.state.logs[name, partition] = PartitionLog()
    return is_new


def group_of(connector: Connector) -> str:
    """Return the name of a sink connector's consumer group."""
    return connector.config.get(_GROUP_OVERRIDE) or f"connect-{connector.name}"


def client_of(connector: Connector, task: Task) -> str:
    """Return the client id with which a task of a sink is a member of the sink's group."""
    return f"connector-consumer-{connector.name}-{task.number}"


def topics_of(cluster: Cluster, connector: Connector) -> tuple[str, ...]:
    """Return the topics in a sink's config that exist."""
    names = (each.strip() for each in connector.config.get("topics", "").split(","))
    return tuple(name for name in dict.fromkeys(names) if name in cluster.state.topics)


def join_workers(cluster: Cluster, group_id: str, state: ConnectState, addresses: Sequence[str]) -> None:
    """Make the running workers the members of the workers' group. addresses: the address of each worker."""
    members = [seed.stand_in(group_id, f"connect-{addresses[each - 1]}", each, (), {}) for each in state.up()]
    group = Group(group_id, protocol_type=_WORKERS, written=True, generation=len(members))
    for member in members:
        member.protocols, member.assignment = (("sessioned", b""),), b""
        group.members[member.id] = member
    if members:
        group.state, group.protocol, group.leader = GroupState.STABLE, "sessioned", members[0].id
    ensure_topic(cluster.state)
    cluster.state.groups[group_id] = group
    cluster.state.touch()


def join_tasks(cluster: Cluster, connector: Connector) -> None:
    """Make the running and paused tasks of a sink the members of its group; do nothing if other clients are members. If
    the sink runs, also commit the end offset in each partition without an offset, as if it had read all records.
    """
    group_id, topics = group_of(connector), topics_of(cluster, connector)
    tasks = [each for each in connector.tasks if each.state in (RUNNING, "PAUSED")]
    former = cluster.state.groups.get(group_id)
    if former is None and not tasks:
        return
    if former is not None and any(not each.stands_in for each in former.members.values()):
        return  # clients other than Connect's are in the group
    group = Group(group_id, protocol_type=CONSUMERS, written=True, generation=(former.generation if former else 0) + 1)
    group.offsets = dict(former.offsets) if former else {}
    shares = seed.shares_of(cluster.state, topics, len(tasks))
    for task, share in zip(tasks, shares, strict=True):
        member = seed.stand_in(group_id, client_of(connector, task), task.number, topics, share)
        group.members[member.id] = member
        group.leader = group.leader or member.id
    if tasks:
        group.state, group.protocol = GroupState.STABLE, "range"
    if connector.state == RUNNING:
        _read_all(cluster, group, topics)
    ensure_topic(cluster.state)
    cluster.state.groups[group_id] = group
    cluster.state.touch()


def _read_all(cluster: Cluster, group: Group, topics: Sequence[str]) -> None:
    """Commit the end offset of each partition of these topics in which the group has no committed offset. Do nothing if
    the group has no members.
    """
    for topic in topics if group.members else ():
        for partition in range(len(cluster.state.topics[topic].partitions)):
            log = cluster.state.logs.get((topic, partition))
            if log is not None and log.end and (topic, partition) not in group.offsets:
                group.offsets[topic, partition] = Committed(log.end, at=cluster.clock.time())


def leave_tasks(cluster: Cluster, connector: Connector) -> None:
    """Remove all members from a sink's group, but keep its committed offsets. Do nothing if another client is a
    member.
    """
    group = cluster.state.groups.get(group_of(connector))
    if group is not None and all(each.stands_in for each in group.members.values()):
        group.members.clear()
        group.state, group.protocol, group.leader = GroupState.EMPTY, None, None
        cluster.state.touch()


def used_topics(cluster: Cluster, connector: Connector, kind: str) -> tuple[str, ...]:
    """Return the topics that a connector has used, including those that a sink's running tasks read now."""
    if kind != "sink" or connector.state == STOPPED or all(each.state != RUNNING for each in connector.tasks):
        return connector.topics
    logs = cluster.state.logs
    read = (
        topic
        for topic in topics_of(cluster, connector)
        if any(
            (log := logs.get((topic, partition))) is not None and log.end
            for partition in range(len(cluster.state.topics[topic].partitions))
        )
    )
    return tuple(dict.fromkeys((*connector.topics, *read)))

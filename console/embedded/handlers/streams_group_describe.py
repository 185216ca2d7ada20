"""StreamsGroupDescribe (89), v0-1: describes groups of the streams protocol (KIP-1071, KIP-1331, KIP-1357).

Needs DESCRIBE on the group and on its topics.

Version notes:
- v1: the assignor; the topology with its nodes, for brokers with a plugin that keeps it.

Differences from Kafka: the plugin keeps what a scenario says, without global stores; topics between subtopologies have
no number of partitions; members have no endpoint, tags or offsets of tasks, and their client id is their process id.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from console.embedded.context import RequestContext
from console.embedded.newer_group_answers import described, described_group
from console.embedded.newer_groups import NewerGroup, NewerMember, Partitions, Tasks
from console.wire.fields import for_version

_NOT_REQUESTED, _NOT_STORED, _AVAILABLE = 0, 1, 3


async def handle(request: Any, context: RequestContext) -> Any:
    """Return a description or an error for each group."""
    return context.answer(groups=tuple(_group(request, context, group_id) for group_id in request.group_ids))


def _group(request: Any, context: RequestContext, group_id: str) -> Any:
    found = described(context, request, group_id, "streams")
    group = found.group
    topology = _topology(context.schema, group) if group else None
    member = partial(_member, context.schema, group.topology_epoch if group else 0)
    is_asked = group is not None and getattr(request, "include_topology_description", False)
    return described_group(
        context,
        found,
        group_id,
        member,
        topology=topology,
        topology_description=_description(context.schema, group) if is_asked and group else None,
        topology_description_status=_status(group) if is_asked and group else _NOT_REQUESTED,
        assignor_name=group.assignor if group else None,
    )


def _status(group: NewerGroup) -> int:
    return _NOT_STORED if group.nodes is None else _AVAILABLE


def _description(schema: Any, group: NewerGroup) -> Any:
    if group.nodes is None:
        return None
    parts = tuple(
        schema.TopologyDescriptionSubtopology(
            subtopology_id=part,
            nodes=tuple(
                schema.TopologyDescriptionNode(
                    name=each.name,
                    node_type=each.kind,
                    source_topics=each.sources,
                    sink_topic=each.sink,
                    stores=each.stores,
                    successors=each.successors,
                )
                for each in nodes
            ),
        )
        for part, nodes in group.nodes.items()
    )
    return schema.TopologyDescription(subtopologies=parts, global_stores=())


def _topology(schema: Any, group: NewerGroup) -> Any:
    def topics(names: Sequence[str]) -> tuple[Any, ...]:
        return tuple(
            schema.TopicInfo(name=name, partitions=0, replication_factor=0, topic_configs=()) for name in names
        )

    return schema.Topology(
        epoch=group.topology_epoch,
        subtopologies=tuple(
            schema.Subtopology(
                subtopology_id=name,
                source_topics=part.sources,
                repartition_sink_topics=part.repartition_sinks,
                state_changelog_topics=topics(part.changelogs),
                repartition_source_topics=topics(part.repartition_sources),
            )
            for name, part in group.subtopologies.items()
        ),
    )


def _member(schema: Any, topology_epoch: int, member: NewerMember) -> Any:
    def tasks(of_role: Partitions) -> tuple[Any, ...]:
        return tuple(schema.TaskIds(subtopology_id=name, partitions=numbers) for name, numbers in of_role.items())

    def assignment(of_member: Tasks) -> Any:
        return schema.Assignment(
            active_tasks=tasks(of_member.active),
            standby_tasks=tasks(of_member.standby),
            warmup_tasks=tasks(of_member.warmup),
        )

    return for_version(
        schema.Member,
        member_id=member.id,
        member_epoch=member.epoch,
        instance_id=None,
        rack_id=None,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=topology_epoch,
        process_id=member.client_id,
        user_endpoint=None,
        client_tags=(),
        task_offsets=(),
        task_end_offsets=(),
        assignment=assignment(member.tasks),
        target_assignment=assignment(member.target_tasks),
        is_classic=False,
    )

"""Groups: listing, describing and deleting them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import NO_OPERATIONS, group_operations
from console.embedded.context import RequestContext
from console.embedded.group_coordinator import coordinator_of, group_error, visible_group
from console.embedded.groups import Group, GroupState
from console.embedded.newer_group_answers import described, described_group, topic_partitions
from console.embedded.newer_groups import NewerGroup, NewerMember, Partitions, Tasks
from console.wire.schemas import for_version


async def list_groups(request: Any, context: RequestContext) -> Any:
    """ListGroups (16), v0-5: the groups that this broker coordinates.

    Return the groups that match the filters. Without DESCRIBE on the cluster, only those that may be described.

    A client asks every broker and merges the answers.

    Version notes:
    - v3: flexible.
    - v4: states, also as a filter (KIP-518).
    - v5: types, also as a filter (KIP-848).
    """
    schema, topics = context.schema, context.view.topics
    states = {state.lower() for state in getattr(request, "states_filter", ())}
    types = {type_.lower() for type_ in getattr(request, "types_filter", ())}
    everything = context.allowed("DESCRIBE")
    return context.answer(
        error_code=0,
        groups=tuple(
            for_version(
                schema.ListedGroup,
                group_id=group.id,
                protocol_type=group.protocol_type or "",
                group_state=group.shown_state,
                group_type=group.type,
            )
            for group in context.state.groups.values()
            if coordinator_of(topics, group.id) == context.broker_id
            and visible_group(context, group.id) is not None
            and (not states or group.shown_state.lower() in states)
            and (not types or group.type in types)
            and (everything or context.allowed("DESCRIBE", "GROUP", group.id))
        ),
    )


_NOT_FOUND_FROM = 6
_DEAD = "Dead"


async def describe_groups(request: Any, context: RequestContext) -> Any:
    """DescribeGroups (15), v0-6: state and members of groups of the classic protocol.

    Return a description or an error for each group.

    Needs DESCRIBE on the group. The group's coordinator answers.

    Version notes:
    - v3: authorized operations (KIP-430).
    - v4: instance ids (KIP-345).
    - v5: flexible.
    - v6: GROUP_ID_NOT_FOUND with a message; before, an unknown group is Dead, without an error (KIP-1043).
    """
    return context.answer(groups=tuple(_classic_group(request, context, group_id) for group_id in request.groups))


def _classic_group(request: Any, context: RequestContext, group_id: str) -> Any:
    code = group_error(context, group_id, "DESCRIBE", may_be_empty=True)
    group = visible_group(context, group_id)
    message, operations = None, NO_OPERATIONS
    # A group of a newer protocol has no classic description: for clients of this API it is not there.
    if not code and group is not None and group.newer is not None:
        group = None
        if context.version >= _NOT_FOUND_FROM:
            code, message = ErrorCode.group_id_not_found, f"Group {group_id} is not a classic group."
    elif not code and group is None and context.version >= _NOT_FOUND_FROM:
        code, message = ErrorCode.group_id_not_found, f"Group {group_id} not found."
    if not code and getattr(request, "include_authorized_operations", False):
        operations = context.operations(group_operations(context), "GROUP", group_id)
    shown = None if code else group
    stable = shown is not None and shown.state == GroupState.STABLE
    state = _DEAD if not code or message else ""
    return for_version(
        context.schema.DescribedGroup,
        error_code=code,
        error_message=message,
        group_id=group_id,
        group_state=str(shown.state) if shown else state,
        protocol_type=(shown.protocol_type or "") if shown else "",
        protocol_data=(shown.protocol or "") if shown and stable else "",
        members=_members(context.schema, shown, stable) if shown else (),
        authorized_operations=operations,
    )


def _members(schema: Any, group: Group, stable: bool) -> tuple[Any, ...]:
    """Return the members. Metadata and assignments are sent for a stable group only."""
    return tuple(
        for_version(
            schema.DescribedGroupMember,
            member_id=member.id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=member.metadata(group.protocol) if stable else b"",
            member_assignment=member.assignment if stable else b"",
        )
        for member in group.members.values()
    )


_CONSUMER_MEMBER = 1


async def consumer_group_describe(request: Any, context: RequestContext) -> Any:
    """ConsumerGroupDescribe (69), v0-1: describes groups of the consumer protocol (KIP-848).

    Return a description or an error for each group.

    A group of another type is GROUP_ID_NOT_FOUND, on which clients ask DescribeGroups.

    Version notes:
    - v1: the type of a member (KIP-1099).

    Differences from Kafka: members have no instance id and no rack, and subscribe to no regular expression.
    """
    return context.answer(groups=tuple(_consumer_group(request, context, group_id) for group_id in request.group_ids))


def _consumer_group(request: Any, context: RequestContext, group_id: str) -> Any:
    found = described(context, request, group_id, "consumer")
    assignor = found.group.assignor if found.group else ""
    return described_group(context, found, group_id, partial(_consumer_member, context), assignor_name=assignor)


def _consumer_member(context: RequestContext, member: NewerMember) -> Any:
    schema = context.schema

    def assignment(partitions: Partitions) -> Any:
        return schema.Assignment(
            topic_partitions=topic_partitions(context, schema.TopicPartitions, partitions),
        )

    return for_version(
        schema.Member,
        member_id=member.id,
        instance_id=None,
        rack_id=None,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.subscribed,
        subscribed_topic_regex="",
        assignment=assignment(member.assigned),
        target_assignment=assignment(member.target),
        member_type=_CONSUMER_MEMBER,
    )


async def share_group_describe(request: Any, context: RequestContext) -> Any:
    """ShareGroupDescribe (77), v1: describes share groups (KIP-932).

    Return a description or an error for each group.

    Needs DESCRIBE on the group and on its topics. v0 was for early access in 4.0, which no later broker serves.

    Differences from Kafka: members have no rack.
    """
    return context.answer(groups=tuple(_share_group(request, context, group_id) for group_id in request.group_ids))


def _share_group(request: Any, context: RequestContext, group_id: str) -> Any:
    found = described(context, request, group_id, "share")
    assignor = found.group.assignor if found.group else ""
    return described_group(context, found, group_id, partial(_share_member, context), assignor_name=assignor)


def _share_member(context: RequestContext, member: NewerMember) -> Any:
    schema = context.schema
    return for_version(
        schema.Member,
        member_id=member.id,
        rack_id=None,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.subscribed,
        assignment=schema.Assignment(
            topic_partitions=topic_partitions(context, schema.TopicPartitions, member.assigned)
        ),
    )


_NOT_REQUESTED, _NOT_STORED, _AVAILABLE = 0, 1, 3


async def streams_group_describe(request: Any, context: RequestContext) -> Any:
    """StreamsGroupDescribe (89), v0-1: describes groups of the streams protocol (KIP-1071, KIP-1331, KIP-1357).

    Return a description or an error for each group.

    Needs DESCRIBE on the group and on its topics.

    Version notes:
    - v1: the assignor; the topology with its nodes, for brokers with a plugin that keeps it.

    Differences from Kafka: the plugin keeps what a scenario says, without global stores; topics between subtopologies
    have no number of partitions; members have no endpoint, tags or offsets of tasks, and their client id is their
    process id.
    """
    return context.answer(groups=tuple(_streams_group(request, context, group_id) for group_id in request.group_ids))


def _streams_group(request: Any, context: RequestContext, group_id: str) -> Any:
    found = described(context, request, group_id, "streams")
    group = found.group
    topology = _topology(context.schema, group) if group else None
    member = partial(_streams_member, context.schema, group.topology_epoch if group else 0)
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


def _streams_member(schema: Any, topology_epoch: int, member: NewerMember) -> Any:
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


async def delete_groups(request: Any, context: RequestContext) -> Any:
    """DeleteGroups (42), v0-3: deletes groups without members, with their offsets (KIP-229).

    Delete groups of any type, and return the error code of each.

    Needs DELETE on the group. The group's coordinator answers.

    Version notes:
    - v2: flexible.
    - v3: an error message for each group, which brokers leave out where the code says enough.
    """
    schema = context.schema
    return context.answer(
        results=tuple(
            schema.DeletableGroupResult(group_id=group_id, error_code=_delete(context, group_id))
            for group_id in request.groups_names
        )
    )


def _delete(context: RequestContext, group_id: str) -> int:
    code = group_error(context, group_id, "DELETE", may_be_empty=True)
    if code:
        return code
    group = context.state.groups.get(group_id)
    if group is None:
        return ErrorCode.group_id_not_found
    if group.has_members:
        return ErrorCode.non_empty_group
    del context.state.groups[group_id]
    context.state.touch()
    return 0

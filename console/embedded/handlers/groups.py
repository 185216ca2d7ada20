"""Groups: listing, description and deletion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import NO_OPERATIONS, Result, each_item, group_operations
from console.embedded.context import RequestContext
from console.embedded.group_coordinator import coordinator_of, group_error, visible_group
from console.embedded.groups import Group, GroupState, Member
from console.embedded.newer_groups import NewerGroup, NewerMember, Node, Partitions, Tasks
from console.embedded.refusals import Refusal


async def list_groups(request: Any, context: RequestContext) -> Any:
    """ListGroups (16), v0-5: the groups that this broker coordinates.

    Return the groups that match the filters; if the principal has no DESCRIBE right on the cluster, only those that it
    may describe.

    A client sends the request to every broker and merges the responses.

    Version notes:
    - v3: flexible.
    - v4: states, and a filter by state (KIP-518).
    - v5: types, and a filter by type (KIP-848).
    """
    topics = context.view.topics
    states = {state.lower() for state in getattr(request, "states_filter", ())}
    types = {type_.lower() for type_ in getattr(request, "types_filter", ())}
    everything = context.allowed("DESCRIBE")
    return context.answer(
        groups=tuple(
            {
                "group_id": group.id,
                "protocol_type": group.protocol_type or "",
                "group_state": group.shown_state,
                "group_type": group.type,
            }
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

    Needs DESCRIBE on the group. Only the group's coordinator accepts it.

    Version notes:
    - v3: authorized operations (KIP-430).
    - v4: instance ids (KIP-345).
    - v5: flexible.
    - v6: GROUP_ID_NOT_FOUND with a message; before, an unknown group is Dead, without an error (KIP-1043).
    """
    return each_item(context, request, partial(_classic_group, request, context))


def _classic_group(request: Any, context: RequestContext, group_id: str) -> Result:
    code = group_error(context, group_id, "DESCRIBE", may_be_empty=True)
    group = visible_group(context, group_id)
    message, operations = None, NO_OPERATIONS
    # A group of a newer protocol has no classic description, so this API treats it as missing.
    if not code and group is not None and group.newer is not None:
        group = None
        if context.version >= _NOT_FOUND_FROM:
            code, message = ErrorCode.group_id_not_found, f"Group {group_id} is not a classic group."
    elif not code and group is None and context.version >= _NOT_FOUND_FROM:
        code, message = ErrorCode.group_id_not_found, f"Group {group_id} not found."
    if not code and getattr(request, "include_authorized_operations", False):
        operations = context.operations(group_operations(context), "GROUP", group_id)
    fields = {
        "error_code": code,
        "error_message": message,
        "group_state": _DEAD if not code or message else "",
        "authorized_operations": operations,
    }
    if code or group is None:
        return fields
    stable = group.state == GroupState.STABLE
    return fields | {
        "group_state": str(group.state),
        "protocol_type": group.protocol_type or "",
        "protocol_data": (group.protocol or "") if stable else "",
        "members": tuple(_classic_member(group, member, stable) for member in group.members.values()),
    }


def _classic_member(group: Group, member: Member, stable: bool) -> Any:
    """Return a member as a response element. Its metadata and assignment are empty unless the group is stable."""
    return {
        "member_id": member.id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "member_metadata": member.metadata(group.protocol) if stable else b"",
        "member_assignment": member.assignment if stable else b"",
    }


SHARE_MESSAGES: Mapping[int, str] = {
    ErrorCode.unknown_topic_or_partition: "This server does not host this topic-partition.",
    ErrorCode.not_coordinator: "This is not the correct coordinator.",
    ErrorCode.invalid_group_id: "The group id is invalid.",
    ErrorCode.topic_authorization_failed: "Topic authorization failed.",
    ErrorCode.group_authorization_failed: "Group authorization failed.",
    ErrorCode.non_empty_group: "The group is not empty.",
    ErrorCode.unsupported_version: "The version of API is not supported.",
}
"""Error code -> message in responses about share groups, as measured on 4.3.0 and 4.1.1."""

_FEATURES = {"consumer": "group.version", "share": "share.version", "streams": "streams.version"}
_NOT_AUTHORIZED = "The group has described topic(s) that the client is not authorized to describe."


def is_disabled(context: RequestContext, type_: str) -> bool:
    """Return whether the cluster's feature levels disable groups of this type, so that requests about them get
    UNSUPPORTED_VERSION.
    """
    return context.state.features.get(_FEATURES[type_], 0) < 1


def _newer_group(
    context: RequestContext, request: Any, type_: str, own: Callable[[NewerGroup], dict[str, Any]], group_id: str
) -> Result:
    """Return the description of a group of this type, or the error (GroupMetadataManager.consumerGroup and similar
    methods).

    Args:
        own: function that returns the fields that only this type's API has, with the members.
    """
    if is_disabled(context, type_):
        return ErrorCode.unsupported_version
    code = group_error(context, group_id, "DESCRIBE")
    if code:
        has_message = type_ == "share" and code == ErrorCode.not_coordinator
        return Refusal(code, SHARE_MESSAGES[code] if has_message else None)
    group = visible_group(context, group_id)
    if group is None or group.newer is None or group.newer.type != type_:
        is_known = group_id in context.state.groups
        message = f"Group {group_id} is not a {type_} group." if is_known else f"Group {group_id} not found."
        return Refusal(ErrorCode.group_id_not_found, message)
    newer = group.newer
    topics = {topic for member in newer.members for topic in (*member.assigned, *member.target)}
    for part in newer.subtopologies.values():
        topics.update(part.read, part.changelogs)
    # One forbidden topic hides the whole group, as the assignments of members would disclose its name (KIP-848).
    if not all(context.allowed("DESCRIBE", "TOPIC", topic) for topic in topics):
        return Refusal(ErrorCode.topic_authorization_failed, _NOT_AUTHORIZED)
    operations = NO_OPERATIONS
    if getattr(request, "include_authorized_operations", False):
        operations = context.operations(group_operations(context), "GROUP", group_id)
    return {
        "group_state": newer.state,
        "group_epoch": newer.epoch,
        "assignment_epoch": newer.assignment_epoch,
        "assignor_name": newer.assignor,
        "authorized_operations": operations,
        **own(newer),
    }


def _member(member: NewerMember, **own: Any) -> Any:
    """Return a member as a response element. own: the fields that only the members of its group type have."""
    return {
        "member_id": member.id,
        "member_epoch": member.epoch,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": member.subscribed,
        **own,
    }


def _assignment(context: RequestContext, partitions: Partitions) -> Any:
    """Return an assignment as a response element, with the topics' ids. partitions: topic -> partition numbers."""
    topics = context.view.topics
    return {
        "topic_partitions": tuple(
            {"topic_id": topics[name].id, "topic_name": name, "partitions": tuple(numbers)}
            for name, numbers in partitions.items()
            if name in topics
        )
    }


_CONSUMER_MEMBER = 1


async def consumer_group_describe(request: Any, context: RequestContext) -> Any:
    """ConsumerGroupDescribe (69), v0-1: describes groups of the consumer protocol (KIP-848).

    Return a description or an error for each group.

    A group of another type is GROUP_ID_NOT_FOUND; clients then send DescribeGroups.

    Version notes:
    - v1: the type of a member (KIP-1099).

    Differences from Kafka: members have no instance id, rack or subscription by regular expression.
    """
    return each_item(context, request, partial(_newer_group, context, request, "consumer", partial(_consumer, context)))


def _consumer(context: RequestContext, group: NewerGroup) -> dict[str, Any]:
    members = (
        _member(
            member,
            assignment=_assignment(context, member.assigned),
            target_assignment=_assignment(context, member.target),
            subscribed_topic_regex="",
            member_type=_CONSUMER_MEMBER,
        )
        for member in group.members
    )
    return {"members": tuple(members)}


async def share_group_describe(request: Any, context: RequestContext) -> Any:
    """ShareGroupDescribe (77), v1: describes share groups (KIP-932).

    Return a description or an error for each group.

    Needs DESCRIBE on the group and on its topics. v0 was early access in 4.0, and no later broker serves it.

    Differences from Kafka: members have no rack.
    """
    return each_item(context, request, partial(_newer_group, context, request, "share", partial(_share, context)))


def _share(context: RequestContext, group: NewerGroup) -> dict[str, Any]:
    members = (_member(member, assignment=_assignment(context, member.assigned)) for member in group.members)
    return {"members": tuple(members)}


_NOT_REQUESTED, _NOT_STORED, _AVAILABLE = 0, 1, 3


async def streams_group_describe(request: Any, context: RequestContext) -> Any:
    """StreamsGroupDescribe (89), v0-1: describes groups of the streams protocol (KIP-1071, KIP-1331, KIP-1357).

    Return a description or an error for each group.

    Needs DESCRIBE on the group and on its topics.

    Version notes:
    - v1: the assignor; the topology with its nodes, for brokers with a plugin that stores it.

    Differences from Kafka: the plugin stores the scenario's topology, without global stores; topics between
    subtopologies have no number of partitions; members have no endpoint, tags or task offsets, and their client id is
    their process id.
    """
    return each_item(context, request, partial(_newer_group, context, request, "streams", partial(_streams, request)))


def _streams(request: Any, group: NewerGroup) -> dict[str, Any]:
    is_asked = getattr(request, "include_topology_description", False)
    status = _NOT_STORED if group.nodes is None else _AVAILABLE
    return {
        "topology": _topology(group),
        "topology_description": _description(group.nodes) if is_asked and group.nodes is not None else None,
        "topology_description_status": status if is_asked else _NOT_REQUESTED,
        "members": tuple(_streams_member(group.topology_epoch, member) for member in group.members),
    }


def _description(nodes: Mapping[str, tuple[Node, ...]]) -> Any:
    parts = tuple(
        {
            "subtopology_id": part,
            "nodes": tuple(
                {
                    "name": each.name,
                    "node_type": each.kind,
                    "source_topics": each.sources,
                    "sink_topic": each.sink,
                    "stores": each.stores,
                    "successors": each.successors,
                }
                for each in of_part
            ),
        }
        for part, of_part in nodes.items()
    )
    return {"subtopologies": parts}


def _topology(group: NewerGroup) -> Any:
    def topics(names: Sequence[str]) -> tuple[Any, ...]:
        return tuple({"name": name} for name in names)

    return {
        "epoch": group.topology_epoch,
        "subtopologies": tuple(
            {
                "subtopology_id": name,
                "source_topics": part.sources,
                "repartition_sink_topics": part.repartition_sinks,
                "state_changelog_topics": topics(part.changelogs),
                "repartition_source_topics": topics(part.repartition_sources),
            }
            for name, part in group.subtopologies.items()
        ),
    }


def _streams_member(topology_epoch: int, member: NewerMember) -> Any:
    def tasks(of_role: Partitions) -> tuple[Any, ...]:
        return tuple({"subtopology_id": name, "partitions": numbers} for name, numbers in of_role.items())

    def assignment(of_member: Tasks) -> Any:
        return {
            "active_tasks": tasks(of_member.active),
            "standby_tasks": tasks(of_member.standby),
            "warmup_tasks": tasks(of_member.warmup),
        }

    return _member(
        member,
        topology_epoch=topology_epoch,
        process_id=member.client_id,
        assignment=assignment(member.tasks),
        target_assignment=assignment(member.target_tasks),
    )


async def delete_groups(request: Any, context: RequestContext) -> Any:
    """DeleteGroups (42), v0-3: deletes groups without members, with their offsets (KIP-229).

    Delete groups of any type, and return the error code of each.

    Needs DELETE on the group. Only the group's coordinator accepts it.

    Version notes:
    - v2: flexible.
    - v3: an error message for each group, which brokers omit if the code is clear enough.
    """
    return each_item(context, request, partial(_delete, context))


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

"""What brokers answer of groups of the newer protocols, for the APIs of all three."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.answers import NO_OPERATIONS, group_operations
from console.embedded.context import RequestContext
from console.embedded.group_coordinator import group_error, visible_group
from console.embedded.newer_groups import NewerGroup, NewerMember, Partitions
from console.wire.fields import for_version

SHARE_MESSAGES: Mapping[int, str] = {
    ErrorCode.unknown_topic_or_partition: "This server does not host this topic-partition.",
    ErrorCode.not_coordinator: "This is not the correct coordinator.",
    ErrorCode.invalid_group_id: "The group id is invalid.",
    ErrorCode.topic_authorization_failed: "Topic authorization failed.",
    ErrorCode.group_authorization_failed: "Group authorization failed.",
    ErrorCode.non_empty_group: "The group is not empty.",
    ErrorCode.unsupported_version: "The version of API is not supported.",
}
"""Error code -> message, in answers about share groups; measured on 4.3.0 and 4.1.1."""

_FEATURES = {"consumer": "group.version", "share": "share.version", "streams": "streams.version"}
_NOT_AUTHORIZED = "The group has described topic(s) that the client is not authorized to describe."


class Described(NamedTuple):
    """What a describe answers for one group: an error, or the group."""

    code: int
    message: str | None = None
    group: NewerGroup | None = None
    operations: int = NO_OPERATIONS


def is_disabled(context: RequestContext, type_: str) -> bool:
    """Return whether the cluster's features disable groups of this type: requests for them are UNSUPPORTED_VERSION."""
    return context.state.features.get(_FEATURES[type_], 0) < 1


def share_group_error(context: RequestContext, group_id: str, operation: str = "READ") -> int:
    """Return the code that a request about a share group's offsets fails with, 0 for none."""
    if is_disabled(context, "share"):
        return ErrorCode.unsupported_version
    return group_error(context, group_id, operation)


def described(context: RequestContext, request: Any, group_id: str, type_: str) -> Described:
    """Return a group of this type, or why it can't be described (GroupMetadataManager.consumerGroup and its
    siblings)."""
    if is_disabled(context, type_):
        return Described(ErrorCode.unsupported_version)
    code = group_error(context, group_id, "DESCRIBE")
    if code:
        has_message = type_ == "share" and code == ErrorCode.not_coordinator
        return Described(code, SHARE_MESSAGES[code] if has_message else None)
    group = visible_group(context, group_id)
    if group is None or group.newer is None or group.newer.type != type_:
        is_known = group_id in context.state.groups
        message = f"Group {group_id} is not a {type_} group." if is_known else f"Group {group_id} not found."
        return Described(ErrorCode.group_id_not_found, message)
    newer = group.newer
    topics = {topic for member in newer.members for topic in (*member.assigned, *member.target)}
    for part in newer.subtopologies.values():
        topics.update(part.read, part.changelogs)
    # One forbidden topic hides the whole group: members' assignments would disclose its name (KIP-848).
    if not all(context.allowed("DESCRIBE", "TOPIC", topic) for topic in topics):
        return Described(ErrorCode.topic_authorization_failed, _NOT_AUTHORIZED)
    operations = NO_OPERATIONS
    if getattr(request, "include_authorized_operations", False):
        operations = context.operations(group_operations(context), "GROUP", group_id)
    return Described(0, None, newer, operations)


def described_group(
    context: RequestContext, found: Described, group_id: str, member: Callable[[NewerMember], Any], **own: Any
) -> Any:
    """Return the message of one group. member: makes a member's. own: the fields that only this API has."""
    group = found.group
    return for_version(
        context.schema.DescribedGroup,
        error_code=found.code,
        error_message=found.message,
        group_id=group_id,
        group_state=group.state if group else "",
        group_epoch=group.epoch if group else 0,
        assignment_epoch=group.assignment_epoch if group else 0,
        members=tuple(map(member, group.members)) if group else (),
        authorized_operations=found.operations,
        **own,
    )


def topic_partitions(context: RequestContext, make: Callable[..., Any], partitions: Partitions) -> tuple[Any, ...]:
    """Return an assignment's topics with their ids. make: makes the message of one topic."""
    topics = context.view.topics
    return tuple(
        make(topic_id=topics[name].id, topic_name=name, partitions=tuple(numbers))
        for name, numbers in partitions.items()
        if name in topics
    )

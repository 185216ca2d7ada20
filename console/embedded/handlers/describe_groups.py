"""DescribeGroups (15), v0-6: state and members of groups of the classic protocol.

Needs DESCRIBE on the group. The group's coordinator answers.

Version notes:
- v3: authorized operations (KIP-430).
- v4: instance ids (KIP-345).
- v5: flexible.
- v6: GROUP_ID_NOT_FOUND with a message; before, an unknown group is Dead, without an error (KIP-1043).
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import NO_OPERATIONS, group_operations
from console.embedded.context import RequestContext
from console.embedded.group_coordinator import group_error, visible_group
from console.embedded.groups import Group, GroupState
from console.wire.fields import for_version

_NOT_FOUND_FROM = 6
_DEAD = "Dead"


async def handle(request: Any, context: RequestContext) -> Any:
    """Return a description or an error for each group."""
    return context.answer(groups=tuple(_group(request, context, group_id) for group_id in request.groups))


def _group(request: Any, context: RequestContext, group_id: str) -> Any:
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

"""LeaveGroup (13), v0-5: removes members.

Version notes:
- v3: several members, also static ones by instance id (KIP-345).
- v4: flexible.
- v5: the reason, which only a log would show (KIP-800).
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import group_error

_SEVERAL_FROM = 3


async def handle(request: Any, context: RequestContext) -> Any:
    """Remove the members, and return the error code of each."""
    schema = context.schema
    code = group_error(context, request.group_id)
    if context.version < _SEVERAL_FROM:
        code = code or _leave(context, request.group_id, request.member_id, None)
        return context.answer(error_code=code)
    members = () if code else request.members
    return context.answer(
        error_code=code,
        members=tuple(
            schema.MemberResponse(
                member_id=each.member_id,
                group_instance_id=each.group_instance_id,
                error_code=_leave(context, request.group_id, each.member_id, each.group_instance_id),
            )
            for each in members
        ),
    )


def _leave(context: RequestContext, group_id: str, member_id: str, instance_id: str | None) -> int:
    group = context.state.groups.get(group_id)
    if group is None:
        return ErrorCode.unknown_member_id
    code = group.leave(member_id, instance_id, context.clock.time())
    context.state.touch()
    return code

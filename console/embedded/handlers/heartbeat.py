"""Heartbeat (12), v0-4: extends a member's session, and reports rebalances.

Version notes:
- v3: the instance id (KIP-345).
- v4: flexible.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import group_error


async def handle(request: Any, context: RequestContext) -> Any:
    """Extend the member's session, and return REBALANCE_IN_PROGRESS where it has to join again."""
    code = group_error(context, request.group_id)
    group = context.state.groups.get(request.group_id)
    if not code:
        instance_id = getattr(request, "group_instance_id", None)
        code = ErrorCode.unknown_member_id
        if group is not None:
            code = group.heartbeat(request.member_id, instance_id, request.generation_id, context.clock.time())
    return context.answer(error_code=code)

"""SyncGroup (14), v0-5: the leader sends the assignments, each member receives its own.

Version notes:
- v3: the instance id (KIP-345).
- v4: flexible.
- v5: protocol type and name, which have to be the group's (KIP-559).
"""

from __future__ import annotations

import asyncio
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import group_error, run_timers
from console.embedded.groups import Synced


async def handle(request: Any, context: RequestContext) -> Any:
    """Store the leader's assignments, and return the member's own once they are there."""
    synced = await _synced(request, context)
    return context.answer(
        error_code=synced.code,
        protocol_type=synced.protocol_type,
        protocol_name=synced.protocol,
        assignment=synced.assignment,
    )


async def _synced(request: Any, context: RequestContext) -> Synced:
    code = group_error(context, request.group_id)
    group = context.state.groups.get(request.group_id)
    if code or group is None:
        return Synced(code or ErrorCode.unknown_member_id)
    answer = group.sync(
        request.member_id,
        getattr(request, "group_instance_id", None),
        request.generation_id,
        (getattr(request, "protocol_type", None), getattr(request, "protocol_name", None)),
        {each.member_id: each.assignment for each in request.assignments},
        context.clock.time(),
    )
    run_timers(context.cluster, group)
    context.state.touch()
    return await answer if isinstance(answer, asyncio.Future) else answer

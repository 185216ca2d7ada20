"""JoinGroup: adds a member; the answer comes when the generation is complete (KIP-62, KIP-345, KIP-394)."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

from kio.schema.errors import ErrorCode

from console.embedded.answers import NO_TIME
from console.embedded.context import RequestContext
from console.embedded.group_coordinator import get_or_create_group, group_error, run_timers
from console.embedded.groups import Joined, JoinRequest
from console.wire.schemas import for_version

_SESSIONS = {"group.min.session.timeout.ms": 6_000, "group.max.session.timeout.ms": 1_800_000}
_KNOWN_ID_FROM, _NULL_PROTOCOL_FROM, _SKIP_FROM = 4, 7, 9


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-9."""
    schema = context.schema
    joined = await _joined(request, context)
    return for_version(
        schema.JoinGroupResponse,
        throttle_time=NO_TIME,
        error_code=joined.code,
        generation_id=joined.generation,
        protocol_type=joined.protocol_type,
        protocol_name=joined.protocol or (None if context.version >= _NULL_PROTOCOL_FROM else ""),
        leader=joined.leader,
        skip_assignment=joined.skip_assignment,
        member_id=joined.member_id,
        members=tuple(
            for_version(
                schema.JoinGroupResponseMember, member_id=member_id, group_instance_id=instance_id, metadata=metadata
            )
            for member_id, instance_id, metadata in joined.members
        ),
    )


async def _joined(request: Any, context: RequestContext) -> Joined:
    code = group_error(context, request.group_id)
    session = request.session_timeout.total_seconds()
    shortest, longest = (
        int(context.cluster.spec.static_configs.get(key, default)) / 1000 for key, default in _SESSIONS.items()
    )
    if not code and not shortest <= session <= longest:
        code = ErrorCode.invalid_session_timeout
    if not code and request.member_id and request.group_id not in context.state.groups:
        code = ErrorCode.unknown_member_id
    if code:
        return Joined(code, request.member_id)
    group = get_or_create_group(context, request.group_id)
    answer = group.join(_wish(request, context, session), context.clock.time())
    run_timers(context.cluster, group)
    context.state.touch()
    return await answer if isinstance(answer, asyncio.Future) else answer


def _wish(request: Any, context: RequestContext, session: float) -> JoinRequest:
    instance_id = getattr(request, "group_instance_id", None)
    rebalance = request.rebalance_timeout.total_seconds() if hasattr(request, "rebalance_timeout") else session
    return JoinRequest(
        request.member_id,
        instance_id,
        context.client_id,
        f"/{context.client_host}",
        session,
        rebalance,
        request.protocol_type,
        tuple((protocol.name, protocol.metadata) for protocol in request.protocols),
        f"{instance_id or context.client_id}-{uuid4()}",
        needs_id=context.version >= _KNOWN_ID_FROM and instance_id is None,
        skips_assignment=context.version >= _SKIP_FROM,
    )

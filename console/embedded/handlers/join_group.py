"""JoinGroup (11), v0-9: adds a member; the answer comes when the generation is complete.

Version notes:
- v1: the rebalance timeout (KIP-62).
- v4: a new member is first given an id, and joins again with it (KIP-394).
- v5: the instance id of a static member (KIP-345).
- v6: flexible.
- v7: the protocol type in the answer (KIP-559).
- v9: a leader that returns keeps the assignment (KIP-814).
"""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import get_or_create_group, group_error, run_timers
from console.embedded.groups import Joined, JoinRequest
from console.wire.fields import for_version

_SESSIONS = {"group.min.session.timeout.ms": 6_000, "group.max.session.timeout.ms": 1_800_000}
"""Key of the broker's file -> default, milliseconds."""
_KNOWN_ID_FROM, _NULL_PROTOCOL_FROM, _SKIP_FROM = 4, 7, 9


async def handle(request: Any, context: RequestContext) -> Any:
    """Let the member join, wait for the generation, and return it; its leader gets the members, too."""
    schema = context.schema
    joined = await _joined(request, context)
    return context.answer(
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
    # Only a group that exists can have given the client its member id.
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
    # v0 has one timeout for both.
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

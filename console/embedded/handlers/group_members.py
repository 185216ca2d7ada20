"""Group members: finding the coordinator, joining, syncing, heartbeats and leaving (classic protocol)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from kio.schema.errors import ErrorCode

from console.embedded import group_coordinator
from console.embedded.answers import each_item
from console.embedded.config_changes import MALFORMED
from console.embedded.context import RequestContext
from console.embedded.groups import Joined, JoinRequest, Synced

_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_SEVERAL_KEYS_FROM = 4
_MESSAGES: Mapping[int, str] = {
    ErrorCode.group_authorization_failed: "Group authorization failed.",
    ErrorCode.transactional_id_authorization_failed: "Transactional Id authorization failed.",
    ErrorCode.invalid_request: MALFORMED,
}


async def find_coordinator(request: Any, context: RequestContext) -> Any:
    """FindCoordinator (10), v0-6: the broker that coordinates a group or a transactional id.

    Return the coordinator of each key, or its error.

    Needs DESCRIBE on the group or transactional id. The first request creates the internal topic.

    Version notes:
    - v1: the type of the key (KIP-98).
    - v3: flexible.
    - v4: several keys (KIP-699).
    - v6: keys of share groups (KIP-932).

    Differences from Kafka: share partitions have no coordinator, so their keys are INVALID_REQUEST.
    """
    kind = getattr(request, "key_type", _GROUP)
    if context.version < _SEVERAL_KEYS_FROM:
        found = _find(context, kind, request.key)
        code = found["error_code"]
        return context.answer(error_message=_MESSAGES.get(code, None if code else "NONE"), **found)

    def coordinator(key: str) -> dict[str, Any]:
        found = _find(context, kind, key)
        return {"error_message": _message(kind, found["error_code"]), **found}

    return each_item(context, request, coordinator)


def _message(kind: int, code: int) -> str:
    """Return the error message for one of several keys; ``""`` for authorization errors. kind: the type of the key."""
    unauthorized = (ErrorCode.group_authorization_failed, ErrorCode.transactional_id_authorization_failed)
    return "" if kind == _SHARE or code in unauthorized else _MESSAGES.get(code, "")


def _none(code: int) -> dict[str, Any]:
    return {"error_code": code, "node_id": -1, "port": -1}


def _find(context: RequestContext, kind: int, key: str) -> dict[str, Any]:
    if kind == _GROUP and not context.allowed("DESCRIBE", "GROUP", key):
        return _none(ErrorCode.group_authorization_failed)
    if kind == _TRANSACTION and not context.allowed("DESCRIBE", "TRANSACTIONAL_ID", key):
        return _none(ErrorCode.transactional_id_authorization_failed)
    if kind not in (_GROUP, _TRANSACTION):
        return _none(ErrorCode.invalid_request)
    topic = group_coordinator.GROUP_TOPIC if kind == _GROUP else group_coordinator.TRANSACTION_TOPIC
    group_coordinator.ensure_topic(context.state, topic)
    view = context.view
    broker = view.brokers.get(group_coordinator.coordinator_of(view.topics, key, topic))
    if broker is None or not broker.alive:
        return _none(ErrorCode.coordinator_not_available)
    return {"error_code": 0, "node_id": broker.id, "host": broker.host, "port": broker.port}


_SESSIONS = {"group.min.session.timeout.ms": 6_000, "group.max.session.timeout.ms": 1_800_000}
"""Config key with a limit of the session timeout -> its default in milliseconds."""
_KNOWN_ID_FROM, _NULL_PROTOCOL_FROM, _SKIP_FROM = 4, 7, 9


async def join_group(request: Any, context: RequestContext) -> Any:
    """JoinGroup (11), v0-9: adds a member; the response follows when the generation is complete.

    Add the member, wait until the generation is complete, and return the generation. The response to its leader also
    has the members.

    Version notes:
    - v1: the rebalance timeout (KIP-62).
    - v4: a new member first gets an id, and joins again with it (KIP-394).
    - v5: the instance id of a static member (KIP-345).
    - v6: flexible.
    - v7: the protocol type in the response (KIP-559).
    - v9: a leader that returns keeps the assignment (KIP-814).
    """
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
            {"member_id": member_id, "group_instance_id": instance_id, "metadata": metadata}
            for member_id, instance_id, metadata in joined.members
        ),
    )


async def _joined(request: Any, context: RequestContext) -> Joined:
    code = group_coordinator.group_error(context, request.group_id)
    session = request.session_timeout.total_seconds()
    shortest, longest = (
        int(context.cluster.spec.static_configs.get(key, default)) / 1000 for key, default in _SESSIONS.items()
    )
    if not code and not shortest <= session <= longest:
        code = ErrorCode.invalid_session_timeout
    # A client with a member id got that id from an existing group.
    if not code and request.member_id and request.group_id not in context.state.groups:
        code = ErrorCode.unknown_member_id
    if code:
        return Joined(code, request.member_id)
    group = group_coordinator.get_or_create_group(context, request.group_id)
    answer = group.join(_wish(request, context, session), context.clock.time())
    group_coordinator.run_timers(context.cluster, group)
    context.state.touch()
    return await answer if isinstance(answer, asyncio.Future) else answer


def _wish(request: Any, context: RequestContext, session: float) -> JoinRequest:
    instance_id = getattr(request, "group_instance_id", None)
    # v0 has one field for both timeouts.
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


async def sync_group(request: Any, context: RequestContext) -> Any:
    """SyncGroup (14), v0-5: the leader sends the assignments, each member receives its own.

    Store the leader's assignments, and return the member's own once they are stored.

    Version notes:
    - v3: the instance id (KIP-345).
    - v4: flexible.
    - v5: protocol type and name, which must be the group's (KIP-559).
    """
    synced = await _synced(request, context)
    return context.answer(
        error_code=synced.code,
        protocol_type=synced.protocol_type,
        protocol_name=synced.protocol,
        assignment=synced.assignment,
    )


async def _synced(request: Any, context: RequestContext) -> Synced:
    code = group_coordinator.group_error(context, request.group_id)
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
    group_coordinator.run_timers(context.cluster, group)
    context.state.touch()
    return await answer if isinstance(answer, asyncio.Future) else answer


async def heartbeat(request: Any, context: RequestContext) -> Any:
    """Heartbeat (12), v0-4: extends a member's session, and reports rebalances.

    Extend the member's session, and return REBALANCE_IN_PROGRESS if it has to join again.

    Version notes:
    - v3: the instance id (KIP-345).
    - v4: flexible.
    """
    code = group_coordinator.group_error(context, request.group_id)
    group = context.state.groups.get(request.group_id)
    if not code:
        instance_id = getattr(request, "group_instance_id", None)
        code = ErrorCode.unknown_member_id
        if group is not None:
            code = group.heartbeat(request.member_id, instance_id, request.generation_id, context.clock.time())
    return context.answer(error_code=code)


_SEVERAL_LEAVE_FROM = 3


async def leave_group(request: Any, context: RequestContext) -> Any:
    """LeaveGroup (13), v0-5: removes members.

    Remove the members, and return the error code of each.

    Version notes:
    - v3: several members, and static ones by instance id (KIP-345).
    - v4: flexible.
    - v5: the reason, which only a log would show (KIP-800).
    """
    code = group_coordinator.group_error(context, request.group_id)
    if context.version < _SEVERAL_LEAVE_FROM:
        return context.answer(error_code=code or _leave(context, request.group_id, request.member_id, None))
    if code:
        return context.answer(error_code=code)
    return each_item(
        context,
        request,
        lambda member: _leave(context, request.group_id, member.member_id, member.group_instance_id),
    )


def _leave(context: RequestContext, group_id: str, member_id: str, instance_id: str | None) -> int:
    group = context.state.groups.get(group_id)
    if group is None:
        return ErrorCode.unknown_member_id
    code = group.leave(member_id, instance_id, context.clock.time())
    context.state.touch()
    return code

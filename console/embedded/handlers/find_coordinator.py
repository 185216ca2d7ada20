"""FindCoordinator (10), v0-6: the broker that coordinates a group or a transactional id.

Needs DESCRIBE on it. The first request creates the internal topic.

Version notes:
- v1: the type of the key (KIP-98).
- v3: flexible.
- v4: several keys (KIP-699).
- v6: keys of share groups (KIP-932).

Differences from Kafka: share partitions have no coordinator, so their keys are INVALID_REQUEST.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.config_changes import MALFORMED
from console.embedded.context import RequestContext
from console.embedded.group_coordinator import GROUP_TOPIC, TRANSACTION_TOPIC, coordinator_of, ensure_topic

_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_SEVERAL_FROM = 4
_MESSAGES: Mapping[int, str] = {
    ErrorCode.group_authorization_failed: "Group authorization failed.",
    ErrorCode.transactional_id_authorization_failed: "Transactional Id authorization failed.",
    ErrorCode.invalid_request: MALFORMED,
}


class _Found(NamedTuple):
    error_code: int
    node_id: int = -1
    host: str = ""
    port: int = -1


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the coordinator of each key, or its error."""
    schema = context.schema
    kind = getattr(request, "key_type", _GROUP)
    if context.version < _SEVERAL_FROM:
        found = _find(context, kind, request.key)
        message = _MESSAGES.get(found.error_code, "NONE" if not found.error_code else None)
        return context.answer(error_message=message, **found._asdict())
    return context.answer(
        coordinators=tuple(
            schema.Coordinator(key=key, error_message=_message(kind, found.error_code), **found._asdict())
            for key in request.coordinator_keys
            for found in (_find(context, kind, key),)
        )
    )


def _message(kind: int, code: int) -> str:
    """Return the message for one of several keys. Authorization errors have none."""
    return (
        ""
        if kind == _SHARE
        or code in (ErrorCode.group_authorization_failed, ErrorCode.transactional_id_authorization_failed)
        else _MESSAGES.get(code, "")
    )


def _find(context: RequestContext, kind: int, key: str) -> _Found:
    if kind == _GROUP and not context.allowed("DESCRIBE", "GROUP", key):
        return _Found(ErrorCode.group_authorization_failed)
    if kind == _TRANSACTION and not context.allowed("DESCRIBE", "TRANSACTIONAL_ID", key):
        return _Found(ErrorCode.transactional_id_authorization_failed)
    if kind not in (_GROUP, _TRANSACTION):
        return _Found(ErrorCode.invalid_request)
    topic = GROUP_TOPIC if kind == _GROUP else TRANSACTION_TOPIC
    ensure_topic(context.state, topic)
    view = context.view
    broker = view.brokers.get(coordinator_of(view.topics, key, topic))
    if broker is None or not broker.alive:
        return _Found(ErrorCode.coordinator_not_available)
    return _Found(0, broker.id, broker.host, broker.port)

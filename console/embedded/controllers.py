"""The behaviour of separate controllers: they serve fewer APIs than brokers, and only the active one makes changes."""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import OF_THE_WHOLE, error_answer
from console.embedded.apis import APIS, Served
from console.embedded.context import RequestContext
from console.embedded.state import ClusterState
from console.embedded.tables import NO_LEADER
from console.wire.schemas import Messages

FORWARDING_SECONDS = 60.0
"""Maximum seconds for which a broker waits for an active controller to which it can forward a request."""
_PRE_VOTE_FROM = (4, 0)


def named_controller(state: ClusterState) -> int:
    """Return the id of the active controller as responses name it; -1 if there is none. Since 4.0, responses name
    the last active controller until the voters have elected another (KIP-996).
    """
    return state.last_controller if state.release.number >= _PRE_VOTE_FROM else state.controller_id


def not_active_message(state: ClusterState) -> str:
    """Return the message by which a controller that is not active refuses a change (ControllerExceptions)."""
    named = named_controller(state)
    if named == NO_LEADER:
        return "No controller appears to be active."
    return f"The active controller appears to be node {named}."


def is_not_active(context: RequestContext) -> bool:
    """Return whether the receiving node is a separate controller that is not the active one."""
    return context.at_controller and context.broker_id != context.state.controller_id


def refused_by_controller(request: Any, context: RequestContext, found: Messages) -> Any | None:
    """Return the response of a controller that is not active to a change that only the active one accepts; None if this
    node handles the request.
    """
    if Served.BY_THE_ACTIVE not in APIS[found.api].served or not is_not_active(context):
        return None
    message = OF_THE_WHOLE if found.api == "alter_client_quotas" else not_active_message(context.state)
    return error_answer(request, found, ErrorCode.not_controller, message)


def waits_for_controller(context: RequestContext, api: str) -> bool:
    """Return whether a broker would forward a request of this API, but no controller is active."""
    state = context.state
    is_handed_on = bool(state.controllers) and not context.at_controller and Served.HANDED_ON in APIS[api].served
    return is_handed_on and state.controller_id == NO_LEADER

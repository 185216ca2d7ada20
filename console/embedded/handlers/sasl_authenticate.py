"""SaslAuthenticate: one token of the mechanism that SaslHandshake chose (KIP-152)."""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import NO_TIME
from console.embedded.context import RequestContext
from console.embedded.sasl import SaslFailure
from console.wire.schemas import for_version


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-2. A failure is answered, and the connection closes."""
    session = context.session
    if session.exchange is None:
        return _answer(
            context,
            ErrorCode.illegal_sasl_state,
            "SaslAuthenticate request received after successful authentication",
            b"",
        )
    try:
        return _answer(context, 0, None, session.authenticate(context.view, request.auth_bytes))
    except SaslFailure as failure:
        session.ending = "authentication failed"
        return _answer(context, ErrorCode.sasl_authentication_failed, str(failure), b"")


def _answer(context: RequestContext, code: int, message: str | None, token: bytes) -> Any:
    return for_version(
        context.schema.SaslAuthenticateResponse,
        error_code=code,
        error_message=message,
        auth_bytes=token,
        session_lifetime=NO_TIME,
    )

"""SaslAuthenticate (36), v0-2: one token of the mechanism that SaslHandshake chose (KIP-152).

Version notes:
- v1: the session's lifetime (KIP-368).
- v2: flexible.

Differences from Kafka: a session never ends, so its lifetime is 0 and clients don't authenticate again, but for those
with a delegation token: its lifetime is what is left of the token.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import NO_TIME, RequestContext
from console.embedded.sasl import SaslFailure
from console.embedded.token_requests import now_ms
from console.embedded.tokens import Token


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the broker's token, or an error, after which the connection closes."""
    session = context.session
    if session.exchange is None:
        return _answer(
            context,
            ErrorCode.illegal_sasl_state,
            "SaslAuthenticate request received after successful authentication",
            b"",
        )
    try:
        token = session.authenticate(context.view, request.auth_bytes)
        return _answer(context, 0, None, token, NO_TIME if session.token is None else _left(context, session.token))
    except SaslFailure as failure:
        session.ending = "authentication failed"
        return _answer(context, ErrorCode.sasl_authentication_failed, str(failure), b"")


def _left(context: RequestContext, token: Token) -> timedelta:
    return max(NO_TIME, timedelta(milliseconds=token.expires - now_ms(context)))


def _answer(
    context: RequestContext, code: int, message: str | None, token: bytes, lifetime: timedelta = NO_TIME
) -> Any:
    return context.answer(
        error_code=code,
        error_message=message,
        auth_bytes=token,
        session_lifetime=lifetime,
    )

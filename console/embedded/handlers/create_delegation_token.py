"""CreateDelegationToken (38), v1-3: makes a token for the principal, or for another one (KIP-48, KIP-373).

Needs a login of the connection's own, and for another owner CREATE_TOKENS on the user.

Version notes:
- v2: flexible.
- v3: the owner.

Differences from Kafka: brokers need no delegation.token.secret.key for it, and know of a token at once.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.token_requests import now_ms, refused
from console.embedded.tokens import LIFETIME_MS, PERIOD_MS, Token


async def handle(request: Any, context: RequestContext) -> Any:
    """Make the token, and return it with its HMAC."""
    asking = context.principal
    name = getattr(request, "owner_principal_name", None)
    owner = f"{request.owner_principal_type}:{name}" if name else asking
    renewers = tuple(f"{each.principal_type}:{each.principal_name}" for each in request.renewers)
    code = refused(context)
    if not code and any(not each.startswith("User:") for each in renewers):
        code = ErrorCode.invalid_principal_type
    if not code and owner != asking and not context.allowed("CREATE_TOKENS", "USER", owner):
        code = ErrorCode.delegation_token_authorization_failed
    if code:
        return _answer(context, code, Token("", owner, asking, (), -1, -1, -1), b"")
    now, wanted = now_ms(context), round(request.max_lifetime.total_seconds() * 1000)
    last = now + (min(wanted, LIFETIME_MS) if wanted > 0 else LIFETIME_MS)
    token = Token(uuid4().hex[:22], owner, asking, renewers, now, min(last, now + PERIOD_MS), last)
    context.state.tokens[token.id] = token
    context.state.touch()
    return _answer(context, 0, token, token.hmac)


def _answer(context: RequestContext, code: int, token: Token, proof: bytes) -> Any:
    type_, _, name = token.owner.partition(":")
    asked_type, _, asked_name = token.requester.partition(":")
    return context.answer(
        error_code=code,
        principal_type=type_,
        principal_name=name,
        token_requester_principal_type=asked_type,
        token_requester_principal_name=asked_name,
        issue_timestamp=token.issued,
        expiry_timestamp=token.expires,
        max_timestamp=token.max_time,
        token_id=token.id,
        hmac=proof,
    )

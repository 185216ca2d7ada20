"""What the APIs of delegation tokens have in common: who may ask, and which tokens are there."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.spec import ANONYMOUS
from console.embedded.tokens import Token


def refused(context: RequestContext) -> int:
    """Return why a connection may not ask for tokens, 0 where it may: it needs a login of its own."""
    return ErrorCode.delegation_token_request_not_allowed if context.principal == ANONYMOUS else 0


def living(context: RequestContext) -> dict[str, Token]:
    """Return the tokens whose time is not over, by id."""
    tokens = context.state.tokens
    now = now_ms(context)
    for token in [each for each in tokens.values() if min(each.expires, each.max_time) < now]:
        del tokens[token.id]
    return tokens


def now_ms(context: RequestContext) -> int:
    """Return the time in Unix milliseconds."""
    return round(context.cluster.clock.time() * 1000)


def by_hmac(context: RequestContext, proof: bytes) -> Token | None:
    """Return the living token with this HMAC."""
    return next((each for each in living(context).values() if each.hmac == proof), None)


def to_change(context: RequestContext, proof: bytes) -> Token | ErrorCode:
    """Return the token with this HMAC, or why the connection may not change it."""
    if code := refused(context):
        return ErrorCode(code)
    token = by_hmac(context, proof)
    if token is None:
        return ErrorCode.delegation_token_not_found
    return token if token.may_be_changed_by(context.principal) else ErrorCode.delegation_token_owner_mismatch

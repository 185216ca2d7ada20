"""What the APIs of delegation tokens have in common: who may ask, and which tokens are there."""

from __future__ import annotations

from typing import NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.spec import ANONYMOUS
from console.embedded.tokens import CHECK_MS, Token


def refused(context: RequestContext) -> int:
    """Return why a connection may not ask for tokens, 0 where it may: it needs a login of its own, and no token."""
    is_own = context.principal != ANONYMOUS and context.session.token is None
    return 0 if is_own else ErrorCode.delegation_token_request_not_allowed


def kept(context: RequestContext) -> dict[str, Token]:
    """Return the tokens that are not removed yet, by id: those that have ended stay until the next check."""
    tokens = context.state.tokens
    checked = now_ms(context) - CHECK_MS
    for token in [each for each in tokens.values() if each.has_ended(checked)]:
        del tokens[token.id]
    return tokens


def now_ms(context: RequestContext) -> int:
    """Return the time in Unix milliseconds."""
    return round(context.cluster.clock.time() * 1000)


class Unchanged(NamedTuple):
    """Why a token is not changed, and the time in the answer: 0 of the controller, which knows the tokens."""

    code: ErrorCode
    expires: int = 0


def to_change(context: RequestContext, proof: bytes) -> Token | Unchanged:
    """Return the token with this HMAC, or why it is not changed."""
    if code := refused(context):
        return Unchanged(ErrorCode(code), -1)
    token = next((each for each in kept(context).values() if each.hmac == proof), None)
    return Unchanged(ErrorCode.delegation_token_not_found) if token is None else token


def not_its_owners(context: RequestContext, token: Token) -> Unchanged | None:
    """Return why the principal may not change a token, None where it may."""
    may = token.may_be_changed_by(context.principal)
    return None if may else Unchanged(ErrorCode.delegation_token_owner_mismatch)


def over(context: RequestContext, token: Token) -> Unchanged | None:
    """Return why a token that has ended gets no other end, None for one that has not."""
    return Unchanged(ErrorCode.delegation_token_expired) if token.has_ended(now_ms(context)) else None

"""Delegation tokens: creation, renewal, expiry and description."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.spec import ANONYMOUS
from console.embedded.tokens import CHECK_MS, LIFETIME_MS, PERIOD_MS, Token


def _refused(context: RequestContext) -> int:
    """Return the error code for requests about tokens on this connection; 0 if the client has logged in, and not by a
    token.
    """
    is_own = context.principal != ANONYMOUS and context.session.token is None
    return 0 if is_own else ErrorCode.delegation_token_request_not_allowed


def _kept(context: RequestContext) -> dict[str, Token]:
    """Return id -> delegation token. First delete the tokens that expired more than `CHECK_MS` ago; a token that
    expired later is still returned, as brokers delete expired tokens only at a periodic check.
    """
    tokens = context.state.tokens
    checked = now_ms(context) - CHECK_MS
    for token in [each for each in tokens.values() if each.has_ended(checked)]:
        del tokens[token.id]
    return tokens


def now_ms(context: RequestContext) -> int:
    """Return the cluster's present time in milliseconds since 1970."""
    return round(context.cluster.clock.time() * 1000)


async def create_delegation_token(request: Any, context: RequestContext) -> Any:
    """CreateDelegationToken (38), v1-3: creates a token for the principal, or for another one (KIP-48, KIP-373).

    Create the token, and return it with its HMAC.

    The client must have logged in without a token. For another owner, it needs CREATE_TOKENS on that user.

    Version notes:
    - v2: flexible.
    - v3: the owner.

    Differences from Kafka: brokers need no delegation.token.secret.key, and know a new token at once.
    """
    asking = context.principal
    name = getattr(request, "owner_principal_name", None)
    owner = f"{request.owner_principal_type}:{name}" if name else asking
    renewers = tuple(f"{each.principal_type}:{each.principal_name}" for each in request.renewers)
    code = _refused(context)
    if not code and any(not each.startswith("User:") for each in renewers):
        code = ErrorCode.invalid_principal_type
    if not code and owner != asking and not context.allowed("CREATE_TOKENS", "USER", owner):
        code = ErrorCode.delegation_token_authorization_failed
    if code:
        nothing = Token("", owner, asking, (), -1, -1, -1)
        return context.answer(error_code=code, **{**_fields(nothing), "hmac": b""})
    now, wanted = now_ms(context), round(request.max_lifetime.total_seconds() * 1000)
    last = now + (min(wanted, LIFETIME_MS) if wanted > 0 else LIFETIME_MS)
    token = Token(uuid4().hex[:22], owner, asking, renewers, now, min(last, now + PERIOD_MS), last)
    context.state.tokens[token.id] = token
    context.state.touch()
    return context.answer(**_fields(token))


def _fields(token: Token) -> dict[str, Any]:
    """Return the fields of a token that the responses to CreateDelegationToken and DescribeDelegationToken have in
    common.
    """
    type_, _, name = token.owner.partition(":")
    asked_type, _, asked_name = token.requester.partition(":")
    return {
        "principal_type": type_,
        "principal_name": name,
        "token_requester_principal_type": asked_type,
        "token_requester_principal_name": asked_name,
        "issue_timestamp": token.issued,
        "expiry_timestamp": token.expires,
        "max_timestamp": token.max_time,
        "token_id": token.id,
        "hmac": token.hmac,
    }


async def renew_delegation_token(request: Any, context: RequestContext) -> Any:
    """RenewDelegationToken (39), v1-2: moves a token's expiry, at most to the end of its lifetime (KIP-48).

    Renew the token with this HMAC, and return its expiry time.

    The client must have logged in without a token, as the token's owner or one of its renewers. A renewal is valid for
    a day at most (delegation.token.expiry.time.ms).

    Version notes:
    - v2: flexible.
    """
    period = round(request.renew_period.total_seconds() * 1000)
    longest = min(period, PERIOD_MS) if period > 0 else PERIOD_MS
    return _with_expiry(context, bytes(request.hmac), longest, (_over, _not_its_owners))


Check = Callable[[RequestContext, Token], ErrorCode]
"""Function that checks whether a client may change a token's expiry. It returns an error code; ErrorCode.none if it
may.
"""


def _with_expiry(context: RequestContext, proof: bytes, period: int, checks: Sequence[Check]) -> Any:
    """Set the expiry of the token with this HMAC, at most to the end of its lifetime, and return the response.

    Args:
        proof: the HMAC in the request.
        period: milliseconds from now to the new expiry; a negative number removes the token.
        checks: the checks, in the order in which brokers apply them.
    """
    if code := _refused(context):
        return context.answer(error_code=code, expiry_timestamp=-1)
    token = next((each for each in _kept(context).values() if each.hmac == proof), None)
    if token is None:
        return context.answer(error_code=ErrorCode.delegation_token_not_found)
    for check in checks:
        if code := check(context, token):
            return context.answer(error_code=code)
    now = now_ms(context)
    if period < 0:
        del context.state.tokens[token.id]
        expires = now
    else:
        expires = min(token.max_time, now + period)
        context.state.tokens[token.id] = replace(token, expires=expires)
    context.state.touch()
    return context.answer(expiry_timestamp=expires)


def _not_its_owners(context: RequestContext, token: Token) -> ErrorCode:
    may = token.may_be_changed_by(context.principal)
    return ErrorCode.none if may else ErrorCode.delegation_token_owner_mismatch


def _over(context: RequestContext, token: Token) -> ErrorCode:
    return ErrorCode.delegation_token_expired if token.has_ended(now_ms(context)) else ErrorCode.none


async def expire_delegation_token(request: Any, context: RequestContext) -> Any:
    """ExpireDelegationToken (40), v1-2: sets a token's expiry to the end of a period, or removes it at once (KIP-48).

    Set the expiry of the token with this HMAC; a negative period removes the token.

    The client must have logged in without a token, as the token's owner or one of its renewers.

    Version notes:
    - v2: flexible.
    """
    period = round(request.expiry_time_period.total_seconds() * 1000)
    checks = (_not_its_owners, _over) if period >= 0 else (_not_its_owners,)
    return _with_expiry(context, bytes(request.hmac), period, checks)


async def describe_delegation_token(request: Any, context: RequestContext) -> Any:
    """DescribeDelegationToken (41), v1-3: tokens with their HMACs (KIP-48).

    Return the tokens of the owners in the request, or all, as far as the principal may see them: those that it owns,
    requested or may renew, and others for which it has DESCRIBE on the token.

    The client must have logged in without a token.

    Version notes:
    - v2: flexible.
    - v3: the requester.
    """
    if code := _refused(context):
        return context.answer(error_code=code)
    tokens = [token for token in _kept(context).values() if _may_see(context, token)]
    if request.owners is not None:
        owners = {f"{each.principal_type}:{each.principal_name}" for each in request.owners}
        tokens = [token for token in tokens if token.owner in owners]
    return context.answer(tokens=tuple(_described(context, token) for token in tokens))


def _may_see(context: RequestContext, token: Token) -> bool:
    return token.may_be_seen_by(context.principal) or context.allowed("DESCRIBE", "DELEGATION_TOKEN", token.id)


def _described(context: RequestContext, token: Token) -> Any:
    renewers = (each.partition(":") for each in token.renewers)
    return context.part(
        "DescribedDelegationToken",
        **_fields(token),
        renewers=tuple(
            context.part("DescribedDelegationTokenRenewer", principal_type=kind, principal_name=who)
            for kind, _, who in renewers
        ),
    )

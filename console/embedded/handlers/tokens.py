"""Delegation tokens: making, renewing, expiring and describing them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

from kio.schema.errors import ErrorCode

from console.embedded import token_requests
from console.embedded.context import RequestContext
from console.embedded.tokens import LIFETIME_MS, PERIOD_MS, Token
from console.wire.schemas import for_version


async def create_delegation_token(request: Any, context: RequestContext) -> Any:
    """CreateDelegationToken (38), v1-3: makes a token for the principal, or for another one (KIP-48, KIP-373).

    Make the token, and return it with its HMAC.

    Needs a login of the connection's own, and for another owner CREATE_TOKENS on the user.

    Version notes:
    - v2: flexible.
    - v3: the owner.

    Differences from Kafka: brokers need no delegation.token.secret.key for it, and know of a token at once.
    """
    asking = context.principal
    name = getattr(request, "owner_principal_name", None)
    owner = f"{request.owner_principal_type}:{name}" if name else asking
    renewers = tuple(f"{each.principal_type}:{each.principal_name}" for each in request.renewers)
    code = token_requests.refused(context)
    if not code and any(not each.startswith("User:") for each in renewers):
        code = ErrorCode.invalid_principal_type
    if not code and owner != asking and not context.allowed("CREATE_TOKENS", "USER", owner):
        code = ErrorCode.delegation_token_authorization_failed
    if code:
        return _answer(context, code, Token("", owner, asking, (), -1, -1, -1), b"")
    now, wanted = token_requests.now_ms(context), round(request.max_lifetime.total_seconds() * 1000)
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


async def renew_delegation_token(request: Any, context: RequestContext) -> Any:
    """RenewDelegationToken (39), v1-2: moves a token's expiry, at most to the end of its lifetime (KIP-48).

    Renew the token with this HMAC, and return when it expires.

    Needs a login of the connection's own, as the token's owner or one of its renewers. Each renewal is for a day at
    most (delegation.token.expiry.time.ms).

    Version notes:
    - v2: flexible.
    """
    token = token_requests.to_change(context, bytes(request.hmac))
    if isinstance(token, Token):
        token = token_requests.over(context, token) or token_requests.not_its_owners(context, token) or token
    if isinstance(token, token_requests.Unchanged):
        return context.answer(error_code=token.code, expiry_timestamp=token.expires)
    period = round(request.renew_period.total_seconds() * 1000)
    expires = min(
        token.max_time, token_requests.now_ms(context) + (min(period, PERIOD_MS) if period > 0 else PERIOD_MS)
    )
    context.state.tokens[token.id] = replace(token, expires=expires)
    context.state.touch()
    return context.answer(error_code=ErrorCode.none, expiry_timestamp=expires)


async def expire_delegation_token(request: Any, context: RequestContext) -> Any:
    """ExpireDelegationToken (40), v1-2: has a token expire after a period, or at once (KIP-48).

    Set when the token with this HMAC expires; a negative period removes it.

    Needs a login of the connection's own, as the token's owner or one of its renewers.

    Version notes:
    - v2: flexible.
    """
    token, now = token_requests.to_change(context, bytes(request.hmac)), token_requests.now_ms(context)
    period = round(request.expiry_time_period.total_seconds() * 1000)
    if isinstance(token, Token):
        token = (
            token_requests.not_its_owners(context, token)
            or (token_requests.over(context, token) if period >= 0 else None)
            or token
        )
    if isinstance(token, token_requests.Unchanged):
        return context.answer(error_code=token.code, expiry_timestamp=token.expires)
    expires = min(token.max_time, now + period) if period >= 0 else now
    if period < 0:
        del context.state.tokens[token.id]
    else:
        context.state.tokens[token.id] = replace(token, expires=expires)
    context.state.touch()
    return context.answer(error_code=ErrorCode.none, expiry_timestamp=expires)


async def describe_delegation_token(request: Any, context: RequestContext) -> Any:
    """DescribeDelegationToken (41), v1-3: tokens with their HMACs (KIP-48).

    Return the tokens of some owners, or all that may be seen.

    Needs a login of the connection's own. A principal sees tokens that it owns, asked for or may renew, and others with
    DESCRIBE on the token.

    Version notes:
    - v2: flexible.
    - v3: who asked for it.
    """
    code = token_requests.refused(context)
    owners = (
        None if request.owners is None else {f"{each.principal_type}:{each.principal_name}" for each in request.owners}
    )
    found = (
        []
        if code
        else [token for token in token_requests.kept(context).values() if owners is None or token.owner in owners]
    )
    return context.answer(
        error_code=code, tokens=tuple(_described(context, token) for token in found if _may_see(context, token))
    )


def _may_see(context: RequestContext, token: Token) -> bool:
    asking = context.principal
    return token.may_be_seen_by(asking) or context.allowed("DESCRIBE", "DELEGATION_TOKEN", token.id)


def _described(context: RequestContext, token: Token) -> Any:
    schema = context.schema
    type_, _, name = token.owner.partition(":")
    asked_type, _, asked_name = token.requester.partition(":")
    return for_version(
        schema.DescribedDelegationToken,
        principal_type=type_,
        principal_name=name,
        token_requester_principal_type=asked_type,
        token_requester_principal_name=asked_name,
        issue_timestamp=token.issued,
        expiry_timestamp=token.expires,
        max_timestamp=token.max_time,
        token_id=token.id,
        hmac=token.hmac,
        renewers=tuple(
            schema.DescribedDelegationTokenRenewer(principal_type=kind, principal_name=who)
            for kind, _, who in (each.partition(":") for each in token.renewers)
        ),
    )

"""Delegation tokens (KIP-48): described without what proves them, made, renewed and expired.

Brokers return the HMAC of each token with its description, and know a token by it: it is read again right before a
token is renewed or expired, and kept nowhere. Only that of a new token is handed on, with its outcome.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any

from console.admin.delivery import Answer, deliver
from console.admin.errors import BrokerError, failure
from console.admin.link import ANY, CONTROLLER, Link, Route
from console.model.changes import (
    CreateToken,
    ExpireToken,
    MadeToken,
    NewToken,
    Outcome,
    RenewToken,
    Status,
    TokenTarget,
)
from console.model.cluster import DelegationToken
from console.model.failure import Failure
from console.model.secret import Secret

DESCRIBE = "describe_delegation_token"
OWNER_SINCE = 3
"""The first version of CreateDelegationToken that makes a token of another owner (KIP-373)."""
GONE = Failure("DELEGATION_TOKEN_NOT_FOUND", "", "The token is gone: it was cancelled or has expired. Make a new one.")


async def describe_tokens(link: Link) -> dict[str, DelegationToken]:
    """Return the tokens that the principal may see, by id: its own, those that it may renew, and others for which it
    has Describe on DELEGATION_TOKEN. Raises BrokerError where tokens are off, or the connection has no login of its
    own, and other AdminErrors."""
    return {token.id: token for token, _ in await _described(link)}


async def _described(link: Link, to: Route = ANY) -> list[tuple[DelegationToken, bytes]]:
    """Return the tokens, each with its HMAC."""
    await link.require(DESCRIBE, 1, "1.1", to)

    def build(kio: ModuleType) -> Any:
        return kio.DescribeDelegationTokenRequest(owners=None)

    response = await link.call(DESCRIBE, build, to=to)
    if response.error_code:
        raise BrokerError(failure(response.error_code))
    return sorted(((_token(each), bytes(each.hmac)) for each in response.tokens), key=lambda pair: pair[0].id)


def _token(described: Any) -> DelegationToken:
    owner = _principal(described.principal_type, described.principal_name)
    # Before version 3 the principal that asks for a token is its owner.
    requester = getattr(described, "token_requester_principal_name", "")
    return DelegationToken(
        described.token_id,
        owner,
        _principal(described.token_requester_principal_type, requester) if requester else owner,
        described.issue_timestamp,
        described.expiry_timestamp,
        described.max_timestamp,
        tuple(sorted(_principal(each.principal_type, each.principal_name) for each in described.renewers)),
    )


def _principal(type_: str, name: str) -> str:
    return f"{type_}:{name}"


# Changes. None of these APIs has a validate-only form.


async def create_token(link: Link, request: CreateToken, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Send that a token is made; its outcome has the id and the HMAC, which is not read again. Raises AdminError if
    nothing was sent.

    Where the answer is lost, whether a token was made stays unknown: it may be another of the same owner.
    """
    await link.require(
        "create_delegation_token", OWNER_SINCE if request.owner else 1, "3.3" if request.owner else "1.1"
    )
    target = NewToken(request.owner)
    if validate_only:
        return (Outcome(target, Status.UNCHECKED),)
    made: MadeToken | None = None

    async def send(targets: Sequence[NewToken]) -> Mapping[NewToken, Answer]:
        nonlocal made

        def build(kio: ModuleType) -> Any:
            from console.wire.schemas import for_version

            type_, _, name = request.owner.partition(":")
            return for_version(
                kio.CreateDelegationTokenRequest,
                owner_principal_type=type_ if request.owner else None,
                owner_principal_name=name if request.owner else None,
                renewers=tuple(
                    kio.CreatableRenewers(principal_type=kind, principal_name=who)
                    for kind, _, who in (renewer.partition(":") for renewer in request.renewers)
                ),
                max_lifetime=timedelta(milliseconds=request.lifetime_ms),
            )

        response = await link.call("create_delegation_token", build, to=CONTROLLER, change=True)
        if not response.error_code:
            made = MadeToken(response.token_id, Secret(base64.b64encode(bytes(response.hmac)).decode()))
        return dict.fromkeys(targets, (response.error_code, None))

    async def describe_again(targets: Sequence[NewToken]) -> Mapping[NewToken, Status]:
        if made is None:
            return dict.fromkeys(targets, Status.UNKNOWN)
        there = made.id in await describe_tokens(link)
        return dict.fromkeys(targets, Status.APPLIED if there else Status.NOT_APPLIED)

    outcomes = await deliver(link.settings, [target], send, describe_again, validate_only=False)
    return tuple(Outcome(each.target, each.status, each.failure, made=made) for each in outcomes.values())


async def renew_token(link: Link, request: RenewToken, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Send the renewal of a token, for a period from now on, at most to the end of its lifetime. Raises AdminError if
    nothing was sent."""
    return await _change(link, "renew_delegation_token", request.id, request.period_ms, validate_only=validate_only)


async def expire_token(link: Link, request: ExpireToken, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Send that a token expires after a period, or at once. Raises AdminError if nothing was sent."""
    return await _change(link, "expire_delegation_token", request.id, request.period_ms, validate_only=validate_only)


async def _change(link: Link, api: str, token_id: str, period_ms: int, *, validate_only: bool) -> tuple[Outcome, ...]:
    await link.require(api, 1, "1.1")
    target = TokenTarget(token_id)
    known = {token.id: (token, hmac) for token, hmac in await _described(link)}
    if token_id not in known:
        return (Outcome(target, Status.FAILED, GONE),)
    if validate_only:
        return (Outcome(target, Status.UNCHECKED),)
    before, hmac = known[token_id]
    expires: int | None = None

    async def send(targets: Sequence[TokenTarget]) -> Mapping[TokenTarget, Answer]:
        nonlocal expires

        def build(kio: ModuleType) -> Any:
            period = timedelta(milliseconds=period_ms)
            if api.startswith("renew"):
                return kio.RenewDelegationTokenRequest(hmac=hmac, renew_period=period)
            return kio.ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period=period)

        response = await link.call(api, build, to=CONTROLLER, change=True)
        if not response.error_code:
            expires = int(response.expiry_timestamp)
        return dict.fromkeys(targets, (response.error_code, None))

    async def describe_again(targets: Sequence[TokenTarget]) -> Mapping[TokenTarget, Status]:
        now = (await describe_tokens(link)).get(token_id)
        return dict.fromkeys(targets, _verdict(api, before, now, expires, period_ms))

    outcomes = await deliver(link.settings, [target], send, describe_again, validate_only=False)
    return tuple(outcomes.values())


def _verdict(
    api: str, before: DelegationToken, now: DelegationToken | None, expires: int | None, period_ms: int
) -> Status:
    """Return what became of a change. expires: what the broker answered, None where its answer was lost."""
    if api.startswith("expire") and period_ms < 0:
        return Status.APPLIED if now is None else Status.NOT_APPLIED
    if now is None:
        return Status.UNKNOWN
    if expires is not None:
        return Status.APPLIED if now.expires == expires else Status.NOT_APPLIED
    return Status.NOT_APPLIED if now.expires == before.expires else Status.APPLIED

"""Delegation tokens (KIP-48): reading them without their secrets, creating, renewing and expiring them.

The HMAC of a token is its secret. Brokers return the HMAC together with the token's description, and a request names a
token by its HMAC. kac does not store HMACs: it reads one again right before it renews or expires the token. Only the
HMAC of a new token leaves this module, in the outcome of its creation.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from types import ModuleType
from typing import Any, TypeVar

from console.admin.delivery import Answer, Sender, Senders, applied_if
from console.admin.errors import check
from console.admin.link import ANY, Link, Route
from console.model import changes, tokens
from console.model.failure import Failure
from console.model.secret import Secret
from console.wire.fields import for_version

DESCRIBE = "describe_delegation_token"
OWNER_SINCE = 3
"""The first version of CreateDelegationToken that can create a token for another owner (KIP-373)."""
GONE = Failure("DELEGATION_TOKEN_NOT_FOUND", "", "The token is gone: it was cancelled or has expired. Make a new one.")


async def describe_tokens(link: Link) -> dict[str, tokens.DelegationToken]:
    """Return id -> delegation token, for the tokens that the principal may see: its own, those that it may renew, and
    others for which it has Describe on DELEGATION_TOKEN. Raises BrokerError if the brokers have delegation tokens
    disabled, or if the connection has no login, and other AdminErrors.
    """
    return {token.id: token for token, _ in await _described(link)}


async def _described(link: Link, to: Route = ANY) -> list[tuple[tokens.DelegationToken, bytes]]:
    """Return the delegation tokens, each with its HMAC."""
    await link.require(DESCRIBE, 1, "1.1", to)

    def build(kio: ModuleType) -> Any:
        return kio.DescribeDelegationTokenRequest(owners=None)

    response = await link.call(DESCRIBE, build, to=to)
    check(response)
    return sorted(((_token(each), bytes(each.hmac)) for each in response.tokens), key=lambda pair: pair[0].id)


def _token(described: Any) -> tokens.DelegationToken:
    owner = _principal(described.principal_type, described.principal_name)
    # Before version 3, the requester of a token is always its owner.
    requester = getattr(described, "token_requester_principal_name", "")
    return tokens.DelegationToken(
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


class _Making(Sender[tokens.CreateToken, tokens.NewToken]):
    """Creates a token; the outcome has its id and HMAC. If the response is lost, the outcome stays UNKNOWN, since a new
    token in the listing may be another one of the same owner.
    """

    _made: changes.ShownOnce | None = None

    def targets(self) -> tuple[tokens.NewToken]:
        return (tokens.NewToken(self.request.owner),)

    async def require(self) -> None:
        of_another = bool(self.request.owner)
        await self.link.require(self.api, OWNER_SINCE if of_another else 1, "3.3" if of_another else "1.1")

    async def deliver(self, targets: Sequence[tokens.NewToken]) -> dict[tokens.NewToken, changes.Outcome]:
        outcomes = await super().deliver(targets)
        return {target: replace(each, made=self._made) for target, each in outcomes.items()}

    def build(self, kio: ModuleType, _targets: Sequence[tokens.NewToken]) -> Any:
        owner = self.request.owner
        type_, _, name = owner.partition(":")
        return for_version(
            kio.CreateDelegationTokenRequest,
            owner_principal_type=type_ if owner else None,
            owner_principal_name=name if owner else None,
            renewers=tuple(
                kio.CreatableRenewers(principal_type=kind, principal_name=who)
                for kind, _, who in (renewer.partition(":") for renewer in self.request.renewers)
            ),
            max_lifetime=timedelta(milliseconds=self.request.lifetime_ms),
        )

    def answers(self, response: Any, targets: Sequence[tokens.NewToken]) -> Mapping[tokens.NewToken, Answer]:
        if not response.error_code:
            hmac = Secret(base64.b64encode(bytes(response.hmac)).decode())
            elsewhere = "kafka-delegation-tokens --describe has it"
            self._made = changes.ShownOnce("token", response.token_id, "HMAC", hmac, elsewhere)
        return super().answers(response, targets)

    async def describe_again(self, targets: Sequence[tokens.NewToken]) -> dict[tokens.NewToken, changes.Status]:
        if self._made is None:
            return dict.fromkeys(targets, changes.Status.UNKNOWN)
        return dict.fromkeys(targets, applied_if(self._made.id in await describe_tokens(self.link)))


K = TypeVar("K", bound=tokens.RenewToken | tokens.ExpireToken)


class _OfToken(Sender[K, tokens.TokenTarget]):
    """The base class of changes that set a token's expiry to some time from now."""

    _known: tuple[tokens.DelegationToken, bytes] | None = None
    _expires: int | None = None

    def targets(self) -> tuple[tokens.TokenTarget]:
        return (tokens.TokenTarget(self.request.id),)

    async def require(self) -> None:
        await self.link.require(self.api, 1, "1.1")

    async def refused(self) -> dict[tokens.TokenTarget, changes.Outcome]:
        known = {token.id: (token, hmac) for token, hmac in await _described(self.link)}
        self._known = known.get(self.request.id)
        return {
            target: changes.Outcome(target, changes.Status.FAILED, GONE)
            for target in self.targets()
            if self._known is None
        }

    def build(self, kio: ModuleType, _targets: Sequence[tokens.TokenTarget]) -> Any:
        assert self._known is not None
        return self.built(kio, self._known[1], timedelta(milliseconds=self.request.period_ms))

    def built(self, kio: ModuleType, hmac: bytes, period: timedelta) -> Any:
        raise NotImplementedError

    def answers(self, response: Any, targets: Sequence[tokens.TokenTarget]) -> Mapping[tokens.TokenTarget, Answer]:
        if not response.error_code:
            self._expires = int(response.expiry_timestamp)
        return super().answers(response, targets)

    async def describe_again(self, targets: Sequence[tokens.TokenTarget]) -> dict[tokens.TokenTarget, changes.Status]:
        return dict.fromkeys(targets, self.verdict((await describe_tokens(self.link)).get(self.request.id)))

    def verdict(self, now: tokens.DelegationToken | None) -> changes.Status:
        """Return the status of the change according to the token's present state; UNKNOWN if the token is missing, or
        its state before the change is unknown.
        """
        if now is None or self._known is None:
            return changes.Status.UNKNOWN
        if self._expires is not None:  # the answer arrived, and had the new expiry
            return applied_if(now.expires == self._expires)
        return applied_if(now.expires != self._known[0].expires)


class _Renewal(_OfToken[tokens.RenewToken]):
    """Renews a token, but not beyond the end of its maximum lifetime."""

    def built(self, kio: ModuleType, hmac: bytes, period: timedelta) -> Any:
        return kio.RenewDelegationTokenRequest(hmac=hmac, renew_period=period)


class _Expiration(_OfToken[tokens.ExpireToken]):
    def built(self, kio: ModuleType, hmac: bytes, period: timedelta) -> Any:
        return kio.ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period=period)

    def verdict(self, now: tokens.DelegationToken | None) -> changes.Status:
        return applied_if(now is None) if self.request.period_ms < 0 else super().verdict(now)


SENDERS: Senders = {
    tokens.CreateToken: _Making,
    tokens.RenewToken: _Renewal,
    tokens.ExpireToken: _Expiration,
}

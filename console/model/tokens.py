"""Delegation tokens (KIP-48): tokens as brokers describe them, whether a token ends soon, and the requests that change
tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from msgspec import Struct

from console.model.changes import ChangeRequest, OwnTarget
from console.model.cluster import Broker
from console.model.config import ConfigResource, ConfigSet, broker_resource, entry_in
from console.model.numbers import long_number
from console.model.parts import Part


class DelegationToken(Struct, frozen=True):
    """A delegation token as brokers describe it, without its HMAC (KIP-48).

    Attributes:
        owner: the principal of clients that log in with the token, as ``User:alice``.
        requester: the principal that requested it.
        issued, expires, max_time: ms since 1970; no renewal lasts beyond max_time.
        renewers: principals that may renew and expire it, in addition to its owner.
    """

    id: str
    owner: str
    requester: str
    issued: int
    expires: int
    max_time: int
    renewers: tuple[str, ...] = ()


_MINUTE, _DAY = 60_000, 86_400_000
PERIOD_KEY, PERIOD_MS = "delegation.token.expiry.time.ms", _DAY
"""The key of a token's lifetime after its creation or renewal, and the default in milliseconds."""
UNATTENDED, LATE = 4, 20
"""Divisors of a token's lifetime for its last part, before which it should have been renewed: a quarter, or a twentieth
if the token has a renewer or was renewed before. Programs renew after three quarters, or after nine tenths."""


def period_ms(brokers: Iterable[Broker], configs: Mapping[ConfigResource, ConfigSet]) -> int:
    """Return the milliseconds from a token's creation or renewal to its expiry, as configured on the first broker with
    a readable value; Kafka's default if no broker has one.
    """
    for broker in brokers:
        entry = entry_in(configs, broker_resource(broker.id), PERIOD_KEY)
        if entry is not None and (found := long_number(entry.value)):
            return found
    return PERIOD_MS


def ends_soon(token: DelegationToken, now: int, period: int) -> bool:
    """Return whether a token ends within a day, although programs should have renewed it by now. False for a token that
    has ended.

    A program should have renewed a token once less than a quarter of its period is left; once less than a twentieth is
    left if the token has a renewer or was renewed before. If the token can't be renewed any further, less than a
    quarter of its whole lifetime must be left instead.

    Args:
        now: ms since 1970.
        period: the milliseconds from a renewal to the expiry (`period_ms`).
    """
    left = token.expires - now
    if token.expires >= token.max_time:  # it can't be renewed any further
        return 0 < left < min(_DAY, (token.max_time - token.issued) // UNATTENDED)
    was_renewed = token.expires - token.issued > period + _MINUTE
    share = LATE if was_renewed or token.renewers else UNATTENDED
    return 0 < left < min(_DAY, period // share)


def is_replaced(token: DelegationToken, tokens: Iterable[DelegationToken]) -> bool:
    """Return whether the owner of a token has a newer token that expires later: some programs create a token instead of
    renewing one.
    """
    return any(
        each.owner == token.owner and each.issued > token.issued and each.expires > token.expires for each in tokens
    )


class NewToken(OwnTarget, frozen=True):
    """The target of a change: a token that is to be created."""

    part: ClassVar[Part | None] = Part.TOKENS

    owner: str = ""
    """The principal that will own the token; ``""`` for the principal that requests it."""

    @property
    def title(self) -> str:
        """The text "token" and the owner, for messages."""
        return f"a token of {self.owner}" if self.owner else "a token"


class TokenTarget(OwnTarget, frozen=True):
    """The target of a change: an existing token, by its id."""

    text: ClassVar[str] = "token {0.id}"
    part: ClassVar[Part | None] = Part.TOKENS

    id: str


class CreateToken(ChangeRequest, frozen=True):
    """A CreateDelegationToken request."""

    sender: ClassVar[str] = "tokens"
    kafka_name: ClassVar[str] = "CreateDelegationToken"

    owner: str = ""
    renewers: tuple[str, ...] = ()
    lifetime_ms: int = -1
    """The maximum lifetime in milliseconds; -1 for the broker's configured one."""

    @property
    def content(self) -> str:
        """The text "token" and the owner."""
        return NewToken(self.owner).title


class TokenChange(ChangeRequest, frozen=True):
    """A request that changes a token's expiry time."""

    sender: ClassVar[str] = "tokens"
    about: ClassVar[str] = "token {0.id}"

    id: str
    period_ms: int = -1
    """The milliseconds from now to the new expiry time; -1 has a meaning of its own in each subclass."""


class RenewToken(TokenChange, frozen=True):
    """A RenewDelegationToken request. period_ms -1: the broker's configured period."""

    kafka_name: ClassVar[str] = "RenewDelegationToken"


class ExpireToken(TokenChange, frozen=True):
    """An ExpireDelegationToken request. period_ms -1: the token expires immediately."""

    kafka_name: ClassVar[str] = "ExpireDelegationToken"

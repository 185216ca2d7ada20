"""Delegation tokens (KIP-48): a token as brokers describe it, and the requests that change tokens."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from console.model.changes import ChangeRequest, OwnTarget
from console.model.parts import Part


class DelegationToken(Struct, frozen=True):
    """A delegation token as brokers describe it, without its HMAC (KIP-48).

    Attributes:
        owner: the principal of clients that log in with the token, as ``User:alice``.
        requester: the principal that requested it.
        issued, expires, max_time: Unix milliseconds; it can be renewed up to max_time.
        renewers: principals that may renew and expire it, in addition to its owner.
    """

    id: str
    owner: str
    requester: str
    issued: int
    expires: int
    max_time: int
    renewers: tuple[str, ...] = ()


class NewToken(OwnTarget, frozen=True):
    """A token to create. owner: a principal, ``""`` for the requester."""

    part: ClassVar[Part | None] = Part.TOKENS

    owner: str = ""

    @property
    def title(self) -> str:
        """The token and its owner."""
        return f"a token of {self.owner}" if self.owner else "a token"


class TokenTarget(OwnTarget, frozen=True):
    """A token, by its id."""

    text: ClassVar[str] = "token {0.id}"
    part: ClassVar[Part | None] = Part.TOKENS

    id: str


class CreateToken(ChangeRequest, frozen=True):
    """One CreateDelegationToken. lifetime_ms: the maximum lifetime, -1 for the broker's configured one."""

    kafka_name: ClassVar[str] = "CreateDelegationToken"

    owner: str = ""
    renewers: tuple[str, ...] = ()
    lifetime_ms: int = -1

    @property
    def content(self) -> str:
        """The token and its owner."""
        return NewToken(self.owner).title


class TokenChange(ChangeRequest, frozen=True):
    """A change of a token's expiry. period_ms: from now on, or -1."""

    about: ClassVar[str] = "token {0.id}"

    id: str
    period_ms: int = -1


class RenewToken(TokenChange, frozen=True):
    """One RenewDelegationToken. period_ms: -1 for the broker's configured period."""

    kafka_name: ClassVar[str] = "RenewDelegationToken"


class ExpireToken(TokenChange, frozen=True):
    """One ExpireDelegationToken. period_ms: -1 to expire it immediately."""

    kafka_name: ClassVar[str] = "ExpireDelegationToken"

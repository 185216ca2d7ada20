"""Delegation tokens as the embedded cluster keeps them (KIP-48; DelegationTokenControlManager), as data."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

LIFETIME_MS: Final = 7 * 86_400_000
"""delegation.token.max.lifetime.ms, by default."""
PERIOD_MS: Final = 86_400_000
"""delegation.token.expiry.time.ms, by default."""
_KEY = b"embedded"


@dataclass(frozen=True, slots=True)
class Token:
    """A token. Principals are ``User:alice``; times are Unix milliseconds."""

    id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued: int
    expires: int
    max_time: int

    @property
    def hmac(self) -> bytes:
        """What proves it."""
        return hmac.new(_KEY, self.id.encode(), hashlib.sha512).digest()

    def may_be_changed_by(self, principal: str) -> bool:
        """Return whether a principal may renew and expire it."""
        return principal in (self.owner, self.requester, *self.renewers)

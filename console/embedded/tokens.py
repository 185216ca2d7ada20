"""Delegation tokens as the embedded cluster keeps them (KIP-48; DelegationTokenControlManager), as data."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from dataclasses import dataclass
from typing import Final

LIFETIME_MS: Final = 7 * 86_400_000
"""delegation.token.max.lifetime.ms, by default."""
PERIOD_MS: Final = 86_400_000
"""delegation.token.expiry.time.ms, by default."""
CHECK_MS: Final = 3_600_000
"""delegation.token.expiry.check.interval.ms, by default: until then a token is there that has ended."""
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

    @property
    def password(self) -> str:
        """What a client logs in with, by SCRAM, beside the id as the user's name."""
        return b64encode(self.hmac).decode()

    def may_be_changed_by(self, principal: str) -> bool:
        """Return whether a principal may renew and expire it: who asked for another's may not."""
        return principal in (self.owner, *self.renewers)

    def may_be_seen_by(self, principal: str) -> bool:
        """Return whether a principal sees it without a right."""
        return self.may_be_changed_by(principal) or principal == self.requester

    def has_ended(self, now: int) -> bool:
        """Return whether its time is over. now: Unix milliseconds."""
        return min(self.expires, self.max_time) < now

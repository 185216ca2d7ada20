"""Delegation tokens of the embedded cluster, as data (KIP-48; DelegationTokenControlManager)."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from dataclasses import dataclass
from typing import Final

LIFETIME_MS: Final = 7 * 86_400_000
"""The default of delegation.token.max.lifetime.ms."""
PERIOD_MS: Final = 86_400_000
"""The default of delegation.token.expiry.time.ms."""
CHECK_MS: Final = 3_600_000
"""The default of delegation.token.expiry.check.interval.ms: an expired token stays until the next check."""
_KEY = b"embedded"


@dataclass(frozen=True, slots=True)
class Token:
    """A delegation token. Principals are ``User:alice``; times are Unix milliseconds."""

    id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued: int
    expires: int
    max_time: int

    @property
    def hmac(self) -> bytes:
        """The HMAC that authenticates the token."""
        return hmac.new(_KEY, self.id.encode(), hashlib.sha512).digest()

    @property
    def password(self) -> str:
        """The password for a SCRAM login, with the token's id as the user name."""
        return b64encode(self.hmac).decode()

    def may_be_changed_by(self, principal: str) -> bool:
        """Return whether a principal may renew and expire the token. A requester that is not the owner may not."""
        return principal in (self.owner, *self.renewers)

    def may_be_seen_by(self, principal: str) -> bool:
        """Return whether a principal sees the token without a permission."""
        return self.may_be_changed_by(principal) or principal == self.requester

    def has_ended(self, now: int) -> bool:
        """Return whether the token has expired. now: Unix milliseconds."""
        return min(self.expires, self.max_time) < now

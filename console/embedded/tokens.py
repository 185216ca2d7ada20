"""The delegation tokens of the embedded cluster, as values (KIP-48; DelegationTokenControlManager)."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from dataclasses import dataclass
from typing import Final

LIFETIME_MS: Final = 7 * 86_400_000
"""The default of delegation.token.max.lifetime.ms, the maximum lifetime of a token."""
PERIOD_MS: Final = 86_400_000
"""The default of delegation.token.expiry.time.ms, the period after which a token expires unless it is renewed."""
CHECK_MS: Final = 3_600_000
"""The default of delegation.token.expiry.check.interval.ms: a token is deleted at the first check after its expiry."""
_KEY = b"embedded"


@dataclass(frozen=True, slots=True)
class Token:
    """A delegation token. Principals have a form such as ``User:alice``; times are milliseconds since 1970."""

    id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued: int
    expires: int
    max_time: int

    @property
    def hmac(self) -> bytes:
        """The HMAC, by which requests identify the token."""
        return hmac.new(_KEY, self.id.encode(), hashlib.sha512).digest()

    @property
    def password(self) -> str:
        """The password for a SCRAM login with the token; the user name is the token's id."""
        return b64encode(self.hmac).decode()

    def may_be_changed_by(self, principal: str) -> bool:
        """Return whether a principal may renew and expire the token: its owner and renewers may. A requester of the
        token who is not its owner may not.
        """
        return principal in (self.owner, *self.renewers)

    def may_be_seen_by(self, principal: str) -> bool:
        """Return whether a principal may see the token without a right to describe it."""
        return self.may_be_changed_by(principal) or principal == self.requester

    def has_ended(self, now: int) -> bool:
        """Return whether the token has expired at a time, in milliseconds since 1970."""
        return min(self.expires, self.max_time) < now

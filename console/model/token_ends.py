"""Delegation tokens that end soon, and are not renewed: for triage and for lint. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from console.model.config import broker_resource, entry_in
from console.model.numbers import long_number
from console.model.snapshot import Snapshot
from console.model.tokens import DelegationToken

_MINUTE, _DAY = 60_000, 86_400_000
PERIOD_KEY, PERIOD_MS = "delegation.token.expiry.time.ms", _DAY
"""The key of a token's lifetime after its creation or renewal, and its default in milliseconds."""
UNATTENDED, LATE = 4, 20
"""Divisors for the last part of a token's lifetime, in which it should have been renewed: a quarter, or a twentieth if
it has a renewer or was renewed before: programs renew after three quarters of the time, or after nine tenths.
"""


def period_ms(snapshot: Snapshot) -> int:
    """Return the lifetime of a token after its creation or renewal, in milliseconds, as a broker describes it."""
    for broker in snapshot.cluster.brokers:
        entry = entry_in(snapshot.configs, broker_resource(broker.id), PERIOD_KEY)
        if entry is not None and (found := long_number(entry.value)):
            return found
    return PERIOD_MS


def ends_soon(token: DelegationToken, now: int, period: int) -> bool:
    """Return whether a token ends within a day, and is past the time at which programs renew it."""
    left = token.expires - now
    if token.expires >= token.max_time:  # it can't be renewed further
        return 0 < left < min(_DAY, (token.max_time - token.issued) // UNATTENDED)
    was_renewed = token.expires - token.issued > period + _MINUTE
    share = LATE if was_renewed or token.renewers else UNATTENDED
    return 0 < left < min(_DAY, period // share)


def is_replaced(token: DelegationToken, tokens: Iterable[DelegationToken]) -> bool:
    """Return whether its owner has a newer one that lasts longer: some programs create a token instead of renewing."""
    return any(
        each.owner == token.owner and each.issued > token.issued and each.expires > token.expires for each in tokens
    )

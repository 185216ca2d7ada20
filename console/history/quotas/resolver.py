"""The quota that counts for a client, and who shares it: one answer for each quota key.

Source: ClientQuotaManager.DefaultQuotaCallback of Apache Kafka (KIP-55, KIP-546). A limit holds on each broker by
itself. `console.history.transforms.quota_levels` says the same as joins.

===== ======================== =============================
level entity                   who shares the limit
===== ======================== =============================
1     user, client             the user with that client id
2     user, default client     the user with that client id
3     user                     the user
4     default user, client     the user with that client id
5     default user and client  the user with that client id
6     default user             the user
7     client                   all who use the client id
8     default client           all who use the client id
===== ======================== =============================

A client that gives no client id falls under the levels 3 and 6 alone: a broker then looks for a limit of the user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..entities import quota_key

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
USAGE_KEYS = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE)
"""The keys whose use request logs show."""

USER_LEVELS = (3, 6)
"""The levels that all clients of a user share."""
CLIENT_LEVELS = (7, 8)
"""The levels that all users of a client id share."""
DEFAULT_CLIENT_LEVELS = (2, 5, 8)
"""The levels of a default client id: they do not hold for clients without any."""
OWN_LEVELS = (1, 3, 7)
"""The levels whose entity is named throughout, so that its limit is for one scope."""


@dataclass(frozen=True)
class Effective:
    """The limit that counts. value: bytes/s or %. level: 1, the most special, to 8."""

    value: float
    level: int


def level_keys(user: str, client: str) -> tuple[str, ...]:
    """The entities that a pair may fall under, spelled as in the tables; level 1 first."""
    return (
        quota_key({"user": user, "client-id": client}),
        quota_key({"user": user, "client-id": None}),
        quota_key({"user": user}),
        quota_key({"user": None, "client-id": client}),
        quota_key({"user": None, "client-id": None}),
        quota_key({"user": None}),
        quota_key({"client-id": client}),
        quota_key({"client-id": None}),
    )


def effective(quotas: Mapping[str, Mapping[str, float]], user: str, client: str, key: str) -> Effective | None:
    """The limit on `key` of a user's requests with a client id (may be empty); None where nothing limits them.

    quotas: limits by entity, spelled by `console.history.entities.quota_key`, and quota key.
    """
    for level, entity in enumerate(level_keys(user, client), start=1):
        if not client and level not in USER_LEVELS:
            continue
        value = quotas.get(entity, {}).get(key)
        if value is not None:
            return Effective(value, level)
    return None


def scope(level: int | None, user: str, client: str) -> tuple[str | None, str | None]:
    """Who shares the limit: (user, client id); None stands for all of them. Without a limit, the pair itself."""
    return (None if level in CLIENT_LEVELS else user, None if level in USER_LEVELS else client)

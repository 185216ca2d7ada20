"""Which quota applies to a client: the eight levels of KIP-55 and KIP-546, and what a limit is shared with.

Source: ClientQuotaManager.DefaultQuotaCallback. A limit holds on each broker by itself, not over the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity, QuotaValues

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"

CLIENT_KEYS = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE)
"""The keys of users and client ids."""

IP_KEYS = (CONNECTION_CREATION_RATE,)
"""The keys of addresses."""


@dataclass(frozen=True, slots=True)
class Level:
    """An entity that has a value for the key."""

    entity: QuotaEntity
    value: float


@dataclass(frozen=True, slots=True)
class Effective:
    """The limit that applies to one key, and the levels that it beat, the strongest first.

    shared: ``"client"`` (this user's connections with this client id), ``"user"`` (all clients of the user),
    ``"client-id"`` (everybody who uses the client id), ``"ip"`` (the address). It goes by the kind of the entity, not
    by whether it is a default: under a default, each gets the limit for itself.
    """

    key: str
    value: float
    entity: QuotaEntity
    beaten: tuple[Level, ...]
    shared: str


def levels(user: str, client: str) -> tuple[QuotaEntity, ...]:
    """The entities whose quotas a (user, client id) may fall under, the strongest first."""
    return tuple(
        QuotaEntity.of(parts)
        for parts in (
            {USER: user, CLIENT_ID: client},
            {USER: user, CLIENT_ID: None},
            {USER: user},
            {USER: None, CLIENT_ID: client},
            {USER: None, CLIENT_ID: None},
            {USER: None},
            {CLIENT_ID: client},
            {CLIENT_ID: None},
        )
    )


def ip_levels(address: str) -> tuple[QuotaEntity, ...]:
    """The entities whose quotas an address may fall under, the strongest first."""
    return (QuotaEntity.of({IP: address}), QuotaEntity.of({IP: None}))


def effective(quotas: Mapping[QuotaEntity, QuotaValues], user: str, client: str, key: str) -> Effective | None:
    """The limit on `key` for a user's connections with a client id; None where nothing limits them."""
    return _first(quotas, levels(user, client), key)


def effective_ip(quotas: Mapping[QuotaEntity, QuotaValues], address: str) -> Effective | None:
    """The limit on new connections per second from an address; None where nothing limits it."""
    return _first(quotas, ip_levels(address), CONNECTION_CREATION_RATE)


def _first(quotas: Mapping[QuotaEntity, QuotaValues], order: tuple[QuotaEntity, ...], key: str) -> Effective | None:
    found = [Level(entity, values[key]) for entity in order if (values := quotas.get(entity)) and key in values]
    if not found:
        return None
    winner, *beaten = found
    return Effective(key, winner.value, winner.entity, tuple(beaten), _shared(winner.entity))


def _shared(entity: QuotaEntity) -> str:
    if entity.has(USER) and entity.has(CLIENT_ID):
        return "client"
    return "user" if entity.has(USER) else "client-id" if entity.has(CLIENT_ID) else "ip"

"""Client quotas: entities, their values, and which of them applies to a client (KIP-55, KIP-546).

===== ======================== =============================
level entity                   shared by
===== ======================== =============================
1     user, client             the user with that client id
2     user, default client     the user with that client id
3     user                     the user
4     default user, client     the user with that client id
5     default user and client  the user with that client id
6     default user             the user
7     client                   all users of the client id
8     default client           all users of the client id
===== ======================== =============================

A client without a client id (empty or null) falls under the levels 3 and 6 alone: a broker then looks for a limit of
the user. A limit holds on each broker by itself, not over the cluster; the limit of mutations holds on the controller.

Sources: ClientQuotaEntity, ClientQuotaManager.DefaultQuotaCallback. Also runs on executors: Python 3.10, standard
library.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from itertools import chain
from typing import NamedTuple, cast

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"

_ORDER = {USER: 0, CLIENT_ID: 1, IP: 2}


def part_order(type_: str) -> tuple[int, str]:
    """Return the sort key of a component's type: user, client-id, ip, then other types by name."""
    return _ORDER.get(type_, len(_ORDER)), type_


class QuotaPart(NamedTuple):
    """One component of an entity: its type and its name; the name None means the default."""

    type: str
    name: str | None


class QuotaEntity(tuple[str | None, ...]):
    """The entity of a quota: its components, each a type and a name (None for the default), in the order user,
    client-id, ip, others.

    A type that brokers other than Kafka's add (``client-id-prefix``) is kept as received. The class is a flat tuple of
    types and names, so that each entity is one object: a cluster may have a million, which every read creates and
    hashes.
    """

    __slots__ = ()

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the entity's components: ``user``, ``client-id``, ``ip``, or another."""
        return cast("tuple[str, ...]", self[::2])

    @property
    def is_combined(self) -> bool:
        """Whether the entity has several components, such as a user and a client."""
        return len(self) > 2

    @property
    def parts(self) -> tuple[QuotaPart, ...]:
        """The entity's components, each with its type and name."""
        return tuple(map(QuotaPart, self.types, self[1::2]))

    @classmethod
    def of(cls, parts: Mapping[str, str | None]) -> QuotaEntity:
        """Return the entity with these components, type -> name: ``{"user": "alice", "client-id": None}``. The name
        None means the default.
        """
        return cls(chain.from_iterable((t, parts[t]) for t in sorted(parts, key=part_order)))

    def __repr__(self) -> str:
        return f"QuotaEntity({self.as_dict()!r})"

    def as_dict(self) -> dict[str, str | None]:
        """Return type -> name, as in JSON output; the name None means the default."""
        return dict(zip(self.types, self[1::2], strict=True))

    def has(self, type_: str) -> bool:
        """Return whether the entity has a component of this type."""
        return type_ in self.types

    def name_of(self, type_: str) -> str | None:
        """Return the name of the component of this type; None for the default.

        Raises:
            KeyError: the entity has no component of this type.
        """
        return self.as_dict()[type_]


QuotaValues = Mapping[str, float]
"""Quota key -> value, a double in the protocol: bytes/s, percent, mutations/s or connections/s."""


class Match(IntEnum):
    """How a component of a filter matches names (DescribeClientQuotasRequest). ANY_NAME also matches the default."""

    EXACT = 0
    DEFAULT = 1
    ANY_NAME = 2


class QuotaMatch(NamedTuple):
    """A component that an entity must have. `name` is used with EXACT only."""

    type: str
    match: Match
    name: str | None = None


class QuotaFilter(NamedTuple):
    """A filter for entities: those with all of these components and, if `strict`, no others.

    Without components it matches all entities; if it is strict and has no components, it matches no entity.
    """

    components: tuple[QuotaMatch, ...] = ()
    strict: bool = False

    def finds(self, entity: QuotaEntity) -> bool:
        """Return whether the filter matches an entity."""
        if self.strict and (not self.components or len(entity.types) != len(self.components)):
            return False
        return all(
            entity.has(c.type)
            and (c.match == Match.ANY_NAME or entity.name_of(c.type) == (c.name if c.match == Match.EXACT else None))
            for c in self.components
        )


def filter_for_name(type_: str, name: str | None, *, strict: bool = False) -> QuotaFilter:
    """Return the filter that matches entities with this component.

    Args:
        name: the name; None for the default.
        strict: whether to match only entities without further components.
    """
    match = QuotaMatch(type_, Match.DEFAULT) if name is None else QuotaMatch(type_, Match.EXACT, name)
    return QuotaFilter((match,), strict)


def filter_for_entity(entity: QuotaEntity) -> QuotaFilter:
    """Return the filter that matches exactly this entity."""
    return QuotaFilter(
        tuple(
            QuotaMatch(part.type, Match.DEFAULT) if part.name is None else QuotaMatch(part.type, Match.EXACT, part.name)
            for part in entity.parts
        ),
        strict=True,
    )


# -- the quota that applies --------------------------------------------------------------------------------------------

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"

CLIENT_KEYS = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE)
"""The keys that limit users and client ids."""

IP_KEYS = (CONNECTION_CREATION_RATE,)
"""The keys that limit addresses."""

QUOTA_KEYS = (*CLIENT_KEYS, *IP_KEYS)
"""All quota keys that Kafka defines."""


class QuotaKey(NamedTuple):
    """The meaning of a quota key, and how kac parses and shows its values.

    Attributes:
        unit: the unit of the values that are shown.
        suffix: text that an operator may write after a number; for byte rates, operators write amounts as ``10MB/s``.
        short: the heading of the key's column.
        about: the resource that the quota limits, as a help text.
        samples: the values that completion offers first.
        near_zero: the value below which a client is practically shut out: less than a batch header per second, or one
            request every few minutes.
        largest: the largest value of a key whose values are integers; None if values may have a fraction.
        adds_up: whether the whole cluster allows the limit times the number of brokers. False if the value is a
            percentage, or one node applies the limit for the cluster.
    """

    unit: str
    suffix: str
    short: str
    about: str
    samples: tuple[str, ...]
    near_zero: float
    largest: int | None
    adds_up: bool = True

    @property
    def is_byte_rate(self) -> bool:
        """Whether the quota limits a rate of bytes."""
        return self.unit == "B/s"


_LONG_MAX, _INT_MAX = 2**63 - 1, 2**31 - 1
_BYTE_RATES = ("1MB/s", "10MB/s", "100MB/s")

BY_KEY: Mapping[str, QuotaKey] = {
    PRODUCER_BYTE_RATE: QuotaKey(
        "B/s",
        "/s",
        "produce",
        "bytes per second that may be produced to each broker",
        _BYTE_RATES,
        1_000.0,
        _LONG_MAX,
    ),
    CONSUMER_BYTE_RATE: QuotaKey(
        "B/s",
        "/s",
        "consume",
        "bytes per second that may be fetched from each broker",
        _BYTE_RATES,
        1_000.0,
        _LONG_MAX,
    ),
    REQUEST_PERCENTAGE: QuotaKey(
        "%",
        "%",
        "request",
        "percent of the time of one request thread, on each broker",
        ("50%", "100%", "200%"),
        0.1,
        None,
        adds_up=False,
    ),
    CONTROLLER_MUTATION_RATE: QuotaKey(
        "mut/s",
        "/s",
        "ctrl",
        "partitions created or deleted per second, through the controller",
        ("5/s", "10/s", "50/s"),
        0.1,
        None,
        adds_up=False,  # only the active controller applies it (ControllerApis)
    ),
    CONNECTION_CREATION_RATE: QuotaKey(
        "conn/s",
        "/s",
        "conn",
        "new connections per second to each broker",
        ("10/s", "20/s", "100/s"),
        1.0,
        _INT_MAX,
    ),
}
"""Quota key -> its properties."""

USER_LEVELS = (3, 6)
"""The levels whose limit all clients of a user share."""
OWN_LEVELS = (1, 3, 7)
"""The levels of entities without a default component. Their limit applies to one user, one client id, or one pair of
both.
"""


class Level(NamedTuple):
    """An entity that has a value for a quota key, and the value in the key's unit."""

    entity: QuotaEntity
    value: float


class Effective(NamedTuple):
    """The limit that applies for one key, in the key's unit, and the entities whose limits it takes precedence over,
    the strongest first.
    """

    key: str
    value: float
    entity: QuotaEntity
    beaten: tuple[Level, ...]
    shared: str
    """The connections that share the limit: ``"client"`` (the user's connections with this client id), ``"user"`` (all
    clients of the user), ``"client-id"`` (all users of the client id), ``"ip"`` (the address). It depends on the types
    of the entity's components only: under a default, each name has a limit of its own.
    """

    @property
    def level(self) -> int:
        """The level of the quota's entity, 1 to 8; for addresses 1 or 2."""
        return level_of(self.entity)


def levels(user: str, client: str) -> tuple[QuotaEntity, ...]:
    """Return the entities of the eight levels for a user and a client id, level 1 first.

    All eight are returned for any arguments: for a client without a client id (``""``) only `USER_LEVELS` can apply.
    """
    # Build the entities directly, in the order that `QuotaEntity.of` gives: the computation of usage calls this for
    # each client.
    return (
        QuotaEntity((USER, user, CLIENT_ID, client)),
        QuotaEntity((USER, user, CLIENT_ID, None)),
        QuotaEntity((USER, user)),
        QuotaEntity((USER, None, CLIENT_ID, client)),
        QuotaEntity((USER, None, CLIENT_ID, None)),
        QuotaEntity((USER, None)),
        QuotaEntity((CLIENT_ID, client)),
        QuotaEntity((CLIENT_ID, None)),
    )


def level_of(entity: QuotaEntity) -> int:
    """Return the level of an entity (see the table of this module).

    Returns:
        1 (user and client) to 8 (default client), the strongest first; 1 for an address, 2 for the default address.
    """
    names = entity.as_dict()
    if IP in names:
        return 1 if names[IP] is not None else 2
    user, client = USER in names, CLIENT_ID in names
    # A pair has level 1 or 2 under a named user, and 4 or 5 under the default user; in between is level 3, the named
    # user alone.
    if user and client:
        return 1 + (names[CLIENT_ID] is None) + 3 * (names[USER] is None)
    if user:
        return 3 if names[USER] is not None else 6
    return 7 if names[CLIENT_ID] is not None else 8


def ip_levels(address: str) -> tuple[QuotaEntity, ...]:
    """Return the entities whose quotas may apply to an address, the strongest first."""
    return (QuotaEntity.of({IP: address}), QuotaEntity.of({IP: None}))


def effective(quotas: Mapping[QuotaEntity, QuotaValues], user: str, client: str, key: str) -> Effective | None:
    """Return the quota that applies to a user's connections with a client id.

    Args:
        quotas: all known quotas. If some were not read, the result may be wrong.
        user: the name, without ``User:``.
        client: the client id; ``""`` for connections without one, to which only the levels of the user apply.
        key: one of `CLIENT_KEYS`.

    Returns:
        The quota, with a value in the key's unit that each broker applies by itself; None if no quota applies.
    """
    every = levels(user, client)
    return _first(quotas, every if client else tuple(every[level - 1] for level in USER_LEVELS), key)


def effective_ip(quotas: Mapping[QuotaEntity, QuotaValues], address: str) -> Effective | None:
    """Return the quota on new connections that applies to an address.

    Args:
        quotas: all known quotas.
        address: an IP address as brokers print it.

    Returns:
        The quota, with a value in connections per second that each broker applies by itself; None if no quota applies.
    """
    return _first(quotas, ip_levels(address), CONNECTION_CREATION_RATE)


def _first(quotas: Mapping[QuotaEntity, QuotaValues], order: tuple[QuotaEntity, ...], key: str) -> Effective | None:
    # Decide for each key alone: an entity without this key does not hide a weaker one that has it, as brokers have one
    # ClientQuotaManager for each key.
    found = [Level(entity, values[key]) for entity in order if (values := quotas.get(entity)) and key in values]
    if not found:
        return None
    winner, *beaten = found
    return Effective(key, winner.value, winner.entity, tuple(beaten), _shared(winner.entity))


def _shared(entity: QuotaEntity) -> str:
    if entity.has(USER) and entity.has(CLIENT_ID):
        return "client"
    return "user" if entity.has(USER) else "client-id" if entity.has(CLIENT_ID) else "ip"

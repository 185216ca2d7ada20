"""Client quotas: entities and their values (KIP-546; ClientQuotaEntity)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"

_ORDER = {USER: 0, CLIENT_ID: 1, IP: 2}


def part_order(type_: str) -> tuple[int, str]:
    """Where a component of this type stands in an entity."""
    return _ORDER.get(type_, len(_ORDER)), type_


class QuotaPart(NamedTuple):
    """One component of an entity: its type and a name, or None for the default."""

    type: str
    name: str | None


class QuotaEntity(tuple[QuotaPart, ...]):
    """Who a quota is for: a set of (type, name or default), kept in the order user, client-id, ip, others.

    A type that other brokers add (``client-id-prefix``) is kept as it came. A tuple of its own class: a cluster may
    have a million, each made and hashed once for every read.
    """

    __slots__ = ()

    @property
    def parts(self) -> tuple[QuotaPart, ...]:
        """Its components."""
        return tuple(self)

    @classmethod
    def of(cls, parts: Mapping[str, str | None]) -> QuotaEntity:
        """From ``{"user": "alice", "client-id": None}``; None is the default, an absent type is absent."""
        return cls(tuple(QuotaPart(t, parts[t]) for t in sorted(parts, key=part_order)))

    def __repr__(self) -> str:
        return f"QuotaEntity({self.as_dict()!r})"

    def as_dict(self) -> dict[str, str | None]:
        """The form of JSON output: a null name is the default."""
        return dict(self)

    def has(self, type_: str) -> bool:
        """Whether the entity has a component of this type."""
        return any(part.type == type_ for part in self)

    def name_of(self, type_: str) -> str | None:
        """The component's name, None for the default; raises KeyError where the type is absent."""
        for part in self:
            if part.type == type_:
                return part.name
        raise KeyError(type_)


QuotaValues = Mapping[str, float]
"""Quota key -> value: bytes/s, percent, mutations/s or connections/s by the key (ClientQuotaRecord is a double)."""


class Match(IntEnum):
    """How a filter compares one component (DescribeClientQuotasRequest). ANY_NAME finds the default entity too."""

    EXACT = 0
    DEFAULT = 1
    ANY_NAME = 2


class QuotaMatch(NamedTuple):
    """A component that an entity must have: `name` counts with EXACT only."""

    type: str
    match: Match
    name: str | None = None


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    """Which entities to read: those with all of these components and, where `strict`, no others.

    Without components it finds all; without components and strict, none.
    """

    components: tuple[QuotaMatch, ...] = ()
    strict: bool = False

    def finds(self, entity: QuotaEntity) -> bool:
        """Whether it is one of those."""
        if self.strict and (not self.components or len(entity.parts) != len(self.components)):
            return False
        return all(
            entity.has(c.type)
            and (c.match == Match.ANY_NAME or entity.name_of(c.type) == (c.name if c.match == Match.EXACT else None))
            for c in self.components
        )


def filter_for_name(type_: str, name: str | None, *, strict: bool = False) -> QuotaFilter:
    """The filter that finds what has this component; strict: and no other."""
    match = QuotaMatch(type_, Match.DEFAULT) if name is None else QuotaMatch(type_, Match.EXACT, name)
    return QuotaFilter((match,), strict)


def filter_for_entity(entity: QuotaEntity) -> QuotaFilter:
    """The filter that finds exactly this entity."""
    return QuotaFilter(
        tuple(
            QuotaMatch(part.type, Match.DEFAULT) if part.name is None else QuotaMatch(part.type, Match.EXACT, part.name)
            for part in entity.parts
        ),
        strict=True,
    )

"""Client quotas: entities and their values (KIP-546; ClientQuotaEntity)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"

_ORDER = {USER: 0, CLIENT_ID: 1, IP: 2}


class QuotaPart(NamedTuple):
    """One component of an entity: its type and a name, or None for the default."""

    type: str
    name: str | None


@dataclass(frozen=True, slots=True, order=False)
class QuotaEntity:
    """Who a quota is for: a set of (type, name or default), kept in the order user, client-id, ip, others.

    A type that other brokers add (``client-id-prefix``) is kept as it came.
    """

    parts: tuple[QuotaPart, ...]

    DEFAULT: ClassVar[None] = None

    @classmethod
    def of(cls, parts: Mapping[str, str | None]) -> QuotaEntity:
        """From ``{"user": "alice", "client-id": None}``; None is the default, an absent type is absent."""
        return cls(
            tuple(QuotaPart(t, n) for t, n in sorted(parts.items(), key=lambda item: (_ORDER.get(item[0], 9), item[0])))
        )

    def as_dict(self) -> dict[str, str | None]:
        """The form of JSON output: a null name is the default."""
        return dict(self.parts)

    def has(self, type_: str) -> bool:
        """Whether the entity has a component of this type."""
        return any(part.type == type_ for part in self.parts)

    def name_of(self, type_: str) -> str | None:
        """The component's name, None for the default; raises KeyError where the type is absent."""
        for part in self.parts:
            if part.type == type_:
                return part.name
        raise KeyError(type_)


QuotaValues = Mapping[str, float]
"""Quota key -> value: bytes/s, percent, mutations/s or connections/s by the key (ClientQuotaRecord is a double)."""

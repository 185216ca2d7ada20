"""Quotas, found by a component of their entities: nobody looks through a million."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, runtime_checkable

from console.embedded.state.table import PastTable, Source, Table, frozen
from console.model.quota import CLIENT_ID, IP, USER, Match, QuotaEntity, QuotaFilter, QuotaPart, QuotaValues

Entries = Iterable[tuple[QuotaEntity, QuotaValues]]
_FEWEST_FIRST = (USER, IP, CLIENT_ID)


@runtime_checkable
class IndexedQuotas(Protocol):
    """A source that finds its entities itself."""

    def of_part(self, part: QuotaPart) -> Iterator[QuotaEntity]:
        """Those with this component."""
        ...

    def of_types(self, types: frozenset[str]) -> Iterator[tuple[QuotaEntity, QuotaValues]]:
        """Those with components of exactly these types."""
        ...


class QuotaTable(Table[QuotaEntity, QuotaValues]):
    """The cluster's quotas."""

    __slots__ = ("_by_part",)

    def __init__(self, name: str, source: Source[QuotaEntity, QuotaValues] | None = None) -> None:
        super().__init__(name, source)
        self._by_part: dict[QuotaPart, dict[QuotaEntity, None]] = {}

    def put(self, key: QuotaEntity, value: QuotaValues) -> None:
        """Set an entity's limits."""
        super().put(key, value)
        for part in key.parts:
            self._by_part.setdefault(part, {})[key] = None

    def remove(self, key: QuotaEntity) -> None:
        """Take an entity's limits out."""
        super().remove(key)
        for part in key.parts:
            found = self._by_part.get(part)
            if found is not None:
                found.pop(key, None)
                if not found:
                    del self._by_part[part]

    def of_part(self, part: QuotaPart) -> Iterator[QuotaEntity]:
        """The entities with this component. Safe to stop in between and go on after changes."""
        own = tuple(self._by_part.get(part, ()))
        made: Iterable[QuotaEntity] = ()
        if isinstance(self.source, IndexedQuotas):
            made = self.source.of_part(part)
        elif self.source is not None:
            made = (entity for entity in self.source if part in entity)
        known = frozenset(own)
        yield from (entity for entity in made if entity not in known and entity in self)
        yield from own

    def of_types(self, types: frozenset[str]) -> Entries:
        """The entities with components of exactly these types. Safe to stop in between and go on after changes."""
        own = {entity: values for entity, values in self._own.items() if _types(entity) == types}
        if isinstance(self.source, IndexedQuotas):
            made: Entries = self.source.of_types(types)
        else:
            made = (item for item in (self.source.items() if self.source else ()) if _types(item[0]) == types)
        yield from (item for item in made if item[0] not in own and item[0] not in self._gone)
        yield from own.items()


def _types(entity: QuotaEntity) -> frozenset[str]:
    return frozenset(part.type for part in entity)


def candidates(quotas: Mapping[QuotaEntity, QuotaValues], wanted: QuotaFilter) -> Entries:
    """All that the filter finds in a view's table, and perhaps more: whoever asks still compares.

    Lazily, and safe to stop in between and go on after changes.
    """
    named = [
        QuotaPart(part.type, part.name if part.match == Match.EXACT else None)
        for part in wanted.components
        if part.match != Match.ANY_NAME
    ]
    if wanted.strict and named and len(named) == len(wanted.components):
        entity = QuotaEntity.of(dict(named))
        values = quotas.get(entity)
        return () if values is None else ((entity, values),)
    if not named and wanted.strict and wanted.components and isinstance(quotas, QuotaTable):
        return quotas.of_types(frozenset(part.type for part in wanted.components))
    if not named:
        return frozen(quotas).items()
    part = min(named, key=lambda part: (part.name is None, _FEWEST_FIRST.index(part.type)))
    return _with_values(quotas, _of_part(quotas, part))


def _of_part(quotas: Mapping[QuotaEntity, QuotaValues], part: QuotaPart) -> Iterable[QuotaEntity]:
    if isinstance(quotas, QuotaTable):
        return quotas.of_part(part)
    if isinstance(quotas, PastTable) and isinstance(quotas.now, QuotaTable):
        gone = [entity for entity in quotas.restored() if part in entity and entity not in quotas.now]
        return (*quotas.now.of_part(part), *gone)
    return [entity for entity in quotas if part in entity]


def _with_values(quotas: Mapping[QuotaEntity, QuotaValues], entities: Iterable[QuotaEntity]) -> Entries:
    for entity in entities:
        values = quotas.get(entity)
        if values is not None:
            yield entity, values

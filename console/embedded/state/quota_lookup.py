"""Which quota entities a filter could find, without a look at each of a million."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, runtime_checkable

from console.embedded.state.table import Table
from console.model.quota import USER, Match, QuotaEntity, QuotaFilter, QuotaValues


@runtime_checkable
class ByUser(Protocol):
    """A source that knows the entities of a user."""

    def of_user(self, name: str) -> Iterator[tuple[QuotaEntity, QuotaValues]]:
        """The entities with a user of this name."""
        ...


def candidates(
    quotas: Mapping[QuotaEntity, QuotaValues], wanted: QuotaFilter
) -> Iterable[tuple[QuotaEntity, QuotaValues]]:
    """Everything that the filter finds, and perhaps more: whoever asks still compares."""
    types = [part.type for part in wanted.components]
    named = all(part.match in (Match.EXACT, Match.DEFAULT) for part in wanted.components)
    if wanted.strict and named and 0 < len(types) == len(set(types)):
        names = {part.type: part.name if part.match == Match.EXACT else None for part in wanted.components}
        entity = QuotaEntity.of(names)
        values = quotas.get(entity)
        return () if values is None else ((entity, values),)
    user = next((part.name for part in wanted.components if part.type == USER and part.match == Match.EXACT), None)
    if user is not None and isinstance(quotas, Table) and isinstance(quotas.source, ByUser):
        return _of_user(quotas, quotas.source, user)
    return quotas.items()


def _of_user(
    quotas: Table[QuotaEntity, QuotaValues], source: ByUser, user: str
) -> Iterator[tuple[QuotaEntity, QuotaValues]]:
    made = dict(source.of_user(user))
    for entity in made:
        values = quotas.get(entity)
        if values is not None:
            yield entity, values
    for entity, values in quotas.own.items():
        if entity not in made and entity.has(USER) and entity.name_of(USER) == user:
            yield entity, values

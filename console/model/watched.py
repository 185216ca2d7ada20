"""The entities that an operator has chosen to watch, by names or patterns. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

TOPIC, GROUP, BROKER, CONNECTOR, SCHEMA = "topic", "group", "broker", "connector", "schema"
KINDS = (TOPIC, GROUP, BROKER, CONNECTOR, SCHEMA)


class Watched(NamedTuple):
    """A choice of an operator: one entity by its name, or all entities whose names match a pattern."""

    kind: str
    """The kind of entity: one of `KINDS`."""
    name: str
    """The name, or the pattern; for a broker its id."""
    is_pattern: bool = False
    """Whether `name` is a pattern for `fnmatch`."""

    def among(self, names: Iterable[str]) -> list[str]:
        """Return the names that match, in their order. A connector's name is ``CLUSTER/NAME``; the choice may leave out
        ``CLUSTER/``.
        """
        return [each for each in names if any(map(self._is, (each, *self._short(each))))]

    def _is(self, name: str) -> bool:
        return fnmatchcase(name, self.name) if self.is_pattern else name == self.name

    def _short(self, name: str) -> tuple[str, ...]:
        return (name.partition("/")[2],) if self.kind == CONNECTOR and "/" not in self.name else ()

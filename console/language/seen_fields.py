"""The names of fields in the records that were shown, by topic, which completion offers in a condition. No contents are
kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

MOST_FIELDS, MOST_TOPICS = 200, 50
"""Maximum number of names for a topic, and of topics; the oldest topic is dropped first."""
DEEPEST = 4
"""Maximum number of levels in a document from which names are kept."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""Matches a field's name that a condition can use after a dot."""


class SeenFields:
    """The names of fields, such as ``value.order.id``, in the records of each topic."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, None]] = {}

    def learn(self, topic: str, part: str, document: Any) -> None:
        """Remember the names of the fields in a decoded key or value.

        Args:
            part: the part of the record, ``key`` or ``value``.
            document: the decoded JSON, with masked fields hidden.
        """
        known = self._of.setdefault(topic, {})
        for name in _names(document, part, DEEPEST):
            if len(known) >= MOST_FIELDS:
                break
            known[name] = None
        if len(self._of) > MOST_TOPICS:
            del self._of[next(iter(self._of))]

    def of(self, topics: Iterable[str]) -> list[str]:
        """Return the names of the fields in records of these topics, in the order in which they were seen."""
        return list(dict.fromkeys(name for topic in topics for name in self._of.get(topic, ())))

    def topics(self) -> Iterable[str]:
        """Return the topics whose records were seen."""
        return self._of.keys()


def _names(document: Any, path: str, levels: int) -> Iterator[str]:
    if levels and isinstance(document, Mapping):
        for name, inner in document.items():
            if isinstance(name, str) and _NAME.fullmatch(name):
                yield f"{path}.{name}"
                yield from _names(inner, f"{path}.{name}", levels - 1)

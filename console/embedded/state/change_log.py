"""The metadata log: every change in order, numbered, with what was there before."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

RETENTION = 15 * 60.0
"""Seconds that an entry stays (KIP-21's change notifications)."""
MAX_ENTRIES = 200_000


@dataclass(frozen=True, slots=True)
class Change:
    """One entry. table: the table's name; before and after: the value or ABSENT; at: Unix seconds."""

    offset: int
    at: float
    table: str
    key: Hashable
    before: Any
    after: Any


class ChangeLog:
    """Changes by offset, from 1 on. Old ones are dropped; `end` never goes back."""

    def __init__(self, end: int = 0) -> None:
        self._entries: deque[Change] = deque()
        self.end = end

    def append(self, change: Change) -> None:
        """Add the entry of the next offset, and drop what is too old."""
        self.end = change.offset
        self._entries.append(change)
        while len(self._entries) > MAX_ENTRIES or self._entries[0].at < change.at - RETENTION:
            self._entries.popleft()

    def after(self, offset: int) -> Iterator[Change]:
        """The entries kept with a higher offset, oldest first."""
        return reversed(list(self._newer(offset)))

    def _newer(self, offset: int) -> Iterator[Change]:
        for change in reversed(self._entries):
            if change.offset <= offset:
                return
            yield change

    def applied_at(self, moment: float) -> int:
        """The highest offset that was made at or before a moment."""
        for change in reversed(self._entries):
            if change.at <= moment:
                return change.offset
        return self._entries[0].offset - 1 if self._entries else self.end

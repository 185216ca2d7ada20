"""Limits the number of items per second, for a display of a fast source. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class PerSecond:
    """Passes at most `most` items per second, and counts the items that it leaves out.

    Attributes:
        left_out: the number of items that were not passed so far.
    """

    def __init__(self, most: int) -> None:
        """Create a limit. most: items per second; 0 for no limit."""
        self._most = most
        self._second = 0.0
        self._passed = 0
        self.left_out = 0

    def passed(self, items: Sequence[T], now: float) -> Sequence[T]:
        """Return the first of these items, as many as the limit allows at this time. now: seconds of any clock that
        does not go back.
        """
        if not self._most:
            return items
        if now - self._second >= 1:
            self._second, self._passed = now, 0
        kept = items[: self._most - self._passed]
        self._passed += len(kept)
        self.left_out += len(items) - len(kept)
        return kept

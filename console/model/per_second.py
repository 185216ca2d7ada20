"""A limit of items a second, for a display that follows a fast source. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class PerSecond:
    """Passes a number of items a second, and counts the others.

    Attributes:
        left_out: the number of items that were not passed.
    """

    def __init__(self, most: int) -> None:
        """Create a cap. most: items a second; 0 for no cap."""
        self._most = most
        self._second = 0.0
        self._passed = 0
        self.left_out = 0

    def passed(self, items: Sequence[T], now: float) -> Sequence[T]:
        """Return the items that may pass. now: seconds of any clock that does not go back."""
        if not self._most:
            return items
        if now - self._second >= 1:
            self._second, self._passed = now, 0
        kept = items[: self._most - self._passed]
        self._passed += len(kept)
        self.left_out += len(items) - len(kept)
        return kept

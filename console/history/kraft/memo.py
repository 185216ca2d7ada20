"""What was made of equal bytes is made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

LIMIT = 1 << 15
_K = TypeVar("_K")
_V = TypeVar("_V")


class Memo(dict[_K, _V], Generic[_K, _V]):
    """A dict that makes what it has not, and forgets all of it beyond LIMIT entries, so that memory stays flat."""

    def __init__(self, make: Callable[[_K], _V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: _K) -> _V:
        made = self._make(key)
        if len(self) >= LIMIT:
            self.clear()
        self[key] = made
        return made

"""The throttles that operations of this host's journal hold. kac does not report them as leftovers while the operation
works, nor before it has read the configs again after the end of the operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from console.model.config import ConfigPlace

if TYPE_CHECKING:
    from console.operations.operation import Operation


class OwnThrottles:
    """Throttles held by operations of the journal, and those that the context declares as intended.

    Attributes:
        held: the entities and keys; the same object until they change.
        over: the throttles of operations that ended since the configs were read.
    """

    def __init__(self, meant: frozenset[ConfigPlace]) -> None:
        """Hold the throttles that the context declares as intended, and those that `take` adds."""
        self._meant = meant
        self._open: Mapping[int, frozenset[ConfigPlace]] = {}
        self.over: frozenset[ConfigPlace] = frozenset()
        self.held = meant

    def take(self, open_: Iterable[Operation]) -> None:
        """Set the open operations, from the journal."""
        now = {each.number: each.owned().places() for each in open_}
        # An operation removes its throttles at its end, but the known configs show them until they are read again.
        self.over = self.over.union(*(places for number, places in self._open.items() if number not in now))
        self._open = now
        self._hold()

    def forget(self, over: frozenset[ConfigPlace]) -> None:
        """Drop throttles of operations that had ended before the configs were read: those that the configs still show
        are leftovers."""
        self.over -= over
        self._hold()

    def _hold(self) -> None:
        held = self.over.union(self._meant, *self._open.values())
        if held != self.held:
            self.held = held

"""The throttles that belong to operations in this host's journal. kac does not report such throttles as leftovers
while the operation runs. After its end, kac does so only once it has read the configs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from console.model.config import ConfigPlace

if TYPE_CHECKING:
    from console.operations.operation import Operation


class OwnThrottles:
    """The throttles that belong to operations in the journal, and those that the context declares as intended.

    Attributes:
        held: these throttles, as entity and config key. It is the same object until they change.
        over: the throttles of operations that have ended since the configs were last read.
    """

    def __init__(self, meant: frozenset[ConfigPlace]) -> None:
        """Begin with the throttles that the context declares as intended (`meant`)."""
        self._meant = meant
        self._open: Mapping[int, frozenset[ConfigPlace]] = {}
        self.over: frozenset[ConfigPlace] = frozenset()
        self.held = meant

    def take(self, open_: Iterable[Operation]) -> None:
        """Set the open operations, as read from the journal. The throttles of operations that are no longer open go to
        `over`.
        """
        now = {each.number: each.owned().places() for each in open_}
        # An operation removes its throttles at its end, but the known configs show them until they are read again.
        self.over = self.over.union(*(places for number, places in self._open.items() if number not in now))
        self._open = now
        self._hold()

    def forget(self, over: frozenset[ConfigPlace]) -> None:
        """Drop the throttles of operations that had ended before the configs were read. If the configs still have them,
        they are leftovers.
        """
        self.over -= over
        self._hold()

    def _hold(self) -> None:
        held = self.over.union(self._meant, *self._open.values())
        if held != self.held:
            self.held = held

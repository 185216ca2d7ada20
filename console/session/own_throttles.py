"""What running moves and operations of this host's journal hold: throttles, replicas that moves add. It is no wanted
state, and no leftover while an operation works, nor until the configs were read again after it ended."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from console.model.config import ConfigPlace
from console.plan.stale_throttles import owned_by_moves
from console.plan.values import own_text

if TYPE_CHECKING:
    from console.contexts import Context
    from console.model.snapshot import Snapshot
    from console.operations.operation import Operation
    from console.session.operating import Operations


class OwnThrottles:
    """What operations hold, by the journal. held: the entities and keys; the same object until they change. over: those
    of operations that have ended since the configs were read. What the context declares as meant is held, too."""

    def __init__(self, meant: frozenset[ConfigPlace]) -> None:
        """Hold what the context declares as meant, and what `take` adds."""
        self._meant = meant
        self._open: Mapping[int, frozenset[ConfigPlace]] = {}
        self.over: frozenset[ConfigPlace] = frozenset()
        self.held = meant

    def take(self, open_: Iterable[Operation]) -> None:
        """Take the operations that are open now, by the journal."""
        now = {each.number: each.owned().places() for each in open_}
        # An operation takes its throttles off as it ends; until the configs are read again, the known ones still show
        # them.
        self.over = self.over.union(*(places for number, places in self._open.items() if number not in now))
        self._open = now
        self._hold()

    def forget(self, over: frozenset[ConfigPlace]) -> None:
        """Drop throttles of operations that had ended before the configs were read: what these still show of them is
        left over."""
        self.over -= over
        self._hold()

    def _hold(self) -> None:
        held = self.over.union(self._meant, *self._open.values())
        if held != self.held:
            self.held = held


async def read_owned(
    snapshot: Snapshot, context: Context, operations: Callable[[], Awaitable[Operations]]
) -> Mapping[ConfigPlace, str]:
    """Return what belongs to running moves, and to open operations of this host's journal, each with a line that says
    to which; not what the context declares as meant.

    Args:
        snapshot: in which everything was read (`reading.read_everything`).
        operations: reads those of the journal.

    Raises:
        Refused, AdminError: the journal can't be read.
    """
    from console.session.former_changes import any_journal

    owned = dict[ConfigPlace, str]()
    if context.journal and any_journal(os.environ):
        # Set before its moves begin, and taken off after them.
        for operation in (await operations()).open:
            owned |= dict.fromkeys(operation.owned().places(), f"belongs to operation {operation.number}")
    configs = snapshot.configs
    owned = {
        (resource, key): why
        for (resource, key), why in owned.items()
        if resource in configs and own_text(configs[resource].get(key), resource) is not None
    }
    owned |= owned_by_moves(snapshot)
    return {place: why for place, why in owned.items() if place not in context.throttles}

"""The throttles that operations of this host's journal hold. They are no leftovers while an operation works, nor until
the configs were read again after it ended."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from console.model.config import ConfigPlace
from console.session.former_changes import any_journal
from console.session.snapshot_reader import Refused

if TYPE_CHECKING:
    from console.session.session import Session

log = logging.getLogger(__name__)


class OwnThrottles:
    """What operations hold, by the journal. held: the entities and keys; the same object until they change. over: those
    of operations that have ended since the configs were read. What the context declares as meant is held, too."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._open: Mapping[int, frozenset[ConfigPlace]] = {}
        self.over: frozenset[ConfigPlace] = frozenset()
        self.held: frozenset[ConfigPlace] = session.context.throttles

    async def read(self) -> None:
        """Read the open operations from the journal. Where it can't be read, what is known stays. Raises AdminError."""
        session = self._session
        if session.door == "replay" or not session.context.journal or not any_journal(os.environ):
            return
        from console.session.operating import read_operations

        try:
            found = (await read_operations(session)).open
        except Refused as error:
            log.warning("operations are not known: %s", error.failure)
            return
        now = {each.number: each.owned().places() for each in found}
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
        held = self.over.union(self._session.context.throttles, *self._open.values())
        if held != self.held:
            self.held = held

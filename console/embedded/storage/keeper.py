"""Writes the state soon after it changed, beside the requests."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from console.embedded.state.change_log import Change
from console.embedded.state.cluster_state import ClusterState
from console.embedded.storage.codecs import CODECS
from console.embedded.storage.state_file import StateFileError, encode, write

log = logging.getLogger("console.embedded")

PAUSE = 0.2
"""Seconds in which changes gather before they are written."""
LONG_PAUSE = 2.0
"""The same for records and groups, of which there may be a change at any time."""


class Keeper:
    """Keeps a state in a file. A write that fails is logged, and tried again with the next change."""

    def __init__(self, state: ClusterState, path: Path, scenario: str | None) -> None:
        self._state = state
        self._path = path
        self._scenario = scenario
        self._changed = asyncio.Event()
        self._later: asyncio.TimerHandle | None = None
        self._unsubscribe = state.subscribe(self._noticed)
        self._untouched = state.when_touched(self._touched)

    def _noticed(self, change: Change) -> None:
        if change.table in CODECS:
            self._changed.set()

    def _touched(self) -> None:
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(LONG_PAUSE, self._due)

    def _due(self) -> None:
        self._later = None
        self._changed.set()

    async def run(self) -> None:
        """Write after changes, until it is cancelled."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(PAUSE)
            self._changed.clear()
            content = encode(self._state, self._scenario)
            try:
                await asyncio.to_thread(write, self._path, content)
            except StateFileError as error:
                log.error("%s", error)

    def write(self) -> None:
        """Write now. Raises StateFileError."""
        write(self._path, encode(self._state, self._scenario))

    def close(self) -> None:
        """Write once more, and stop listening. Raises StateFileError."""
        self._unsubscribe()
        self._untouched()
        if self._later is not None:
            self._later.cancel()
        self.write()

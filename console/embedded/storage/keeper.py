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


class Keeper:
    """Keeps a state in a file. A write that fails is logged, and tried again with the next change."""

    def __init__(self, state: ClusterState, path: Path, scenario: str | None) -> None:
        self._state = state
        self._path = path
        self._scenario = scenario
        self._changed = asyncio.Event()
        self._unsubscribe = state.subscribe(self._noticed)

    def _noticed(self, change: Change) -> None:
        if change.table in CODECS:
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
        self.write()

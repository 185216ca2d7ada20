"""The lake that the panes read: opened beside the screen when the first of them is shown, and anew after each run."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from console.contexts.lake_place import lake_place

if TYPE_CHECKING:
    from console.history.reader.tables import Tables


class LakeOnScreen:
    """Where the lake is, and its tables as the last run left them. problem: why it can't be read, in words for the
    operator; is_missing: because there is none, which is no fault."""

    def __init__(self, given: str | None, setting: str | None) -> None:
        """given: ``--lake``. setting: the context's own."""
        self.where = lake_place(given, os.environ, setting, Path.home())
        self.problem = ""
        self.is_missing = False
        self._tables: Tables | None = None
        self._lock = Lock()

    async def tables(self) -> Tables | None:
        """Those of the last run; None where they can't be read, and then `problem` says why."""
        return await asyncio.to_thread(self._look)

    def close(self) -> None:
        """Let go of the files; a question under way ends first."""
        with self._lock:
            if self._tables is not None:
                self._tables.close()
                self._tables = None

    def _look(self) -> Tables | None:
        from console.history.reader.tables import Tables
        from console.history.store.errors import LakeError, NoLake

        with self._lock:
            try:
                if self._tables is None or not self._tables.is_latest:
                    former, self._tables = self._tables, Tables(self.where)
                    if former is not None:
                        former.close()
                self.problem, self.is_missing = "", False
            except (LakeError, OSError) as error:
                self._tables, self.problem, self.is_missing = None, str(error), isinstance(error, NoLake)
            return self._tables

"""The tour: three lines for a first-time user of a demo. They are shown once."""

from __future__ import annotations

import logging
from pathlib import Path

from console.present.text import Line
from console.safe_files import PRIVATE, private_folder, write_whole

log = logging.getLogger(__name__)

LINES: tuple[Line, ...] = (
    [(" A cluster to try things on: each row is a cause, the lines above say why.", "strong")],
    [(" F stages what mends it, 7 shows the plan, A sends it; ⏎ the evidence, Esc back.", "")],
    [(" m mutes, y copies a report, ? has all keys. Esc, or any key: not shown again.", "muted")],
)


class Tour:
    """The lines of the tour, which a demo shows below the causes. path: an empty file that marks the tour as seen."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_shown = not path.exists()

    def end(self) -> None:
        """Create the file that marks the tour as seen. If that fails, log it; the next demo shows the tour again.
        Blocks, so call it on a thread.
        """
        try:
            private_folder(self._path.parent)
            write_whole(self._path, b"", PRIVATE)
        except OSError as error:
            log.warning("the tour is shown again: %s", error)

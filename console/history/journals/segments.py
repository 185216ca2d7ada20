"""The segments of a journal as one file: ``CLUSTER-ID.jsonl``, then ``CLUSTER-ID.segments/00000002.jsonl`` and so on.

Lines are only added to the last one, so that a place in the whole stays what it is.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from pathlib import Path
from typing import Any

SUFFIX = ".jsonl"
FOLDER_SUFFIX = ".segments"
DIGITS = 8


class Segments(io.RawIOBase):
    """Reads the segments one after another. first: the journal's first segment. paths, sizes: of all of them, bytes as
    they were when it was opened. Raises OSError for one that can't be read."""

    def __init__(self, first: Path) -> None:
        super().__init__()
        folder = first.with_name(first.name[: -len(SUFFIX)] + FOLDER_SUFFIX)
        others = sorted(folder.glob("?" * DIGITS + SUFFIX)) if first.name.endswith(SUFFIX) else []
        self.paths = [first, *(path for path in others if path.name[:DIGITS].isdigit())]
        self._files = [path.open("rb") for path in self.paths]
        self.sizes = [file.seek(0, io.SEEK_END) for file in self._files]
        self._starts = [sum(self.sizes[:place]) for place in range(len(self.sizes))]
        self._at = 0

    def place(self, at: int) -> tuple[Path, int]:
        """The segment in which a byte of the whole is, and its place there."""
        segment = bisect_right(self._starts, at) - 1
        return self.paths[segment], at - self._starts[segment]

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a byte of the whole."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: sum(self.sizes)}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Bytes up to the end of a segment; 0 at the end of the last."""
        for start, size, file in zip(self._starts, self.sizes, self._files, strict=True):
            if start <= self._at < start + size:
                file.seek(self._at - start)
                data = file.read(min(len(buffer), start + size - self._at))
                buffer[: len(data)] = data
                self._at += len(data)
                return len(data)
        return 0

    def fileno(self) -> int:
        """Of the last segment, which a console locks while it writes."""
        return self._files[-1].fileno()

    def close(self) -> None:
        """Close all of them."""
        for file in self._files if not self.closed else ():
            file.close()
        super().close()

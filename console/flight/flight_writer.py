"""Writes a flight record into a file, a frame at a time, so that it is whole whenever the process ends."""

from __future__ import annotations

import os
from pathlib import Path

from console.flight.answer import Answer, Header, RecordError
from console.flight.coding import Encoder
from console.flight.frames import MAGIC, DamagedFrame, frames_of, read_record
from console.safe_files import open_private


class FlightWriter:
    """An open file, for its owner alone. Each frame is handed to the system at once: what was written survives a killed
    process. Not for several threads.

    size: bytes of the file.
    """

    def __init__(self, path: Path, header: Header, append: bool = False) -> None:
        """Create a file, or begin a new part of an existing one.

        Args:
            path: its folder has to exist, and stays as it is.
            append: begin a new part if the file exists; an incomplete frame at its end is cut off first.

        Raises:
            FileExistsError: the file exists, and `append` is False.
            UntrustedPath: the file, or a link to it, belongs to another user.
            RecordError: the file to append to is no flight record, or is damaged.
            OSError: it can't be opened or written.
        """
        self._file = open_private(path, os.O_RDWR | (0 if append else os.O_EXCL), in_own_folder=False)
        try:
            self.size = _end_of(path, self._file)
            self._encoder = Encoder(header)
            self._write((b"" if self.size else MAGIC) + self._encoder.begin())
        except BaseException:
            os.close(self._file)
            raise

    def add(self, answer: Answer) -> None:
        """Add an answer. It is written with those of the next WAIT_MS, or by `flush_changed`; an unchanged one may wait
        SAME_WAIT_MS.

        Raises:
            OSError: the answers that were due can't be written, as on a full disk.
        """
        self._write(self._encoder.add(answer))

    def flush_changed(self) -> None:
        """Write the waiting answers if any of them changed. Raises OSError."""
        self._write(self._encoder.flush_changed())

    def flush(self) -> None:
        """Write the waiting answers. Raises OSError."""
        self._write(self._encoder.flush())

    def close(self) -> None:
        """Write the waiting answers, sync the file to the disk, and close it.

        Raises:
            OSError: it can't be written or synced; it is closed nevertheless.
        """
        try:
            self.flush()
            os.fsync(self._file)
        finally:
            os.close(self._file)

    def _write(self, data: bytes) -> None:
        while data:
            written = os.write(self._file, data)
            self.size += written
            data = data[written:]


def _end_of(path: Path, file: int) -> int:
    """Return the offset of the next frame, after the last whole one; an incomplete frame behind that is cut off. Raises
    RecordError for a damaged file, OSError."""
    size = os.fstat(file).st_size
    if not size:
        return 0
    data = read_record(path)
    end = len(MAGIC)
    try:
        for frame in frames_of(data, end):
            end = frame.end
    except DamagedFrame as error:
        raise RecordError(f"{path} is damaged: {error}") from error
    os.ftruncate(file, end)
    os.lseek(file, end, os.SEEK_SET)
    return end

"""The output of `kac records`: standard output, or a new file that only its owner may read."""

from __future__ import annotations

import asyncio
import errno
import os
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path

from console.model.records import Record, Undecodable
from console.safe_files import open_private
from console.terminal import put_bytes, write_all


class WriteError(Exception):
    """The output can't be written any more; the text is for the operator. Bytes written before remain in the output."""


class BackgroundWriter:
    """Writes in a thread that does not keep the process alive, so that Ctrl-C works while a slow reader blocks
    a write.
    """

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._waiting: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, name="records-output", daemon=True).start()

    async def write(self, data: bytes) -> None:
        """Write bytes, and return once they are written. Raises OSError."""
        done = self._loop.create_future()
        self._waiting.put((data, done))
        await done

    def _work(self) -> None:
        while True:
            data, done = self._waiting.get()
            failed: OSError | None = None
            try:
                self._write(data)
            except OSError as error:
                failed = error
            with suppress(RuntimeError):  # the loop may be closed, and then nothing waits for the result
                self._loop.call_soon_threadsafe(_settle, done, failed)


def _settle(done: asyncio.Future[None], failed: OSError | None) -> None:
    if done.done():
        return
    if failed is not None:
        done.set_exception(failed)
    else:
        done.set_result(None)


class Output:
    """The output of one command.

    Attributes:
        count: the number of records written.
        last: (topic, partition) -> the offset of the last record written.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Open the output.

        Args:
            path: the path of a file that does not exist; None for standard output.

        Raises:
            WriteError: the file exists, or can't be created.
        """
        self.path = path
        self.count = 0
        self.last: dict[tuple[str, int], int] = {}
        self._size = 0
        self._file = None if path is None else _create(path)
        self._writer = BackgroundWriter(put_bytes if self._file is None else self._into_file)

    def _into_file(self, data: bytes) -> None:
        assert self._file is not None
        write_all(self._file, data)

    async def head(self, data: bytes) -> None:
        """Write bytes before the first record. Raises WriteError, BrokenPipeError."""
        await self._put([data], [])

    async def write(self, items: Sequence[Record | Undecodable], parts: Sequence[bytes]) -> None:
        """Write records.

        Args:
            items: the records.
            parts: the bytes of each, in the same order.

        Raises:
            WriteError: the disk is full, or the file can't be written. The file then ends with the last complete
                record.
            BrokenPipeError: the reader of standard output is gone.
        """
        await self._put(parts, items)

    async def _put(self, parts: Sequence[bytes], items: Sequence[Record | Undecodable]) -> None:
        data = b"".join(parts)
        if not data:
            return
        try:
            await self._writer.write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            whole, kept = _whole(parts, getattr(error, "written", 0))
            self._keep(items[:whole], kept)
            if self._file is not None:
                with suppress(OSError):
                    self._file.truncate(self._size)
                    self._file.close()
            raise WriteError(f"{self.name} can't be written: {reason_of(error)}") from error
        self._keep(items, len(data))

    def _keep(self, items: Sequence[Record | Undecodable], size: int) -> None:
        self._size += size
        for each in items:
            if isinstance(each, Record):
                self.count += 1
                self.last[each.topic, each.partition] = each.offset

    @property
    def name(self) -> str:
        """The path of the file; a name for standard output."""
        return "standard output" if self.path is None else str(self.path)

    @property
    def bytes(self) -> int:
        """Number of bytes written."""
        return self._size

    def discard(self) -> None:
        """Close and delete the new file, to which the caller has written no record; do nothing for standard output."""
        if self.path is not None and self._file is not None:
            self._file.close()
            self.path.unlink()

    def close(self) -> None:
        """Sync the file to disk and close it. Raises WriteError: the data could not be stored."""
        if self._file is None or self._file.closed:
            return
        try:
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:
            raise WriteError(f"{self.name} can't be written: {reason_of(error)}") from error


def _create(path: Path) -> FileIO:
    if path.exists() or path.is_symlink():
        raise WriteError(f"{path} exists already: give another name")
    try:
        return FileIO(open_private(path, os.O_WRONLY | os.O_EXCL, in_own_folder=False), "wb")
    except OSError as error:
        raise WriteError(f"{path} can't be created: {reason_of(error)}") from error


def _whole(parts: Sequence[bytes], written: int) -> tuple[int, int]:
    """Return the number of parts that are completely within the first `written` bytes, and their total size in
    bytes.
    """
    count = size = 0
    for part in parts:
        if size + len(part) > written:
            break
        count, size = count + 1, size + len(part)
    return count, size


def reason_of(error: OSError) -> str:
    """Return the reason why a file can't be written, as text for an operator."""
    text = (error.strerror or str(error)).lower()
    return f"{text}; free space, or use another disk" if error.errno in (errno.ENOSPC, errno.EDQUOT) else text

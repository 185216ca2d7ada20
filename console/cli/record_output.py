"""Where `kac records` writes: standard output, or a new private file with a manifest next to it."""

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

from msgspec import Struct

from console.model.numbers import json_text
from console.model.records import Progress, Record, Undecodable
from console.safe_files import PRIVATE, create_whole, open_private
from console.terminal import put_bytes, write_all

SPARE = 4 << 10
"""Bytes of the manifest that are kept free for its growth, so that it can be completed on a full disk."""


class WriteError(Exception):
    """The output can't be written any more; the text is for the operator. What was written before stands."""


class BackgroundWriter:
    """Writes in a thread that does not keep the process alive, so that a slow reader never holds up Ctrl-C."""

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
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
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
        last: topic and partition -> the offset of the last record written.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Open it.

        Args:
            path: of a file that does not exist; None for standard output.

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
        """Write what stands before the records. Raises WriteError, BrokenPipeError."""
        await self._put([data], [])

    async def write(self, items: Sequence[Record | Undecodable], parts: Sequence[bytes]) -> None:
        """Write records.

        Args:
            items: the records.
            parts: the bytes of each, in the same order.

        Raises:
            WriteError: the disk is full, or the file can't be written. A record that was cut is removed from a file.
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
            raise WriteError(f"{self.name} can't be written: {_reason(error)}") from error
        self._keep(items, len(data))

    def _keep(self, items: Sequence[Record | Undecodable], size: int) -> None:
        self._size += size
        for each in items:
            if isinstance(each, Record):
                self.count += 1
                self.last[each.topic, each.partition] = each.offset

    @property
    def name(self) -> str:
        """The file's name, or that of standard output."""
        return "standard output" if self.path is None else str(self.path)

    @property
    def bytes(self) -> int:
        """Bytes written."""
        return self._size

    def close(self) -> None:
        """Sync and close the file. Raises WriteError: it was not kept."""
        if self._file is None or self._file.closed:
            return
        try:
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:
            raise WriteError(f"{self.name} can't be written: {_reason(error)}") from error


def _create(path: Path) -> FileIO:
    if path.exists() or path.is_symlink():
        raise WriteError(f"{path} exists already: give another name")
    try:
        return FileIO(open_private(path, os.O_WRONLY | os.O_EXCL, in_own_folder=False), "wb")
    except OSError as error:
        raise WriteError(f"{path} can't be created: {_reason(error)}") from error


def _whole(parts: Sequence[bytes], written: int) -> tuple[int, int]:
    """Return how many parts are whole in the first bytes written, and their bytes."""
    count = size = 0
    for part in parts:
        if size + len(part) > written:
            break
        count, size = count + 1, size + len(part)
    return count, size


def _reason(error: OSError) -> str:
    text = (error.strerror or str(error)).lower()
    return f"{text}; free space, or use another disk" if error.errno in (errno.ENOSPC, errno.EDQUOT) else text


class Manifest(Struct, frozen=True, omit_defaults=False):
    """What an exported file holds."""

    statement: str
    cluster_id: str
    context: str
    topics: tuple[str, ...]
    output: str
    began: str
    hidden: bool
    """Whether keys, values and headers are hidden."""
    masks: tuple[str, ...]
    """The paths of masked fields."""
    ended: str = ""
    finished: bool = False
    why: str = ""
    """Why it is not finished."""
    records: int = 0
    bytes: int = 0
    looked_at: int = 0
    undecodable: int = 0
    ranges: tuple[dict[str, object], ...] = ()
    """The part of each partition that was searched, and the last record written."""


def ranges_of(progress: Progress, last: dict[tuple[str, int], int]) -> tuple[dict[str, object], ...]:
    """Return the ranges of a manifest."""
    return tuple(
        {
            "topic": each.topic,
            "partition": each.partition,
            "first": each.first,
            "next": each.next,
            "log_start": each.start,
            "log_end": each.end,
            "last_written": last.get((each.topic, each.partition)),
        }
        for each in progress.scanned
    )


class ManifestFile:
    """A manifest next to an exported file. It is written at the start, longer than needed, and again at the end in the
    same place, so that a full disk does not prevent that.
    """

    def __init__(self, exported: Path, manifest: Manifest) -> None:
        """Create it. Raises WriteError: it exists, or can't be created."""
        self.path = exported.with_name(f"{exported.name}.manifest.json")
        self._room = 0
        try:
            create_whole(self.path, self._padded(manifest, SPARE), PRIVATE)
        except OSError as error:
            raise WriteError(f"{self.path} can't be created: {_reason(error)}") from error

    def _padded(self, manifest: Manifest, spare: int) -> bytes:
        text = f"{json_text(_data(manifest), indent=2)}\n".encode()
        self._room = max(self._room, len(text) + spare)
        return text.ljust(self._room)

    def reserve(self, manifest: Manifest) -> None:
        """Write it again, with room for the ranges of its partitions. Raises WriteError."""
        self._write(self._padded(manifest, SPARE))

    def finish(self, manifest: Manifest) -> None:
        """Write it for the last time. Raises WriteError."""
        self._write(self._padded(manifest, 0).rstrip() + b"\n", cut=True)

    def _write(self, data: bytes, *, cut: bool = False) -> None:
        try:
            descriptor = open_private(self.path, os.O_WRONLY, in_own_folder=False)
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                write_all(file, data)
                if cut:
                    file.truncate(len(data))
                os.fsync(file.fileno())
        except OSError as error:
            raise WriteError(f"{self.path} can't be written: {_reason(error)}") from error


def _data(manifest: Manifest) -> dict[str, object]:
    return {name: getattr(manifest, name) for name in manifest.__struct_fields__}

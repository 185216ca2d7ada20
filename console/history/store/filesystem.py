"""What a lake needs of a filesystem, and the local one."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from console.history.store.lock import Holder, Lock, flocked


@dataclass(frozen=True)
class Entry:
    """What lies in a folder: its name, and the bytes of a file."""

    name: str
    is_folder: bool
    bytes: int


class Filesystem(Protocol):
    """Files by absolute path or URI. Which of these are atomic where, each implementation says."""

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """The bytes from `start`, to the end where no length is given. FileNotFoundError."""

    def create(self, path: str, data: bytes, *, private: bool = False) -> None:
        """A new file, with its folders. A crash may tear it: nothing may name it before. private: for its owner alone,
        where the filesystem knows owners. FileExistsError."""

    def replace(self, path: str, data: bytes) -> None:
        """A file, new or instead of the former: a reader sees one of both, whole."""

    def output(self, path: str) -> AbstractContextManager[BinaryIO]:
        """A new file to write, with its folders; whole once the context ends."""

    def entries(self, folder: str) -> list[Entry]:
        """What lies right in it, by name; nothing where it is not there."""

    def remove(self, path: str) -> None:
        """A file, or a folder with all that is in it; nothing happens where it is not there."""

    def settle(self, folders: list[str], within: str) -> None:
        """Makes the files right in these folders survive the loss of power, as far as that can be. within: a folder
        above them that is known to be there."""

    def here(self, paths: Sequence[str]) -> list[str]:
        """Paths by which DuckDB and Spark read these files; copies where they are elsewhere. FileNotFoundError:
        there is nothing to copy."""

    def gathered(self, folder: str, scratch: str) -> AbstractContextManager[str]:
        """A path, not there yet, where Spark may write that new folder; it is there once the context ends. scratch: a
        folder of this machine."""

    def delta_options(self, path: str, /) -> Mapping[str, str]:
        """How delta-rs reaches the path: the options of its store, credentials among them."""

    def lock(self, path: str, holder: Holder) -> AbstractContextManager[Lock]:
        """The lock at that path, held for the context. BusyLock: another has it."""


class LocalFilesystem:
    """This machine's files.

    `replace` writes a neighbour, fsyncs it, renames it and fsyncs the folder: atomic, and kept over a loss of power.
    The lock is an flock: the kernel frees it with its process.
    """

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """See Filesystem."""
        with Path(path).open("rb") as file:
            file.seek(start)
            return file.read(-1 if length is None else length)

    def create(self, path: str, data: bytes, *, private: bool = False) -> None:
        """See Filesystem."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        _write_new(Path(path), data, 0o600 if private else 0o666)
        _sync_folder(Path(path).parent)

    def replace(self, path: str, data: bytes) -> None:
        """See Filesystem."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        written = Path(path).with_name(f".{Path(path).name}.{secrets.token_hex(4)}")
        _write_new(written, data, 0o666)
        written.replace(path)
        _sync_folder(Path(path).parent)

    @contextmanager
    def output(self, path: str) -> Iterator[BinaryIO]:
        """See Filesystem."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with Path(path).open("xb") as file:
            yield file

    def entries(self, folder: str) -> list[Entry]:
        """See Filesystem."""
        try:
            with os.scandir(folder) as found:
                listed = [
                    Entry(each.name, each.is_dir(), 0 if each.is_dir() else each.stat().st_size) for each in found
                ]
        except FileNotFoundError:
            return []
        return sorted(listed, key=lambda each: each.name)

    def remove(self, path: str) -> None:
        """See Filesystem."""
        with suppress(FileNotFoundError):
            if Path(path).is_dir() and not Path(path).is_symlink():
                shutil.rmtree(path)
            else:
                Path(path).unlink()

    def settle(self, folders: list[str], within: str) -> None:
        """See Filesystem."""
        above = {Path(within)}
        for folder in map(Path, folders):
            for file in folder.iterdir():
                if file.is_file():
                    _sync(file)
            above.update(each for each in (folder, *folder.parents) if each.is_relative_to(within))
        for each in above:
            _sync_folder(each)

    def here(self, paths: Sequence[str]) -> list[str]:
        """See Filesystem."""
        return list(paths)

    def gathered(self, folder: str, _: str) -> AbstractContextManager[str]:
        """See Filesystem."""
        return nullcontext(folder)

    def delta_options(self, _: str, /) -> Mapping[str, str]:
        """See Filesystem."""
        return {}

    def lock(self, path: str, holder: Holder) -> AbstractContextManager[Lock]:
        """See Filesystem."""
        return flocked(path, holder)


def _write_new(path: Path, data: bytes, mode: int) -> None:
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(number, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(number)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _sync_folder(path: Path) -> None:
    with suppress(OSError):  # some filesystems know no fsync of folders
        _sync(path)

"""What a lake needs of a filesystem, and the local one."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

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
        """A file, or so many of its bytes from `start`. FileNotFoundError."""

    def create(self, path: str, data: bytes, *, private: bool = False) -> None:
        """A new file, with its folders. A crash may tear it: nothing may name it before. private: for its owner alone,
        where the filesystem knows owners. FileExistsError."""

    def replace(self, path: str, data: bytes) -> None:
        """A file, new or instead of the former: a reader sees one of both, whole."""

    def entries(self, folder: str) -> list[Entry]:
        """What lies right in it, by name; nothing where it is not there."""

    def remove(self, path: str) -> None:
        """A file, or a folder with all that is in it; nothing happens where it is not there."""

    def settle(self, folders: list[str], within: str) -> None:
        """Makes the files right in these folders survive the loss of power, as far as that can be. within: a folder
        above them that is known to be there. What stores answer is kept: they need none."""
        del folders, within

    def here(self, paths: Sequence[str]) -> list[str]:
        """Paths by which DuckDB and Spark read these files; copies where they are elsewhere. FileNotFoundError:
        there is nothing to copy."""
        return list(paths)

    def gathered(self, folder: str, scratch: str) -> AbstractContextManager[str]:
        """A path, not there yet, where Spark may write that new folder; it is there once the context ends. scratch: a
        folder of this machine."""
        del scratch
        return nullcontext(folder)

    def delta_options(self) -> Mapping[str, str]:
        """How delta-rs reaches them: the options of its store, credentials among them."""
        return {}

    def lock(self, path: str, holder: Holder) -> AbstractContextManager[Lock]:
        """The lock at that path, held for the context. LakeBusy: another has it."""


class LocalFilesystem(Filesystem):
    """This machine's files.

    `replace` writes a neighbour, fsyncs it, renames it and fsyncs the folder: atomic, and kept over a loss of power.
    The lock is an flock: the kernel frees it with its process.
    """

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """See Filesystem."""
        with Path(path).open("rb") as file:
            file.seek(start)
            return file.read(length)

    def create(self, path: str, data: bytes, *, private: bool = False) -> None:
        """See Filesystem."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if private else 0o666)
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(number)

    def replace(self, path: str, data: bytes) -> None:
        """See Filesystem."""
        written = Path(path).with_name(f".{Path(path).name}.{secrets.token_hex(4)}")
        self.create(str(written), data)
        written.replace(path)
        _sync_folder(written.parent)

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

    def lock(self, path: str, holder: Holder) -> AbstractContextManager[Lock]:
        """See Filesystem."""
        return flocked(path, holder)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _sync_folder(path: Path) -> None:
    with suppress(OSError):  # some filesystems know no fsync of folders
        _sync(path)

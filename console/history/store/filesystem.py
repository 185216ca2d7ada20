"""What a lake needs of a filesystem, on this machine; `s3.S3Files` has the same for the objects of a bucket."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from console.history.store.lock import Holder, LakeBusy, Lock, holder_of


class Entry(NamedTuple):
    """What lies in a folder: its name, and the bytes of a file."""

    name: str
    is_folder: bool
    bytes: int


class Filesystem:
    """This machine's files by absolute path.

    `replace` writes a neighbour, fsyncs it, renames it and fsyncs the folder: atomic, and kept over a loss of power.
    """

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """A file, or so many of its bytes from `start`. FileNotFoundError."""
        with Path(path).open("rb") as file:
            file.seek(start)
            return file.read(length)

    def create(self, path: str, data: bytes, *, private: bool = False) -> None:
        """A new file, with its folders. A crash may tear it: nothing may name it before. private: for its owner alone,
        where the filesystem knows owners. FileExistsError."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if private else 0o666)
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(number)

    def replace(self, path: str, data: bytes) -> None:
        """A file, new or instead of the former: a reader sees one of both, whole."""
        written = Path(path).with_name(f".{Path(path).name}.{secrets.token_hex(4)}")
        self.create(str(written), data)
        written.replace(path)
        _sync_folder(written.parent)

    def entries(self, folder: str) -> list[Entry]:
        """What lies right in it, by name; nothing where it is not there."""
        with suppress(FileNotFoundError), os.scandir(folder) as found:
            return sorted(
                Entry(each.name, each.is_dir(), 0 if each.is_dir() else each.stat().st_size) for each in found
            )
        return []

    def within(self, folder: str) -> Iterator[tuple[str, int]]:
        """All files in it and in its folders: paths and bytes."""
        for entry in self.entries(folder):
            path = f"{folder}/{entry.name}"
            if entry.is_folder:
                yield from self.within(path)
            else:
                yield path, entry.bytes

    def remove(self, path: str) -> None:
        """A file, or a folder with all that is in it; nothing happens where it is not there."""
        with suppress(FileNotFoundError):
            if Path(path).is_dir() and not Path(path).is_symlink():
                shutil.rmtree(path)
            else:
                Path(path).unlink()

    def settle(self, folders: list[str], within: str) -> None:
        """Makes the files right in these folders survive the loss of power, as far as that can be. within: a folder
        above them that is known to be there."""
        above = {Path(within)}
        for folder in map(Path, folders):
            for file in folder.iterdir():
                if file.is_file():
                    _sync(file)
            above.update(each for each in (folder, *folder.parents) if each.is_relative_to(within))
        for each in above:
            _sync_folder(each)

    def here(self, paths: Sequence[str]) -> list[str]:
        """Paths by which DuckDB and Spark read these files; copies where they are elsewhere. FileNotFoundError:
        there is nothing to copy."""
        return list(paths)

    @contextmanager
    def gathered(self, folder: str, scratch: str) -> Iterator[str]:
        """A path, not there yet, where Spark may write that new folder; it is there once the context ends. scratch: a
        folder of this machine."""
        del scratch
        yield folder

    def delta_options(self) -> Mapping[str, str]:
        """How delta-rs reaches them: the options of its store, credentials among them."""
        return {}

    @contextmanager
    def lock(self, path: str, holder: Holder) -> Iterator[Lock]:
        """The lock at that path, held for the context: an flock on a file that names the holder. LakeBusy: another has
        it.

        The kernel frees it when its process ends, so a name that is left behind is one who died. The file stays: who
        removes it would let a third lock another file of that name.
        """
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with Path(path).open("a+b", buffering=0) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LakeBusy(path, holder_of(Path(path).read_bytes())) from None
            file.seek(0)
            former = holder_of(file.read())
            file.truncate(0)
            file.write(holder.text)
            try:
                yield Lock(former, lambda: True)
            finally:
                with suppress(OSError):
                    file.truncate(0)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _sync_folder(path: Path) -> None:
    with suppress(OSError):  # some filesystems know no fsync of folders
        _sync(path)

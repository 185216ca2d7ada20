"""What a lake needs of a filesystem, on this machine, and the right to write to it, for one application at a time;
`s3.S3Files` has the same for the objects of a bucket."""

from __future__ import annotations

import errno
import fcntl
import getpass
import os
import re
import secrets
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import BinaryIO, NamedTuple

from console.model.foreign_json import json_of
from console.model.numbers import json_text
from console.safe_files import PRIVATE, SHARED, create_whole, open_plain, write_whole


class LakeError(Exception):
    """A message about a lake for the operator: what is wrong with it, where, and what to do."""


class StoreError(LakeError):
    """A store of objects that can't be reached, or refuses: why, and what to do."""


class DamagedLake(LakeError):
    """A file that says what is in the lake is missing or can't be read."""


# Times and run ids.

_RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")


def iso_now() -> str:
    """Return the present time as ISO 8601 in UTC with microseconds: such texts sort as times do."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def new_run_id() -> str:
    """Return an id as ``20261121T101500Z-3f9a1c``: the present time, its microsecond in the digits at its end, so that
    ids sort as times.
    """
    now = datetime.now(timezone.utc)
    return f"{now:%Y%m%dT%H%M%SZ}-{now.microsecond * 16 + secrets.randbelow(16):06x}"


def is_run_id(text: str) -> bool:
    """Return whether it is such a name: what comes from a file is checked before it becomes a path."""
    return _RUN_ID.fullmatch(text) is not None


# Who holds a lake's lock, as text in the lock's file.


@dataclass(frozen=True)
class Holder:
    """A run that writes. since, renewed: ISO 8601 in UTC; `renewed` counts for leases alone."""

    run_id: str
    job: str
    user: str
    host: str
    pid: int
    since: str
    renewed: str

    def __str__(self) -> str:
        return f"`{self.job}` of {self.user} on {self.host}, process {self.pid}, since {self.since} (run {self.run_id})"

    @property
    def text(self) -> bytes:
        """As the lock's file holds it."""
        return json_text(asdict(self)).encode() + b"\n"


def this_process(run_id: str, job: str) -> Holder:
    """Return this process as a holder, from now."""
    now = iso_now()
    return Holder(run_id, job, _user(), socket.gethostname(), os.getpid(), now, now)


def holder_of(text: bytes) -> Holder | None:
    """Return who the lock's file names; None where it is empty, torn or none of ours."""
    try:
        holder = Holder(**json_of(text))
    except (ValueError, TypeError):
        return None
    texts = (getattr(holder, each.name) for each in fields(holder) if each.name != "pid")
    sound = all(isinstance(each, str) for each in texts) and type(holder.pid) is int and 0 < holder.pid < 1 << 31
    return holder if sound else None


LARGEST_HOLDER = 64 << 10
"""Bytes of the lock's file; in a larger one there is no name."""


def _all_of(lock: BinaryIO) -> bytes:
    text = lock.read(LARGEST_HOLDER + 1)
    return text if len(text) <= LARGEST_HOLDER else b""


def is_dead(holder: Holder) -> bool:
    """Return whether its process is known to have ended: it ran on this host, and is not there."""
    try:
        if holder.host == socket.gethostname():
            os.kill(holder.pid, 0)
    except OSError as error:  # else it is another user's
        return isinstance(error, ProcessLookupError)
    return False


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return str(os.getuid())


class LakeBusy(LakeError):
    """Another run writes to the lake. holder: who, where the lock's file says so."""

    def __init__(self, lock: str, holder: Holder | None) -> None:
        self.holder = holder
        by = str(holder) if holder is not None else "a run that has not said who it is yet"
        where = lock.rpartition("/")[0]
        super().__init__(f"The lake at {where} is being written by {by}. Wait for it to end, then run this again.")


class LeaseLost(LakeError):
    """Another took the lock while this run paused: it writes nothing more."""


@dataclass(frozen=True)
class Lock:
    """A lock that is held. former: who held it and died. is_held: asks whether it still is."""

    former: Holder | None
    is_held: Callable[[], bool]


# -- files -----------------------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """What lies in a folder: its name, and the bytes of a file. tag: of an object: changes whenever it is written."""

    name: str
    is_folder: bool
    bytes: int
    tag: str = ""


LARGEST = 2 << 30
"""Bytes of a file that is read at once: a segment of a metadata log has half of it."""
NO_FILE = frozenset({errno.ENOENT, errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.EFBIG})
"""The errors by which `Filesystem.read` says that there is no such file, or something else in its place."""


class Filesystem:
    """Read and write this machine's files by absolute path. `s3.S3Files` does the same with the objects of a bucket.

    `create` and `replace` write a neighbour, fsync it, give it its name and fsync the folder: atomic, and kept over a
    loss of power.
    """

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """Return a file's bytes.

        Args:
            start: the first byte, from 0.
            length: how many bytes at most; None: to the end.

        Returns:
            Fewer bytes than `length` where the file ends before.

        Raises:
            FileNotFoundError: there is no such file.
            OSError: it can't be read, is no plain file, or is larger than LARGEST.
        """
        with open_plain(path) as file:
            if length is None and os.fstat(file.fileno()).st_size - start > LARGEST:
                raise OSError(errno.EFBIG, f"it has more than {LARGEST >> 30} GiB", path)
            file.seek(start)
            return file.read() if length is None else file.read(length)

    def create(self, path: str, data: bytes, *, private: bool = False) -> None:
        """Write a new file, with its folders, whole or not at all.

        Args:
            private: for its owner alone (0600), where the filesystem knows owners.

        Raises:
            FileExistsError: there is one already; it is left as it is.
        """
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        create_whole(Path(path), data, PRIVATE if private else SHARED)

    def replace(self, path: str, data: bytes) -> None:
        """Write a file, new or instead of the former: a reader sees one of both, whole. It is kept over a loss of
        power.
        """
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(Path(path), data)

    def entries(self, folder: str) -> list[Entry]:
        """Return the direct contents of a folder.

        Returns:
            Sorted by name, hidden files too, but for links that lead nowhere and what was deleted meanwhile; empty
            where there is no such folder.
        """
        listed = []
        with suppress(FileNotFoundError), os.scandir(folder) as found:
            for each in found:
                with suppress(OSError):
                    listed.append(Entry(each.name, each.is_dir(), 0 if each.is_dir() else each.stat().st_size))
        return sorted(listed)

    def remove(self, path: str) -> None:
        """Delete a file, or a folder with all that is in it; nothing happens where it does not exist."""
        with suppress(FileNotFoundError):
            if Path(path).is_dir() and not Path(path).is_symlink():
                shutil.rmtree(path)
            else:
                Path(path).unlink()

    def here(self, paths: Sequence[str]) -> list[str]:
        """Return paths by which DuckDB and Spark can read these files; copies where they are elsewhere.

        Returns:
            One path for each of `paths`, in their order.

        Raises:
            FileNotFoundError: there is nothing to copy.
        """
        return list(paths)

    def spark_settings(self, *, is_local: bool) -> dict[str, str]:
        """Return by which settings Spark reaches the same files, in its words; keys are among them.

        Args:
            is_local: Spark's tasks run in a Java of this machine, which has what `java_properties` names.
        """
        del is_local
        return {}

    def java_properties(self, lent: str) -> dict[str, str]:
        """Return the system properties by which Java reaches the same files; none of them is a secret.

        Args:
            lent: the file of `lent`.
        """
        del lent
        return {}

    @contextmanager
    def lent(self) -> Iterator[str]:
        """Yield the path of a file of this user alone, by which `plans.borrowed` reaches the same files in another
        process; empty text: they are this machine's. It is deleted when the context ends.
        """
        yield ""

    @contextmanager
    def lock(self, path: str, holder: Holder) -> Iterator[Lock]:
        """Yield the lock at that path, held for the context: an flock on a file that names the holder.

        The kernel frees it when its process ends, so a name that is left behind is that of a process that died. The
        file stays: to remove it would let a third process lock another file of that name.

        Args:
            holder: what is written into the file, for others to report.

        Raises:
            LakeBusy: another process holds it; its `holder` is what the file says.
            LakeError: a link, a pipe or a file with another name stands in its place: it is left as it is.
        """
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with _opened_lock(path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise LakeBusy(path, holder_of(_all_of(file))) from None
            file.seek(0)
            former = holder_of(_all_of(file))
            file.truncate(0)
            file.seek(0)
            file.write(holder.text)
            try:
                yield Lock(former, lambda: True)
            finally:
                with suppress(OSError):
                    file.truncate(0)


def _opened_lock(path: str) -> BinaryIO:
    """Open the file of a lock, made where it is missing. Its content is overwritten: so it is never behind a link, nor
    a second name of another file. LakeError, OSError."""
    try:
        file = open_plain(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, buffering=0)
        if os.fstat(file.fileno()).st_nlink > 1:
            file.close()
            raise OSError(errno.EMLINK, "the file has another name, too")
    except PermissionError as refused:
        raise LakeError(f"{path} can't be written by this user ({refused.strerror}): see who owns it.") from refused
    except OSError as wrong:
        if wrong.errno not in (errno.EINVAL, errno.EMLINK, errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise
        raise LakeError(
            f"{path} is no lock of a lake ({wrong.strerror}): another program has put it there. Nothing was written; "
            "look where it leads, delete it, and run this again."
        ) from wrong
    return file

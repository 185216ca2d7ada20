"""The filesystem operations that a lake needs, for the files of this machine, and the lock that lets only one
application at a time write to a lake. `s3.S3Files` has the same operations for the objects of a bucket.
"""

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
    """A problem of a lake, as a message for the operator: the problem, its place, and a remedy."""


class StoreError(LakeError):
    """An object store can't be reached, or refuses a request; the text has the reason and a remedy."""


class DamagedLake(LakeError):
    """A file with the lake's metadata is missing or unreadable."""


# The text forms of times and run ids.

_RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")


def iso_now() -> str:
    """Return the present time as ISO 8601 in UTC with microseconds: such texts sort like times."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def new_run_id() -> str:
    """Return an id as ``20261121T101500Z-3f9a1c``: the present time, with its microsecond in the last digits, so that
    ids sort like times.
    """
    now = datetime.now(timezone.utc)
    return f"{now:%Y%m%dT%H%M%SZ}-{now.microsecond * 16 + secrets.randbelow(16):06x}"


def is_run_id(text: str) -> bool:
    """Return whether a text is a run id: an id from a file is checked before it becomes a path."""
    return _RUN_ID.fullmatch(text) is not None


# The holder of a lake's lock, as text in the lock's file.


@dataclass(frozen=True)
class Holder:
    """The run that holds the lock of a lake."""

    run_id: str
    job: str
    user: str
    host: str
    pid: int
    since: str
    """The time at which the run took the lock, ISO 8601 in UTC."""
    renewed: str
    """The time of the last renewal, ISO 8601 in UTC; empty for a lock that is not a lease."""

    def __str__(self) -> str:
        return f"`{self.job}` of {self.user} on {self.host}, process {self.pid}, since {self.since} (run {self.run_id})"

    @property
    def text(self) -> bytes:
        """The content of the lock's file."""
        return json_text(asdict(self)).encode() + b"\n"


def this_process(run_id: str, job: str) -> Holder:
    """Return this process as a holder of the lock from now on."""
    now = iso_now()
    return Holder(run_id, job, _user(), socket.gethostname(), os.getpid(), now, now)


def holder_of(text: bytes) -> Holder | None:
    """Return the holder that the lock's file names; None if the text is empty or incomplete, or names no run of kac."""
    try:
        holder = Holder(**json_of(text))
    except (ValueError, TypeError):
        return None
    texts = (getattr(holder, each.name) for each in fields(holder) if each.name != "pid")
    sound = all(isinstance(each, str) for each in texts) and type(holder.pid) is int and 0 < holder.pid < 1 << 31
    return holder if sound else None


LARGEST_HOLDER = 64 << 10
"""Maximum size of the lock's file in bytes; a larger file names no holder."""


def _all_of(lock: BinaryIO) -> bytes:
    text = lock.read(LARGEST_HOLDER + 1)
    return text if len(text) <= LARGEST_HOLDER else b""


def is_dead(holder: Holder) -> bool:
    """Return whether the holder's process has surely ended: it ran on this host, and does not exist any more."""
    try:
        if holder.host == socket.gethostname():
            os.kill(holder.pid, 0)
    except OSError as error:  # any other error: the process exists, and belongs to another user
        return isinstance(error, ProcessLookupError)
    return False


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return str(os.getuid())


class LakeBusy(LakeError):
    """Another run writes to the lake. holder: that run; None if the lock's file does not name it."""

    def __init__(self, lock: str, holder: Holder | None) -> None:
        self.holder = holder
        by = str(holder) if holder is not None else "a run that has not said who it is yet"
        where = lock.rpartition("/")[0]
        super().__init__(f"The lake at {where} is being written by {by}. Wait for it to end, then run this again.")


class LeaseLost(LakeError):
    """Another run took the lock while this run paused; this run therefore stops writing."""


@dataclass(frozen=True)
class Lock:
    """A lock of a lake that this process holds."""

    former: Holder | None
    """The former holder, if its process ended without releasing the lock; None if no holder did."""
    is_held: Callable[[], bool]
    """Returns whether the lock is still held."""


# -- files -----------------------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """A file or folder in a folder."""

    name: str
    is_folder: bool
    bytes: int
    """The size of a file; 0 for a folder."""
    tag: str = ""
    """The tag of an object, which changes with each write."""


LARGEST = 2 << 30
"""Maximum size in bytes of the content that one call of `Filesystem.read` returns: twice the default of
metadata.log.segment.bytes.
"""
NO_FILE = frozenset({errno.ENOENT, errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.EFBIG})
"""The numbers of the OSErrors by which `Filesystem.read` reports that no regular file is at the path."""


class Filesystem:
    """Access to this machine's files by absolute path. `s3.S3Files` has the same for the objects of a bucket.

    `create` and `replace` write a temporary file next to the target, fsync it, rename it and fsync the folder: the
    write is atomic and survives a power loss.
    """

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """Return a file's bytes.

        Args:
            start: the first byte, from 0.
            length: the maximum number of bytes; None to read to the end.

        Returns:
            Fewer bytes than `length` if the file ends before.

        Raises:
            FileNotFoundError: there is no such file.
            OSError: the file can't be read, is not a regular file, or, without a `length`, has more than LARGEST bytes
                left.
        """
        with open_plain(path) as file:
            if length is None and os.fstat(file.fileno()).st_size - start > LARGEST:
                raise OSError(errno.EFBIG, f"it has more than {LARGEST >> 30} GiB", path)
            file.seek(start)
            return file.read() if length is None else file.read(length)

    def create(self, path: str, data: bytes, *, private: bool = False) -> None:
        """Write a new file, with its folders, whole or not at all.

        Args:
            private: whether only its owner may read it (0600), if the filesystem has owners.

        Raises:
            FileExistsError: the file exists; it is left unchanged.
        """
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        create_whole(Path(path), data, PRIVATE if private else SHARED)

    def replace(self, path: str, data: bytes) -> None:
        """Write a file, or replace it: a reader sees either version, whole. The write survives a power loss."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(Path(path), data)

    def entries(self, folder: str) -> list[Entry]:
        """Return the direct contents of a folder.

        Returns:
            Sorted by name, with hidden files, without broken links and files deleted meanwhile; empty if the folder
            does not exist.
        """
        listed = []
        with suppress(FileNotFoundError), os.scandir(folder) as found:
            for each in found:
                with suppress(OSError):
                    listed.append(Entry(each.name, each.is_dir(), 0 if each.is_dir() else each.stat().st_size))
        return sorted(listed)

    def remove(self, path: str) -> None:
        """Delete a file, or a folder with its contents; do nothing if it does not exist."""
        with suppress(FileNotFoundError):
            if Path(path).is_dir() and not Path(path).is_symlink():
                shutil.rmtree(path)
            else:
                Path(path).unlink()

    def here(self, paths: Sequence[str]) -> list[str]:
        """Return local paths of these files for DuckDB and Spark; remote files are copied.

        Returns:
            One path for each of `paths`, in their order.

        Raises:
            FileNotFoundError: a file to copy does not exist.
        """
        return list(paths)

    def spark_settings(self, *, is_local: bool) -> dict[str, str]:
        """Return the Spark settings with which Spark reaches the same files, including secret keys; empty for this
        machine's files.

        Args:
            is_local: whether Spark's tasks run in a Java of this machine, which has the properties of
                `java_properties`.
        """
        del is_local
        return {}

    def java_properties(self, lent: str) -> dict[str, str]:
        """Return Java's system properties with which Java reaches the same files, without secrets; empty for this
        machine's files.

        Args:
            lent: the path of the file that `lent` yielded.
        """
        del lent
        return {}

    @contextmanager
    def lent(self) -> Iterator[str]:
        """Yield the path of a file with all that another process needs to reach the same files, such as a bucket's
        address and keys; only this user can read it. The other process passes the file's content to
        `plans.borrowed`. Yield ``""`` for this machine's files. The file is deleted at the end of the ``with``
        block.
        """
        yield ""

    @contextmanager
    def lock(self, path: str, holder: Holder) -> Iterator[Lock]:
        """Yield the lock at that path, held until the end of the ``with`` block: an flock on a file that names the
        holder.

        The kernel releases it when the process ends, so a name left in the file is that of a dead process. The file
        stays: if it were removed, a third process could lock another file of that name.

        Args:
            holder: written into the file, for other processes to report.

        Raises:
            LakeBusy: another process holds the lock; `holder` is the run that the file names.
            LakeError: the path is a link or a pipe, or its file has a second hard link; the lock leaves it unchanged.
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
    """Open the file of a lock; create it if it is missing. Its content is overwritten, so a link, or a second name of
    another file, is refused. Raises LakeError, OSError.
    """
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

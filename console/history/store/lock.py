"""The right to write to a lake, for one run at a time: its name, who holds it, and how it is held."""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple, Protocol

from console.model.numbers import json_text

from .errors import LakeError, StoreError

# Times and run ids.

_RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")


def iso_now() -> str:
    """Now, as ISO 8601 in UTC with microseconds: texts of it sort as times do."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def new_run_id() -> str:
    """``20261121T101500Z-3f9a1c``: now, its microsecond in the digits at its end, so that texts sort as times."""
    now = datetime.now(timezone.utc)
    return f"{now:%Y%m%dT%H%M%SZ}-{now.microsecond * 16 + secrets.randbelow(16):06x}"


def later_run_id(run_id: str, than: str) -> str:
    """The run's own, or the next after another's, where a clock went back or the other has ended since: what a run
    adds is found by its name being later."""
    if run_id > than:
        return run_id
    moment, _, number = than.partition("-")
    return f"{moment}-{int(number, 16) + 1:06x}"


def is_run_id(text: str) -> bool:
    """Whether it is such a name: what comes from a file is checked before it becomes a path."""
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
    """This process as a holder, from now."""
    now = iso_now()
    return Holder(run_id, job, _user(), socket.gethostname(), os.getpid(), now, now)


def holder_of(text: bytes) -> Holder | None:
    """Who the lock's file names; None where it is empty or torn."""
    try:
        return Holder(**json.loads(text))
    except (ValueError, TypeError):
        return None


def is_dead(holder: Holder) -> bool:
    """Whether its process is known to have ended: it ran on this host, and is not there."""
    if holder.host != socket.gethostname():
        return False
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return str(os.getuid())


# The one writer's lock on this machine: an flock.


class LakeBusy(LakeError):
    """Another run writes to the lake. holder: who, where the lock's file says so."""

    def __init__(self, lock: str, holder: Holder | None) -> None:
        self.holder = holder
        by = str(holder) if holder is not None else "a run that has not said who it is yet"
        where = lock.rpartition("/")[0]
        super().__init__(f"The lake at {where} is being written by {by}. Wait for it to end, then run this again.")


@dataclass(frozen=True)
class Lock:
    """A lock that is held. former: who held it and died. is_held: asks whether it still is."""

    former: Holder | None
    is_held: Callable[[], bool]


@contextmanager
def flocked(path: str, holder: Holder) -> Iterator[Lock]:
    """An flock on the file, which names the holder. LakeBusy: another process has it.

    The kernel frees it when its process ends, so a name that is left behind is one who died. The file stays: who
    removes it would let a third lock another file of that name.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LakeBusy(path, holder_of(os.pread(number, 4096, 0))) from None
        former = holder_of(os.pread(number, 4096, 0))
        _write(number, holder.text)
        try:
            yield Lock(former, lambda: True)
        finally:
            with suppress(OSError):
                _write(number, b"")
    finally:
        os.close(number)


def _write(number: int, text: bytes) -> None:
    os.ftruncate(number, 0)
    os.pwrite(number, text, 0)


# The same where there is no flock: a lease, an object with who and where, written on condition of what was there before
# (If-None-Match, If-Match), so that of two that want it one is refused. Its holder writes it again every few seconds;
# one that was not written for longer, by the store's own clock, is taken over. It does not stop who paused and goes on
# as if they held it: commits do.


class Leased(NamedTuple):
    """A lease's object; without text it is free. tag: changes whenever it is written. written: by the store's clock."""

    text: bytes
    tag: str
    written: datetime


class LeaseFiles(Protocol):
    """What a lease needs of a store. Each raises StoreError."""

    def find(self, path: str) -> Leased | None:
        """The object; None: there is none."""

    def clock(self, path: str) -> datetime:
        """Now, by the store's clock."""

    def write_if(self, path: str, text: bytes, tag: str | None) -> str | None:
        """Writes the object if it has that tag still (None: if there is none); its new tag, None if it had not."""


@contextmanager
def leased(files: LeaseFiles, path: str, holder: Holder, every: float, dead_after: float) -> Iterator[Lock]:
    """A lease, held for the context. every, dead_after: seconds. LakeBusy, StoreError."""
    former, tag = _take(files, path, holder, dead_after)
    held, ended = _Lease(files, path, holder, tag), threading.Event()
    renewal = threading.Thread(target=held.renew, args=(ended, every), daemon=True)
    renewal.start()
    try:
        yield Lock(former, held.is_held)
    finally:
        ended.set()
        renewal.join()
        with suppress(StoreError):  # then it ends by itself
            held.write(b"")


def _take(files: LeaseFiles, path: str, holder: Holder, dead_after: float) -> tuple[Holder | None, str]:
    """Whose dead lease was taken over, and the tag of ours."""
    there = files.find(path)
    found = there and holder_of(there.text)
    if there is not None and there.text and not (found is not None and is_dead(found)):
        age = files.clock(path) - there.written
        if age.total_seconds() < dead_after:
            raise LakeBusy(path, found)
    tag = files.write_if(path, holder.text, there and there.tag)
    if tag is None:
        now = files.find(path)
        other = now and holder_of(now.text)
        if now is None or other is None or other.run_id != holder.run_id:  # else it is ours, and the answer was lost
            raise LakeBusy(path, other)
        tag = now.tag
    if there is None and files.write_if(path, holder.text, None) is not None:
        raise StoreError(
            f"The store of {path} ignores If-None-Match: two runs could overwrite each other's commits. Take one that "
            "honours conditional writes; nothing was written."
        )
    return found, tag


class _Lease:
    """The lease while it is held."""

    def __init__(self, files: LeaseFiles, path: str, holder: Holder, tag: str) -> None:
        self._files, self._path, self._holder, self._tag = files, path, holder, tag
        self._alone = threading.Lock()

    def write(self, text: bytes) -> bool:
        """Writes it if it is ours still; whether it was."""
        with self._alone:
            tag = self._files.write_if(self._path, text, self._tag)
            self._tag = tag or self._tag
            return tag is not None or self._is_ours()

    def is_held(self) -> bool:
        """Whether it is ours."""
        with self._alone:
            return self._is_ours()

    def renew(self, ended: threading.Event, every: float) -> None:
        """Writes it now and then, until it is lost or ended."""
        while not ended.wait(every):
            with suppress(StoreError):  # the next time, or never: then the commit finds it lost
                self._holder = replace(self._holder, renewed=iso_now())
                if not self.write(self._holder.text):
                    return

    def _is_ours(self) -> bool:
        there = self._files.find(self._path)
        found = there and holder_of(there.text)
        if there is None or found is None or found.run_id != self._holder.run_id:
            return False
        self._tag = there.tag  # of a write whose answer was lost
        return True

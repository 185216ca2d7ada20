"""The one writer's lock where only files are shared: a file with who and where, which its holder writes again every few
seconds. One that was not written for longer, or whose process on this host has ended, is taken over.

It does not stop who paused and goes on as if they held it: commits do.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, Protocol

from .errors import StoreError
from .lock import Holder, LakeBusy, Lock, holder_of, is_dead, iso_now


class Leased(NamedTuple):
    """A lease's file. tag: changes whenever it is written. written: when, by `LeaseFiles.clock`."""

    text: bytes
    tag: str
    written: datetime


class LeaseFiles(Protocol):
    """What a lease needs of files. Each raises OSError or StoreError."""

    def find(self, path: str) -> Leased | None:
        """The file; None: there is none."""

    def clock(self, path: str) -> datetime:
        """Now, by the clock that the file's time is of."""

    def write_if(self, path: str, text: bytes, tag: str | None) -> str | None:
        """Writes the file if it still has that tag (None: if there is none); its new tag, None if it had not."""

    def release(self, path: str, tag: str) -> None:
        """Makes it free for the next, if it still has that tag."""


@contextmanager
def leased(files: LeaseFiles, path: str, holder: Holder, every: float, dead_after: float) -> Iterator[Lock]:
    """A lease, held for the context. every, dead_after: seconds. LakeBusy; OSError, StoreError."""
    former, tag = _take(files, path, holder, dead_after)
    held, ended = _Lease(files, path, holder, tag), threading.Event()
    renewal = threading.Thread(target=held.renew, args=(ended, every), daemon=True)
    renewal.start()
    try:
        yield Lock(former, held.is_held)
    finally:
        ended.set()
        renewal.join()
        with suppress(StoreError, OSError):  # then it ends by itself
            if held.is_held():
                files.release(path, held.tag)


def _take(files: LeaseFiles, path: str, holder: Holder, dead_after: float) -> tuple[Holder | None, str]:
    """Whose dead lease was taken over, and the tag of ours."""
    there = files.find(path)
    found = there and holder_of(there.text)
    if there is not None and not (found is not None and is_dead(found)):
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
    """The lease while it is held. tag: as it was last seen."""

    def __init__(self, files: LeaseFiles, path: str, holder: Holder, tag: str) -> None:
        self._files, self._path, self._holder, self.tag = files, path, holder, tag
        self._alone = threading.Lock()  # while it is renewed, it may be empty for a moment

    def is_held(self) -> bool:
        """Whether it is ours."""
        with self._alone:
            return self._is_ours()

    def renew(self, ended: threading.Event, every: float) -> None:
        """Writes it now and then, until it is lost or ended."""
        while not ended.wait(every):
            with suppress(StoreError, OSError), self._alone:  # the next time, or never: the commit finds it lost
                self._holder = replace(self._holder, renewed=iso_now())
                tag = self._files.write_if(self._path, self._holder.text, self.tag)
                self.tag = tag or self.tag
                if tag is None and not self._is_ours():
                    return

    def _is_ours(self) -> bool:
        there = self._files.find(self._path)
        found = there and holder_of(there.text)
        if there is None or found is None or found.run_id != self._holder.run_id:
            return False
        self.tag = there.tag  # of a write whose answer was lost
        return True

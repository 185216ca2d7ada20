"""The one writer's lock where there is no flock: an object with who and where, written on condition of what was there
before (If-None-Match, If-Match), so that of two that want it one is refused.

Its holder writes it again every few seconds, and one that was not written for longer, by the store's own clock, is
taken over. It does not stop who paused and goes on as if they held it: commits do.
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

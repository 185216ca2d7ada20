"""The one writer's lock: an flock on this machine, a lease where only files are shared."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .holder import Holder, holder_of


class BusyLock(Exception):
    """Another holds it. holder: who, where the file says so."""

    def __init__(self, holder: Holder | None) -> None:
        super().__init__(str(holder))
        self.holder = holder


@dataclass(frozen=True)
class Lock:
    """A lock that is held. former: who held it and died. is_held: asks whether it still is."""

    former: Holder | None
    is_held: Callable[[], bool]


@contextmanager
def flocked(path: str, holder: Holder) -> Iterator[Lock]:
    """An flock on the file, which names the holder. BusyLock: another process has it.

    The kernel frees it when its process ends, so a name that is left behind is one who died. The file stays: who
    removes it would let a third lock another file of that name.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyLock(holder_of(os.pread(number, 4096, 0))) from None
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

"""The right to write to a lake, for one run at a time: the run's name, who holds the lock, and who can't."""

from __future__ import annotations

import getpass
import json
import os
import re
import secrets
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timezone

from console.model.numbers import json_text

from .errors import LakeError

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


@dataclass(frozen=True)
class Lock:
    """A lock that is held. former: who held it and died. is_held: asks whether it still is."""

    former: Holder | None
    is_held: Callable[[], bool]

"""Who holds a lake's lock, as text in the lock's file."""

from __future__ import annotations

import getpass
import json
import os
import socket
from dataclasses import asdict, dataclass

from console.model.numbers import json_text

from .clock import iso_now


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
        return False
    return False


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return str(os.getuid())

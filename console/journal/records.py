"""What the journal holds, as values; `lines` writes and reads them. Times are UTC. And who this process is in it."""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from console.model.changes import Status
from console.model.failure import Failure
from console.model.journal_lines import Mended, Origin, Request, Sending, Told, Who
from console.plan.staged import Place, Staged


class Entry(Struct, frozen=True):
    """An edit of a change.

    staged: the edit upon what was there right before it was sent, and the topic that it was bound to; a secret in it
    is written as set, and is not read back. until: when it is to be taken back. reverts: the edit of another change
    that it takes back. overridden: whether it overwrote what another client had changed. overrides: of a
    topic that is deleted. secret: whether it holds a value that is not written down."""

    staged: Staged
    until: datetime | None = None
    overridden: bool = False
    overrides: Mapping[str, str] = field(default_factory=dict)
    secret: bool = False


class Intent(Struct, frozen=True):
    """A change that is about to be sent, all of it."""

    at: datetime
    context: str
    who: Who
    origin: Origin
    entries: tuple[Entry, ...]
    requests: tuple[Request, ...]


class Ended(NamedTuple):
    """How it went for an edit. topic_id: of the topic that it created, None if unknown."""

    status: Status
    failure: Failure | None = None
    topic_id: str | None = None


class Answered(Struct, frozen=True):
    """How a request of a change went, for each of its edits by their places."""

    change: int
    request: int
    at: datetime
    edits: Mapping[int, Ended]


class Settled(Struct, frozen=True):
    """What the cluster was found to have of edits whose outcome was unknown. Only APPLIED settles anything: that an
    edit does not show yet does not prove that its request is not still on its way. topic_ids: of topics that were
    created."""

    change: int
    at: datetime
    edits: Mapping[int, Status]
    topic_ids: Mapping[int, str] = field(default_factory=dict)


class Decided(Struct, frozen=True):
    """What an operator said of edits whose outcome was unknown, APPLIED or NOT_APPLIED, and why."""

    change: int
    at: datetime
    edits: Mapping[int, Status]
    who: Who
    why: str


class Closed(Struct, frozen=True):
    """An edit that is not to be taken back any more, and why."""

    place: Place
    at: datetime
    why: str


Note = Sending | Answered | Settled | Decided | Told | Closed | Mended
"""What is written beside the intents."""


# -- this process ------------------------------------------------------------------------------------------------------


def this_operator(principal: str, environ: Mapping[str, str]) -> Who:
    """The operator. principal: who the brokers take us for."""
    uid = os.geteuid()
    try:
        os_user = pwd.getpwuid(uid).pw_name
    except KeyError:
        os_user = str(uid)
    client = environ.get("SSH_CONNECTION", "").split(" ")[0]
    return Who(principal, os_user, environ.get("SUDO_USER", ""), client)


def this_process(door: str) -> Origin:
    """This process on this host."""
    pid = os.getpid()
    return Origin(socket.gethostname(), door, pid, _started(pid))


def still_runs(origin: Origin) -> bool:
    """Whether the process that wrote a record still runs, as far as this host can tell: it may be about to write how
    it went. One on another host is not known, and is taken for ended."""
    if origin.host != socket.gethostname():
        return False
    try:
        os.kill(origin.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another user's process
    return origin.started == _started(origin.pid)


def _started(pid: int) -> str:
    """When a process started, by the kernel's count, for a number that is given to another process later."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
    return f"{boot[:8]}-{stat.rpartition(')')[2].split()[19]}"

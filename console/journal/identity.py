"""Who changes something, and where from, as this process can tell; and whether the process of a record still runs."""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Mapping
from pathlib import Path

from console.journal.records import Origin, Who


def who(principal: str, environ: Mapping[str, str]) -> Who:
    """The operator. principal: who the brokers take us for."""
    uid = os.geteuid()
    try:
        os_user = pwd.getpwuid(uid).pw_name
    except KeyError:
        os_user = str(uid)
    client = environ.get("SSH_CONNECTION", "").split(" ")[0]
    return Who(principal, os_user, environ.get("SUDO_USER", ""), client)


def origin(door: str) -> Origin:
    """This process on this host."""
    pid = os.getpid()
    return Origin(socket.gethostname(), door, pid, _started(pid))


def at_work(origin: Origin) -> bool:
    """Whether the process that wrote a record still runs, as far as this host can tell: it may be about to write how
    it went. One on another host is not known, and is taken for ended."""
    if origin.host != socket.gethostname():
        return False
    try:
        os.kill(origin.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's process
    return origin.started == _started(origin.pid)


def _started(pid: int) -> str:
    """When a process started, by the kernel's count, for a number that is given to another process later."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
    return f"{boot[:8]}-{stat.rpartition(')')[2].split()[19]}"

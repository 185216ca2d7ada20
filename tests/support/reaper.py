"""Ends processes when their owner is gone, however it went: run as a script, with the owner's pipe as standard input.

Lines ``+PID`` and ``-PID`` say which process groups to end; at the end of the input (the owner closed it, or died)
every group still named is killed and the folder in the first argument is removed.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time

PATIENCE = 10.0
"""Seconds to wait for killed processes to be gone; a container whose first process reaps nobody keeps them for ever."""


def reap(groups: set[int], folder: str) -> None:
    """Kill the groups and, once they are gone, remove the folder."""
    deadline = time.monotonic() + PATIENCE
    for group in groups:
        while _kill(group) and time.monotonic() < deadline:
            time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)


def _kill(group: int) -> bool:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def main() -> None:
    """Follow the owner's orders until its pipe ends."""
    # Ctrl-C and a polite end reach the owner's whole session; this script has to outlive the owner.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    reap(groups, sys.argv[1])


if __name__ == "__main__":
    main()

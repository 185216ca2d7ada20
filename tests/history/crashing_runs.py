"""Runs that end in the middle of a write to a lake: `python -m tests.history.crashing_runs LAKE`.

For each line of its input it forks a process that makes one run (`endless_runs.one_run`) and ends, as if it were
killed, right before its n-th change of a file or folder; n counts the lines from 1. It writes the process's exit code:
`CRASHED`, or 0 once a run has fewer changes than n.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from console.history.store import Lake
from tests.history.endless_runs import one_run, tell

CRASHED = 9
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = frozenset({"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate"})


def crash_at(point: int, where: str) -> None:
    """Ends this process before its n-th change of what lies in `where`."""
    left = point

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES
        if (writes or event in _CHANGES) and str(arguments[0]).startswith(where):
            left -= 1
            if not left:
                os._exit(CRASHED)

    sys.addaudithook(hook)
    # Between the write of a file and its arrival on the disk no event is raised.
    fsync = os.fsync

    def crashing_fsync(number: int) -> None:
        hook("os.truncate", (where,))
        fsync(number)

    os.fsync = crashing_fsync  # type: ignore[assignment]


def main() -> None:
    lake = Lake.open(sys.argv[1])
    for point, _ in enumerate(sys.stdin, 1):
        process = os.fork()
        if not process:
            crash_at(point, lake.where)
            one_run(lake)
            os._exit(0)
        _, status = os.waitpid(process, 0)
        tell(str(os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    main()

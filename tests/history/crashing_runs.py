"""Runs that end in the middle of a write to a lake: `python -m tests.history.crashing_runs LAKE`.

For each line of its input it forks a process that makes one run (`endless_runs.one_run`) and ends, as if it were
killed: for `change N` right before its n-th change of a file or folder, for `commit N` before (N even) or after (odd) a
commit of delta-rs's. It writes the process's exit code: `CRASHED`, or 0 where the run has fewer of them.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from console.history.store import Lake, write
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


def crash_at_commit(point: int) -> None:
    """Ends this process before or after one of its commits to Delta tables; delta-rs raises no events."""
    put, left = write.put_table, point

    def crashing(*given: Any, **named: Any) -> int:
        nonlocal left
        if not left:
            os._exit(CRASHED)
        made = put(*given, **named)
        if left == 1:
            os._exit(CRASHED)
        left -= 2
        return made

    write.put_table = crashing


def main() -> None:
    lake = Lake.open(sys.argv[1])
    for line in sys.stdin:
        kind, point = line.split()
        process = os.fork()
        if not process:
            if kind == "commit":
                crash_at_commit(int(point))
            else:
                crash_at(int(point), lake.where)
            one_run(lake)
            os._exit(0)
        _, status = os.waitpid(process, 0)
        tell(str(os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    main()

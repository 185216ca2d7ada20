"""Kills processes when the process that owns them ends, however it ends. `Reaper` runs this file as a script, whose
standard input is a pipe from the owner.

Lines ``+PID`` and ``-PID`` add and remove process groups. At the end of the input (the owner closed the pipe, or died)
the script kills every remaining group and removes the folder in the first argument.
"""

import os
import shutil
import signal
import sys
import time

PATIENCE = 10.0
"""Greatest number of seconds to wait until killed processes have ended: in a container whose first process does not
reap them, they never disappear.
"""


class Reaper:
    """Starts the script, and sends it the owner's process groups. folder: the folder to remove at the end."""

    def __init__(self, folder: os.PathLike[str]) -> None:
        import subprocess  # the script does not need this import

        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def watch(self, pid: int) -> None:
        """Add the process group that a process leads: it is killed when the owner ends."""
        self._tell(f"+{pid}")

    def forget(self, pid: int) -> None:
        """Remove a process group that has ended, because the system may give its id to another one."""
        self._tell(f"-{pid}")

    def close(self) -> None:
        """Kill the remaining process groups, and remove the folder; a second call does nothing."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(2 * PATIENCE)

    def _tell(self, order: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{order}\n".encode())
        self._process.stdin.flush()


def reap(groups: set[int], folder: str) -> None:
    """Kill the process groups; once they have ended, or after `PATIENCE` seconds, remove the folder."""
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
    """Read the owner's lines until the pipe ends, then `reap`."""
    # Ctrl-C and SIGTERM reach the owner's whole session; this script has to outlive the owner.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    reap(groups, sys.argv[1])


if __name__ == "__main__":
    main()

"""Observes the command lines and environments of the processes that a test starts, as another user of the machine
could.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MARK = "KAC_TEST_OF"
"""An environment variable that marks the observed processes: kac passes it on to each process that it starts."""
_SECONDS = 0.2


class Seen:
    """The observed processes. lines: their command lines; variables: their whole environments; both as bytes of /proc,
    whose words end with NUL.
    """

    def __init__(self) -> None:
        self.lines: set[bytes] = set()
        self.variables: set[bytes] = set()

    def of_programs(self, name: str) -> list[bytes]:
        """Return the command lines that contain the text `name`."""
        return [line for line in self.lines if name.encode() in line]

    def has(self, secret: bytes) -> bool:
        """Return whether a secret was in a command line or an environment."""
        return any(secret in each for each in (*self.lines, *self.variables))


@contextmanager
def seen(mark: str) -> Iterator[Seen]:
    """Observe, until the end of the block, all processes whose variable `MARK` has this value; /proc is read again and
    again.
    """
    found, ended = Seen(), threading.Event()
    marked = f"{MARK}={mark}".encode()

    def look() -> None:
        while not ended.wait(_SECONDS):
            for process in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):
                    variables = (process / "environ").read_bytes()
                    if marked in variables.split(b"\0"):
                        found.variables.add(variables)
                        found.lines.add((process / "cmdline").read_bytes())

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield found
    finally:
        ended.set()
        watching.join()

"""Observes the command lines and environments of the processes that a test starts, as other users could."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MARK = "KAC_TEST_OF"
"""A variable that kac passes on to each process that it starts."""
_SECONDS = 0.2


class Seen:
    """The observed processes. lines: command lines; variables: whole environments; each with its NULs."""

    def __init__(self) -> None:
        self.lines: set[bytes] = set()
        self.variables: set[bytes] = set()

    def of_programs(self, name: str) -> list[bytes]:
        """Return the command lines that contain a text."""
        return [line for line in self.lines if name.encode() in line]

    def has(self, secret: bytes) -> bool:
        """Return whether a secret was in a command line or an environment."""
        return any(secret in each for each in (*self.lines, *self.variables))


@contextmanager
def seen(mark: str) -> Iterator[Seen]:
    """Observe all processes with `MARK` set to a value, repeatedly until the end of the block."""
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

"""Runs a program in its own pseudo-terminal; tests read its output and send keys."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.support.patience import PATIENCE

_ESCAPES = re.compile(rb"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[PX^_].*?\x1b\\|[ -/]*[0-~])", re.DOTALL)


class Terminal:
    """Runs a command on a terminal of columns × rows; a context manager that kills the command at the end."""

    def __init__(
        self, command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], columns: int = 80, rows: int = 24
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.written = bytearray()
        try:
            self.process = subprocess.Popen(
                command,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                cwd=cwd,
                env={"TERM": "xterm-256color", "LANG": "C.UTF-8", **environment},
                start_new_session=True,
            )
        finally:
            os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.hang_up()

    @property
    def text(self) -> str:
        """The whole output so far, without escape sequences."""
        return _ESCAPES.sub(b"", bytes(self.written)).decode(errors="replace")

    def hang_up(self) -> None:
        """Close the terminal, so that the program gets SIGHUP as after a lost connection."""
        with contextlib.suppress(OSError):  # closed before
            os.close(self._master)

    def send(self, keys: str) -> None:
        """Send keys as input."""
        os.write(self._master, keys.encode())

    def wait_for(self, text: str, timeout: float = PATIENCE, times: int = 1) -> None:
        """Read until the output contains this text at least `times` times. Raises TimeoutError with the output after
        `timeout` seconds, or if the program ends first.
        """
        deadline = time.monotonic() + timeout
        while self.text.count(text) < times:
            if not self._read(deadline):
                raise TimeoutError(f"{text!r} did not appear within {timeout:g} s; there was:\n{self.text[-2000:]}")

    def read_for(self, seconds: float) -> None:
        """Read output for `seconds` seconds, because a program blocks once its terminal's buffer is full."""
        deadline = time.monotonic() + seconds
        while self._read(deadline):
            pass

    def wait_for_end(self) -> int:
        """Read output until the program ends, and return its exit code. Raises TimeoutError after `PATIENCE`
        seconds.
        """
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline):
            pass
        if time.monotonic() >= deadline:
            raise TimeoutError(f"it did not end within {PATIENCE:g} s; there was:\n{self.text[-2000:]}")
        return self.process.wait(PATIENCE)

    def _read(self, deadline: float) -> bool:
        """Read more output. Return True if there was some, False at its end or at the deadline."""
        readable, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
        # Linux returns EIO once the last program on the other side has ended.
        with contextlib.suppress(OSError):
            if readable and (part := os.read(self._master, 65_536)):
                self.written += part
                return True
        return False

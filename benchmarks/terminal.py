"""Runs a program in a pseudo-terminal, and measures times and bytes of its output, and its memory."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType


class Terminal:
    """A program (`command`) in a pseudo-terminal of `columns` × `rows`, with all bytes that it has written."""

    def __init__(
        self, command: Sequence[str], *, columns: int, rows: int, environ: Mapping[str, str] | None = None
    ) -> None:
        self.written = bytearray()
        self._ended = False
        self.started = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], list(command), {**os.environ, "TERM": "xterm-256color", **(environ or {})})
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._fd)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._fd], [], [], max(0.0, seconds))
        if not ready:
            return False
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # the program has ended
            self._ended = True
            return False
        self.written += data
        return bool(data)

    def until(self, text: bytes, timeout: float, *, since: int = 0) -> float:
        """Read until `text` occurs in the output after its first `since` bytes. Return the seconds since the program's
        start. Raises TimeoutError after `timeout` seconds, or if the program ends first.
        """
        end = time.perf_counter() + timeout
        while self.written.find(text, since) < 0:
            if self._ended or time.perf_counter() > end:
                raise TimeoutError(f"{text!r} was not written in {timeout} s: {bytes(self.written[-2000:])!r}")
            self._read(0.05)
        return time.perf_counter() - self.started

    def listen(self, seconds: float) -> bytes:
        """Read for `seconds` seconds, and return the output of this time."""
        before, end = len(self.written), time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self._read(min(left, 0.05))
        return bytes(self.written[before:])

    def settle(self, quiet: float = 0.5, timeout: float = 20.0) -> None:
        """Read until the program has written nothing for `quiet` seconds, at most for `timeout` seconds."""
        end = time.perf_counter() + timeout
        while time.perf_counter() < end:
            if not self._read(quiet):
                return

    def press(self, keys: bytes) -> None:
        """Send keys as input."""
        os.write(self._fd, keys)

    def memory(self) -> int:
        """Return the resident memory of the program in bytes; 0 if it is unknown."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

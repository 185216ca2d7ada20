"""Runs a program in a tmux terminal, on a separate tmux server, so that tests can read the screen's text."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import join
from typing import Self

from tests.support.patience import PATIENCE

_EVERY = 0.1


def has_tmux() -> bool:
    """Whether tmux is installed."""
    return shutil.which("tmux") is not None


class Tmux:
    """A tmux terminal of 80 columns × 24 rows by default; a context manager. folder: for the server's socket. environ:
    variables for its programs.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str], columns: int = 80, rows: int = 24) -> None:
        self._socket = folder / "tmux"
        self._environ = {**os.environ, **environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self._size = ("-x", str(columns), "-y", str(rows))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._call("kill-server", check=False)

    def run(self, command: Sequence[str]) -> int:
        """Start a program in a new window, and return its process id."""
        self._call("-f", "/dev/null", "new-session", "-d", *self._size, f"exec {join(command)}")
        return int(self._call("list-panes", "-F", "#{pane_pid}"))

    def kill(self, pid: int) -> None:
        """Send SIGKILL to a program, and wait until tmux has closed its window."""
        os.kill(pid, signal.SIGKILL)
        self._until(lambda: not self._call("list-sessions", check=False), "the window did not close")

    def press(self, *keys: str) -> None:
        """Send keys, each by its name in tmux or as text."""
        self._call("send-keys", *keys)

    def type(self, text: str) -> None:
        """Send a text literally, then Enter."""
        self._call("send-keys", "-l", text)
        self._call("send-keys", "Enter")

    @property
    def screen(self) -> str:
        """The text on the screen."""
        return self._call("capture-pane", "-p")

    def shows(self, text: str, never: str = "") -> str:
        """Wait until a text is on the screen, and return the screen. Raises TimeoutError with the screen if it does not
        appear in time, AssertionError if the text `never` appears.
        """

        def is_there() -> bool:
            screen = self.screen
            assert not never or never not in screen, screen
            return text in screen

        self._until(is_there, f"{text!r} is not on the screen")
        return self.screen

    def _until(self, holds: Callable[[], bool], why: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{why}:\n{self._call('capture-pane', '-p', check=False)}")
            time.sleep(_EVERY)

    def _call(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            ("tmux", "-S", str(self._socket), *words),
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if check and done.returncode:
            raise RuntimeError(f"tmux {words[0]}: {done.stderr.strip()}")
        return done.stdout

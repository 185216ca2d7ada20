"""The terminal of ``--plain``: lines out and lines in, and a driver that draws nothing."""

from __future__ import annotations

import os
import termios
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from threading import Semaphore, Thread

from textual.drivers.headless_driver import HeadlessDriver

from console.model.numbers import plural
from console.present.columns import clock
from console.terminal import stdout

MOST_LINES = 40
"""Maximum number of lines of a text that kac writes at once."""


class SilentDriver(HeadlessDriver):
    """A driver that neither draws nor reads. The app reports a crash as on a terminal."""

    @property
    def is_headless(self) -> bool:
        """False: this is an operator's app, not a test's."""
        return False

    @property
    def can_suspend(self) -> bool:
        """Whether another program, such as an editor, can have the terminal: True if standard input and output are a
        terminal, since kac reads no line before `next`.
        """
        return os.isatty(0) and os.isatty(1)

    def suspend_application_mode(self) -> None:
        """Do nothing: there is no screen to leave."""

    def resume_application_mode(self) -> None:
        """Do nothing: there is no screen to come back to."""


class Voice:
    """Writes lines to standard output. count: the number of lines so far."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        """Create the voice. Do this before the app runs: the app redirects standard output.

        Args:
            now: returns the time of a change.
        """
        self._out, self._now = stdout(), now
        self._rest: Sequence[str] = ()
        self.count = 0

    def say(self, text: str) -> None:
        """Write a line, which the terminal folds; nothing for an empty one."""
        if text:
            self.count += 1
            self._out.write(f"{text}\n")
            self._out.flush()

    def say_at(self, text: str) -> None:
        """Write a line about a change, with its time."""
        self.say(f"{clock(self._now())} {text}")

    def say_all(self, lines: Sequence[str]) -> None:
        """Write the first lines of a long text; `more` writes the next ones."""
        for each in lines[:MOST_LINES]:
            self.say(each)
        self._rest = lines[MOST_LINES:]
        if self._rest:
            self.say(f"{plural(len(self._rest), 'more line')}: type more")

    def more(self) -> bool:
        """Write the next lines of a long text; return False if no lines are left."""
        rest = self._rest
        self.say_all(rest)
        return bool(rest)

    def drop(self) -> None:
        """Forget the rest of a long text."""
        self._rest = ()


class InputLines:
    """Lines of standard input, read one at a time on a thread, so that the terminal's own line editing works."""

    def __init__(self) -> None:
        """Create the reader; it reads nothing before `next`."""
        self._wanted, self._lines = Semaphore(0), deque[str]()
        self._is_asked, self.ended = False, False
        Thread(target=self._read, name="lines", daemon=True).start()

    def next(self) -> str | None:
        """Return the next line without its line end; None if no line was typed yet. At the end of input `ended` is
        True.
        """
        if self._lines:
            self._is_asked = False
            return self._lines.popleft()
        if not self._is_asked and not self.ended:
            self._is_asked = True
            self._wanted.release()
        return None

    def echo(self, on: bool) -> None:
        """Let the terminal show typed characters, or not."""
        with suppress(termios.error, OSError):  # raised if there is no terminal
            flags = termios.tcgetattr(0)
            flags[3] = flags[3] | termios.ECHO if on else flags[3] & ~termios.ECHO
            termios.tcsetattr(0, termios.TCSADRAIN, flags)

    def _read(self) -> None:
        # Don't use sys.stdin: this thread would hold its lock when the interpreter exits.
        rest = b""
        while not self.ended:
            self._wanted.acquire()
            while b"\n" not in rest:
                try:
                    part = os.read(0, 65_536)
                except OSError:
                    part = b""
                if not part:
                    break
                rest += part
            line, found, rest = rest.partition(b"\n")
            if found or line:
                self._lines.append(line.decode(errors="replace").rstrip("\r"))
            if not found:
                self.ended = True

"""The terminal of ``--plain``: output of lines, input of lines, and a driver of Textual that draws nothing."""

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
"""Maximum number of lines of a long text that are printed at once."""


class SilentDriver(HeadlessDriver):
    """A driver of Textual that neither draws nor reads keys. After a crash, the app prints the error as on a
    terminal.
    """

    @property
    def is_headless(self) -> bool:
        """False, so that Textual treats the app as one for a user, not for a test."""
        return False

    @property
    def can_suspend(self) -> bool:
        """Whether another program, such as an editor, can use the terminal: True if standard input and output are a
        terminal. kac reads standard input only after a call of `InputLines.next`.
        """
        return os.isatty(0) and os.isatty(1)

    def suspend_application_mode(self) -> None:
        """Do nothing: there is no screen to leave."""

    def resume_application_mode(self) -> None:
        """Do nothing: there is no screen to come back to."""


class Voice:
    """Prints lines to standard output. count: the number of lines printed so far."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        """Create the printer. It must be created before the app runs, because the app redirects standard output.

        Args:
            now: returns the time that `say_at` prints.
        """
        self._out, self._now = stdout(), now
        self._rest: Sequence[str] = ()
        self.count = 0

    def say(self, text: str) -> None:
        """Print a line, folded to the terminal's width; nothing for ``""``."""
        if text:
            self.count += 1
            self._out.write(f"{text}\n")
            self._out.flush()

    def say_at(self, text: str) -> None:
        """Print the present time and a line about a change."""
        self.say(f"{clock(self._now())} {text}")

    def say_all(self, lines: Sequence[str]) -> None:
        """Print the first `MOST_LINES` lines of a text; `more` prints the next ones."""
        for each in lines[:MOST_LINES]:
            self.say(each)
        self._rest = lines[MOST_LINES:]
        if self._rest:
            self.say(f"{plural(len(self._rest), 'more line')}: type more")

    def more(self) -> bool:
        """Print the next lines of the text; return False if none were left."""
        rest = self._rest
        self.say_all(rest)
        return bool(rest)

    def drop(self) -> None:
        """Discard the lines of the text that were not printed."""
        self._rest = ()


class InputLines:
    """Lines of standard input, read one at a time on a thread, so that the user can edit a line with the terminal's own
    keys.
    """

    def __init__(self) -> None:
        """Create the reader; it reads nothing until `next` is called."""
        self._wanted, self._lines = Semaphore(0), deque[str]()
        self._is_asked, self.ended = False, False
        Thread(target=self._read, name="lines", daemon=True).start()

    def next(self) -> str | None:
        """Return the next line that has been read, without its line end. If there is none, return None, and begin to
        read one; after the end of the input, return None, and `ended` is True.
        """
        if self._lines:
            self._is_asked = False
            return self._lines.popleft()
        if not self._is_asked and not self.ended:
            self._is_asked = True
            self._wanted.release()
        return None

    def echo(self, on: bool) -> None:
        """Set whether the terminal shows typed characters."""
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

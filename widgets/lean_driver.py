"""Textual's driver for Unix terminals, sending differences only. Give it to an app as its `driver_class`."""

from __future__ import annotations

import logging
import os
import selectors
import signal
from codecs import getincrementaldecoder
from collections.abc import Iterable
from typing import Any

from textual._ansi_sequences import SYNC_END, SYNC_START
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message
from textual.messages import InBandWindowResize

from widgets.escape_keys import EscapeKeys
from widgets.terminal_diff import TerminalDiff, UnreadableFrame

log = logging.getLogger(__name__)

ALTERNATE_SCREEN = "\x1b[?1049"
LOOK_EVERY = 0.1
"""Seconds after which an Esc that nothing follows is a key, and after which the end is noticed."""
AT_ONCE = 4096
LONG_FRAME = 1024
"""From so many characters on a frame is worth the sequences that show it at once; less arrives in one piece anyway."""

_NO_COLOR_ERASE = ("screen", "linux", "vt", "ansi", "dumb", "cons", "sun")


def erases_in_color(term: str) -> bool:
    """Tell whether a terminal of this type erases to the current background (terminfo's `bce`)."""
    return bool(term) and (not term.startswith(_NO_COLOR_ERASE) or term.endswith("-bce"))


class LeanDriver(LinuxDriver):
    """Keeps what the terminal shows, and writes what differs."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self._diff: TerminalDiff | None = None
        self._stale = False
        self._synchronized = False
        self._readable = True

    def redraw(self) -> None:
        """Paint everything anew: something else has written to the terminal."""
        self._stale = True
        self._app.refresh(layout=True)

    def write(self, data: str) -> None:
        """Send `data`: frames as differences, everything else as it is."""
        if not self._readable:
            super().write(data)
        elif data == SYNC_START:
            self._synchronized = True
        elif data == SYNC_END:
            self._synchronized = False
        elif _is_frame(data):
            output = self._lean(data)
            if self._synchronized and len(output) >= LONG_FRAME:
                output = SYNC_START + output + SYNC_END
            if output:
                super().write(output)
        else:
            if ALTERNATE_SCREEN in data:
                self._stale = True
                data = "\x1b[m" + data
            super().write(data)

    def _lean(self, frame: str) -> str:
        width, height = self._app.size
        if self._diff is None or (self._diff.width, self._diff.height) != (width, height):
            self._diff = TerminalDiff(width, height, erases_in_color=erases_in_color(os.environ.get("TERM", "")))
        elif self._stale:
            self._diff.forget()
        self._stale = False
        try:
            return self._diff.update(frame)
        except UnreadableFrame as problem:
            log.warning("frames are sent whole from now on: %s", problem)
            self._readable = False
            return "\x1b[m" + frame

    def start_application_mode(self) -> None:
        """Start, and hear of resizes: what a terminal shows after one is its own affair."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        tell = signal.getsignal(signal.SIGWINCH)

        def resized(number: int, frame: Any) -> None:
            self._stale = True
            if callable(tell):
                tell(number, frame)

        signal.signal(signal.SIGWINCH, resized)

    def run_input_thread(self) -> None:
        """Read keys, until the end, as `EscapeKeys` has them."""
        parser = EscapeKeys(self._debug)
        decoder = getincrementaldecoder("utf-8")()
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(LOOK_EVERY):
                    data = os.read(self.fileno, AT_ONCE)
                    if not data:
                        return  # the terminal is gone
                    self._process(parser.feed(decoder.decode(data)))
                self._process(parser.tick())

    def _process(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def process_message(self, message: Message) -> None:
        """Take note of resizes that come as messages."""
        if isinstance(message, InBandWindowResize):
            self._stale = True
        super().process_message(message)


def _is_frame(data: str) -> bool:
    """Tell whether `data` draws: Textual's frames begin with a cursor position."""
    head = data[:12].partition("H")[0]
    return head.startswith("\x1b[") and head[2:].replace(";", "").isdigit() and "H" in data[:12]

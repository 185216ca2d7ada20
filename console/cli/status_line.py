"""A line on the terminal that is overwritten in place; and signals that end a command's work instead of the process."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from console.present.text import clean
from console.terminal import drawn_on


class StatusLine:
    """A line of text that is overwritten in place on a terminal; it is not printed elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_shown = False
        self.is_terminal = stream.isatty()

    def show(self, text: str) -> None:
        """Replace the text of the line."""
        if self.is_terminal:
            self._stream.write(f"\r\x1b[K{clean(text, 200)}  (Ctrl-C ends)")
            self._stream.flush()
            self._is_shown = True

    def clear(self) -> None:
        """Remove the line."""
        if self._is_shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._is_shown = False


@contextmanager
def status_line() -> Iterator[StatusLine]:
    """Yield a status line on standard error, which is removed at the end of the ``with`` block."""
    line = StatusLine(drawn_on("stderr"))
    try:
        yield line
    finally:
        line.clear()


@contextmanager
def signals_end(stopping: asyncio.Event) -> Iterator[None]:
    """Set the event on Ctrl-C and SIGTERM inside the ``with`` block, instead of ending the process. Signals can be
    handled only in the main thread; in another thread this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopping.set)
    try:
        yield
    finally:
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(each)

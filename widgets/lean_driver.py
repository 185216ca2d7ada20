"""A driver of Textual. In its input, Esc is a separate key even if the next key arrives with it; it writes only the
differences between frames.
"""

from __future__ import annotations

import logging
import os
import re
import selectors
import signal
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TextIO, cast

from textual._ansi_sequences import SYNC_END, SYNC_START
from textual._parser import ParseTimeout
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key
from textual.message import Message
from textual.messages import InBandWindowResize

from widgets.background import ASK, Listener
from widgets.terminal_diff import TerminalDiff, UnreadableFrame

ESC: Final = "\x1b"
_NO_KEY = "[]OPNX^_\\" + ESC
"""The characters that, after Esc, begin other escape sequences."""
WITH_ALT: Final[Mapping[str, str]] = {"b": "alt+b", "f": "alt+f", "d": "alt+d", "\x7f": "alt+backspace"}
"""Character after Esc -> the key with Alt that both together mean, as in all line editors. Any other character after
Esc is a key of its own.
"""
_KEY_BEHIND = re.compile(rf"\x1b([^{re.escape(_NO_KEY)}])")
_PASTE = re.compile(r"\x1b\[20[01]~")


class EscapeKeys(XTermParser):
    """Textual's parser, for keys that arrive together, as over SSH: it parses ``Esc 4`` as the key Esc and then the key
    4.

    Terminals send a key with Alt in the same form, so this parser recognizes only the keys with Alt in WITH_ALT.
    """

    _pending = False
    _pasting = False

    def feed(self, data: str) -> Iterable[Message]:
        """Parse input into keys. Raises ParseError."""
        if not data:
            yield from super().feed(data)
            return
        start = 0
        if self._pending and data[0] not in _NO_KEY:
            escape = list(self._end_sequence())
            if data[0] in WITH_ALT:
                yield Key(WITH_ALT[data[0]], None)
                start = 1
            else:
                yield from escape
        for found in _KEY_BEHIND.finditer(data, start):
            if self._is_pasting_after(data[: found.start()]):
                continue
            if found[1] in WITH_ALT:
                yield from self._plain(data[start : found.start()])
                yield Key(WITH_ALT[found[1]], None)
                start = found.end()
            else:
                yield from self._plain(data[start : found.start(1)])
                yield from self._end_sequence()
                start = found.start(1)
        yield from self._plain(data[start:])
        self._pasting = self._is_pasting_after(data)
        self._pending = data.endswith(ESC) and not self._pasting

    def _plain(self, data: str) -> Iterable[Message]:
        return super().feed(data) if data else ()

    def _is_pasting_after(self, data: str) -> bool:
        """Return whether, after `data`, the parser is inside a pasted text."""
        marks = _PASTE.findall(data)
        return marks[-1].endswith("0~") if marks else self._pasting

    def _end_sequence(self) -> Iterable[Message]:
        """Yield the last Esc as a key, as the parser does after a timeout; yield nothing if the parser has no
        incomplete sequence.
        """
        if self._timeout_time is None:
            return
        self._timeout_time = None
        self._awaiting = self._gen.throw(ParseTimeout())
        while self._tokens:
            yield self._tokens.popleft()


# Textual's driver for Unix terminals, changed to send only differences. An app uses it as its `driver_class`.

log = logging.getLogger(__name__)

ALTERNATE_SCREEN = "\x1b[?1049"
CHECK_EVERY = 0.1
"""Seconds to wait for the next key before an Esc counts as a key, and seconds until the input thread notices that the
app exits."""
MOUSE_MODES = (1000, 1002, 1015, 1006)
"""The mouse modes of the terminal that kac enables: presses and the wheel, moves while a button is held, and two
encodings of positions. Textual also enables reports of every move (1003); they send 11 bytes for each cell that the
pointer passes, and kac does not use them.
"""
ANSWERED_WITHIN = 5.0
"""Seconds within which the terminal's response with its background colour is expected."""
AT_ONCE = 4096
LONG_FRAME = 1024
"""Minimum characters of a frame that is sent as a synchronized update; a shorter frame arrives in one piece anyway."""

_NO_COLOR_ERASE = ("screen", "linux", "vt", "ansi", "dumb", "cons", "sun")


def erases_in_color(term: str) -> bool:
    """Return whether a terminal of this type erases to the current background (terminfo's `bce`)."""
    return bool(term) and (not term.startswith(_NO_COLOR_ERASE) or term.endswith("-bce"))


class Background(Message):
    """Posted when the terminal has reported the colour of its background."""

    def __init__(self, *, is_light: bool) -> None:
        self.is_light = is_light
        super().__init__()


class MayGoAway:
    """An output to a terminal that may disappear; later writes are then ignored.

    If they raised an error instead, the error would end Textual's writer thread. The program would then block forever
    when it exits, or once that thread's queue is full (30 writes).
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._is_gone = False

    def write(self, text: str) -> int:
        """Write text; a no-op once the terminal is gone."""
        self._tried(lambda: self._file.write(text))
        return len(text)

    def flush(self) -> None:
        """Flush the output; a no-op once the terminal is gone."""
        self._tried(self._file.flush)

    def fileno(self) -> int:
        """Return the terminal's file descriptor."""
        return self._file.fileno()

    def _tried(self, do: Callable[[], object]) -> None:
        if self._is_gone:
            return
        try:
            do()
        except OSError as error:
            self._is_gone = True
            log.info("the terminal is gone: %s", error)


class LeanDriver(LinuxDriver):
    """Keeps a copy of the terminal's content, and writes only the cells that a frame changes."""

    listener: Listener | None = None
    """Extracts the response to the query for the background colour from the input; None if the driver sends no
    query.
    """

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self._file = MayGoAway(cast("TextIO", self._file))  # type: ignore[assignment]
        self._diff: TerminalDiff | None = None
        self._stale = False
        self._synchronized = False
        self._readable = True
        self._asked_at = 0.0

    def redraw(self) -> None:
        """Repaint everything, because another program has written to the terminal."""
        self._stale = True
        self._app.refresh(layout=True)

    def write(self, data: str) -> None:
        """Send `data` to the terminal: frames as differences, all other data unchanged."""
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
        """Start as Textual's driver does, and query the colour of the background if there is a listener. From then on,
        the first frame after a resize repaints everything, because terminals differ in their content after a resize.
        """
        self._asked_at = time.monotonic()  # the input is read from now on
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self.listener is not None and not self.listener.is_done:
            super().write(ASK)
        tell = signal.getsignal(signal.SIGWINCH)

        def resized(number: int, frame: Any) -> None:
            self._stale = True
            if callable(tell):
                tell(number, frame)

        signal.signal(signal.SIGWINCH, resized)

    def _enable_mouse_support(self) -> None:
        self._ask_for_mouse("h")

    def _disable_mouse_support(self) -> None:
        self._ask_for_mouse("l")

    def _ask_for_mouse(self, end: str) -> None:
        """Enable the mouse modes (`end` is ``h``) or disable them (``l``)."""
        if self._mouse:
            self.write("".join(f"{ESC}[?{mode}{end}" for mode in MOUSE_MODES))
            self.flush()

    def run_input_thread(self) -> None:
        """Read keys with `EscapeKeys` until the driver stops. Send this process SIGHUP if the terminal is closed."""
        parser = EscapeKeys(self._debug)
        decoder = getincrementaldecoder("utf-8")()
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(CHECK_EVERY):
                    try:
                        data = os.read(self.fileno, AT_ONCE)
                    except OSError:
                        data = b""
                    if not data:
                        # The kernel also sends SIGHUP when the terminal is closed, but not to every process of the
                        # terminal, and not under nohup.
                        os.kill(os.getpid(), signal.SIGHUP)
                        return
                    typed = self._heard(decoder.decode(data))
                else:
                    typed = self.listener.rest() if self.listener is not None else ""
                if typed:  # the parser treats empty input as the end of the input
                    self._process(parser.feed(typed))
                self._process(parser.tick())

    def _heard(self, data: str) -> str:
        """Return the typed input, without the terminal's response to the query. Post `Background` if the response
        arrived.
        """
        if self.listener is None:
            return data
        if not self.listener.is_done and time.monotonic() - self._asked_at > ANSWERED_WITHIN:
            self.listener.is_done = True
            data = self.listener.rest() + data
        was_done = self.listener.is_done
        typed = self.listener.feed(data)
        if not was_done and self.listener.answer is not None:
            self.process_message(Background(is_light=self.listener.answer))
        return typed

    def _process(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def process_message(self, message: Message) -> None:
        """Pass a message on. If it reports a resize of the terminal, the next frame repaints everything."""
        if isinstance(message, InBandWindowResize):
            self._stale = True
        super().process_message(message)


def _is_frame(data: str) -> bool:
    """Return whether `data` is a frame of Textual, which begins with a cursor position."""
    head = data[:12].partition("H")[0]
    return head.startswith("\x1b[") and head[2:].replace(";", "").isdigit() and "H" in data[:12]


class AskingDriver(LeanDriver):
    """A `LeanDriver` that queries the terminal's background colour when it starts."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self.listener = Listener()

"""What a terminal sends, as keys: Esc is a key of its own also where the next one arrives with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from textual._parser import ParseTimeout
from textual._xterm_parser import XTermParser
from textual.events import Key
from textual.message import Message

ESC: Final = "\x1b"
_NO_KEY = "[]OPNX^_\\" + ESC
"""What other sequences begin with, behind Esc."""
WITH_ALT: Final[Mapping[str, str]] = {"b": "alt+b", "f": "alt+f", "d": "alt+d", "\x7f": "alt+backspace"}
"""The keys that stay keys with Alt, as in every line editor; where they are none, an app takes them apart."""
_KEY_BEHIND = re.compile(rf"\x1b([^{re.escape(_NO_KEY)}])")
_PASTE = re.compile(r"\x1b\[20[01]~")


class EscapeKeys(XTermParser):
    """Textual's parser, for keys that arrive in bursts, as over SSH: there ``Esc 4`` is Esc, and then 4.

    Terminals send a key with Alt in the same way, so with this parser there are few of them.
    """

    _pending = False
    _pasting = False

    def feed(self, data: str) -> Iterable[Message]:
        """The keys in what was read. Raises ParseError."""
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
        """Whether what follows `data` belongs to a paste."""
        marks = _PASTE.findall(data)
        return marks[-1].endswith("0~") if marks else self._pasting

    def _end_sequence(self) -> Iterable[Message]:
        """Nothing belongs to the Esc that came last: what the parser finds by itself after a while."""
        if self._timeout_time is None:
            return
        self._timeout_time = None
        self._awaiting = self._gen.throw(ParseTimeout())
        while self._tokens:
            yield self._tokens.popleft()

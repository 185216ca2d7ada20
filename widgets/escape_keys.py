"""What a terminal sends, as keys: Esc is a key of its own also where the next one arrives with it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from textual._parser import ParseTimeout
from textual._xterm_parser import XTermParser
from textual.message import Message

ESC = "\x1b"
_KEY_BEHIND = re.compile(r"\x1b(?=[^\[\]OPNX^_\\\x1b])")
"""Esc, and behind it what no sequence begins with."""
_PASTE = re.compile(r"\x1b\[20[01]~")


class EscapeKeys(XTermParser):
    """Textual's parser, for keys that arrive in bursts, as over SSH: there ``Esc 4`` is Esc, and then 4.

    Terminals send a key with Alt in the same way, so with this parser there are no such keys.
    """

    _pending = False
    _pasting = False

    def feed(self, data: str) -> Iterable[Message]:
        """The keys in what was read. Raises ParseError."""
        if not data:
            yield from super().feed(data)
            return
        if self._pending and not data.startswith(tuple("[]OPNX^_\\" + ESC)):
            yield from self._end_sequence()
        start = 0
        for found in _KEY_BEHIND.finditer(data):
            if self._is_pasting_after(data[: found.start()]):
                continue
            yield from super().feed(data[start : found.end()])
            yield from self._end_sequence()
            start = found.end()
        yield from super().feed(data[start:]) if start < len(data) else ()
        self._pasting = self._is_pasting_after(data)
        self._pending = data.endswith(ESC) and not self._pasting

    def _is_pasting_after(self, data: str) -> bool:
        """Whether what follows `data` belongs to a paste."""
        marks = _PASTE.findall(data)
        return marks[-1].endswith("0~") if marks else self._pasting

    def _end_sequence(self) -> Iterable[Message]:
        """Nothing belongs to the Esc that came last: what the parser finds by itself after a while."""
        self._timeout_time = None
        self._awaiting = self._gen.throw(ParseTimeout())
        while self._tokens:
            yield self._tokens.popleft()

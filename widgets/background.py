"""The colour of a terminal's background, from the environment or from the terminal's response to a query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

ASK: Final = "\x1b]11;?\x1b\\"
"""The OSC 11 sequence, which queries the background colour. Terminals that do not support it do not respond."""
_ANSWER = re.compile(r"\x1b\]11;([^\x07\x1b]{0,48})(?:\x07|\x1b\\)")
_BEGINNING = "\x1b]11;"
_BEGUN = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b]{0,48}\x1b?)?)?)?)?\Z")
_RGB = re.compile(r"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_ANSWERS = ("xterm", "tmux", "alacritty", "foot", "kitty", "wezterm", "rxvt", "contour", "ghostty", "konsole", "vte")
_LIGHT = frozenset({"7", *map(str, range(9, 16))})


def from_environment(environ: Mapping[str, str]) -> bool | None:
    """Return True if the background that ``COLORFGBG`` names is light, False if it is dark; None if the variable names
    no background. rxvt and Konsole set it, for example to ``0;15``.
    """
    last = environ.get("COLORFGBG", "").rpartition(";")[2].strip()
    return last in _LIGHT if last.isdecimal() and int(last) < 16 else None


def may_be_asked(environ: Mapping[str, str]) -> bool:
    """Return whether a terminal of this type ignores queries that it does not support, so that sending one is safe. A
    Linux console, for example, would print the query.
    """
    return environ.get("TERM", "").startswith(_ANSWERS) or "TMUX" in environ


def is_light(answer: str) -> bool | None:
    """Return whether the colour in a terminal's response is nearer to white than to black; None if the response has no
    readable colour.
    """
    found = _RGB.match(answer)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return bool(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)


class Listener:
    """Extracts the terminal's response from its input, and passes typed input on unchanged, in its order."""

    def __init__(self) -> None:
        self._held = ""
        self.answer: bool | None = None
        self.is_done = False

    def feed(self, data: str) -> str:
        """Return the data without the response. Hold back an end of the data that may be the beginning of a response,
        and prepend it to the data of the next call.
        """
        if self.is_done:  # a late or second response is not typed text either
            return _ANSWER.sub("", data) if _BEGINNING in data else data
        data, self._held = self._held + data, ""
        if (found := _ANSWER.search(data)) is not None:
            self.answer, self.is_done = is_light(found[1]), True
            return data[: found.start()] + data[found.end() :]
        if (begun := _BEGUN.search(data)) is not None:
            self._held = data[begun.start() :]
            return data[: begun.start()]
        return data

    def rest(self) -> str:
        """Return the held-back data as typed input, after no more input has followed: a single Esc, for example. Return
        ``""``, and keep holding it back, if the data is certainly the beginning of a response.
        """
        if self._held.startswith(_BEGINNING) and not self.is_done:
            return ""
        held, self._held = self._held, ""
        return held

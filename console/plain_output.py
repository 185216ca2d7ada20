"""Text for terminals and files that can't hold every character: ours in ASCII, the rest escaped; never an error."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable
from types import MappingProxyType
from typing import TextIO

HANDLER = "kac-plain"
"""The name of the error handler for encoding, once `register` has run."""

_PLAIN = MappingProxyType(
    {
        "…": "...",
        "–": "-",
        "—": "-",
        "−": "-",
        "·": ".",
        "•": "*",
        "→": "->",
        "←": "<-",
        "≈": "~",
        "×": "x",
        "≥": ">=",
        "≤": "<=",
        "✓": "+",
        "✗": "x",
        "⏎": "\\n",
        "─": "-",
        "│": "|",
        "├": "|",
        "└": "`",
    }
)


def register() -> None:
    """Make `HANDLER` known to `codecs`."""
    codecs.register_error(HANDLER, _plain)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    escaped = (_PLAIN.get(char) or char.encode("ascii", "backslashreplace").decode("ascii") for char in text)
    return "".join(escaped), error.end


def never_fail(streams: Iterable[TextIO]) -> None:
    """Have these streams write what their encoding lacks by `HANDLER`; an undecodable name too (a lone surrogate)."""
    register()
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=HANDLER)


def standard_streams() -> tuple[TextIO, ...]:
    """Standard output and error, as far as this process has them."""
    return tuple(stream for stream in (sys.stdout, sys.stderr) if stream is not None)

"""Entries of several lines: an open quote goes on, and so does a line that ends in a backslash."""

from __future__ import annotations

from console.commands.words import UNCLOSED, scan

_CONTINUED = "\\\n"


def is_complete(text: str) -> bool:
    """Whether Enter ends the entry."""
    if _quote_is_open(text):
        return False
    return not text.endswith("\\")


def joined(text: str) -> str:
    """The entry as the language reads it: a backslash at a line's end, outside of quotes, and the line's end are one
    blank."""
    result = text
    at = result.find(_CONTINUED)
    while at >= 0:
        if not _quote_is_open(result[:at]):
            result = result[:at] + " " + result[at + len(_CONTINUED) :]
        at = result.find(_CONTINUED, at + 1)
    return result


def _quote_is_open(text: str) -> bool:
    return any(flaw.message == UNCLOSED for flaw in scan(text).flaws)

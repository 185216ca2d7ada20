"""Quoting for the command language: a name, key, value or pattern as a word that reads back as exactly it.

What is written here is printable: a script goes to terminals, through pipes and into files, and none of them may
change it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from console.present.text import is_harmless

DEFAULT_NAME = "<default>"
ENTITY_WORDS = ("topic", "group", "client-metrics", "ip", "client", "user", "broker", "logger")

ESCAPES: Mapping[str, str] = MappingProxyType({'"': '"', "\\": "\\", "n": "\n", "t": "\t", "r": "\r"})
"""Character after a backslash in double quotes -> what the two stand for; beside ``\\u{HEX}``, any code point."""

# Punctuation that no rule of the grammar gives a meaning to: `@` and `?` would begin a secret's source, and `!`, `~`,
# `<` and `>` compare in the filters of a list.
_SAFE = re.compile(r"[\w.:/+%,*\-\[\]{}()$&^|]+", re.ASCII)
RESERVED = frozenset(
    (*ENTITY_WORDS, "transactional-id", "delegation-token", "cluster", "prefixed", "from", "for", "on", DEFAULT_NAME)
)
_ESCAPED = {char: f"\\{letter}" for letter, char in ESCAPES.items()}
_GLOB = re.compile(r"([*?\[])")


def quote(text: str) -> str:
    """The text as one word of the language that stands for exactly it, wherever a name, key or value may stand.

    Bare where that is safe; else in single quotes; in double quotes where it holds a single quote or a character that
    a terminal, a pipe or a file could change. Reserved words are quoted, so that the result is data in every position.
    """
    if _SAFE.fullmatch(text) and text not in RESERVED:
        return text
    return quoted(text)


def quote_beside_equals(text: str) -> str:
    """The text as the key or value of a ``KEY=VALUE``, where no word is reserved but ``<default>``."""
    return text if text in RESERVED and text != DEFAULT_NAME else quote(text)


def quote_pattern(pattern: str) -> str:
    """A glob as one word: ``*``, ``?`` and ``[`` stay bare and keep their meaning, what is between them is quoted."""
    parts = _GLOB.split(pattern) if pattern else [""]
    return "".join(part if part in ("*", "?", "[") else quote(part) for part in parts if part or not pattern)


def can_stand_bare(key: str) -> bool:
    """Whether a key, written bare, is read as it is wherever a key may stand."""
    if not key or key in RESERVED or not is_harmless(key):
        return False
    return not any(char.isspace() or char in ";'\"=" for char in key)


def quoted(text: str) -> str:
    """The text in quotes, whether it needs them or not."""
    harmless = is_harmless(text)
    if harmless and "'" not in text:
        return f"'{text}'"
    return f'"{"".join(_escape(char, harmless) for char in text)}"'


def _escape(char: str, harmless: bool) -> str:
    if char in _ESCAPED:
        return _ESCAPED[char]
    return char if harmless or is_harmless(char) else f"\\u{{{ord(char):x}}}"

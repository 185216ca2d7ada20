"""Java's ``.properties`` format, with the line of each entry (java.util.Properties#load). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE_END = re.compile(r"\r\n|\r|\n")
# Java removes a line end at the end of the text before it handles backslashes, so a lone backslash there is an entry
# with an empty key.
_LAST_LINE_END = re.compile(r"(?:(?<!\r)\n|\r)\Z")
_BLANK = " \t\f"
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_HEX = re.compile(r"[0-9A-Fa-f]{4}")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Property(NamedTuple):
    """One entry. `line` is the number of the line in which its key begins, counted from 1."""

    key: str
    value: str
    line: int


def parse_properties(text: str) -> tuple[Property, ...]:
    r"""Return all entries in order, including duplicate keys, of which Java uses the last one.

    Raises:
        ValueError: a ``\u`` without four hexadecimal digits, or half a surrogate pair; the message starts with ``line
            N:``.
    """
    return tuple(_entry(logical, line) for line, logical in _logical_lines(text))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each logical line: continuation lines are joined, comments and blank lines are
    left out, escapes are kept.
    """
    natural_lines = _LINE_END.split(_LAST_LINE_END.sub("", text))
    parts: list[str] = []
    start = 0
    for number, natural in enumerate(natural_lines, start=1):
        line = natural.lstrip(_BLANK)
        if not any(parts):
            parts = []
            if not line or line[0] in "#!":
                continue
            start = number
        backslashes = len(line) - len(line.rstrip("\\"))
        continued = backslashes % 2 == 1
        parts.append(line[:-1] if continued else line)
        if not continued or number == len(natural_lines):
            yield start, "".join(parts)
            parts = []


def _entry(line: str, number: int) -> Property:
    """Return the entry of a logical line, split at the first unescaped ``=``, ``:`` or blank. Raises ValueError for a
    wrong escape.
    """
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANK:
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(_BLANK)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANK)
    return Property(_unescape(line[:end], number), _unescape(rest, number), number)


def _unescape(text: str, number: int) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while (slash := text.find("\\", at)) >= 0:
        out.append(text[at:slash])
        letter = text[slash + 1 : slash + 2]
        at = slash + 2
        if letter == "u":
            digits = text[at : at + 4]
            if not _HEX.fullmatch(digits):
                raise ValueError(f"line {number}: \\u needs four hexadecimal digits, as in \\u00e9")
            out.append(chr(int(digits, 16)))
            at += 4
        else:
            out.append(_CONTROL.get(letter, letter))
    out.append(text[at:])
    joined = "".join(out)
    if _SURROGATE.search(joined):
        return _join_surrogates(joined, number)
    return joined


def _join_surrogates(text: str, number: int) -> str:
    """Join pairs of surrogates: Java's strings are UTF-16, so a character beyond U+FFFF is written as two escapes.
    Raises ValueError for half a pair.
    """
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise ValueError(f"line {number}: \\ud800 to \\udfff come in pairs; this one is alone") from None

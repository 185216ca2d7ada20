"""Functions that escape, measure, cut, pad and fold text for terminal cells; no other module does any of the five.

No function here parses markup: brackets in a text are drawn as they are. Widths are those of Rich, which Textual draws
with; Rich is imported for the first text with characters that may be wide.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal

Align = Literal["left", "right"]
ELLIPSIS = "…"

# Characters that are printable for Python, but drawn without a width, or with a width that terminals disagree on:
# Hangul fillers, the grapheme joiner, Mongolian and emoji variation selectors, the braille blank (Unicode's
# Default_Ignorable_Code_Point), skin tones.
_UNSEEN = frozenset(
    map(
        chr,
        (
            *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164),
            *(*range(0xFE00, 0xFE10), 0xFFA0, *range(0x1F3FB, 0x1F400), *range(0xE0100, 0xE01F0)),
        ),
    )
)
_MARKS_IN_A_ROW = 2


@cache
def _narrow() -> re.Pattern[str]:
    """Return the pattern of texts with one cell per character: Latin letters, punctuation, arrows, signs, frames.

    Compiled on first use: a command that writes ASCII never needs it.
    """
    return re.compile("[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2190-\u22ff\u2500-\u25fc]*")


_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_visible(char: str) -> bool:
    """Return whether a character draws something in its own cell, and does not move, reorder or join other characters.

    False for control, formatting, bidirectional, zero-width, private and unassigned characters, for lone surrogates,
    and for separators other than the plain space.
    """
    return char.isprintable() and char not in _UNSEEN


def escaped(char: str) -> str:
    r"""Return the escape sequence for a character: ``\n``, ``\x1b``, ``\u202e``, ``\U000e0041``."""
    code = ord(char)
    if char in _NAMED:
        return _NAMED[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _joins(char: str) -> bool:
    """Return whether a terminal draws a character into the cell before it: True for combining marks, and for the vowels
    and final consonants of Hangul.
    """
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc") or "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7ff"
    )


def clean(text: str, limit: int | None = None) -> str:
    """Return `text` with everything invisible made visible, cut to `limit` characters.

    Control characters, escape sequences, bidirectional marks and overrides, zero-width and unassigned characters become
    escapes such as ``\\x1b`` and ``\\u202e``; so do combining marks beyond two on one letter. The result neither moves
    the cursor nor reorders the line, and has the width that `cell_width` returns. Plain text is returned as the same
    object.
    """
    if text.isascii() and text.isprintable():
        return text if limit is None or len(text) <= limit else text[: limit - 1] + ELLIPSIS
    most = len(text) * len(r"\U00000000") if limit is None else limit
    shown: list[str] = []
    length = marks = 0
    for char in text[: most + 1]:
        # Escape a mark without a letter before it: it would combine with the character to the left of the text.
        marks = marks + 1 if _joins(char) else 0
        stray = marks > _MARKS_IN_A_ROW or (marks and not shown)
        piece = char if is_visible(char) and not stray else escaped(char)
        length += len(piece)
        if length > most:
            shown.append(ELLIPSIS)
            break
        shown.append(piece)
    result = "".join(shown)
    if len(result) > most:
        return result[: most - 1] + ELLIPSIS
    return text if result == text else result


def cell_width(text: str) -> int:
    """Return the number of cells of a cleaned `text`."""
    if text.isascii() or _narrow().fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _char_width(char: str) -> int:
    if char.isascii() or _narrow().fullmatch(char):
        return 1
    from rich.cells import get_character_cell_size

    return get_character_cell_size(char)


def truncate(text: str, width: int) -> str:
    """Cut `text` to at most `width` cells; if it was cut, its last cell is an ellipsis.

    A wide character is never halved, so the result may be one cell short. ``""`` for a width of 0 or less.
    """
    if width <= 0:
        return ""
    if cell_width(text) <= width:
        return text
    taken = 0
    for index, char in enumerate(text):
        taken += _char_width(char)
        if taken > width - 1:
            return text[:index] + ELLIPSIS
    return text


def truncate_middle(text: str, width: int) -> str:
    """Return `text` in at most `width` cells. If it is wider, replace its middle by an ellipsis, so that its start and
    its end stay; if `width` is below 5, cut its end.
    """
    if cell_width(text) <= width or width < 5:
        return truncate(text, width)
    tail_width = (width - 1) // 2
    tail: list[str] = []
    used = 0
    for char in reversed(text):
        if used + _char_width(char) > tail_width:
            break
        used += _char_width(char)
        tail.append(char)
    return truncate(text, width - used) + "".join(reversed(tail))


_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_THOUSANDS = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")


def fit_number(text: str, width: int) -> str:
    """Return a text that contains numbers in at most `width` cells.

    A number is never cut, which would change its value. If the text does not fit, its numbers are rounded (``12,345``
    to ``12k``); if it does not fit then either, the result is `width` characters ``#``.
    """
    if cell_width(text) <= width:
        return text
    for digits in (3, 2, 1):
        short = _NUMBER.sub(lambda found: rounded(found[0], digits), text)  # noqa: B023 - called at once
        if cell_width(short) <= width:
            return short
    return "#" * max(0, width)


def rounded(number: str, digits: int) -> str:
    """Return a number in thousands (k), millions (M) and so on, rounded to `digits` significant digits, but at least to
    whole units: ``1234567`` with 2 digits is ``1.2M``. ``>999Y`` if the number is too large for all units.
    """
    whole, _, behind = number.replace(",", "").partition(".")
    whole = whole.lstrip("0") or "0"
    power, lead = divmod(len(whole) - 1, 3)
    if power >= len(_THOUSANDS):
        return f">999{_THOUSANDS[-1]}"
    lead += 1
    text = f"{float(f'{whole[:lead]}.{whole[lead : lead + 6]}{behind[:6]}'):.{max(0, digits - lead)}f}"
    if text.startswith("1000"):
        return rounded(f"1{'000' * (power + 1)}", digits)
    return (text.rstrip("0").rstrip(".") if "." in text else text) + _THOUSANDS[power]


def fit(text: str, width: int, align: Align = "left") -> str:
    """Return `text` in exactly `width` cells: cut with an ellipsis, or padded on the side opposite to `align`."""
    cut = truncate(text, width)
    padding = " " * (width - cell_width(cut))
    return padding + cut if align == "right" else cut + padding


def wrapped(line: Sequence[tuple[str, str]], width: int, below: int) -> list[list[tuple[str, str]]]:
    """Return styled texts in pieces, broken at blanks, but not between a number and its noun or sign.

    Args:
        line: (text, style's name) of each part of the line.
        width: maximum cells of the first piece, at least two, so that any character fits.
        below: maximum cells of each later piece, at least two.
    """
    lines: list[list[tuple[str, str]]] = [[]]
    room = width
    for text, meaning in line:
        for word in _words(text, below):
            rest = word
            while rest:
                wide = cell_width(rest)
                if wide <= room:
                    if lines[-1] or len(lines) == 1 or not rest.isspace():
                        lines[-1].append((rest, meaning))
                        room -= wide
                    break
                head = "" if rest.isspace() or (lines[-1] and wide <= below) else _head(rest, room)
                if head:
                    lines[-1].append((head, meaning))
                rest = "" if rest.isspace() else rest[len(head) :]
                lines.append([])
                room = below
    while len(lines) > 1 and not lines[-1]:
        lines.pop()
    return lines


_WORDS = re.compile(r" +|(?P<counted>\(?\d[\d.,]*+ (?:%|[^\W\d])[^ ]*+)|[^ ]++")


def _words(text: str, width: int) -> Iterator[str]:
    """Yield the words of a text and the blanks between them. A number and the noun or unit after it are one word if
    they fit into `width` cells.
    """
    for found in _WORDS.finditer(text):
        word = found[0]
        if found["counted"] and cell_width(word) > width:
            number, _, noun = word.partition(" ")
            yield from (number, " ", noun)
        else:
            yield word


def _head(text: str, width: int) -> str:
    """Return the longest prefix of a word that fits in `width` cells. Return the prefix that ends after the last
    separator (one of ``./-_:,=``) instead, if it has at least half of the characters.
    """
    used = 0
    for place, char in enumerate(text):
        used += cell_width(char)
        if used > width:
            part = max(text.rfind(sign, 0, place) for sign in "./-_:,=") + 1
            return text[: part if part * 2 >= place else place]
    return text

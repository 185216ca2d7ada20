"""Text that came from a cluster, made harmless for a terminal, and measured in its cells."""

from __future__ import annotations

import re
import unicodedata

LIMIT = 2_000
"""Characters of one value that are worth showing; a config value may have 32,767."""

ELLIPSIS = "…"

# Printable to Python, yet drawn with no width or none that terminals agree on: Hangul fillers, the grapheme joiner,
# Mongolian and emoji variation selectors, the braille blank (Unicode's Default_Ignorable_Code_Point).
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_MARKS_IN_A_ROW = 2


def _joins(char: str) -> bool:
    """Whether a character is drawn into the cell before it: combining marks, and the vowels and tails of Hangul."""
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc") or "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7ff"
    )


def _escaped(char: str) -> str:
    code = ord(char)
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char)
    if named:
        return named
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clean(text: str, limit: int = LIMIT) -> str:
    """`text` with everything invisible made visible, cut to `limit` characters.

    Control characters, escape sequences, bidirectional marks and overrides, zero-width and unassigned characters become
    escapes such as ``\\x1b`` and ``\\u202e``; more than two combining marks on one letter likewise. What is left
    neither moves the cursor nor reorders the line, and takes the width that `cell_width` says.
    """
    if text.isascii() and text.isprintable():
        return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS
    shown: list[str] = []
    length = marks = 0
    for char in text[: limit + 1]:
        # A mark without a letter before it would join what stands left of the text.
        marks = marks + 1 if _joins(char) else 0
        stray = marks > _MARKS_IN_A_ROW or (marks and not shown)
        piece = char if char.isprintable() and not _UNSEEN.match(char) and not stray else _escaped(char)
        length += len(piece)
        if length > limit:
            shown.append(ELLIPSIS)
            break
        shown.append(piece)
    result = "".join(shown)
    return result if len(result) <= limit else result[: limit - 1] + ELLIPSIS


def is_harmless(text: str) -> bool:
    """Whether `clean` changes nothing in it but its length."""
    return (text.isascii() and text.isprintable()) or clean(text, len(text) + 1) == text


def cell_width(text: str) -> int:
    """How many terminal cells a cleaned text takes: two for wide East Asian characters, none for combining marks."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if _joins(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fit(text: str, width: int) -> str:
    """`text` in at most `width` cells, ending in ``…`` where it was cut."""
    if width <= 0:
        return ""
    if cell_width(text) <= width:
        return text
    kept: list[str] = []
    used = 0
    for char in text:
        used += _char_width(char)
        if used > width - 1:
            break
        kept.append(char)
    return "".join(kept) + ELLIPSIS


def fit_middle(text: str, width: int) -> str:
    """`text` in at most `width` cells with its middle left out, for names whose ends tell them apart."""
    if cell_width(text) <= width or width < 5:
        return fit(text, width)
    tail_width = (width - 1) // 2
    tail: list[str] = []
    used = 0
    for char in reversed(text):
        if used + _char_width(char) > tail_width:
            break
        used += _char_width(char)
        tail.append(char)
    head = fit(text, width - used)
    return head + "".join(reversed(tail))


def pad(text: str, width: int) -> str:
    """`text` cut or filled with spaces to exactly `width` cells."""
    cut = fit(text, width)
    return cut + " " * (width - cell_width(cut))

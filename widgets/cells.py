"""Text made fit for terminal cells: harmless, measured, cut and padded.

Nothing here parses markup: a text is a text. Widths are those of Rich, which Textual draws with.
"""

from __future__ import annotations

from typing import Literal

from rich.cells import cell_len, get_character_cell_size

Align = Literal["left", "right"]
ELLIPSIS = "…"


def clean(text: str) -> str:
    """Return `text` with what a terminal could act upon replaced.

    C0 controls become their pictures (`␊`), everything else unprintable (C1, bidi and zero-width formatting,
    lone surrogates, unassigned) becomes `�`. Printable text comes back as the same object.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _stand_in(char) for char in text)


def _stand_in(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd"


def cell_width(text: str) -> int:
    """Return how many cells `text` takes."""
    return len(text) if text.isascii() else cell_len(text)


def truncate(text: str, width: int) -> str:
    """Cut `text` to at most `width` cells, the last one an ellipsis where something was cut.

    A wide character is never halved, so the result may be one cell short.
    """
    if width <= 0:
        return ""
    if text.isascii():
        return text if len(text) <= width else text[: width - 1] + ELLIPSIS
    if cell_len(text) <= width:
        return text
    taken = 0
    for index, char in enumerate(text):
        taken += get_character_cell_size(char)
        if taken > width - 1:
            return text[:index] + ELLIPSIS
    return text


def fit(text: str, width: int, align: Align = "left") -> str:
    """Return `text` in exactly `width` cells: cut with an ellipsis, or padded on the other side of `align`."""
    cut = truncate(text, width)
    padding = " " * (width - cell_width(cut))
    return padding + cut if align == "right" else cut + padding

"""Columns as Kafka's tools align them: Java's ``%-15s``, and ToolsUtils.prettyPrintTable. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console.present.text import clean

_WIDEST = 32_768
MISSING = "-"
"""The text for an unknown value (ConsumerGroupCommand.MISSING_COLUMN_VALUE)."""


def safe(text: str) -> str:
    """Return a text from a cluster without control characters, which would act on a terminal."""
    return clean(text, _WIDEST)


def units(text: str) -> int:
    """Return the length of a text as Java counts it, in UTF-16 code units."""
    return len(text) + sum(1 for char in text if char > "\uffff")


def left(text: str, width: int) -> str:
    """Pad a text on the right to a width in UTF-16 units; a longer one is not cut."""
    return text + " " * (width - units(text))


def columns(widths: Sequence[int], cells: Iterable[str]) -> str:
    """Join cells with a space between them; cells without a width are not padded."""
    found = list(cells)
    padded = [left(cell, width) for cell, width in zip(found, widths, strict=False)]
    return " ".join([*padded, *found[len(widths) :]])


def widest(least: int, texts: Iterable[str]) -> int:
    """Return the width of a column for its texts, in UTF-16 units; `least` at least."""
    return max([least, *map(units, texts)])


def tabbed(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose columns end with a tab."""
    widths = [widest(units(header), (row[place] for row in rows)) for place, header in enumerate(headers)]
    return [
        "".join(f"{left(cell, width)}\t" for cell, width in zip(row, widths, strict=True)) for row in (headers, *rows)
    ]

"""Columns as Kafka's tools align them: Java's ``%-15s``, and ToolsUtils.prettyPrintTable. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console.present.text import clean

_WIDEST = 32_768
MISSING = "-"
"""What stands for an unknown value (ConsumerGroupCommand.MISSING_COLUMN_VALUE)."""


def safe(text: str) -> str:
    """A text from a cluster, without what would act on a terminal."""
    return clean(text, _WIDEST)


def units(text: str) -> int:
    """The length that Java counts: UTF-16 code units."""
    return len(text) + sum(1 for char in text if char > "\uffff")


def left(text: str, width: int) -> str:
    """A text set to the left in so many units; a longer one is not cut."""
    return text + " " * (width - units(text))


def columns(widths: Sequence[int], cells: Iterable[str]) -> str:
    """Cells with a space between them; those without a width are not padded."""
    found = list(cells)
    padded = [left(cell, width) for cell, width in zip(found, widths, strict=False)]
    return " ".join([*padded, *found[len(widths) :]])


def widest(least: int, texts: Iterable[str]) -> int:
    """The width of a column: at least so much."""
    return max([least, *map(units, texts)])


def tabbed(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose columns end with a tab."""
    widths = [widest(units(header), (row[place] for row in rows)) for place, header in enumerate(headers)]
    return [
        "".join(f"{left(cell, width)}\t" for cell, width in zip(row, widths, strict=True)) for row in (headers, *rows)
    ]

"""Prints the page on the tables, from their columns: ``python -m console.history.schema_page >
docs/lake-tables.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from console.history.columns import Column
from console.history.schema import TABLES, Table

_LAYERS = {
    "bronze": "What was read, row for row",
    "silver": "The same in one format",
    "gold": "What the console shows",
    "record": "Records of the pipeline itself",
}


def page() -> str:
    """The page as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "<!-- Made by python -m console.history.schema_page; do not edit. -->"
    yield "# The tables of a lake"
    yield ""
    yield "[lake.md](lake.md) describes how they are filled. Times are UTC with microseconds; each column has its unit."
    yield "A column may be empty only if its row says so. Types are those of Spark's SQL."
    for layer, title in _LAYERS.items():
        yield ""
        yield f"## {title} ({layer})"
        for table in TABLES.values():
            if table.layer == layer:
                yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    yield ""
    yield f"### `{table.name}`"
    yield ""
    yield table.doc
    yield ""
    yield f"One row for each {', '.join(f'`{name}`' for name in table.key)}."
    if table.partitions:
        yield f"Files are partitioned by {', '.join(f'`{part}`' for part in table.partitions)}."
    yield ""
    yield "| column | type | |"
    yield "|---|---|---|"
    yield from map(_row, table.columns)


def _row(column: Column) -> str:
    empty = " *may be empty*" if column.nullable else ""
    return f"| `{column.name}` | {column.type} | {column.doc.replace('|', chr(92) + '|')}{empty} |"


def main() -> None:
    """Prints it."""
    sys.stdout.write(page())


if __name__ == "__main__":
    main()

"""Prints docs/lake-tables.md, the page on the tables: ``python -m console.history.schema_page``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from console.history.schema import LAYERS, TABLES, Table

_HEAD = """\
<!-- Made by python -m console.history.schema_page; do not edit. -->
# The tables of a lake

[lake.md](lake.md) describes how they are filled. Times are UTC with microseconds; each column has its unit.
A column may be empty only if its row says so. Types are those of Spark's SQL.
"""


def page() -> str:
    """The page as Markdown."""
    made = [_HEAD]
    for layer, title in LAYERS.items():
        made.append(f"\n## {title} ({layer})\n")
        made += ("\n" + "\n".join(_table(table)) + "\n" for table in TABLES.values() if table.layer == layer)
    return "".join(made)


def _table(table: Table) -> Iterator[str]:
    yield from (f"### `{table.name}`", "", table.doc, "")
    yield f"One row for each {', '.join(f'`{name}`' for name in table.key)}."
    if table.partitions:
        yield f"Files are partitioned by {', '.join(f'`{part}`' for part in table.partitions)}."
    yield from ("", "| column | type | |", "|---|---|---|")
    for column in table.columns:
        empty = " *may be empty*" if column.nullable else ""
        yield f"| `{column.name}` | {column.type} | {column.doc.replace('|', chr(92) + '|')}{empty} |"


if __name__ == "__main__":
    sys.stdout.write(page())

"""Generates docs/lake-tables.md, the page on the tables of a lake."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from console.lake.schema import LAYERS, PARTS, TABLES, Column, Table

_HEAD = """\
<!-- Made by python -m console.cli.manual.pages tables; do not edit. -->
# The tables of a lake

[lake.md](lake.md) describes how kac fills the tables. Times are UTC with microseconds. The text of a column names its
unit. A column may be empty only if its row says so. Types are those of Spark's SQL.

The files are partitioned by additional columns, which kac computes from columns of the table. Each table names both.
The files contain the source columns too. `minute.minute` is the field `minute` of the struct `minute`.
"""


def page() -> str:
    """Return the page docs/lake-tables.md."""
    made = [_HEAD]
    for layer, title in LAYERS.items():
        made.append(f"\n## {title} ({layer})\n")
        tables = [table for table in (*TABLES.values(), *PARTS.values()) if table.layer == layer]
        made += ("\n" + "\n".join(_table(table)) + "\n" for table in tables)
    return "".join(made)


def _table(table: Table) -> Iterator[str]:
    yield from (f"### `{table.name}`", "", table.doc, "")
    yield from _key(table)
    if table.partitions:
        yield f"Files are partitioned by {', '.join(f'`{name}` ({sql})' for name, sql in table.partitions.items())}."
    if table.newest:
        yield from _newest(table)
    yield from ("", "| column | type | |", "|---|---|---|")
    yield from map(_column, table.columns)


def _key(table: Table) -> Iterator[str]:
    """Yield the line about the key of a table. In silver and gold the line promises one row for each key; in other
    layers it only names the key, since rows may repeat it. A table of another layer whose key is in structs gets
    no line.
    """
    if table.layer in ("silver", "gold"):
        yield f"One row for each {_names(table.key)}."
    elif not any(column.of for column in table.columns if column.name in table.key):
        yield f"Key: {_names(table.key)}."


def _newest(table: Table) -> Iterator[str]:
    yield f"kac writes all rows with equal {_names(table.newest)} together, with a higher `made` (bigint) than the rows"
    yield f"that they replace. If no rows remain, kac writes one row without `{table.there}`. These rows are valid:"
    latest = f"made = max(made) OVER (PARTITION BY {', '.join(table.newest)})"
    yield from ("", "```sql", f"SELECT * FROM {table.name} QUALIFY {latest} AND {table.there} IS NOT NULL", "```")  # noqa: S608


def _column(column: Column) -> str:
    type_ = column.type if column.of is None else f"struct, `{column.of.name}`"
    empty = " *may be empty*" if column.nullable else ""
    return f"| `{column.name}` | {type_} | {column.doc.replace('|', chr(92) + '|')}{empty} |"


def _names(columns: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in columns)

"""Arrow tables as plain rows and back. Times are microseconds since 1970. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from console.history.schema import Table, arrow_schema

Row = tuple[Any, ...]
"""The columns of a table, in order."""


def rows_of(table: pa.Table, *names: str) -> Iterator[Row]:
    """The rows, with these columns."""
    return zip(*(_values(table.column(name)) for name in names), strict=True)


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return values


def table_of(table: Table, rows: Iterable[Sequence[Any]]) -> pa.Table:
    """The rows as Arrow, with the table's columns in order, less `run_id`, which writing fills in."""
    schema = pa.schema([field for field in arrow_schema(table) if field.name != "run_id"])
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table(
        [
            pa.array(column, pa.int64() if pa.types.is_timestamp(field.type) else field.type).cast(field.type)
            for column, field in zip(columns, schema, strict=True)
        ],
        schema=schema,
    )

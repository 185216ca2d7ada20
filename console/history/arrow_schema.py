"""A table's columns as an Arrow schema, for what is written and read without Spark."""

from __future__ import annotations

import pyarrow as pa

from console.history.schema import Table

_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
}


def arrow_schema(table: Table) -> pa.Schema:
    """The schema; every field may be null, as in Parquet that Spark has written."""
    return pa.schema([pa.field(column.name, _TYPES[column.type]) for column in table.columns])

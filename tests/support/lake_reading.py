"""Reads the rows of a lake's tables as other programs do: DuckDB reads the files of the newest version."""

from typing import Any

import duckdb

from console.lake.lake import Lake
from console.lake.schema import Table


def rows_in(lake: Lake, table: Table, columns: str = "*", where: str = "true") -> list[tuple[Any, ...]]:
    """Return columns of a table's valid rows: the newest row of each key that is not deleted.

    columns, where: SQL.
    """
    files = [f"{lake.folder(table)}/{path}" for path in lake.table(table).files]
    if not files:
        return []
    held = ""
    if table.newest:
        newest = f"max(made) OVER (PARTITION BY {', '.join(table.newest)})"
        held = f"QUALIFY made = {newest} AND {table.there} IS NOT NULL"
    sql = f"SELECT {columns} FROM (SELECT * FROM read_parquet(?, hive_partitioning = false) {held}) WHERE {where}"
    with duckdb.connect() as database:
        return database.execute(sql, [files]).fetchall()

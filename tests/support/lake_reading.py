"""Reads the rows of a lake's tables as other programs do: DuckDB reads the files of the newest version."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import duckdb

from console.lake.lake import Lake
from console.lake.schema import Table


def rows_in(lake: Lake, table: Table, columns: str = "*", where: str = "true") -> list[tuple[Any, ...]]:
    """Return columns of a table's valid rows: the newest row of each key that is not deleted.

    columns, where: SQL.
    """
    files = [f"{lake.folder(table)}/{path}" for path in lake.table(table).files]
    return list(_rows(tuple(files), table, columns, where)) if files else []


# A table's files never change: a test that waits for rows reads them again only if there are other files.
@lru_cache(64)
def _rows(files: Sequence[str], table: Table, columns: str, where: str) -> list[tuple[Any, ...]]:
    held = ""
    if table.newest:
        newest = f"max(made) OVER (PARTITION BY {', '.join(table.newest)})"
        held = f"QUALIFY made = {newest} AND {table.there} IS NOT NULL"
    sql = f"SELECT {columns} FROM (SELECT * FROM read_parquet(?, hive_partitioning = false) {held}) WHERE {where}"
    with duckdb.connect() as database:
        return database.execute(sql, [list(files)]).fetchall()

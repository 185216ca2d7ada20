"""Writes a lake's tables without Spark, but in the form that the lake's Spark application uses: the same partitions,
the column `made`, and a note with the run's id in each commit.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, write_deltalake

from console.lake.files import new_run_id
from console.lake.lake import Lake
from console.lake.schema import Table, arrow_schema
from console.model.numbers import json_text

_FILLED: Mapping[str, Any] = {
    "string": "x",
    "int": 1,
    "bigint": 1,
    "double": 1.0,
    "boolean": False,
    "timestamp": datetime(2026, 11, 1, tzinfo=UTC),
}


def arrow_rows(table: Table, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return the rows as an Arrow table with the columns of a lake's table. A missing value becomes null if the column
    is nullable, else a fixed value of the column's type.
    """
    filled = [
        {each.name: row.get(each.name, None if each.nullable else _FILLED[each.type]) for each in table.columns}
        for row in rows
    ]
    return pa.Table.from_pylist(filled, schema=arrow_schema(table))


def nothing_left(table: Table, *keys: Mapping[str, Any]) -> pa.Table:
    """Return rows that mark keys as deleted: after `put`, the table has no valid row with these keys.

    keys: values for the columns of `Table.newest`.
    """
    return pa.Table.from_pylist(list(keys), schema=arrow_schema(table))


def put(lake: Lake, table: Table, rows: pa.Table, *, run: str | None = None, overwrite: bool = False) -> str:
    """Write rows in one commit. They replace the rows that have equal values in the columns of `Table.newest`. Return
    the id of the run.

    run: the id; None for a new one. overwrite: whether to delete all earlier rows. If the lake is not a local folder, a
    table accepts only one commit.
    """
    run = run or new_run_id()
    for name, sql in table.partitions.items():
        rows = rows.append_column(name, rows[sql] if sql in rows.column_names else _day(rows, sql))
    properties = CommitProperties(custom_metadata={"userMetadata": json_text({"run": run})})
    folder = lake.folder(table)
    with TemporaryDirectory() as here:
        where = folder if "://" not in folder else here
        if table.newest:
            made = pa.array([_made(where) + 1] * rows.num_rows, pa.int64())
            rows = rows.append_column("made", made)
        write_deltalake(
            where,
            rows,
            mode="overwrite" if overwrite else "append",
            partition_by=list(table.partitions) or None,
            commit_properties=properties,
        )
        for file in Path(here).rglob("*"):
            if file.is_file():
                lake.files.create(f"{folder}/{file.relative_to(here)}", file.read_bytes())
    return run


def checkpoint(lake: Lake, table: Table) -> None:
    """Write a Delta checkpoint of a table's newest version."""
    DeltaTable(lake.folder(table)).create_checkpoint()


def _day(rows: pa.Table, sql: str) -> pa.ChunkedArray:
    """Return the days (YYYY-MM-DD) of rows by an expression ``date_format(column, 'yyyy-MM-dd')``. The column may be
    ``coalesce`` of several columns, or a field such as `second.second`.
    """
    names = re.findall(r"[a-z_.]+", sql.removeprefix("date_format(").partition("'")[0].removeprefix("coalesce"))
    paths = (name.split(".") for name in names)
    times = [pc.struct_field(rows[path[0]], path[1:]) if path[1:] else rows[path[0]] for path in paths]
    return pc.strftime(pc.coalesce(*times), "%Y-%m-%d")


def _made(where: str) -> int:
    """Return the highest value of the column `made` in a table's folder; 0 if there is no table or it has no rows."""
    if not DeltaTable.is_deltatable(where):
        return 0
    return max(pc.max(DeltaTable(where).to_pyarrow_table(columns=["made"])["made"]).as_py() or 0, 0)

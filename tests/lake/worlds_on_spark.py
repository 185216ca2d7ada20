"""Stored histories that are written into bronze on Spark, step by step, so that kac builds gold from them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from console.lake import inputs, kraft, plans, runs, schema, tables
from console.lake.app import Application
from console.lake.lake import Lake, Report
from console.lake.transforms.change_event import tagged
from console.model.numbers import EPOCH

Rows = Sequence[Mapping[str, Any]]


def application(spark: Any, where: Path, files: Mapping[str, str] | None = None) -> Application:
    """Return an application on a new lake without sources. files: name -> text of the operator's files; None for no
    files.
    """
    lake = Lake.create(str(where))
    for name, text in (files or {}).items():
        (where / name).write_text(text, encoding="utf-8")
    settings = plans.Settings(lake.where, inputs.Inputs(), lake.path("hmac.key"))
    return Application(runs.Plan(lake, inputs.Inputs()), settings, spark, Report("test", "test", EPOCH))


def bronze_of(step: Mapping[str, Rows], number: int) -> dict[schema.Table, pa.Table]:
    """Return table -> the rows of step `number`, with the columns that the bronze tables have today."""
    records = pa.RecordBatch.from_pylist(
        [{name: row.get(name) for name in kraft.ROW_SCHEMA.names} for row in step.get("kraft_record", ())],
        schema=kraft.ROW_SCHEMA,
    )
    polls = [{"is_sensitive": False, **row} for row in step.get("poll", ())]
    requests = [
        {"cluster_id": row["cluster_id"], "lines": 0, "damaged": 0, column: _of(table, row)}
        for column, table, name in (
            ("second", schema.REQUEST_1S, "request_1s"),
            ("alter", schema.ALTER_REQUEST, "alter_request"),
        )
        for row in step.get(name, ())
    ]
    return {
        schema.KRAFT_RECORD: pa.Table.from_batches([tagged(records)]),
        schema.SNAPSHOT: _table(schema.SNAPSHOT, [*step.get("snapshot", ()), *polls]),
        schema.JOURNAL: _table(schema.JOURNAL, [{**row, "read_ts": number} for row in step.get("journal", ())]),
        schema.REQUEST: pa.Table.from_pylist(requests, schema=schema.arrow_schema(schema.REQUEST)),
    }


def _of(table: schema.Table, row: Mapping[str, Any]) -> dict[str, Any]:
    return {column.name: row.get(column.name) for column in table.columns}


def _table(table: schema.Table, rows: Rows) -> pa.Table:
    return pa.Table.from_pylist([_of(table, row) for row in rows], schema=schema.arrow_schema(table))


def take_in(app: Application, number: int, *steps: Mapping[str, Rows]) -> None:
    """Append these steps to bronze in one batch. number: the number of the last of the steps; the numbers of the
    others precede it.
    """
    first = number - len(steps) + 1
    parts = [bronze_of(step, first + place) for place, step in enumerate(steps)]
    for table in parts[0]:
        rows = pa.concat_tables(part[table] for part in parts)
        if rows.num_rows:
            app.tables.append(app.tables.spark.createDataFrame(rows), table, tables.Batch("worlds", number))

"""Histories as they came in, brought into bronze on Spark step by step, and the gold that is there then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from console.pipeline.app import Application
from console.pipeline.inputs import Inputs
from console.pipeline.kraft import ROW_SCHEMA
from console.pipeline.lake import Lake
from console.pipeline.plans import Settings
from console.pipeline.runs import GOLD as GOLD_STREAM
from console.pipeline.runs import Plan, Report
from console.pipeline.schema import (
    ALTER_REQUEST,
    JOURNAL,
    KRAFT_RECORD,
    REQUEST,
    REQUEST_1S,
    SNAPSHOT,
    TABLES,
    Table,
    arrow_schema,
)
from console.pipeline.tables import Batch
from console.pipeline.transforms.change_event import tagged
from tests.pipeline.golden import GOLD, World, differences

Rows = Sequence[Mapping[str, Any]]


def application(spark: Any, where: Path, files: Mapping[str, str] | None = None) -> Application:
    """An application on a new lake without sources. files: the operator's."""
    lake = Lake.create(str(where))
    for name, text in (files or {}).items():
        (where / name).write_text(text, encoding="utf-8")
    settings = Settings(lake.where, Inputs(), lake.path("hmac.key"))
    return Application(Plan(lake, Inputs()), settings, spark, Report("test", "test", ""))


def bronze_of(step: Mapping[str, Rows], number: int) -> dict[Table, pa.Table]:
    """The rows of a step as today's bronze tables have them."""
    records = pa.RecordBatch.from_pylist(
        [{name: row.get(name) for name in ROW_SCHEMA.names} for row in step.get("kraft_record", ())], schema=ROW_SCHEMA
    )
    polls = [{"is_sensitive": False, **row} for row in step.get("poll", ())]
    requests = [
        {"cluster_id": row["cluster_id"], "lines": 0, "damaged": 0, column: _of(table, row)}
        for column, table, name in (("second", REQUEST_1S, "request_1s"), ("alter", ALTER_REQUEST, "alter_request"))
        for row in step.get(name, ())
    ]
    return {
        KRAFT_RECORD: pa.Table.from_batches([tagged(records)]),
        SNAPSHOT: _table(SNAPSHOT, [*step.get("snapshot", ()), *polls]),
        JOURNAL: _table(JOURNAL, [{**row, "read_ts": number} for row in step.get("journal", ())]),
        REQUEST: pa.Table.from_pylist(requests, schema=arrow_schema(REQUEST)),
    }


def _of(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    return {column.name: row.get(column.name) for column in table.columns}


def _table(table: Table, rows: Rows) -> pa.Table:
    return pa.Table.from_pylist([_of(table, row) for row in rows], schema=arrow_schema(table))


def take_in(app: Application, step: Mapping[str, Rows], number: int) -> None:
    """Appends a step to bronze."""
    for table, rows in bronze_of(step, number).items():
        if rows.num_rows:
            app.tables.append(app.tables.spark.createDataFrame(rows), table, Batch("worlds", number))


def gold_rows(app: Application, name: str) -> list[dict[str, Any]]:
    """The rows of a table that hold, times as microseconds since 1970; those of usage with what is suggested."""
    rows = app.tables.newest(TABLES[name], F.lit(True))
    if name == "quota_usage":
        suggested = app.tables.newest(TABLES["quota_suggestion"], F.lit(True))
        scope = ("cluster_id", "quota_key", "scope_user", "scope_client", "quota_value", "level")
        other = suggested.select(*(F.col(each).alias(f"its_{each}") for each in scope), "suggested_value", "reason")
        same = [F.col(each).eqNullSafe(F.col(f"its_{each}")) for each in scope]
        rows = rows.join(other, same, "left").drop(*(f"its_{each}" for each in scope))
    found = rows.toArrow()
    for place, field in enumerate(found.schema):
        if pa.types.is_timestamp(field.type):
            found = found.set_column(place, field.name, found[field.name].cast(pa.int64()))
    listed: list[dict[str, Any]] = found.to_pylist()
    return listed


def different(app: Application, world: World, tables: Sequence[str] = GOLD) -> str:
    """What of gold is not as the world has it; empty text: nothing."""
    said = (differences(name, world.gold[name], gold_rows(app, name)) for name in tables)
    return "\n".join(filter(None, said))


def gone_through(app: Application, world: World, after: Callable[[int], Any] = lambda _: None) -> str:
    """Takes in a world step by step, gold after each. Returns what is different in the end."""
    for number, step in enumerate(world.steps, 1):
        take_in(app, step, number)
        app.take(GOLD_STREAM)
        app.judge()
        after(number)
    return different(app, world)

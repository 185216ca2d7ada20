"""Measures one batch of the lake's Spark application that computes the history with its authors, from the raw (bronze)
tables to the final (gold) ones: 1 million records of the metadata log and 100,000 requests.

``python -m benchmarks.events [--records N] [--growth]``: needs Java. The records are made so that the answer is known:
every change is a row of the history, and each change with a request has its author. --growth: three sizes, 1 : 4 : 16,
in one session.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks.figures import load, report, report_ratio
from benchmarks.processes import Tree
from console.lake import schema
from console.lake.kraft import ROW_SCHEMA
from console.lake.lake import Lake
from console.lake.reader import Tables, Where
from console.lake.runs import GOLD
from console.lake.transforms.change_event import tagged
from tests.support import delta_lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED = 1
LINEAR = 1.15
"""Each input is four times the one before: maximum ratio of its time to four times the time of the one before."""
_BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
_TICK = timedelta(seconds=5)
"""The time between two records: more than the clocks may differ, so that each request can only belong to its own
record.
"""
_ASKED = 10
"""One in this many records of configs and quotas has a request in the request log."""


@dataclass
class Told:
    """Rows of two bronze tables, by column, with the numbers of changes and of authors that the history must have."""

    records: dict[str, list[Any]] = field(default_factory=dict)
    requests: dict[str, list[Any]] = field(default_factory=dict)
    changes: int = 0
    with_author: int = 0


def told(count: int) -> Told:
    """Make `count` records of the metadata log: of configs, of quotas, and of replicas, which give no row of the
    history. Every `_ASKED`-th record of a config or quota has a request.
    """
    chosen = random.Random(SEED)
    made = Told()
    now: dict[tuple[str, str], str | None] = {}
    users, topics = max(10, count // 200), max(10, count // 100)
    for offset in range(count):
        at = _BEGIN + offset * _TICK
        kind = chosen.random()
        if kind < 0.3:
            fields: dict[str, Any] = {"partitionId": 3, "topicId": "T", "isr": [1, 2, 3], "leader": 1}
            _record(made, offset, at, "PartitionChangeRecord", fields)
            continue
        if kind < 0.75:
            entity, name = f"topic-{chosen.randrange(topics)}", "retention.ms"
            value = str(chosen.randrange(5)) if chosen.random() < 0.9 else None
            fields = {"resourceType": 2, "resourceName": entity, "name": name, "value": value}
            _record(made, offset, at, "ConfigRecord", fields)
            place, api = ("topic", entity, name), "INCREMENTAL_ALTER_CONFIGS"
        else:
            user, name = f"user-{chosen.randrange(users)}", "producer_byte_rate"
            value = str(1000 * chosen.randrange(1, 6))
            parts = [{"entityType": "user", "entityName": user}]
            fields = {"entity": parts, "key": name, "value": float(value), "remove": False}
            _record(made, offset, at, "ClientQuotaRecord", fields)
            entity, api = f"user={user}", "ALTER_CLIENT_QUOTAS"
            place = ("quota", entity, name)
        before = now.get((entity, name))
        now[entity, name] = value
        asked = offset % _ASKED == 0
        if asked:
            _request(made, offset, at, api, place, value)
        if before != value:
            made.changes += 1
            made.with_author += asked
    return made


def _record(made: Told, offset: int, at: datetime, type_: str, fields: dict[str, Any]) -> None:
    row = {"cluster_id": "c", "log_offset": offset, "record_index": 0, "in_snapshot": False, "leader_epoch": 1}
    more = {"record_ts": at, "record_type": type_, "api_key": 0, "version": 0, "payload": json.dumps(fields)}
    _add(made.records, {**row, **more, "value_hmac": None, "file": "log"})


def _request(made: Told, offset: int, at: datetime, api: str, place: tuple[str, str, str], value: str | None) -> None:
    around = timedelta(milliseconds=40)
    row = {
        "cluster_id": "c",
        "broker_id": 1,
        "end_ts": at + around,
        "start_ts": at - around,
        "api": api,
        "correlation_id": offset,
        "client_id": "cli",
        "client_host": "10.0.0.7",
        "principal": f"User:u{offset % 7}",
        "is_forwarded": False,
        "validate_only": False,
        **dict(zip(("entity_type", "entity_key", "attr"), place, strict=True)),
        "op": "delete" if value is None else "set",
        "value": value,
        "is_sensitive": False,
        "error_code": 0,
        "file": "log",
        "byte_pos": offset,
    }
    _add(made.requests, row)


def _add(columns: dict[str, list[Any]], row: dict[str, Any]) -> None:
    for name, value in row.items():
        columns.setdefault(name, []).append(value)


def main(arguments: list[str]) -> int:
    """Measure, and print lines of JSON. Return 0 if the history is right and, with --growth, the time grows no more
    than `LINEAR` times the input; else 1.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.events", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--growth", action="store_true", help="1 : 4 : 16 in one session")
    asked = parser.parse_args(arguments)
    from console.collecting.spark_session import lake_session

    sizes = [asked.records // 16, asked.records // 4, asked.records] if asked.growth else [asked.records]
    report("change events and history", records=asked.records, **load())
    ok = True
    with tempfile.TemporaryDirectory() as folder, lake_session(os.environ, master="local[2]") as spark:
        # Discard the first batch of the session, which takes seconds longer than all others.
        measured(spark, Path(folder, "first"), 1_000)
        taken = [measured(spark, Path(folder, str(size)), size) for size in sizes]
        for (_, smaller), (_, larger), size in zip(taken, taken[1:], sizes[1:], strict=False):
            share = larger / (4 * smaller)
            ok &= share <= LINEAR
            report_ratio(f"{size} records / 4 × those before", share, LINEAR)
    return 0 if ok and all(right for right, _ in taken) else 1


def measured(spark: SparkSession, where: Path, records: int) -> tuple[bool, float]:
    """Return whether the history has the expected numbers of changes and of authors, and the CPU seconds of the batch
    that makes all gold tables.
    """
    from tests.lake.worlds_on_spark import application

    asked = told(records)
    app = application(spark, where)
    fill(Lake.open(str(where)), asked)
    with Tree(os.getpid()) as tree:
        before = tree.cost()
        app.take(GOLD)
        cost = tree.cost() - before
    tables = Tables(str(where))
    by_log = Where().add("source = 'kraft_log'")
    ((events,),) = tables.select("count(*)", schema.CHANGE_EVENT, where=by_log)
    ((rows, with_author),) = tables.select("count(*), count(principal)", schema.HISTORY, where=by_log)
    tables.close()
    right = (rows, with_author) == (asked.changes, asked.with_author)
    report("rows", records=records, events=events, changes=rows, with_author=with_author, ok=right)
    each = {name: round(getattr(cost, name) / records * 1e6, 1) for name in ("wall", "cpu")}
    report(f"{records} records, {records // _ASKED} asked for", microseconds_each=each, **cost.shown())
    return right, cost.cpu


def fill(lake: Lake, asked: Told) -> None:
    """Write rows into the two bronze tables, in the form in which the lake's sources write them."""
    records = tagged(pa.RecordBatch.from_pydict({name: asked.records[name] for name in ROW_SCHEMA.names}, ROW_SCHEMA))
    delta_lake.put(lake, schema.KRAFT_RECORD, pa.Table.from_batches([records]))
    names = [column.name for column in schema.ALTER_REQUEST.columns]
    alters = [dict(zip(names, row, strict=True)) for row in zip(*(asked.requests[name] for name in names), strict=True)]
    rows = [{"cluster_id": row["cluster_id"], "lines": 0, "damaged": 0, "alter": row} for row in alters]
    delta_lake.put(lake, schema.REQUEST, pa.Table.from_pylist(rows, schema=schema.arrow_schema(schema.REQUEST)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

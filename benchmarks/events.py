"""From records of the metadata log and requests to who changed what since when: 1 million records and 100,000 requests.

``python -m benchmarks.events [--records N] [--rounds N] [--growth]``. The answer is known from how the records were
made: every change is a row of the history, and each that was asked for has its author. --growth: 1 : 4 : 16 in one
session.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks.figures import load, report, report_ratio, report_times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from console.history.transforms.change_event import Bronze

SEED = 1
LINEAR = 1.15
"""How much more than its share a larger input may take."""
_BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
_TICK = timedelta(seconds=5)
"""More than clocks may be apart: a request fits its own record alone."""
_ASKED = 10
"""A request is known for one of so many records."""


@dataclass
class Told:
    """Rows of two bronze tables by column, and what they must come to."""

    records: dict[str, list[Any]] = field(default_factory=dict)
    requests: dict[str, list[Any]] = field(default_factory=dict)
    changes: int = 0
    with_author: int = 0


def told(count: int) -> Told:
    """So many records: configs, quotas, and partitions that move, which are no changes; a tenth of all with a
    request."""
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
    _add(made.records, {**row, **more, "value_hmac": None, "file": "log", "run_id": "r"})


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
        "run_id": "r",
    }
    _add(made.requests, row)


def _add(columns: dict[str, list[Any]], row: dict[str, Any]) -> None:
    for name, value in row.items():
        columns.setdefault(name, []).append(value)


def main(arguments: list[str]) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--growth", action="store_true")
    asked = parser.parse_args(arguments)
    from console.history.jobs.session import session

    with tempfile.TemporaryDirectory() as temporary, (Path(temporary) / "spark.log").open("wb") as log:
        settings = {
            "spark.master": "local[2]",
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": "4",
            "spark.local.dir": temporary,
        }
        with session(settings, log) as spark:
            report("change events and history", records=asked.records, **load())
            if not asked.growth:
                return 0 if measured(spark, Path(temporary), asked.records, asked.rounds)[0] else 1
            return growth(spark, Path(temporary), asked.records, asked.rounds)


def growth(spark: SparkSession, folder: Path, records: int, rounds: int) -> int:
    """A sixteenth, a fourth, and all of the records."""
    sizes = [records // 16, records // 4, records]
    found = [measured(spark, folder, size, rounds) for size in sizes]
    taken = [milliseconds for _, milliseconds in found]
    ok = all(right for right, _ in found)
    for smaller, larger, size in zip(taken, taken[1:], sizes[1:], strict=False):
        share = larger / (4 * smaller)
        ok &= share <= LINEAR
        report_ratio(f"{size} records / 4 × those before", share, LINEAR)
    return 0 if ok else 1


def measured(spark: SparkSession, folder: Path, records: int, rounds: int) -> tuple[bool, float]:
    """Whether the answer is right, and the median of both jobs together in milliseconds, warm."""
    bronze, expected = tables(folder / str(records), records)
    events = str(folder / str(records) / "change_event")
    run = partial(_run, spark, bronze, events)
    rows = run(None)
    by_log = rows.where("source = 'kraft_log'")
    counts = by_log.selectExpr("count(*) AS changes", "count(principal) AS with_author").first()
    right = counts is not None and tuple(counts) == (expected.changes, expected.with_author) == (
        rows.count(),
        expected.with_author,
    )
    report("rows", records=records, changes=expected.changes, with_author=expected.with_author, ok=right)
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        run(times)
    medians = report_times(f"{records} records, {records // _ASKED} asked for, warm", times)
    return right, sum(taken for name, taken in medians.items() if name.endswith("Spark"))


def tables(folder: Path, records: int) -> tuple[Bronze, Told]:
    """The four bronze tables, two of them empty, in memory and as Parquet."""
    import pyarrow.parquet as pq

    from console.history.schema import TABLES, arrow_schema
    from console.history.transforms.change_event import Bronze

    made = told(records)
    read = []
    columns_of = {"kraft_record": made.records, "alter_request": made.requests}
    for name in Bronze._fields:
        schema = arrow_schema(TABLES[name])
        columns = columns_of.get(name)
        read.append(pa.table(columns, schema=schema) if columns else schema.empty_table())
        (folder / name).mkdir(parents=True)
        pq.write_table(read[-1], folder / name / "rows.parquet")
    return Bronze(*read), made


def _run(spark: SparkSession, bronze: Bronze, events: str, times: dict[str, list[float]] | None) -> DataFrame:
    """Both jobs as `kac lake build` does them on Spark: the second reads what the first wrote."""
    import pyarrow.parquet as pq

    from console.history.jobs.by_entity import events_of, history_of
    from console.history.transforms.change_event import covers_of, epochs_of, polls_of

    start = time.perf_counter()
    polls = polls_of(bronze.snapshot)
    frames = {name: spark.read.parquet(f"{events}/../{name}") for name in bronze._fields}
    events_of(frames, epochs_of(bronze.kraft_record), polls).write.mode("overwrite").parquet(events)
    between = time.perf_counter()
    covers = covers_of(pq.read_table(events))
    rows = history_of(spark.read.parquet(events), polls, covers)
    rows.write.mode("overwrite").parquet(f"{events}-history")
    if times is not None:
        times["change_event, Spark"].append((between - start) * 1000)
        times["history, Spark"].append((time.perf_counter() - between) * 1000)
        _here(bronze, times)
    return spark.read.parquet(f"{events}-history")


def _here(bronze: Bronze, times: dict[str, list[float]]) -> None:
    """The same in this process."""
    from console.history.transforms.change_event import change_event, covers_of, polls_of
    from console.history.transforms.history import history

    start = time.perf_counter()
    made = change_event(bronze)
    between = time.perf_counter()
    history(made, polls_of(bronze.snapshot), covers_of(made))
    times["change_event, here"].append((between - start) * 1000)
    times["history, here"].append((time.perf_counter() - between) * 1000)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Effective quotas of 2 million rows × 3 keys under 65,000 quotas: joins beside a Python UDF, in one session of Spark.

``python -m benchmarks.quota_joins [--rows N] [--quotas N] [--rounds N]``; both are warm, their answers are compared.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.figures import interleaved, load, report, report_ratio, report_times
from console.history.entities import quota_key, quota_parts
from console.history.schema import USAGE_KEYS

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession

Levels = list[dict[tuple[str | None, str | None], dict[str, float]]]

LIMIT = 0.25
SEED = 1
_USERS = 30_000
_CLIENTS = 300
_LEVELS = (
    ("named", "named"),
    ("named", "default"),
    ("named", ""),
    ("default", "named"),
    ("default", "default"),
    ("default", ""),
    ("", "named"),
    ("", "default"),
)
_NAMES = tuple(name for key in USAGE_KEYS for name in (key, f"{key}_level"))
_TYPES = (pa.float64(), pa.int32())
_ANSWER = ", ".join(f"{key} double, {key}_level int" for key in USAGE_KEYS)


def quotas(count: int) -> dict[str, dict[str, float]]:
    """Quotas of all levels, most of them of users with a client id."""
    chosen = random.Random(SEED)
    made: dict[str, dict[str, float]] = {}
    kinds: list[tuple[bool, bool]] = [(True, True)] * 5 + [(True, False)] * 2 + [(False, True)]
    while len(made) < count:
        has_user, has_client = chosen.choice(kinds)
        parts: dict[str, str | None] = {}
        if has_user:
            parts["user"] = f"user-{chosen.randrange(_USERS)}" if chosen.random() < 0.9 else None
        if has_client:
            parts["client-id"] = f"client-{chosen.randrange(_CLIENTS)}" if chosen.random() < 0.9 else None
        if len(made) > count - 300 and not all(parts.values()):
            continue
        keys = chosen.sample(USAGE_KEYS, chosen.randint(1, 3))
        made[quota_key(parts)] = {key: float(chosen.randrange(1, 10**6)) for key in keys}
    return made


def uses(rows: int) -> pa.Table:
    """Pairs of user and client id, some without one."""
    chosen = random.Random(SEED + 1)
    second = pa.scalar(1_700_000_000_000_000, pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "number": pa.array(range(rows), pa.int64()),
            "cluster_id": pa.array(["c"] * rows),
            "user": [f"user-{chosen.randrange(_USERS + 5_000)}" for _ in range(rows)],
            "client_id": [
                f"client-{chosen.randrange(_CLIENTS + 50)}" if chosen.random() < 0.95 else "" for _ in range(rows)
            ],
            "second": pa.array([second.as_py()] * rows, pa.timestamp("us", "UTC")),
        }
    )


def kept_limits(history: DataFrame) -> tuple[DataFrame, ...]:
    """The tables that limits are looked up in, made and kept, as the UDF's dictionaries are."""
    from console.history.transforms.quota_levels import limits_by_lookup, quota_values

    made = limits_by_lookup(quota_values(history).cache())
    return tuple(table.localCheckpoint() for table in made)


def by_joins(uses: DataFrame, limits: tuple[DataFrame, ...]) -> DataFrame:
    """As `quota_usage` asks."""
    from console.history.transforms.quota_levels import effective_quotas

    return effective_quotas(uses, limits, at="second").select("number", *_NAMES)


class Resolve:
    """The eight levels as one would write them in Python: names looked up in eight dictionaries, once for all keys."""

    def __init__(self, levels: Broadcast[Levels]) -> None:
        self._levels = levels

    def __call__(self, user: str, client: str) -> tuple[float | int | None, ...]:
        """The limit of each key, and its level."""
        first, second, third, fourth, fifth, sixth, seventh, eighth = self._levels.value
        found: tuple[tuple[int, dict[str, float] | None], ...]
        if client:
            found = (
                *((1, first.get((user, client))), (2, second.get((user, None))), (3, third.get((user, None)))),
                *((4, fourth.get((None, client))), (5, fifth.get((None, None))), (6, sixth.get((None, None)))),
                *((7, seventh.get((None, client))), (8, eighth.get((None, None)))),
            )
        else:
            found = ((3, third.get((user, None))), (6, sixth.get((None, None))))
        there = [each for each in found if each[1]]
        answer: list[float | int | None] = []
        for key in USAGE_KEYS:
            for level, values in there:
                if values and key in values:
                    answer += values[key], level
                    break
            else:
                answer += None, None
        return tuple(answer)


def by_udf(uses: DataFrame, resolve: Resolve) -> DataFrame:
    """By a Python UDF that is called once a row."""
    from pyspark.sql import functions as F

    def answered(user: str, client: str) -> tuple[float | int | None, ...]:
        return resolve(user, client)

    answer = F.udf(answered, _ANSWER, useArrow=False)
    return uses.select("number", answer("user", "client_id").alias("answer")).select("number", "answer.*")


def by_arrow(uses: DataFrame, resolve: Resolve) -> DataFrame:
    """By the same, on batches of Arrow: the fastest way through Python."""

    def resolved(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in ("user", "client_id"))
            answers = zip(*map(resolve, *columns), strict=True)
            arrays = [pa.array(values, type_) for values, type_ in zip(answers, _TYPES * 3, strict=True)]
            yield pa.record_batch([batch.column("number"), *arrays], names=["number", *_NAMES])

    return uses.select("number", "user", "client_id").mapInArrow(resolved, f"number bigint, {_ANSWER}")


def by_level(limits: dict[str, dict[str, float]]) -> Levels:
    """The limits of each level by user and client id; None: the default, or none."""
    made: Levels = [{} for _ in range(8)]
    for entity, values in limits.items():
        parts = quota_parts(entity)
        names = (parts.get("user"), parts.get("client-id"))
        kinds = ["" if kind not in parts else "named" if parts[kind] else "default" for kind in ("user", "client-id")]
        made[_LEVELS.index((kinds[0], kinds[1]))][names] = values
    return made


def run(make: partial[DataFrame]) -> float:
    """Makes it and reads every row of it; milliseconds."""
    start = time.perf_counter()
    make().write.format("noop").mode("overwrite").save()
    return (time.perf_counter() - start) * 1000


def main(arguments: list[str]) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--quotas", type=int, default=65_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args(arguments)
    from console.history.jobs.session import Settings, session

    with tempfile.TemporaryDirectory() as temporary, (Path(temporary) / "spark.log").open("wb") as log:
        settings = Settings(
            name="quota joins",
            master="local[2]",
            memory="2g",
            shuffle_partitions=2,
            more={"spark.local.dir": temporary},
        )
        with session(settings, log) as spark:
            return measured(spark, Path(temporary), asked)


def measured(spark: SparkSession, folder: Path, asked: argparse.Namespace) -> int:
    """The same in a session."""
    import pyarrow.parquet as pq

    limits = quotas(asked.quotas)
    pq.write_table(uses(asked.rows), folder / "uses.parquet")
    pq.write_table(history_of(limits), folder / "history.parquet")
    rows, history = (spark.read.parquet(str(folder / f"{name}.parquet")) for name in ("uses", "history"))
    report("quota joins", rows=asked.rows, keys=len(USAGE_KEYS), quotas=len(limits), **load())
    start = time.perf_counter()
    resolve = Resolve(spark.sparkContext.broadcast(by_level(limits)))
    of_udf = time.perf_counter() - start
    start = time.perf_counter()
    tables = kept_limits(history)
    report("limits made ready, cold, s", joins=round(time.perf_counter() - start, 2), udf=round(of_udf, 2))
    ways = {
        "joins": partial(by_joins, rows, tables),
        "Python UDF": partial(by_udf, rows, resolve),
        "mapInArrow": partial(by_arrow, rows, resolve),
    }
    differing = sum(ways["joins"]().exceptAll(ways[other]()).count() for other in ("Python UDF", "mapInArrow"))
    report("rows that differ", differing=differing, ok=differing == 0)
    for way in ways.values():
        run(way)  # what was compared was other code of Java's
    taken = interleaved({name: partial(run, way) for name, way in ways.items()}, asked.rounds)
    medians = report_times("effective quotas, warm", taken)
    ratio = medians["joins"] / medians["Python UDF"]
    report_ratio("joins / Python UDF", ratio, LIMIT)
    report("joins / mapInArrow", ratio=round(medians["joins"] / medians["mapInArrow"], 3))
    return 0 if differing == 0 and ratio <= LIMIT else 1


def history_of(limits: dict[str, dict[str, float]]) -> pa.Table:
    """The quotas as rows of history, set long ago."""
    from console.history.schema import HISTORY, arrow_schema

    said = [(entity, key, value) for entity, values in limits.items() for key, value in values.items()]
    columns = {
        "cluster_id": ["c"] * len(said),
        "entity_type": ["quota"] * len(said),
        "entity_key": [entity for entity, _, _ in said],
        "attr": [key for _, key, _ in said],
        "new_value": [repr(value) for _, _, value in said],
        "valid_from": [1_600_000_000_000_000] * len(said),
        "is_current": [True] * len(said),
        "is_deleted": [False] * len(said),
        "attribution": ["none"] * len(said),
        "source": ["kraft_log"] * len(said),
    }
    schema = arrow_schema(HISTORY)
    return pa.table({f.name: pa.array(columns.get(f.name, [None] * len(said)), f.type) for f in schema}, schema=schema)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

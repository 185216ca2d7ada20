"""A build that goes on from the last one makes the tables that a build of everything makes, whatever came between."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from console.history.jobs import gold, renew
from console.history.jobs.build import build
from console.history.schema import TABLES, arrow_schema
from console.history.store import Lake
from console.history.store.write import writing
from tests.history import change_worlds as worlds
from tests.history.lake_rows import no_spark, rows_of
from tests.history.test_history_laws import BRONZE, all_by_log, some_of_all

pytestmark = pytest.mark.timeout(3600)

MADE = ("change_event", "history", "drift", "quota_usage", "policy_violation")
ROUNDS = 3
LATE = 0.15
"""How much of all comes in a round of its own, and not with what was at its time."""
_TIMES = {
    "kraft_record": "record_ts",
    "snapshot": "observed_ts",
    "poll": "observed_ts",
    "journal": "intent_ts",
    "alter_request": "end_ts",
    "request_1s": "second",
}
POLLED = ("cluster_id", "observed_ts", "kind", "entity_type", "entity_key", "value", "run_id")
Row = dict[str, Any]
Round = dict[str, list[Row]]


def used(cluster_id: str, dice: random.Random) -> Iterable[Row]:
    """Seconds in which the pair that has a limit in these worlds produced, around the hour's end."""
    begin = worlds.BEGIN - timedelta(minutes=3)
    for second in sorted(dice.sample(range(600), 40)):
        yield {
            "cluster_id": cluster_id,
            "broker_id": 1,
            "second": begin + timedelta(seconds=second),
            "principal": "User:a,b",
            "client_id": "batch",
            "api": "PRODUCE",
            "requests": 1,
            "errors": 0,
            "bytes_in": dice.randrange(1 << 22),
            "bytes_out": 0,
            "local_ms": 0.0,
            "throttle_ms_sum": dice.choice([0, 0, 100]),
            "throttle_ms_max": 100,
        }


def in_rounds(seeds: Iterable[int]) -> list[Round]:
    """What comes in round by round: most in the order of its time, some earlier or later."""
    made: list[Round] = [defaultdict(list) for _ in range(ROUNDS)]
    for seed in seeds:
        dice = random.Random(seed)
        told = all_by_log(seed, dice.random() < 0.5) if seed % 3 == 0 else some_of_all(seed)
        rows = {**{name: told.rows[name] for name in BRONZE}, "request_1s": list(used(told.world.cluster_id, dice))}
        late = dice.choice([0.0, 0.0, LATE])
        looks = rows["snapshot"]
        rows["poll"] = [{each: row[each] for each in POLLED} for row in looks if row["kind"] == "heartbeat"]
        rows["snapshot"] = [row for row in looks if row["kind"] != "heartbeat"]
        for name, of_table in rows.items():
            for row in of_table:
                share = (row[_TIMES[name]] - worlds.BEGIN) / (15 * worlds.STEP)
                usual = min(ROUNDS - 1, max(0, int(share * ROUNDS)))
                made[dice.randrange(ROUNDS) if dice.random() < late else usual][name].append(row)
    return made


def take_in(lake: Lake, came: Round) -> None:
    with writing(lake, "ingest") as write:
        for name, rows in came.items():
            table = TABLES[name]
            schema = pa.schema([field for field in arrow_schema(table) if field.name != "run_id"])
            write.add_arrow(name, pa.Table.from_pylist(rows, schema=schema))
        write.commit()


def hold(folder: Path, seeds: list[int], spark: SparkSession | None = None) -> None:
    """spark: makes the whole that the builds in turn are compared with."""
    lake = Lake.create(str(folder / "lake"))
    parts = 0
    for came in in_rounds(seeds):
        take_in(lake, came)
        written = build(no_spark, lake).rows.get("change_event", 0)
        parts += written < len(rows_of(lake, "change_event"))
    in_turn = {name: rows_of(lake, name) for name in MADE}
    assert parts, "each build wrote everything"
    with pytest.MonkeyPatch.context() as patch:
        if spark is not None:
            patch.setattr(renew, "MOST_ROWS", 0)
            patch.setattr(gold, "MOST_ROWS", 0)
        build(no_spark if spark is None else lambda: spark, lake, whole=True)
    for name in MADE:
        assert in_turn[name] == rows_of(lake, name), name
    assert all(rows for name, rows in in_turn.items() if name != "drift")


SEEDS = st.integers(0, 10**9)


@settings(max_examples=2, phases=[Phase.generate], deadline=None)
@given(seeds=st.lists(SEEDS, min_size=8, max_size=8, unique=True))
def test_builds_in_turn_are_one_build(tmp_path_factory: pytest.TempPathFactory, seeds: list[int]) -> None:
    hold(tmp_path_factory.mktemp("renewal"), seeds)


@settings(max_examples=1, phases=[Phase.generate], deadline=None)
@given(seeds=st.lists(SEEDS, min_size=8, max_size=8, unique=True))
def test_builds_in_turn_are_one_build_by_spark(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, seeds: list[int]
) -> None:
    hold(tmp_path_factory.mktemp("renewal"), seeds, spark)


@pytest.mark.long
@settings(max_examples=20, phases=[Phase.generate], deadline=None)
@given(seeds=st.lists(SEEDS, min_size=24, max_size=24, unique=True))
def test_builds_in_turn_are_one_build_of_many_worlds(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, seeds: list[int]
) -> None:
    hold(tmp_path_factory.mktemp("renewal"), seeds, spark)

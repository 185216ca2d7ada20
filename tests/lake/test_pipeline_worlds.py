"""Tests of random histories on Spark, from incoming rows to gold: the tables equal the golden ones, also if batches are
read twice, gold is built again, or bronze is cut.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.lake import runs, schema, tables
from console.lake.app import Application
from console.lake.lake import Lake
from tests.lake import golden, lake_tables
from tests.lake.golden import worlds
from tests.lake.worlds_on_spark import application, take_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(3600)
WORLDS = {world.name: world for world in worlds()}

ALL = [pytest.param(name, marks=pytest.mark.long) for name in WORLDS]
_IN_FUTURE = -36_500.0
"""The number of days for which bronze is kept. It is negative, so all rows of bronze are too old."""


def make_gold(app: Application) -> None:
    """Build gold from the new rows of bronze, and then the tables that are computed from all of gold."""
    app.take(runs.GOLD)
    app.judge()


def cut(app: Application) -> None:
    """Delete the rows of bronze that no history needs, and rewrite each table into other files."""
    tables.maintain(app.tables, dict.fromkeys(schema.TABLES, tables.MANY_FILES + 1), _IN_FUTURE)


# In world 15, rows of the cluster itself decide about drift.
@pytest.mark.parametrize(
    ("name", "is_short"), [("world-15", True), *(pytest.param(name, False, marks=pytest.mark.long) for name in WORLDS)]
)
@pytest.mark.takes(40)
def test_a_history_makes_the_gold_that_was_kept(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_short: bool
) -> None:
    """For each stored history, kac makes the stored gold tables. is_short: whether kac makes gold only twice, after
    each half of the steps, by plans that Spark does not compile; otherwise kac makes it after each step, by
    compiled plans.
    """
    if not is_short:
        monkeypatch.setattr("console.lake.app.MANY", -1)
    app = application(spark, tmp_path / "lake", WORLDS[name].files)
    steps = WORLDS[name].steps
    at_once = len(steps) // 2 if is_short else 1
    for number in range(at_once, len(steps) + 1, at_once):
        take_in(app, number, *steps[number - at_once : number])
        make_gold(app)
    assert lake_tables.different(WORLDS[name], Lake.open(str(tmp_path / "lake"))) == ""


@pytest.mark.parametrize("name", ALL)
def test_gold_is_the_same_however_often_it_is_made(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Gold has the same rows after each batch was read twice, after it was built again from bronze, and after bronze
    was cut.
    """
    world = WORLDS[name]
    where = tmp_path / "lake"
    app = application(spark, where, world.files)
    lake = Lake.open(str(where))
    for number, step in enumerate(world.steps, 1):
        take_in(app, number, step)
        make_gold(app)
        before = {table: lake.version(table) for table in schema.TABLES.values()}
        take_in(app, number, step)
        make_gold(app)
        assert {table: lake.version(table) for table in schema.TABLES.values()} == before, "a batch was written twice"
    assert lake_tables.different(world, lake) == ""

    shutil.rmtree(where / "checkpoints" / runs.GOLD)
    make_gold(application(spark, where))
    assert lake_tables.different(world, lake) == ""

    assert any(row["second"] for row in lake_tables.held(lake, schema.REQUEST.name))
    cut(application(spark, where))
    assert not any(row["second"] for row in lake_tables.held(lake, schema.REQUEST.name))
    assert lake_tables.different(world, lake) == ""
    shutil.rmtree(where / "checkpoints" / runs.GOLD)
    make_gold(application(spark, where))
    assert lake_tables.different(world, lake) == ""


@pytest.mark.parametrize("name", ALL)
def test_what_was_cut_is_not_missed_by_what_comes_later(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """After bronze was cut, a later step gives the same gold tables. Only usage differs: kac doesn't change the minutes
    whose requests were deleted.
    """
    world = WORLDS[name]
    app = application(spark, tmp_path / "lake", world.files)
    *steps, last = world.steps
    for number, step in enumerate(steps, 1):
        take_in(app, number, step)
    make_gold(app)
    cut(app)
    take_in(app, len(world.steps), last)
    make_gold(app)
    found = lake_tables.gold_of(Lake.open(str(tmp_path / "lake")))
    for table in set(golden.GOLD) - {"quota_usage"}:
        assert golden.differences(table, world.gold[table], found[table]) == ""

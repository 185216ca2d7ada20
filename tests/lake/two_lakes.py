"""The files of a small cluster that are read into two lakes, an undisturbed one and one that tests disturb; and Spark's
event log of the first lake's updates.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.lake.app import update
from console.lake.lake import Lake
from tests.lake import golden, lake_tables, small_site
from tests.support.patience import PATIENCE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Json = dict[str, Any]


class TwoLakes:
    """The files of a small cluster, and two lakes that read them: `calm`, which nothing disturbs, and `disturbed`. The
    files and both lakes keep their content from test to test.

    watched: how many updates of `calm` read new data; `log` has the Spark events of these updates.
    """

    def __init__(self, folder: Path, spark: SparkSession, log: EventLog) -> None:
        self.site = small_site.Site(folder / "site")
        self.calm, self.disturbed = (small_site.new_lake(folder / name) for name in ("calm", "disturbed"))
        self.watched = 0
        self.log = log
        self._spark = spark

    def go_on(self, rounds: int = 1) -> None:
        """Add so many rounds to the cluster's files, and deliver their polls to both lakes."""
        for _ in range(rounds):
            self.site.go_on(self.calm, self.disturbed)

    def update(self, lake: Lake) -> None:
        """Read the new data into a lake, one of the two."""
        with self.log.written() if lake is self.calm else nullcontext():
            report = update(self.site.plan(lake), lambda: nullcontext(self._spark))
        self.watched += lake is self.calm and bool(report.taken)

    def compare(self) -> None:
        """Update both lakes. Raises AssertionError unless both have all data exactly once, and their gold tables are
        equal.
        """
        for lake in (self.calm, self.disturbed):
            self.update(lake)
            assert not (wrong := self.site.problems(lake)), (lake.where, wrong)
        assert lake_tables.unequal(lake_tables.gold_of(self.calm), lake_tables.gold_of(self.disturbed)) == ""
        calm, disturbed = (lake_tables.held(lake, "access") for lake in (self.calm, self.disturbed))
        assert golden.differences("access", calm, disturbed) == ""
        assert sum(row["checks"] for row in disturbed) == self.site.checks


class EventLog:
    """Spark's event log, which has each plan as text. folder: the empty directory into which Spark writes it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.folder = folder
        java: Any = spark._jvm
        self._context = java.org.apache.spark.SparkContext.getOrCreate()
        self._listener = java.org.apache.spark.scheduler.EventLoggingListener(
            self._context.applicationId(),
            self._context.applicationAttemptId(),
            java.java.net.URI(folder.as_uri()),
            self._context.getConf().set("spark.eventLog.compress", "false"),
            self._context.hadoopConfiguration(),
        )
        self._listener.start()

    @contextmanager
    def written(self) -> Iterator[None]:
        """Let Spark write its events to the log until the end of the block."""
        self._context.addSparkListener(self._listener)
        try:
            yield
        finally:
            self._context.listenerBus().waitUntilEmpty(int(1000 * PATIENCE))
            self._context.removeSparkListener(self._listener)

    def events(self) -> list[Json]:
        """Return all events that Spark has written so far."""
        files = self.folder.rglob("events_*")
        return [json.loads(line) for path in sorted(files) for line in path.read_bytes().splitlines() if line]

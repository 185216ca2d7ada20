"""The lake's application on Spark: a stream from each source to bronze, and one from bronze to silver and gold. `update`
takes what is there once, `run` goes on; both do the same.

Each stream's checkpoint is in the lake. A batch is written to a table once, however often it is made: commits carry the
checkpoint's id and the batch's number (Delta's transactions by application), and where the batch ends, so that a source
whose checkpoint is lost goes on there. Gold follows from bronze: without its checkpoint all of it is made again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from console.history import sources
from console.history.errors import LakeError
from console.history.gold import Known, Renewal, new_keys, news_of
from console.history.judged import compare, judge
from console.history.plans import SOURCES, Settings
from console.history.policy_files import Policy, Wanted
from console.history.schema import JOURNAL, TABLES
from console.history.tables import Batch, Tables
from console.history.usage import make_usage
from console.model.numbers import json_text

GOLD = "gold"
"""The stream from bronze."""
_CHANGE = [name for name in JOURNAL.names if name != "read_ts"]


@dataclass(frozen=True)
class Rules:
    """The operator's files: policies, and a baseline."""

    policies: Sequence[Policy]
    baseline: Sequence[Wanted] = ()


@dataclass
class Progress:
    """What an application did. rows: read, by source."""

    rows: dict[str, int] = field(default_factory=dict)


class Application:
    """One application on one lake. root: of the lake, as Spark names it. rules: read again for each batch."""

    def __init__(
        self, spark: SparkSession, root: str, settings: Settings, rules: Callable[[], Rules], note: Mapping[str, Any]
    ) -> None:
        self._spark = spark
        self._root = root.rstrip("/")
        self._settings = settings
        self._rules = rules
        self.tables = Tables(spark, root, dict(note))
        self._known = Known(self.tables)
        for each in sources.FORMATS:
            spark.dataSource.register(each)
        self.tables.create_bronze()

    # -- streams -------------------------------------------------------------------------------------------------------

    def update(self, wanted: Sequence[str]) -> None:
        """Takes in once what is new in these sources, then makes gold of it."""
        _end([self._to_bronze(name, availableNow=True) for name in wanted])
        _end([self._to_gold(availableNow=True)])

    def run(self, wanted: Sequence[str], every: str, stop: threading.Event) -> None:
        """The same for ever, until `stop` is set. every: Spark's words for the time between two batches."""
        queries = [self._to_bronze(name, processingTime=every) for name in wanted]
        queries.append(self._to_gold(processingTime=every))
        try:
            while not stop.wait(0.2):
                for query in queries:
                    if not query.isActive:
                        _end([query])
                        raise LakeError(f"the stream {query.name} has ended")
        finally:
            for query in queries:
                query.stop()

    def _to_bronze(self, name: str, **trigger: Any) -> StreamingQuery:
        rows = self._spark.readStream.format(name).option("settings", json_text(msgspec.to_builtins(self._settings)))
        return self._start(rows.load(), name, lambda batch, at: self._take(name, batch, at), trigger)

    def _to_gold(self, **trigger: Any) -> StreamingQuery:
        return self._start(new_keys(self.tables), GOLD, self._make, trigger)

    def _start(
        self, rows: DataFrame, name: str, do: Callable[[DataFrame, Batch], None], trigger: Mapping[str, Any]
    ) -> StreamingQuery:
        place = f"{self._root}/checkpoints/{name}"

        def each(batch: DataFrame, number: int) -> None:
            spark = batch.sparkSession
            self.tables.spark = spark
            query = spark.sparkContext.getLocalProperty("sql.streaming.queryId") or name
            do(batch, Batch(query, number))

        stream = rows.writeStream.queryName(name).option("checkpointLocation", place)
        return stream.trigger(**trigger).foreachBatch(each).start()

    # -- batches -------------------------------------------------------------------------------------------------------

    def _take(self, name: str, rows: DataFrame, batch: Batch) -> None:
        table = TABLES[SOURCES[name].table]
        if table is JOURNAL:
            known = self.tables.read(JOURNAL).select(*(F.col(each).alias(f"known_{each}") for each in _CHANGE))
            same = [F.col(each).eqNullSafe(F.col(f"known_{each}")) for each in _CHANGE]
            rows = rows.join(known, same, "left_anti")
        self.tables.append(rows, table, batch)

    def _make(self, keys: DataFrame, batch: Batch) -> None:
        news = news_of(keys)
        if not news.clusters:
            return
        touched = Renewal(self.tables, self._known, batch).renew(news)
        quotas = touched.whole | {each[0] for each in touched.entities if each[1] == "quota"}
        if news.hours or quotas:
            make_usage(self.tables, news.hours, quotas, batch)
        if touched.clusters:
            rules = self._rules()
            judge(self.tables, touched.clusters, rules.policies, batch)
            compare(self.tables, rules.baseline, batch)


def _end(queries: Sequence[StreamingQuery]) -> None:
    """Wait for streams to end. Raises what one of them raised."""
    for query in queries:
        query.awaitTermination()
    for query in queries:
        if (wrong := query.exception()) is not None:
            raise wrong

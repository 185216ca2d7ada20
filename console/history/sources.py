"""Spark's data sources of the lake: metadata logs, request logs, polls and journals, as streams.

An offset says what is read, so that after a kill the checkpoint's batch is made again of the same. What is new is found
by `plans`, in the driver; executors' tasks read and decode. A secret is never an option: Spark shows options.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from console.history.plans import BRONZE_OF, SOURCES, Offset, Settings, Source
from console.history.schema import TABLES, Table, arrow_schema


class _Stream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A source as Spark asks it. With the trigger availableNow what is there is one batch: what comes while it is read
    is for the next run."""

    def __init__(self, source: Source, table: Table) -> None:
        self._source = source
        self._table = table
        self._is_once = False
        self._was_asked = False

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's
        """Spark's."""
        self._is_once = True

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's
        """Where a new checkpoint begins."""
        return self._source.initial()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: ARG002, N802 - Spark's
        """Where what is there now ends; `start` where nothing is new."""
        if self._is_once and self._was_asked:
            return start
        self._was_asked = True
        self._source.committed(start)
        return self._source.newest(start)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """What tasks read."""
        return [InputPartition(part) for part in self._source.parts(start, end)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The rows of a part; Spark passes None where there is none."""
        # Spark takes the schema of the first batch for all.
        yield pa.RecordBatch.from_pylist([], arrow_schema(self._table))
        if partition is not None:
            yield from self._source.read(partition.value)

    def commit(self, end: Offset) -> None:
        """What is read up to there is in the lake."""
        self._source.committed(end)


class LakeSource(DataSource):
    """The base of the lake's sources. Option `settings`: `plans.Settings` as JSON."""

    of = ""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return cls.of

    def schema(self) -> str:
        """The columns of the bronze table."""
        return TABLES[BRONZE_OF[self.name()]].ddl

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's
        """The source of these options."""
        source = SOURCES[self.name()](Settings.of(json.loads(self.options["settings"])))
        return _Stream(source, TABLES[BRONZE_OF[self.name()]])


class MetadataLogSource(LakeSource):
    """Metadata logs, in files."""

    of = "kraft_log"


class RequestLogSource(LakeSource):
    """Request logs, in files."""

    of = "request_log"


class PollSource(LakeSource):
    """Polls that were delivered."""

    of = "polls"


class JournalSource(LakeSource):
    """kac's journals."""

    of = "journals"


def formats() -> list[type[LakeSource]]:
    """All that there are in this process."""
    return LakeSource.__subclasses__()

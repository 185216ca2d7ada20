"""Spark's data sources of the lake: metadata logs, request logs, polls and journals, as streams.

An offset says what is read, so that after a kill the checkpoint's batch is made again of the same. What is new is found
by `plans`, in the driver; executors' tasks read and decode. A secret is never an option: Spark shows options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from console.history.plans import SOURCES, Offset, Settings, Source
from console.history.schema import TABLES, arrow_schema


class _Stream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A source as Spark asks it. With the trigger availableNow what is there is one batch: what comes while it is read
    is for the next run."""

    def __init__(self, source: Source) -> None:
        self._source = source
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
        yield pa.RecordBatch.from_pylist([], arrow_schema(TABLES[self._source.table]))
        if partition is not None:
            yield from self._source.read(partition.value)

    def commit(self, end: Offset) -> None:
        """What is read up to there is in the lake."""
        self._source.committed(end)


class LakeFormat(DataSource):
    """The base of the formats of the lake's sources. Option `settings`: `plans.Settings` as JSON."""

    source: ClassVar[type[Source]]

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return cls.source.name

    def schema(self) -> str:
        """The columns of the bronze table."""
        return TABLES[self.source.table].ddl

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's
        """The source of these options."""
        return _Stream(self.source(msgspec.json.decode(self.options["settings"], type=Settings)))


def formats() -> list[type[LakeFormat]]:
    """Those of all sources that there are in this process."""
    return [type(f"{each.__name__}Format", (LakeFormat,), {"source": each}) for each in SOURCES.values()]

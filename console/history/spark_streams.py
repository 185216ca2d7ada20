"""The same readers as streams: ``spark.readStream.format("kraft_log")`` and ``…("request_log")``; Spark 4.2 or newer.

They are for a Spark cluster of your own; kac itself takes in by `ingest` and `follow`, see docs/lake.md. An offset says
what is read, so that after a kill the checkpoint's batch is made again of the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from console.history.jobs.inputs import inputs_from_json
from console.history.jobs.plan_inputs import owned, plan_request_logs
from console.history.requests.parts import Part, parts_of, read_part
from console.history.spark_sources import LogPart, Options, read_log_part
from console.model.numbers import json_text

Offset = dict[str, Any]


class _OnceIfAsked(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """With the trigger availableNow what is there is one batch: what comes while it is read is for the next run."""

    def __init__(self) -> None:
        self._is_once = False
        self._was_asked = False

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's
        """Spark's."""
        self._is_once = True

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: ARG002, N802 - Spark's
        """Where what is there now ends; `start` where nothing is new."""
        if self._is_once and self._was_asked:
            return start
        self._was_asked = True
        return self.newest(start)

    def newest(self, start: Offset) -> Offset:
        """Where what is there now ends."""
        raise NotImplementedError


class RecordStream(_OnceIfAsked):
    """The records of the metadata log of one cluster; its offset is the log's."""

    def __init__(self, options: Options) -> None:
        super().__init__()
        self._options = options

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's
        """The option `start_offset`."""
        return {"offset": self._options.start_offset}

    def newest(self, start: Offset) -> Offset:
        """Behind the last transaction that has ended."""
        return {"offset": replace(self._options, start_offset=start["offset"]).plan().next_offset}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Between two offsets."""
        asked = replace(self._options, start_offset=start["offset"], end_offset=end["offset"])
        return [LogPart((split,)) for split in asked.plan().splits]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """As `KraftLog`'s."""
        return read_log_part(partition, self._options.key)


@dataclass
class PartToRead(InputPartition):
    """One part of a request log, for an executor."""

    part: Part


class RequestLogStream(_OnceIfAsked):
    """Request logs; option `logs`: the JSON of `request_logs` in inputs.json. Its offset says how far each file was
    read, by the file's identity, and which parts the batch that ends there is made of."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__()
        try:
            self._logs = owned(inputs_from_json({"request_logs": json.loads(options["logs"])}))
        except (KeyError, TypeError, ValueError) as wrong:
            raise ValueError(f"request_log: the option logs is not the JSON of request_logs: {wrong}") from wrong

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's
        """The beginning of every file."""
        return {"read": "{}", "parts": "[]"}

    def newest(self, start: Offset) -> Offset:
        """Behind the last whole line of each file."""
        read = json.loads(start["read"])
        planned = plan_request_logs(read, self._logs)
        parts = [part.as_list() for part in parts_of(planned.logs)]
        if not parts:
            return start
        return {"read": json_text({**read, **planned.remember}), "parts": json_text(parts)}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """The parts that were planned when the offset was made."""
        return [] if start == end else [PartToRead(Part.of(each)) for each in json.loads(end["parts"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """What a part has."""
        # Without parts Spark asks for a partition None.
        return read_part(partition.part) if isinstance(partition, PartToRead) else iter(())

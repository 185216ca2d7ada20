"""Spark data sources for a Spark of your own, 4.2 or newer (docs/lake.md): `kraft_log`, metadata logs as a table or a
stream, and `request_log`, request logs as a stream.

>>> spark.dataSource.register(KraftLog)
>>> spark.read.format("kraft_log").option("path", "/var/lib/kafka/metadata/__cluster_metadata-0").load()

The rows of `kraft_log` are those of `kraft_record` without `run_id`; an unreadable record is one of the type
``UNKNOWN(n)``. Options: `path` (or several of one cluster with ``.load([…, …])``; folders that the driver and the
executors see), `cluster_id` (else from `meta.properties` beside the folder), `start_offset`, `end_offset`,
`hmac_secret` (the key in hex; without it `value_hmac` is empty).

An offset of a stream says what is read, so that after a kill the checkpoint's batch is made again of the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from console.history.jobs.inputs import Inputs, RequestLog, owned, plan_request_logs
from console.history.kraft.decoder import ROW_SCHEMA
from console.history.kraft.metadata_log import LogPlan, plan_log, read_splits
from console.history.requests.counted import COUNTED_DDL
from console.history.requests.parts import Part, parts_of, read_part
from console.history.schema import KRAFT_RECORD
from console.model.numbers import is_natural, json_text

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


# -- metadata logs ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """What is read of one cluster's log, and how. key: of the HMAC of secrets."""

    folders: tuple[str, ...]
    cluster_id: str | None
    start_offset: int
    end_offset: int | None
    key: bytes | None = field(repr=False)

    @staticmethod
    def of(given: Mapping[str, str]) -> Options:
        """Parses Spark's options. Raises ValueError, which names the wrong one."""
        folders = tuple(json.loads(given["paths"])) if "paths" in given else ()
        if "path" in given:
            folders = (given["path"], *folders)
        if not folders:
            raise ValueError('kraft_log: give the folder __cluster_metadata-0, as .option("path", …) or .load(…)')
        try:
            key = bytes.fromhex(given["hmac_secret"]) if "hmac_secret" in given else None
        except ValueError:
            raise ValueError("kraft_log: the option hmac_secret is not in hex") from None
        start, end = (_number(given, name) for name in ("start_offset", "end_offset"))
        return Options(folders, given.get("cluster_id"), start or 0, end, key)

    def plan(self) -> LogPlan:
        """Plans the read. Raises NoMetadataLogError, OSError."""
        return plan_log(
            self.folders, cluster_id=self.cluster_id, start_offset=self.start_offset, end_offset=self.end_offset
        )

    def partitions(self) -> Sequence[InputPartition]:
        """What tasks read: a split each."""
        return [InputPartition(split) for split in self.plan().splits]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The records of a partition; Spark passes None if there is none."""
        # Spark takes the schema of the first batch for all, and needs one.
        yield pa.RecordBatch.from_pylist([], ROW_SCHEMA)
        # Rows of the type UNKNOWN show which records are unreadable.
        yield from read_splits([] if partition is None else [partition.value], self.key, lambda _: None)


def _number(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name)
    if text is not None and not is_natural(text):
        raise ValueError(f"kraft_log: the option {name} must be a whole number, not {text[:40]!r}")
    return None if text is None else int(text)


class KraftLog(DataSource):
    """The records of metadata logs."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "kraft_log"

    def schema(self) -> str:
        """The columns of `kraft_record` without `run_id`."""
        return ", ".join(f"{each.name} {each.type}" for each in KRAFT_RECORD.columns if each.name != "run_id")

    def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002
        """The reader of these options."""
        return _Records(Options.of(self.options))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's
        """The same as a stream."""
        return _RecordStream(Options.of(self.options))


class _Records(DataSourceReader):
    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        return self._options.partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._options.read(partition)


class _RecordStream(_OnceIfAsked):
    """Its offset is the log's."""

    def __init__(self, options: Options) -> None:
        super().__init__()
        self._options = options

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's
        return {"offset": self._options.start_offset}

    def newest(self, start: Offset) -> Offset:
        """Behind the last transaction that has ended."""
        return {"offset": replace(self._options, start_offset=start["offset"]).plan().next_offset}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return replace(self._options, start_offset=start["offset"], end_offset=end["offset"]).partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._options.read(partition)


# -- request logs ----------------------------------------------------------------------------------------------------


class RequestLogSource(DataSource):
    """``spark.readStream.format("request_log")``. The same second and key may come several times."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "request_log"

    def schema(self) -> str:
        """`COUNTED`."""
        return COUNTED_DDL

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's
        """The reader of these options."""
        return _RequestLogStream(self.options)


class _RequestLogStream(_OnceIfAsked):
    """Option `logs`: the JSON of `request_logs` in inputs.json. Its offset says how far each file was read, by the
    file's identity, and which parts the batch that ends there is made of."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__()
        try:
            logs = msgspec.json.decode(options["logs"], type=tuple[RequestLog, ...])
            self._logs = owned(Inputs(request_logs=logs))
        except (KeyError, ValueError) as wrong:
            raise ValueError(f"request_log: the option logs is not the JSON of request_logs: {wrong}") from wrong

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's
        """The beginning of every file."""
        return {"read": "{}", "parts": "[]"}

    def newest(self, start: Offset) -> Offset:
        """Behind the last whole line of each file."""
        read = json.loads(start["read"])
        planned = plan_request_logs(read, self._logs)
        parts = parts_of(planned.logs)
        if not parts:
            return start
        return {"read": json_text({**read, **planned.remember}), "parts": json_text(msgspec.to_builtins(parts))}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """The parts that were planned when the offset was made."""
        parts = [] if start == end else msgspec.convert(json.loads(end["parts"]), list[Part])
        return [InputPartition(part) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Without parts Spark asks for a partition None.
        return iter(()) if partition is None else read_part(partition.value)

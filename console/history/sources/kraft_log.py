"""Metadata logs as DataFrames: ``kraft_log`` with their records, ``kraft_log_quarantine`` with what can't be read.

>>> spark.dataSource.register(KraftLog)
>>> spark.read.format("kraft_log").option("path", "/var/lib/kafka/metadata/__cluster_metadata-0").load()

The rows are `kraft_record` less `run_id`. Options: `path` (or several with ``.load([…, …])``; folders that the driver
and the executors see), `cluster_id` (else from `meta.properties` beside the folder), `start_offset`, `end_offset`,
`hmac_secret` (the key in hex; without it `value_hmac` is empty), `partitions` (about how many tasks; else one for each
16 MiB).

How a job reads on, and what of it goes where::

    plan = plan_log([path], start_offset=last_time)              # on the driver: headers and checksums alone
    options = {"path": path, "start_offset": last_time, "end_offset": plan.next_offset[cluster_id], …}
    records = spark.read.format("kraft_log").options(**options).load()
    # next time begins at plan.next_offset[cluster_id]; plan.open_at: a transaction that has not ended is not in it

Damaged batches are in `plan.troubles` already (`Trouble` has the columns of `quarantine`). A record that can't be read
is a row of the type ``UNKNOWN(n)``: what is wrong with those tells ``kraft_log_quarantine`` with the same options, as
rows of `quarantine` less `run_id`, damaged batches too. It reads all once more: ask for it where there is such a row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from console.model.numbers import is_natural

from ..kraft.decoder import ROW_SCHEMA, Trouble
from ..kraft.plan import SPLIT_BYTES, LogPlan, Split, plan_log
from ..kraft.read import read_splits
from ..schema.arrow import arrow_schema
from ..schema.bronze import KRAFT_RECORD
from ..schema.records import QUARANTINE
from ..schema.table import Table

SOURCE = "kraft_log"
_QUARANTINE_SCHEMA = pa.schema([each for each in arrow_schema(QUARANTINE) if each.name != "run_id"])
_LEAST_BYTES = 1 << 20


@dataclass(frozen=True)
class Options:
    """What is read, and how. key: of the HMAC of secrets."""

    folders: tuple[str, ...]
    cluster_id: str | None
    start_offset: int
    end_offset: int | None
    key: bytes | None = field(repr=False)
    partitions: int | None

    @staticmethod
    def of(given: Mapping[str, str]) -> Options:
        """Options as Spark has them. Raises ValueError, which says what is wrong with which."""
        folders = tuple(json.loads(given["paths"])) if "paths" in given else ()
        if "path" in given:
            folders = (given["path"], *folders)
        if not folders:
            raise ValueError('kraft_log: give the folder __cluster_metadata-0, as .option("path", …) or .load(…)')
        try:
            key = bytes.fromhex(given["hmac_secret"]) if "hmac_secret" in given else None
        except ValueError:
            raise ValueError("kraft_log: the option hmac_secret is not in hex") from None
        return Options(
            folders,
            given.get("cluster_id"),
            _number(given, "start_offset") or 0,
            _number(given, "end_offset"),
            key,
            _number(given, "partitions"),
        )

    def plan(self) -> LogPlan:
        """What is to be read. Raises NoMetadataLogError, OSError."""
        plan = self._plan(SPLIT_BYTES)
        if self.partitions is None:
            return plan
        size = sum(split.end - split.at for split in plan.splits)
        return self._plan(max(_LEAST_BYTES, -(-size // self.partitions)))

    def _plan(self, split_bytes: int) -> LogPlan:
        return plan_log(
            self.folders,
            cluster_id=self.cluster_id,
            start_offset=self.start_offset,
            end_offset=self.end_offset,
            split_bytes=split_bytes,
        )


class KraftLog(DataSource):
    """Records."""

    @classmethod
    def name(cls) -> str:
        """For `spark.read.format`."""
        return SOURCE

    def schema(self) -> str:
        """As `kraft_record`, less `run_id`."""
        return _ddl(KRAFT_RECORD)

    def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002
        """Reads in splits of files."""
        return _Records(Options.of(self.options))


class KraftLogQuarantine(DataSource):
    """What can't be read."""

    @classmethod
    def name(cls) -> str:
        """For `spark.read.format`."""
        return f"{SOURCE}_quarantine"

    def schema(self) -> str:
        """As `quarantine`, less `run_id`."""
        return _ddl(QUARANTINE)

    def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002
        """Reads in splits of files."""
        return _Troubles(Options.of(self.options))


@dataclass
class _Part(InputPartition):
    """What a task reads, or what is known to be damaged before any reads."""

    splits: tuple[Split, ...] = ()
    troubles: tuple[Trouble, ...] = ()


class _Records(DataSourceReader):
    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        return [_Part((split,)) for split in self._options.plan().splits]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        batches = iter(read_splits(_part(partition).splits, self._options.key, _told_elsewhere))
        # Spark takes the schema of the first batch for that of all, and needs one.
        first = next(batches, None)
        if first is None:
            first = pa.RecordBatch.from_pylist([], ROW_SCHEMA)
        yield first
        yield from batches


def _part(partition: InputPartition) -> _Part:
    """Spark reads None where there is no partition."""
    return partition if isinstance(partition, _Part) else _Part()


class _Troubles(DataSourceReader):
    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        plan = self._options.plan()
        return [_Part(troubles=plan.troubles), *(_Part((split,)) for split in plan.splits)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        part = _part(partition)
        troubles = list(part.troubles)
        for _ in read_splits(part.splits, None, troubles.append):
            pass
        rows = [{"source": SOURCE, **asdict(trouble)} for trouble in troubles]
        yield pa.RecordBatch.from_pylist(rows, _QUARANTINE_SCHEMA)


def _told_elsewhere(_: Trouble) -> None:
    """The rows say that something is there; `kraft_log_quarantine` says what."""


def _number(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    if not is_natural(text) or (name == "partitions" and not int(text)):
        raise ValueError(f"kraft_log: the option {name} is no whole number: {text[:40]!r}")
    return int(text)


def _ddl(table: Table) -> str:
    return ", ".join(f"{each.name} {each.type}" for each in table.columns if each.name != "run_id")

"""`spark.read.format("kafka_admin")`: the state of many clusters, read in parallel, each in its own partition.

    spark.dataSource.register(KafkaAdminSource)
    spark.read.format("kafka_admin").option("contexts", '["prod", "staging"]').load()

Rows are those of the table `snapshot` without `run_id`: every resource of each cluster, a heartbeat with the types that
were read completely, a row `failed` for each error. A cluster that does not answer is one row `failed` of the entity
type `cluster`, whose key is the context's name or the addresses; its `cluster_id` is the context's, or empty.

Unlike the rest of the pipeline this needs all of kac on the executors (`pip install kafka-admin-console` there), and a
network path from there to the clusters. Options:

    contexts       names of contexts, a JSON list; each executor looks them up in its own files and environment
    bootstrap      addresses, a JSON list with `host:port,host:port` for each cluster
    commandConfig  with `bootstrap`: the path of a file of client properties on the executors, for all of them
    timeout        seconds for one cluster (120)

A secret is never an option: Spark's logs and UI show options. Secrets are in the files of the executors, or those refer
to them by `${env:NAME}` and `${file:PATH}` (console.contexts.properties).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import DecodeError, Meta
from msgspec.json import decode
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from console.contexts import ContextError, load, resolve
from console.history.schema import SNAPSHOT
from console.lake.collect import TIMEOUT, poll_context
from console.lake.poll import failed_row, rows_table, state_rows, status_rows
from console.model.failure import Failure

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


_OPTIONS = ("contexts", "bootstrap", "commandConfig", "timeout")
ROWS = replace(SNAPSHOT, columns=tuple(column for column in SNAPSHOT.columns if column.name != "run_id"))
"""The table that it returns."""


@dataclass(frozen=True)
class Cluster(InputPartition):
    """One cluster to poll: a context, or bootstrap addresses, perhaps with a file of client properties."""

    context: str | None = None
    bootstrap: str | None = None
    command_config: str | None = None


class KafkaAdminSource(DataSource):
    """The data source; see the module."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "kafka_admin"

    def schema(self) -> str:
        """The columns as DDL."""
        return ROWS.ddl

    def reader(self, schema: StructType) -> KafkaAdminReader:  # noqa: ARG002 - Spark's signature
        """Raises ValueError for invalid options."""
        unknown = self.options.keys() - {option.lower() for option in _OPTIONS} - set(_OPTIONS)
        if unknown:
            raise ValueError(
                f"kafka_admin has no option {min(unknown)}, only {', '.join(_OPTIONS)}; credentials belong into the "
                "contexts or files of the executors, never in options"
            )
        try:
            timeout = float(self.options.get("timeout") or TIMEOUT)
        except ValueError:
            raise ValueError("kafka_admin: timeout must be a number of seconds") from None
        return KafkaAdminReader(clusters_of(self.options), timeout)


def clusters_of(options: Mapping[str, str]) -> tuple[Cluster, ...]:
    """The clusters that the options name, each once. Raises ValueError."""
    contexts, bootstrap = (_names(options, each) for each in ("contexts", "bootstrap"))
    if not contexts and not bootstrap:
        raise ValueError('kafka_admin: the option contexts or bootstrap is needed, as ["prod", "staging"]')
    config = options.get("commandConfig")
    if config is not None and contexts:
        raise ValueError("kafka_admin: commandConfig is for bootstrap; a context has its own settings")
    found = [Cluster(context=name) for name in contexts]
    found += [Cluster(bootstrap=addresses, command_config=config) for addresses in bootstrap]
    return tuple(dict.fromkeys(found))


def _names(options: Mapping[str, str], option: str) -> list[str]:
    try:
        return decode(options.get(option, "[]"), type=list[Annotated[str, Meta(min_length=1)]])
    except DecodeError:
        raise ValueError(f'kafka_admin: {option} must be a JSON list of texts, as ["a", "b"]') from None


class KafkaAdminReader(DataSourceReader):
    """Polls each cluster on the executor that gets its partition."""

    def __init__(self, clusters: Sequence[Cluster], timeout: float) -> None:
        self._clusters = tuple(clusters)
        self._timeout = timeout

    def partitions(self) -> Sequence[InputPartition]:
        """One for each cluster."""
        return list(self._clusters)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one cluster. Errors of the cluster become rows; it never fails because of them."""
        assert isinstance(partition, Cluster)
        yield from rows_of(partition, self._timeout).to_batches()


def rows_of(cluster: Cluster, timeout: float) -> pa.Table:
    """All rows of one cluster, in the columns of `ROWS`."""
    name = cluster.context or cluster.bootstrap or ""
    try:
        context = resolve(
            load(os.environ, Path.home()),
            name=cluster.context,
            bootstrap=cluster.bootstrap,
            command_config=Path(cluster.command_config) if cluster.command_config else None,
            environ={},
        )
    except ContextError as error:
        unusable = Failure("NO_CONTEXT", str(error), "Give the executors the context's file.")
        return rows_table(ROWS, [failed_row(name, unusable)], "", datetime.now(UTC))
    taken = asyncio.run(poll_context(context, timeout=timeout))
    if isinstance(seen := taken.seen, Failure):
        return rows_table(ROWS, [failed_row(name, seen)], context.cluster_id or "", taken.at)
    return rows_table(ROWS, [*state_rows(seen.state), *status_rows(seen)], seen.cluster_id, seen.at)

"""The lake's tables through DuckDB, and their rows as values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from console.history.entities import CLUSTER, FIRST_LOOK, POLL_SOURCES, UNOBSERVED
from console.history.schema import Table
from console.history.store import Lake, LakeError
from console.history.store.filesystem import Filesystem
from console.history.store.parquet_rows import connected, duckdb
from console.history.store.partitions import partition_values
from console.history.store.release import Release

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


# -- queries from fixed text and parameters: no text of a cluster becomes SQL ----------------------------------------

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
FILES = "read_parquet(?, hive_partitioning = false)"
"""The files of a table, as a parameter. The names of their folders hold nothing that is not in them."""


class Where:
    """Conditions that all have to hold, with their parameters."""

    def __init__(self) -> None:
        self._conditions: list[str] = []
        self.parameters: list[Any] = []

    def add(self, condition: str, *parameters: Any) -> Where:
        """Adds a condition; `?` in it is a parameter."""
        self._conditions.append(condition)
        self.parameters += parameters
        return self

    def equal(self, column: str, value: Any) -> Where:
        """The column has this value; None: any."""
        return self if value is None else self.add(f"{column} = ?", value)

    def between(self, column: str, since: datetime | None, until: datetime | None) -> Where:
        """The column's time lies in [since, until)."""
        if since is not None:
            self.add(f"{column} >= ?", since)
        if until is not None:
            self.add(f"{column} < ?", until)
        return self

    def like(self, column: str, pattern: str | None) -> Where:
        """The column's text equals this text, or matches it if it has `*` or `?`."""
        if pattern is None:
            return self
        return self.add(f"{column} GLOB ?" if set(pattern) & set("*?") else f"{column} = ?", pattern)

    @property
    def sql(self) -> str:
        """A WHERE clause."""
        return f"WHERE {' AND '.join(self._conditions)}" if self._conditions else ""


def time(microseconds: int | None) -> datetime | None:
    """A time that was selected as `epoch_us`: DuckDB's own needs a package for time zones."""
    return None if microseconds is None else EPOCH + microseconds * _MICROSECOND


def known_time(microseconds: int) -> datetime:
    """The same for a column that is never empty."""
    return EPOCH + microseconds * _MICROSECOND


# -- opening a lake: pinned to one release, so that all rows are of one run -----------------------------------------


class Unreadable(LakeError):
    """A file of the lake can't be read."""

    def __init__(self, where: str, why: object) -> None:
        first = str(why).splitlines()[0] if str(why) else type(why).__name__
        super().__init__(
            f"The lake at {where} can't be read: {first}. A run may have deleted files of the version that was open: "
            "open the lake again; `kac lake verify` checks it."
        )


class Tables:
    """The tables of a lake as one run left them. Runs one query at a time: calls from other threads wait."""

    def __init__(self, where: str, files: Filesystem | None = None) -> None:
        """files: of a lake that is not on this machine. Raises LakeError with a remedy (NoLake …)."""
        self.where = where
        try:
            self._lake = Lake.open(where, files)
            self.release: Release = self._lake.current()
        except OSError as error:
            raise Unreadable(where, error) from error
        self.tails: dict[str, Any] = {}
        """What `console.history.reader.tail` has found of each cluster."""
        self._connection: DuckDBPyConnection | None = connected()
        self._lock = Lock()

    def close(self) -> None:
        """Closes the connection. DuckDB warns of connections that are never closed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @property
    def is_latest(self) -> bool:
        """Whether these are the newest tables. Raises LakeError."""
        return self._lake.current().run_id == self.release.run_id

    def clusters(self, *tables: Table) -> list[str]:
        """The clusters that these tables have rows of."""
        found = {partition_values(part).get("cluster_id") for table in tables for part in self.partitions(table)}
        return sorted(filter(None, found))

    def partitions(self, table: Table, cluster_id: str | None = None, days: tuple[str, str] | None = None) -> list[str]:
        """The table's partitions, of one cluster (None: all) and between two days, as ``2026-11-21``."""
        found = []
        for partition in self.release.table(table).partitions:
            values = partition_values(partition)
            day = (values.get("day") or values.get("hour") or "")[:10]
            if cluster_id is not None and values.get("cluster_id", cluster_id) != cluster_id:
                continue
            if days is None or not day or days[0] <= day <= days[1]:
                found.append(partition)
        return found

    def files(self, table: Table, partitions: Iterable[str] | None = None) -> list[str]:
        """The Parquet files of these partitions."""
        return self._here(self._lake.files(self.release, table, None if partitions is None else list(partitions)))

    def files_since(self, table: Table, cluster_id: str, column: str, since: datetime) -> list[str]:
        """The Parquet files of a cluster that may have rows with this time or later ones in a column of times."""
        text = since.isoformat(timespec="seconds")[:19]
        chosen = self.release.table(table).of(self.partitions(table, cluster_id))
        newest = {path: json.loads(file.stats or "{}").get("maxValues", {}) for path, file in chosen.items()}
        return self._here([self._lake.path(path) for path, most in newest.items() if most.get(column, text) >= text])

    def _here(self, paths: list[str]) -> list[str]:
        """Where DuckDB reads these files."""
        try:
            return self._lake.filesystem.here(paths)
        except OSError as error:
            raise Unreadable(self.where, error) from error

    def built(self, table: Table, partitions: Iterable[str]) -> datetime | None:
        """When the newest files of these partitions were written."""
        times = [file.written for file in self.release.table(table).of(partitions).values()]
        return EPOCH + max(times) * _MICROSECOND * 1000 if times else None

    def rows(self, table: Table, partitions: Iterable[str]) -> int:
        """The number of rows of these partitions."""
        return sum(file.rows for file in self.release.table(table).of(partitions).values())

    def select(
        self, columns: str, table: Table, partitions: Iterable[str], where: Where, rest: str = "", *more: Any
    ) -> list[tuple[Any, ...]]:
        """Columns of the table's rows in these partitions. rest: of the query, behind its conditions. more: parameters
        in `rest`."""
        if not (files := self.files(table, partitions)):
            return []
        return self.ask(f"SELECT {columns} FROM {FILES} {where.sql} {rest}", [files, *where.parameters, *more])  # noqa: S608

    def ask(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """All rows of a result. Unreadable: a file is damaged or missing."""
        with self._lock:
            if self._connection is None:
                raise Unreadable(self.where, "it was closed")
            try:
                return self._connection.execute(sql, list(parameters)).fetchall()
            except duckdb().Error as error:
                raise Unreadable(self.where, error) from error


# Rows that are read from a lake, as values. Times are UTC. Texts come from clusters: untrusted.


class Change(NamedTuple):
    """A value of an attribute, the one before, and who set it: a row of `history`, see there.

    is_built: whether it is in `history`, and not only in records that came in since (`console.history.reader.tail`).
    """

    cluster_id: str
    entity_type: str
    entity_key: str
    attr: str
    old_value: str | None
    new_value: str | None
    valid_from: datetime
    valid_to: datetime | None
    is_current: bool
    is_deleted: bool
    principal: str | None
    attribution: str
    source: str
    is_built: bool = True

    @property
    def is_gap(self) -> bool:
        """Whether it is a time in which the cluster was not polled, and no change."""
        return self.entity_type == CLUSTER and self.attr == UNOBSERVED

    @property
    def is_first_look(self) -> bool:
        """Whether it stands for all values that the first poll of a cluster showed: `new_value` says how many."""
        return self.entity_type == CLUSTER and self.attr == FIRST_LOOK

    def is_first_seen(self, first_poll: datetime | None) -> bool:
        """Whether it was shown by the cluster's first poll, and is no change: it was so before, since an unknown
        time."""
        is_new = self.old_value is None and not self.is_deleted and not self.is_gap
        return is_new and self.source in POLL_SOURCES and self.valid_from == first_poll

    @property
    def place(self) -> tuple[timedelta, str, str, str, str]:
        """Its place in a timeline, which is ordered from late to early, and by names at one time."""
        return (EPOCH - self.valid_from, *self[:4])


class Drifted(NamedTuple):
    """A value that differs from its peers: a row of `drift`, see there."""

    cluster_id: str
    scope: str
    entity_key: str
    attr: str
    majority_value: str | None
    this_value: str | None
    peers: int
    differing: int
    since: datetime | None
    severity: str

    @property
    def entity(self) -> tuple[str, str]:
        """Type and key of the entity that differs."""
        type_, _, key = self.entity_key.partition(":")
        return type_, key


class Pair(NamedTuple):
    """A user and a client id that share a quota; see `quota_usage`."""

    scope_user: str | None
    scope_client: str | None
    quota_key: str


class Usage(NamedTuple):
    """The usage of a pair in a window, on the broker where it is highest: limits apply to each broker.

    quota_value, level, suggested_value and reason are of that broker's last minute. rate_max, rate_avg: bytes/s or %.
    throttle_ms: of all brokers. series: the highest rate over ten seconds in each minute, the highest of all brokers.
    A rate that is unknown is None: without a lake only the quotas are known, broker_id is -1 then.
    """

    cluster_id: str
    pair: Pair
    broker_id: int
    quota_value: float | None
    level: int | None
    rate_max: float | None
    rate_avg: float | None
    utilisation: float | None
    throttle_ms: int
    throttled_requests: int
    headroom: float | None
    suggested_value: float | None
    reason: str
    series: tuple[tuple[datetime, float], ...]


class Minute(NamedTuple):
    """A minute of a pair on a broker: a row of `quota_usage`, see there."""

    minute: datetime
    broker_id: int
    quota_value: float | None
    level: int | None
    rate_avg: float
    rate_max_10s: float
    throttle_ms: int


class Violation(NamedTuple):
    """A violation of a policy, now or before: a row of `policy_violation`, see there."""

    cluster_id: str
    policy_id: str
    entity_key: str
    attr: str
    actual: str | None
    expected: str
    severity: str
    first_seen: datetime
    last_seen: datetime | None


class Gap(NamedTuple):
    """Time in which a cluster was not polled. until: empty while it lasts."""

    since: datetime
    until: datetime | None
    cluster_id: str = ""


class Freshness(NamedTuple):
    """How fresh a table is for a cluster.

    as_of: the newest observation that the table is made from; empty if there is none. built: when its files were
    written. rows: their number.
    """

    table: Table
    as_of: datetime | None
    built: datetime | None
    rows: int

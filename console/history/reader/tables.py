"""The lake's tables through DuckDB, and their rows as values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

from console.history import delta_log
from console.history.delta_log import DataFile, TableFiles, connected, duckdb
from console.history.entities import CLUSTER, FIRST_LOOK, POLL_SOURCES, UNOBSERVED
from console.history.errors import LakeError
from console.history.files import Filesystem
from console.history.lake import Lake
from console.history.schema import TABLES, Table
from console.model.numbers import EPOCH

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


# -- queries from fixed text and parameters: no text of a cluster becomes SQL ----------------------------------------

_MICROSECOND = timedelta(microseconds=1)


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


# -- the rows of a table that hold ------------------------------------------------------------------------------------

_FILES = "read_parquet(?, hive_partitioning = false)"
"""The files of a table, as a parameter. The names of their folders hold nothing that is not in them."""
_OF_HOURS = {"date_trunc('hour', minute)": "epoch_us(minute) // 3600000000"}
"""What `Table.newest` has in Spark's words, in DuckDB's: its own works by the calendar of a time zone, slowly."""


@dataclass(frozen=True)
class Part:
    """A part of a table. Rows that replace each other are in it together.

    clusters: None: all. entities: types and keys, of any of the clusters; (): all. since, until: of the table's first
    column of times, [since, until), from hour to hour.
    """

    clusters: tuple[str, ...] | None = None
    entities: tuple[tuple[str, str], ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    @staticmethod
    def of(cluster_id: str | None) -> Part:
        """A cluster; None: all."""
        return Part(None if cluster_id is None else (cluster_id,))

    @property
    def hours(self) -> tuple[datetime | None, datetime | None]:
        """Whole hours around its times."""
        first = None if self.since is None else _hour(self.since)
        return first, None if self.until is None else _hour(self.until + _HOUR - _MICROSECOND)

    def may_be_in(self, file: DataFile) -> bool:
        """Whether a file may have rows of it, by its partition and by what Delta's log has of its columns."""
        since, until = self.hours
        cluster, day = file.parts.get("in_cluster_id"), file.parts.get("in_day")
        if cluster is not None and self.clusters is not None and cluster not in self.clusters:
            return False
        if day is not None and since is not None and day < f"{since:%Y-%m-%d}":
            return False
        if day is not None and until is not None and day > f"{until:%Y-%m-%d}":
            return False
        if (self.clusters is None or cluster is not None) and not self.entities:
            return True
        stats = json.loads(file.stats or "{}")
        least, most = stats.get("minValues", {}), stats.get("maxValues", {})

        def has(column: str, value: str) -> bool:
            return bool(least.get(column, value) <= value <= most.get(column, value))

        if self.clusters is not None and not any(has("cluster_id", each) for each in self.clusters):
            return False
        return not self.entities or any(
            has("entity_type", type_) and has("entity_key", key) for type_, key in self.entities
        )

    def where(self, table: Table) -> Where:
        """The same of rows."""
        where = Where()
        if self.since is not None or self.until is not None:
            where.between(time_column(table), *self.hours)
        if self.clusters is not None:
            one = len(self.clusters) == 1  # as Parquet's own statistics are asked
            where.add(
                "cluster_id = ?" if one else "list_contains(?, cluster_id)",
                self.clusters[0] if one else [*self.clusters],
            )
        if self.entities:
            either = " OR ".join("(entity_type = ? AND entity_key = ?)" for _ in self.entities)
            where.add(f"({either})", *(name for entity in self.entities for name in entity))
        return where


WHOLE = Part()
"""All of a table."""


class Rows(NamedTuple):
    """Rows as a table of a query, with its parameters."""

    sql: str
    parameters: list[Any]


def holding(table: Table, part: Part, files: Sequence[str]) -> Rows:
    """The rows of these files that hold: of those that are equal in `Table.newest` the ones made last, without those
    which say that nothing is left."""
    where = part.where(table)
    parameters = [list(files), *where.parameters]
    if not table.newest:
        return Rows(f"(SELECT * FROM {_FILES} {where.sql})", parameters)  # noqa: S608
    equal = ", ".join(_OF_HOURS.get(each, each) for each in table.newest)
    latest = f"SELECT * FROM {_FILES} {where.sql} QUALIFY made = max(made) OVER (PARTITION BY {equal})"  # noqa: S608
    return Rows(f"(SELECT * FROM ({latest}) WHERE {table.there} IS NOT NULL)", parameters)  # noqa: S608


def time_column(table: Table) -> str:
    """Its first column of times."""
    return next(column.name for column in table.columns if column.type == "timestamp")


_HOUR = timedelta(hours=1)


def _hour(at: datetime) -> datetime:
    return EPOCH + (at - EPOCH) // _HOUR * _HOUR


# -- opening a lake: each table is pinned to one version -------------------------------------------------------------


class Unreadable(LakeError):
    """A file of the lake can't be read."""

    def __init__(self, where: str, why: object) -> None:
        first = str(why).splitlines()[0] if str(why) else type(why).__name__
        super().__init__(
            f"The lake at {where} can't be read: {first}. Maintenance may have deleted files of the version that was "
            "open: open the lake again; if it stays so, a file is damaged: docs/lake.md says how it is made again."
        )


class Tables:
    """The tables of a lake, each in the version that it had when it was first asked for. Runs one query at a time:
    calls from other threads wait."""

    def __init__(self, where: str, files: Filesystem | None = None, former: Tables | None = None) -> None:
        """files: of a lake that is not on this machine. former: of the same lake, of which what it knows is taken over,
        with its connection: closing one closes both. Raises LakeError with a remedy (NoLake …)."""
        self.where = where
        self._pinned: dict[str, TableFiles] = {}
        self._runs: dict[str, str | None] = {}
        self._is_damaged = False
        self._lock = RLock()
        self._connection: DuckDBPyConnection | None = None
        with self._reading():
            self.lake = Lake.open(where, files)
            if former is not None:
                self._take_over(former)
        self._connection = self._connection or connected()

    def _take_over(self, former: Tables) -> None:
        self._lock, self._connection = former._lock, former._connection
        for name, known in tuple(former._pinned.items()):
            if known.version < 0:
                continue
            found = delta_log.newer(self.lake.files, self.lake.folder(TABLES[name]), known)
            self._pinned[name] = found
            if found is known and name in former._runs:
                self._runs[name] = former._runs[name]

    def close(self) -> None:
        """Closes the connection. DuckDB warns of connections that are never closed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @property
    def is_latest(self) -> bool:
        """Whether what was asked for is the newest there is. Raises LakeError."""
        with self._reading():
            return not self._is_damaged and all(
                delta_log.is_newest(self.lake.files, self.lake.folder(TABLES[name]), known.version)
                for name, known in tuple(self._pinned.items())
            )

    def files(self, table: Table) -> TableFiles:
        """The version of a table that is shown, and its files. Raises LakeError."""
        with self._lock, self._reading():
            if table.name not in self._pinned:
                self._pinned[table.name] = self.lake.table(table)
            return self._pinned[table.name]

    def run(self, table: Table) -> str | None:
        """The run that made the version of the table; None: its commits do not say."""
        version = self.files(table).version
        with self._lock, self._reading():
            if table.name not in self._runs:
                notes = (note for note in self.lake.notes(table) if note["version"] <= version and "run" in note)
                self._runs[table.name] = next((str(note["run"]) for note in notes), None)
            return self._runs[table.name]

    def clusters(self, *tables: Table) -> list[str]:
        """The clusters that these tables have rows of."""
        found: set[str | None] = set()
        for table in tables:
            if "in_cluster_id" in table.partitions:
                found |= {file.parts.get("in_cluster_id") for file in self.files(table).files.values()}
            else:
                found |= {cluster for (cluster,) in self.select("DISTINCT cluster_id", table)}
        return sorted(filter(None, found))

    def days(self, table: Table, part: Part = WHOLE) -> list[datetime | None]:
        """The days that a part may have rows of, from late to early; None: the table is not apart by days."""
        found = {file.parts.get("in_day") for _, file in self._of(table, part)}
        with self._logged(table):
            days = (datetime.fromisoformat(each).replace(tzinfo=timezone.utc) for each in found if each)
            return [*sorted(days, reverse=True)] or [None] * bool(found)

    def _of(self, table: Table, part: Part) -> list[tuple[str, DataFile]]:
        with self._logged(table):
            return [(path, file) for path, file in self.files(table).files.items() if part.may_be_in(file)]

    def _logged(self, table: Table) -> AbstractContextManager[None]:
        """What the log says of files may be anything: then DamagedLake says so."""
        return delta_log.reading(self.lake.folder(table), delta_log.LOG)

    def built(self, table: Table, part: Part = WHOLE) -> datetime | None:
        """When the newest files of a part were written."""
        times = [file.written for _, file in self._of(table, part)]
        return EPOCH + max(times) * _MICROSECOND * 1000 if times else None

    def rows(self, table: Table, part: Part = WHOLE) -> Rows | None:
        """The rows of a part that hold; None: there are no files of it. Raises Unreadable."""
        folder = self.lake.folder(table)
        paths = [f"{folder}/{path}" for path, _ in self._of(table, part)]
        if not paths:
            return None
        with self._reading():
            return holding(table, part, self.lake.files.here(paths))

    def select(
        self, columns: str, table: Table, part: Part = WHOLE, where: Where | None = None, rest: str = "", *more: Any
    ) -> list[tuple[Any, ...]]:
        """Columns of a part's rows. rest: of the query, behind its conditions. more: parameters in `rest`."""
        if (rows := self.rows(table, part)) is None:
            return []
        of = where or Where()
        return self.ask(f"SELECT {columns} FROM {rows.sql} {of.sql} {rest}", [*rows.parameters, *of.parameters, *more])  # noqa: S608

    def ask(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """All rows of a result. Unreadable: a file is damaged or missing."""
        with self._lock, self._reading():
            if self._connection is None:
                raise Unreadable(self.where, "it was closed")
            return self._connection.execute(sql, list(parameters)).fetchall()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """What goes wrong with files as Unreadable. What was pinned is opened again the next time: it may have been
        replaced and deleted."""
        try:
            yield
        except LakeError:
            raise
        except (OSError, duckdb().Error) as error:
            self._is_damaged = True
            raise Unreadable(self.where, error) from error


# Rows that are read from a lake, as values. Times are UTC. Texts come from clusters: untrusted.


class Change(NamedTuple):
    """A value of an attribute, the one before, and who set it: a row of `history`, see there."""

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

    quota_value and level are of that broker's last minute, suggested_value and reason of all minutes under this limit
    (`quota_suggestion`). rate_max, rate_avg: bytes/s or %.
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
    written. run: the one that wrote the table last; empty where that is not known.
    """

    table: Table
    as_of: datetime | None
    built: datetime | None
    run: str | None

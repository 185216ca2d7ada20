"""A reader of a lake's tables that needs no Spark: DuckDB selects the valid rows, and this module converts them to
values: the timeline of changes, drift, policy violations, quota usage and freshness.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

from console.lake import delta_log, schema
from console.lake.delta_log import DataFile, TableFiles, connected, duckdb
from console.lake.entities import CLUSTER, FIRST_POLL, POLL_SOURCES, UNOBSERVED, acl_key
from console.lake.files import Filesystem, LakeError
from console.lake.lake import Lake
from console.model.foreign_json import json_of
from console.model.numbers import EPOCH

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


# -- queries from fixed text and parameters: no text of a cluster becomes SQL ----------------------------------------

_MICROSECOND = timedelta(microseconds=1)
_EARLIEST = (datetime.min.replace(tzinfo=timezone.utc) + timedelta(days=2) - EPOCH) // _MICROSECOND
_LATEST = (datetime.max.replace(tzinfo=timezone.utc) - timedelta(days=2) - EPOCH) // _MICROSECOND
"""The latest time, in microseconds since 1970, that can be converted to every time zone."""


class Where:
    """Conditions of a query, joined by AND, with their parameters. Each method adds its conditions to this object
    and returns it, so that calls can be chained.
    """

    def __init__(self) -> None:
        self._conditions: list[str] = []
        self.parameters: list[Any] = []

    def add(self, condition: str, *parameters: Any) -> Where:
        """Add a condition; `?` in it is a parameter."""
        self._conditions.append(condition)
        self.parameters += parameters
        return self

    def equal(self, column: str, value: Any) -> Where:
        """Require that the column has this value; None adds no condition."""
        return self if value is None else self.add(f"{column} = ?", value)

    def between(self, column: str, since: datetime | None, until: datetime | None) -> Where:
        """Add conditions: the column's time is at or after `since` and before `until`. None sets no limit at that
        end.
        """
        if since is not None:
            self.add(f"{column} >= ?", since)
        if until is not None:
            self.add(f"{column} < ?", until)
        return self

    def about(self, entities: Collection[tuple[str, str]]) -> Where:
        """Require that a row belongs to one of these entities.

        Args:
            entities: pairs of a type and a key.
        """
        either = " OR ".join("(entity_type = ? AND entity_key = ?)" for _ in entities)
        return self.add(f"({either})", *(name for entity in entities for name in entity))

    def like(self, column: str, pattern: str | None) -> Where:
        """Require that the column's text equals a pattern, or matches it if it has `*` or `?`; None adds no
        condition.
        """
        if pattern is None:
            return self
        return self.add(f"{column} GLOB ?" if set(pattern) & set("*?") else f"{column} = ?", pattern)

    @property
    def sql(self) -> str:
        """The WHERE clause; empty without conditions."""
        return f"WHERE {' AND '.join(self._conditions)}" if self._conditions else ""


def time(microseconds: int | None) -> datetime | None:
    """Return a time that a query selected as `epoch_us`. DuckDB's own timestamps need a package for time zones.

    Args:
        microseconds: microseconds since 1970; None stays None.

    Returns:
        The time in UTC.
    """
    return None if microseconds is None else known_time(microseconds)


def known_time(microseconds: int) -> datetime:
    """Return a time that a query selected as `epoch_us`, of a column without NULL. A value outside the calendar, which
    a damaged file may have, becomes the nearest valid time.
    """
    return EPOCH + min(max(microseconds, _EARLIEST), _LATEST) * _MICROSECOND


# -- the valid rows of a table -----------------------------------------------------------------------------------------

_FILES = "read_parquet(?, hive_partitioning = false)"
"""The table function that reads a table's files; the list of paths is its parameter. The files have the partition
columns themselves, so DuckDB does not parse them from the names of folders.
"""
_OF_HOURS = {"date_trunc('hour', minute)": "epoch_us(minute) // 3600000000"}
"""SQL expressions in `Table.newest` for Spark -> an equivalent in DuckDB's SQL that is faster: DuckDB's date_trunc
computes in the calendar of a time zone.
"""


@dataclass(frozen=True)
class Part:
    """A choice of a table's rows, by cluster, entity and time. Rows that replace each other are always in the same
    part.
    """

    clusters: tuple[str, ...] | None = None
    """Ids of clusters; None for all clusters."""
    entities: tuple[tuple[str, str], ...] = ()
    """Pairs of an entity type and a key, in any of the clusters; empty for all entities."""
    since: datetime | None = None
    """The earliest time in the table's first column of times, included, rounded down to a whole hour; None for no
    limit.
    """
    until: datetime | None = None
    """The latest time in that column, excluded, rounded up to a whole hour; None for no limit."""

    @staticmethod
    def of(cluster_id: str | None) -> Part:
        """Return the part with the rows of a cluster; None for all clusters."""
        return Part(None if cluster_id is None else (cluster_id,))

    @property
    def hours(self) -> tuple[datetime | None, datetime | None]:
        """The times of `since` and `until`, rounded to whole hours; None for no limit."""
        first = None if self.since is None else _hour(self.since)
        return first, None if self.until is None else _hour(self.until + _HOUR - _MICROSECOND)

    def may_be_in(self, file: DataFile) -> bool:
        """Return whether a file may have rows of the part, by its partition and by the column statistics in Delta's
        log.
        """
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
        stats = json_of(file.stats or "{}", may_repeat=True)
        least, most = stats.get("minValues", {}), stats.get("maxValues", {})

        def has(column: str, value: str) -> bool:
            return bool(least.get(column, value) <= value <= most.get(column, value))

        if self.clusters is not None and not any(has("cluster_id", each) for each in self.clusters):
            return False
        return not self.entities or any(
            has("entity_type", type_) and has("entity_key", key) for type_, key in self.entities
        )

    def where(self, table: schema.Table) -> Where:
        """Return the conditions that select the part's rows."""
        where = Where()
        if self.since is not None or self.until is not None:
            where.between(time_column(table), *self.hours)
        if self.clusters is not None:
            one = len(self.clusters) == 1  # Parquet's statistics let DuckDB skip files for an equality only
            where.add(
                "cluster_id = ?" if one else "list_contains(?, cluster_id)",
                self.clusters[0] if one else [*self.clusters],
            )
        return where.about(self.entities) if self.entities else where


WHOLE = Part()
"""The whole table."""


class Rows(NamedTuple):
    """Rows as a subquery, with its parameters."""

    sql: str
    parameters: list[Any]


def holding(table: schema.Table, part: Part, files: Sequence[str]) -> Rows:
    """Return the valid rows of these files as a subquery: among rows that are equal in `Table.newest`, only those
    with the highest `made`. Tombstones (rows which only report that earlier rows are no longer valid) are left
    out.
    """
    where = part.where(table)
    parameters = [list(files), *where.parameters]
    if not table.newest:
        return Rows(f"(SELECT * FROM {_FILES} {where.sql})", parameters)  # noqa: S608
    equal = ", ".join(_OF_HOURS.get(each, each) for each in table.newest)
    latest = f"SELECT * FROM {_FILES} {where.sql} QUALIFY made = max(made) OVER (PARTITION BY {equal})"  # noqa: S608
    return Rows(f"(SELECT * FROM ({latest}) WHERE {table.there} IS NOT NULL)", parameters)  # noqa: S608


def time_column(table: schema.Table) -> str:
    """Return the name of a table's first column of times."""
    return next(column.name for column in table.columns if column.type == "timestamp")


_HOUR = timedelta(hours=1)


def _hour(at: datetime) -> datetime:
    return EPOCH + (at - EPOCH) // _HOUR * _HOUR


# -- opening a lake: each table is pinned to one version -------------------------------------------------------------


MOST_ROWS = 250_000
"""Maximum number of rows that a query returns: a small file can hold millions of equal rows."""


class Unreadable(LakeError):
    """A file of the lake can't be read."""

    def __init__(self, where: str, why: object) -> None:
        first = str(why).splitlines()[0] if str(why) else type(why).__name__
        super().__init__(
            f"The lake at {where} can't be read: {first}. Maintenance may have deleted files of the version that was "
            "open: open the lake again; if it stays so, a file is damaged: docs/lake.md says how it is made again."
        )


class Tables:
    """The tables of a lake, each pinned to the version that it had at its first read. Runs one query at a time: calls
    from other threads wait.
    """

    def __init__(self, where: str, files: Filesystem | None = None, former: Tables | None = None) -> None:
        """Open the lake; tables are read on demand.

        Args:
            where: a path or a URI.
            files: the filesystem of a lake that is not on this machine; None to choose it by `where`.
            former: an instance for the same lake, or None. The new instance takes over its caches and its connection:
                closing either instance closes both.

        Raises:
            NoLake, DamagedLake, LakeError: the lake can't be read; the text has a remedy.
        """
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
            found = delta_log.newer(self.lake.files, self.lake.folder(schema.TABLES[name]), known)
            self._pinned[name] = found
            if found is known and name in former._runs:
                self._runs[name] = former._runs[name]

    def close(self) -> None:
        """Close the connection. DuckDB warns about connections that are never closed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @property
    def is_latest(self) -> bool:
        """Whether all tables that were read are still at their newest version. Raises LakeError."""
        with self._reading():
            return not self._is_damaged and all(
                delta_log.is_newest(self.lake.files, self.lake.folder(schema.TABLES[name]), known.version)
                for name, known in tuple(self._pinned.items())
            )

    def files(self, table: schema.Table) -> TableFiles:
        """Return a table's pinned version with its files: the newest version at the first call, the same one
        afterwards.

        Raises:
            LakeError: the table's log can't be read.
        """
        with self._lock, self._reading():
            if table.name not in self._pinned:
                self._pinned[table.name] = self.lake.table(table)
            return self._pinned[table.name]

    def run(self, table: schema.Table) -> str | None:
        """Return the id of the run that wrote the pinned version of the table; None if its commits have no id."""
        version = self.files(table).version
        with self._lock, self._reading():
            if table.name not in self._runs:
                notes = (note for note in self.lake.notes(table) if note["version"] <= version and "run" in note)
                self._runs[table.name] = next((str(note["run"]) for note in notes), None)
            return self._runs[table.name]

    def clusters(self, *tables: schema.Table) -> list[str]:
        """Return the ids of the clusters with rows in these tables, sorted."""
        found: set[str | None] = set()
        for table in tables:
            if "in_cluster_id" in table.partitions:
                found |= {file.parts.get("in_cluster_id") for file in self.files(table).files.values()}
            else:
                found |= {cluster for (cluster,) in self.select("DISTINCT cluster_id", table)}
        return sorted(filter(None, found))

    def days(self, table: schema.Table, part: Part = WHOLE) -> list[datetime | None]:
        """Return the days on which a part may have rows, the latest first.

        Returns:
            The beginning of each day in UTC; [None] if the table is not partitioned by days; empty if there are no
            files.
        """
        found = {file.parts.get("in_day") for _, file in self._of(table, part)}
        with self._logged(table):
            days = (datetime.fromisoformat(each).replace(tzinfo=timezone.utc) for each in found if each)
            return [*sorted(days, reverse=True)] or [None] * bool(found)

    def _of(self, table: schema.Table, part: Part) -> list[tuple[str, DataFile]]:
        with self._logged(table):
            return [(path, file) for path, file in self.files(table).files.items() if part.may_be_in(file)]

    def _logged(self, table: schema.Table) -> AbstractContextManager[None]:
        """Convert errors of invalid file entries in Delta's log, inside the ``with`` block, to DamagedLake."""
        return delta_log.reading(self.lake.folder(table), delta_log.LOG)

    def built(self, table: schema.Table, part: Part = WHOLE) -> datetime | None:
        """Return the time in UTC at which the newest files of a part were written; None if it has no files."""
        times = [file.written for _, file in self._of(table, part)]
        return EPOCH + max(times) * _MICROSECOND * 1000 if times else None

    def rows(self, table: schema.Table, part: Part = WHOLE) -> Rows | None:
        """Return the valid rows of a part as a subquery.

        Returns:
            SQL and its parameters; None if there are no files.

        Raises:
            Unreadable: a file can't be read.
        """
        folder = self.lake.folder(table)
        paths = [f"{folder}/{path}" for path, _ in self._of(table, part)]
        if not paths:
            return None
        with self._reading():
            return holding(table, part, self.lake.files.here(paths))

    def select(
        self,
        columns: str,
        table: schema.Table,
        part: Part = WHOLE,
        where: Where | None = None,
        rest: str = "",
        *more: Any,
    ) -> list[tuple[Any, ...]]:
        """Select columns of a part's valid rows.

        Args:
            columns: the select list in SQL; times as `epoch_us(…)`, see `time`.
            where: conditions that rows have to meet in addition to the part's own; None for no further conditions.
            rest: SQL after the conditions.
            more: the parameters in `rest`.

        Returns:
            A tuple for each row, at most `MOST_ROWS`; empty if the table has no files.

        Raises:
            Unreadable: a file is damaged or missing.
            LakeError: there are more rows.
        """
        if (rows := self.rows(table, part)) is None:
            return []
        of = where or Where()
        return self.ask(f"SELECT {columns} FROM {rows.sql} {of.sql} {rest}", [*rows.parameters, *of.parameters, *more])  # noqa: S608

    def ask(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return all rows of a query's result. One query runs at a time.

        Raises:
            Unreadable: a file is damaged or missing.
            LakeError: there are more than `MOST_ROWS` rows.
        """
        with self._lock, self._reading():
            if self._connection is None:
                raise Unreadable(self.where, "it was closed")
            found = self._connection.execute(sql, list(parameters)).fetchmany(MOST_ROWS + 1)
        if len(found) > MOST_ROWS:
            raise LakeError(
                f"The lake at {self.where} has more than {MOST_ROWS:,} rows of this: ask for one cluster, or for less"
            )
        return found

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Convert errors of files inside the ``with`` block to Unreadable. The pinned versions then count as outdated:
        their files may have been replaced and deleted.
        """
        try:
            yield
        except LakeError:
            raise
        except (OSError, UnicodeDecodeError, duckdb().Error) as error:
            self._is_damaged = True
            raise Unreadable(self.where, error) from error


# -- rows as values. Times are UTC. Texts come from clusters: untrusted ------------------------------------------------


class Change(NamedTuple):
    """A row of `history` (`schema.HISTORY` documents its columns): a new value of an attribute, the old value, and the
    author.
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

    @property
    def is_gap(self) -> bool:
        """Whether the row reports a time in which the cluster was not polled, and not a change."""
        return self.entity_type == CLUSTER and self.attr == UNOBSERVED

    @property
    def is_first_poll(self) -> bool:
        """Whether the row replaces all values that the first poll of a cluster returned; `new_value` is then the number
        of these values.
        """
        return self.entity_type == CLUSTER and self.attr == FIRST_POLL

    def is_first_seen(self, first_poll: datetime | None) -> bool:
        """Return whether the value is from the cluster's first poll, or first snapshot of the log. Such a row is not a
        change: the value was set before, at an unknown time.

        Args:
            first_poll: the cluster's time in `first_polls`; None if the cluster is not in it.
        """
        is_new = self.old_value is None and not self.is_deleted and not self.is_gap
        return is_new and self.source in POLL_SOURCES and self.valid_from == first_poll

    @property
    def place(self) -> tuple[timedelta, str, str, str, str]:
        """The sort key of a timeline: the latest change first, then by cluster, entity and attribute."""
        return (EPOCH - self.valid_from, *self[:4])


class Drifted(NamedTuple):
    """A value that differs from those of its peers: a row of `drift` (`schema.DRIFT` documents its columns)."""

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
        """Type and key of the entity whose value differs."""
        type_, _, key = self.entity_key.partition(":")
        return type_, key


class Pair(NamedTuple):
    """A user and a client id that share a quota, as `schema.QUOTA_USAGE` defines them."""

    scope_user: str | None
    scope_client: str | None
    quota_key: str


class Usage(NamedTuple):
    """The usage of a pair in a window, on the broker with the highest usage: limits apply to each broker.

    quota_value and level are those of that broker's last minute; suggested_value and reason are from all minutes with
    this limit (`quota_suggestion`). Without a lake only the quotas are known: rates are then None, and broker_id is -1.
    """

    cluster_id: str
    pair: Pair
    broker_id: int
    quota_value: float | None
    level: int | None
    rate_max: float | None
    """The highest rate over ten seconds, in bytes/s or % of a request handler's time; None if unknown."""
    rate_avg: float | None
    """The mean rate, in bytes/s or % of a request handler's time; None if unknown."""
    utilisation: float | None
    throttle_ms: int
    """The milliseconds for which requests were throttled, the sum over all brokers."""
    throttled_requests: int
    headroom: float | None
    suggested_value: float | None
    reason: str
    series: tuple[tuple[datetime, float], ...]
    """For each minute, its time and the highest rate over ten seconds on any broker, in the unit of `rate_max`."""


class Minute(NamedTuple):
    """A minute of a pair on a broker: a row of `quota_usage` (`schema.QUOTA_USAGE` documents its columns)."""

    minute: datetime
    broker_id: int
    quota_value: float | None
    level: int | None
    rate_avg: float
    rate_max_10s: float
    throttle_ms: int


class ThrottledMinute(NamedTuple):
    """A minute in which requests of a user and a client id were throttled."""

    scope_user: str | None
    scope_client: str | None
    minute: datetime
    requests: int
    """A lower bound of the throttled requests, over all brokers."""
    utilisation: float | None
    """The highest usage of a quota as a share of its limit, 1 at the limit; None without a quota."""


class Violation(NamedTuple):
    """A violation of a policy, present or ended: a row of `policy_violation` (`schema.POLICY_VIOLATION` documents its
    columns).
    """

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
    """A time in which a cluster was not polled."""

    since: datetime
    until: datetime | None
    """The end; None if the cluster is still not polled."""
    cluster_id: str = ""


class Freshness(NamedTuple):
    """The times of a table's newest data about a cluster."""

    table: schema.Table
    as_of: datetime | None
    """The time of the newest observation in the table; None if it has no observation."""
    built: datetime | None
    """The time at which the newest files with rows of the cluster were written; None without such files."""
    run: str | None
    """The id of the run that wrote the table last; None if it is unknown."""


# -- the timeline: the rows of `history` from late to early ----------------------------------------------------------

PAGE = 500
_COLUMNS = """cluster_id, entity_type, entity_key, attr, old_value, new_value, epoch_us(valid_from), epoch_us(valid_to),
 is_current, is_deleted, principal, attribution, source"""

_TEXT = "concat_ws(' ', entity_type, entity_key, attr, old_value, new_value, principal)"


@dataclass(frozen=True)
class Wanted:
    """A filter of changes. An attribute that is None or () does not filter."""

    cluster_id: str | None = None
    entities: tuple[tuple[str, str], ...] = ()
    """Pairs of an entity type and a key. Rows that report a time without polls always match."""
    since: datetime | None = None
    """The start of the time range, included."""
    until: datetime | None = None
    """The end of the time range, excluded."""
    key: str | None = None
    """An attribute, or a pattern with `*` and `?`."""
    principal: str | None = None
    """A principal, with or without `User:`; a change matches if the principal is one of its possible authors."""
    text: str = ""
    """Words that must all occur in a row; upper and lower case are equal."""

    @property
    def narrows(self) -> bool:
        """Whether the filter has another condition than cluster and time."""
        return bool(self.entities or self.key or self.principal or self.text)


def with_acls(type_: str, key: str) -> tuple[tuple[str, str], ...]:
    """Return an entity and, for a topic or a group, also the entity of the literal ACLs on its name."""
    if type_ not in ("topic", "group"):
        return ((type_, key),)
    return (type_, key), ("acl", acl_key(type_.upper(), "LITERAL", key))


def timeline(tables: Tables, wanted: Wanted, limit: int = PAGE, *, folded: bool = False) -> list[Change]:
    """Return the latest changes that match a filter, at most `limit`, the latest first.

    Args:
        folded: whether one row (`Change.is_first_poll`) replaces all values of a cluster's first poll, if they are at
            least `_FOLDED_FROM` (10).

    Raises:
        LakeError: as `Tables.select`, like all functions here that read tables.
    """
    polls = _folded_polls(tables, wanted) if folded else []
    where = _changes_where(wanted)
    if polls:
        times = [poll.valid_from for poll in polls]
        where.add(f"NOT ({_WAS_THERE} AND list_contains(?, valid_from))", POLL_SOURCES, times)
    found = changes(tables, _part(tables, wanted), where, limit)
    return sorted([*found, *polls], key=lambda change: change.place)[:limit]


def changes(tables: Tables, part: Part, where: Where, limit: int) -> list[Change]:
    """Return the latest changes in a part of `history` that meet these conditions, at most `limit`, the latest
    first.
    """
    order = "ORDER BY valid_from DESC, cluster_id, entity_type, entity_key, attr LIMIT ?"
    return [*map(_change, tables.select(_COLUMNS, schema.HISTORY, part, where, order, limit))]


def _part(tables: Tables, wanted: Wanted) -> Part:
    """Return the part of `history` to read: the wanted cluster, or all clusters. If entities are wanted, the part has
    only these entities and the clusters themselves, because gaps are rows about clusters.
    """
    part = Part.of(wanted.cluster_id)
    if not wanted.entities:
        return part
    return replace(part, entities=(*wanted.entities, *_themselves(tables, wanted.cluster_id)))


def _themselves(tables: Tables, cluster_id: str | None) -> tuple[tuple[str, str], ...]:
    """Return a cluster as an entity, or all clusters if `cluster_id` is None: pairs of type and key. Gaps are rows
    about these entities.
    """
    return tuple((CLUSTER, each) for each in (tables.clusters(schema.HISTORY) if cluster_id is None else [cluster_id]))


_FOLDED_FROM = 10
"""Minimum number of values from a first poll that one row replaces."""
_WAS_THERE = f"list_contains(?, source) AND old_value IS NULL AND NOT is_deleted AND entity_type <> '{CLUSTER}'"
"""SQL condition of a row that a first poll made: `Change.is_first_seen`."""


def _folded_polls(tables: Tables, wanted: Wanted) -> list[Change]:
    """Return a row for each cluster whose first poll returned at least `_FOLDED_FROM` of the wanted values."""
    rows = tables.rows(schema.HISTORY, Part.of(wanted.cluster_id))
    if rows is None:
        return []
    where = _changes_where(wanted).add(f"{_WAS_THERE} AND valid_from = began", POLL_SOURCES)
    sql = f"""WITH seen AS MATERIALIZED (SELECT * FROM {rows.sql} WHERE list_contains(?, source)
  AND entity_type <> '{CLUSTER}'),
 first AS (SELECT cluster_id, min(valid_from) AS began FROM seen GROUP BY cluster_id)
 SELECT cluster_id, '{CLUSTER}', '', '{FIRST_POLL}', NULL,
  format('{{:,}} values of {{:,}} entities', count(*), count(DISTINCT (entity_type, entity_key))),
  epoch_us(began), NULL, true, false, NULL, 'none', '{POLL_SOURCES[0]}'
 FROM seen JOIN first USING (cluster_id) {where.sql} GROUP BY cluster_id, began HAVING count(*) >= ?"""  # noqa: S608
    found = tables.ask(sql, [*rows.parameters, POLL_SOURCES, *where.parameters, _FOLDED_FROM])
    return list(map(_change, found))


def _changes_where(wanted: Wanted) -> Where:
    where = Where().equal("cluster_id", wanted.cluster_id).between("valid_from", wanted.since, wanted.until)
    if wanted.entities:
        either = " OR ".join("(entity_type = ? AND entity_key = ?)" for _ in wanted.entities)
        names = [name for entity in wanted.entities for name in entity]
        where.add(f"({either} OR (entity_type = ? AND attr = ?))", *names, CLUSTER, UNOBSERVED)
    where.like("attr", wanted.key)
    if wanted.principal is not None:
        name = wanted.principal
        where.add("list_has_any(string_split(principal, ', '), ?)", [name, name if ":" in name else f"User:{name}"])
    for word in wanted.text.split():
        where.add(f"contains(lower({_TEXT}), lower(?))", word)
    return where


def first_polls(tables: Tables, clusters: Collection[str]) -> dict[str, datetime]:
    """Return cluster id -> the time in UTC at which a poll, or a snapshot of the log, first showed the cluster. A
    cluster that no poll and no snapshot showed is missing.
    """
    where = Where().add("list_contains(?, source)", POLL_SOURCES).add("attr <> ?", UNOBSERVED)
    part = Part(tuple(clusters))
    found = tables.select("cluster_id, epoch_us(min(valid_from))", schema.HISTORY, part, where, "GROUP BY cluster_id")
    return {cluster: known_time(at) for cluster, at in found}


def gaps(tables: Tables, cluster_id: str | None, since: datetime | None = None) -> list[Gap]:
    """Return the time ranges in which a cluster was not polled, the latest first.

    Args:
        cluster_id: the id of the cluster; None for all clusters.
        since: gaps that ended before this time are left out; None for all gaps.
    """
    where = Where().equal("entity_type", CLUSTER).equal("attr", UNOBSERVED)
    if since is not None:
        where.add("(valid_to IS NULL OR valid_to > ?)", since)
    columns, order = "cluster_id, epoch_us(valid_from), epoch_us(valid_to)", "ORDER BY valid_from DESC, cluster_id"
    part = replace(Part.of(cluster_id), entities=_themselves(tables, cluster_id))
    found = tables.select(columns, schema.HISTORY, part, where, order) if part.entities else []
    return [Gap(known_time(begun), time(ended), of) for of, begun, ended in found]


def _change(row: Sequence[Any]) -> Change:
    """Convert a row with the columns `_COLUMNS` to a change."""
    return Change(*(*row[:6], known_time(row[6]), time(row[7]), *row[8:]))


class Gone(NamedTuple):
    """A part of a broker's log, in a file or topic, that was lost before kac read it."""

    cluster_id: str
    file: str
    """The name of a file, or a topic with its partition."""
    at: int
    """The position where the lost part begins: a byte position in the file, or an offset in the topic."""
    what: str


def gone_lines(tables: Tables) -> list[Gone]:
    """Return the parts of request logs and authorizer logs that were lost before kac read them, by cluster, file and
    place; at most `MOST_ROWS` (250,000) parts of each of the two kinds.
    """
    where = Where().add("quarantined IS NOT NULL").add("contains(quarantined.reason, ?)", f" {schema.LOST}: ")
    columns = "cluster_id, quarantined.file, quarantined.byte_pos, quarantined.reason"
    rest = f"ORDER BY 1, 2, 3 LIMIT {MOST_ROWS}"
    logs = (tables.select(columns, table, WHOLE, where, rest) for table in (schema.REQUEST, schema.AUTHORIZATION))
    return sorted(Gone(*row) for of_logs in logs for row in of_logs)


# -- drift and policy violations -------------------------------------------------------------------------------------

SCOPES = ("broker", "cluster", "baseline")
_BY_SEVERITY = "CASE severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END"


def drift(
    tables: Tables, cluster_id: str | None = None, scope: str | None = None, key: str | None = None
) -> list[Drifted]:
    """Return the values that differ from their peers, the most severe first.

    Args:
        cluster_id: the id of the cluster; None for all clusters.
        scope: one of `SCOPES`; None for all.
        key: an attribute, or a pattern with `*` and `?`; None for all.

    Raises:
        LakeError: there are more than `MOST_ROWS`, or a file is damaged.
    """
    where = Where().equal("scope", scope).like("attr", key)
    columns = """cluster_id, scope, entity_key, attr, majority_value, this_value, peers, differing, epoch_us(since),
 severity"""
    order = f"ORDER BY {_BY_SEVERITY}, scope, attr, entity_key, cluster_id LIMIT {MOST_ROWS + 1}"
    found = tables.select(columns, schema.DRIFT, Part.of(cluster_id), where, order)
    return [Drifted(*(*row[:8], time(row[8]), row[9])) for row in found]


def violations(tables: Tables, cluster_id: str | None = None) -> list[Violation]:
    """Return the violations of policies, also those that ended, the most severe first.

    Args:
        cluster_id: the id of the cluster; None for all clusters.

    Raises:
        LakeError: there are more than `MOST_ROWS`, or a file is damaged.
    """
    columns = """cluster_id, policy_id, entity_key, attr, actual, expected, severity, epoch_us(first_seen),
 epoch_us(last_seen)"""
    order = f"ORDER BY {_BY_SEVERITY}, policy_id, entity_key, attr LIMIT {MOST_ROWS + 1}"
    found = tables.select(columns, schema.POLICY_VIOLATION, Part.of(cluster_id), None, order)
    return [Violation(*(*row[:7], known_time(row[7]), time(row[8]))) for row in found]


# -- quota usage by pair of user and client id -----------------------------------------------------------------------

WINDOW = timedelta(days=1)
MOST = 200
_ONE_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Window:
    """A filter of usage. An attribute that is None does not filter."""

    cluster_id: str
    since: datetime | None = None
    """The start of the time range, included; None for the time `WINDOW` before the end."""
    until: datetime | None = None
    """The end of the time range, excluded; None to end after the last minute with usage."""
    key: str | None = None
    """A quota key, or a pattern with `*` and `?`."""
    principal: str | None = None
    """The name of a user, with or without `User:`."""


_HOTTEST = """
WITH used AS MATERIALIZED (SELECT * FROM {usage} {where}),
hot AS (
 SELECT *, row_number() OVER () AS place FROM (
  SELECT scope_user, scope_client, quota_key, arg_max(broker_id, rate_max_10s) AS broker_id, max(rate_max_10s) AS most,
   max(utilisation) AS utilisation, sum(throttle_ms) AS throttle_ms, sum(throttled_requests) AS throttled
  FROM used GROUP BY ALL
  ORDER BY utilisation DESC NULLS LAST, throttle_ms DESC, most DESC, quota_key, scope_user, scope_client LIMIT ?
 )
),
of_hot AS (
 SELECT used.*, place, hot.broker_id AS hottest FROM used JOIN hot
  ON used.quota_key = hot.quota_key AND used.scope_user IS NOT DISTINCT FROM hot.scope_user
  AND used.scope_client IS NOT DISTINCT FROM hot.scope_client
),
latest AS (
 SELECT place, arg_max(struct_pack(quota := quota_value, level := level), minute) AS now, avg(rate_avg) AS mean,
  min(headroom) AS headroom
 FROM of_hot WHERE broker_id = hottest GROUP BY place
),
lines AS (
 SELECT place, list(epoch_us(minute) ORDER BY minute) AS stamps, list(rate ORDER BY minute) AS rates
 FROM (SELECT place, minute, max(rate_max_10s) AS rate FROM of_hot GROUP BY ALL) GROUP BY place
)
SELECT hot.scope_user, hot.scope_client, hot.quota_key, hot.broker_id, now.quota, now.level, most, mean, utilisation,
 throttle_ms, throttled, headroom, suggested.suggested_value, coalesce(reason, 'nothing is known yet'), stamps,
 rates
FROM hot JOIN latest USING (place) JOIN lines USING (place) LEFT JOIN {suggestions} suggested
 ON suggested.quota_key = hot.quota_key AND suggested.scope_user IS NOT DISTINCT FROM hot.scope_user
 AND suggested.scope_client IS NOT DISTINCT FROM hot.scope_client
 AND suggested.quota_value IS NOT DISTINCT FROM now.quota AND suggested.level IS NOT DISTINCT FROM now.level
ORDER BY place
"""


_NONE = (
    "(SELECT NULL quota_key, NULL scope_user, NULL scope_client, NULL quota_value, NULL level, NULL suggested_value, \
NULL reason LIMIT 0)"
)
"""A subquery without rows, which replaces the table of suggestions if it does not exist."""


def _latest(
    tables: Tables, table: schema.Table, clusters: Collection[str], where: Where | None = None, column: str = ""
) -> dict[str, datetime]:
    """Return cluster -> the latest time in a column of a table; clusters without rows are missing. In a table that is
    partitioned by days, the newest days are read first, and earlier days only for the clusters that the newest lack.

    Args:
        where: the conditions of the rows; None for all rows.
        column: the column; ``""`` for the first column of times.
    """
    found: dict[str, datetime] = {}
    latest = f"cluster_id, epoch_us(max({column or time_column(table)}))"
    missing, days, count = tuple(clusters), tables.days(table, Part(tuple(clusters))), 1
    until = None
    while days and missing:
        since = days[:count][-1]
        for cluster, at in tables.select(latest, table, Part(missing, (), since, until), where, "GROUP BY cluster_id"):
            if at is not None:
                found[cluster] = known_time(at)
        missing = tuple(each for each in missing if each not in found)
        days, count, until = days[count:], 2 * count, since
    return found


def settled(tables: Tables, window: Window) -> Window | None:
    """Return the window with both ends set, in UTC; None if the cluster has no usage. Without `until` it ends after the
    last minute with usage, and without `since` it begins `WINDOW` before its end.
    """
    newest = _latest(tables, schema.QUOTA_USAGE, [window.cluster_id]).get(window.cluster_id)
    if newest is None:
        return None
    until = window.until or newest + _ONE_MINUTE
    return replace(window, since=window.since or until - WINDOW, until=until)


def hottest(tables: Tables, window: Window, limit: int = MOST) -> list[Usage]:
    """Return the usage of at most `limit` pairs in a window, each on the broker with the highest usage. The pairs whose
    usage is the highest share of their limit come first; pairs without a limit come last, the busiest first.

    Returns:
        Rates in bytes per second, or in percent of a request handler's time, depending on the quota's key. Empty if the
        cluster has no usage in the window.
    """
    whole = settled(tables, window)
    if whole is None or (usage := tables.rows(schema.QUOTA_USAGE, _of_window(whole))) is None:
        return []
    suggestions = tables.rows(schema.QUOTA_SUGGESTION, Part.of(whole.cluster_id)) or Rows(_NONE, [])
    where = Where().between("minute", whole.since, whole.until).like("quota_key", whole.key)
    if whole.principal is not None:
        where.equal("scope_user", whole.principal.removeprefix("User:"))
    sql = _HOTTEST.format(usage=usage.sql, where=where.sql, suggestions=suggestions.sql)
    found = tables.ask(sql, [*usage.parameters, *where.parameters, limit, *suggestions.parameters])
    return [_usage(whole.cluster_id, row) for row in found]


def _usage(cluster_id: str, row: tuple[Any, ...]) -> Usage:
    """Convert a row of `_HOTTEST` to the usage of a pair."""
    pair, rest, stamps, rates = Pair(*row[:3]), row[3:14], row[14], row[15]
    series = tuple((known_time(at), rate) for at, rate in zip(stamps, rates, strict=True))
    return Usage._make((cluster_id, pair, *rest, series))


def minutes(tables: Tables, window: Window, pair: Pair) -> list[Minute]:
    """Return every minute of a pair in the window, by time, then by broker; empty if the pair or the cluster has no
    usage.
    """
    whole = settled(tables, window)
    if whole is None:
        return []
    where = Where().between("minute", whole.since, whole.until).equal("quota_key", pair.quota_key)
    where.add("scope_user IS NOT DISTINCT FROM ?", pair.scope_user)
    where.add("scope_client IS NOT DISTINCT FROM ?", pair.scope_client)
    columns = "epoch_us(minute), broker_id, quota_value, level, rate_avg, rate_max_10s, throttle_ms"
    found = tables.select(columns, schema.QUOTA_USAGE, _of_window(whole), where, "ORDER BY minute, broker_id")
    return [Minute(known_time(row[0]), *row[1:]) for row in found]


def throttled_minutes(tables: Tables, cluster_id: str, since: datetime) -> list[ThrottledMinute]:
    """Return the minutes since a time (UTC) in which requests were throttled, by time. Raises LakeError."""
    where = Where().between("minute", since, None).add("throttled_requests > 0")
    columns = "scope_user, scope_client, epoch_us(minute) AS stamp, sum(throttled_requests), max(utilisation)"
    part = replace(Part.of(cluster_id), since=since)
    found = tables.select(columns, schema.QUOTA_USAGE, part, where, "GROUP BY ALL ORDER BY stamp")
    return [ThrottledMinute(user, client, known_time(at), int(count), use) for user, client, at, count, use in found]


def _of_window(window: Window) -> Part:
    return replace(Part.of(window.cluster_id), since=window.since, until=window.until)


# -- freshness -------------------------------------------------------------------------------------------------------

SHOWN = (schema.HISTORY, schema.DRIFT, schema.QUOTA_USAGE, schema.POLICY_VIOLATION, schema.ACCESS)


class FleetFreshness(NamedTuple):
    """The times of a table's newest data about all clusters in it."""

    clusters: int
    """The number of clusters with rows in the table."""
    as_of: datetime | None
    """The time of the newest observation of any cluster; None if no cluster was observed."""
    oldest: datetime | None
    """The earliest among the newest observations of the clusters; None if no cluster was observed."""
    oldest_cluster: str
    """The id of the cluster whose newest observation is `oldest`; ``""`` if no cluster was observed."""
    built: datetime | None
    """The time of the last write; None if there are no files."""
    run: str | None
    """The id of the run that wrote last; None if it is unknown."""
    unpolled: tuple[str, ...]
    """The ids of the clusters that are in a gap now."""


def fleet_freshness(tables: Tables, table: schema.Table) -> FleetFreshness:
    """Return the freshness of a table for all clusters with rows in it, in a few queries for any number of clusters."""
    clusters = tables.clusters(table)
    seen = _observed(tables, table, clusters)
    found = sorted((seen[cluster], cluster) for cluster in clusters if cluster in seen)
    oldest, of = found[0] if found else (None, "")
    open_gaps = tuple(gap.cluster_id for gap in gaps(tables, None) if gap.until is None)
    newest = found[-1][0] if found else None
    return FleetFreshness(len(clusters), newest, oldest, of, tables.built(table), tables.run(table), open_gaps)


def freshness(tables: Tables, cluster_id: str, *, of: tuple[schema.Table, ...] = SHOWN) -> list[Freshness]:
    """Return the freshness of each table in `of` for a cluster."""
    made = []
    for table in of:
        built = tables.built(table, Part.of(cluster_id))
        as_of = _observed(tables, table, [cluster_id]).get(cluster_id)
        if as_of is None and "in_cluster_id" not in table.partitions:
            built = None  # the files hold no row of this cluster
        if as_of is not None and built is not None and table is not schema.QUOTA_USAGE:
            as_of = min(as_of, built)  # the files do not include later observations
        made.append(Freshness(table, as_of, built, None if built is None else tables.run(table)))
    return made


def _observed(tables: Tables, table: schema.Table, clusters: Collection[str]) -> dict[str, datetime]:
    """Return cluster -> the time of the newest observation that a table can contain. For `quota_usage` this is the last
    minute, for `access` the last decision. For other tables it is the last poll or record of the metadata log; for a
    cluster without polls and log, the last change from another source.
    """
    if table is schema.QUOTA_USAGE:
        return _latest(tables, schema.QUOTA_USAGE, clusters)
    if table is schema.ACCESS:
        return _latest(tables, schema.ACCESS, clusters, column="last_ts")
    found = _latest(tables, schema.SNAPSHOT, clusters, Where().add("kind <> 'failed'"))
    for cluster, at in _latest(tables, schema.KRAFT_RECORD, clusters).items():
        found[cluster] = max(at, found.get(cluster, EPOCH))
    return _latest(tables, schema.CHANGE_EVENT, set(clusters) - found.keys()) | found

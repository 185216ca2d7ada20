"""The update of the silver and gold tables from new bronze rows. A stream (`new_keys`) has the keys of new bronze rows.
Each batch of this stream finds the entities with these keys, and makes the rows of these entities again from all of
their bronze rows. Executors' tasks do that, each for a bucket of entities.

The rows of an entity follow from all bronze rows of that entity, and from a few facts about its cluster: the snapshots
of its metadata log (`Epochs`), the time that the log covers (`Covered`), and the times of polls. If one of these facts
changes for a time already processed, the whole cluster is made again. If the covered time only extends, just those
entities are made again that changed in the newly covered time. Only rows that differ from the former ones are written,
with a higher `made`. Usage follows from `history` and the requests, ten minutes of a cluster at a time; drift and
policy violations follow from `history` and the operator's files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import reduce
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from console.lake import schema
from console.lake import tables as lake_tables
from console.lake.entities import CLUSTER, POLL_SOURCES
from console.lake.policy_files import Policy, Wanted
from console.lake.transforms import quota_usage
from console.lake.transforms.change_event import NAMING, TOLERANCE, Bronze, change_event
from console.lake.transforms.coverage import LOG, Covered, Polls
from console.lake.transforms.drift import A_PAIR, drift_between, drift_within
from console.lake.transforms.history import NEVER, gaps, history
from console.lake.transforms.kraft_changes import FIRST_OFFSETS, SINCE_BEFORE, Epochs
from console.lake.transforms.policy_violation import policy_violation
from console.lake.transforms.rows import differing, holding, parted, rows_of
from console.model.numbers import EPOCH

Entity = tuple[str, str, str]
"""An entity: the id of its cluster, its type and its key, as in the columns `ENTITY`."""

MOST_ENTITIES = 2_000
"""Maximum number of single entities that a batch makes again; if there are more, it makes their whole clusters again.
"""
MOST_KEYS = 20_000
"""Maximum number of keys collected in the driver at once."""
MOST_CLUSTERS = 100_000
BUCKETS = 16
"""Number of buckets for the entities of a whole cluster."""
IN_A_BUCKET = 200
"""Minimum number of named entities for each bucket."""


# -- keys of new rows ------------------------------------------------------------------------------------------------

_KEYS = {
    schema.KRAFT_RECORD: (
        "'record' of",
        *schema.ENTITY,
        "entity_id",
        f"(in_snapshot OR log_offset < {FIRST_OFFSETS}) whole",
    ),
    schema.SNAPSHOT: (
        "CASE kind WHEN 'heartbeat' THEN 'poll' WHEN 'failed' THEN NULL ELSE 'state' END of",
        *(*schema.ENTITY, "unix_micros(observed_ts) at"),
    ),
    schema.JOURNAL: ("'journal' of", *schema.ENTITY),
    schema.REQUEST: (
        "CASE WHEN alter IS NOT NULL THEN 'alter' WHEN second IS NOT NULL THEN 'second' END of",
        *(
            "cluster_id",
            "alter.entity_type",
            "alter.entity_key",
            f"unix_seconds(second.second) DIV {quota_usage.HOUR} hour",
        ),
    ),
    schema.AUTHORIZATION: (
        "CASE WHEN minute IS NOT NULL THEN 'access' END of",
        *("cluster_id", f"unix_seconds(minute.minute) DIV {quota_usage.HOUR} hour"),
    ),
}
"""Bronze table -> the columns of the key of each new row, as SQL expressions. at: the time of a poll, in microseconds
since 1970; hour: the hour of requests or decisions, in hours since 1970.
"""


def new_keys(tables: lake_tables.Tables) -> DataFrame:
    """Return the key of each row that is appended to a bronze table, as a stream."""
    parts = (tables.stream(table).selectExpr(*_KEYS[table]) for table in schema.BRONZE)
    return reduce(_union, parts).where("of IS NOT NULL AND cluster_id IS NOT NULL")


def _union(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionByName(other, allowMissingColumns=True)


class News(NamedTuple):
    """The clusters, entities and hours about which a batch has new rows."""

    clusters: frozenset[str]
    whole: frozenset[str]
    """The clusters to make again as a whole."""
    entities: frozenset[Entity]
    """The entities with new rows."""
    ids: frozenset[tuple[str, str]]
    """Pairs of a cluster and the id of a topic or ACL. The new rows have only this id, so the name of the entity has
    to be looked up.
    """
    polls: Mapping[tuple[str, str], tuple[int, int]]
    """(Cluster, list of entity types as text) -> the time of the first new poll that read these types, in microseconds
    since 1970, and the number of such polls.
    """
    hours: frozenset[tuple[str, int]]
    """Pairs of a cluster and an hour with new requests, in hours since 1970."""
    access_hours: frozenset[tuple[str, int]]
    """Pairs of a cluster and an hour with new decisions of authorizers, in hours since 1970."""


def news_of(keys: DataFrame) -> News:
    """Return the clusters, entities and hours in a batch of `new_keys`. If the batch has more than `MOST_KEYS` (20,000)
    different keys, the result names whole clusters in place of entities.
    """
    about = ("of", "cluster_id", "entity_type", "entity_key", "entity_id", "hour")
    counted = (F.bool_or("whole"), F.min("at"), F.count("*"))
    try:
        rows = lake_tables.taken(keys.groupBy(*about).agg(*counted), MOST_KEYS)
    except lake_tables.TooMany:
        # There are too many keys: collect only the types of polls and the hours of requests, which are few.
        of_polls = F.when(F.col("of") == "poll", F.col("entity_type")).alias("entity_type")
        none = (F.lit(None).cast("string").alias(name) for name in ("entity_key", "entity_id"))
        coarse = keys.groupBy("of", "cluster_id", of_polls, *none, "hour")
        whole = F.bool_or(F.col("whole") | F.col("of").isin("record", "state", "journal", "alter"))
        rows = lake_tables.taken(coarse.agg(whole, *counted[1:]), MOST_CLUSTERS)
    entities: set[Entity] = set()
    ids: set[tuple[str, str]] = set()
    polls: dict[tuple[str, str], tuple[int, int]] = {}
    for of, cluster_id, type_, key, id_, _, _, at, count in rows:
        if of == "poll":
            polls[cluster_id, type_] = at, count
        elif key is not None:
            entities.add((cluster_id, type_, key))
        elif id_ is not None:
            ids.add((cluster_id, id_))
    return News(
        frozenset(row[1] for row in rows),
        frozenset(row[1] for row in rows if row[6]),
        frozenset(entities),
        frozenset(ids),
        polls,
        *(frozenset((row[1], row[5]) for row in rows if row[0] == of) for of in ("second", "access")),
    )


# -- the entities to make again ----------------------------------------------------------------------------------------


class Touched(NamedTuple):
    """The entities and clusters whose rows a batch has to make again."""

    whole: frozenset[str] = frozenset()
    """The clusters to make again as a whole."""
    entities: frozenset[Entity] = frozenset()
    """The entities to make again in clusters that are not in `whole`."""

    def more(self, whole: Iterable[str] = (), entities: Iterable[Entity] = ()) -> Touched:
        """Return a copy with these clusters and entities added; whole clusters include their entities."""
        both = self.whole | frozenset(whole)
        named = frozenset(each for each in (*self.entities, *entities) if each[0] not in both)
        return Touched(both, named)

    @property
    def clusters(self) -> frozenset[str]:
        """All clusters that are touched."""
        return self.whole | {each[0] for each in self.entities}


class PollTimes(NamedTuple):
    """The polls of some entity types of a cluster. Times are in microseconds since 1970."""

    types: str
    before: int | None
    """The time of the last poll before the new polls; None if there was no earlier poll."""
    sure: int | None
    """The time of the last poll within the time that the metadata log covered before this batch; None if there is no
    such poll.
    """
    after: int
    """The number of polls since the first new poll, including polls that were known before."""
    new: int

    @property
    def is_late(self) -> bool:
        """Whether new polls are older than a known poll, or are the first of their types."""
        return self.new > 0 and (self.before is None or self.after > self.new)


def reached(former: Covered | None, now: Covered | None, polls: Iterable[PollTimes]) -> int | None:
    """Return the time, in microseconds since 1970, from which a batch may change the rows that are made of a cluster's
    events; None if it can't change any. Raises `All` if it may change rows of any time.

    If the log does not cover a change, the first poll after the change shows it. A poll counts as sure if the log
    covers its time. So a new poll affects the changes since the poll before it, and a log that extends affects the
    changes since the last sure poll.

    Args:
        former, now: the time that the log covered before this batch, and the time that it covers now; None without a
        log.
        polls: the polls of the cluster.
    """
    of_polls = list(polls)
    if any(each.is_late for each in of_polls):
        raise All
    since = [each.before for each in of_polls if each.new and each.before is not None]
    if former != now:
        if former is None or now is None or former.last > now.last or former[:1] != now[:1] or former[2:] != now[2:]:
            raise All
        since.append(former.reaches)
        if any(each.sure is None for each in of_polls):
            raise All
        since += [each.sure for each in of_polls if each.sure is not None]
    return min(since, default=None)


class All(Exception):
    """Signal that a whole cluster has to be made again."""


# -- the frames of a group ---------------------------------------------------------------------------------------------

_USED: Mapping[str, tuple[str, ...]] = {
    "record": ("log_offset", "in_snapshot", "record_ts", "record_type", "payload", "value_hmac"),
    "state": ("kind", "observed_ts", "attr", "value"),
    "journal": (
        *("change_id", "edit", "host", "intent_ts", "end_ts", "status", "attr", "op"),
        *("old_value", "value", "principal", "client_host", "read_ts"),
    ),
    "alter": (
        *("attr", "op", "value", "start_ts", "end_ts", "principal", "client_id", "client_host", "api"),
        *("is_forwarded", "error_code", "validate_only"),
    ),
}
"""Source -> the columns that change_event needs, in addition to `ENTITY`."""


_OF = {"state": schema.SNAPSHOT, "journal": schema.JOURNAL, "alter": schema.REQUEST}


class _Group(NamedTuple):
    """The rows that one task gets: one bucket of a cluster's entities, with the cluster's polls and brokers. The column
    `of` names the source of a row.
    """

    rows: pa.Table

    def of(self, what: str) -> pa.Table:
        """Return the rows whose column `of` names this source."""
        return self.rows.filter(pc.equal(self.rows["of"], what))

    def bronze(self) -> Bronze:
        """Return the bronze rows of the group by source; an empty source lacks its columns."""
        found = {of: self.of(of) for of in _USED}
        there = {of: rows for of, rows in found.items() if rows.num_rows}
        names = dict(zip(_USED, Bronze._fields, strict=True))
        return Bronze(**{names[of]: rows for of, rows in there.items()})

    @property
    def cluster_id(self) -> str:
        """The cluster of the group."""
        return str(self.rows["cluster_id"][0].as_py())

    @property
    def polls(self) -> Polls:
        """The polls of the cluster."""
        if "times" not in self.rows.column_names:  # a batch without polled clusters
            return NEVER
        read = self.of("poll")
        brokers = rows_of(self.of("broker"), "entity_key")
        return Polls.of(
            zip(read["entity_type"].to_pylist(), read["times"].to_pylist(), strict=True), (k for (k,) in brokers)
        )

    def holding(self, what: str, table: schema.Table) -> pa.Table:
        """Return the valid rows of a table among the group's rows whose column `of` is `what` (`rows.holding`)."""
        return holding(self.of(what), table)


class Renewal:
    """The update of `change_event` and `history` in one batch. known: the application's cache of cluster state."""

    def __init__(self, tables: lake_tables.Tables, known: Known, batch: lake_tables.Batch) -> None:
        self._tables = tables
        self._known = known
        self._batch = batch

    def renew(self, news: News) -> Touched:
        """Make again the rows of `change_event` and `history` that the news may change, and append those that differ.
        Return the entities and clusters whose `history` was made.
        """
        named = self._names(news)
        found = {*news.entities, *((cluster, type_, key) for (cluster, _), (type_, key) in named.items())}
        clusters = news.clusters
        self._known.learn(clusters, whole=news.whole)
        times = self._known.poll_times(news)
        late = {cluster for cluster in clusters if any(each.is_late for each in times.get(cluster, ()))}
        new = {each[0] for each in found} - self._known.with_events
        touched = Touched().more(news.whole | late | new, found)
        if len(touched.entities) > MOST_ENTITIES:
            touched = touched.more(each[0] for each in touched.entities)
        before = {cluster: self._known.covers.get(cluster) for cluster in clusters}
        if touched.clusters:
            make = _made_events(self._known.epochs, touched)
            made, seen = lake_tables.observed(
                self._made(schema.CHANGE_EVENT, self._bronze(touched), make, touched), SEEN
            )
            is_new = self._tables.append(made, schema.CHANGE_EVENT, self._batch) is not None
            self._known.cover(touched, seen.get if is_new else None)
        touched = self._spread(touched, news.clusters, times, before)
        gaps_of = frozenset(self._known.polled if news.polls else touched.clusters & self._known.polled)
        if touched.clusters or gaps_of:
            covers = {each: self._known.covers.get(each) for each in touched.clusters | gaps_of}
            make = _made_history(covers, touched, self._known.last_poll)
            made = self._made(schema.HISTORY, self._events(touched), make, touched, gaps_of)
            self._tables.append(made, schema.HISTORY, self._batch)
        return touched.more((), ((each, CLUSTER, each) for each in gaps_of))

    def _made(
        self,
        table: schema.Table,
        rows: DataFrame,
        make: Callable[[pa.Table], pa.Table],
        touched: Touched,
        gaps_of: frozenset[str] = frozenset(),
    ) -> DataFrame:
        """Return the rows of the touched entities that `make` returns: new rows that differ from the existing ones.
        Each call of `make` gets one bucket of a cluster.

        Args:
            table: the table to which the new rows belong.
            rows: the rows from which they are made.
            gaps_of: clusters whose own rows, their gaps, are made again as well.
        """
        former = self._tables.read(table, touched.clusters | gaps_of)
        mine = former.select(*table.names, "made", F.lit("former").alias("of"))
        placed = self._placed(_union(rows, mine), touched, gaps_of)
        return placed.groupBy("cluster_id", "place").applyInArrow(make, table.ddl)

    def _placed(self, rows: DataFrame, touched: Touched, gaps_of: frozenset[str]) -> DataFrame:
        """Return the rows of the touched entities, with the number of their bucket in `place`, and the polls of each
        cluster once in each bucket. The rows about a cluster itself, its gaps, are in bucket -1.
        """
        count = max(1, min(BUCKETS, len(touched.entities) // IN_A_BUCKET)) if not touched.whole else BUCKETS
        of_bucket = F.pmod(F.xxhash64("entity_type", "entity_key"), F.lit(count)).cast("int")
        place = F.when(F.col("entity_type") == CLUSTER, -1).otherwise(of_bucket)
        wanted = F.col("cluster_id").isin(sorted(touched.whole)) | F.col("entity_key").isin(
            sorted({each[2] for each in touched.entities} | gaps_of)
        )
        made = rows.where(wanted).withColumn("place", place)
        polled = self._known.polled & (touched.clusters | gaps_of)
        if polled:
            places = F.array(*(F.lit(each) for each in (-1, *range(count))))
            made = _union(made, self._polls(polled).withColumn("place", F.explode(places)))
        return made

    # -- bronze ------------------------------------------------------------------------------------------------------

    def _bronze(self, touched: Touched) -> DataFrame:
        """Return the bronze rows of the touched entities and clusters, with the columns `ENTITY`, those in `_USED`, and
        `of`, the source.
        """
        clusters = touched.clusters
        keys = sorted({each[2] for each in touched.entities})
        records = self._tables.read(schema.KRAFT_RECORD, clusters).where("entity_type IS NOT NULL")
        naming = records.where(F.col("record_type").isin(*NAMING))
        if touched.whole:
            names = naming.select("cluster_id", "entity_id", F.col("entity_key").alias("name")).distinct()
        else:
            found = naming.where(F.col("entity_key").isin(keys)).select("cluster_id", "entity_id", "entity_key")
            ids = (
                lake_tables.taken(found.distinct(), MOST_KEYS)
                if any(each[1] in ("topic", "acl") for each in touched.entities)
                else []
            )
            records = records.where(
                F.col("entity_key").isin(keys) | F.col("entity_id").isin([id_ for _, id_, _ in ids])
            )
            names = lake_tables.given(self._tables.spark, ids, _NAMES)
        read = {
            "record": lake_tables.keyed(records, names),
            "state": self._tables.read(schema.SNAPSHOT).where("kind IN ('state', 'absent')"),
            "journal": self._tables.read(schema.JOURNAL),
            "alter": self._tables.read(schema.REQUEST, clusters).where("alter IS NOT NULL").select("alter.*"),
        }
        parts = [
            rows.where(F.col("cluster_id").isin(sorted(clusters))).select(
                *schema.ENTITY, *_USED[of], F.lit(of).alias("of")
            )
            for of, rows in read.items()
            if of == "record" or not self._tables.is_empty(_OF[of])
        ]
        return reduce(_union, parts)

    def _polls(self, clusters: Iterable[str]) -> DataFrame:
        """Return the polls of clusters: a row for each list of entity types with the times of its polls, and a row for
        each broker that any poll has seen.
        """
        rows = self._tables.read(schema.SNAPSHOT).where(F.col("cluster_id").isin(sorted(clusters)))
        beats = rows.where("kind = 'heartbeat'").groupBy("cluster_id", "entity_type")
        times = beats.agg(F.collect_list(F.unix_micros("observed_ts")).alias("times"))
        brokers = rows.where("kind = 'state' AND entity_type = 'broker'").select("cluster_id", "entity_key").distinct()
        return _union(times.withColumn("of", F.lit("poll")), brokers.withColumn("of", F.lit("broker")))

    def _names(self, news: News) -> Mapping[tuple[str, str], tuple[str, str]]:
        """Return (cluster, id) -> the entity's type and key, for the ids in new rows; unknown ids are missing."""
        if not news.ids:
            return {}
        naming = self._tables.read(schema.KRAFT_RECORD, {cluster for cluster, _ in news.ids})
        naming = naming.where(F.col("record_type").isin(*NAMING))
        found = naming.where(F.col("entity_id").isin(sorted(id_ for _, id_ in news.ids)))
        rows = lake_tables.taken(
            found.select("cluster_id", "entity_id", "entity_type", "entity_key").distinct(), MOST_KEYS
        )
        return {(cluster, id_): (type_, key) for cluster, id_, type_, key in rows}

    # -- time ranges that polls and logs cover -------------------------------------------------------------------------

    def _spread(
        self,
        touched: Touched,
        clusters: frozenset[str],
        times: Mapping[str, Iterable[PollTimes]],
        before: Mapping[str, Covered | None],
    ) -> Touched:
        """Return the touched entities, extended by those whose rows may change because of further polls or a longer
        log.

        Args:
            before: cluster -> the time that its log covered before the batch; None if it covered no time.
        """
        since: list[tuple[str, int]] = []
        for cluster in sorted(clusters - touched.whole):
            try:
                at = reached(before[cluster], self._known.covers.get(cluster), times.get(cluster, ()))
            except All:
                touched = touched.more([cluster])
                continue
            # A longer log changes existing rows only if the cluster has polls, or a later change from another source.
            if at is not None and (times.get(cluster) or self._known.last_told.get(cluster, 0) > at - TOLERANCE):
                since.append((cluster, at - TOLERANCE))
            if before[cluster] != self._known.covers.get(cluster):
                touched = touched.more((), [(cluster, CLUSTER, cluster)])
        if since:
            events = self._tables.read(schema.CHANGE_EVENT, (cluster for cluster, _ in since))
            bounds = F.broadcast(lake_tables.given(self._tables.spark, since, _SINCE))
            later = (
                events.join(bounds, "cluster_id")
                .where("unix_micros(event_ts) > since")
                .select(*schema.ENTITY)
                .distinct()
            )
            try:
                touched = touched.more((), lake_tables.taken(later, MOST_ENTITIES))
            except lake_tables.TooMany:
                touched = touched.more(cluster for cluster, _ in since)
        return touched

    def _events(self, touched: Touched) -> DataFrame:
        """Return the rows of `change_event` of the touched entities and clusters."""
        rows = self._tables.read(schema.CHANGE_EVENT, touched.clusters)
        return rows.select(*schema.CHANGE_EVENT.names, "made", F.lit("event").alias("of"))


_NAMES = pa.schema([("cluster_id", pa.string()), ("entity_id", pa.string()), ("name", pa.string())])
_SINCE = pa.schema([("cluster_id", pa.string()), ("since", pa.int64())])


def _made_events(epochs: Mapping[str, Epochs], touched: Touched) -> Callable[[pa.Table], pa.Table]:
    """Return the function that makes the rows of `change_event` for a group again, and returns those that differ
    from the rows in the table.
    """
    mine = {each: epochs[each] for each in touched.clusters if each in epochs}
    wanted = frozenset(touched.entities)

    def make(rows: pa.Table) -> pa.Table:
        group = _Group(rows)
        only = None if group.cluster_id in touched.whole else wanted
        events = change_event(group.bronze(), mine, {group.cluster_id: group.polls}, only)
        return differing(schema.CHANGE_EVENT, events, _only(group.holding("former", schema.CHANGE_EVENT), only))

    return make


def _made_history(covers: Mapping[str, Covered | None], touched: Touched, until: int) -> Callable[[pa.Table], pa.Table]:
    """Return the function that makes the rows of `history` for a group again, and returns those that differ from the
    rows in the table. until: the time of the latest poll of any cluster.
    """
    wanted = frozenset(touched.entities)

    def make(rows: pa.Table) -> pa.Table:
        group = _Group(rows)
        of, polls = group.cluster_id, group.polls
        former = group.holding("former", schema.HISTORY)
        if rows["place"][0].as_py() < 0:
            unobserved = gaps(of, polls, covers.get(of), until) if polls.times else former.slice(0, 0)
            return differing(schema.HISTORY, unobserved, former)
        only = None if of in touched.whole else wanted
        events = _only(group.holding("event", schema.CHANGE_EVENT), only)
        covered = covers.get(of)
        values = history(events, {of: polls}, {} if covered is None else {of: covered})
        return differing(schema.HISTORY, values, _only(former, only))

    return make


def _only(rows: pa.Table, wanted: frozenset[Entity] | None) -> pa.Table:
    """Return the rows of these entities; None: all rows."""
    if wanted is None:
        return rows
    return rows.filter(pa.array((each in wanted for each in rows_of(rows, *schema.ENTITY)), pa.bool_()))


# -- the state of whole clusters ---------------------------------------------------------------------------------------


class Known:
    """The application's cache of cluster state. The state of a cluster is read from the tables when the cluster first
    has news, and again if its log has new rows of an earlier time; each batch updates it. Times are in microseconds
    since 1970.

    Attributes:
        epochs: the epochs of each cluster's log.
        covers: the time that each cluster's log covers.
        last_told: cluster -> the time of the last change from a source other than the log.
        polled: the clusters with polls.
        last_poll: the time of the latest poll of any cluster; 0 without polls.
        with_events: the clusters with rows in `change_event`.
    """

    def __init__(self, tables: lake_tables.Tables) -> None:
        self._tables = tables
        self.epochs: dict[str, Epochs] = {}
        self.covers: dict[str, Covered] = {}
        self.last_told: dict[str, int] = {}
        self.polled: frozenset[str] = frozenset()
        self.last_poll = 0
        self._covers_read: set[str] = set()
        self.with_events: set[str] = set()

    @property
    def newest(self) -> int | None:
        """Time of the newest change or poll in the lake, in microseconds since 1970; None if the lake has neither."""
        ends = (*(each.last for each in self.covers.values()), *self.last_told.values(), self.last_poll)
        return max(ends) or None

    def learn(self, clusters: frozenset[str], whole: frozenset[str]) -> None:
        """Read the epochs of the clusters that are not in the cache, and again of those in `whole`; read the covered
        times of clusters for which they were not read yet. whole: clusters whose log got rows that are older than
        rows already read.
        """
        if wanted := {each for each in clusters if each not in self.epochs or each in whole}:
            records = self._tables.read(schema.KRAFT_RECORD, wanted).where("log_offset IS NOT NULL")
            ends = F.when(F.col("in_snapshot"), F.col("log_offset")).alias("ends")
            counted = records.groupBy("cluster_id", ends).agg(F.unix_micros(F.max("record_ts")), F.min("log_offset"))
            snapshots: dict[str, dict[int, int]] = {each: {} for each in wanted}
            first: dict[str, int] = {}
            for cluster, offset, at, lowest in lake_tables.taken(counted, MOST_CLUSTERS):
                if offset is None:
                    first[cluster] = lowest
                else:
                    snapshots[cluster][offset] = at
            self.epochs |= {each: Epochs(snapshots[each], first.get(each)) for each in wanted}
        if unread := clusters - self._covers_read:
            self._read_covers(unread)

    def cover(self, touched: Touched, seen: Mapping[str, Any] | None) -> None:
        """Extend the covered time of the touched clusters' logs by the changes that were just made into rows. The
        covered time of whole clusters is read from the table again. For other clusters it can only grow, since a
        longer log revokes no change.

        Args:
            seen: the `SEEN` aggregates of the appended rows; None to read them from the table.
        """
        self._read_covers(touched.whole)
        some = touched.clusters - touched.whole
        if seen is not None and len(some) == 1 and touched.clusters == some and not seen["of_snapshots"]:
            [cluster] = some
            rows = [(cluster, None, None, seen["first"], seen["last"], seen["told"])] if seen["rows"] else []
        elif some:
            made = F.col("made") == self._tables.made(schema.CHANGE_EVENT)
            rows = _marks(self._tables.newest(schema.CHANGE_EVENT, lake_tables.of_clusters(some) & made))
        else:
            rows = []
        for each, now in self._told(rows).items():
            former = self.covers.get(each)
            self.covers[each] = now if former is None else former.merged(now)

    def _read_covers(self, clusters: frozenset[str] | set[str]) -> None:
        for each in clusters:
            self.covers.pop(each, None)
            self.last_told.pop(each, None)
        self._covers_read |= set(clusters)
        if clusters and self._tables.exists(schema.CHANGE_EVENT):
            self.covers |= self._told(
                _marks(self._tables.newest(schema.CHANGE_EVENT, lake_tables.of_clusters(clusters)))
            )

    def _told(self, marks: Iterable[tuple[Any, ...]]) -> dict[str, Covered]:
        """Update `last_told` and `with_events` from rows of `_marks`. Return cluster -> the time that its log
        covers.
        """
        marks_of: dict[str, list[tuple[int | None, int | None, int, int]]] = defaultdict(list)
        for cluster, at, uncertainty, first, last, told in marks:
            self.with_events.add(cluster)
            self.last_told[cluster] = max(self.last_told.get(cluster, 0), told or 0)
            if first is not None:
                marks_of[cluster].append((at, uncertainty, first, last))
        return {cluster: _covered(found) for cluster, found in marks_of.items()}

    def poll_times(self, news: News) -> dict[str, list[PollTimes]]:
        """Return the polls of the clusters in the news, in the form that `reached` needs."""
        if self._tables.is_empty(schema.SNAPSHOT):
            return {}
        beats = self._tables.read(schema.SNAPSHOT).where("kind = 'heartbeat'")
        bounds = []
        for cluster in sorted(news.clusters):
            first = min((at for (of, _), (at, _) in news.polls.items() if of == cluster), default=None)
            covered = self.covers.get(cluster)
            bounds.append((cluster, first, None if covered is None else covered.reaches))
        bounded = beats.join(F.broadcast(lake_tables.given(self._tables.spark, bounds, _BOUNDS)), "cluster_id", "left")
        at = F.unix_micros("observed_ts")
        counted = bounded.groupBy("cluster_id", "entity_type").agg(
            F.max(at),
            F.max(F.when(F.col("first").isNull() | (at < F.col("first")), at)),
            F.max(F.when(at <= F.col("bound"), at)),
            F.count_if(at >= F.col("first")),
        )
        made: dict[str, list[PollTimes]] = {}
        rows = lake_tables.taken(counted, MOST_CLUSTERS)
        for cluster, types, _, before, sure, after in rows:
            new = sum(count for (of, _), (_, count) in news.polls.items() if of == cluster)
            mine = news.polls.get((cluster, types), (0, 0))[1]
            made.setdefault(cluster, []).append(PollTimes(types, before, sure, after, mine if new else 0))
        self.polled = frozenset(row[0] for row in rows)
        self.last_poll = max((row[2] for row in rows), default=0)
        return made


_LOGGED = f"CASE WHEN source IN {LOG} THEN unix_micros(event_ts) END"
_TOLD = f"CASE WHEN source NOT IN {LOG} THEN unix_micros(event_ts) END"
_ENDS = {"first": f"min({_LOGGED})", "last": f"max({_LOGGED})", "told": f"max({_TOLD})"}
SEEN = {"rows": "count(source)", "of_snapshots": "count_if(source = 'kraft_snapshot')", **_ENDS}
"""Aggregates, as SQL, over the changes of one cluster: the number of changes, the number of those from snapshots,
and the times in `_ENDS`. The time that the cluster's log covers follows from them.
"""
_BOUNDS = pa.schema([("cluster_id", pa.string()), ("first", pa.int64()), ("bound", pa.int64())])


def _marks(changes: DataFrame) -> list[tuple[Any, ...]]:
    """Return rows of (cluster, time, uncertainty, first, last, told): a row for each snapshot of a cluster's log
    that reports changes, and one for all changes from other sources. time, uncertainty: those of the snapshot, in
    microseconds since 1970 and in milliseconds; None in the row for other sources. first, last, told: the values
    of `_ENDS`: the times of the first and the last change from the log, and of the last change from any other
    source.
    """
    of_snapshot = F.col("source") == "kraft_snapshot"
    marks = (F.when(of_snapshot, F.col(name)).alias(name) for name in ("event_ts", "ts_uncertainty_ms"))
    found = changes.groupBy("cluster_id", *marks).agg(*(F.expr(sql) for sql in _ENDS.values()))
    return lake_tables.taken(found.withColumn("event_ts", F.unix_micros("event_ts")), MOST_CLUSTERS)


def _covered(marks: Iterable[tuple[int | None, int | None, int, int]]) -> Covered:
    """Return the time that a cluster's log covers. marks: for each snapshot that reports changes, its time, its
    uncertainty, and the times of the first and the last event; time and uncertainty are None for the changes of the
    log itself.
    """
    return reduce(Covered.merged, (_shown_by(*mark) for mark in marks))


def _shown_by(at: int | None, uncertainty: int | None, first: int, last: int) -> Covered:
    if at is None or uncertainty is None:
        return Covered(first, last)
    holes = ((at - uncertainty * 1000, at),) if uncertainty > 0 else ()
    return Covered(first, last, holes, at if uncertainty == SINCE_BEFORE else None)


# -- usage -------------------------------------------------------------------------------------------------------------

_PARTS = pa.schema([("cluster_id", pa.string()), ("part", pa.int64())])


def make_usage(
    tables: lake_tables.Tables, hours: Iterable[tuple[str, int]], whole: frozenset[str], batch: lake_tables.Batch
) -> None:
    """Make the rows of `quota_usage` for these hours, and for all hours of the clusters in `whole`; then the rows of
    `quota_suggestion` from all minutes of all these clusters.

    Args:
        hours: pairs of a cluster and an hour, in hours since 1970.
        whole: the clusters whose limits changed.
    """
    parts = _parts_of(hours, whole)
    clusters = whole | {cluster for cluster, _ in parts}
    # The first rates of a part cover the end of the part before, which has to be read.
    read = sorted({(cluster, part - back) for cluster, part in parts for back in (0, 1)})
    requests = tables.read(schema.REQUEST, clusters).where("second IS NOT NULL")
    if not whole:
        requests = requests.where(F.col("in_day").isin(sorted(_days_of(parts))))
    seconds = requests.select("second.*").select(*quota_usage.SECONDS)
    seconds = seconds.withColumn("part", _part(F.unix_seconds("second")))
    near = _of_parts(tables, seconds, whole, read)
    packs = near.select(*quota_usage.SECONDS).mapInArrow(_packed, quota_usage.PACKED)
    of_parts = (_part(F.col("minute") * 60), _part(F.col("minute") * 60 + 60))
    placed = packs.withColumn("part", F.explode(F.array_distinct(F.array(*of_parts))))
    by_part = _of_parts(tables, placed, whole, parts)
    history = tables.newest(schema.HISTORY, lake_tables.of_clusters(clusters))
    # Select few columns, as each column here is also a column in every packed row.
    quotas = history.where("entity_type = 'quota'").select(
        "cluster_id", *quota_usage.LIMITING, F.lit("quota").alias("of")
    )
    first = _first_polls(history, "valid_from").withColumn("of", F.lit("first"))
    limits = quotas.unionByName(first, allowMissingColumns=True)
    # A part without requests gets the limits too, and makes no rows: to look for these parts would be another read of
    # all requests.
    there = lake_tables.given(tables.spark, parts, _PARTS)
    if whole:
        of_whole = near.where(F.col("cluster_id").isin(sorted(whole))).select("cluster_id", "part").distinct()
        there = there.unionByName(of_whole.withColumn("part", F.explode(F.array("part", F.col("part") + 1))).distinct())
    of_part = there.join(limits, "cluster_id")
    rows = by_part.withColumn("of", F.lit("pack")).unionByName(of_part, allowMissingColumns=True)
    # Grouping sorts anyway, so ordering each group is free; rows without a minute come first.
    ordered = rows.repartition("cluster_id", "part").sortWithinPartitions("cluster_id", "part", "minute")
    made = ordered.groupBy("cluster_id", "part").applyInArrow(_minutes, schema.QUOTA_USAGE.ddl)
    tables.append(made, schema.QUOTA_USAGE, batch)
    minutes = tables.newest(schema.QUOTA_USAGE, lake_tables.of_clusters(clusters))
    figures = minutes.groupBy(*quota_usage.SCOPE).agg(
        *(F.expr(sql).alias(name) for name, sql in quota_usage.FIGURES.items())
    )
    judged = figures.mapInArrow(_suggested, schema.QUOTA_SUGGESTION.ddl)
    tables.append(judged, schema.QUOTA_SUGGESTION, batch)


def _parts_of(hours: Iterable[tuple[str, int]], whole: frozenset[str]) -> list[tuple[str, int]]:
    """Return the parts of ten minutes within these hours, and within the hour after each of them, because a rate there
    may include the end of the hour before. A part is a pair of a cluster and the part's number since 1970. Parts of
    whole clusters are left out, because these clusters are made as a whole.

    Args:
        hours: pairs of a cluster and an hour, in hours since 1970.
    """
    # A rate reaches back ten seconds: so the next hour is also made again.
    wanted = {(cluster, hour + more) for cluster, hour in hours for more in (0, 1) if cluster not in whole}
    in_hour = quota_usage.HOUR // quota_usage.PART_SECONDS
    return sorted((cluster, hour * in_hour + each) for cluster, hour in wanted for each in range(in_hour))


def _days_of(parts: Iterable[tuple[str, int]]) -> set[str]:
    """Return the days, as `2026-11-21` in UTC, that contain these parts or the parts just before them."""
    seconds = {(part - back) * quota_usage.PART_SECONDS for _, part in parts for back in (0, 1)}
    return {str((EPOCH + timedelta(seconds=each)).date()) for each in seconds}


def rows_for_usage(
    requests: Iterable[tuple[str | None, str | None, int]], hours: Iterable[tuple[str, int]], whole: frozenset[str]
) -> int:
    """Return an upper estimate of the rows of REQUEST that `make_usage` reads.

    Args:
        requests: the files of the table, each as its cluster, its day and its number of rows.
    """
    parts = _parts_of(hours, whole)
    clusters, days = whole | {cluster for cluster, _ in parts}, _days_of(parts)
    return sum(rows for cluster, day, rows in requests if cluster in clusters and (whole or day in days))


def _first_polls(history: DataFrame, name: str) -> DataFrame:
    """Return, for each cluster, the time at which a poll or a snapshot of the log first showed it: columns `cluster_id`
    and `name`.
    """
    polls = history.where(F.col("source").isin(*POLL_SOURCES)).groupBy("cluster_id")
    return polls.agg(F.min("valid_from").alias(name))


def _part(seconds: Column) -> Column:
    return F.floor(seconds / quota_usage.PART_SECONDS)


def _of_parts(
    tables: lake_tables.Tables, rows: DataFrame, whole: frozenset[str], parts: Sequence[tuple[str, int]]
) -> DataFrame:
    """Return the rows of whole clusters, and the rows of these parts of other clusters."""
    some = F.broadcast(lake_tables.given(tables.spark, parts, _PARTS))
    of_some = rows.join(some, ["cluster_id", "part"], "left_semi")
    of_whole = rows.where(F.col("cluster_id").isin(sorted(whole)))
    return of_whole.unionByName(of_some) if whole and parts else of_whole if whole else of_some


_PACKED_AT_ONCE = 50_000
"""Number of rows, each about one second, that are packed together: a higher number makes fewer rows, and takes more of
a worker's memory.
"""


def _packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= _PACKED_AT_ONCE:
            yield from quota_usage.packed(pa.Table.from_batches(held)).to_batches()
            held = []
    if held:
        yield from quota_usage.packed(pa.Table.from_batches(held)).to_batches()


def _minutes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of `quota_usage` for one part (ten minutes) of a cluster. batches: first the limits of its users
    and clients, then its packed seconds, ordered by minute. The packed seconds are never held in memory all at once.
    """
    rows = (pa.Table.from_batches([batch]) for batch in batches)
    head = []
    for each in rows:
        head.append(each)
        if each["minute"].null_count < each.num_rows:
            break
    quotas, first, packs = parted(pa.concat_tables(head), "quota", "first", "pack")
    if not packs.num_rows:  # this part has no usage, only limits from the part before
        return
    first_poll = next((at for (at,) in rows_of(first, "valid_from")), None)
    first_minute = packs["part"][0].as_py() * quota_usage.PART_MINUTES
    wanted = range(first_minute, first_minute + quota_usage.PART_MINUTES)
    limits = quota_usage.Limits(quotas, first_poll)
    for made in quota_usage.used_minutes(packs["cluster_id"][0].as_py(), chain((packs,), rows), wanted, limits):
        yield from made.to_batches()


def _suggested(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from quota_usage.suggestions(pa.Table.from_batches([batch])).to_batches()


# -- access ------------------------------------------------------------------------------------------------------------

_HOURS = pa.schema([("cluster_id", pa.string()), ("since_1970", pa.int64())])
_DECIDED = tuple(name for name in schema.ACCESS.key if name not in ("cluster_id", "hour"))
_SUMS = {
    "checks": "sum(checks)",
    "first_ts": "min(first_ts)",
    "last_ts": "max(last_ts)",
    "requests": "array_join(array_sort(collect_set(request)), ', ')",
    "rule": "max_by(rule, last_ts)",
}


def make_access(tables: lake_tables.Tables, hours: Iterable[tuple[str, int]], batch: lake_tables.Batch) -> None:
    """Make the rows of `access` for these hours from all decisions of authorizers in them. hours: pairs of a cluster
    and an hour, in hours since 1970.
    """
    wanted = sorted(set(hours))
    minutes = tables.read(schema.AUTHORIZATION, {cluster for cluster, _ in wanted})
    minutes = minutes.where("minute IS NOT NULL").select("minute.*")
    minutes = minutes.withColumn("since_1970", F.expr(f"unix_seconds(minute) DIV {quota_usage.HOUR}"))
    of_hours = minutes.join(F.broadcast(lake_tables.given(tables.spark, wanted, _HOURS)), _HOURS.names, "left_semi")
    hour = F.expr("date_trunc('hour', minute)").alias("hour")
    # Each task sums up its own minutes before Spark moves them.
    summed = of_hours.groupBy("cluster_id", hour, *_DECIDED).agg(
        *(F.expr(sql).alias(name) for name, sql in _SUMS.items())
    )
    tables.append(summed.select(*schema.ACCESS.names), schema.ACCESS, batch)


# -- policies and drift ------------------------------------------------------------------------------------------------

COMPARED_IN = 64
"""Number of buckets of entities that are compared between clusters; all entities of one name are in the same bucket."""


def judge(
    tables: lake_tables.Tables, clusters: Iterable[str], policies: Sequence[Policy], batch: lake_tables.Batch
) -> None:
    """Make the violations of policies in these clusters again: a policy may depend on the whole cluster."""
    wanted = frozenset(clusters)
    history = tables.newest(schema.HISTORY, lake_tables.of_clusters(wanted)).where(F.col("entity_type") != CLUSTER)
    history = history.withColumn("of", F.lit("history"))
    former = tables.read(schema.POLICY_VIOLATION, wanted)
    former = former.select(*schema.POLICY_VIOLATION.names, "made", F.lit("former").alias("of"))
    rows = history.unionByName(former, allowMissingColumns=True)
    made = rows.groupBy("cluster_id").applyInArrow(_violations(policies), schema.POLICY_VIOLATION.ddl)
    tables.append(made, schema.POLICY_VIOLATION, batch)


def _violations(policies: Sequence[Policy]) -> Callable[[pa.Table], pa.Table]:
    def make(rows: pa.Table) -> pa.Table:
        history, former = parted(rows, "history", "former")
        found = policy_violation(history.select(schema.HISTORY.names), policies)
        return differing(schema.POLICY_VIOLATION, found, holding(former, schema.POLICY_VIOLATION))

    return make


def compare(tables: lake_tables.Tables, baseline: Sequence[Wanted], batch: lake_tables.Batch) -> None:
    """Make all of `drift` again: a change in one cluster may make another one differ."""
    history = tables.newest(schema.HISTORY, F.lit(True))
    # Include the clusters' own rows: their unobserved time shows when the first poll was.
    first = _first_polls(history, "first_poll")
    current = (
        history.where("is_current")
        .where(F.col("entity_type") != CLUSTER)
        .join(F.broadcast(first), "cluster_id", "left")
        .withColumn("of", F.lit("now"))
    )
    everywhere = [cluster for (cluster,) in lake_tables.taken(current.select("cluster_id").distinct(), MOST_CLUSTERS)]
    seen = (
        tables.read(schema.SNAPSHOT).where("kind = 'state' AND entity_type = 'broker'").withColumn("of", F.lit("seen"))
    )
    mine = current if baseline else current.where("entity_type = 'broker'")
    within = mine.unionByName(seen.select(*schema.SNAPSHOT.names, "of"), allowMissingColumns=True)
    made = within.groupBy("cluster_id").applyInArrow(_within(baseline), schema.DRIFT.ddl)
    if len(everywhere) > A_PAIR:
        place = F.pmod(F.xxhash64("entity_type", "entity_key"), F.lit(COMPARED_IN)).alias("place")
        between = current.where("entity_type IN ('topic', 'quota', 'broker')").groupBy(place)
        made = made.unionByName(between.applyInArrow(_between(everywhere), schema.DRIFT.ddl))
    tables.overwrite(made, schema.DRIFT, batch)


def _within(baseline: Sequence[Wanted]) -> Callable[[pa.Table], pa.Table]:
    def make(rows: pa.Table) -> pa.Table:
        now, seen = parted(rows, "now", "seen")
        return drift_within(now, seen, baseline)

    return make


def _between(everywhere: Sequence[str]) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: drift_between(rows, everywhere)

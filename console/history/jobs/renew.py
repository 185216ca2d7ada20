"""Makes `change_event` and `history`: all of it, or what changed. Of what came in since the last build the entities are
found, and their rows are made again by the same transforms; files in which no row differs stay.

The rows of an entity follow from all rows of that entity, and from little else of its cluster: the snapshots of its
log, the time that the log covers, and the times of polls. Where one of these has changed for time before the last
build, all of the cluster is made again; where it goes on, what had changed in the time that it now reaches.

Up to `MOST_ROWS` rows are made in this process; for more there is Spark (`by_entity`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from console.history.entities import CLUSTER
from console.history.jobs.plan_build import BRONZE, Built, new_files
from console.history.schema import CHANGE_EVENT, HISTORY, KRAFT_RECORD, POLL, SNAPSHOT, TABLES, Table
from console.history.store import Release, parquet_files
from console.history.store.partitions import partition_values
from console.history.store.write import Write
from console.history.transforms.change_event import (
    OF_ENTITIES,
    Bronze,
    about,
    change_event,
    covers_of,
    entities_of,
    epochs_of,
    polls_of,
)
from console.history.transforms.coverage import Covered, Polls
from console.history.transforms.history import NEVER, gaps, history
from console.history.transforms.kraft_changes import FIRST_OFFSETS, Epochs
from console.history.transforms.reported import TOLERANCE
from console.history.transforms.rows import ENTITY, Touched, rows_of, table_of

if TYPE_CHECKING:  # small builds start no Spark
    from pyspark.sql import DataFrame, SparkSession

MOST_ROWS = 600_000
"""Of bronze, which are made in this process: some 1 KB of memory each."""
MOST_ENTITIES = 2_000
"""More are not named one by one: all of their clusters is made again."""
MOST_FOLDERS = 8
"""A partition with more is written as one."""
_USED = {KRAFT_RECORD.name: OF_ENTITIES}
_OF_POLLS = ["cluster_id", "kind", "entity_type", "observed_ts"]
_COVERING = ["cluster_id", "event_ts", "ts_uncertainty_ms", "source"]


def partitions_of(release: Release, table: Table, clusters: Iterable[str]) -> list[str]:
    """The partitions of these clusters."""
    wanted = frozenset(clusters)
    return [each for each in release.table(table).partitions if partition_values(each)["cluster_id"] in wanted]


def clusters_of(release: Release, table: Table) -> set[str]:
    """The clusters that a table has rows of."""
    found = {partition_values(each)["cluster_id"] for each in release.table(table).partitions}
    return {cluster_id for cluster_id in found if cluster_id is not None}


class Renewal:
    """One build. session: starts Spark, or gives what runs already. built: the last build, on which it goes on; None:
    everything is made.

    touched: of what rows are made; it grows; None: everything. differs: cluster and entity type of the rows of
    `history` that are not as they were; None: any.
    """

    def __init__(self, session: Callable[[], SparkSession], write: Write, built: Built | None) -> None:
        self.session = session
        self.write = write
        self.built = built
        self.touched: Touched | None = None if built is None else Touched()
        self.differs: frozenset[tuple[str, str]] | None = None if built is None else frozenset()

    def new(self, table: Table) -> list[str]:
        """The files of a table that came since the last build."""
        return [] if self.built is None else new_files(self.write.release, table.name, self.built)

    def read(
        self,
        table: Table,
        clusters: Iterable[str] | None = None,
        columns: Sequence[str] | None = None,
        *,
        where: pc.Expression | None = None,
        release: Release | None = None,
    ) -> pa.Table:
        """A table as the run has left it until now, or as it was; of these clusters alone (None: of all)."""
        release, lake = release or self.write.draft, self.write.lake
        wanted = None if clusters is None else partitions_of(release, table, clusters)
        paths = lake.files(release, table, wanted)
        return parquet_files.read(lake.filesystem, paths, table, columns=columns, where=where)

    # -- change_event ------------------------------------------------------------------------------------------------

    def events(self) -> None:
        """What is new of bronze, and the changes of what it is about."""
        if self.built is not None:
            self.touched = self._touch()
        whole = self._whole(BRONZE)
        epochs = self._epochs(whole)

        def make(cluster_id: str) -> pa.Table:
            read = (self.read(TABLES[name], [cluster_id], where=_USED.get(name)) for name in BRONZE)
            return change_event(Bronze(*read), epochs, self._polls)

        def by_spark() -> DataFrame:
            from console.history.jobs.by_entity import events_of

            return events_of({name: self._frame(TABLES[name], whole) for name in BRONZE}, epochs, self._polls)

        self._make_whole(CHANGE_EVENT, whole, BRONZE, make, by_spark)
        if self.touched is not None and self.touched.entities:
            some = sorted({cluster_id for cluster_id, _, _ in self.touched.entities})
            made = [self._events_about(each, self.touched) for each in some]
            replace_rows(self.write, CHANGE_EVENT, some, self.touched, pa.concat_tables(made))

    def _epochs(self, clusters: Iterable[str]) -> dict[str, Epochs]:
        return epochs_of(self.read(KRAFT_RECORD, clusters, ["cluster_id", "log_offset", "in_snapshot", "record_ts"]))

    def _events_about(self, cluster_id: str, touched: Touched) -> pa.Table:
        """The changes of what is touched of a cluster."""
        entities = {each for each in touched.entities if each[0] == cluster_id}
        keys = pc.field("entity_key").isin(pa.array({key for _, _, key in entities}, pa.string()))
        records = about(entities, lambda where: self.read(KRAFT_RECORD, [cluster_id], where=where))
        others = (self.read(TABLES[name], [cluster_id], where=keys) for name in BRONZE if name != KRAFT_RECORD.name)
        return change_event(Bronze(records, *others), self._epochs([cluster_id]), self._polls, touched)

    def _touch(self) -> Touched:
        """The entities that new rows are about, and the clusters of which all may be other than it was."""
        fresh = {name: self._new_rows(TABLES[name]) for name in BRONZE}
        came = {each for rows in fresh.values() for each in pc.unique(rows["cluster_id"]).to_pylist()}
        records, seen = fresh["kraft_record"], fresh["snapshot"]
        whole = pc.or_(records["in_snapshot"], pc.less(records["log_offset"], FIRST_OFFSETS))
        of_all = {*pc.unique(records["cluster_id"].filter(whole)).to_pylist(), *self._with_late_polls()}
        before = clusters_of(self.write.release, CHANGE_EVENT)
        touched = Touched().more((came - before) | of_all)
        states = seen.filter(pc.is_in(seen["kind"], pa.array(("state", "absent"))))
        plain = (states, fresh["journal"], fresh["alter_request"])
        found = {each for rows in plain for each in rows_of(rows, *ENTITY)}
        for cluster_id in sorted(came - touched.clusters):
            mine = records.filter(pc.equal(records["cluster_id"], cluster_id))
            found |= entities_of(mine, lambda where, of=cluster_id: self.read(KRAFT_RECORD, [of], where=where))  # type: ignore[misc]
        touched = touched.more((), found)
        return touched if len(touched.entities) <= MOST_ENTITIES else touched.more(came)

    def _with_late_polls(self) -> set[str]:
        """The clusters of which something came of polls for time in which polls were seen already, or the first
        poll."""
        found = set()
        for rows in self._new_polls:
            first = rows.group_by(["cluster_id", "entity_type", "kind"]).aggregate([("observed_ts", "min")])
            for cluster_id, types, kind, ts in rows_of(first, *first.column_names):
                before = self._polls_before.get(cluster_id, NEVER).times
                known = [before[each] for each in types.split(",") if before.get(each)]
                is_first = kind == "heartbeat" and len(known) < len(types.split(","))
                if is_first or any(ts <= times[-1] for times in known):
                    found.add(cluster_id)
        return found

    # -- history -----------------------------------------------------------------------------------------------------

    def history(self) -> None:
        """The values of what was touched, and of what polls and the log now reach."""
        if self.touched is None:
            covers = covers_of(self.read(CHANGE_EVENT, None, _COVERING))
        else:
            polled = self.new(SNAPSHOT) or self.new(POLL)
            near = self.touched.of_clusters if not polled else clusters_of(self.write.draft, CHANGE_EVENT)
            covers = covers_of(self.read(CHANGE_EVENT, near | self._clusters_polled, _COVERING))
            self.touched = self._reached(self.touched, covers)
            # A gap ends, or lasts, by the polls of all clusters.
            if polled:
                self.touched = self.touched.more((), ((each, CLUSTER, each) for each in self._polls))
        whole = self._whole((CHANGE_EVENT.name,))

        def make(cluster_id: str) -> pa.Table:
            return history(self.read(CHANGE_EVENT, [cluster_id]), self._polls, covers)

        def by_spark() -> DataFrame:
            from console.history.jobs.by_entity import history_of

            return history_of(self._frame(CHANGE_EVENT, whole), self._polls, covers)

        unobserved = gaps(self._polls, covers, self.touched)
        self._make_whole(HISTORY, whole, (CHANGE_EVENT.name,), make, by_spark, unobserved)
        if self.touched is None:
            return
        differs = {(each, "quota") for each in self.touched.clusters}
        if self.touched.entities:
            some = sorted({cluster_id for cluster_id, _, _ in self.touched.entities})
            keys = pa.array({key for _, _, key in self.touched.entities}, pa.string())
            rows = self.read(CHANGE_EVENT, some, where=pc.field("entity_key").isin(keys))
            made = pa.concat_tables([history(self.touched.cut(rows), self._polls, covers), unobserved])
            of_some = made.filter(pc.is_in(made["cluster_id"], pa.array(some)))
            differs |= replace_rows(self.write, HISTORY, some, self.touched, of_some)
        self.differs = frozenset(differs)

    def _reached(self, touched: Touched, covers: Mapping[str, Covered]) -> Touched:
        """With what polls and the log tell more of than before: what had changed in the time that they now reach; all
        of a cluster where they tell of time before."""
        mine = (touched.of_clusters - touched.clusters) | self._clusters_polled
        was = covers_of(self.read(CHANGE_EVENT, mine, _COVERING, release=self.write.release))
        for cluster_id in sorted(mine - touched.clusters):
            former, now = was.get(cluster_id), covers.get(cluster_id)
            polls = self._polls.get(cluster_id, NEVER)
            before = self._polls_before.get(cluster_id, NEVER).times
            since: dict[str | None, int] = {}
            for entity_type, times in polls.times.items():
                known = before.get(entity_type, ())
                if len(times) > len(known) and known:
                    since[entity_type] = known[-1]
            if former != now:
                touched = touched.more((), [(cluster_id, CLUSTER, cluster_id)])
                if (
                    former is None
                    or now is None
                    or former.last > now.last
                    or (former.first, former.holes, former.whole) != (now.first, now.holes, now.whole)
                ):
                    touched = touched.more([cluster_id])
                    continue
                since[None] = min([former.last, *(begins for begins, _ in former.holes)])
                for entity_type in polls.times:
                    sure = polls.sure(entity_type, former)
                    if sure is None:  # no poll was sure before
                        touched = touched.more([cluster_id])
                        break
                    since[entity_type] = min(sure, since.get(entity_type, sure))
            if since and cluster_id not in touched.clusters:
                found = self._changed_since(cluster_id, since)
                touched = touched.more([cluster_id]) if len(found) > MOST_ENTITIES else touched.more((), found)
        return touched

    def _changed_since(self, cluster_id: str, since: Mapping[str | None, int]) -> set[tuple[str, str, str]]:
        """The entities with changes after the time of their type (None: of any other)."""
        first = pa.scalar(min(since.values()) - TOLERANCE, pa.timestamp("us", "UTC"))
        names = [*ENTITY, "event_ts"]
        rows = self.read(CHANGE_EVENT, [cluster_id], names, where=pc.field("event_ts") > first)
        return {
            (of, entity_type, key)
            for of, entity_type, key, ts in rows_of(rows, *names)
            if (at := since.get(entity_type, since.get(None))) is not None and ts + TOLERANCE > at
        }

    # -- whole clusters ------------------------------------------------------------------------------------------------

    def _whole(self, reads: Iterable[str]) -> list[str]:
        """The clusters of which everything is made."""
        if self.touched is not None:
            return sorted(self.touched.clusters)
        return sorted({each for name in reads for each in clusters_of(self.write.draft, TABLES[name])})

    def _make_whole(
        self,
        table: Table,
        clusters: Sequence[str],
        reads: Iterable[str],
        make: Callable[[str], pa.Table],
        by_spark: Callable[[], DataFrame],
        more: pa.Table | None = None,
    ) -> None:
        """Replaces all rows of clusters. more: rows beside what is made, of any cluster."""
        draft = self.write.draft
        files = [draft.table(of).of(partitions_of(draft, of, clusters)) for of in map(TABLES.__getitem__, reads)]
        folders: dict[str, list[str]] = {each: [] for each in partitions_of(draft, table, clusters)}
        if sum(file.rows for of in files for file in of.values()) > MOST_ROWS:
            from console.history.jobs.by_entity import write_partitions

            made = by_spark()
            if more is not None and more.num_rows:
                made = made.unionByName(self.session().createDataFrame(more))
            folders |= write_partitions(self.write, table, made)
        else:
            parts = [make(each) for each in clusters]
            if more is not None:
                parts.append(more.filter(pc.is_in(more["cluster_id"], pa.array(clusters, pa.string()))))
            if parts:
                folders |= self.write.put_arrow(table.name, pa.concat_tables(parts))
        self.write.replace(table.name, folders, whole=self.touched is None)

    # -- reading -------------------------------------------------------------------------------------------------------

    @cached_property
    def _polls(self) -> dict[str, Polls]:
        return self._polls_of(None)

    @cached_property
    def _polls_before(self) -> dict[str, Polls]:
        return self._polls_of(pc.field("run_id") <= self._since)

    def _polls_of(self, where: pc.Expression | None) -> dict[str, Polls]:
        snapshot = self.read(SNAPSHOT, None, [*_OF_POLLS, "entity_key"], where=where)
        return polls_of(snapshot, self.read(POLL, None, _OF_POLLS, where=where))

    @cached_property
    def _new_polls(self) -> list[pa.Table]:
        return [self._new_rows(table, _OF_POLLS) for table in (SNAPSHOT, POLL)]

    @cached_property
    def _clusters_polled(self) -> set[str]:
        """The clusters of which a poll came."""
        return {each for rows in self._new_polls for each in pc.unique(rows["cluster_id"]).to_pylist()}

    @property
    def _since(self) -> str:
        """The run of the last build."""
        return "" if self.built is None else self.built.run

    def _new_rows(self, table: Table, columns: Sequence[str] | None = None) -> pa.Table:
        lake = self.write.lake
        where = pc.field("run_id") > self._since
        return parquet_files.read(lake.filesystem, map(lake.path, self.new(table)), table, columns=columns, where=where)

    def _frame(self, table: Table, clusters: Iterable[str]) -> DataFrame:
        from console.history.jobs.by_entity import read_table

        draft = self.write.draft
        return read_table(self.session(), self.write.lake, draft, table, partitions_of(draft, table, clusters))


def replace_rows(
    write: Write, table: Table, clusters: Iterable[str], touched: Touched, made: pa.Table
) -> set[tuple[str, str]]:
    """Puts rows in the place of those that are about what is touched of clusters. made: without `run_id`, which does
    not count. Gives clusters and entity types of the rows that differ."""
    of = write.draft.table(table)
    wanted = frozenset(clusters)
    paths = [path for path, file in of.files.items() if partition_values(file.partition)["cluster_id"] in wanted]
    names = made.column_names
    keys = pc.field("entity_key").isin(pa.array({key for _, _, key in touched.entities}, pa.string()))
    new = Counter(rows_of(made, *names))
    old: Counter[tuple[Any, ...]] = Counter()
    places: dict[tuple[Any, ...], set[str]] = {}
    for path in paths:
        rows = parquet_files.read(write.lake.filesystem, [write.lake.path(path)], table, columns=names, where=keys)
        for row in rows_of(touched.cut(rows), *names):
            old[row] += 1
            places.setdefault(row, set()).add(path)
    differing = {row for row in {*old, *new} if old[row] != new[row]}
    if not differing:
        return set()
    changed = {path for row in differing for path in places.get(row, ())}
    many = {part for part in {of.files[path].partition for path in changed} if len(of.partitions[part]) >= MOST_FOLDERS}
    changed |= {path for path, file in of.files.items() if file.partition in many}
    kept = [
        _without(parquet_files.read(write.lake.filesystem, [write.lake.path(path)], table), names, differing)
        for path in sorted(changed)
    ]
    added = table_of(table, (row for row in differing for _ in range(new[row])))
    if "run_id" in table.names:
        added = added.append_column("run_id", pa.repeat(write.run_id, added.num_rows))
    rows = pa.concat_tables([*kept, added.select(table.names)])
    write.rewrite(table.name, changed, write.put_arrow(table.name, rows))
    of_type = names.index("entity_type")
    return {(row[0], row[of_type]) for row in differing}


def _without(rows: pa.Table, names: list[str], gone: set[tuple[Any, ...]]) -> pa.Table:
    return rows.filter(pa.array((row not in gone for row in rows_of(rows, *names)), pa.bool_()))

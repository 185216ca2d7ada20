"""Makes `change_event` and `history`: all of it, or what changed. Of what came in since the last build the entities are
found, and their rows are made again by the same transforms; files in which no row differs stay.

The rows of an entity follow from all rows of that entity, and from little else of its cluster: the snapshots of its
log, the time that the log covers, and the times of polls. Where one of these has changed for time before the last
build, all of the cluster is made again; where it goes on, what had changed in the time that it now reaches.

Up to `MOST_ROWS` rows are made in this process; for more there is Spark (`by_entity`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from console.history.entities import CLUSTER
from console.history.jobs.plan_build import BRONZE, Built, new_files
from console.history.schema import CHANGE_EVENT, HISTORY, KRAFT_RECORD, POLL, SNAPSHOT, TABLES, Table
from console.history.store import Lake, Release, parquet_files
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
from console.history.transforms.history import gaps, history
from console.history.transforms.kraft_changes import FIRST_OFFSETS
from console.history.transforms.reported import TOLERANCE
from console.history.transforms.rows import rows_of
from console.history.transforms.touched import ENTITY, Touched

from .gold import clusters_of, partitions_of, read
from .replace_rows import replace_rows

if TYPE_CHECKING:  # small builds start no Spark
    from pyspark.sql import DataFrame, SparkSession

MOST_ROWS = 600_000
"""Of bronze, which are made in this process: some 1 KB of memory each."""
MOST_ENTITIES = 2_000
"""More are not named one by one: all of their clusters is made again."""
_USED = {KRAFT_RECORD.name: OF_ENTITIES}


class Renewal:
    """One build. built: the last one, on which it goes on; None: everything is made. session: starts Spark, or gives
    what runs already.

    touched: of what rows are made; it grows; None: everything. differs: cluster and entity type of the rows of
    `history` that are not as they were; None: any.
    """

    def __init__(self, session: Callable[[], SparkSession], lake: Lake, write: Write, built: Built | None) -> None:
        self._session = session
        self._lake = lake
        self._write = write
        self._built = built
        self.touched: Touched | None = None if built is None else Touched()
        self.differs: frozenset[tuple[str, str]] | None = None if built is None else frozenset()

    def new(self, table: str) -> list[str]:
        """The files of a table that came since the last build."""
        return [] if self._built is None else new_files(self._write.release, table, self._built)

    # -- change_event ------------------------------------------------------------------------------------------------

    def events(self) -> None:
        """What is new of bronze, and the changes of what it is about."""
        if self._built is not None:
            self.touched = self._touch(self._built)
        whole = self._whole(BRONZE)
        polls = self._polls
        epochs = epochs_of(self._read(KRAFT_RECORD, whole, ["cluster_id", "log_offset", "in_snapshot", "record_ts"]))

        def make(clusters: Iterable[str]) -> pa.Table:
            read = (self._read(TABLES[name], clusters, where=_USED.get(name)) for name in BRONZE)
            return change_event(Bronze(*read), epochs, polls)

        def by_spark(clusters: Iterable[str]) -> DataFrame:
            from console.history.jobs.by_entity import events_of

            return events_of({name: self._frame(TABLES[name], clusters) for name in BRONZE}, epochs, polls)

        self._make_whole(CHANGE_EVENT, whole, BRONZE, make, by_spark)
        if self.touched is not None and self.touched.entities:
            some = sorted({cluster_id for cluster_id, _, _ in self.touched.entities})
            made = [self._events_about(each, self.touched) for each in some]
            replace_rows(self._lake, self._write, CHANGE_EVENT, some, self.touched, pa.concat_tables(made))

    def _events_about(self, cluster_id: str, touched: Touched) -> pa.Table:
        """The changes of what is touched of a cluster."""
        columns = ["cluster_id", "log_offset", "in_snapshot", "record_ts"]
        epochs = epochs_of(self._read(KRAFT_RECORD, [cluster_id], columns))
        entities = {each for each in touched.entities if each[0] == cluster_id}
        keys = pc.field("entity_key").isin(pa.array({key for _, _, key in entities}, pa.string()))
        records = about(entities, lambda where: self._read(KRAFT_RECORD, [cluster_id], where=where))
        others = (self._read(TABLES[name], [cluster_id], where=keys) for name in BRONZE if name != KRAFT_RECORD.name)
        return change_event(Bronze(records, *others), epochs, self._polls, touched)

    def _touch(self, built: Built) -> Touched:
        """The entities that new rows are about, and the clusters of which all may be other than it was."""
        fresh = {name: self._new_rows(TABLES[name], built) for name in BRONZE}
        came = {each for rows in fresh.values() for each in pc.unique(rows["cluster_id"]).to_pylist()}
        records, seen = fresh["kraft_record"], fresh["snapshot"]
        whole = pc.or_(records["in_snapshot"], pc.less(records["log_offset"], FIRST_OFFSETS))
        of_all = {*pc.unique(records["cluster_id"].filter(whole)).to_pylist(), *self._with_late_polls(built)}
        before = clusters_of(self._write.release, CHANGE_EVENT)
        touched = Touched().more((came - before) | of_all)
        plain = (
            seen.filter(pc.is_in(seen["kind"], pa.array(("state", "absent")))),
            fresh["journal"],
            fresh["alter_request"],
        )
        found = {each for rows in plain for each in rows_of(rows, *ENTITY)}
        for cluster_id in sorted(came - touched.clusters):
            mine = records.filter(pc.equal(records["cluster_id"], cluster_id))
            found |= entities_of(mine, lambda where, of=cluster_id: self._read(KRAFT_RECORD, [of], where=where))  # type: ignore[misc]
        touched = touched.more((), found)
        return touched if len(touched.entities) <= MOST_ENTITIES else touched.more(came)

    def _with_late_polls(self, built: Built) -> set[str]:
        """The clusters of which something came of polls for time in which polls were seen already, or the first
        poll."""
        if not self.new("snapshot") and not self.new("poll"):
            return set()
        last: dict[tuple[str, str], int] = {}
        first: dict[tuple[str, str], int] = {}
        beats: set[tuple[str, str]] = set()
        for table in (SNAPSHOT, POLL):
            rows = self._read(table, None, ["cluster_id", "entity_type", "kind", "observed_ts", "run_id"])
            is_new, is_beat = pc.greater(rows["run_id"], built.run), pc.equal(rows["kind"], "heartbeat")
            for place, of, wanted in ((last, "max", pc.and_(is_beat, pc.invert(is_new))), (first, "min", is_new)):
                groups = rows.filter(wanted).group_by(["cluster_id", "entity_type", "kind"])
                told = groups.aggregate([("observed_ts", of)])
                for cluster_id, types, kind, ts in rows_of(told, *told.column_names):
                    for each in types.split(","):
                        key = (cluster_id, each)
                        place[key] = (max if of == "max" else min)(ts, place.get(key, ts))
                        if of == "min" and kind == "heartbeat":
                            beats.add(key)
        return {key[0] for key, ts in first.items() if (ts <= last[key] if key in last else key in beats)}

    # -- history -----------------------------------------------------------------------------------------------------

    def history(self) -> None:
        """The values of what was touched, and of what polls and the log now reach."""
        of_all = [*CHANGE_EVENT.key[:2], "ts_uncertainty_ms", "source"]
        if self.touched is None:
            covers = covers_of(self._read(CHANGE_EVENT, None, of_all))
        else:
            polled = self.new("snapshot") or self.new("poll")
            near = self.touched.of_clusters if not polled else clusters_of(self._write.draft, CHANGE_EVENT)
            covers = covers_of(self._read(CHANGE_EVENT, near | self._clusters_polled, of_all))
            self.touched = self._reached(self.touched, covers)
            # A gap ends, or lasts, by the polls of all clusters.
            if polled:
                self.touched = self.touched.more((), ((each, CLUSTER, each) for each in self._polls))
        whole = self._whole((CHANGE_EVENT.name,))
        polls = self._polls

        def make(clusters: Iterable[str]) -> pa.Table:
            return history(self._read(CHANGE_EVENT, clusters), polls, covers)

        def by_spark(clusters: Iterable[str]) -> DataFrame:
            from console.history.jobs.by_entity import history_of

            return history_of(self._frame(CHANGE_EVENT, clusters), polls, covers)

        unobserved = gaps(polls, covers, self.touched)
        self._make_whole(HISTORY, whole, (CHANGE_EVENT.name,), make, by_spark, unobserved)
        if self.touched is None:
            return
        differs = {(each, "quota") for each in self.touched.clusters}
        if self.touched.entities:
            some = sorted({cluster_id for cluster_id, _, _ in self.touched.entities})
            keys = pa.array({key for _, _, key in self.touched.entities}, pa.string())
            rows = self._read(CHANGE_EVENT, some, where=pc.field("entity_key").isin(keys))
            made = pa.concat_tables([history(self.touched.cut(rows), polls, covers), unobserved])
            of_some = made.filter(pc.is_in(made["cluster_id"], pa.array(some)))
            differs |= replace_rows(self._lake, self._write, HISTORY, some, self.touched, of_some)
        self.differs = frozenset(differs)

    def _reached(self, touched: Touched, covers: Mapping[str, Covered]) -> Touched:
        """With what polls and the log tell more of than before: what had changed in the time that they now reach; all
        of a cluster where they tell of time before."""
        release = self._write.release
        columns = ["cluster_id", "event_ts", "ts_uncertainty_ms", "source"]
        mine = (touched.of_clusters - touched.clusters) | self._clusters_polled
        was = covers_of(self._read(CHANGE_EVENT, mine, columns, release=release))
        before = self._polls_before
        for cluster_id in sorted(mine - touched.clusters):
            former, now = was.get(cluster_id), covers.get(cluster_id)
            polls = self._polls.get(cluster_id)
            since: dict[str | None, int] = {}
            for entity_type, times in (polls.times if polls else {}).items():
                known = before[cluster_id].times.get(entity_type, ()) if cluster_id in before else ()
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
                for entity_type in polls.times if polls else ():
                    sure = polls.sure(entity_type, former) if polls else None
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
        rows = self._read(CHANGE_EVENT, [cluster_id], names, where=pc.field("event_ts") > first)
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
        return sorted({each for name in reads for each in clusters_of(self._write.draft, TABLES[name])})

    def _make_whole(
        self,
        table: Table,
        clusters: Sequence[str],
        reads: Iterable[str],
        make: Callable[[Iterable[str]], pa.Table],
        by_spark: Callable[[Iterable[str]], DataFrame],
        more: pa.Table | None = None,
    ) -> None:
        """Replaces all rows of clusters. more: rows beside what is made, of any cluster."""
        draft = self._write.draft
        files = {name: draft.table(TABLES[name]) for name in reads}
        rows = sum(
            files[name].files[path].rows
            for name in reads
            for path in files[name].of(self._partitions(TABLES[name], clusters))
        )
        folders: dict[str, list[str]] = {each: [] for each in self._partitions(table, clusters)}
        if rows > MOST_ROWS:
            from console.history.jobs.tables import write_partitions

            made = by_spark(clusters)
            if more is not None and more.num_rows:
                made = made.unionByName(self._session().createDataFrame(more))
            folders |= write_partitions(self._write, table, made)
        else:
            parts = [make([each]) for each in clusters]
            if more is not None:
                parts.append(more.filter(pc.is_in(more["cluster_id"], pa.array(clusters, pa.string()))))
            if parts:
                folders |= self._write.put_arrow(table.name, pa.concat_tables(parts))
        self._write.replace(table.name, folders, whole=self.touched is None)

    # -- reading -------------------------------------------------------------------------------------------------------

    @cached_property
    def _polls(self) -> dict[str, Polls]:
        return self._polls_of(self._write.draft)

    @cached_property
    def _polls_before(self) -> dict[str, Polls]:
        assert self._built is not None
        run = pc.field("run_id") <= self._built.run
        return self._polls_of(self._write.draft, run)

    def _polls_of(self, release: Release, where: pc.Expression | None = None) -> dict[str, Polls]:
        names = ["cluster_id", "kind", "entity_type", "observed_ts"]
        snapshot = self._read(SNAPSHOT, None, [*names, "entity_key"], where=where, release=release)
        return polls_of(snapshot, self._read(POLL, None, names, where=where, release=release))

    @cached_property
    def _clusters_polled(self) -> set[str]:
        """The clusters of which a poll came."""
        names = ("snapshot", "poll")
        rows = [self._new_rows(TABLES[name], self._built)["cluster_id"] for name in names if self._built is not None]
        return {each for column in rows for each in pc.unique(column).to_pylist()}

    def _read(
        self,
        table: Table,
        clusters: Iterable[str] | None,
        columns: Sequence[str] | None = None,
        *,
        where: pc.Expression | None = None,
        release: Release | None = None,
    ) -> pa.Table:
        """A table as the run has left it until now, or as it was; of these clusters alone (None: all)."""
        return read(self._lake, release or self._write.draft, table, clusters, columns=columns, where=where)

    def _new_rows(self, table: Table, built: Built | None) -> pa.Table:
        paths = [self._lake.path(path) for path in self.new(table.name)]
        where = pc.field("run_id") > (built.run if built else "")
        return parquet_files.read(self._lake.filesystem, paths, table, where=where)

    def _frame(self, table: Table, clusters: Iterable[str]) -> DataFrame:
        from console.history.jobs.tables import read_table

        return read_table(self._session(), self._lake, self._write.draft, table, self._partitions(table, clusters))

    def _partitions(self, table: Table, clusters: Iterable[str]) -> list[str]:
        return partitions_of(self._write.draft, table, clusters)

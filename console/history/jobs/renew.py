"""Builds what changed: of what came in since the last build the entities are found, and their rows are made again by
the same transforms; files in which no row differs stay.

The rows of an entity follow from all rows of that entity, and from little else of its cluster: the snapshots of its
log, the time that the log covers, and the times of polls. Where one of these has changed for time before the last
build, all of the cluster is made again; where it goes on, what had changed in the time that it now reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from itertools import chain
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from console.history.entities import CLUSTER, POLL_SOURCES
from console.history.jobs.plan_build import BRONZE, Built, new_files, run_of, this_build
from console.history.jobs.progress import Steps
from console.history.jobs.steps import Step
from console.history.jobs.tables import read_files, read_polls, read_table, write_partitions
from console.history.schema import CHANGE_EVENT, HISTORY, QUOTA_USAGE, REQUEST_1S, SNAPSHOT, TABLES, Table
from console.history.store import Lake, Release
from console.history.store.partitions import partition_values
from console.history.store.write import Write
from console.history.transforms.attribution import TOLERANCE
from console.history.transforms.change_event import change_event
from console.history.transforms.history import history, log_covers
from console.history.transforms.kraft_facts import entities_of
from console.history.transforms.quota_usage import SUGGESTED, used_minutes, with_suggestion
from console.history.transforms.touched import ENTITY, Touched

MOST_ENTITIES = 2_000
"""More are not named one by one: all of their clusters is made again."""
MOST_HOURS = 500
"""The same for hours of usage."""
MOST_FOLDERS = 8
"""A partition with more is written as one."""
_TIME = pa.timestamp("us", "UTC")


def renew(
    spark: SparkSession,
    lake: Lake,
    write: Write,
    built: Built,
    steps: Iterable[Step],
    watch: Steps,
    whole: Callable[[Step], int],
) -> None:
    """Makes the tables as a build of everything would. built: the last build. whole: makes one table as a whole."""
    made = _Renewal(spark, lake, write, built)
    now = this_build(lake, built.run)
    renewed: Mapping[str, Callable[[], None]] = {
        CHANGE_EVENT.name: made.events,
        HISTORY.name: made.history,
        QUOTA_USAGE.name: made.usage,
    }
    for step in steps:
        with watch.step(step.table) as wrote:
            before = write.rows.get(step.table, 0)
            if step.table in renewed:
                renewed[step.table]()
            elif made.differs or now.files[step.table] != built.files[step.table] or made.looks_for(step):
                whole(step)
            wrote(write.rows.get(step.table, 0) - before)


@dataclass
class _Renewal:
    """One build.

    polls: see `_polled`. touched: of which rows are made again; it grows. differs: cluster and entity type of the rows
    of `history` that are not as they were.
    """

    spark: SparkSession
    lake: Lake
    write: Write
    built: Built
    polls: list[Row] = field(default_factory=list)
    touched: Touched = field(default_factory=Touched)
    differs: frozenset[tuple[str, str]] = frozenset()

    def new(self, table: str) -> list[str]:
        """The files of a table that came since."""
        return new_files(self.write.release, table, self.built)

    def looks_for(self, step: Step) -> bool:
        """Whether a table is made of polls, and some came."""
        return any(each.table == "snapshot" for each in step.reads) and bool(self.new("snapshot"))

    # -- change_event ------------------------------------------------------------------------------------------------

    def events(self) -> None:
        """What is new of bronze, and the changes of what it is about."""
        self._touch()
        if self.touched:
            kraft, snapshot, journal, asked = (self._read(name, self.touched.of_clusters) for name in BRONZE)
            made = change_event(kraft, snapshot, journal, asked, touched=self.touched)
            self._merge(CHANGE_EVENT, made)

    def _touch(self) -> None:
        """Finds the entities that new rows are about, and the clusters of which all may be other than it was."""
        fresh = {name: self._new_rows(name) for name in BRONZE}
        kraft, seen = fresh["kraft_record"], fresh["snapshot"].where(F.col("kind").isin("state", "absent"))
        plain = [rows.select(*ENTITY) for rows in (seen, fresh["journal"], fresh["alter_request"])]
        records = self._read("kraft_record", self._clusters("kraft_record", self.new("kraft_record")))
        about = reduce(DataFrame.unionByName, [entities_of(kraft, records), *plain]).distinct()
        found = about.limit(MOST_ENTITIES + 1).collect()
        came = set(chain.from_iterable(self._clusters(name, self.new(name)) for name in BRONZE))
        before = set(self._clusters(CHANGE_EVENT.name, self.write.release.table(CHANGE_EVENT).files))
        if len(found) > MOST_ENTITIES:
            before = set()
        self.polls = self._polled()
        late = {row["cluster_id"] for row in self.polls if _is_late(row)}
        of_all = {row["cluster_id"] for row in found if row["entity_type"] is None}
        named = ((row[0], row[1], row[2]) for row in found if row["entity_key"] is not None)
        self.touched = Touched().more((came - before) | late | of_all, named)

    def _polled(self) -> list[Row]:
        """Of entity types in clusters, where there are new polls: cluster_id, entity_type, last: the last poll before;
        first_new: the first new row, next: the first new poll; both may be empty."""
        if not self.new("snapshot") and not self.new("poll"):
            return []
        rows = self._read("snapshot")
        is_new, is_beat = F.col("run_id") > self.built.run, F.col("kind") == "heartbeat"
        at = F.col("observed_ts")
        return (
            rows.groupBy("cluster_id", "entity_type")
            .agg(
                F.max(F.when(is_beat & ~is_new, at)).alias("last"),
                F.min(F.when(is_new, at)).alias("first_new"),
                F.min(F.when(is_new & is_beat, at)).alias("next"),
            )
            .collect()
        )

    # -- history -----------------------------------------------------------------------------------------------------

    def history(self) -> None:
        """The values of what was touched, and of what polls and the log now reach."""
        events = self._read(CHANGE_EVENT.name)
        since = self._since(events)
        if since:
            reached = self._reached(events, since)
            self.touched = self.touched.more(since.keys() if reached is None else (), reached or ())
        # A gap ends, or lasts, by the polls of all clusters.
        gaps = {(row["cluster_id"], CLUSTER, row["cluster_id"]) for row in self.polls}
        self.touched = self.touched.more((), gaps)
        if self.touched:
            made = history(events, self._read("snapshot"), touched=self.touched)
            self.differs = self._merge(HISTORY, made)

    def _since(self, events: DataFrame) -> dict[str, dict[str | None, datetime]]:
        """From when on polls and the log tell more than before, by cluster and entity type (None: any other). Clusters
        of which all is other become touched."""
        since: dict[str, dict[str | None, datetime]] = {}
        for row in self.polls:
            if row["next"] is not None and row["cluster_id"] not in self.touched.clusters:
                since.setdefault(row["cluster_id"], {})[row["entity_type"]] = row["last"]
        mine = self.touched.of_clusters - self.touched.clusters
        was = self._covers(self._read(CHANGE_EVENT.name, mine, self.write.release))
        for cluster_id, now in self._covers(events.where(_among(mine))).items():
            former = was.get(cluster_id)
            if former == now:
                continue
            if former is None or {**former, "to_ts": None} != {**now, "to_ts": None} or former["to_ts"] > now["to_ts"]:
                self.touched = self.touched.more([cluster_id])
                since.pop(cluster_id, None)
                continue
            found = since.setdefault(cluster_id, {})
            sure = min([former["to_ts"], *(hole["from_ts"] for hole in former["holes"])])
            found[None] = sure
            beat = F.max(F.when(F.col("observed_ts") <= F.lit(sure), F.col("observed_ts"))).alias("sure")
            beats = self._read("snapshot", [cluster_id]).where(F.col("kind") == "heartbeat")
            for row in beats.groupBy("entity_type").agg(beat).collect():
                if row["sure"] is None:  # no poll was sure before
                    self.touched = self.touched.more([cluster_id])
                    since.pop(cluster_id, None)
                    break
                found[row["entity_type"]] = min(row["sure"], found.get(row["entity_type"]) or row["sure"])
        return since

    def _covers(self, events: DataFrame) -> dict[str, dict[str, Any]]:
        found = (row.asDict(recursive=True) for row in log_covers(events).collect())
        by_time = {row["cluster_id"]: row for row in found}
        for row in by_time.values():
            row["holes"].sort(key=lambda hole: (hole["from_ts"], hole["to_ts"]))
        return by_time

    def _reached(
        self, events: DataFrame, since: Mapping[str, Mapping[str | None, datetime]]
    ) -> set[tuple[str, str, str]] | None:
        """The entities with changes after those times; None: too many."""
        rows = [
            {"cluster_id": cluster_id, "type": entity_type, "since": at}
            for cluster_id, by_type in since.items()
            for entity_type, at in by_type.items()
        ]
        schema = pa.schema([("cluster_id", pa.string()), ("type", pa.string()), ("since", _TIME)])
        times = F.broadcast(self.spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema)))
        own = times.where(F.col("type").isNotNull()).withColumnsRenamed({"type": "entity_type", "since": "own"})
        other = times.where(F.col("type").isNull()).drop("type").withColumnRenamed("since", "other")
        found = (
            events.where(_among(since))
            .join(own, on=["cluster_id", "entity_type"], how="left")
            .join(other, on="cluster_id", how="left")
            .where(
                F.unix_micros("event_ts") + TOLERANCE.total_seconds() * 1e6 > F.unix_micros(F.coalesce("own", "other"))
            )
            .select(*ENTITY)
            .distinct()
            .limit(MOST_ENTITIES + 1)
            .collect()
        )
        return None if len(found) > MOST_ENTITIES else {(row[0], row[1], row[2]) for row in found}

    # -- quota_usage -------------------------------------------------------------------------------------------------

    def usage(self) -> None:
        """The minutes of hours in which something new was used, and of clusters whose limits differ; what is suggested
        follows from all minutes of a cluster."""
        table = self.write.draft.table(REQUEST_1S)
        hours = {each: _hour(each) for each in table.partitions}
        new = {hours[table.files[path].partition] for path in self.new(REQUEST_1S.name)}
        whole = {cluster_id for cluster_id, _ in hours.values()} & self._with_other_limits()
        if len(new) > MOST_HOURS:
            whole |= {cluster_id for cluster_id, _ in new}
        clusters = whole | {cluster_id for cluster_id, _ in new}
        if not clusters:
            return
        times = {each for each in hours.values() if each[0] in clusters}
        # A rate reaches back ten seconds: into the hour before, and out of the hour after.
        wanted = {each for each in times if each[0] in whole or each in new or (each[0], each[1] - 1) in new}
        read = [each for each, at in hours.items() if at in wanted or (at[0], at[1] + 1) in wanted]
        seconds = read_table(self.spark, self.lake, self.write.draft, REQUEST_1S, read)
        hour = F.floor(F.unix_seconds("minute") / 3600)
        named = [f"{number} {cluster_id}" for cluster_id, number in wanted if cluster_id not in whole]
        is_new = _among(whole) | (
            F.concat_ws(" ", hour.cast("string"), "cluster_id").isin(named) if named else F.lit(False)
        )
        minutes = used_minutes(seconds, self._read(HISTORY.name, clusters)).where(is_new)
        old = self._read(QUOTA_USAGE.name, clusters).drop(*SUGGESTED).where(~is_new)
        made = with_suggestion(minutes.unionByName(old)).select(*QUOTA_USAGE.names)
        former = {each: list[str]() for each in self._partitions(QUOTA_USAGE, clusters)}
        self.write.replace(QUOTA_USAGE.name, {**former, **write_partitions(self.write, QUOTA_USAGE, made)})

    def _with_other_limits(self) -> set[str]:
        """Clusters of whose quotas any differs, or the time since when one is known."""
        found = {cluster_id for cluster_id, entity_type in self.differs if entity_type == "quota"}
        others = {cluster_id for cluster_id, _ in self.differs} - found
        was, now = (
            {
                row["cluster_id"]: row["first"]
                for row in self._read(HISTORY.name, others, release)
                .where(F.col("source").isin(*POLL_SOURCES))
                .groupBy("cluster_id")
                .agg(F.min("valid_from").alias("first"))
                .collect()
            }
            for release in (self.write.release, self.write.draft)
        )
        return found | {each for each in others if was.get(each) != now.get(each)}

    # -- rows in the place of others -----------------------------------------------------------------------------------

    def _merge(self, table: Table, made: DataFrame) -> frozenset[tuple[str, str]]:
        """Puts the rows in the place of those that are about what is touched; only files with rows that differ are
        written again. Gives clusters and entity types of rows that differ; `run_id` does not count."""
        files = self.write.draft.table(table)
        names = [name for name in table.names if name != "run_id"]
        beside = self.touched.of_clusters - self.touched.clusters
        old = self.touched.rows(self._read(table.name, beside, path=True))
        nothing, one = F.lit(None).cast("string"), F.lit(1)
        differing = (
            old.select(*names, "path", one.alias("old"), F.lit(0).alias("new"))
            .unionByName(made.select(*names, nothing.alias("path"), F.lit(0).alias("old"), one.alias("new")))
            .groupBy(*names)
            .agg(F.sum("old").alias("old"), F.sum("new").alias("new"), F.collect_set("path").alias("paths"))
            .where(F.col("old") != F.col("new"))
            .persist(StorageLevel.MEMORY_AND_DISK)
        )
        try:
            paths = F.array_distinct(F.flatten(F.collect_set("paths"))).alias("paths")
            found = differing.groupBy("cluster_id", "entity_type").agg(paths).collect()
            whole = [path for each in self._partitions(table, self.touched.clusters) for path in files.of([each])]
            if not found and not whole:
                return frozenset()
            seen = files.of(self._partitions(table, beside))
            here = self.lake.filesystem.here([self.lake.path(path) for path in seen])
            places = dict(zip(here, seen, strict=True))
            changed = {_named(each, places) for row in found for each in row["paths"]}
            changed |= _in_many_folders(files.files, changed)
            kept = self._without(table, sorted(changed), differing.where(F.col("old") > 0).select(*names))
            added = differing.select(*names, F.explode(F.array_repeat(one, F.col("new").cast("int"))).alias("copy"))
            rows = kept.unionByName(
                added.drop("copy").withColumn("run_id", F.lit(self.write.run_id)), allowMissingColumns=True
            )
            folders = write_partitions(self.write, table, rows.select(*table.names), keep_run_id=True)
            self.write.rewrite(table.name, {*changed, *whole}, folders)
        finally:
            differing.unpersist()
        types = {(row["cluster_id"], row["entity_type"]) for row in found}
        return frozenset(types | {(cluster_id, "quota") for cluster_id in self.touched.clusters})

    def _without(self, table: Table, paths: list[str], gone: DataFrame) -> DataFrame:
        rows = read_files(self.spark, self.lake, table, [self.lake.path(path) for path in paths]).alias("r")
        same = reduce(
            lambda one, other: one & other, (F.col(f"r.{name}").eqNullSafe(F.col(f"g.{name}")) for name in gone.columns)
        )
        return rows.join(F.broadcast(gone.alias("g")), on=same, how="left_anti")

    # -- reading -------------------------------------------------------------------------------------------------------

    def _read(
        self, name: str, clusters: Iterable[str] | None = None, release: Release | None = None, *, path: bool = False
    ) -> DataFrame:
        """A table as the run has left it until now, or as it was; of these clusters alone. path: with that column, of
        the file that a row is in."""
        release = release or self.write.draft
        wanted = None if clusters is None else self._partitions(TABLES[name], clusters, release)
        if name == SNAPSHOT.name:
            polls = read_polls(self.spark, self.lake, release, SNAPSHOT, wanted)
            return polls if clusters is None else polls.where(_among(clusters))
        return read_table(self.spark, self.lake, release, TABLES[name], wanted, path=path)

    def _new_rows(self, name: str) -> DataFrame:
        paths = [self.lake.path(path) for path in self.new(name)]
        return read_files(self.spark, self.lake, TABLES[name], paths).where(F.col("run_id") > self.built.run)

    def _partitions(self, table: Table, clusters: Iterable[str], release: Release | None = None) -> list[str]:
        wanted = frozenset(clusters)
        there = (release or self.write.draft).table(table).partitions
        return [each for each in there if partition_values(each)["cluster_id"] in wanted]

    def _clusters(self, name: str, paths: Iterable[str]) -> set[str]:
        files = self.write.draft.table(TABLES[name]).files
        found = {partition_values(files[path].partition)["cluster_id"] for path in paths}
        return {cluster_id for cluster_id in found if cluster_id is not None}


def _is_late(row: Row) -> bool:
    """Whether something came of polls for time in which polls were seen already, or the first poll came."""
    if row["last"] is None:
        return row["next"] is not None
    return row["first_new"] is not None and bool(row["first_new"] <= row["last"])


def _among(clusters: Iterable[str]) -> Any:
    names = sorted(clusters)
    return F.col("cluster_id").isin(names) if names else F.lit(False)


def _hour(partition: str) -> tuple[str, int]:
    """The cluster of a partition of seconds, and its hour since 1970."""
    values = partition_values(partition)
    at = datetime.fromisoformat(f"{values['hour']}:00:00+00:00")
    return values["cluster_id"] or "", int(at.timestamp()) // 3600


def _named(uri: str, places: Mapping[str, str]) -> str:
    """A file as the lake names it, from how Spark names it. places: by the path that Spark was given."""
    plain = uri.removeprefix("file:")
    path = f"/{plain.lstrip('/')}" if plain != uri else uri
    return places[path] if path in places else places[unquote(path)]


def _in_many_folders(files: Mapping[str, Any], changed: Iterable[str]) -> set[str]:
    """All files of the partitions of these, where a partition has become many folders."""
    partitions = {files[path].partition for path in changed}
    runs: dict[str, set[str]] = {}
    for path, file in files.items():
        if file.partition in partitions:
            runs.setdefault(file.partition, set()).add(run_of(path))
    return {path for path, file in files.items() if len(runs.get(file.partition, ())) >= MOST_FOLDERS}

"""The lake's application on Spark: a stream from each source to its bronze table, and one from bronze to the silver and
gold tables (`schema.LAYERS`). `take` processes the present data once, `go_on` runs until it is stopped; both make
the same batches.

Each stream's checkpoint is in the lake. A batch is written to a table once, however often Spark runs it. Each commit
has the checkpoint's id and the batch's number (Delta's transactions by application), so that a repeated batch is
recognized; and the end offsets of the batch, at which a source that lost its checkpoint continues. If gold loses its
checkpoint, gold is made again from all of bronze.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import console
from console.lake import files, plans, schema
from console.lake import runs as lake_runs
from console.lake import streams as lake_streams
from console.lake.clocks import check_clocks
from console.lake.delta_log import reading
from console.lake.gold import Known, Renewal, compare, judge, make_access, make_usage, new_keys, news_of, rows_for_usage
from console.lake.inputs import Inputs, UnreadableInput
from console.lake.lake import Lake, Report
from console.lake.runs import news
from console.lake.spark import for_few_rows, for_many_rows, session, set_properties
from console.lake.tables import EVERY, MANY_FILES, Batch, Tables, maintain, observed, taken
from console.lake.transforms.drift import A_PAIR
from console.model.built_types import built
from console.model.foreign_json import json_as, json_of
from console.model.numbers import decimal_number, json_text, natural_number, option

MANY = 20_000
"""Number of rows in a batch above which Spark compiles its query plans; for fewer rows the compilation would take
longer than it saves.
"""
_AGAIN = 10.0
"""Seconds between the failure of a stream and its next start."""
_CHANGE = [column.name for column in schema.JOURNAL.columns if column.name != "read_ts"]


class Application:
    """The application on a plan's lake, in a Spark session. All its batches run one at a time.

    Attributes:
        settings: the settings of the sources.
        report: the report of this run; each batch adds its counts to it.
        is_alone: returns whether this run still has the lake's lock.
    """

    def __init__(
        self,
        plan: lake_runs.Plan,
        settings: plans.Settings,
        spark: SparkSession,
        report: Report,
        is_alone: Callable[[], bool] = lambda: True,
    ) -> None:
        self._plan = plan
        self._spark = spark
        self._lake = plan.lake
        self._settings = settings
        self._report = report
        self._topics = {each.stream: each for each in plan.topics}
        self._made_again: dict[str, lake_streams.Identity] = {}
        self._told: Callable[[str], None] = lambda _: None
        self._again: int | None = None
        self.tables = Tables(spark, plan.lake, plan.root, {"run": report.run_id, "kac": lake_runs.kac_version()})
        self._known = Known(self.tables)
        self._alone = threading.Lock()
        self._is_alone = is_alone
        if lake_runs.is_of_another(plan.lake):
            self._forget(lake_runs.GOLD)
        if lake_runs.is_undone(plan.lake):
            self._forget(plans.RequestLogs.name)
        for each in lake_streams.formats():
            spark.dataSource.register(each)
        self.tables.create_bronze()

    # -- streams -------------------------------------------------------------------------------------------------------

    def take(self, name: str) -> None:
        """Process the new data of a stream once: of a source, or of bronze. If that fails because the source's topic
        was created again, try a second time.
        """
        try:
            self._take(name)
        except Exception:
            if name not in self._made_again:
                raise
            self._take(name)

    def _take(self, name: str) -> None:
        query = self._begin(name, availableNow=True)
        query.awaitTermination()
        if (wrong := query.exception()) is not None:
            raise wrong

    def go_on(
        self,
        every: float,
        told: Callable[[str], None],
        stop: threading.Event,
        now_and_then: Callable[[], None],
    ) -> None:
        """Run all streams until `stop` is set. If a stream fails, report the reason, unless it is the reason of its
        last failure, and start the stream again after 10 s (`_AGAIN`). Raises LeaseLost.

        Args:
            every: the interval between batches, seconds.
            told, now_and_then: as in `run`.
        """
        self._told = told
        trigger = {"processingTime": f"{every:g} seconds"}
        streams = {name: self._begin(name, **trigger) for name in (*self._wanted, lake_runs.GOLD)}
        failed: dict[str, str] = {}
        waits: dict[str, int] = {}
        judged = time.monotonic()
        try:
            while not stop.wait(_TICK):
                for name, query in streams.items():
                    if query.isActive:
                        if name in failed and query.lastProgress is not None:
                            told(f"{name}: it works again")
                            del failed[name]
                            self._note(failed)
                        continue
                    waits[name] = waits.get(name, 0) + 1
                    if waits[name] == 1:
                        self._check_lock()
                        why = lake_runs.message_of(query.exception() or RuntimeError()) or _condition(query)
                        if failed.get(name) != why:
                            told(f"{name}: {why.rstrip('.')}. It is tried again")
                        failed[name] = why
                        self._note(failed)
                    elif waits[name] * _TICK > _AGAIN:
                        waits[name] = 0
                        if name == lake_runs.GOLD:
                            self._known = Known(self.tables)
                        streams[name] = self._begin(name, **trigger)
                if time.monotonic() > judged + _JUDGE:
                    judged = time.monotonic()
                    self.judge()
                    self.maintain()
                    now_and_then()
        finally:
            for query in streams.values():
                query.stop()

    def _note(self, failed: Mapping[str, str]) -> None:
        """Replace the report's message by the failing streams and their reasons; no message if no stream fails. failed:
        stream -> the reason.
        """
        self._report.message = "; ".join(f"{name}: {why}" for name, why in failed.items()) or None

    @property
    def _wanted(self) -> list[str]:
        """The names of the streams that read a source: all except the one that reads bronze."""
        return [*plans.sources_of(self._settings.inputs), *self._topics]

    def _begin(self, name: str, **trigger: Any) -> StreamingQuery:
        do: Callable[[str, DataFrame, Batch], None] = self._put
        if name == lake_runs.GOLD:
            self._again = lake_runs.begun(self._lake, lake_runs.GOLD)
            rows, do = new_keys(self.tables), self._make
        elif name in self._topics:
            if name in self._made_again:
                self._forget(name)
            is_of_former = self._is_of_former(name, self._known_topic(name))
            begin = None if is_of_former else lake_runs.begin_of(self._lake, name, schema.REQUEST.name)
            rows = lake_streams.topic_rows(self._spark, self._topics[name], begin)
        else:
            now = msgspec.structs.replace(self._settings, begin=lake_runs.begins(self._lake))
            settings = msgspec.json.encode(now).decode()
            rows = self._spark.readStream.format(name).option("settings", settings).load()

        def each(batch: DataFrame, number: int) -> None:
            spark = batch.sparkSession
            query = spark.sparkContext.getLocalProperty("sql.streaming.queryId")
            with self._alone:
                self._check_lock()
                self.tables.spark = spark
                do(name, batch, Batch(str(query), number, {"stream": name}))

        stream = rows.writeStream.queryName(name).option("checkpointLocation", f"{self.tables.root}/checkpoints/{name}")
        return stream.trigger(**trigger).foreachBatch(each).start()

    def _check_lock(self) -> None:
        """Raise LeaseLost if another run took the lock, as it may while this run is paused: two runs must not write to
        the lake at the same time.
        """
        if not self._is_alone():
            raise files.LeaseLost(
                f"Another run took the lock of the lake at {self._lake.where} while this one paused; what it did until "
                "then is in the lake. Run it again when the other has ended."
            )

    def maintain(self) -> None:
        """Compact the tables, and delete old rows and the files that no reader needs, at most once a day (`EVERY`).
        In a lake without an earlier maintenance, do so only if a table has more than 100 files (`MANY_FILES`).
        """
        path = self._lake.path("maintained.json")
        done = self._lake.own_file("maintained.json")
        if done is not None and time.time() - float(done) < EVERY.total_seconds():
            return
        with self._alone:
            self.tables.spark = self._spark
            for_many_rows(self._spark)
            counts = {table.name: len(self._lake.table(table).files) for table in schema.TABLES.values()}
            if done is not None or max(counts.values()) > MANY_FILES:
                maintain(self.tables, counts, self._plan.keep_days)
        self._lake.files.replace(path, str(time.time()).encode())

    # -- batches -------------------------------------------------------------------------------------------------------

    def _put(self, name: str, rows: DataFrame, batch: Batch) -> None:
        """Append the rows of a source's batch to the source's bronze table, with a row for each range of records
        that the topic deleted before they were read; leave out rows of `journal` that the table already has. Add
        the counts to the report. Raises LakeError: see `_of_topic`; UnreadableInput: see `_check`.
        """
        table = schema.TABLES[plans.SOURCES[name].table] if name in plans.SOURCES else schema.REQUEST
        counts = _COUNTS[table]
        (at,) = lake_runs.offsets(self._lake, name, batch.number)
        (for_few_rows if self._is_small(name, at, batch.number) else for_many_rows)(self.tables.spark)
        of, lost = self._of_topic(name), []
        if of is not None:
            lost = self._lost(name, of, at, batch.number)
            self._keep_topic(name, of)
        if lost:
            rows = rows.unionByName(lake_streams.lost_rows(self.tables.spark, self._topics[name], lost))
        read, (rows, seen) = rows, observed(rows, counts)
        if table is schema.JOURNAL:
            known = self.tables.read(schema.JOURNAL).select(*(F.col(each).alias(f"known_{each}") for each in _CHANGE))
            same = [F.col(each).eqNullSafe(F.col(f"known_{each}")) for each in _CHANGE]
            rows = rows.join(known, same, "left_anti")
        end = {**at, **({"parts": []} if "parts" in at else {})}
        of_topic = {} if of is None else {"topic": of}
        version = self.tables.append(rows, table, batch.noting(end=end, **of_topic))
        if version is not None:
            counted = seen.get
        else:  # an earlier run wrote these rows, and died
            found = taken(read.agg(*(F.expr(sql) for sql in counts.values())), 1)[0]
            counted = dict(zip(counts, found, strict=True))
            written = (note["version"] for note in self._lake.notes(table) if note.get("end") == end)
            version = next(written, self._lake.version(table) + 1)
            lost = []  # the lake has the losses up to this end already
        if name == plans.RequestLogs.name and counted["first"] is not None:
            self._check(counted["first"], counted["last"], version - 1)
        mine = self._report.taken.setdefault(name, {"good": 0, "bad": 0})
        unreadable = counted["bad"] or 0
        read_well = (counted["good"] or 0) - unreadable
        mine["good"] += read_well
        mine["bad"] += unreadable
        if read_well or unreadable:
            self._told(f"{name}: read {read_well:,}{f', {unreadable:,} unreadable' if unreadable else ''}")
        for each in lost:
            place = f"{self._topics[name].cluster_id} {self._topics[name].topic}-{each.partition}"
            said = f"{place} from offset {each.at:,} on: {each.reason}"
            if each.offsets == lake_streams.UNCOUNTED:
                self._report.notes.append(said)
            else:
                self._report.lost[place] = self._report.lost.get(place, 0) + each.offsets
            self._told(f"{name}: {said}")

    # -- the identity of the topic that offsets belong to --------------------------------------------------------------

    def _of_topic(self, name: str) -> lake_streams.Identity | None:
        """Return the identity of the topic from which a batch is read; None for a source that is not a topic.

        Raises:
            LakeError: another topic has the name now, or another cluster answers; nothing of the batch is written. If
                the topic was created again, the next start of the stream reads it from its first record.
        """
        topic = self._topics.get(name)
        if topic is None:
            return None
        now, known = lake_streams.identity_of(self._spark, topic), self._known_topic(name)
        if known is None:
            return now
        where = f"The topic {topic.topic}, with the request logs of {topic.cluster_id},"
        if known.is_on_another_cluster(now):
            raise files.LakeError(
                f"{where} was read from the cluster {known.cluster} until now, and at "
                f"{topic.options['kafka.bootstrap.servers']} the cluster {now.cluster} answers. Nothing of it was "
                "read. See that its context in sources.yaml has the right addresses; if the lines are shipped to that "
                f"cluster now, delete {self._topic_file(name)}, and its topic is read from the first record on."
            )
        if known.is_of_another(now) and self._made_again.get(name) != now:
            self._made_again[name] = now
            raise files.LakeError(f"{where} was deleted and created again. It is read from its first record on.")
        return lake_streams.Identity(now.cluster or known.cluster, now.topic or known.topic)

    def _known_topic(self, name: str) -> lake_streams.Identity | None:
        """Return the identity of the topic that was read until now: from the file next to its checkpoint or, if that is
        lost, from bronze's commits. None if it is unknown.
        """
        kept = self._lake.own_file(f"checkpoints/{name}.topic")
        if kept is not None:
            with reading(self._lake.where, f"checkpoints/{name}.topic"):
                return msgspec.convert(json_of(kept), built(lake_streams.Identity))
        return self._noted(name)[1]

    def _noted(self, name: str) -> tuple[plans.Offset | None, lake_streams.Identity | None]:
        """Return the end offsets of a source that is a topic, and the topic's identity, from the newest commit of
        bronze that has end offsets; None for each that the commit lacks, and (None, None) if there is no such
        commit.
        """
        note = next(lake_runs.ends(self._lake, name), {})
        return note.get("end"), msgspec.convert(
            note["topic"], built(lake_streams.Identity)
        ) if "topic" in note else None

    def _is_of_former(self, name: str, now: lake_streams.Identity | None) -> bool:
        """Return whether the end offsets in bronze's commits belong to a deleted topic of the same name, not to the
        topic `now`. False if the identity of the topic in the commits, or `now`, is unknown, and the topic is not
        known to have been created again.
        """
        noted = self._noted(name)[1]
        return name in self._made_again or (noted is not None and now is not None and noted.is_of_another(now))

    def _keep_topic(self, name: str, of: lake_streams.Identity) -> None:
        """Write the identity of a topic next to the stream's checkpoint, before any of the topic's rows are in the
        lake.
        """
        if self._lake.own_file(f"checkpoints/{name}.topic") != (text := json_text(of).encode()):
            self._lake.files.replace(self._topic_file(name), text)
        self._made_again.pop(name, None)

    def _topic_file(self, name: str) -> str:
        return self._lake.path(f"checkpoints/{name}.topic")

    def _is_small(self, name: str, end: plans.Offset, number: int) -> bool:
        """Return whether a batch of a source has at most `MANY` (20,000) rows. The offsets give only an upper bound of
        the number; False if they give no bound.
        """
        start = lake_runs.offsets(self._lake, name, number - 1)[0] if number else {}
        most: int | None
        if name in self._topics:
            before, after = (each.get(self._topics[name].topic, {}) for each in (start, end))
            most = sum(upto - before.get(partition, 0) for partition, upto in after.items())
        else:
            source = plans.SOURCES[name](self._settings)
            most = source.most_rows(start or source.initial(), end)
        return most is not None and most <= MANY

    def _lost(
        self, name: str, of: lake_streams.Identity, end: Mapping[str, Any], number: int
    ) -> list[lake_streams.Skipped]:
        """Return the ranges of offsets that a topic deleted before this batch could read them.

        The ranges begin at the end offsets of the batch before or, for a new checkpoint, at the end offsets in bronze's
        commits; the result is empty if neither exists. If the topic was created again, the result also has a range of
        unknown length for each partition of the deleted topic, which may have had unread records.
        """
        topic = self._topics[name]
        start = lake_runs.offsets(self._lake, name, number - 1)[0] if number else self._noted(name)[0]
        if start is None:
            return []
        since, upto = start.get(topic.topic, {}), end.get(topic.topic, {})
        if not number and self._is_of_former(name, of):
            return [*lake_streams.gone_of(since), *lake_streams.lost_of(self._spark, topic, {}, upto)]
        return lake_streams.lost_of(self._spark, topic, since, upto)

    def _check(self, first: datetime, last: datetime, before: int) -> None:
        """Compare the times in a batch of request logs with the metadata log (`check_clocks`). If the time zone of a
        log is wrong, remove the batch's rows from the table, delete the stream's checkpoint, and raise
        UnreadableInput.

        Args:
            first, last: the times of the first and the last change request in the batch, UTC.
            before: the version of the bronze table without the batch.
        """
        try:
            check_clocks(self.tables, first, last, plans.RequestLogs(self._settings).zones())
        except UnreadableInput:
            notes = lake_runs.ends(self._lake, plans.RequestLogs.name)
            former = next((note for note in notes if note["version"] <= before), None)
            end = plans.RequestLogs.beginning if former is None else former["end"]
            self.tables.undo(schema.REQUEST, before, {"stream": plans.RequestLogs.name, "end": end, "is_undone": True})
            self._forget(plans.RequestLogs.name)
            raise

    def _forget(self, stream: str) -> None:
        """Delete a stream's checkpoint. Afterwards the stream of gold makes gold again from all of bronze; the stream
        of a source continues at the end offsets in bronze's commits.
        """
        self._lake.files.remove(self._lake.path(f"checkpoints/{stream}"))

    def _make(self, _: str, keys: DataFrame, batch: Batch) -> None:
        """Update the silver and gold tables for the clusters, entities and hours in a batch of keys of new
        bronze rows.
        """
        news = news_of(keys)
        if not news.clusters:
            return
        if batch.number == self._again:
            # A former run died in this batch and may have written some of its rows: make the whole clusters again.
            news = news._replace(whole=news.clusters)
        is_whole = bool(news.whole) or not self.tables.exists(schema.HISTORY)
        many = len(news.entities) > MANY or (
            is_whole and sum(self._lake.table(each).rows for each in schema.BRONZE) > MANY
        )
        (for_many_rows if many else for_few_rows)(self.tables.spark)
        touched = Renewal(self.tables, self._known, batch).renew(news)
        quotas = touched.whole | {each[0] for each in touched.entities if each[1] == "quota"}
        if news.hours or quotas:
            # A few entities may have many requests.
            files = self._lake.table(schema.REQUEST).files.values()
            sizes = ((each.parts["in_cluster_id"], each.parts["in_day"], each.rows) for each in files)
            if rows_for_usage(sizes, news.hours, quotas) > MANY:
                for_many_rows(self.tables.spark)
            make_usage(self.tables, news.hours, quotas, batch)
        if news.access_hours:
            make_access(self.tables, news.access_hours, batch)
        if (newest := self._known.newest) is not None:
            self._report.lag_ms = max(0, round(time.time() * 1000) - newest // 1000)

    def judge(self) -> None:
        """Make `drift` and `policy_violation` again, if `history` or the operator's rules have changed since they
        were made; otherwise do nothing. If batches append to `history` meanwhile, the next call covers their
        rows, because the version of `history` at the start is noted. Raises UnreadableInput: a file of rules is
        invalid.
        """
        new = lake_runs.unjudged(self._lake)
        if new is None:
            return
        rules = lake_runs.rules_of(self._lake)
        batch = Batch(self._report.run_id, new.version)
        there = {
            each.parts[name] for each in self._lake.table(schema.HISTORY).files.values() for name in schema.CLUSTER_PART
        }
        clusters = {each for each in there if each is not None and (new.clusters is None or each in new.clusters)}
        with self._between_batches():
            # Clusters are compared only if there are more than two, and brokers with those of their cluster. Most
            # entities have no peer in their own cluster.
            if len(there) > A_PAIR or rules.baseline or new.rules or self._has_brokers(clusters):
                compare(self.tables, rules.baseline, batch.noting(rules=rules.digests[schema.DRIFT.name]))
        with self._between_batches():
            noted = batch.noting(rules=rules.digests[schema.POLICY_VIOLATION.name], history=new.version)
            judge(self.tables, clusters, rules.policies, noted)

    @contextmanager
    def _between_batches(self) -> Iterator[None]:
        """Let no batch run inside the ``with`` block, and configure the session for few rows."""
        with self._alone:
            self.tables.spark = self._spark
            for_few_rows(self._spark)
            yield

    def _has_brokers(self, clusters: Iterable[str]) -> bool:
        """Return whether `history` has a current broker of one of these clusters, so that there is something to
        compare."""
        brokers = self.tables.read(schema.HISTORY, clusters).where("entity_type = 'broker' AND is_current")
        return bool(taken(brokers.select("cluster_id").limit(1), 1))


_JUDGE = 20.0
"""Seconds between two calls of `Application.judge` and `Application.maintain` while the application runs."""
_TICK = 0.2
"""Seconds between two checks of the streams."""
_ROWS = {"good": "count(*)", "bad": "count(quarantined)"}
_LINES = {"good": "sum(lines)", "bad": "sum(damaged)"}
_COUNTS = {
    **{schema.KRAFT_RECORD: _ROWS, schema.SNAPSHOT: {**_ROWS, "bad": "0"}, schema.JOURNAL: _ROWS},
    schema.REQUEST: {**_LINES, "first": "min(alter.end_ts)", "last": "max(alter.end_ts)"},
    schema.AUTHORIZATION: _LINES,
}
"""Bronze table -> aggregates of its rows, as SQL: the count of all lines or rows, the count of unreadable ones, and the
first and last time of change requests.
"""


def _condition(query: StreamingQuery) -> str:
    """Return a message about the error that ended a stream. It has Spark's condition of the error, or the error's
    class if there is no condition.
    """
    wrong = query.exception()
    condition = getattr(wrong, "getCondition", lambda: None)() if wrong is not None else None
    return f"it failed in Spark ({condition or type(wrong).__name__}); Spark's log says where"


# -- one run ----------------------------------------------------------------------------------------------------------

Session = Callable[[], AbstractContextManager[SparkSession]]
"""A function that starts Spark; the session is stopped at the end of its context."""


def update(plan: lake_runs.Plan, session: Session, progress: lake_runs.Listener = lambda _: None) -> Report:
    """Process the new data of all sources once, then update silver and gold, and return the report. If the input of a
    source is refused, the other sources are still processed.

    Raises:
        LakeBusy: another run holds the lake's lock.
        UnreadableInput: an input was refused; raised after the work on the other sources.
        LakeError, OSError: the lake can't be read or written.
    """
    report = lake_runs.begun_report("update")
    with lake_runs.refusals_recorded(plan.lake, report), lake_runs.settings_of(plan) as settings:
        wanted = news(plan.lake, settings) or ([lake_runs.GOLD] if plan.topics else [])
        if not wanted:
            return lake_runs.ended(report)
        with plan.lake.alone(report.run_id, report.job) as lock:
            with _application(plan, settings, report, session, lock) as (app, _):
                steps = lake_runs.Steps(report.job, len(wanted) + len(plan.topics) + 1, progress)
                sources = (*wanted[:-1], *(each.stream for each in plan.topics))
                refusals = [wrong for name in sources if (wrong := _refusal_of(app, name, steps, report)) is not None]
                with steps.step(lake_runs.GOLD):
                    app.take(lake_runs.GOLD)
                app.maintain()
                with steps.step("rules"):
                    app.judge()
                if refusals:
                    raise refusals[0]
            news(plan.lake, settings)  # deletes the landed files that the lake now has
    return report


def _refusal_of(app: Application, name: str, steps: lake_runs.Steps, report: Report) -> Exception | None:
    """Process the new data of a source; return the error if its input is refused, None after success. The next run
    repeats the refused batch. Raises any other error.
    """
    try:
        with steps.step(name) as read:
            app.take(name)
            read(sum(report.taken.get(name, {}).values()))
    except Exception as wrong:
        if not lake_runs.is_refusal(wrong):
            raise
        return wrong
    return None


def run(
    plan: lake_runs.Plan,
    session: Session,
    told: Callable[[str], None],
    stop: threading.Event,
    now_and_then: Callable[[], None] = lambda: None,
) -> Report:
    """Run all streams until `stop` is set, and return the report. Raises LakeBusy, LakeError.

    Args:
        told: called with a line for each failure and recovery of a stream, each batch with rows, each range of lost
            records, and each note of the report.
        now_and_then: called at intervals of 20 s (`_JUDGE`), after the report is saved.
    """
    report = lake_runs.begun_report("run")
    with (
        lake_runs.refusals_recorded(plan.lake, report),
        lake_runs.settings_of(plan) as settings,
        plan.lake.alone(report.run_id, report.job) as lock,
        _application(plan, settings, report, session, lock) as (app, keep),
    ):
        for note in report.notes:
            told(note)

        def kept() -> None:
            keep()
            now_and_then()

        app.go_on(plan.every, told, stop, kept)
    return report


@contextmanager
def _application(
    plan: lake_runs.Plan, settings: plans.Settings, report: Report, session: Session, lock: files.Lock
) -> Iterator[tuple[Application, Callable[[], None]]]:
    """Start Spark; yield the application, and a function that saves its report while it runs."""
    if lock.former is not None:
        report.notes.append(f"took over the lock of a run that died: {lock.former}")
    with (
        lake_runs.recorded(plan.lake, report) as keep,
        session() as spark,
        lake_runs.in_words(),
        lake_streams.logged_in(spark, plan.login),
    ):
        set_properties(spark, plan.lake.files.java_properties(settings.store_file))
        yield Application(plan, settings, spark, report, lock.is_held), keep


# -- running under `spark-submit`, on a cluster -----------------------------------------------------------------------


def files_of_s3a(spark: SparkSession, where: str) -> files.Filesystem:
    """Return the filesystem of a lake in a bucket, with the endpoint and keys from the settings of Hadoop's S3A; if
    these have no keys, obstore looks for them. Raises LakeError: obstore is not installed.
    """
    try:
        from console.lake.s3 import S3Files, S3Keys
    except ImportError:
        raise files.LakeError(
            f"{where} needs obstore beside the driver, which is not installed: pip install obstore"
        ) from None
    bucket = urlsplit(where).netloc
    conf: Any = spark._jsparkSession.sessionState().newHadoopConf()

    def said(name: str) -> str:
        return str(conf.get(f"fs.s3a.bucket.{bucket}.{name}") or conf.get(f"fs.s3a.{name}") or "")

    endpoint = said("endpoint")
    if endpoint and "://" not in endpoint:
        endpoint = f"{'http' if said('connection.ssl.enabled').lower() == 'false' else 'https'}://{endpoint}"
    keys = S3Keys(said("access.key"), said("secret.key"), said("session.token") or None, "spark.hadoop.fs.s3a")
    scratch = Path(spark.conf.get("spark.local.dir", None) or "/tmp")  # noqa: S108 - Spark's own default
    return S3Files(bucket, endpoint, said("endpoint.region"), (lambda: keys) if keys.access_key else None, scratch)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the application, as ``spark-submit … --py-files kac-lake.zip kac_lake.py update /mnt/lake inputs.json``, in
    the existing session or a new one. Write the report as JSON to standard output and return 0, or the error to
    standard error and return 1; exit with 2 if the arguments or the inputs are invalid. An error of Spark itself is
    raised.
    """
    options = argparse.ArgumentParser(prog="kac_lake.py")
    options.add_argument("job", choices=("update", "run"), help="take in once what is new, or go on")
    options.add_argument("lake", help="the lake: a path, or a URI as s3a://bucket/lake")
    options.add_argument("inputs", help="a JSON file, or the JSON itself: metadata_logs, request_logs, journals")
    options.add_argument("--max-bad-ratio", type=option(decimal_number, 0, 1), default=plans.MAX_BAD_RATIO)
    options.add_argument("--keep-days", type=option(natural_number, lowest=1))
    given = options.parse_args(argv)
    try:
        text = given.inputs if given.inputs.lstrip().startswith("{") else Path(given.inputs).read_text("utf-8")
        inputs = json_as(text, Inputs)
    except (OSError, ValueError) as wrong:
        options.error(f"the inputs can't be read: {wrong}")
    # Spark plans the sources in a separate Python process on the driver, which needs the driver's path of kac.
    zipped = str(Path(console.__file__).parents[1])
    with session({"spark.app.name": f"kac lake {given.job}", "spark.executorEnv.PYTHONPATH": zipped}) as spark:
        try:
            in_bucket = urlsplit(given.lake).scheme in ("s3", "s3a")
            lake = Lake.create(given.lake, files_of_s3a(spark, given.lake) if in_bucket else None)
            plan = lake_runs.Plan(lake, inputs, given.max_bad_ratio, keep_days=given.keep_days)
            if given.job == "update":
                report = update(plan, lambda: nullcontext(spark))
            else:
                stop = threading.Event()
                signal.signal(signal.SIGTERM, lambda *_: stop.set())
                report = run(plan, lambda: nullcontext(spark), _say, stop)
        except Exception as wrong:
            if (said := lake_runs.message_of(wrong)) is None:
                raise  # an error of Spark itself: Spark's page shows the whole traceback
            sys.stderr.write(f"kac_lake.py {given.job}: {said}\n")
            return 1
    sys.stdout.write(json_text(report.data()) + "\n")
    return 0


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")

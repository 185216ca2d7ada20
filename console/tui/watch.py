"""Background work of the screen: triage polls every few seconds and computes its verdict; the half hour takes a sample
every ten seconds; lint counts its findings each minute. `ShownCluster` combines these with the session.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import asdict, replace

from console.admin.errors import AdminError
from console.model.name_order import in_order, next_names
from console.model.parts import Part
from console.present.names import target
from console.session.scheduler import Pace, Scheduled, Turns
from console.session.snapshot_reader import Refused
from console.tui.reading import start

if TYPE_CHECKING:
    from textual.app import App
    from textual.worker import Worker

    from console.contexts import Context
    from console.lint.report import Report
    from console.lint.rule import Rule, Seen
    from console.model.failure import Failure
    from console.model.half_hour import HalfHour, Kind, Measure
    from console.present.changed import Changed
    from console.present.graphs import Chart, Graph, Moment
    from console.present.in_words import Sentence
    from console.present.overview import Shown
    from console.present.text import Line
    from console.session.muted_causes import MutedCauses
    from console.session.session import Session
    from console.triage.diagnosis import Verdict
    from console.triage.observations import Observations
    from console.triage.symptoms import Poll
    from console.tui.past import Journal
    from console.tui.reading import Contact, Reading
    from console.tui.topic_analyses import TopicAnalyses
    from console.tui.tour import Tour
    from console.tui.watching import Watching

log = logging.getLogger(__name__)

RESTS = Pace(every=0.0)
"""The pace of diagnoses: after each, there is a pause of ten times its duration."""
SAMPLE, OF_SAMPLES = "half hour", "rates and lags"
"""The names of the scheduled part that takes samples of the half hour, and of the part that reads their data."""
STEP = 1.0
"""Seconds between two checks whether a sample of the half hour is due."""
SETTLES = 3.0
"""Seconds after the first rows during which nothing is read for samples, so that the visible rows are read first."""
READS_EVERY, GROUPS_AT_ONCE = timedelta(seconds=10), 100
"""The time between two reads for samples; lags that another read refreshed in that time are not read again. And the
number of groups in one of these reads, which take the groups in turn."""
COUNTS, COUNTS_EVERY, FIRST_AFTER, LAST_AFTER = "lint", 60.0, 10.0, 40.0
"""The name of the scheduled part that counts findings for Now; the seconds between two counts; and those before the
first one: the minimum, which applies once triage has read all its parts, and the maximum, if it can't read some of
them."""
OLD_FOR_LINT = timedelta(seconds=30)
"""Age of a part of the snapshot above which the pane of lint reads it again."""
LOOKS = Pace(5.0, rest=20.0)
"""The pace at which the rules of lint run while its pane is visible: rules over 100,000 topics take seconds of CPU
time.
"""


class Watch:
    """Triage in the background. It begins when the pane of causes is first shown, and continues while other panes are
    visible, so that the start time of each cause is known.

    Attributes:
        observations, verdict: the state after the last poll; None before the first.
        lost: the reason why no broker answers; None while at least one does.
        muted: id of a cause (`cause_id`) -> the end of its mute, UTC.
        seen: id of a cause in the verdict -> the time when it was first seen, UTC.
        tour: the tour of a demo, below the causes; None without a tour.
        request_logs: the paths of the brokers' request logs, as files on this host.
        reading: the session, and whether its reads are paused.
    """

    def __init__(
        self,
        app: App[Any],
        reading: Reading,
        write_tabs: Callable[[], None],
        redraw: Callable[[], None],
    ) -> None:
        """Create the watch; `begin` starts its worker.

        Args:
            app: the app, which runs the worker.
            reading: the session, and whether its reads are paused.
            write_tabs: writes the line of panes, which has the number of causes.
            redraw: redraws the visible view.
        """
        self._app, self._session, self.reading = app, reading.session, reading
        self._write_tabs, self._redraw = write_tabs, redraw
        self._worker: Worker[None] | None = None
        self.observations: Observations | None = None
        self.verdict: Verdict | None = None
        self.lost: Failure | None = None
        self.muted: Mapping[str, datetime] = {}
        self.seen: Mapping[str, datetime] = {}
        self.tour: Tour | None = None
        self.request_logs: Sequence[Path] = ()
        self._is_asked = False
        self._diagnoses = Turns(RESTS)
        self._first = asyncio.Event()

    def begin(self) -> None:
        """Start to poll and diagnose in a worker; while the live refresh is paused, only once."""
        self._is_asked = True
        if not self.is_on:
            self._worker = start(self._app, self._run, group="watch", name="watch")

    @property
    def is_on(self) -> bool:
        """Whether the worker runs."""
        return self._worker is not None and not self._worker.is_finished

    async def first(self) -> None:
        """Wait for the first verdict, or until a poll fails."""
        await self._first.wait()

    @property
    def is_led(self) -> bool:
        """Whether the metadata quorum may have a leader: False if the last poll found none, True before the first
        poll.
        """
        if self.observations is None:
            return True
        from console.triage.symptoms import CLUSTER, NO_QUORUM_LEADER

        return (NO_QUORUM_LEADER, CLUSTER) not in self.observations.seen

    @property
    def alarm(self) -> int:
        """The number of causes of trouble that are not muted; 0 before the first verdict."""
        from console.present.triage import alarms

        return alarms(self.verdict, self.muted) if self.verdict is not None else 0

    async def mute(self, causes: Collection[str], until: datetime | None) -> None:
        """Mute causes, given by id, until a time (UTC); if `until` is None, end their mutes."""
        rest = {name: when for name, when in self.muted.items() if name not in causes}
        self.muted = rest if until is None else {**rest, **dict.fromkeys(causes, until)}
        self._show()
        await self._keep_muted()

    async def _keep_muted(self) -> None:
        await asyncio.to_thread(self._kept().write, self._cluster, self.muted)

    @property
    def _cluster(self) -> str:
        return self._session.snapshot.cluster.cluster_id or ""

    def _kept(self) -> MutedCauses:
        from console.session.muted_causes import of_this_user

        return of_this_user()

    def _show(self) -> None:
        self._write_tabs()
        self._redraw()

    async def _run(self) -> None:
        from console.session.triage_polls import EVERY, Poller

        async with Poller(self._session, self.request_logs) as poller:
            while True:
                if self.reading.held or (self.reading.paused and not self._is_asked):
                    await asyncio.sleep(EVERY)
                    continue
                self._is_asked = False
                try:
                    await self._take(await poller.poll())
                    if self.observations is not None:
                        poller.follow(self.observations)
                except (AdminError, Refused) as error:
                    self._has_lost(error)
                await poller.rest()

    def _has_lost(self, error: AdminError | Refused) -> None:
        """Record that a poll failed; the last verdict stays visible. If the poll before did not fail, also read
        everything that the screen shows now, to find out whether brokers answer.
        """
        if self.lost is None:
            log.warning("triage: %s", error.failure)
            self.reading.now()
        self.lost = error.failure
        self._first.set()
        self._redraw()

    async def _take(self, poll: Poll) -> None:
        """Diagnose a poll, unless the last diagnosis was too recent. If the poll before failed, also read everything
        that the screen shows now.
        """
        if self.lost is not None:
            self.lost = None
            self.reading.now()
        if not self._diagnoses.is_due():
            return
        with self._diagnoses:
            await self._diagnose(poll)
        self._first.set()
        self._show()

    async def _diagnose(self, poll: Poll) -> None:
        from console.present.triage import cause_id, cause_rows
        from console.triage.diagnosis import diagnose
        from console.triage.observations import after, begin

        known = self.observations
        observations = await (
            asyncio.to_thread(begin, poll) if known is None else asyncio.to_thread(after, known, poll)
        )
        verdict = await asyncio.to_thread(diagnose, observations, (), self.verdict)
        self.verdict = _steady(self.verdict, verdict)
        now_seen = (cause_id(row.claim) for row in cause_rows(self.verdict, {}))
        self.seen = {cause: self.seen.get(cause, poll.at) for cause in now_seen}
        if self.observations is None:
            self.muted = await asyncio.to_thread(self._kept().read, self._cluster)
        elif any(until <= poll.at for until in self.muted.values()):
            self.muted = {cause: until for cause, until in self.muted.items() if until > poll.at}
        self.observations = observations


def _steady(before: Verdict | None, now: Verdict) -> Verdict:
    """Return `now`, with each field that equals that of `before` replaced by the same object, so that views do not
    redraw it.
    """

    known = asdict(before) if before is not None else {}
    same = {name: known[name] for name, value in asdict(now).items() if known.get(name) == value}
    return replace(now, **same)


class Drawn(NamedTuple):
    """The lines of a chart, each with the graph that it belongs to."""

    lines: Sequence[tuple[Line, Graph | None]] = ()
    seconds: int = 0
    """The number of seconds that a column of the chart covers; 0 without a chart."""


NO_GRAPHS = "there is no graph on the screen: a taller one has some, and ^G"
IN_WORDS = "there are no graphs to move in: with slow_link = true they are sentences"


class HalfHourWatch:
    """Takes samples of the cluster for the graphs of the last half hour, from the first response on. It reads their
    data if triage does not.

    Attributes:
        known: the samples so far; None before the first.
        usage: throttled client, from the lake -> number of a time slot -> requests per minute; None if no lake was
            read.
        moment: the column that the cursor in time marks; None without a cursor in time.
        left_at: the column that the cursor in time marked when the operator last left a place; None if there was no
            cursor in time, or if the operator has removed it since.
    """

    def __init__(self, triage: Watch, journal: Journal, redraw: Callable[[], None], *, in_words: bool = False) -> None:
        """Create the watch; `begin` adds its reads to those of the screen.

        Args:
            triage: has the session, and reads all needed data while it runs.
            journal: the journal's watch, which has the events.
            redraw: redraws the visible view.
            in_words: whether sentences replace the graphs; a sentence changes only if its meaning changes.
        """
        self._reading, self._session = triage.reading, triage.reading.session
        self._triage, self._journal, self._redraw = triage, journal, redraw
        self._has_begun = False
        self._next_group = ""
        self.known: HalfHour | None = None
        self.usage: Mapping[str, Mapping[int, float]] | None = None
        self.moment: Moment | None = None
        self.left_at: Moment | None = None
        self.in_words = in_words
        self._told: dict[tuple[Kind, str] | None, Mapping[Any, Sentence]] = {}
        self.no_graphs = IN_WORDS if in_words else NO_GRAPHS
        """The reason why there are no graphs in which the cursor in time could move."""

    def begin(self) -> None:
        """Start to take samples; while the live refresh is paused, only one. On a connection to controllers, the
        samples use only data that other reads bring.
        """
        reads = self._reading.reads
        if not self._has_begun:
            self._has_begun = True
            reads.put(Scheduled(SAMPLE, Pace(STEP, rest=0.0), self._take))
            if not self._reading.at_controllers:
                reads.put(
                    Scheduled(
                        OF_SAMPLES, Pace(READS_EVERY.total_seconds()), self._read, may=lambda: not self._triage.is_on
                    ),
                    SETTLES,
                )
        reads.hurry(SAMPLE)

    def shown(self) -> Shown:
        """Return the data of the cluster's graphs: samples, marks of events, times until disks are full, throttled
        clients, groups.
        """
        from console.present.overview import Shown

        samples = self.known.samples if self.known is not None else ()
        known = self._session.snapshot
        groups = known.groups if Part.GROUPS in known.read_at else None
        return Shown(samples, self._journal.marks(), known.rates.seconds_left, self.usage or {}, groups)

    @property
    def newest(self) -> int | None:
        """The time of the newest sample, Unix seconds; None before the first."""
        from console.model.half_hour import EVERY, OWN_EVERY

        known = self.known
        if known is None or not (known.samples or known.own):
            return None
        return known.samples[-1].slot * EVERY if known.samples else known.own[-1].slot * OWN_EVERY

    def leave_moment(self) -> None:
        """Remove the cursor in time, because another place is shown; the first key there puts it on the same time. Also
        discard the printed sentences.
        """
        self._told.clear()
        self.moment, self.left_at = None, self.moment or self.left_at

    def cluster(self, width: int, room: int) -> Drawn:
        """Return the chart of the cluster, at most `room` lines of `width` cells; no lines before the first sample, or
        if the chart does not fit.
        """
        if self.in_words:
            return self._in_words(self.sentences(None).values(), width, room)
        from console.present.overview import overview_chart

        return self._drawn(overview_chart(self.shown(), width, room - 2), width, room, "^G")

    def own(self, kind: Kind, name: str, width: int, room: int, readers: Collection[str] = ()) -> Drawn:
        """Return the chart of one topic, group or broker (`console.present.overview.own_chart`), at most `room` lines
        of `width` cells; no lines if there are no samples of it, or if the chart does not fit.

        Args:
            readers: names of the groups that read the topic.
        """
        if self.in_words:
            return self._in_words(self.sentences((kind, name)).values(), width, room)
        from console.present.overview import own_chart

        samples = self.known.own if self.known is not None else ()
        full_in = self._session.snapshot.rates.seconds_left
        chart = own_chart(samples, kind, name, width, readers, full_in, self._journal.marks())
        return self._drawn(chart, width, room)

    def sentences(self, about: tuple[Kind, str] | None) -> Mapping[Any, Sentence]:
        """Return sentences about the last half hour of the cluster (`about` is None), or of a topic, group or broker;
        empty before the first sample.
        """
        from console.present.in_words import cluster_graphs, own_graphs, still_told

        known = self.known
        if known is None:
            return {}
        now: Mapping[Any, Sentence] = cluster_graphs(known) if about is None else own_graphs(known, *about)
        told = still_told(self._told.get(about, {}), now)
        # Keep only the sentences of the cluster and of the row under the cursor.
        for other in [key for key in self._told if key not in (None, about)]:
            del self._told[other]
        self._told[about] = told
        return told

    def _in_words(self, told: Iterable[Sentence], width: int, room: int) -> Drawn:
        from console.tui.text_lines import wrap_all

        lines = wrap_all(([(each.text, "")] for each in told), max(20, width - 2), 2)
        return Drawn([([(" ", ""), *line], None) for line in lines[:room]])

    def _drawn(self, chart: Chart | None, width: int, room: int, more: str = "") -> Drawn:
        from console.present.graphs import laid_out

        if chart is None or not (lines := laid_out(chart, room, width, more, self.moment)):
            return Drawn()
        return Drawn(lines, chart.axis.seconds)

    def inputs(self) -> tuple[object, ...]:
        """Return the objects that graphs are drawn from; each stays the same object until it changes."""
        record = self._journal.events.record
        return self.known and self.known.samples, record and record.events, self.usage

    def learn_usage(self, usage: Mapping[str, Mapping[int, float]]) -> None:
        """Store which clients were throttled, from the lake: client -> number of a time slot -> requests per minute."""
        if usage != self.usage:
            self.usage = usage
            self._redraw()

    async def _take(self) -> None:
        """Take a sample of the snapshot if one is due. No-op before the first read."""
        now, snapshot = self._session.clock.now(), self._session.snapshot
        if not snapshot.read_at:
            return
        if self.known is None:
            # Import only now, because the first rows must not wait for this module.
            from console.model.half_hour import HalfHour

            self.known = HalfHour()
        if not self.known.is_due(now):
            return
        throttled, totals = await self._throttled(), await self._session.rates.sum_up(snapshot)
        before, self.known = self.known, await asyncio.to_thread(self.known.after, snapshot, now, throttled, totals)
        if self.known.own is not before.own:
            from console.session.kept_record import return_free_pages

            return_free_pages()
        self._redraw()

    async def _throttled(self) -> Mapping[Measure, float]:
        """Return how many requests per minute brokers throttled: those of kac, from the responses; and those of
        other clients, from the brokers' request logs, if kac reads these logs.
        """
        from console.admin.cluster import count_throttled
        from console.model.half_hour import throttled_by_log, throttled_kac

        found = throttled_kac(await self._session.client.run(count_throttled))
        if (observations := self._triage.observations) is not None:
            found = {**found, **throttled_by_log(observations.last.facts.request_logs.throttled)}
        return found

    async def _read(self) -> None:
        """Read the log end offsets and log directories for rates; if lags were not read within `READS_EVERY`, also
        the lags of the next groups.
        """
        session = self._session
        await session.rates.read((), self._reading.contact.silent)
        at = session.snapshot.read_at.get(Part.LAGS)
        if at is None or session.clock.now() - at >= READS_EVERY:
            names = next_names(in_order(session.snapshot.groups), self._next_group, GROUPS_AT_ONCE)
            self._next_group = names[-1] if names else ""
            await session.poll_groups(names)


class LintWatch:
    """The findings of lint's last run. Its rules run on another thread.

    Attributes:
        report: the findings; None before the first run.
        missing: lines about entities whose data could not be read.
        problem: the reason why the last read for the pane failed; None if it did not.
    """

    def __init__(self, triage: Watch, redraw: Callable[[], None]) -> None:
        """Create the watch. `begin` starts the counts for the pane Now, `read` runs the rules for the pane of lint.

        Args:
            triage: reads most of the data that the rules need.
            redraw: redraws the visible view.
        """
        self._triage, self._reading, self._redraw = triage, triage.reading, redraw
        self._session = triage.reading.session
        self._looks = Turns(LOOKS)
        self._began: float | None = None
        self._rules: Sequence[Rule] = ()
        self._parts: frozenset[Part] = frozenset()
        self._seen: object = None
        self.report: Report | None = None
        self.missing: Sequence[str] = ()
        self.problem: Failure | None = None

    def begin(self) -> None:
        """Start to count the findings for the pane Now at intervals; no-op at later calls."""
        if self._began is None:
            self._began = time.monotonic()
            pace = Pace(COUNTS_EVERY, rest=30.0)
            self._reading.reads.put(Scheduled(COUNTS, pace, self._count, may=self._may_count), FIRST_AFTER)

    def _may_count(self) -> bool:
        observations, began = self._triage.observations, self._began
        if observations is None or began is None:
            return False
        return not observations.last.unread or time.monotonic() - began > LAST_AFTER

    async def _count(self) -> None:
        from console.session.lint_reading import seen_by

        session = self._session
        await self._look(seen_by(session.snapshot, session.clock.now(), session.context))

    async def read(self) -> None:
        """Read the data that the rules need, and run the rules, if something changed or is old; at most at the pace
        `LOOKS`. If the read fails, store the reason in `problem`, and keep the last report.
        """
        snapshot = self._session.snapshot
        if not self._looks.is_due() or (self.report is not None and snapshot is self._seen and self._is_fresh()):
            return
        from console.session.lint_reading import read_for_lint

        with self._looks:
            try:
                # Leave the certificates to triage, which reads them once an hour: a handshake for each lint would be
                # too many.
                seen = await read_for_lint(self._session, self.readable(), OLD_FOR_LINT)
            except (AdminError, Refused) as error:
                log.warning("reading for lint: %s", error.failure)
                self.problem = error.failure
                self._redraw()
            else:
                self.problem = None
                await self._look(seen)

    def readable(self) -> Sequence[Rule]:
        """Return the rules for which the session can read all data: only a few on a connection to controllers. Rules
        about certificates are left out, because triage reads the certificates.
        """
        from console.lint.rules import RULES
        from console.session.lint_reading import absent_parts

        if not self._rules:
            at_controllers = self._reading.at_controllers
            unread = {Part.CERTIFICATES, *absent_parts(self._session.context)}
            self._rules = [
                rule
                for rule in RULES
                if unread.isdisjoint(rule.reads)
                and (not at_controllers or all(part.about.at_controllers for part in rule.reads))
            ]
        return self._rules

    def _needed(self) -> frozenset[Part]:
        """Return the parts of the snapshot that the rules need and that are read completely at one time. Parts whose
        entities are read separately are not returned.
        """
        if not self._parts:
            parts = (part for rule in self.readable() for part in rule.reads)
            self._parts = frozenset(part for part in parts if not part.about.by_members)
        return self._parts

    def _is_fresh(self) -> bool:
        """Return whether every needed part was read within the last 30 s (`OLD_FOR_LINT`)."""
        now, read_at = self._session.clock.now(), self._session.snapshot.read_at
        return all(part in read_at and now - read_at[part] < OLD_FOR_LINT for part in self._needed())

    def progress(self) -> tuple[int, int]:
        """Return the number of needed parts that have been read, and the number of needed parts."""
        return sum(part in self._session.snapshot.read_at for part in self._needed()), len(self._needed())

    async def _look(self, seen: Seen) -> None:

        observations = self._triage.observations
        if observations is not None and Part.CERTIFICATES not in observations.last.unread:
            seen = replace(seen, certificates=observations.last.facts.certificates)
        self._seen = seen.snapshot
        self.report, self.missing = await asyncio.to_thread(_reported, seen)
        self._redraw()


def _reported(seen: Seen) -> tuple[Report, Sequence[str]]:
    from console.lint.report import lint, partly

    return lint(seen, target), tuple(partly(seen))


def watching_of(context: Context, wanted: str) -> Callable[[], Watching]:
    """Return a function that returns the watched subjects; its first call creates them.

    Args:
        wanted: the name of the context's set to begin with; ``""`` for no set.
    """

    @cache
    def watching() -> Watching:
        from console.tui.watching import Watching

        return Watching(context, wanted)

    return watching


class ShownCluster(NamedTuple):
    """The cluster as all views use it: the session and the background work about it."""

    reading: Reading
    """The session, and its reads."""
    triage: Watch
    """Triage, which finds the causes of trouble."""
    half_hour: HalfHourWatch
    """The samples of the last half hour."""
    changed: Changed
    """The marks of changes since the operator's last refresh."""
    lint: LintWatch
    """Lint, with its findings."""
    analyses: Callable[[], TopicAnalyses]
    """Returns the runner of topic analyses, created on first use."""
    watching: Callable[[], Watching]
    """Returns the watched subjects, created on first use."""

    @property
    def session(self) -> Session:
        """The visible session."""
        return self.reading.session

    @property
    def contact(self) -> Contact:
        """When and whether the cluster answered."""
        return self.reading.contact

    def answering(self) -> list[int]:
        """Return the ids of the brokers that answer; on a connection to controllers, the ids of the controllers that
        answer. A request to a node that does not answer would last until its timeout.
        """
        silent, cluster = self.contact.silent, self.session.snapshot.cluster
        return [node.id for node in cluster.brokers or cluster.controllers if node.id not in silent]

"""The pane Now, the first of the console: the causes of present trouble, the worst first."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.events import Key

from console.model.codes import CONNECTOR
from console.model.config import ConfigResource, topic_resource
from console.present import triage as present_triage
from console.present.columns import clock
from console.present.failures import wrapped
from console.present.text import Line, clean
from console.tui import keymap
from console.tui.panes.details import EVIDENCE, DetailsView, Graphs
from console.tui.places import Place, pane_named, view_place
from console.tui.reading import start
from console.tui.text_lines import TextLines
from console.tui.tools import Tools
from widgets.line_view import LineView

if TYPE_CHECKING:
    from console.model.half_hour import Kind
    from console.triage.symptoms import Subject
    from console.tui.next_steps import NextSteps
    from console.tui.panes.details import DrawnLines
    from console.tui.watch import ShownCluster


WHOLE = 12
"""Maximum number of lines about ruled-out causes, if the details are next to the table or have many lines below it.
Otherwise there is at most one such line.
"""
SHARE, OF_CLUSTER = 60, 6
"""Minimum percentage of the height for the cluster's graphs below a table that is next to its evidence; and the minimum
number of free lines for showing them below the graphs of the row's subject."""
UNREAD = 2.0
"""Seconds for which a cause that appeared under the cursor counts as unread: a key that changes something does not act
on it.
"""


class WithCluster(Graphs):
    """The graphs of the pane. Those of the cause's topic, group or broker are below the evidence. Those of the
    cluster are below the causes on a wide screen, else below all other lines.
    """

    def left(self, width: int, height: int) -> DrawnLines:
        """Return the graphs of the cluster, for the lines below the table."""
        room = max(height * SHARE // 100, height - self._view.table.lines_wanted(width)) - 1
        return self._view.drawn(self._view.cluster.half_hour.cluster(width, room))

    def below(self, width: int, room: int) -> Sequence[Line]:
        """Return the graphs of the topic, group or broker of the row under the cursor; on a screen that is not wide,
        also those of the cluster, if they fit.
        """
        view = self._view
        found = [line for line, _ in view.own_graphs(width, room)]
        left = room - len(found) - 1
        if view.has_class("wide") or left < OF_CLUSTER:
            return found
        of_cluster = [line for line, _ in view.drawn(view.cluster.half_hour.cluster(width, left))]
        return [*found, *([[]] if found else []), *of_cluster]


class NowView(DetailsView[present_triage.CauseRow]):
    """One row for each cause; Enter shows the evidence. Graphs of the cause's topic, group or broker are below the
    evidence; on a wide screen, graphs of the cluster are below the causes.
    """

    NAME = keymap.NOW
    ENTER = "evidence"
    MARKS = False
    NOUN = present_triage.CAUSES
    DETAILS_AFTER = 0.0
    TAKES = EVIDENCE
    GRAPHS = WithCluster

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._tools = tools
        self._fell_from = ""
        self._worst: Hashable | None = None
        self._came_at = -inf

    @cached_property
    def _steps(self) -> NextSteps:
        """The action of the key that stages a fix; created on first use."""
        from console.tui.next_steps import NextSteps

        return NextSteps(self._tools)

    def compose(self) -> ComposeResult:
        """Yield the breadcrumbs, the table above the graphs of the cluster, and the details; in a demo also the lines
        of the tour.
        """
        yield from super().compose()
        if (tour := self.cluster.triage.tour) is not None and tour.is_shown:
            from console.tui.tour import LINES

            lines = TextLines(classes="tour")
            lines.set(*LINES)
            yield lines

    def draw(self) -> None:
        """Draw the causes. The cursor stays on the worst cause until the operator moves it. Then it stays on its cause;
        if that is gone, it moves to another cause of the same entity.

        If there is no such cause, the cursor is on a row that the operator did not choose. The next key that would
        change something for that row then only shows a message.
        """
        before = self.row()
        is_led = before is None or self.key(before) == self._worst
        super().draw()
        if before is not None and self.table.is_gone(self.key(before)):
            rows = self.rows()[:1] if is_led else self.rows()
            same = [row for row in rows if is_about(row.claim.subject, before.claim.subject)]
            if not any(self.table.move_cursor(self.key(row)) for row in same[:1]) and self.row() is not None:
                if is_led:
                    self.table.action_first()
                self._fell_from = before.claim.title
                self._show_details()
        elif is_led and self.table.cursor_index > 0:
            self.table.action_first()
            self._came_at = monotonic()
            self._show_details()
        self._worst = self.table.cursor_key if is_led and self.table.cursor_index == 0 else None

    def subject(self) -> tuple[Kind, str] | None:
        """Return the kind and name of the cause's topic, group or broker; None for any other subject, such as a
        listener.
        """
        row = self.row()
        about = row.claim.subject if row is not None else None
        if about is None:
            return None
        if about.group is not None:
            return "group", about.group
        if about.topic is not None:
            return "topic", about.topic
        return ("broker", str(about.broker)) if about.broker is not None else None

    def on_key(self, event: Key) -> None:
        """Update the state of the cursor for a pressed key, and hide the tour; the key then does its own work.

        After a key that changes nothing, the cursor's row counts as seen. After a key that moves the cursor, its row
        counts as chosen, even if it is the only one.
        """
        if event.key in MOVES:
            self._worst, self._came_at = None, -inf
        if event.character not in CHANGING:
            self._fell_from = ""
        tour = self.cluster.triage.tour
        if tour is None or not tour.is_shown:
            return
        tour.is_shown = False
        self.query(".tour").set(display=False)
        # Write the file of the tour in a thread, so that a slow disk does not delay keys.
        start(self.app, partial(asyncio.to_thread, tour.end), group="tour", name="tour")

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the verdict without its time, the muted causes, the unread
        parts of the snapshot, and the samples of the last half hour; before the first verdict, the cluster and the
        topics.
        """
        watch = self.cluster.triage
        verdict, observations = watch.verdict, watch.observations
        if verdict is None or observations is None:
            return (self.snapshot.cluster, self.snapshot.topics)
        parts = verdict.causes, verdict.unexplained, verdict.ruled_out, verdict.unknowable, verdict.unread
        last, lint = observations.last, self.cluster.lint.report
        return (*parts, last.unread, watch.muted, watch.lost, self.plan, lint, *self.cluster.half_hour.inputs())

    def known(self) -> bool:
        """Return whether triage has computed a verdict."""
        return self.cluster.triage.verdict is not None

    async def read(self) -> None:
        """Start triage, which continues when another view is shown, and wait for the first verdict.

        Later calls read the cluster, because a verdict stays when brokers stop answering.

        Raises:
            AdminError: no broker answered.
        """
        self.cluster.half_hour.begin()
        self.cluster.triage.begin()
        self.cluster.lint.begin()
        if self.known():
            await self.session.read_cluster()
        await self.cluster.triage.first()

    def rows(self) -> Sequence[present_triage.CauseRow]:
        """Return the causes, muted ones last, then a row that counts the findings of lint if there are any; empty
        before the first verdict.
        """
        watch = self.cluster.triage
        if watch.verdict is None:
            return ()
        found = present_triage.cause_rows(watch.verdict, watch.muted, watch.seen)
        return found if (row := lint_row(self.cluster)) is None else [*found, row]

    def key(self, row: present_triage.CauseRow) -> Hashable:
        """Return the row's key: the cause and the entity that it is about."""
        return row.claim.cause, row.claim.subject

    def words(self, row: present_triage.CauseRow) -> str:
        """Return the text that the filter searches: the cause, and the entity that it is about."""
        return f"{row.claim.cause} {row.claim.title} {present_triage.subject_text(row.claim.subject)}"

    def in_trouble(self, row: present_triage.CauseRow) -> bool:
        """Return whether the cause counts as trouble: it is certain, not muted, and more severe than information."""
        return row.counts

    def nothing_yet(self) -> str:
        """Return the text before the first verdict: the reads under way, or why the cluster can't be read."""
        contact = self.cluster.contact
        return present_triage.polling_text(self.snapshot) if contact.is_current else super().nothing_yet()

    def empty_text(self) -> str:
        """Return the text of a table without rows: that kac found no trouble, and the checks that ran."""
        observations = self.cluster.triage.observations
        if observations is None or self.filter_text:
            return super().empty_text()
        return wrapped(present_triage.healthy_text(observations), self.app.size.width)

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the number of causes; the pane's name before the first verdict."""
        watch = self.cluster.triage
        return present_triage.counts(watch.verdict, watch.muted) if watch.verdict is not None else [("now", "strong")]

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: how long triage has observed the cluster; if the cluster does not
        answer, the time of the last observation. Empty before the first poll.
        """
        watch = self.cluster.triage
        if watch.observations is None:
            return []
        if watch.lost is not None:
            return [(f"STALE since {clock(watch.observations.last.at)}", "stale")]
        return present_triage.watched(watch.observations)

    def details(self, row: present_triage.CauseRow) -> list[Line]:
        """Return the cause as title, then its evidence, the symptoms that it explains, and the next steps."""
        verdict = self.cluster.triage.verdict
        width = self.text_width
        staging = self._steps.staging(row.claim.next) if not self._fell_from else None
        if verdict is None:
            return [[("", "")]]
        is_roomy = self.has_class("wide") or self.room[1] > EVIDENCE[1]
        lines = present_triage.details(row, verdict, staging, width, WHOLE if is_roomy else 1)
        observations = self.cluster.triage.observations
        if row.claim.cause != present_triage.LINT_ROW or not verdict.is_calm or observations is None:
            return lines
        # Without causes, an empty table would list the checks of triage. As lint's row is in the table, list them here.
        return [*lines, *([(text, "")] for text in present_triage.healthy_text(observations).split("\n"))]

    def target(self) -> ConfigResource | None:
        """Return the config resource of the cause's topic; None if the cause is not about a topic."""
        row = self.row()
        topic = row.claim.subject.topic if row is not None else None
        return topic_resource(topic) if topic is not None else None

    def copied(self) -> str:
        """Return the text that `y` copies: the report of triage as Markdown; ``""`` before the first verdict."""
        from console.answers.triage import markdown

        verdict, observations = self.cluster.triage.verdict, self.cluster.triage.observations
        if verdict is not None and observations is not None:
            return markdown(verdict, observations.watched.total_seconds())
        return ""

    def _chosen(self) -> present_triage.CauseRow | None:
        """Return the row under the cursor; None without rows. If the operator has not moved the cursor to the row
        (the cursor's former row is gone, or a worse cause came within the last `UNREAD` seconds), show a message
        and return None once; the next key applies to the row.
        """
        row = self.row()
        if row is not None and monotonic() - self._came_at < UNREAD:
            self._came_at = -inf
            self._message.say("a worse cause came, and the cursor is on it now: the key once more means it", "pending")
            return None
        if row is not None and self._fell_from:
            self._message.say(f"gone: {clean(self._fell_from, 100)}; the cursor is on another cause now", "pending")
            self._fell_from = ""
            self._show_details()
            return None
        return row

    async def do_mute(self) -> None:
        """Mute the cause under the cursor for an hour. If it is muted already, end its mute, so that it counts as
        trouble again.
        """
        row = self._chosen()
        if row is None:
            return
        until = None if row.muted is not None else datetime.now(UTC) + present_triage.MUTED_FOR
        await self.cluster.triage.mute(present_triage.member_ids(row.claim), until)
        self._message.say(f"muted until {clock(until)}; m ends it" if until is not None else "counted again", "muted")

    async def do_events_of(self) -> None:
        """Show the events about the cause's topic, group, connector or broker."""
        from console.tui.panes.events import events_of

        row = self.row()
        if row is not None:
            await self._navigator.goto(events_of(row.claim.subject))

    def do_fix(self) -> None:
        """Stage the first step of the fix that has edits or a command; if its command only shows something, open the
        command bar with it.
        """
        row = self._chosen()
        if row is None:
            return
        if row.claim.cause == present_triage.LINT_ROW:
            self._message.say("Enter lists them: F mends the one under the cursor there", "muted")
        else:
            self._steps.take(row.claim.next, self.app)

    async def enter(self, row: present_triage.CauseRow) -> None:
        """Show the place with the evidence of the cause."""
        subject = row.claim.subject
        if row.claim.cause.startswith(present_triage.UNEXPLAINED) and row.named.examples:
            subject = row.named.examples[0]
        place, at = evidence_of(row.claim.cause, subject)
        await self._navigator.goto(place, row=at)


MOVES = frozenset(
    key.strip() for binding in LineView.BINDINGS if isinstance(binding, Binding) for key in binding.key.split(",")
)
"""The keys that move the cursor of the table."""
CHANGING = ("F", "m")
"""The characters of the keys that change something for the row under the cursor: stage an edit, or mute the cause."""


def lint_row(cluster: ShownCluster) -> present_triage.CauseRow | None:
    """Return the row that counts the findings of lint; None before lint has run, or if it found nothing."""
    report = cluster.lint.report
    if report is None or not report.open:
        return None
    from console.answers.lint_rows import now_row

    return now_row(report, cluster.triage.muted)


def is_about(one: Subject, other: Subject) -> bool:
    """Return whether two subjects are the same broker, partition, group or other entity, whatever config key or other
    attributes they have. False if they name no entity.
    """
    places = [
        (s.broker, s.topic, s.partition, s.group, s.rack, s.dir, s.listener, s.entity, s.connector, s.task)
        for s in (one, other)
    ]
    return places[0] == places[1] and any(each is not None for each in places[0])


def evidence_of(cause: str, subject: Subject) -> tuple[Place, Hashable | None]:
    """Return the place that shows the evidence of a cause.

    Returns:
        The place, and the key of the row there with the evidence; None as key if no single row has it.
    """
    if cause == present_triage.LINT_ROW:
        return view_place(keymap.LINT), None
    if cause == "access-changed":
        return pane_named(keymap.ACLS), None
    if subject.group is not None:
        row = (subject.topic, subject.partition) if subject.topic is not None else None
        return Place(keymap.GROUP, pane_named(keymap.GROUPS).pane, subject.group), row
    if subject.connector is not None:
        about = ConfigResource(CONNECTOR, subject.connector)
        return view_place(keymap.CONNECTOR)._replace(about=about), subject.task
    if cause in _OF_CONNECT:
        return view_place(_OF_CONNECT[cause]), None
    if subject.topic is not None and cause in _OF_TRANSACTIONS:
        # Name no row: its key would contain the producer's id, which the cause does not have. The view shows hanging
        # transactions first.
        return Place(keymap.TRANSACTIONS, pane_named(keymap.TOPICS).pane, topic_resource(subject.topic)), None
    if subject.topic is not None:
        view = keymap.CONFIGS if cause in _OF_CONFIGS else keymap.TOPIC
        at: Hashable | None = (subject.key or _OF_CONFIGS[cause]) if cause in _OF_CONFIGS else subject.partition
        return Place(view, pane_named(keymap.TOPICS).pane, topic_resource(subject.topic)), at
    if cause in _OF_GROUPS:
        return pane_named(keymap.GROUPS), None
    if (subject.entity or "").startswith(_SCHEMA):
        return view_place(keymap.SCHEMAS), (subject.entity or "").removeprefix(_SCHEMA)
    if cause in _OF_FEATURES:
        return view_place(keymap.FEATURES), (subject.entity or "").removeprefix("feature ")
    if subject.entity is not None and (view := _view_of_rule(cause)) in keymap.VIEWS:
        return view_place(view), None
    brokers = pane_named(keymap.BROKERS)
    if cause in _OF_QUORUM:
        return brokers._replace(view=keymap.QUORUM), None
    return brokers, str(subject.broker) if subject.broker is not None else None


def _view_of_rule(name: str) -> str:
    """Return the name of the view that shows the data of a rule of lint; ``""`` if no rule has the name."""
    from console.lint.rules import BY_NAME

    return keymap.view_of(BY_NAME[name].reads[0]) if name in BY_NAME else ""


_OF_CONFIGS = {
    "min-isr-impossible": "min.insync.replicas",
    "replication-throttled": "leader.replication.throttled.replicas",
}
"""Cause -> the config key of a topic that is its evidence."""
_OF_CONNECT = {
    "worker-gone": keymap.CONNECT_WORKERS,
    "connect-unreachable": keymap.CONNECT_WORKERS,
    "connect-rebalancing": keymap.CONNECTORS,
    "connector-failed": keymap.CONNECTORS,
    "task-failed": keymap.CONNECTORS,
    "mirror-stopped": keymap.MIRRORS,
    "mirror-halted": keymap.MIRRORS,
}
"""Cause -> the name of the view about Connect with its evidence, for a cause that is not about a single connector."""
_OF_TRANSACTIONS = frozenset({"transaction-hanging", "transaction-undelivered", "transaction-open"})
"""Causes whose evidence is an open transaction in a topic."""
_OF_GROUPS = frozenset(
    {
        "consumer-slow",
        "consumer-stuck",
        "group-rebalancing",
        "group-stopped",
        "groups-without-members",
        "offsets-ahead",
        "offsets-out-of-range",
        "quota-exceeded",
    }
)
"""Causes whose evidence is in the groups pane, unless they are about a single group."""
_SCHEMA = "schema "
"""Prefix of the name of an entity that is a subject in the schema registry."""
_OF_FEATURES = frozenset({"feature-behind", "metadata-version-behind"})
"""Causes whose evidence is the finalized level of a feature."""
_OF_QUORUM = frozenset(
    {
        "broker-stopped",
        "brokers-stopped",
        "controller-down",
        "quorum-lost",
        "quorum-unstable",
        "voter-formatted",
        "voter-lagging",
    }
)

"""The pane of events: the changes since the console began, the latest first; with a lake, older changes below them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from console.lake.reader import PAGE, Tables, Wanted, first_polls, timeline
from console.model.codes import CONNECTOR
from console.model.config import ConfigResource, broker_resource, topic_resource
from console.model.derived import Derived
from console.model.quota import QuotaEntity
from console.present import events as present_events
from console.present.columns import clock
from console.present.lake_rows import change_lines
from console.present.names import plural
from console.present.text import Cell, Line, clean
from console.present.timeline import PastRow, as_event, change_row
from console.session.event_reversal import event_lines, way_back
from console.session.lake_staging import NoEdit, edit_text
from console.triage.events import Event
from console.triage.symptoms import Subject
from console.tui import keymap, places
from console.tui.panes.history import lake_entities, lake_wish
from console.tui.panes.lake_view import NO_ANSWER, LakeView
from console.tui.places import pane_named
from console.tui.tools import Tools

Row = Event | PastRow


class EventsView(LakeView[Row]):
    """One row for each event; Enter stages the edits that revert it."""

    NAME = keymap.EVENTS
    MARKS = False
    TABLE = "history"
    ENTER = "take back"
    COLUMNS = present_events.EVENTS.layout
    NEWEST_FIRST = True
    ADDS = "no lake: `kac lake collect` adds what changed before, and who did it"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._journal = tools.journal
        self._kinds = 0
        self._rows: Derived[Sequence[Row]] = Derived(())

    # -- the lake's part -----------------------------------------------------------------------------------------------

    def question(self) -> Hashable:
        """Return the parameters of the query: the entity of the place, and the time at which the console began. From
        the lake only changes before that time are read.
        """
        record = self._journal.events.record
        return self.place.about, record.began if record is not None else None

    def find(self, tables: Tables) -> Sequence[Row]:
        """Return the latest changes in the lake before the console began; empty before events are recorded. Raises
        LakeError.
        """
        record, about = self._journal.events.record, self.place.about
        if record is None:
            return ()
        of = lake_entities(about) if isinstance(about, ConfigResource | QuotaEntity) else ()
        wanted = Wanted(self.cluster_id, of, until=record.began)
        first = first_polls(tables, [self.cluster_id]).get(self.cluster_id)
        return [change_row(change, first) for change in timeline(tables, wanted, PAGE, folded=not of)]

    async def without(self) -> None:
        """Show only the events that this console recorded, if there is no lake."""
        self.take(NO_ANSWER, "")

    # -- rows and texts ------------------------------------------------------------------------------------------------

    def known(self) -> bool:
        """Return whether the console has begun to record events."""
        return self._journal.events.record is not None

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the events, and the rows from the lake."""
        return self._journal.events.record, self._answer

    async def read(self) -> None:
        """Query the lake; start to record events, unless they are recorded already."""
        await super().read()
        self._journal.events.begin()

    def rows(self) -> Sequence[Row]:
        """Return the events of the kinds that are switched on, then the older changes from the lake."""
        record = self._journal.events.record
        events = record.events if record is not None else ()
        about = self.place.about

        def make() -> Sequence[Row]:
            kinds = present_events.GROUPS[self._kinds][1]
            mine = [
                each
                for each in events
                if each.kind in kinds and (about is None or present_events.concerns(each, about))
            ]
            older: Sequence[Row] = self._answer.rows if not self._kinds else ()  # type: ignore[assignment]
            return [*mine, *older]

        return self._rows.of((events, self._answer.rows, self._kinds, about), make)

    def key(self, row: Row) -> Hashable:
        """Return the row's key: the fields that identify an event; for a change from the lake, its own key."""
        return (row.until, row.kind, row.place, row.was, row.became) if isinstance(row, Event) else row.key

    def words(self, row: Row) -> str:
        """Return the text that the filter searches: the text of the row, and the places of the event."""
        if isinstance(row, Event):
            return present_events.words(row)
        return " ".join((row.when, row.what, row.old, row.new, row.who))

    def in_trouble(self, row: Row) -> bool:
        """Return whether the event is a change for the worse."""
        return isinstance(row, Event) and row.trouble

    def cells(self, row: Row) -> list[Cell]:
        """Return the cells of a row."""
        return present_events.EVENTS.cells(row) if isinstance(row, Event) else as_event(row)

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the entity, the start of the recording, and the kinds that are switched on."""
        record = self._journal.events.record
        line: Line = [("events", "strong")]
        if self.place.about is not None:
            line.append((f" of {places.title(self.place)}", "strong"))
        if record is not None:
            line.append((f"  since {clock(record.began)}", "muted"))
        return [*line, (f"  {present_events.GROUPS[self._kinds][0]}", "muted" if not self._kinds else "pending")]

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the kinds of data in which changes are not observed, the number of
        events, and the number of older events that were dropped.
        """
        record = self._journal.events.record
        line = super().status()
        if record is not None and record.dropped:
            line.append((f"  {record.dropped:,} older dropped", "muted"))
        if missing := self._journal.events.gaps():
            full = f"not watched: {clean(', '.join(missing), 200)}  "
            used = sum(len(text) for text, _ in (*self.crumbs(), *line)) + 8
            short = f"{plural(len(missing), 'part')} not watched  "
            line = [(full if used + len(full) <= self.app.size.width else short, "pending"), *line]
        return line

    def note(self) -> Line:
        """Return the text for the message line: why kac can't find out who made a change, or the kinds of data that are
        not observed.
        """
        if problem := self._journal.events.problem:
            return [(f"who made a change is not known: {clean(problem, 300)}", "pending")]
        if missing := self._journal.events.gaps():
            return [(f"not watched: {clean(', '.join(missing), 400)}", "pending")]
        return super().note()

    def empty_text(self) -> str:
        """Return the text of a table without rows: that nothing has changed since the start of the recording."""
        if not self.known():
            return self.nothing_yet()
        if self.filter_text:
            return super().empty_text()
        record = self._journal.events.record
        since = f"nothing has changed since {clock(record.began)}" if record is not None else ""
        return since if not self._kinds else f"{since} in {present_events.GROUPS[self._kinds][0]}; Tab shows others"

    def details(self, row: Row) -> list[Line]:
        """Return the event as title, then its details, and the edit that Enter stages."""
        if isinstance(row, PastRow):
            assert row.change is not None
            edit = lake_wish(row, row.change, self.session.snapshot).edit
            return [[(row.what, "")], *change_lines(row.change), [("⏎ ", "strong"), (edit_text(edit), "muted")]]
        return event_lines(row, self.session.snapshot)

    # -- actions -------------------------------------------------------------------------------------------------------

    async def enter(self, row: Row) -> None:
        """Stage the edits that revert the event. If nothing can revert it, show the reason.

        If a refresh put a newer event under the cursor since the operator last moved it, the first Enter only names
        that event.
        """
        if self.newest.has_followed:
            self.newest.has_followed = False
            self._message.say(f"newer: {clean(self.words(row), 40)}; ⏎ again stages its way back", "pending")
            return
        if isinstance(row, Event):
            wishes = way_back(row, self.session.snapshot)
            if all(isinstance(wish.edit, NoEdit) for wish in wishes):
                self._message.say(edit_text(wishes[0].edit), "muted")
            else:
                self.stage(wishes, ())
        elif row.change is not None:
            self.stage([lake_wish(row, row.change, self.session.snapshot)], ())

    def do_kinds(self) -> None:
        """Switch to the next group of kinds of events."""
        self._kinds = (self._kinds + 1) % len(present_events.GROUPS)
        self.redraw()
        self.newest.has_followed = False

    def target_of(self, row: Row) -> ConfigResource | QuotaEntity | None:
        """Return the entity of an event if it has configs or quotas; else None."""
        about = present_events.about_of(row.place) if isinstance(row, Event) else None
        return about if isinstance(about, ConfigResource | QuotaEntity) else None

    def copied_of(self, row: Row) -> str:
        """Return the text that `y` copies: the event as one line."""
        if isinstance(row, Event):
            sides = f"{present_events.side(row, row.was)} → {present_events.side(row, row.became)}"
            return f"{clock(row.until)} {present_events.what_text(row)} {sides} {present_events.who_text(row)}"
        return f"{row.when} {row.what} {row.old} → {row.new} {row.who}"


def events_of(subject: Subject) -> places.Place:
    """Return the place of the events about a cause's group, connector, topic or broker; about everything if the cause
    has none of these.
    """
    top = pane_named(keymap.EVENTS)
    if subject.group is not None:
        return top._replace(about=subject.group)
    if subject.connector is not None:
        return top._replace(about=ConfigResource(CONNECTOR, subject.connector))
    if subject.topic is not None:
        return top._replace(about=topic_resource(subject.topic))
    if subject.broker is not None:
        return top._replace(about=broker_resource(subject.broker))
    return top

"""The pane of the changes of an entity or of the cluster: from the lake, or from this host's journal without a lake."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

from console.admin.errors import AdminError
from console.answers.history_results import journal_texts, local
from console.answers.lake_tables import LakeFilter
from console.lake import reader
from console.lake.entities import DEFAULT, quota_key
from console.lake.reader import Tables
from console.language.statements import Entity, subject_text
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.edits import Edit
from console.present.columns import clock
from console.present.events import concerns
from console.present.failures import failure_text, how_to_settle
from console.present.lake_rows import change_lines
from console.present.text import Line, clean
from console.present.timeline import PAST, PastRow, change_row, event_row, journal_row
from console.session.event_reversal import event_lines, way_back
from console.session.lake_staging import UNKNOWN, NoEdit, Wish, edit_text, undo
from console.session.snapshot_reader import Refused
from console.triage.events import Kind
from console.tui import keymap
from console.tui.editing import Cancelled
from console.tui.panes.lake_view import NO_ANSWER, LakeAnswer, LakeView
from console.tui.reading import start
from console.tui.tools import Tools
from widgets.row_table import TextSearch

SHOWN = frozenset({*Kind} - {Kind.LEADER, Kind.ISR, Kind.GROUP, Kind.OFFSET})
"""The kinds of events that are shown: lasting changes, such as of configs. The events pane shows all kinds."""
NEAR_THE_END = 50
"""When the cursor is at most this many rows before the last row, the view requests the next page."""


class HistoryView(LakeView[PastRow]):
    """One row for each change, the latest first; Enter stages the edits that undo it."""

    NAME = keymap.HISTORY
    MARKS = False
    TABLE = "history"
    ENTER = "undo"
    NOUN = PAST
    EMPTY = "nothing changed"
    NEWEST_FIRST = True
    ADDS = "no lake: `kac lake collect` adds what changed before, and who did it"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._journal = tools.journal
        self._pages = 1
        self._wanted = LakeFilter()
        self._only_journal = False
        self._unread = ""

    # -- rows and texts ------------------------------------------------------------------------------------------------

    def question(self) -> Hashable:
        """Return the parameters of the query: the entity, the filter and the number of pages; also whether only the
        journal is shown.
        """
        return self.place.about, self._wanted, self._pages, self._only_journal

    def begin(self) -> None:
        """Show the history of another entity: from the latest change on, without a filter."""
        super().begin()
        self._pages, self._wanted = 1, LakeFilter()
        self._asked, self._is_known, self._answer = None, False, NO_ANSWER

    def find(self, tables: Tables) -> Sequence[PastRow]:
        """Return the latest changes from the lake that match the filter. Raises LakeError."""
        asked, about = self._wanted, self.place.about
        plain = asked.text if not asked.text.startswith(("/", "!")) else ""
        entities = lake_entities(about) if isinstance(about, ConfigResource | QuotaEntity) else ()
        wanted = reader.Wanted(self.cluster_id, entities, asked.since, asked.until, asked.key, asked.principal, plain)
        first = reader.first_polls(tables, [self.cluster_id]).get(self.cluster_id)
        changes = reader.timeline(tables, wanted, self._pages * reader.PAGE, folded=not wanted.narrows)
        return [change_row(change, first) for change in changes]

    async def ask(self) -> None:
        """Query the lake; if only the journal is shown, read that."""
        if self._only_journal:
            await self.without()
        else:
            await super().ask()

    async def without(self) -> None:
        """Show, without a lake, the cluster's changes in this host's journal, if it can be read, and the events that
        this console recorded.
        """
        from console.session.journal_changes import read_history_table

        about = self.place.about
        entity = Entity(about) if isinstance(about, ConfigResource | QuotaEntity) else None
        self._unread = ""
        known: list[tuple[str, PastRow]] = []
        try:
            table = await read_history_table(await self.session.journal(), entity)
            lines = map(journal_texts, table.rows)
            known = [(line["at"], journal_row(line, index)) for index, line in enumerate(lines)]
        except (AdminError, Refused) as error:
            self._unread = failure_text(error.failure)
        # Sort by local time; an event precedes the journal's entry of the same second.
        rows = [row for _, row in sorted([*self._seen(), *known], key=lambda each: each[0], reverse=True)]
        passing = [row for row, words in zip(rows, map(self.words, rows), strict=True) if self._passes(words)]
        if list(self._answer.rows) != passing or not self._is_known or self._answer.fresh is not None:
            self.take(LakeAnswer(passing, None, (), ()), "")

    def _seen(self) -> list[tuple[str, PastRow]]:
        """Return the changes by others that this console recorded.

        Returns:
            Local time as text, and the row of each change; empty if only the journal is shown.
        """
        record, about = self._journal.events.record, self.place.about
        if record is None or self._only_journal:
            return []
        return [
            (local(event.until), event_row(event, local(event.until)))
            for event in record.events
            if event.author is None and event.kind in SHOWN and (about is None or concerns(event, about))
        ]

    def note(self) -> Line:
        """Return the text for the message line: why the journal could not be read, else the lake's note."""
        return [(self._unread, "failed")] if self._unread else super().note()

    def _passes(self, words: str) -> bool:
        asked = self._wanted
        text = "" if asked.text.startswith(("/", "!")) else asked.text
        wanted = [*text.split(), *(word.strip("*") for word in (asked.key, asked.principal) if word)]
        return all(word.lower() in words.lower() for word in wanted)

    @property
    def is_journal(self) -> bool:
        """Whether the view shows this host's journal instead of changes from the lake."""
        return self._only_journal or self.is_without

    def rows(self) -> Sequence[PastRow]:
        """Return the rows that were found. A filter with a regular expression or a negation is applied here."""
        rows: Sequence[PastRow] = self._answer.rows  # type: ignore[assignment]
        if not self._wanted.text.startswith(("/", "!")):
            return rows
        return [rows[hit] for hit in TextSearch(map(self.words, rows)).hits(self._wanted.text)]

    def key(self, row: PastRow) -> Hashable:
        """Return the row's key: the time and the place of the change."""
        return row.key

    def words(self, row: PastRow) -> str:
        """Return the text that the filter searches: the time, the change, its old and new value, and its author."""
        return " ".join((row.when, row.what, row.old, row.new, row.who))

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the entity, and whether the changes are from the lake or the journal."""
        about = self.place.about
        whose = clean(subject_text(about)) if isinstance(about, ConfigResource | QuotaEntity) else "cluster"
        source = "seen by this console, applied from this host" if self.is_without else "lake"
        if self._only_journal:
            source = "changes applied from this host"
        return [("history of ", "muted"), (whose, "strong"), (f"  {source}", "muted")]

    def empty_text(self) -> str:
        """Return the text of a table without rows: why no changes are shown."""
        if self.known() and self.is_journal and not self._problem and not self.filter_text:
            record = self._journal.events.record
            since = (
                f", and none seen since {clock(record.began)}" if record is not None and not self._only_journal else ""
            )
            return f"no changes in the journal{since}"
        return super().empty_text()

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the age of the lake's data and the number of rows, with ``+`` if
        there may be more pages.
        """
        line = super().status()
        if len(self._answer.rows) >= self._pages * reader.PAGE and not self.is_journal:
            line.append(("+", "muted"))
        return line

    def details(self, row: PastRow) -> list[Line]:
        """Return the change as title, then its details, and the edit that Enter stages."""
        title: Line = [(row.what, "")]
        if row.event is not None:
            return event_lines(row.event, self.session.snapshot)
        if row.change is None:
            which = f"change {row.number} of this host's journal"
            sure: list[Line] = []
            if row.is_unknown and row.number is not None:
                sure = [[("outcome unknown: ", "failed"), (how_to_settle(row.number), "")]]
            lines: list[Line] = [title, [(f"{row.old} → {row.new}", "")], *sure]
            return [*lines, [(f"{row.who}, {row.when}", "")], [(which, "muted")]]
        edit = _undo(row, row.change, self.session.snapshot)
        return [title, *change_lines(row.change), [("⏎ ", "strong"), (edit_text(edit), "muted")]]

    # -- filter --------------------------------------------------------------------------------------------------------

    def take_filter(self, text: str) -> None:
        """Show only changes that match a filter. The lake applies it, except for a regular expression or a negation.

        Args:
            text: words and terms such as ``since=2h key=retention.* by=alice``, or ``/regex``; ``!`` before either
                negates it.

        Raises:
            BadQuery: the filter is invalid.
        """
        wanted = self.parsed(text)
        self.filter_text = text.strip()
        if wanted != self._wanted:
            self._wanted, self._pages = wanted, 1
            if self.is_attached:
                self.ask_again()
                self.redraw()
        self.tell_where()

    def do_trouble(self) -> None:
        """Show a message that `!` (only trouble) does not apply to changes."""
        self._message.say("what changed is in no trouble by itself: Events shows what makes something worse", "muted")

    def _sift(self) -> None:
        """Show all rows without filtering them: `find` and `rows` have applied the filter."""
        self.table.empty = self.empty_text()
        was_near_top = self.table.is_near_top
        self.table.set_rows(self._all.source)
        if was_near_top:
            self.table.show_top()  # show the operator the rows that were added above
        self.newest.note_newest()

    # -- actions -------------------------------------------------------------------------------------------------------

    def on_line_view_highlighted(self) -> None:
        """Show the details of the row under the cursor; near the last row, request the next page."""
        super().on_line_view_highlighted()
        rows = self._answer.rows
        near = self.table.cursor_index >= len(rows) - NEAR_THE_END
        if near and not self.is_journal and len(rows) >= self._pages * reader.PAGE:
            self._pages += 1
            self.ask_again()

    async def enter(self, row: PastRow) -> None:
        """Stage the edits that undo the change."""
        if row.event is not None:
            self.stage(way_back(row.event, self.session.snapshot), ())
            return
        if row.change is None:
            if row.number is not None:
                start(self, partial(self._take_back, row.number), group="command", name="command")
            return
        self.stage([lake_wish(row, row.change, self.session.snapshot)], ())

    async def _take_back(self, number: int) -> None:
        """Stage the edits that revert a change of the journal; if that is refused, show the reason. number: the
        number of the change in the journal.
        """

        try:
            await self._editing.revert(str(number), None)
        except (AdminError, Refused) as error:
            self._message.say(failure_text(error.failure), "failed")
        except Cancelled:
            self._message.say("nothing was staged", "muted")

    def do_journal(self) -> None:
        """Switch between the changes from the lake and those in this host's journal."""
        self._only_journal = not self._only_journal
        self._asked, self._is_known = None, False
        self.redraw()
        self.ask_again()

    def copied_of(self, row: PastRow) -> str:
        """Return the text that `y` copies: the change as one line."""
        return f"{row.when} {row.what} {row.old} → {row.new} {row.who}"


def lake_wish(row: PastRow, change: reader.Change, known: Snapshot) -> Wish:
    """Return the edit that undoes a change from the lake. If the key was changed again later, add a note that the edit
    also undoes the later change.

    Args:
        known: a snapshot with the brokers' descriptions of config keys.
    """
    if change.is_current:
        return Wish(_undo(row, change, known), None if change.is_deleted else change.new_value)
    since = f"{change.valid_to.astimezone():%m-%d %H:%M}" if change.valid_to is not None else "then"
    return Wish(_undo(row, change, known), UNKNOWN, f"it was changed again at {since}, which this undoes too")


def _undo(row: PastRow, change: reader.Change, known: Snapshot) -> Edit | NoEdit:
    if row.is_first_seen:
        return NoEdit("it was so when the cluster was first looked at: what was before that is not known")
    return undo(change, known)


def lake_entities(about: ConfigResource | QuotaEntity) -> tuple[tuple[str, str], ...]:
    """Return the (type, name) pairs by which the lake identifies an entity."""
    if isinstance(about, QuotaEntity):
        return (("quota", quota_key(about.as_dict())),)
    if about.is_cluster_default:
        return (("broker", DEFAULT),)
    return reader.with_acls(about.type.entity.kafka_word, about.name)

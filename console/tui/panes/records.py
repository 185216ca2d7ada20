"""The pane of records of a topic or a partition, one row each; Enter shows a whole record."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from contextlib import suppress

from console.language.quoting import quote
from console.language.verbs.records import Bound, Records
from console.model.config import ConfigResource, topic_resource
from console.model.numbers import json_text, plural, time_of
from console.model.patterns import literal_pattern
from console.model.records import Record, Undecodable
from console.present import records
from console.present.failures import failure_text
from console.present.text import Cell, Line, clean
from console.session.record_reading import is_masked
from console.tui import keymap
from console.tui.panes.details import DetailsView
from console.tui.panes.hidden import HiddenContents
from console.tui.panes.topics import show_readers
from console.tui.places import Place, letters_of, pane_named, records_in
from console.tui.reading import start
from console.tui.record_search import SOON, AskedRecords
from console.tui.tools import Tools


class RecordKeys:
    """The actions of keys that lead from the record under the cursor to other places or commands."""

    def __init__(self, view: RecordsView, asked: AskedRecords, tools: Tools) -> None:
        self._view, self._asked, self._tools = view, asked, tools

    def _record(self) -> Record | None:
        """Return the record under the cursor; None without rows. If its contents are hidden or can't be decoded, show a
        message and return None.
        """
        row = self._view.row()
        if row is None:
            return None
        if isinstance(row.item, Undecodable) or row.masked:
            self._tools.message.say("contents are hidden: s shows them" if row.masked else str(row.item), "muted")
            return None
        return row.item

    async def do_at_time(self) -> None:
        """Show the records of all partitions from the time of the record under the cursor on. If the record has no
        time, show a message.
        """
        row = self._view.row()
        at = None if row is None or isinstance(row.item, Undecodable) else time_of(row.item.timestamp)
        if row is None or at is None:
            self._tools.message.say("the record has no time", "muted")
            return
        time = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        await self._goto(Records(self._asked.wanted.topics, start=Bound("time", time), form=self._view.form))

    async def do_key_history(self) -> None:
        """Show every record that has the key of the record under the cursor, from the start of the log on. If the key
        is no text, show a message.
        """
        record = self._record()
        if record is None:
            return
        key = record.key.decode(errors="replace") if record.key and record.key_encoding is None else ""
        if not key or key.encode() != record.key:
            self._tools.message.say("its key is no text, so it can't be looked for by key", "muted")
            return
        await self._goto(Records((record.topic,), key=literal_pattern(key), form=self._view.form))

    async def do_standing(self) -> None:
        """Show the group whose committed offset is that of the first record; if the view does not begin at a group's
        offset, show the groups that read the topic.
        """
        wanted, row = self._asked.wanted, self._view.row()
        if self._asked.is_at_group:
            place = Place(keymap.GROUP, pane_named(keymap.GROUPS).pane, wanted.begins.at)
            await self._tools.navigator.goto(place)
        elif row is not None:
            show_readers(self._view.app, self._tools, row.item.topic)

    def do_editor(self) -> None:
        """Show the record under the cursor, as JSON, in the operator's editor."""
        from console.tui.editor import read_in_editor

        record = self._record()
        if record is None:
            return
        data = records.record_data(records.RecordRow(record, self._view.form or records.JSON))
        name = f"offset-{record.offset}.json"
        self._tools.message.say(read_in_editor(self._view.app, name, f"{json_text(data, indent=2)}\n"), "muted")

    async def _goto(self, wanted: Records) -> None:
        await self._tools.navigator.goto(records_in(self._tools.navigator.place, wanted))

    def do_write_again(self) -> None:
        """Open the command bar with the command that writes a record like the one under the cursor. If a command can't
        express the record, show a message.
        """
        from console.language.unparse import unparse
        from console.language.verbs.produce import NotTyped, again

        record = self._record()
        if record is None:
            return
        try:
            self._tools.editing.begin(unparse(again(record)))
        except NotTyped as problem:
            self._tools.message.say(f"{problem}: kac records --output jsonl and kac produce write it", "muted")

    async def do_letters(self) -> None:
        """Show the pane of dead letters for the topic of the record under the cursor; without rows, for the only
        topic of the search. If there are no rows and the search has several topics, show a message.
        """
        target = self._view.target()
        if target is None:
            self._tools.message.say("records of several topics, and none under the cursor", "muted")
            return
        await self._tools.navigator.goto(letters_of(self._tools.navigator.place, target.name))

    def do_delete_records(self) -> None:
        """Open the command bar with the command that deletes the partition's records before the one under the
        cursor.
        """
        row = self._view.row()
        if row is not None:
            place = f"topic {quote(row.item.topic)} partition {row.item.partition}"
            self._tools.editing.begin(f"delete records {place} before {row.offset}")

    def do_skip_record(self) -> None:
        """Open the command bar with the command that moves the group's committed offset past the record under the
        cursor. If the view does not begin at a group's offset in one partition, show a message.
        """
        row = self._view.row()
        if row is None or self._asked.answer is None:
            return
        if not self._asked.is_at_group or self._asked.wanted.partition is None:
            self._tools.message.say("only at a group's position: v on a partition of the group", "muted")
            return
        last = row.item.last if isinstance(row.item, Undecodable) else row.offset
        count = last + 1 - self._asked.answer.progress.scanned[0].first
        group, topic = quote(self._asked.wanted.begins.at), quote(row.item.topic)
        self._tools.editing.begin(f"skip group {group} topic {topic} partition {self._asked.wanted.partition} {count}")


class RecordsView(DetailsView[records.RecordRow]):
    """The records that a statement (topics, partition, start, conditions) selects.

    The search runs once, without an automatic refresh, because rows must not move under the cursor. A statement with
    ``follow`` adds new records on top. Contents of records are only in this view, never in the snapshot.
    """

    NAME = keymap.RECORDS
    ENTER = "whole record"
    MARKS = False
    NOUN = records.RECORDS
    EMPTY = "no records here"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._tools = tools
        self._asked = AskedRecords(tools)
        self._hidden = HiddenContents(self, tools.message)
        self.receivers = (self, self._asked, RecordKeys(self, self._asked, tools), self._hidden)
        self.form = ""
        self._rows: tuple[tuple[object, ...], list[records.RecordRow]] = ((), [])
        self._kinds: records.Kinds = {}
        self._columns = records.RECORDS

    @property
    def masked(self) -> bool:
        """Whether contents of records are hidden."""
        return not self._hidden.are_shown and is_masked(self.session.context, self._asked.wanted)

    def begin(self) -> None:
        """Discard the records of the previous statement, and hide contents again."""
        super().begin()
        about = self.place.about
        wanted = about if isinstance(about, Records) else Records(("",))
        self._asked.begin(wanted)
        self.form, self._hidden.are_shown, self._kinds = wanted.form, False, {}
        self.newest.begin(newest_first=wanted.follow)

    def known(self) -> bool:
        """Return whether the first records have been read, or the search failed."""
        return self._asked.answer is not None or self._asked.problem is not None

    async def read(self) -> None:
        """Begin the search if it is due: at first, and after a key that requested it; then wait at most `SOON`
        seconds for its end. After a pause of the live refresh, continue a search that follows new records.
        """
        self._asked.resume()
        if self._asked.take_due():
            # Search in a worker: meanwhile the screen shows the records found so far.
            start(self, self._search, group="records", name="records", exclusive=True)
            # Wait a moment: a search that ends soon is drawn only once, with its results.
            with suppress(TimeoutError):
                async with asyncio.timeout(SOON):
                    await self._asked.settled.wait()
        self.update()

    async def _search(self) -> None:
        await self._asked.search(self._changed)

    def _changed(self) -> None:
        if self.is_attached:
            self.update()
            self._tools.message.write()

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the records, whether the search runs, and the form of
        contents.
        """
        return self._asked.answer, self._asked.problem, self._asked.is_searching, self.form, self.masked

    def draw(self) -> None:
        """Draw the table; it has a column for the topic if the search has several topics."""
        if self._asked.answer is not None:
            columns = records.columns_for(self._asked.answer)
            if columns is not self._columns:
                self._columns = columns
                self.table.set_columns(columns.layout, self.table.rows)
        super().draw()

    def cells(self, row: records.RecordRow) -> Sequence[Cell]:
        """Return the cells of a row."""
        return self._columns.cells(row)

    def rows(self) -> Sequence[records.RecordRow]:
        """Return the records, and the batches that can't be decoded; empty before the first are read."""
        answer = self._asked.answer
        made_from = (answer, self.form, self.masked)
        if self._rows[0] != made_from or self._rows[0][0] is not answer:
            rows = []
            if answer is not None:
                rows = records.record_rows(answer, self.form, masked=self.masked, known=self._kinds)
            self._rows = (made_from, rows)
        return self._rows[1]

    def key(self, row: records.RecordRow) -> Hashable:
        """Return the row's key: topic, partition and offset, and whether the row is a batch that can't be decoded."""
        return row.item.topic, row.item.partition, row.offset, isinstance(row.item, Undecodable)

    def words(self, row: records.RecordRow) -> str:
        """Return the text that the filter searches: key and value as shown; if contents are hidden, only partition and
        offset.
        """
        if row.masked or isinstance(row.item, Undecodable):
            return f"{row.item.partition} {row.offset}"
        return f"{row.item.partition} {row.offset} {records.key_text(row)} {records.value_text(row)}"

    def in_trouble(self, row: records.RecordRow) -> bool:
        """Return whether the kind of the record's value differs from that of nearly all other records, or the record
        can't be decoded.
        """
        return row.is_odd

    def empty_text(self) -> str:
        """Return the text of a table without rows: why no records are shown."""
        if self._asked.problem is not None:
            return f"{clean(str(self._asked.problem), 600)}\n\n{clean(self._asked.problem.remedy, 600)}"
        answer = self._asked.answer
        if self._asked.is_searching and answer is not None and not self.filter_text:
            return "none so far" if not self._asked.wanted.follow else "waiting for records"
        if answer is not None and self._asked.wanted.is_filtered and not self.filter_text:
            more = "; m goes on" if answer.progress.more is not None else ""
            return f"none of {answer.progress.looked_at:,} records passes{more}"
        return super().empty_text()

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of records read, the ranges of offsets, and the form of
        contents; empty before the first read.
        """
        if self._asked.answer is None:
            return []
        line: Line = [*self.newest.unseen()]
        line.append((records.summary(self._asked.answer, filtered=self._asked.wanted.is_filtered), "muted"))
        if self.form:
            line.append((f"  {self.form}", "pending"))
        if not self._asked.wanted.committed:
            line.append(("  uncommitted", "pending"))
        return [*line, *records.masking_note(masked=self.masked, has_mask=bool(self.session.context.mask))]

    def note(self) -> Line:
        """Return the text for the message line: the progress of the search, its failure, what is unusual about the
        record under the cursor, or why the search ended.
        """
        answer = self._asked.answer
        if answer is None:
            return super().note()
        if self._asked.is_searching:
            return [(self._progress(), "pending")]
        if answer.problems:
            return [(failure_text(answer.problems[0]), "failed")]
        if about := self._about_row():
            return about
        notes = records.record_notes(answer)
        if answer.progress.more is not None:
            notes.append("m goes on")
        return [("; ".join(notes), "pending" if records.stopped_text(answer.progress) else "muted")] if notes else []

    def _progress(self) -> str:
        """Return the progress of the search as text, with the key that stops it."""
        assert self._asked.answer is not None
        if self._asked.wanted.follow:
            left_out = self._asked.left_out
            more = f"; {plural(left_out, 'record')} came too fast and are left out" if left_out else ""
            state = "held: p goes on" if self.cluster.reading.paused else "following: p holds"
            return f"{state}{more}; Esc ends"
        notes = self._asked.answer.notes
        about = f"; {clean(notes[-1], 200)}" if notes else ""
        return f"{records.progress_text(self._asked.answer.progress)}; Esc stops{about}"

    def _about_row(self) -> Line:
        """Return why the record under the cursor can't be decoded, or how it differs from the other records; for the
        first record after a group's committed offset, that the group has to read it next. Empty for an ordinary
        record.
        """
        row = self.row()
        if row is None:
            return []
        if isinstance(row.item, Undecodable):
            return [(clean(str(row.item), 400), "failed")]
        why = records.undecoded(row) if not row.masked else ""
        if self._asked.is_at_group and row is self.rows()[0]:
            text = f"group {clean(self._asked.wanted.begins.at, 40)} stands here"
            more = "; its value is unlike the others: x skips it" if row.odd else f"; {why}" if why else ""
            return [(text + more, "pending")]
        if why:
            return [(why, "failed")]
        if not row.masked and (about := records.odd_schema(row)):
            return [(about, "pending")]
        return [("its value looks unlike those of the others", "failed")] if row.odd else []

    def target(self) -> ConfigResource | None:
        """Return the config resource of the topic of the record under the cursor; without rows, of the only topic of
        the search; None if the search has several topics.
        """
        row, topics = self.row(), self._asked.wanted.topics
        topic = row.item.topic if row is not None else topics[0] if len(topics) == 1 else ""
        return topic_resource(topic) if topic else None

    def copied_of(self, row: records.RecordRow) -> str:
        """Return the text that `y` copies: the value in the chosen form; if it is hidden or can't be decoded, only
        partition and offset.
        """
        if isinstance(row.item, Undecodable) or row.masked or row.item.value is None:
            return f"{row.item.topic}-{row.item.partition} offset {row.offset}"
        return records.in_full(records.as_sent(row.item.value, row.item.value_encoding, row.form), row.form)

    def details(self, row: records.RecordRow) -> list[Line]:
        """Return the record's partition and offset as title, then the whole record."""
        return [[(_title(row), "")], *records.record_lines(row, self.text_width)]

    async def enter(self, row: records.RecordRow) -> None:
        """Show the whole record on a screen above the panes."""
        self.show_text(_title(row), lambda width: records.record_lines(row, width))

    def do_form(self) -> None:
        """Show contents in the next form of `FORMS`, such as hexadecimal; ``""`` chooses a form for each value."""
        self.form = records.FORMS[(records.FORMS.index(self.form) + 1) % len(records.FORMS)]
        self.redraw()
        self._message.say(f"as {self.form}" if self.form else "each by what it looks like", "muted")


def _title(row: records.RecordRow) -> str:
    return f"{clean(row.item.topic)}-{row.item.partition} offset {row.offset}"

"""Records of a topic or a partition, one row each; Enter shows a whole record."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from console.contexts.context import HIDDEN
from console.language.quoting import quote
from console.language.unparse import unparse
from console.language.verbs.records import Bound, Records
from console.model.config import ConfigResource, topic_resource
from console.model.failure import Failure
from console.model.records import RecordsRead, Start, Undecodable
from console.present import records
from console.present.failures import failure_text
from console.present.text import Line, clean
from console.session.record_reading import is_masked
from console.session.snapshot_reader import Refused
from console.tui import keymap
from console.tui.panes.details import BesideView
from console.tui.places import records_in
from console.tui.reading import start
from console.tui.tools import Tools


class Asking(NamedTuple):
    """A request for records: a statement, and the position at which a limit ended the previous read."""

    wanted: Records
    further: Start | None = None


class AskedRecords:
    """The records of a statement, read once and again only on a key, and the keys that change the statement.

    asking: the request. answer: the records read for it. problem: why the read failed.
    """

    def __init__(self, tools: Tools) -> None:
        self._cluster, self._navigator = tools.cluster, tools.navigator
        self._editing, self._message = tools.editing, tools.message
        self.asking = Asking(Records(("",)))
        self.answer: RecordsRead | None = None
        self.problem: Failure | None = None
        self._read_for: Asking | None = None

    @property
    def wanted(self) -> Records:
        """The statement for the records."""
        return self.asking.wanted

    @property
    def is_filtered(self) -> bool:
        """Whether the statement filters records."""
        return self.wanted.is_filtered

    @property
    def is_at_group(self) -> bool:
        """Whether the first record is the next one that a group reads."""
        return self.wanted.begins.word == "group" and self.asking.further is None

    def begin(self, wanted: Records) -> None:
        """Take another statement, and discard the records read."""
        self.asking = Asking(wanted)
        self.answer, self.problem, self._read_for = None, None, None

    async def take(self) -> tuple[Asking, RecordsRead] | None:
        """Read the requested records.

        Returns:
            The request, and the records as read, for `learn`; None if they were read before, or the read was refused.
        """
        asked, reader = self.asking, self._cluster.session.records
        if asked == self._read_for:
            return None
        try:
            answer = await reader.read(*asked)
        except Refused as refused:
            self._keep(asked, None, refused.failure)
            return None
        self._keep(asked, await reader.readable(answer), None)
        return asked, answer

    async def learn(self, asked: Asking, answer: RecordsRead) -> None:
        """Fetch the schemas that the records name, and decode the records with them."""
        reader = self._cluster.session.records
        if await reader.learn(answer.records):
            self._keep(asked, await reader.readable(answer), None)

    def _keep(self, asked: Asking, answer: RecordsRead | None, problem: Failure | None) -> None:
        if asked == self.asking:  # else the view shows another request by now
            self._read_for, self.answer, self.problem = asked, answer, problem

    def _again(self, further: Start | None) -> None:
        self.asking, self._read_for = self.asking._replace(further=further), None
        self._cluster.reading.now()

    async def _goto(self, wanted: Records) -> None:
        await self._navigator.goto(records_in(self._navigator.place, wanted))

    async def do_newest(self) -> None:
        """Show the newest records."""
        await self._goto(replace(self.wanted, start=None))

    async def do_oldest(self) -> None:
        """Show the oldest records."""
        await self._goto(replace(self.wanted, start=Bound("start")))

    async def do_isolation(self) -> None:
        """Show also records of open and aborted transactions, or only committed ones."""
        await self._goto(replace(self.wanted, committed=not self.wanted.committed))

    def do_start_at(self) -> None:
        """Begin the command that shows records from an offset or a time."""
        partition = "" if self.wanted.partition is None else f"partition {self.wanted.partition} "
        start = "from time " if self.wanted.partition is None else "from offset "
        self._editing.begin(f"records {quote(self.wanted.topic)} {partition}{start}")

    def do_ask(self) -> None:
        """Edit the statement in the command bar."""
        self._editing.begin(f"{unparse(self.wanted)} ")

    def do_further(self) -> None:
        """Read on from the position at which a limit ended the read."""
        if self.answer is None or self.answer.progress.more is None:
            self._message.say("there is nothing further: r reads again", "muted")
            return
        self._again(self.answer.progress.more)

    def do_refresh(self) -> None:
        """Read again from the statement's own start."""
        self._again(None)


class RecordsView(BesideView[records.RecordRow]):
    """The records of a statement.

    They are not refreshed automatically: rows that move under the cursor would be of no use. Record contents stay in
    this view.
    """

    NAME = keymap.RECORDS
    ENTER = "whole record"
    MARKS = False
    NOUN = records.RECORDS
    EMPTY = "no records here"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._asked = AskedRecords(tools)
        self.receivers = (self, self._asked)
        self._form = ""
        self._revealed = False
        self._rows: tuple[tuple[object, ...], list[records.RecordRow]] = ((), [])

    @property
    def masked(self) -> bool:
        """Whether contents are hidden."""
        return not self._revealed and is_masked(self.session.context, self._asked.wanted)

    def begin(self) -> None:
        """Discard the former records, and hide contents again."""
        super().begin()
        about = self.place.about
        wanted = about if isinstance(about, Records) else Records(("",))
        self._asked.begin(wanted)
        self._form, self._revealed = wanted.form, False

    def known(self) -> bool:
        """Return whether the records have been read, or the read was refused."""
        return self._asked.answer is not None or self._asked.problem is not None

    async def read(self) -> None:
        """Read the records once for each statement."""
        taken = await self._asked.take()
        self.update()
        if taken is not None:
            # In a worker: the screen meanwhile shows the records as they are.
            start(self, partial(self._learn, *taken), group="schemas", name="schemas", exclusive=True)

    async def _learn(self, asked: Asking, answer: RecordsRead) -> None:
        await self._asked.learn(asked, answer)
        self.update()

    def inputs(self) -> tuple[object, ...]:
        """Return the records and their form."""
        return self._asked.answer, self._asked.problem, self._form, self.masked

    def rows(self) -> Sequence[records.RecordRow]:
        """Return the records, and batches that can't be decoded."""
        made_from = (self._asked.answer, self._form, self.masked)
        if self._rows[0] != made_from or self._rows[0][0] is not self._asked.answer:
            rows = records.record_rows(self._asked.answer, self._form, masked=self.masked) if self._asked.answer else []
            self._rows = (made_from, rows)
        return self._rows[1]

    def do_delete_records(self) -> None:
        """Begin the command that deletes the records before the one under the cursor."""
        row = self.row()
        if row is not None:
            place = f"topic {quote(self._asked.wanted.topic)} partition {row.item.partition}"
            self._editing.begin(f"delete records {place} before {row.offset}")

    def key(self, row: records.RecordRow) -> Hashable:
        """Return partition and offset, and whether the record is undecodable."""
        return row.item.partition, row.offset, isinstance(row.item, Undecodable)

    def words(self, row: records.RecordRow) -> str:
        """Return key and value as shown; for hidden records only partition and offset."""
        if row.masked or isinstance(row.item, Undecodable):
            return f"{row.item.partition} {row.offset}"
        return f"{row.item.partition} {row.offset} {records.key_text(row)} {records.value_text(row)}"

    def in_trouble(self, row: records.RecordRow) -> bool:
        """Return whether the record looks different from the others, or can't be decoded."""
        return row.is_odd

    def empty_text(self) -> str:
        """Return the reason why no records are shown."""
        if self._asked.problem is not None:
            return f"{clean(str(self._asked.problem), 600)}\n\n{clean(self._asked.problem.remedy, 600)}"
        if self._asked.answer is not None and self._asked.is_filtered and not self.filter_text:
            more = "; m looks further" if self._asked.answer.progress.more is not None else ""
            return f"none of {self._asked.answer.progress.looked_at:,} records passes{more}"
        return super().empty_text()

    def status(self) -> Line:
        """Return the number of records read, the range read, and their form."""
        if self._asked.answer is None:
            return []
        line: Line = [(records.summary(self._asked.answer, filtered=self._asked.is_filtered), "muted")]
        if self._form:
            line.append((f"  {self._form}", "pending"))
        if not self._asked.wanted.committed:
            line.append(("  uncommitted", "pending"))
        if self.masked:
            line.append(("  hidden: s shows", "pending"))
        elif self.session.context.mask:
            line.append(("  fields masked", "pending"))
        return line

    def note(self) -> Line:
        """Return the read failure, the row's anomaly, or the limit that ended the read."""
        if self._asked.answer is None:
            return super().note()
        if self._asked.answer.problems:
            return [(failure_text(self._asked.answer.problems[0]), "failed")]
        row = self.row()
        if row is not None and isinstance(row.item, Undecodable):
            return [(clean(str(row.item), 400), "failed")]
        why = records.undecoded(row) if row is not None and not row.masked else ""
        if row is not None and self._asked.is_at_group and row is self.rows()[0]:
            text = f"group {clean(self._asked.wanted.begins.at, 40)} stands here"
            more = "; its value is unlike the others: x skips it" if row.odd else f"; {why}" if why else ""
            return [(text + more, "pending")]
        if why:
            return [(why, "failed")]
        if row is not None and not row.masked and (about := records.odd_schema(row)):
            return [(about, "pending")]
        if row is not None and row.odd:
            return [("its value looks unlike those of the others", "failed")]
        notes = records.record_notes(self._asked.answer)
        if self._asked.answer.progress.more is not None:
            notes.append("m looks further")
        return [("; ".join(notes), "pending" if self._asked.answer.progress.stopped else "muted")] if notes else []

    def target(self) -> ConfigResource | None:
        """Return the resource of the topic's configs."""
        return topic_resource(self._asked.wanted.topic) if self._asked.wanted.topic else None

    def copied_of(self, row: records.RecordRow) -> str:
        """Return the value in its form; for a hidden or damaged record only partition and offset."""
        if isinstance(row.item, Undecodable) or row.masked or row.item.value is None:
            return f"{row.item.topic}-{row.item.partition} offset {row.offset}"
        return records.in_full(records.as_sent(row.item.value, row.item.value_encoding, row.form), row.form)

    def details(self, row: records.RecordRow) -> list[Line]:
        """Return the whole record."""
        return [[(_title(row), "")], *records.record_lines(row, max(20, self.below.size.width - 2))]

    async def enter(self, row: records.RecordRow) -> None:
        """Show the whole record."""
        self.show_text(_title(row), lambda width: records.record_lines(row, width))

    def do_skip_record(self) -> None:
        """Begin the command that moves the group's offset past the record under the cursor."""
        row = self.row()
        if row is None or self._asked.answer is None:
            return
        if not self._asked.is_at_group or self._asked.wanted.partition is None:
            self._message.say("only at a group's position: v on a partition of the group", "muted")
            return
        last = row.item.last if isinstance(row.item, Undecodable) else row.offset
        count = last + 1 - self._asked.answer.progress.scanned[0].first
        group, topic = quote(self._asked.wanted.begins.at), quote(self._asked.wanted.topic)
        self._editing.begin(f"skip group {group} topic {topic} partition {self._asked.wanted.partition} {count}")

    def do_form(self) -> None:
        """Show contents in the next form of `FORMS`."""
        self._form = records.FORMS[(records.FORMS.index(self._form) + 1) % len(records.FORMS)]
        self.redraw()
        self._message.say(f"as {self._form}" if self._form else "each by what it looks like", "muted")

    def do_reveal(self) -> None:
        """Show hidden contents, or hide them again."""
        if self.session.context.records != HIDDEN:
            self._message.say("nothing is hidden in this context", "muted")
            return
        self._revealed = not self._revealed
        self.redraw()


def _title(row: records.RecordRow) -> str:
    return f"{clean(row.item.topic)}-{row.item.partition} offset {row.offset}"

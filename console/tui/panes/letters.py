"""The pane of a dead-letter topic: a row for each combination of original topic, exception and age of the letters,
which the operator may inspect before sending any again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from console.contexts.context import HIDDEN
from console.language.quoting import quote
from console.language.unparse import unparse
from console.language.verbs.records import Bound, Records
from console.language.verbs.redrive import BeginRedrive
from console.model.config import ConfigResource, topic_resource
from console.model.dead_letters import Redrive, Survey, condition_of
from console.present import dead_letters
from console.present.failures import failure_text, wrapped
from console.present.records import masking_note
from console.present.text import Line, clean
from console.tui import keymap
from console.tui.panes.details import DetailsView
from console.tui.panes.hidden import HiddenContents
from console.tui.places import records_in
from console.tui.reading import start
from console.tui.tools import Tools

if TYPE_CHECKING:
    from textual.worker import Worker

    from console.model.failure import Failure
    from console.session.redriving import Desk
    from console.tui.panes.view import View

DRAWN_EVERY = 0.25
"""Minimum seconds between two redraws while letters are read."""


class LettersReading:
    """One read of all letters (records) of a dead-letter topic.

    Attributes:
        goal: the redrive of all letters; its end offsets are added once they are read.
        found: the letters read so far; None before the first.
        problem: the reason why the letters can't be read; None if they can.
        is_stopped: whether the operator stopped the read early.
        is_read: whether the read has ended by itself.
    """

    def __init__(self, goal: Redrive) -> None:
        self.goal = goal
        self.found: Survey | None = None
        self.problem: Failure | None = None
        self.is_stopped = self.is_read = False
        self._worker: Worker[None] | None = None

    @property
    def is_due(self) -> bool:
        """Whether the read has not begun."""
        return self._worker is None

    @property
    def is_running(self) -> bool:
        """Whether the read is under way."""
        return self._worker is not None and not self.is_read and not self.is_stopped

    @property
    def mark(self) -> tuple[object, ...]:
        """A value that differs whenever more letters were read or the state changed; `found` itself stays the same
        object.
        """
        count = self.found.count if self.found is not None else -1
        return self, count, self.is_running, self.is_stopped, self.problem

    def begin(self, view: View, desk: Desk, changed: Callable[[], None]) -> None:
        """Begin to read the letters, in a worker of `view`.

        Args:
            desk: the session's access to the cluster.
            changed: called repeatedly during the read, and at its end.
        """
        work = partial(self._survey, desk, changed)
        self._worker = start(view, work, group="letters", name="letters", exclusive=True)

    def stop(self) -> bool:
        """Stop the read, and keep the letters found so far. Return whether it was under way."""
        if self._worker is None or not self.is_running:
            return False
        self._worker.cancel()
        self.is_stopped = True
        return True

    async def _survey(self, desk: Desk, changed: Callable[[], None]) -> None:
        from console.admin.errors import AdminError
        from console.session.redriving import survey, with_ends
        from console.session.snapshot_reader import Refused

        due = 0.0

        def show(found: Survey) -> None:
            nonlocal due
            self.found = found
            if time.monotonic() >= due:
                changed()
                due = time.monotonic() + DRAWN_EVERY

        try:
            self.goal = await with_ends(desk, self.goal)
            self.found, _ = await survey(desk, self.goal, show)
        except (AdminError, Refused) as error:
            self.problem = error.failure
        self.is_read = True
        changed()


class LettersView(DetailsView[dead_letters.PileRow]):
    """The letters that no redrive of the whole topic has read yet. They are read when the view opens, and again on a
    key.
    """

    NAME = keymap.LETTERS
    ENTER = "send these"
    MARKS = False
    NOUN = dead_letters.PILES

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._tools = tools
        self._reading = LettersReading(Redrive(""))
        self._hidden = HiddenContents(self, tools.message)
        self.receivers = (*self.receivers, self._hidden)
        self._mark: tuple[object, ...] = ()

    @property
    def topic(self) -> str:
        """The name of the dead-letter topic."""
        about = self.place.about
        return about.goal.topic if isinstance(about, BeginRedrive) else ""

    @property
    def masked(self) -> bool:
        """Whether exceptions are hidden, because they are contents of records."""
        return self.session.context.records == HIDDEN and not self._hidden.are_shown

    def begin(self) -> None:
        """Discard the letters of the previous topic, and hide contents again."""
        super().begin()
        self._hidden.are_shown = False
        self._reading.stop()
        self._reading = LettersReading(Redrive(self.topic))

    def known(self) -> bool:
        """Return whether letters were read, the read failed, or the operator stopped it."""
        return self._reading.found is not None or self._reading.problem is not None or self._reading.is_stopped

    async def read(self) -> None:
        """Begin to read the letters; no-op if that has begun."""
        from console.session.redriving import desk_of

        if self._reading.is_due and self.topic:
            self._reading.begin(self, desk_of(self.session), self._changed)
        self.update()

    def _changed(self) -> None:
        if self.is_attached:  # the reading may end after the pane was closed
            self.update()
            self._message.write()

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the letters so far, and whether exceptions are hidden."""
        # Return the same tuple while it is equal: `mark` makes a new one each time, and `update` compares identities.
        if self._mark != self._reading.mark:
            self._mark = self._reading.mark
        return self._mark, self.masked

    def rows(self) -> Sequence[dead_letters.PileRow]:
        """Return a row for each combination of original topic, exception and age; empty before the first letters are
        read.
        """
        found = self._reading.found
        return dead_letters.pile_rows(found, masked=self.masked) if found is not None else ()

    def key(self, row: dead_letters.PileRow) -> Hashable:
        """Return the row's key: partition and offset of its example letter."""
        return row.pile.example

    def words(self, row: dead_letters.PileRow) -> str:
        """Return the text that the filter searches: topic, exception, age, and the tool that wrote the letters."""
        return f"{row.pile.topic} {row.exception} {row.pile.age.value} {row.pile.convention}"

    def empty_text(self) -> str:
        """Return the text of a table without rows: why no letters are shown."""
        if self._reading.problem is not None:
            return wrapped(failure_text(self._reading.problem), self.app.size.width)
        if self.filter_text:
            return super().empty_text()
        if self._reading.is_stopped:
            return "no letter was read before it was stopped; r reads them again"
        if self._reading.found is None:
            return super().empty_text()
        if self._reading.is_running:
            return "no letter so far"
        topic = clean(self.topic, 100)
        if before := max(self._reading.found.before, self._reading.goal.noted):
            return f"no letter of {topic} is left: {before:,} sent again before"
        return f"{topic} has no letters: no record is in it"

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of letters, and whether contents are hidden; empty
        before the first letters are read.
        """
        if self._reading.found is None:
            return []
        line: Line = [(dead_letters.count_text(self._reading.found), "muted")]
        return [*line, *masking_note(masked=self.masked, has_mask=False)]

    def note(self) -> Line:
        """Return the text for the message line: the progress of the read, why it ended early, or which letters a
        redrive would not send.
        """
        if self._reading.is_running:
            count = self._reading.found.count if self._reading.found is not None else 0
            return [(f"{count:,} letters are read…; Esc stops", "pending")]
        if self._reading.problem is not None:
            return [(failure_text(self._reading.problem), "failed")]
        if self._reading.is_stopped:
            return [("stopped: not all letters were read; r reads them again", "pending")]
        if self._reading.found is None:
            return super().note()
        if line := dead_letters.others_line(self._reading.found):
            return [(clean(line, 400), "pending")]
        lines = [*dead_letters.staying_lines(self._reading.goal, self._reading.found)]
        return [(clean("; ".join(lines), 400), "muted")] if lines else super().note()

    def target(self) -> ConfigResource | None:
        """Return the config resource of the topic; None if the place is about no topic."""
        return topic_resource(self.topic) if self.topic else None

    def details(self, row: dead_letters.PileRow) -> list[Line]:
        """Return the original topic and the age as title, then lines about the letters of the row: what they share,
        their times, their number and an example.
        """
        title = f"{clean(row.pile.topic, 100)}  {row.pile.age.value}"
        return [[(title, "")], *dead_letters.pile_lines(row, self.topic)]

    def copied_of(self, row: dead_letters.PileRow) -> str:
        """Return the text that `y` copies: topic, partition and offset of the row's example letter."""
        partition, offset = row.pile.example
        return f"{self.topic}-{partition} offset {offset}"

    def _condition(self, row: dead_letters.PileRow) -> str | None:
        """Return the condition of a redrive that selects the letters of a row. If their exception is hidden, or no
        condition selects exactly these letters, show a message and return None.
        """
        assert self._reading.found is not None
        if self.masked:
            self._message.say("its exception is hidden, and the command would show it: s shows it", "muted")
            return None
        try:
            return condition_of(row.pile, self._reading.found)
        except ValueError as error:
            self._message.say(str(error), "muted")
            return None

    async def enter(self, row: dead_letters.PileRow) -> None:
        """Open the command bar with the command that sends the letters of the row again to their original topic."""
        if (where := self._condition(row)) is None:
            return
        text = unparse(BeginRedrive(Redrive(self.topic, where)))
        self._editing.begin(f"{text} " if row.pile.topic else f"{text} to ")

    def do_redrive(self) -> None:
        """Open the command bar with the command that sends all letters again."""
        self._editing.begin(f"redrive topic {quote(self.topic)} ")

    async def do_records(self) -> None:
        """Show the records that are the letters of the row under the cursor."""
        row = self.row()
        if row is not None and (where := self._condition(row)) is not None:
            wanted = Records((self.topic,), start=Bound("start"), where=where)
            await self._tools.navigator.goto(records_in(self.place, wanted))

    async def do_back(self) -> None:
        """Stop the read, and keep the letters found so far. If no read is under way, go back to the previous place."""
        if self._reading.stop():
            self._changed()
        else:
            await self._tools.navigator.do_back()

    def do_refresh(self) -> None:
        """Read the letters again."""
        self._reading.stop()
        self._reading = LettersReading(Redrive(self.topic))
        self.cluster.reading.now()

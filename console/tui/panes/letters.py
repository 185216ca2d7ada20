"""What is in a dead-letter topic: a row for each original topic, exception and age, before anything is sent again."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
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
from console.tui.panes.details import BesideView
from console.tui.places import records_in
from console.tui.reading import start
from console.tui.tools import Tools

if TYPE_CHECKING:
    from textual.worker import Worker

    from console.model.failure import Failure

DRAWN_EVERY = 0.25
"""Least seconds between two drawings while letters are read."""


class LettersView(BesideView[dead_letters.PileRow]):
    """The letters that a redrive of the whole topic has not looked at, read once and again on a key."""

    NAME = keymap.LETTERS
    ENTER = "send these"
    MARKS = False
    NOUN = dead_letters.PILES

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._tools = tools
        self._goal = Redrive("")
        self._found: Survey | None = None
        self._problem: Failure | None = None
        self._worker: Worker[None] | None = None
        self._is_due, self._is_stopped, self._revealed = True, False, False
        self._drawn = (0, False)

    @property
    def topic(self) -> str:
        """The dead-letter topic."""
        about = self.place.about
        return about.goal.topic if isinstance(about, BeginRedrive) else ""

    @property
    def masked(self) -> bool:
        """Whether exceptions are hidden: they are contents of records."""
        return self.session.context.records == HIDDEN and not self._revealed

    @property
    def is_reading(self) -> bool:
        """Whether letters are read."""
        return self._worker is not None and not self._worker.is_finished

    def begin(self) -> None:
        """Discard the letters of the former topic, and hide contents again."""
        super().begin()
        self._revealed = False
        self._forget()

    def _forget(self) -> None:
        self._stop()
        self._found, self._problem, self._is_due, self._is_stopped = None, None, True, False

    def _stop(self) -> bool:
        """End the reading, and keep what was found. Return whether it ran."""
        if self._worker is None or self._worker.is_finished:
            return False
        self._worker.cancel()
        self._worker = None
        return True

    def known(self) -> bool:
        """Return whether letters were read, or can't be read."""
        return self._found is not None or self._problem is not None

    async def read(self) -> None:
        """Begin to read the letters, once."""
        if self._is_due and self.topic:
            self._is_due = False
            self._worker = start(self, self._survey, group="letters", name="letters", exclusive=True)
        self.update()

    async def _survey(self) -> None:
        from console.admin.errors import AdminError
        from console.session.redriving import desk_of, survey, with_ends
        from console.session.snapshot_reader import Refused

        desk, due = desk_of(self.session), 0.0

        def show(found: Survey) -> None:
            nonlocal due
            self._found = found
            if time.monotonic() >= due:
                self._changed()
                due = time.monotonic() + DRAWN_EVERY

        try:
            self._goal = await with_ends(desk, Redrive(self.topic))
            self._found, _ = await survey(desk, self._goal, show)
        except (AdminError, Refused) as error:
            self._problem = error.failure
        self._worker = None
        self._changed()

    def _changed(self) -> None:
        if self.is_attached:
            self._drawn = (self._found.count if self._found is not None else 0, self.is_reading)
            self.update()
            self._message.write()

    def inputs(self) -> tuple[object, ...]:
        """Return the letters, how many they are, whether they are still read, and whether exceptions are hidden."""
        return self._found, self._drawn, self._problem, self._is_stopped, self.masked

    def rows(self) -> Sequence[dead_letters.PileRow]:
        """Return a row for each original topic, exception and age."""
        return dead_letters.pile_rows(self._found, masked=self.masked) if self._found is not None else ()

    def key(self, row: dead_letters.PileRow) -> Hashable:
        """Return the place of the row's example."""
        return row.pile.example

    def words(self, row: dead_letters.PileRow) -> str:
        """Return topic, exception, age and tool."""
        return f"{row.pile.topic} {row.exception} {row.pile.age.value} {row.pile.convention}"

    def in_trouble(self, row: dead_letters.PileRow) -> bool:
        """Return whether letters of the row would stay."""
        return row.pile.chosen < row.pile.count

    def empty_text(self) -> str:
        """Return why no letters are shown."""
        if self._problem is not None:
            return wrapped(failure_text(self._problem), self.app.size.width)
        if self._found is None or self.filter_text:
            return super().empty_text()
        if self.is_reading:
            return "no letter so far"
        topic = clean(self.topic, 100)
        if before := max(self._found.before, self._goal.noted):
            return f"no letter of {topic} is left: {before:,} sent again before"
        return f"{topic} has no letters: no record is in it"

    def status(self) -> Line:
        """Return the number of letters, and whether contents are hidden."""
        if self._found is None:
            return []
        line: Line = [(dead_letters.count_text(self._found), "muted")]
        return [*line, *masking_note(masked=self.masked, has_mask=False)]

    def note(self) -> Line:
        """Return the progress, why it ended, or what would stay."""
        if self.is_reading:
            count = self._found.count if self._found is not None else 0
            return [(f"{count:,} letters are read…; Esc stops", "pending")]
        if self._problem is not None:
            return [(failure_text(self._problem), "failed")]
        if self._is_stopped:
            return [("stopped: not all letters were read; r reads them again", "pending")]
        if self._found is None:
            return super().note()
        if line := dead_letters.others_line(self._found):
            return [(clean(line, 400), "pending")]
        lines = [*dead_letters.staying_lines(self._goal, self._found)]
        return [(clean("; ".join(lines), 400), "muted")] if lines else super().note()

    def target(self) -> ConfigResource | None:
        """Return the topic's configs."""
        return topic_resource(self.topic) if self.topic else None

    def details(self, row: dead_letters.PileRow) -> list[Line]:
        """Return what the letters of the row have in common."""
        title = f"{clean(row.pile.topic, 100)}  {row.pile.age.value}"
        return [[(title, "")], *dead_letters.pile_lines(row, self.topic)]

    def copied_of(self, row: dead_letters.PileRow) -> str:
        """Return the place of the row's example."""
        partition, offset = row.pile.example
        return f"{self.topic}-{partition} offset {offset}"

    def _condition(self, row: dead_letters.PileRow) -> str | None:
        """Return the condition for the letters of a row; None, with a message, without one."""
        assert self._found is not None
        if self.masked:
            self._message.say("its exception is hidden, and the command would show it: s shows it", "muted")
            return None
        try:
            return condition_of(row.pile, self._found)
        except ValueError as error:
            self._message.say(str(error), "muted")
            return None

    async def enter(self, row: dead_letters.PileRow) -> None:
        """Begin the command that sends the letters of the row again."""
        if (where := self._condition(row)) is None:
            return
        text = unparse(BeginRedrive(Redrive(self.topic, where)))
        self._editing.begin(f"{text} " if row.pile.topic else f"{text} to ")

    def do_redrive(self) -> None:
        """Begin the command that sends all letters again."""
        self._editing.begin(f"redrive topic {quote(self.topic)} ")

    async def do_records(self) -> None:
        """Show the letters of the row under the cursor."""
        row = self.row()
        if row is not None and (where := self._condition(row)) is not None:
            wanted = Records((self.topic,), start=Bound("start"), where=where)
            await self._tools.navigator.goto(records_in(self.place, wanted))

    async def do_back(self) -> None:
        """Stop the reading and keep what was found; else go back as everywhere."""
        if self._stop():
            self._is_stopped = True
            self._changed()
        else:
            await self._tools.navigator.do_back()

    def do_refresh(self) -> None:
        """Read the letters again."""
        self._forget()
        self.cluster.reading.now()

    def do_reveal(self) -> None:
        """Show hidden exceptions, or hide them again."""
        if self.session.context.records != HIDDEN:
            self._message.say("nothing is hidden in this context", "muted")
            return
        self._revealed = not self._revealed
        self.redraw()

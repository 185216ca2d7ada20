"""The journal on the screen: what is unfinished or due, taking a change back, and the way to its pane."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from console.language.errors import CommandError
from console.language.tokenizer import Span
from console.model.changes import Status
from console.present.failures import failure_text, staged_text
from console.present.text import clean
from console.session.former_changes import NOTHING, FormerChanges, former_changes
from console.tui import keymap
from console.tui.navigator import PANES, Place
from console.tui.workers import start

if TYPE_CHECKING:
    from console.language.statements import Entity
    from console.model.snapshot import Snapshot
    from console.tui.app import Console

log = logging.getLogger(__name__)


LONGEST_WAIT = 60.0
"""Seconds after which the header is written again while something is to be taken back at a time."""


class JournalStatus:
    """The journal of the cluster that is shown."""

    def __init__(self, app: Console) -> None:
        self._app = app
        self._known: FormerChanges = NOTHING
        self._looked = False
        self._looking = False

    def look_once(self) -> None:
        """When the cluster has answered for the first time: the same, and tell what is unfinished and what is due."""
        if not self._looked:
            self._looked = True
            start(self._app, partial(self._look, say=True), group="past", name="past")

    def look(self) -> None:
        """Read what is to be taken back, for the header; beside everything else."""
        start(self._app, partial(self._look, say=False), group="past", name="past")

    def noticed(self, snapshot: Snapshot) -> None:
        """Where a read shows what a change of unknown outcome wanted, look at it: that settles it."""
        if self._known.past is None or self._looking or not (open_ := self._known.past.unfinished()):
            return
        from console.journal.history import State
        from console.session.journal_changes import seen_now

        for change in open_:
            edits, _ = seen_now(self._known.past, change, change.in_state(State.UNKNOWN), snapshot)
            if Status.APPLIED in edits.values():
                self._looking = True
                self.look()
                return

    async def _look(self, *, say: bool) -> None:
        from console.admin.errors import AdminError
        from console.session.session import Refused

        self._looking = True
        try:
            self._known = await former_changes(self._app.session)
        except (AdminError, Refused) as error:
            log.warning("the journal was not looked at: %s", error.failure)
            return
        finally:
            self._looking = False
        if say and (lines := self._known.lines):
            more = f" (and {len(lines) - 1} more: :history)" if len(lines) > 1 else ""
            self._app.say(clean(lines[0], 400) + more, "failed")
        self._tell()

    def _tell(self) -> None:
        """Write the header, and again when the next edit is due."""
        self._app.frame.tell_header()
        now = datetime.now(UTC)
        waits = [(due.until - now).total_seconds() for due in self._known.expiring if due.until > now]
        if waits:
            # The clock may be set meanwhile: look again after a minute at the latest.
            self._app.set_timer(min(*waits, LONGEST_WAIT) + 0.1, self._tell)

    @property
    def due(self) -> str:
        """For the header: ``NO JOURNAL`` where none is kept, ``DUE 2`` where edits should have been taken back,
        ``until 14:05`` where one is to be; ``""`` for none of these."""
        if not self._app.session.context.journal:
            return "NO JOURNAL"
        now = datetime.now(UTC)
        if late := self._known.due(now):
            return f"DUE {len(late)}"
        if self._known.expiring:
            return f"until {self._known.expiring[0].until.astimezone():%H:%M}"
        return ""

    async def show(self, entity: Entity | None, text: str) -> None:
        """What was changed, in its pane: of an entity, or with a text in it. Raises CommandError for a text that is no
        filter."""
        going = self._app.going
        about = entity.subject if entity is not None else None
        await going.goto(Place(keymap.HISTORY, PANES.index(keymap.HISTORY) + 1, about))
        try:
            going.view.take_filter(text)
        except ValueError as error:
            raise CommandError(str(error), "") from None

    def take_back(self, number: int | None) -> None:
        """Stage the opposite of a change of the journal."""
        if number is not None:
            start(self._app, partial(self._take_back, number), group="command", name="command")

    async def _take_back(self, number: int) -> None:
        from console.admin.errors import AdminError
        from console.session.session import Refused

        try:
            await self.revert(str(number), None)
        except (AdminError, Refused) as error:
            self._app.say(failure_text(error.failure), "failed")

    async def revert(self, change: str, span: Span | None) -> None:
        """Stage the opposite of a change. Raises CommandError, Refused, AdminError."""
        from console.session.journal_changes import stage_revert

        if not change.isascii() or not change.isdigit():
            raise CommandError("a change is called by its number", ":history shows them", span)
        report = await stage_revert(self._app.session, int(change))
        text, meaning = staged_text(report.staging)
        if not report.staging.added:
            meaning = "failed"
        if report.moved:
            text, meaning = f"{text}; another client changed {len(report.moved)} of it since: apply will ask", "failed"
            if why := next((conflict.why for conflict in report.moved if conflict.why), ""):
                text = f"{text}; {clean(why, 300)}"
        for note in report.notes:
            text, meaning = f"{text}; {clean(note, 300)}", "failed"
        self._app.say(text, meaning)

"""The report of lint for the screen: read for its pane, and counted in Now from what triage reads anyway."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.model.parts import Part
from console.session.scheduler import Pace, Scheduled, Turns

if TYPE_CHECKING:
    from console.lint.report import Report
    from console.lint.rule import Rule, Seen
    from console.model.failure import Failure
    from console.tui.watch import Watch

COUNTS, EVERY, FIRST_AFTER, LAST_AFTER = "lint", 60.0, 10.0, 40.0
"""The scheduled part that counts findings for Now, the seconds between two counts, and those before the first: as soon
as triage has read all its parts, and at last without those that it can't read."""
OLD = timedelta(seconds=30)
"""Age from which on a part is read again for the pane."""
LOOKS = Pace(5.0, rest=20.0)
"""Pace of the looks while the pane is visible: rules over 100,000 topics use the processor for seconds."""

log = logging.getLogger(__name__)


class LintWatch:
    """The findings, as of the last look. Rules run on another thread.

    report: None before the first look. missing: lines on members of parts that could not be read. problem: why the
    last read for the pane failed; None if it did not.
    """

    def __init__(self, triage: Watch, redraw: Callable[[], None]) -> None:
        """Create it; `begin` counts for Now, `read` looks for the pane.

        Args:
            triage: reads most of what rules need.
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
        """Count the findings for Now from time to time."""
        if self._began is None:
            self._began = time.monotonic()
            pace = Pace(EVERY, rest=30.0)
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
        """Read what the rules need, and look, if something changed or is old."""
        snapshot = self._session.snapshot
        if not self._looks.is_due() or (self.report is not None and snapshot is self._seen and self._is_fresh()):
            return
        from console.admin.errors import AdminError
        from console.session.lint_reading import read_for_lint
        from console.session.snapshot_reader import Refused

        with self._looks:
            try:
                # Triage reads certificates each hour; a handshake for each look would be many.
                seen = await read_for_lint(self._session, self.readable(), OLD)
            except (AdminError, Refused) as error:
                log.warning("reading for lint: %s", error.failure)
                self.problem = error.failure
                self._redraw()
            else:
                self.problem = None
                await self._look(seen)

    def readable(self) -> Sequence[Rule]:
        """Return the rules whose parts the session reads: controllers know few of them. Triage reads certificates."""
        from console.lint.rules import RULES

        if not self._rules:
            at_controllers = self._reading.at_controllers
            self._rules = [
                rule
                for rule in RULES
                if Part.CERTIFICATES not in rule.reads
                and (not at_controllers or all(part.about.at_controllers for part in rule.reads))
            ]
        return self._rules

    def _needed(self) -> frozenset[Part]:
        """Return the parts with a time in the snapshot: of others each member has its own."""
        if not self._parts:
            parts = (part for rule in self.readable() for part in rule.reads)
            self._parts = frozenset(part for part in parts if not part.about.by_members)
        return self._parts

    def _is_fresh(self) -> bool:
        """Return whether no part is old enough to be read again."""
        now, read_at = self._session.clock.now(), self._session.snapshot.read_at
        return all(part in read_at and now - read_at[part] < OLD for part in self._needed())

    def progress(self) -> tuple[int, int]:
        """Return how many of the parts that rules need have been read, and how many there are."""
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
    from console.present.names import target

    return lint(seen, target), tuple(partly(seen))

"""`kac due`: list the edits that were applied for a limited time, and revert those whose time is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from console.answers.history_results import local
from console.answers.plan_results import report_tables, with_source
from console.answers.results import Column, Result, Row, Table
from console.journal.history import Change, Due, History
from console.model.failure import sentences
from console.model.inheritance import Inheritance
from console.model.numbers import Data
from console.model.snapshot import Snapshot
from console.plan.diff import after
from console.plan.reconcile import ApplyOptions, ApplyReport
from console.present import names
from console.session.apply_flow import Asks, Flags, NotApplied, Unattended, apply_flow
from console.session.former_changes import read_open
from console.session.journal_changes import RevertReport, close, opposites, stage_opposites
from console.session.terminal_front import Operator, TerminalFront
from console.terminal import complain

if TYPE_CHECKING:
    from console.journal.file import JournalFile
    from console.session.session import Session

_COLUMNS = tuple(map(Column, ("Change", "Due", "Entity", "Key", "Set to", "State")))


def due_table(expiring: Sequence[Due], now: datetime) -> Table:
    """Return the table of the edits that were applied for a limited time, sorted by the end of that time. now: the
    present time, UTC.
    """
    rows = []
    for due in expiring:
        edit = due.entry.staged.edit
        set_to = with_source(edit.target, edit.key, after(edit, due.entry.staged.was, Inheritance(Snapshot())))
        state = "due" if due.until <= now else "waits"
        cells = (str(due.place.change), local(due.until), names.target(edit.target), edit.key, set_to, state)
        data: dict[str, Data] = {
            "change": due.place.change,
            "until": due.until.isoformat(),
            "entity": names.target(edit.target),
            "key": edit.key,
            "state": state,
        }
        rows.append(Row(cells, data))
    return Table("due", _COLUMNS, tuple(rows), empty="nothing was set for a time")


class Taken(NamedTuple):
    """The result of `take_back`."""

    failed: bool = False
    """Whether an edit could not be reverted."""
    warned: bool = False
    """Whether an edit was not reverted because its reversal has warnings that are not accepted."""


async def take_back(
    session: Session, tell: Callable[[Result], None], operator: Operator, accept: Iterable[str] = ()
) -> Taken:
    """Revert all edits whose time is over.

    The edits of one change are reverted by one apply. If that fails, each is reverted by its own apply, so that a
    deleted topic or another client's change stops no other edit. An edit that can't be reverted is shown, and stays due
    until the operator forgets it or corrects the cause.

    Args:
        tell: function that shows a result to the operator.
        accept: the names of accepted warnings, in the form of `Risk.accepted_as`.

    Returns:
        Whether an edit could not be reverted, and whether warnings stopped a reversal.

    Raises:
        Refused, AdminError: nothing more was sent; edits before the error may have been reverted.
    """
    past = await read_open(await session.journal())
    now = datetime.now(UTC)
    # Sort by location in the journal: `groupby` needs the edits of a change next to each other.
    late = sorted((due for due in past.expiring() if due.until <= now), key=lambda due: due.place)
    failed = warned = False
    options = ApplyOptions(risks=frozenset(accept))
    for number, group in groupby(late, key=lambda due: due.place.change):
        taking = _Taking(session, past, past.changes[number], tell, operator, options)
        some = tuple(group)
        left = await taking.whole(some) if len(some) > 1 else some
        for due in left:
            one = await taking.alone(due)
            failed, warned = failed or one.failed, warned or one.warned
    return Taken(failed, warned)


@dataclass
class _Taking:
    """The reversal of the edits of one change."""

    session: Session
    past: History
    change: Change
    tell: Callable[[Result], None]
    operator: Operator
    options: ApplyOptions

    async def whole(self, some: Sequence[Due]) -> Sequence[Due]:
        """Revert the edits by one apply. Return the edits that were not reverted, for which the caller calls `alone`:
        only `alone` shows why an edit can't be reverted.
        """
        report = await self._stage(some)
        if report.notes or report.staging.refused:
            self.session.discard()
            return some
        # An edit that is missing here needs no request: the cluster has its former value already.
        staged = {each.reverts for each in report.staging.added}
        front = Unattended()
        if self.session.plan:
            with suppress(NotApplied):
                await apply_flow(self.session, front, self.options, _ASKS, _FLAGS)
        # An apply leaves in the plan the edits that it did not apply.
        left = {each.reverts for each in self.session.plan.staged}
        self.session.discard()
        for done in (each for each in front.reports if each.sent):
            self._show(done)
        await self._close([due for due in some if due.place not in staged])
        return [due for due in some if due.place in left]

    async def alone(self, due: Due) -> Taken:
        """Revert one edit by its own apply; if that fails, show the reason."""
        report = await self._stage([due])
        if report.notes or report.staging.refused:
            reasons = (sentences(each.reason, each.remedy) for each in report.staging.refused)
            self.tell(_refused(report.notes, reasons, self.change.number))
            self.session.discard()
            return Taken(failed=True)
        if not self.session.plan:
            await self._close([due])
            return Taken()
        # From here on, involve the operator, if there is one: warnings and conflicts of a single edit are shown, and
        # can be accepted.
        front = TerminalFront(self.session.context.name, self.operator, self._show, complain)
        try:
            reports = await apply_flow(self.session, front, self.options, _ASKS, _FLAGS)
        except NotApplied as refused:
            complain(f"change {self.change.number}: {refused.message}; {refused.hint}")
            return Taken(warned=True) if refused.risks else Taken(failed=True)
        finally:
            self.session.discard()
        return Taken(failed=not reports[-1].ok)

    async def _stage(self, some: Sequence[Due]) -> RevertReport:
        wanted = opposites(self.change, [due.place.edit for due in some])
        return await stage_opposites(self.session, self.past, wanted)

    async def _close(self, some: Iterable[Due]) -> None:
        for due in some:
            await close(await self.session.journal(), due, "it was as before already")

    def _show(self, report: ApplyReport) -> None:
        for table in report_tables(report, "apply"):
            self.tell(table)


_ASKS = Asks(plan=False, name=False, over=False)
"""No further questions: when the operator confirmed the change for a limited time, this included its reversal."""
_FLAGS = Flags(accept="kac due --apply --accept", force="kac due --forget lets it stay")


def _refused(notes: Iterable[str], reasons: Iterable[str], number: int) -> Table:
    lines = tuple(f"! {line}" for line in (*notes, *reasons))
    return Table("refused", (), (), empty=f"change {number} can't be taken back whole", notes=lines)


async def forget(journal: JournalFile, number: int) -> int:
    """Record that the edits of a change stay permanently instead of for a limited time. Return the number of these
    edits. Raises Refused. number: the number of the change in the journal.
    """
    past = await read_open(journal)
    mine = [due for due in past.expiring() if due.place.change == number]
    for due in mine:
        await close(journal, due, "it stays")
    return len(mine)

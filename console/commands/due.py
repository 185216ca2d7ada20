"""`kac due`: what was set for a time, and taking back what is due."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

from console.commands.history_results import local
from console.commands.past import close, opposites, read_open, stage_opposites
from console.commands.plan_results import conflict_tables, report_table, with_source
from console.commands.results import Column, Data, Result, Row, Table
from console.journal.history import Due, History
from console.model.inheritance import Inheritance
from console.model.snapshot import Snapshot
from console.plan.effects.risks import NAMES
from console.plan.sides import after
from console.present import names

if TYPE_CHECKING:
    from console.commands.session import Session

_COLUMNS = tuple(map(Column, ("Change", "Due", "Entity", "Key", "Set to", "State")))


def due_table(expiring: Sequence[Due], now: datetime) -> Table:
    """What holds for a time, the first to be due first."""
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


async def take_back(session: Session, tell: Callable[[Result], None]) -> bool:
    """Take back everything that is due, each change for itself; whether all of it went well.

    What somebody changed since is refused and told three ways: it stays due until it is forgotten or set right. Raises
    Refused, AdminError: what came before is done.
    """
    past = await read_open(session)
    now = datetime.now(UTC)
    late = [due for due in past.expiring() if due.until <= now]
    good = True
    for number, some in groupby(sorted(late, key=lambda due: due.place), key=lambda due: due.place.change):
        good = await _take_back(session, past, number, tuple(some), tell) and good
    return good


async def _take_back(
    session: Session, past: History, number: int, some: tuple[Due, ...], tell: Callable[[Result], None]
) -> bool:
    report = await stage_opposites(session, past, opposites(past.changes[number], [due.place.edit for due in some]))
    staged = {staged.reverts for staged in report.staging.added}
    for due in some:
        if due.place not in staged and not report.staging.refused and not report.notes:
            await close(session, due, "it was as before already")
    if report.notes or report.staging.refused:
        tell(_refused(report.notes, (f"{r.reason}. {r.remedy}" for r in report.staging.refused), number))
    good = not report.notes and not report.staging.refused
    while session.plan:
        applied = await session.apply(risks=NAMES)
        for table in (*conflict_tables(applied), report_table(applied, "apply")):
            tell(table)
        good = good and applied.ok
        for conflict in applied.conflicts:
            session.discard(conflict.staged.edit.target, conflict.staged.edit.key or None)
        if not applied.conflicts:
            break
    session.discard()
    return good


def _refused(notes: Iterable[str], reasons: Iterable[str], number: int) -> Table:
    lines = tuple(f"! {line}" for line in (*notes, *reasons))
    return Table("refused", (), (), empty=f"change {number} can't be taken back whole", notes=lines)


async def forget(session: Session, number: int) -> int:
    """What a change set for a time is to stay; how many edits that were. Raises Refused, AdminError."""
    past = await read_open(session)
    mine = [due for due in past.expiring() if due.place.change == number]
    for due in mine:
        await close(session, due, "it is to stay")
    return len(mine)

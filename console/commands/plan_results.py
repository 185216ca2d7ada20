"""What staging, checking and applying answer: text for a terminal, and the data of JSON output beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.commands.applying import ApplyReport
from console.commands.results import Column, Data, Row, Table
from console.model.changes import Outcome, Target
from console.model.failure import Failure
from console.model.snapshot import Snapshot
from console.plan.diff import DiffLine, Side, diff
from console.plan.plan import Plan, StageReport
from console.plan.staged import Staged
from console.present import names
from console.present.failures import failure_text
from console.present.values import side_text

_DIFF_COLUMNS = (Column("Entity"), Column("Key"), Column("Change"), Column("Old"), Column("New"), Column("State"))


def plan_table(plan: Plan, snapshot: Snapshot, only: Iterable[Staged] | None = None) -> Table:
    """The staged edits, or some of them: old → new, where each comes from, and how the last check went."""
    wanted = None if only is None else {staged.edit.slot for staged in only}
    rows = tuple(
        _diff_row(group.target, line, plan)
        for group in diff(plan, snapshot)
        for line in group.lines
        if wanted is None or line.staged.edit.slot in wanted
    )
    return Table("plan", _DIFF_COLUMNS, rows, empty="nothing is staged")


def _diff_row(target: Target, line: DiffLine, plan: Plan) -> Row:
    outcome = plan.outcome(line.staged.edit)
    state = outcome.status.value if outcome else "staged"
    cells = (names.target(target), line.key, line.verb, _side(target, line, line.old), _side(target, line, line.new))
    data: dict[str, Data] = {
        "entity": names.target(target),
        "key": line.key,
        "change": line.verb,
        "old": _side_data(line.old),
        "new": _side_data(line.new),
        "state": state,
        **_failure_data(outcome.failure if outcome else None),
    }
    return Row((*cells, state), data)


def _side(target: Target, line: DiffLine, side: Side) -> str:
    text = side_text(target, line.key, side)
    return f"{text} ({names.source(side.source)})" if side.source is not None else text


def _side_data(side: Side) -> Mapping[str, Data]:
    return {
        "value": side.value,
        "source": side.source.name if side.source is not None else None,
        "hidden": side.hidden,
        "known": side.known,
    }


def _failure_data(failure: Failure | None) -> Mapping[str, Data]:
    if failure is None:
        return {"error": None, "message": None, "remedy": None}
    return {"error": failure.name, "message": failure.message, "remedy": failure.remedy}


def stage_table(report: StageReport, snapshot: Snapshot) -> Table:
    """What became of one statement's edits: staged with their diff, not needed, refused with the remedy."""
    staged = plan_table(report.plan, snapshot, report.added).rows
    notes = [f"not needed: {names.target(d.edit.target)} {d.edit.key}: {d.reason}" for d in report.dropped]
    notes += [
        f"! refused: {names.target(r.edit.target)} {r.edit.key}: {r.reason}. {r.remedy}".rstrip()
        for r in report.refused
    ]
    return Table("staged", _DIFF_COLUMNS, staged, empty="nothing staged", notes=tuple(notes))


def report_table(report: ApplyReport, verb: str) -> Table:
    """How each target of each request went; one line for a target, with the broker's words and the remedy."""
    rows = tuple(_outcome_row(outcome) for result in report.results for outcome in result.outcomes)
    failed = sum(1 for result in report.results for _ in result.failed)
    notes = [result.step.note for result in report.results if result.step.note]
    if verb == "apply" and not report.sent:
        notes.append("nothing was sent to change the cluster" + (": the check failed" if failed else ""))
    requests = names.plural(len(report.results), "request")
    notes.append(f"{requests}, {names.plural(len(rows) - failed, 'entity', 'entities')} ok, {failed} failed")
    columns = (Column("Entity"), Column("State"), Column("Why"))
    return Table("outcomes", columns, rows, empty="nothing to do", notes=tuple(notes))


def _outcome_row(outcome: Outcome) -> Row:
    entity, state = names.target(outcome.target), outcome.status.value
    why = failure_text(outcome.failure) if outcome.failure else ""
    return Row((entity, state, why), {"entity": entity, "state": state, **_failure_data(outcome.failure)})

"""The answers to staging, checking and applying: text for a terminal, and the data of JSON output beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.admin.settings import ConnectionSettings
from console.answers.results import Column, Row, Table
from console.language.quoting import shell_text
from console.model.changes import GroupTarget, Outcome, Status, Target
from console.model.failure import Failure, sentences
from console.model.numbers import Data
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.amounts import duration_text, exact_quota, quota
from console.plan.compile import runbook
from console.plan.conflicts import Conflict
from console.plan.diff import diff, diff_of
from console.plan.edits import Edit, Slot
from console.plan.effective_values import DiffGroup, DiffLine, EffectiveValue
from console.plan.kafka_tools import CONFIG_OPTION, Command
from console.plan.plan import EMPTY, Plan, StageReport
from console.plan.retention import Deletion
from console.plan.reversal import losses, reversal
from console.plan.risk_rules import Risk, RiskFacts
from console.plan.risks import effects, risks
from console.plan.settle import ApplyReport
from console.plan.staged import Draft, Dropped, Staged
from console.present import names
from console.present.failures import failure_text, how_to_settle
from console.present.values import deletion_text, origin, side_human, side_text

_DIFF_COLUMNS = (Column("Entity"), Column("Key"), Column("Change"), Column("Old"), Column("New"), Column("State"))


Deletions = Mapping[Slot, Deletion]


def plan_table(
    plan: Plan, snapshot: Snapshot, deletions: Deletions | None = None, facts: RiskFacts | None = None
) -> Table:
    """Return the staged edits: old → new, where each comes from, and the outcome of the last check.

    Args:
        deletions: what edits of the retention delete, where that was read (console.session.plan_facts).
        facts: what was read for the warnings, likewise.
    """
    gone = deletions or {}
    rows = _diff_rows(diff(plan, snapshot), plan, gone)
    return Table("plan", _DIFF_COLUMNS, rows, empty="nothing is staged", notes=_notes(plan, snapshot, gone, facts))


def _diff_rows(groups: Iterable[DiffGroup], plan: Plan, gone: Deletions) -> tuple[Row, ...]:
    return tuple(_diff_row(group.target, line, plan, gone) for group in groups for line in group.lines)


def _notes(plan: Plan, snapshot: Snapshot, gone: Deletions, facts: RiskFacts | None) -> tuple[str, ...]:
    """Return the effects on others, what is deleted, the warnings, and what can't be reverted."""
    others = effect_lines(effects(plan.staged, snapshot))
    return (*others, *deletion_lines(gone), *risk_lines(risks(plan.staged, snapshot, facts)), *loss_lines(plan.staged))


def effect_lines(found: Mapping[Slot, tuple[str, ...]]) -> list[str]:
    """Return the effects on others, a line each."""
    return [f"{_slot(slot)}: {line}" for slot, lines in found.items() for line in lines]


def deletion_lines(gone: Deletions) -> list[str]:
    """Return what each edit of a retention deletes, a line each."""
    return [f"{_slot(slot)}: {deletion_text(found)}" for slot, found in gone.items()]


def risk_lines(found: Iterable[Risk]) -> list[str]:
    """Return a line for each warning, with its name."""
    return [f"! {risk.name}: {_slot(risk.slot)}: {risk.text}" for risk in found]


def _slot(slot: Slot) -> str:
    return f"{names.target(slot.target)} {slot.key}".rstrip()


def _diff_row(target: Target, line: DiffLine, plan: Plan, gone: Deletions) -> Row:
    outcome = plan.outcome(line.staged.edit)
    state = outcome.status.value if outcome else "staged"
    old, new = with_source(target, line.key, line.old), with_source(target, line.key, line.new)
    lasts = f" for {duration_text(line.staged.lasts_ms)}" if line.staged.lasts_ms is not None else ""
    # A group's offsets stand under the group on the screen; here each row says its partition.
    entity = names.target(line.edit.target if isinstance(target, GroupTarget) else target)
    if isinstance(target, GroupTarget) and line.note:
        new = f"{new} ({line.note})"
    cells = (entity, line.key, line.verb + lasts, old, new)
    data: dict[str, Data] = {
        "entity": entity,
        "key": line.key,
        "change": line.verb,
        "lasts_ms": line.staged.lasts_ms,
        "old": side_data(line.old),
        "new": side_data(line.new),
        "deletes": _deletion_data(gone.get(line.staged.edit.slot)),
        "state": state,
        **_failure_data(outcome.failure if outcome else None),
    }
    return Row((*cells, state), data)


def _deletion_data(found: Deletion | None) -> Data:
    """Return a deletion as JSON data: ``bytes_least`` to ``bytes_most`` of all replicas, of so many ``partitions``;
    null where it was not read.
    """
    if found is None:
        return None
    return {
        "bytes_least": found.least,
        "bytes_most": found.most,
        "partitions": found.partitions,
        "partitions_unknown": found.unknown,
    }


def with_source(target: Target, key: str, side: EffectiveValue) -> str:
    """Return a side of a change, and where its value comes from."""
    text = side_text(target, key, side)
    return f"{text} ({origin(key, side, names.source(side.source))})" if side.source is not None else text


def conflict_side(target: Target, key: str, side: EffectiveValue) -> str:
    """Return a side of a conflict: its exact value and, in brackets, its human form and where it comes from:
    ``604800000 (7 d, topic)``.
    """
    if isinstance(target, QuotaEntity) and isinstance(side.value, float | int) and side.known and not side.hidden:
        text, human = exact_quota(key, side.value), quota(key, side.value)
        human = "" if human.replace(",", "") == text else human
    else:
        text, human = side_text(target, key, side), side_human(target, key, side)
    source = origin(key, side, names.source(side.source)) if side.source is not None else ""
    notes = ", ".join(filter(None, (human, source)))
    return f"{text} ({notes})" if notes else text


def side_data(side: EffectiveValue) -> Mapping[str, Data]:
    """Return a side of a change for JSON output."""
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


def stage_table(report: StageReport, draft: Draft) -> Table:
    """Return what became of one statement's edits: staged with their diff, not needed, refused with the remedy; and
    which of them can't be reverted. draft: the plan that they are in.
    """
    # Staging forgets the outcomes of what it touches, so an empty plan has as many.
    staged = _diff_rows(diff_of(report.added, draft), EMPTY, {})
    notes = dropped_lines(report.dropped)
    refused = _by_reason((sentences(each.reason, each.remedy), each.edit) for each in report.refused)
    notes += [f"! refused: {names.some(some)}: {reason}" for reason, some in refused.items()]
    notes += loss_lines(report.added)
    return Table("staged", _DIFF_COLUMNS, staged, empty="nothing staged", notes=tuple(notes))


def dropped_lines(dropped: Iterable[Dropped]) -> list[str]:
    """Return a line for each reason why edits are not needed: an election of all leaders may drop thousands."""
    places = _by_reason((each.reason, each.edit) for each in dropped)
    return [f"not needed: {names.some(some)}: {reason}" for reason, some in places.items()]


def _by_reason(found: Iterable[tuple[str, Edit]]) -> dict[str, list[str]]:
    """Return the targets of edits by their reason."""
    places: dict[str, list[str]] = {}
    for reason, edit in found:
        places.setdefault(reason, []).append(f"{names.target(edit.target)} {edit.key}".rstrip())
    return places


def loss_lines(staged: Iterable[Staged]) -> list[str]:
    """Return what revert could not bring back, or not whole, once these are applied: a line for each reason."""
    places = _by_reason((loss, each.edit) for each, loss in losses(staged))
    return [f"! no way back: {names.some(some)}: {loss}" for loss, some in places.items()]


def has_way_back(report: ApplyReport) -> bool:
    """Return whether some of what was applied can be reverted by the change's number."""
    done = any(outcome.status is Status.APPLIED for result in report.results for outcome in result.outcomes)
    return report.change is not None and done and any(reversal(s).edits for r in report.results for s in r.step.staged)


def report_table(report: ApplyReport, verb: str, deletions: Deletions | None = None) -> Table:
    """Return the outcome of each target of each request, a line each, with the broker's message and the remedy.
    deletions: what is still to be deleted by what was checked.
    """
    rows = tuple(_outcome_row(outcome, report.change) for result in report.results for outcome in result.outcomes)
    failed = sum(1 for result in report.results for _ in result.failed)
    notes = [result.step.note for result in report.results if result.step.note]
    notes += [*deletion_lines(deletions or {}), *risk_lines(report.risks)]
    if verb == "apply" and not report.sent:
        notes.append("nothing was sent to change the cluster" + _reason(report))
    requests = names.plural(len(report.results), "request")
    notes.append(f"{requests}, {names.plural(len(rows) - failed, 'entity', 'entities')} ok, {failed} failed")
    if report.change is not None:
        statuses = {outcome.status for result in report.results for outcome in result.outcomes}
        if has_way_back(report):
            notes.append(f"change {report.change}: revert {report.change} takes it back")
        if Status.UNKNOWN in statuses:
            notes.append(f"change {report.change}: outcome unknown; {how_to_settle(report.change)}")
    columns = (Column("Entity"), Column("State"), Column("Why"))
    return Table("outcomes", columns, rows, empty="nothing to do", notes=tuple(notes))


def _reason(report: ApplyReport) -> str:
    if report.conflicts:
        return ": another client changed what it touches"
    if report.risks:
        return ": there are warnings that are not accepted"
    return "" if report.ok else ": the check failed"


_CONFLICT_COLUMNS = (Column("Entity"), Column("Key"), Column("Was"), Column("Theirs"), Column("Mine"))


def conflict_tables(report: ApplyReport) -> tuple[Table, ...]:
    """Return what another client changed, three ways: what was read, what is there, what the edit makes of it."""
    go_over = "look at what is theirs; then discard the edit, or overwrite it"
    found = (
        ("conflicts", report.conflicts, "changed by another client since it was read:", go_over),
        ("overridden", report.overridden, "changed by another client, and overwritten by this apply:", ""),
        (
            "surprises",
            report.surprises,
            "after the apply, neither as before nor as applied:",
            "another client changes it",
        ),
    )
    return tuple(conflict_table(name, some, title, note) for name, some, title, note in found if some)


def report_tables(report: ApplyReport, verb: str, deletions: Deletions | None = None) -> tuple[Table, ...]:
    """Return what a check or an apply did (verb): conflicts first, then each target's outcome."""
    return (*conflict_tables(report), report_table(report, verb, deletions))


def conflict_table(name: str, found: Iterable[Conflict], title: str, note: str = "") -> Table:
    """Return conflicts under a title."""
    some = tuple(found)
    notes = (*conflict_reasons(some), *((note,) if note else ()))
    return Table(name, _CONFLICT_COLUMNS, tuple(map(conflict_row, some)), title=title, notes=notes)


def conflict_reasons(found: Iterable[Conflict]) -> list[str]:
    """Return what is wrong with the targets of conflicts beside their values, a line each."""
    return [f"! {_slot(conflict.staged.edit.slot)}: {conflict.why}" for conflict in found if conflict.why]


def conflict_row(conflict: Conflict) -> Row:
    """Return a conflict as a row: what was read, what is there, what the edit makes of it."""
    edit = conflict.staged.edit
    sides = {"was": conflict.was, "theirs": conflict.theirs, "mine": conflict.mine}
    texts = (conflict_side(edit.target, edit.key, side) for side in sides.values())
    data: dict[str, Data] = {"entity": names.target(edit.target), "key": edit.key, "why": conflict.why or None}
    return Row((names.target(edit.target), edit.key, *texts), {**data, **{k: side_data(v) for k, v in sides.items()}})


def _outcome_row(outcome: Outcome, change: int | None) -> Row:
    entity, state = names.target(outcome.target), outcome.status.value
    why = failure_text(outcome.failure) if outcome.failure else ""
    return Row(
        (entity, state, why), {"entity": entity, "state": state, "change": change, **_failure_data(outcome.failure)}
    )


COMMAND_CONFIG = "client.properties"


def runbook_commands(plan: Plan, snapshot: Snapshot, settings: ConnectionSettings) -> tuple[Command, ...]:
    """Return the plan as Kafka's own commands; with SASL or TLS they name a client.properties."""
    connection = ["--bootstrap-server", ",".join(f"{host}:{port}" for host, port in settings.bootstrap)]
    if settings.sasl is not None or settings.tls is not None:
        connection += [CONFIG_OPTION, COMMAND_CONFIG]
    return runbook(diff(plan, snapshot), connection)


def runbook_text(plan: Plan, snapshot: Snapshot, settings: ConnectionSettings) -> str:
    """Return the plan as Kafka's own commands: lines for a POSIX shell."""
    return shell_text(runbook_commands(plan, snapshot, settings))

"""The results of staging, checking and applying, as text for a terminal and as data for JSON output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from console.admin.settings import ConnectionSettings
from console.answers.results import Table, table_of
from console.language.quoting import shell_text
from console.model.changes import GroupTarget, Outcome, Status, Target
from console.model.failure import Failure, sentences
from console.model.grouping import grouped
from console.model.numbers import Data
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.amounts import Unit, duration_text, exact_quota, quota
from console.plan.compile import runbook
from console.plan.conflicts import Conflict
from console.plan.diff import diff, diff_of
from console.plan.edits import Edit, Slot, WriteRecords
from console.plan.effective_values import DiffGroup, DiffLine, EffectiveValue
from console.plan.kafka_tools import CONFIG_OPTION, Command
from console.plan.plan import EMPTY, Plan, StageReport
from console.plan.reconcile import ApplyReport
from console.plan.retention import Deletion
from console.plan.reversal import losses, way_back
from console.plan.risk_rules import Risk, RiskFacts
from console.plan.risks import effects, risks
from console.plan.staged import Draft, Dropped, Staged, subject
from console.present import names
from console.present.columns import LIST, OBJECT, TOLD, Column, Columns
from console.present.failures import failure_text, how_to_settle
from console.present.values import deletion_text, origin, side_human, side_text

Deletions = Mapping[Slot, Deletion]
R = TypeVar("R")


def plan_table(
    plan: Plan, snapshot: Snapshot, deletions: Deletions | None = None, facts: RiskFacts | None = None
) -> Table:
    """Return the staged edits as a table: old → new value, the source of each, and the outcome of the last check.

    Args:
        deletions: slot -> the data that an edit deletes (console.session.retention_reading); None if this was not read.
        facts: facts for the warnings (console.session.plan_facts); None if they were not read.
    """
    gone = deletions or {}
    table = table_of("plan", PLAN, _plan_rows(diff(plan, snapshot), plan, gone), empty="nothing is staged")
    return replace(table, notes=_notes(plan, snapshot, gone, facts))


def _plan_rows(groups: Iterable[DiffGroup], plan: Plan, gone: Deletions) -> Iterator[PlanRow]:
    for group in groups:
        for line in group.lines:
            edit = line.staged.edit
            yield PlanRow(group.target, line, plan.outcome(edit), gone.get(edit.slot))


def _notes(plan: Plan, snapshot: Snapshot, gone: Deletions, facts: RiskFacts | None) -> tuple[str, ...]:
    """Return lines on failed checks, effects on other entities, deletions, warnings, and what can't be reverted."""
    others = effect_lines(effects(plan.staged, snapshot))
    warnings = risk_lines(risks(plan.staged, snapshot, facts))
    return (*failure_lines(plan), *others, *deletion_lines(gone), *warnings, *loss_lines(plan.staged))


def failure_lines(plan: Plan) -> list[str]:
    """Return a line for each reason why brokers refused edits in a check or an apply."""
    outcomes = (outcome for each in plan.staged if (outcome := plan.outcome(each.edit)) is not None)
    failed = {(failure_text(each.failure), names.target(each.target)): None for each in outcomes if each.failure}
    places = grouped((why, target) for why, target in failed)
    return [f"! failed: {names.some(some)}: {why}" for why, some in places.items()]


def effect_lines(effects: Mapping[Slot, tuple[str, ...]]) -> list[str]:
    """Return a line for each effect on other entities."""
    return [f"{_slot(slot)}: {line}" for slot, lines in effects.items() for line in lines]


def deletion_lines(gone: Deletions) -> list[str]:
    """Return a line for each edit that deletes records, on how much it deletes."""
    return [f"{_slot(slot)}: {deletion_text(found)}" for slot, found in gone.items()]


def risk_lines(risks: Iterable[Risk]) -> list[str]:
    """Return a line for each warning, with the name of the warning."""
    return [f"! {risk.name}: {_slot(risk.slot)}: {risk.text}" for risk in risks]


def _slot(slot: Slot) -> str:
    return f"{names.target(slot.target)} {slot.key}".rstrip()


class PlanRow(NamedTuple):
    """A line of a plan's diff, with the target under which it is listed."""

    target: Target
    line: DiffLine
    outcome: Outcome | None
    """The outcome of the last check or apply for the line's edit; None if there is none."""
    deletion: Deletion | None
    """The data that the edit deletes; None if this was not read, or the edit deletes none."""


def _entity(row: PlanRow) -> str:
    # On the screen, a group's offsets are below the group; here each row names its partition.
    return names.target(row.line.edit.target if isinstance(row.target, GroupTarget) else row.target)


def _change(row: PlanRow) -> str:
    lasts = row.line.staged.lasts_ms
    return row.line.verb + (f" for {duration_text(lasts)}" if lasts is not None else "")


def _new(row: PlanRow) -> str:
    text = with_source(row.target, row.line.key, row.line.new)
    return f"{text} ({row.line.note})" if isinstance(row.target, GroupTarget) and row.line.note else text


def _deletion_data(deletion: Deletion | None) -> Data:
    """Return a deletion as JSON data: ``bytes_least`` to ``bytes_most`` over all replicas, in ``partitions``
    partitions; null if it was not read.
    """
    if deletion is None:
        return None
    return {
        "bytes_least": deletion.least,
        "bytes_most": deletion.most,
        "partitions": deletion.partitions,
        "partitions_unknown": deletion.unknown,
    }


def with_source(target: Target, key: str, side: EffectiveValue) -> str:
    """Return the value before or after a change as text, with its source."""
    text = side_text(target, key, side)
    return f"{text} ({origin(key, side, names.source(side.source))})" if side.source is not None else text


def conflict_side(target: Target, key: str, side: EffectiveValue) -> str:
    """Return one of the values of a conflict as text: the exact value and, in brackets, its readable form and source:
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
    """Return the value before or after a change, as a JSON object."""
    return {
        "value": side.value,
        "source": side.source.name if side.source is not None else None,
        "hidden": side.hidden,
        "known": side.known,
    }


def failure_columns(get: Callable[[R], Failure | None]) -> tuple[Column[R], ...]:
    """Return the JSON columns for a failure: error, message and remedy.

    Args:
        get: a function from a row to its failure; None for a row without failure.
    """

    def of(field: Callable[[Failure], str]) -> Callable[[R], str | None]:
        return lambda row: field(failure) if (failure := get(row)) is not None else None

    return (
        Column("error", OBJECT, of(lambda failure: failure.name)),
        Column("message", OBJECT, of(lambda failure: failure.message)),
        Column("remedy", OBJECT, of(lambda failure: failure.remedy)),
    )


def _why_not(row: PlanRow) -> Failure | None:
    return row.outcome.failure if row.outcome is not None else None


PLAN: Columns[PlanRow] = Columns(
    Column("entity", TOLD, _entity),
    Column("key", TOLD, lambda row: row.line.key),
    Column("change", TOLD, lambda row: row.line.verb, "word", text=_change),
    Column("lasts_ms", OBJECT, lambda row: row.line.staged.lasts_ms, "number", Unit.MILLISECONDS),
    Column(
        "old",
        TOLD,
        lambda row: side_data(row.line.old),
        "object",
        text=lambda row: with_source(row.target, row.line.key, row.line.old),
    ),
    Column("new", TOLD, lambda row: side_data(row.line.new), "object", text=_new),
    Column("deletes", OBJECT, lambda row: _deletion_data(row.deletion), "object"),
    Column("state", TOLD, lambda row: row.outcome.status.value if row.outcome is not None else "staged", "word"),
    *failure_columns(_why_not),
)
"""The columns of staged edits; each line of the diff has a row."""


class OutcomeRow(NamedTuple):
    """The outcome of one target of a request."""

    outcome: Outcome
    change: int | None
    """The number of the change in the journal; None if it has none."""


def _why_failed(row: OutcomeRow) -> Failure | None:
    return row.outcome.failure


OUTCOMES: Columns[OutcomeRow] = Columns(
    Column("entity", TOLD, lambda row: names.target(row.outcome.target)),
    Column("state", TOLD, lambda row: row.outcome.status.value, "word"),
    Column("change", OBJECT, type="number"),
    Column("why", LIST, text=lambda row: failure_text(row.outcome.failure) if row.outcome.failure else ""),
    *failure_columns(_why_failed),
)


def conflict_columns(was: str) -> Columns[Conflict]:
    """Return the columns of conflicts: the former value, the present value, and the value after the edit.

    Args:
        was: the title of the former value.
    """
    return Columns(
        Column("entity", TOLD, lambda found: names.target(found.staged.edit.target)),
        Column("key", TOLD, lambda found: found.staged.edit.key),
        Column("why", OBJECT, lambda found: found.why or None),
        _side_column("was", was, lambda found: found.was),
        _side_column("theirs", "Theirs", lambda found: found.theirs),
        _side_column("mine", "Mine", lambda found: found.mine),
    )


def _side_column(name: str, title: str, get: Callable[[Conflict], EffectiveValue]) -> Column[Conflict]:
    def text(conflict: Conflict) -> str:
        edit = conflict.staged.edit
        return conflict_side(edit.target, edit.key, get(conflict))

    return Column(name, TOLD, lambda found: side_data(get(found)), "object", title=title, text=text)


def stage_table(report: StageReport, draft: Draft) -> Table:
    """Return the results of staging one statement's edits: the staged ones with their diff, the dropped ones, the
    refused ones with the remedy, and those that can't be reverted. draft: the plan with these edits.
    """
    # Staging drops the outcomes of the slots that it changes, so none of these edits has an outcome to show.
    staged = table_of("staged", PLAN, _plan_rows(diff_of(report.added, draft), EMPTY, {}), empty="nothing staged")
    notes = dropped_lines(report.dropped)
    refused = _by_reason((sentences(each.reason, each.remedy), each.edit) for each in report.refused)
    notes += [f"! refused: {names.some(some)}: {reason}" for reason, some in refused.items()]
    notes += loss_lines(report.added)
    return replace(staged, notes=tuple(notes))


def dropped_lines(dropped: Iterable[Dropped]) -> list[str]:
    """Return a line for each reason why edits were dropped, with the number of these edits: an election of all
    leaders may drop thousands.
    """
    places = _by_reason((each.reason, each.edit) for each in dropped)
    return [f"not needed: {names.some(some)}: {reason}" for reason, some in places.items()]


def _by_reason(refused: Iterable[tuple[str, Edit]]) -> dict[str, list[str]]:
    """Return reason -> the targets of the edits that were refused for it."""
    return grouped((reason, f"{names.target(edit.target)} {edit.key}".rstrip()) for reason, edit in refused)


def loss_lines(staged: Iterable[Staged]) -> list[str]:
    """Return a line for each reason why a revert will not restore everything that these edits change."""
    places = _by_reason((loss, each.edit) for each, loss in losses(staged))
    return [f"! no way back: {names.some(some)}: {loss}" for loss, some in places.items()]


def way_back_of(report: ApplyReport) -> str:
    """Return a text on how to revert this apply, and what that does not restore; ``""`` if it can't be reverted."""
    done = {
        subject(outcome.target)
        for result in report.results
        for outcome in result.outcomes
        if outcome.status is Status.APPLIED
    }
    gone = {conflict.staged.edit.slot for conflict in report.set_back}
    staged = (each for result in report.results for each in result.step.staged)
    lasting = [each for each in staged if subject(each.edit.target) in done and each.edit.slot not in gone]
    return way_back(lasting, report.change)


def report_table(report: ApplyReport, verb: str, deletions: Deletions | None = None) -> Table:
    """Return a row for each target of each request, with its outcome, the broker's message and the remedy.

    Args:
        verb: ``check`` or ``apply``, for the title.
        deletions: what the checked edits will delete; None if it was not read.
    """
    rows = [OutcomeRow(outcome, report.change) for result in report.results for outcome in result.outcomes]
    failed = sum(1 for result in report.results for _ in result.failed)
    notes = [result.step.note for result in report.results if result.step.note]
    notes += [*deletion_lines(deletions or {}), *risk_lines(report.risks)]
    if verb == "apply" and not report.sent:
        notes.append("nothing was sent to change the cluster" + _reason(report))
    requests = names.plural(len(report.results), "request")
    notes.append(f"{requests}, {names.plural(len(rows) - failed, 'entity', 'entities')} ok, {failed} failed")
    if report.change is not None:
        statuses = {outcome.status for result in report.results for outcome in result.outcomes}
        if back := way_back_of(report):
            notes.append(f"change {report.change}: {back}")
        if Status.UNKNOWN in statuses:
            notes.append(f"change {report.change}: outcome unknown; {how_to_settle(report.change)}")
    return replace(table_of("outcomes", OUTCOMES, rows, empty="nothing to do"), notes=tuple(notes))


def _reason(report: ApplyReport) -> str:
    if report.conflicts:
        return ": another client changed what it touches"
    if report.risks:
        return ": there are warnings that are not accepted"
    return "" if report.ok else ": the check failed"


NOT_READ_AGAIN = "could not be read again, so whether another client changed it is not known"


def conflict_tables(report: ApplyReport) -> tuple[Table, ...]:
    """Return the conflicts with other clients' changes, each with the former value, the present one, and that after the
    edit.
    """
    go_over = "look at what is theirs; then discard the edit, or overwrite it"
    changed = tuple(each for each in report.conflicts if not each.is_unknown)
    unknown = tuple(each for each in report.conflicts if each.is_unknown)
    found = (
        ("conflicts", changed, "changed by another client since it was read:", go_over),
        ("unread", unknown, f"{NOT_READ_AGAIN}:", "look why; then discard the edit, or overwrite what may be there"),
        ("overridden", report.overridden, "changed by another client, and overwritten by this apply:", ""),
        (
            "surprises",
            report.surprises,
            "after the apply, neither as before nor as applied:",
            "another client changes it",
        ),
        (
            "set_back",
            report.set_back,
            "applied, and taken back since:",
            "the cluster itself or another client sets it back: find out which before you apply it again",
        ),
    )
    return tuple(conflict_table(name, some, title, note) for name, some, title, note in found if some)


def report_tables(report: ApplyReport, verb: str) -> tuple[Table, ...]:
    """Return the results of a check or an apply: first conflicts, then the outcome of each target, then the offsets of
    records that were written. verb: ``check`` or ``apply``, for titles.
    """
    return (*conflict_tables(report), report_table(report, verb), *_written_tables(report, verb))


class WrittenRow(NamedTuple):
    """A batch of records to write, and its outcome."""

    edit: WriteRecords
    outcome: Outcome


def _written_tables(report: ApplyReport, verb: str) -> tuple[Table, ...]:
    if verb != "apply" or not report.sent:
        return ()
    rows = [
        WrittenRow(each.edit, outcome)
        for result in report.results
        for outcome in result.outcomes
        for each in result.step.staged
        if isinstance(each.edit, WriteRecords) and each.edit.target == outcome.target
    ]
    return (table_of("records", WRITTEN, rows, "records:"),) if rows else ()


def _offsets(row: WrittenRow) -> str:
    """Return the offsets of a batch as text; ``""`` if it was not written, ``not known`` if its offsets are unknown."""
    first, count = row.outcome.offset, len(row.edit.sizes)
    if row.outcome.status is not Status.APPLIED:
        return ""
    if first is None:
        return "not known"
    return str(first) if count == 1 else f"{first} to {first + count - 1}"


def _each_record(row: WrittenRow) -> Data:
    """Return the outcome of each record of a batch, as JSON data."""
    first, status = row.outcome.offset, row.outcome.status.value
    return [
        {"offset": None if first is None else first + place, "state": status, "bytes": size, "hash": hash_}
        for place, (size, hash_) in enumerate(zip(row.edit.sizes, row.edit.hashes, strict=True))
    ]


WRITTEN: Columns[WrittenRow] = Columns(
    Column("topic", TOLD, lambda row: row.edit.topic),
    Column("partition", TOLD, lambda row: row.edit.partition, "number"),
    Column("count", LIST, lambda row: len(row.edit.sizes), "number", title="Records"),
    Column("offsets", LIST, text=_offsets),
    Column("state", TOLD, lambda row: row.outcome.status.value, "word"),
    Column("records", OBJECT, _each_record, "object"),
)
"""The columns of written records; each batch has a row. JSON output has each record."""


def conflict_table(name: str, conflicts: Iterable[Conflict], title: str, note: str = "", was: str = "Was") -> Table:
    """Return conflicts as a table.

    Args:
        note: a line below the table, on the next step; ``""`` for none.
        was: the title of the column with the former values.
    """
    some = tuple(conflicts)
    notes = (*conflict_reasons(some), *((note,) if note else ()))
    return replace(table_of(name, conflict_columns(was), some, title), notes=notes)


def conflict_reasons(conflicts: Iterable[Conflict]) -> list[str]:
    """Return the reasons of conflicts that are not about values, such as a recreated topic, one line each."""
    return [f"! {_slot(conflict.staged.edit.slot)}: {conflict.why}" for conflict in conflicts if conflict.why]


COMMAND_CONFIG = "client.properties"


def runbook_commands(plan: Plan, snapshot: Snapshot, settings: ConnectionSettings) -> tuple[Command, ...]:
    """Return the plan as commands of Kafka's own tools. If the connection uses SASL or TLS, they name a file
    client.properties.
    """
    option = "--bootstrap-controller" if settings.controllers else "--bootstrap-server"
    connection = [option, ",".join(f"{host}:{port}" for host, port in settings.bootstrap)]
    if settings.sasl is not None or settings.tls is not None:
        connection += [CONFIG_OPTION, COMMAND_CONFIG]
    return runbook(diff(plan, snapshot), connection)


def runbook_text(plan: Plan, snapshot: Snapshot, settings: ConnectionSettings) -> str:
    """Return the plan as commands of Kafka's own tools, as lines for a POSIX shell."""
    return shell_text(runbook_commands(plan, snapshot, settings))

"""The plan as a list of changes with their effects and outcomes, and the requests that will be sent."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct, field

from console.model.broker_keys import UpdateMode, update_mode
from console.model.changes import Outcome, Status
from console.model.config import ConfigEntry, ConfigResource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.amounts import duration_text
from console.plan.edits import Edit, Slot
from console.plan.effective_values import DiffGroup, DiffLine, EffectiveValue
from console.plan.kinds.registry import kind_of
from console.plan.plan import Plan
from console.plan.requests import Step
from console.plan.retention import Deletion
from console.plan.risk_rules import Risk, RiskFacts
from console.plan.risks import effects, risks
from console.plan.staged import Staged
from console.present import names
from console.present.configs import described_by
from console.present.failures import failure_text
from console.present.text import Cell, Line, Span, clean
from console.present.values import deletion_text, origin, side_human, side_text

# The lines below a plan's lines: entities that are affected, data that is deleted, and settings that are legal but
# risky.


class PlanMeaning(Struct, frozen=True):
    """Effects, risks and deletions of these edits, by slot."""

    edits: Mapping[Slot, Edit] = field(default_factory=dict)
    effects: Mapping[Slot, tuple[str, ...]] = field(default_factory=dict)
    risks: Mapping[Slot, tuple[Risk, ...]] = field(default_factory=dict)
    deletions: Mapping[Slot, Deletion] = field(default_factory=dict)

    def below(self, edit: Edit) -> list[Span]:
        """Return the lines below an edit: its deletion, effects and risks; empty for an edit that replaced theirs."""
        slot = edit.slot
        if self.edits.get(slot) != edit:
            return []
        gone = self.deletions.get(slot)
        lines: list[Span] = [] if gone is None else [(deletion_text(gone), "danger" if gone.most else "muted")]
        lines += [(line, "muted") for line in self.effects.get(slot, ())]
        return [*lines, *((f"! {risk.name}: {risk.text}", "danger") for risk in self.risks.get(slot, ()))]


NOTHING_MEANT = PlanMeaning()


def meaning_of(
    staged: Iterable[Staged], snapshot: Snapshot, deletions: Mapping[Slot, Deletion], facts: RiskFacts
) -> PlanMeaning:
    """Return the effects, risks and deletions of all edits; slow with many quotas or topics.

    Args:
        deletions: the data that shorter retention deletes, by slot.
        facts: the facts that were read for the warnings.
    """
    all_ = tuple(staged)
    found: dict[Slot, tuple[Risk, ...]] = {}
    for risk in risks(all_, snapshot, facts):
        found[risk.slot] = (*found.get(risk.slot, ()), risk)
    return PlanMeaning({each.edit.slot: each.edit for each in all_}, effects(all_, snapshot), found, deletions)


# The plan as a list of changes: old → new value, their sources, and the outcome of the last check or apply.

_LETTERS: dict[Status, Span] = {
    Status.VALID: ("✓", "ok"),
    Status.APPLIED: ("✓", "ok"),
    Status.UNCHECKED: ("-", "muted"),
    Status.FAILED: ("✗", "failed"),
    Status.NOT_APPLIED: ("✗", "failed"),
    Status.UNKNOWN: ("?", "failed"),
}


class RowKey(NamedTuple):
    """The identity of a row of the plan."""

    slot: Slot
    key: str
    """The key of a config: a topic that is created has a row for each of its configs, all of them in one slot."""


class PlanRow(NamedTuple):
    """A change of the plan as a row."""

    key: Hashable
    name: str
    """The text of the first column."""
    old: Cell
    """The value before the change."""
    new: Cell
    """The value after the change."""
    status: Cell
    note: str
    below: tuple[Span, ...]
    """The lines below the change: its deletion, effects and risks, a change by another client, and the error of
    the last check or apply."""
    arrow: bool
    """Whether an arrow joins the two values; False if `name` is the whole text."""


class PlanGroup(NamedTuple):
    """The changes of one entity in the plan."""

    key: Hashable
    title: str
    rows: tuple[PlanRow, ...]


def plan_groups(
    groups: Iterable[DiffGroup], plan: Plan, snapshot: Snapshot, meaning: PlanMeaning = NOTHING_MEANT
) -> list[PlanGroup]:
    """Return the plan by entity, in the order of staging.

    Args:
        groups: the diff of the plan.
        plan: has the outcomes of the last check or apply.
        meaning: shown below the first line of each edit.
    """
    return [
        PlanGroup(
            ("group", group.target),
            names.target(group.target),
            tuple(_row(group, line, plan, snapshot, meaning) for line in group.lines),
        )
        for group in groups
    ]


def _row(group: DiffGroup, line: DiffLine, plan: Plan, snapshot: Snapshot, meaning: PlanMeaning) -> PlanRow:
    outcome = plan.outcome(line.staged.edit)
    target = group.target
    arrow = isinstance(target, ConfigResource | QuotaEntity) and bool(line.key)
    if isinstance(target, ConfigResource | QuotaEntity) and line.key:
        broker = described_by(target, snapshot) if isinstance(target, ConfigResource) else None
        name = clean(line.key)
        old = _side(target, line.key, line.old, broker)
        new = _side(target, line.key, line.new, broker, "pending")
    else:
        name, old, new = _whole(line), [], []
    return PlanRow(
        RowKey(line.staged.edit.slot, line.key),
        name,
        list(old),
        list(new),
        _LETTERS[outcome.status] if outcome is not None else ("", ""),
        _note(line),
        (*_meant(line, meaning), *_below(line, outcome)),
        arrow,
    )


def _side(
    target: ConfigResource | QuotaEntity, key: str, side: EffectiveValue, broker: int | None, meaning: str = ""
) -> Line:
    """Return one side of a change, with the source of its value."""
    line: Line = [(side_human(target, key, side) or side_text(target, key, side), meaning)]
    if side.source is not None:
        line.append((f" ({origin(key, side, names.source(side.source, broker))})", "muted"))
    return line


def _note(line: DiffLine) -> str:
    """Return a note on a change: the change of a list, a necessary restart of the broker, the duration of the value."""
    target, was = line.staged.edit.target, line.staged.was
    entry = was if isinstance(was, ConfigEntry) else None
    if isinstance(target, ConfigResource) and update_mode(target.type, line.key, entry) is UpdateMode.RESTART:
        note = "needs a restart"
    else:
        note = line.verb if line.verb in ("append", "subtract") else ""
    if line.staged.lasts_ms is None:
        return note
    return f"{note}, for {duration_text(line.staged.lasts_ms)}".removeprefix(", ")


def _whole(line: DiffLine) -> str:
    """Return the change of an entity as a whole: ``create with 3 partitions``, ``grow from 3 to 6 partitions``."""
    target = line.staged.edit.target
    return kind_of(line.edit).phrase(line.edit, line, side_text(target, "", line.old), side_text(target, "", line.new))


def _meant(line: DiffLine, meaning: PlanMeaning) -> list[Span]:
    """Return the lines below an edit (`PlanMeaning.below`) if this is its own line; empty for the edit's other lines,
    such as the configs of a new topic.
    """
    edit = line.staged.edit
    return meaning.below(edit) if line.key == edit.key else []


def _below(line: DiffLine, outcome: Outcome | None) -> Iterable[Span]:
    if line.moved:
        yield ("changed by another client since it was staged; the old value here is what is there now", "changed")
    if outcome is None or outcome.ok:
        return
    text = failure_text(outcome.failure) if outcome.failure is not None else ""
    word = {Status.UNKNOWN: "outcome unknown: ", Status.NOT_APPLIED: "not applied: "}.get(outcome.status, "")
    yield (word + text, "failed")


def tally(plan: Plan, requests: int | None) -> Line:
    """Return a line on the plan: ``5 edits on 4 entities   2 requests   checked ✓ 4  ✗ 1``; empty without edits.

    Args:
        requests: the number of requests; None if it is not known yet.
    """
    if not plan.staged:
        return []
    entities = len({names.target(staged.edit.target) for staged in plan.staged})
    line: Line = [(f"{names.plural(len(plan.staged), 'edit')} on {names.plural(entities, 'entity', 'entities')}", "")]
    if requests is not None:
        line.append((f"   {names.plural(requests, 'request')}", "muted"))
    outcomes = [outcome for staged in plan.staged if (outcome := plan.outcome(staged.edit)) is not None]
    if outcomes:
        good = sum(outcome.ok for outcome in outcomes)
        line += [("   checked ", "muted"), (f"✓ {good}", "ok")]
        if good < len(outcomes):
            line.append((f"  ✗ {len(outcomes) - good}", "failed"))
    return line


# The requests that will be sent, as text.


def request_lines(steps: Iterable[Step]) -> list[Line]:
    """Return a line for each request, with the reason if it is sent apart from others."""
    lines: list[Line] = []
    for step in steps:
        request = step.request
        line: Line = [(request.api, "danger" if request.is_loss else "strong"), (f"  {clean(request.content)}", "")]
        if step.note:
            line.append((f"  ({clean(step.note, 200)})", "muted"))
        lines.append(line)
    return lines

"""The plan as rows: changes with their effects and outcomes, and the requests that will be sent."""

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
    """The effects, risks and deletions of data of staged edits, by slot: the entity and key that an edit changes."""

    edits: Mapping[Slot, Edit] = field(default_factory=dict)
    effects: Mapping[Slot, tuple[str, ...]] = field(default_factory=dict)
    risks: Mapping[Slot, tuple[Risk, ...]] = field(default_factory=dict)
    deletions: Mapping[Slot, Deletion] = field(default_factory=dict)

    def below(self, edit: Edit) -> list[Span]:
        """Return the lines below an edit: the data that it deletes, its effects and its risks. Empty if they were
        computed for another edit of the same slot.
        """
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
    """Return the effects, risks and deletions of data of all edits; slow with many quotas or topics.

    Args:
        staged: the staged edits.
        snapshot: the cluster before the edits.
        deletions: slot -> the data that a shorter retention deletes.
        facts: the further facts that were read for the risks.
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
    """The key of a row of the plan."""

    slot: Slot
    key: str
    """The config key of the row. A topic to be created has a row for each of its configs, all with the same slot."""


class PlanRow(NamedTuple):
    """A staged change as a row."""

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
    """The lines below the change: the data that it deletes, its effects and risks, a change by another client, and the
    error of the last check or apply.
    """
    arrow: bool
    """Whether an arrow is drawn between the two values; False if `name` is the whole text."""


class PlanGroup(NamedTuple):
    """The changes of one entity in the plan."""

    key: Hashable
    title: str
    rows: tuple[PlanRow, ...]


def plan_groups(
    groups: Iterable[DiffGroup], plan: Plan, snapshot: Snapshot, meaning: PlanMeaning = NOTHING_MEANT
) -> list[PlanGroup]:
    """Return the staged changes by entity, in the order of staging.

    Args:
        groups: the diff of the plan.
        plan: has the outcomes of the last check or apply.
        snapshot: the present state of the cluster.
        meaning: the effects, risks and deletions, which are shown below the first line of each edit.
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
    """Return the old or the new value of a change, with its source. broker: id of the broker from which inherited
    values come; None if unknown.
    """
    line: Line = [(side_human(target, key, side) or side_text(target, key, side), meaning)]
    if side.source is not None:
        line.append((f" ({origin(key, side, names.source(side.source, broker))})", "muted"))
    return line


def _note(line: DiffLine) -> str:
    """Return a note about a change: that it changes a list, needs a restart of the broker, or lasts for a limited time;
    ``""`` for no note.
    """
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
    """Return the text of a change of a whole entity: ``create with 3 partitions``, ``grow from 3 to 6 partitions``."""
    target = line.staged.edit.target
    return kind_of(line.edit).phrase(line.edit, line, side_text(target, "", line.old), side_text(target, "", line.new))


def _meant(line: DiffLine, meaning: PlanMeaning) -> list[Span]:
    """Return the lines below an edit (`PlanMeaning.below`), if this is the edit's main line; empty for its other lines,
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
    """Return a line with counts of the plan: ``5 edits on 4 entities   2 requests   checked ✓ 4  ✗ 1``; empty without
    edits.

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
    """Return a line for each request that will be sent, with the reason if it can't be combined with others."""
    lines: list[Line] = []
    for step in steps:
        request = step.request
        line: Line = [(request.api, "danger" if request.is_loss else "strong"), (f"  {clean(request.content)}", "")]
        if step.note:
            line.append((f"  ({clean(step.note, 200)})", "muted"))
        lines.append(line)
    return lines

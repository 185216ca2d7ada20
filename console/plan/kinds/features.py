"""Features: finalizing one at another level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from console.model.changes import FeatureTarget, Target, UpdateFeatures
from console.model.cluster import ClusterFeatures
from console.model.feature_levels import (
    METADATA_VERSION,
    brings,
    level_name,
    missing_needs,
    why_no_way_back,
)
from console.model.inheritance import Inheritance
from console.model.snapshot import Snapshot
from console.plan.edit_kind import Batch, EditKind, Reversal
from console.plan.edits import Edit, Slot
from console.plan.effective_values import DiffLine, EffectiveValue
from console.plan.kafka_tools import Command
from console.plan.requests import Facts, Step
from console.plan.risk_rules import FEATURE_IRREVERSIBLE, Judged, RiskRule
from console.plan.staged import UNREAD, Described, Draft, Dropped, Refused, Staged, Verdict, Was

NAMED = 3
"""Nodes that a line names."""


class SetFeature(Edit, frozen=True):
    """Finalize a feature at a level; 0 turns it off."""

    name: str
    level: int

    @property
    def target(self) -> FeatureTarget:
        """The feature."""
        return FeatureTarget(self.name)


# -- what may be staged ------------------------------------------------------------------------------------------------


def _judge(edit: SetFeature, draft: Draft) -> Verdict:
    features = draft.snapshot.features
    if features is None:
        return Staged(edit, UNREAD)
    was = features.finalized.get(edit.name, 0)
    if edit.level == was:
        return Dropped(edit, f"{edit.name} is at level {was} already" if was else f"{edit.name} is off already")
    refused = _unsupported(edit, features) or _not_lowered(edit, was) or _needs_others(edit, features, draft)
    return refused or Staged(edit, was)


def _unsupported(edit: SetFeature, features: ClusterFeatures) -> Refused | None:
    """Level 0 is supported by nodes that don't have the feature, too."""
    known = {node.id: node.supported.get(edit.name) for node in features.nodes if node.failure is None}
    if not any(known.values()) and edit.name not in features.finalized:
        names = sorted({name for node in features.nodes for name in node.supported})
        there = f"There are {', '.join(names)}." if names else "This server reports no features."
        return Refused(edit, f"no node has a feature {edit.name}", there)
    lacking = {
        node: levels
        for node, levels in known.items()
        if (edit.level > 0 if levels is None else not levels[0] <= edit.level <= levels[1])
    }
    if not lacking:
        return None
    shown = ", ".join(
        f"node {node} ({f'{levels[0]} to {levels[1]}' if levels else 'none'})"
        for node, levels in sorted(lacking.items())[:NAMED]
    )
    more = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
    return Refused(
        edit,
        f"level {edit.level} of {edit.name} is not supported by {shown}{more}",
        "Upgrade these nodes first, or choose a level that all support.",
    )


def _not_lowered(edit: SetFeature, was: int) -> Refused | None:
    why = why_no_way_back(edit.name, edit.level, was) if edit.level < was else ""
    if not why:
        return None
    return Refused(edit, f"{edit.name} can't go from {was} to {edit.level}: {why}", "It stays as it is.")


def _needs_others(edit: SetFeature, features: ClusterFeatures, draft: Draft) -> Refused | None:
    """What the level needs of other features, as they are or as the plan makes them; and what others need of it."""
    levels = {**features.finalized, edit.name: edit.level}
    for name in {*levels, METADATA_VERSION} - {edit.name}:
        staged = draft.at(Slot(FeatureTarget(name), ""))
        if staged is not None and isinstance(staged.edit, SetFeature):
            levels[name] = staged.edit.level
    for name, level in levels.items():
        for other, least in missing_needs(name, level, levels):
            if edit.name in (name, other):
                return Refused(
                    edit,
                    f"{name} {level} needs {other} {least} or higher",
                    f"Stage `feature set {other}={least}` first." if other != edit.name else f"Lower {name} first.",
                )
    return None


# -- what is there -----------------------------------------------------------------------------------------------------


def _current(edit: SetFeature, seen: Described) -> Was:
    """The finalized level, 0 where it is off."""
    features = seen.snapshot.features
    return UNREAD if features is None else features.finalized.get(edit.name, 0)


def _wanted(edit: SetFeature, now: int | None) -> bool:
    return (now or 0) == edit.level


def _before(_edit: SetFeature, there: int | None, _inheritance: Inheritance) -> EffectiveValue:
    return EffectiveValue(there or 0)


def _after(edit: SetFeature, _there: Was, _inheritance: Inheritance) -> EffectiveValue:
    return EffectiveValue(edit.level)


def _note(edit: SetFeature, there: int | None, _old: EffectiveValue, _inheritance: Inheritance) -> str:
    names = [level_name(edit.name, level) for level in (there or 0, edit.level)]
    return " → ".join(names) if all(names) else "off" if not edit.level else ""


def _effects(edit: SetFeature, seen: Described) -> tuple[str, ...]:
    features = seen.snapshot.features
    was = features.finalized.get(edit.name, 0) if features is not None else edit.level
    raised = edit.level > was
    lines = [
        f"{'brings' if raised else 'takes away'} at {level}{f' ({name})' if name else ''}: {text}"
        for level, text in brings(edit.name, min(was, edit.level), max(was, edit.level))
        for name in (level_name(edit.name, level),)
    ]
    silent = [node for node in features.nodes if node.failure is not None] if features is not None else []
    if silent:
        shown = ", ".join(f"{'controller' if node.controller else 'broker'} {node.id}" for node in silent[:NAMED])
        more = f" and {len(silent) - NAMED} more" if len(silent) > NAMED else ""
        lines.append(f"whether {shown}{more} supports it is not known here; the controller checks it")
    return tuple(lines)


def _reversal(edit: SetFeature, was: int | None, _recorded: Mapping[str, str]) -> Reversal:
    level = was or 0
    why = why_no_way_back(edit.name, level, edit.level) if level < edit.level else ""
    return Reversal(() if why else (SetFeature(edit.name, level),), edit.level, why)


# -- warnings ----------------------------------------------------------------------------------------------------------


def _irreversible(edit: SetFeature, judged: Judged) -> Iterator[str]:
    was = judged.was(edit)
    if not isinstance(was, int) or was >= edit.level:
        return
    why = why_no_way_back(edit.name, was, edit.level)
    if why:
        yield f"{edit.name} can't go back from {edit.level} to {was} in this cluster: {why}"


# -- sending -----------------------------------------------------------------------------------------------------------


def _steps(staged: Sequence[Staged], _facts: Facts) -> list[Step]:
    """One request: a level may need another one that the plan sets too."""
    levels = {each.edit.name: each.edit.level for each in staged if isinstance(each.edit, SetFeature)}
    was = {each.edit.slot: each.was for each in staged}
    lowered = frozenset(
        name
        for name, level in levels.items()
        if isinstance(old := was[Slot(FeatureTarget(name), "")], int) and level < old
    )
    note = "all of them or none" if len(levels) > 1 else ""
    return [Step(UpdateFeatures(levels, lowered), tuple(staged), note)]


def _predict(snapshot: Snapshot, edits: Sequence[SetFeature]) -> Snapshot:
    if snapshot.features is None:
        return snapshot
    levels = {**snapshot.features.finalized, **{edit.name: edit.level for edit in edits}}
    finalized = {name: level for name, level in levels.items() if level}
    return replace(snapshot, features=replace(snapshot.features, finalized=finalized))


def _commands(_target: Target, lines: Sequence[DiffLine]) -> Iterable[Command]:
    for line in lines:
        if isinstance(line.edit, SetFeature):
            edit, old = line.edit, line.old.value
            lower = isinstance(old, int) and edit.level < old
            if edit.level:
                level = f"{edit.name}={edit.level}"
                words = ("kafka-features", "downgrade" if lower else "upgrade", "--feature", level)
            else:
                words = ("kafka-features", "disable", "--feature", edit.name)
            yield Command(words, connection_at=1)


# -- records -----------------------------------------------------------------------------------------------------------

FEATURES = Batch(steps=_steps, predict=_predict, commands=_commands)

KINDS = (
    EditKind(
        edit=SetFeature,
        verb="set",
        form="feature",
        op="set",
        to_json=lambda edit, _hide: {"feature": edit.name, "value": edit.level},
        from_json=lambda data: SetFeature(data["feature"], int(data["value"])),
        state_json=lambda was: was,
        state_of=int,
        judge=_judge,
        current=_current,
        wanted=_wanted,
        before=_before,
        after=_after,
        note=_note,
        effects=_effects,
        risks=(RiskRule(FEATURE_IRREVERSIBLE, _irreversible, subject=lambda edit: edit.name),),
        reversal=_reversal,
        batch=FEATURES,
    ),
)

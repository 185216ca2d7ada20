"""Features: changing the finalized level of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from console.model import feature_levels
from console.model.changes import FeatureTarget, UpdateFeatures
from console.model.cluster import ClusterFeatures
from console.model.codes import BROKER
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource
from console.model.numbers import commas, first_few
from console.model.snapshot import Snapshot
from console.plan import edits as plan_edits
from console.plan import staged as plan_staged
from console.plan.edit_kind import Batch, EditKind, Reversal, Stage, each_line
from console.plan.effective_values import DiffLine, EffectiveValue
from console.plan.kafka_tools import Command
from console.plan.predict_configs import predict_configs
from console.plan.requests import Facts, Step
from console.plan.risk_rules import FEATURE_IRREVERSIBLE, Judged, RiskNeeds, RiskRule
from console.plan.values import own_text

NAMED = 3
"""Maximum number of nodes that a line names."""


# -- checks before staging ---------------------------------------------------------------------------------------------


def _check_nodes(edit: plan_edits.SetFeature, features: ClusterFeatures) -> None:
    """Raise Refused if a node does not support the level. A node that does not know the feature supports only level
    0.
    """
    known = {node.id: node.supported.get(edit.name) for node in features.nodes if node.failure is None}
    if not any(known.values()) and edit.name not in features.finalized:
        names = sorted({name for node in features.nodes for name in node.supported})
        there = f"There are {', '.join(names)}." if names else "This server reports no features."
        raise plan_staged.Refused(f"no node has a feature {edit.name}", there)
    lacking = {
        node: levels
        for node, levels in known.items()
        if (edit.level > 0 if levels is None else not levels[0] <= edit.level <= levels[1])
    }
    if not lacking:
        return
    shown = [
        f"node {node} ({f'{levels[0]} to {levels[1]}' if levels else 'none'})"
        for node, levels in sorted(lacking.items())
    ]
    raise plan_staged.Refused(
        f"level {edit.level} of {edit.name} is not supported by {first_few(shown, NAMED)}",
        "Upgrade these nodes first, or choose a level that all support.",
    )


def _check_lowered(edit: plan_edits.SetFeature, was: int) -> None:
    if edit.level < was and (why := feature_levels.why_no_way_back(edit.name, edit.level, was)):
        raise plan_staged.Refused(f"{edit.name} can't go from {was} to {edit.level}: {why}", "It stays as it is.")


def _check_needs(edit: plan_edits.SetFeature, features: ClusterFeatures, draft: plan_staged.Draft) -> None:
    """Raise Refused if this level needs a higher level of another feature than that feature has after the plan, or
    if another feature needs a higher level of this one.
    """
    levels = {**features.finalized, edit.name: edit.level}
    # Include the metadata version: the plan may set it even if the cluster reports no level of it.
    for name in {*levels, feature_levels.METADATA_VERSION} - {edit.name}:
        staged = draft.at(plan_edits.Slot(FeatureTarget(name), ""))
        if staged is not None and isinstance(staged.edit, plan_edits.SetFeature):
            levels[name] = staged.edit.level
    for name, level in levels.items():
        for other, least in feature_levels.missing_needs(name, level, levels):
            # Skip needs among other features, which this edit did not cause: they exist already, or their own edits are
            # refused.
            if edit.name in (name, other):
                raise plan_staged.Refused(
                    f"{name} {level} needs {other} {least} or higher",
                    f"Stage `feature set {other}={least}` first." if other != edit.name else f"Lower {name} first.",
                )


def _check_staged(edit: plan_edits.SetFeature, draft: plan_staged.Draft) -> None:
    """Raise Refused if the plan sets configs that brokers refuse at the level, because the plan would then be
    applied only in part.
    """
    for each in draft.staged:
        if isinstance(each.edit, plan_edits.ConfigEdit) and feature_of(each.edit) == edit.name:
            forbidden = forbidden_at(each.edit, edit.level)
            if forbidden is not None:
                where = f"broker {each.edit.resource.name or _DEFAULT}"
                what = f"the plan edits {each.edit.key} of {where}, and {forbidden[0]}"
                raise plan_staged.Refused(what, "Discard that edit first.")


# -- settings that a level forbids -------------------------------------------------------------------------------------


def feature_of(edit: plan_edits.ConfigEdit) -> str | None:
    """Return the feature whose level decides whether brokers accept the edit; None for most keys."""
    if edit.resource.type != BROKER:
        return None
    return {
        feature_levels.MIN_ISR: feature_levels.ELR_VERSION,
        feature_levels.CORDONED: feature_levels.METADATA_VERSION,
    }.get(edit.key)


def forbidden_at(edit: plan_edits.ConfigEdit, level: int) -> tuple[str, str] | None:
    """Return the reason why brokers refuse an edit at a level of the feature on which it depends, and a remedy; None if
    they accept it.
    """
    key = edit.key
    if key == feature_levels.CORDONED:
        if level >= feature_levels.CORDONS_FROM or isinstance(edit, plan_edits.UnsetConfig):
            return None
        feature, least = feature_levels.METADATA_VERSION, feature_levels.CORDONS_FROM
        needs = f"{feature} {least} ({feature_levels.level_name(feature, least)}), and it is {level}"
        return (
            f"{key} needs {needs}",
            f"Stage `feature set {feature_levels.METADATA_VERSION}={feature_levels.CORDONS_FROM}` first.",
        )
    if not level:
        return None
    if not edit.resource.is_cluster_default:
        what = f"brokers have no {key} of their own while {feature_levels.ELR_VERSION} is on"
        return what, "Set it for the topic, or for broker <default>."
    if isinstance(edit, plan_edits.UnsetConfig):
        return (
            f"the cluster's {key} can't be taken away while {feature_levels.ELR_VERSION} is on",
            "Set it to another value.",
        )
    return None


# -- settings that go with a level -------------------------------------------------------------------------------------
# With eligible leader replicas, the controller removes the overrides of min.insync.replicas on brokers. If there is no
# cluster default, it makes the value in its own file the cluster default
# (ConfigurationControlManager.maybeGenerateElrSafetyRecords).

_DEFAULT, _UNREAD_BROKERS = "<default>", "unread"


def _takes_settings(edit: plan_edits.SetFeature, snapshot: Snapshot) -> bool:
    features = snapshot.features
    was = features.finalized.get(edit.name, 0) if features is not None else 0
    return edit.name == feature_levels.ELR_VERSION and edit.level > 0 and not was


def _own_min_isr(snapshot: Snapshot) -> tuple[dict[ConfigResource, str], tuple[int, ...]]:
    """Return resource -> its override of min.insync.replicas, for the brokers and the cluster default; and the ids of
    the brokers whose configs were not read.
    """
    brokers = [broker_resource(each.id) for each in snapshot.cluster.brokers]
    found: dict[ConfigResource, str] = {}
    for resource in (CLUSTER_DEFAULT, *brokers):
        entry = snapshot.configs[resource].get(feature_levels.MIN_ISR) if resource in snapshot.configs else None
        own = own_text(entry, resource) if entry is not None else None
        if own is not None:
            found[resource] = own
    unread = tuple(int(resource.name) for resource in brokers if resource not in snapshot.configs)
    return found, unread


def _settings_lost(edit: plan_edits.SetFeature, snapshot: Snapshot) -> Iterator[str]:
    if not _takes_settings(edit, snapshot):
        return
    own, unread = _own_min_isr(snapshot)
    default = own.pop(CLUSTER_DEFAULT, None)
    if own:
        values = ", ".join(f"broker {resource.name}: {value}" for resource, value in own.items())
        instead = f"the cluster's {default}" if default is not None else "the cluster's"
        taken = f"takes away the brokers' own {feature_levels.MIN_ISR} ({values})"
        yield f"{taken}: {instead} applies instead, and brokers can't have one"
    if default is None and CLUSTER_DEFAULT in snapshot.configs:
        set_by = f"sets {feature_levels.MIN_ISR} as the cluster default"
        yield f"{set_by}, to what the active controller's file has; it stays from then on"
    if unread:
        yield f"takes away {feature_levels.MIN_ISR} of brokers {commas(unread)} if they have their own: it was not read"


def _settings_again(recorded: Mapping[str, str]) -> tuple[plan_edits.Edit, ...]:
    """Return the edits that restore the recorded configs; brokers accept them only after the level was lowered."""
    brokers = [(int(name), value) for name, value in recorded.items() if name.isdecimal()]
    again = tuple(
        plan_edits.SetConfig(broker_resource(number), feature_levels.MIN_ISR, value)
        for number, value in sorted(brokers)
    )
    return (*again, plan_edits.UnsetConfig(CLUSTER_DEFAULT, feature_levels.MIN_ISR)) if _DEFAULT in recorded else again


# -- warnings ----------------------------------------------------------------------------------------------------------


def _irreversible(edit: plan_edits.SetFeature, judged: Judged) -> Iterator[str]:
    was = judged.was(edit)
    if not isinstance(was, int) or was >= edit.level:
        return
    if _takes_settings(edit, judged.before) and (unread := _own_min_isr(judged.before)[1]):
        of = f"{feature_levels.MIN_ISR} of brokers {commas(unread)}"
        yield f"it takes away {of}, which was not read and can't be put back"
    why = feature_levels.why_no_way_back(edit.name, was, edit.level)
    if why:
        yield f"{edit.name} can't go back from {edit.level} to {was} in this cluster: {why}"


def _irreversible_needs(edit: plan_edits.SetFeature) -> RiskNeeds:
    return RiskNeeds(every_broker=edit.name == feature_levels.ELR_VERSION)


# -- requests ----------------------------------------------------------------------------------------------------------


def _steps(staged: Sequence[plan_staged.Staged], _facts: Facts) -> list[Step]:
    """Return one request for all features, because one level may depend on another level in the plan."""
    levels = {each.edit.name: each.edit.level for each in staged if isinstance(each.edit, plan_edits.SetFeature)}
    was = {each.edit.slot: each.was for each in staged}
    # A controller refuses a lower level unless the request declares it a downgrade (upgradeType).
    lowered = frozenset(
        name
        for name, level in levels.items()
        if isinstance(old := was[plan_edits.Slot(FeatureTarget(name), "")], int) and level < old
    )
    note = "all of them or none" if len(levels) > 1 else ""
    return [Step(UpdateFeatures(levels, lowered), tuple(staged), note)]


def _predict(snapshot: Snapshot, edits: Sequence[plan_edits.SetFeature]) -> Snapshot:
    if snapshot.features is None:
        return snapshot
    levels = {**snapshot.features.finalized, **{edit.name: edit.level for edit in edits}}
    finalized = {name: level for name, level in levels.items() if level}
    gone: dict[ConfigResource, list[plan_edits.ConfigEdit]] = {}
    if any(_takes_settings(edit, snapshot) for edit in edits):
        own = _own_min_isr(snapshot)[0]
        gone = {
            each: [plan_edits.UnsetConfig(each, feature_levels.MIN_ISR)] for each in own if not each.is_cluster_default
        }
    configs = predict_configs(snapshot, gone) if gone else snapshot.configs
    return replace(snapshot, configs=configs, features=replace(snapshot.features, finalized=finalized))


def _command(edit: plan_edits.SetFeature, line: DiffLine) -> Command:
    lower = isinstance(line.old.value, int) and edit.level < line.old.value
    words = ("kafka-features", "disable", "--feature", edit.name)
    if edit.level:
        words = ("kafka-features", "downgrade" if lower else "upgrade", "--feature", f"{edit.name}={edit.level}")
    return Command(words, connection_at=1)


# -- the kinds of edits ------------------------------------------------------------------------------------------------

FEATURES = Batch(stage=Stage.FEATURES, steps=_steps, predict=_predict, commands=each_line(_command))


class _SetFeatureKind(EditKind):
    edit = plan_edits.SetFeature
    verb = "set"
    state = int
    batch = FEATURES
    risks = (RiskRule(FEATURE_IRREVERSIBLE, _irreversible, _irreversible_needs, subject=lambda edit, _: edit.name),)

    def judge(self, edit: plan_edits.SetFeature, draft: plan_staged.Draft) -> plan_staged.Verdict:
        features = draft.snapshot.features
        # Without finalized levels there is no value to compare; the controller validates the level.
        if features is None:
            return plan_staged.Staged(edit, plan_staged.UNREAD)
        was = features.finalized.get(edit.name, 0)
        if edit.level == was:
            return plan_staged.Dropped(
                edit, f"{edit.name} is at level {was} already" if was else f"{edit.name} is off already"
            )
        _check_nodes(edit, features)
        _check_lowered(edit, was)
        _check_needs(edit, features, draft)
        _check_staged(edit, draft)
        return plan_staged.Staged(edit, was)

    def current(self, edit: plan_edits.SetFeature, seen: plan_staged.Described) -> plan_staged.Was:
        """Return the finalized level, 0 if the feature is disabled; UNREAD if the features were not read."""
        features = seen.snapshot.features
        return plan_staged.UNREAD if features is None else features.finalized.get(edit.name, 0)

    def wanted(self, edit: plan_edits.SetFeature, now: int | None) -> bool:
        return (now or 0) == edit.level

    def before(self, _edit: object, there: int | None, _inheritance: object) -> EffectiveValue:
        return EffectiveValue(there or 0)

    def after(self, edit: plan_edits.SetFeature, _there: object, _inheritance: object) -> EffectiveValue:
        return EffectiveValue(edit.level)

    def note(self, edit: plan_edits.SetFeature, there: int | None, _old: object, _inheritance: object) -> str:
        names = [feature_levels.level_name(edit.name, level) for level in (there or 0, edit.level)]
        return " → ".join(names) if all(names) else "off" if not edit.level else ""

    def effects(self, edit: plan_edits.SetFeature, seen: plan_staged.Described) -> tuple[str, ...]:
        features = seen.snapshot.features
        was = features.finalized.get(edit.name, 0) if features is not None else edit.level
        raised = edit.level > was
        lines = [
            f"{'brings' if raised else 'takes away'} at {level}{f' ({name})' if name else ''}: {text}"
            for level, text in feature_levels.brings(edit.name, min(was, edit.level), max(was, edit.level))
            for name in (feature_levels.level_name(edit.name, level),)
        ]
        silent = [node for node in features.nodes if node.failure is not None] if features is not None else []
        if silent:
            shown = [f"{'controller' if node.controller else 'broker'} {node.id}" for node in silent]
            lines.append(f"whether {first_few(shown, NAMED)} supports it is not known here; the controller checks it")
        return (*lines, *_settings_lost(edit, seen.snapshot))

    def recorded(self, edit: plan_edits.SetFeature, snapshot: Snapshot) -> Mapping[str, str]:
        """Return the facts that the reversal needs if the level removes overrides of min.insync.replicas: broker -> the
        override that it loses; ``<default>`` -> ``""`` if the controller will add a cluster default; ``unread`` -> the
        brokers whose overrides are unknown. Empty if the level removes no overrides.
        """
        if not _takes_settings(edit, snapshot):
            return {}
        own, unread = _own_min_isr(snapshot)
        kept = {resource.name: value for resource, value in own.items() if not resource.is_cluster_default}
        # The controller will set a cluster default, which the reversal has to delete.
        if CLUSTER_DEFAULT not in own and CLUSTER_DEFAULT in snapshot.configs:
            kept[_DEFAULT] = ""
        return {**kept, **({_UNREAD_BROKERS: commas(unread)} if unread else {})}

    def reversal(self, edit: plan_edits.SetFeature, was: int | None, recorded: Mapping[str, str]) -> Reversal:
        level = was or 0
        why = feature_levels.why_no_way_back(edit.name, level, edit.level) if level < edit.level else ""
        if why:
            return Reversal((), edit.level, why)
        back = plan_edits.SetFeature(edit.name, level)
        settings = _settings_again(recorded)
        unread = recorded.get(_UNREAD_BROKERS, "")
        loss = f"what brokers {unread} had for {feature_levels.MIN_ISR} was not read" if unread else ""
        return Reversal((back, *settings), plan_staged.UNREAD if settings else edit.level, loss)


KINDS = (_SetFeatureKind(),)

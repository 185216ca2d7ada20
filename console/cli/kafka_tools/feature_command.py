"""Carries out `kac features`, with kafka-features' words."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from console.answers.results import Column, Row, Table
from console.cli.kafka_tools.aligned import left, safe
from console.cli.kafka_tools.feature_levels import level_text, name_and_level, release_levels
from console.cli.noun import Carry, Change, Changed, OptionsError, Running
from console.language.quoting import quote
from console.model.changes import FeatureTarget
from console.model.cluster import ClusterFeatures, NodeFeatures
from console.model.feature_levels import METADATA_VERSION, level_name
from console.model.numbers import Data

if TYPE_CHECKING:
    from console.contexts import Context
    from console.session.snapshot_reader import Client

DONE, FAILED = 0, 1


async def describe(command: Running, client: Client, _context: Context) -> int:
    """Print the features; return the exit code."""
    from console.admin.features import describe_features

    features = await client.run(describe_features)
    node = _node(features, command.given.node_id)
    if command.is_kafka:
        command.lines(feature_lines(features, node.supported))
        return DONE
    command.show([_table(features, node)])
    return DONE


def _node(features: ClusterFeatures, wanted: int | None) -> NodeFeatures:
    """Return the node that was asked for, or the first that answered. Raises OptionsError where there is none."""
    for node in features.nodes:
        if node.id == wanted and node.failure is not None:
            raise OptionsError(f"node {wanted}: {node.failure}")
        if node.failure is None and wanted in (None, node.id):
            return node
    raise OptionsError("no node reports its features" if wanted is None else f"there is no node {wanted}")


def feature_lines(features: ClusterFeatures, supported: Mapping[str, tuple[int, int]]) -> list[str]:
    """Return the lines of kafka-features describe."""
    epoch = str(features.epoch) if features.epoch >= 0 else "-"
    lines = []
    for name, (lowest, highest) in sorted(supported.items()):
        levels = [level_text(name, level) for level in (lowest, highest, features.finalized.get(name, 0))]
        parts = zip(("SupportedMinVersion", "SupportedMaxVersion", "FinalizedVersionLevel"), levels, strict=True)
        shown = "  ".join(f"{title}: {left(text, 15)}" for title, text in parts)
        lines.append(f"Feature: {left(safe(name), 40)}  {shown}  Epoch: {epoch}")
    return lines


def _table(features: ClusterFeatures, node: NodeFeatures) -> Table:
    columns = (Column("Feature"), Column("Level", True), Column("Lowest", True), Column("Highest", True))
    rows = []
    for name, (lowest, highest) in sorted(node.supported.items()):
        level = features.finalized.get(name, 0)
        data: dict[str, Data] = {"feature": name, "level": level, "lowest": lowest, "highest": highest}
        texts = [level_text(name, each) if each else "0" for each in (level, lowest, highest)]
        rows.append(Row((name, *texts), {**data, "release": level_name(name, level) or None}))
    notes = (f"supported by node {node.id}",)
    return Table("features", columns, tuple(rows), notes=notes)


# -- other levels ------------------------------------------------------------------------------------------------------


def changes(given: argparse.Namespace, action: str) -> Carry:
    """Return the function that finalizes the levels that the options ask for. Raises OptionsError."""
    levels = wanted_levels(given, action)

    async def carry(command: Running, client: Client, _context: Context) -> int | Change:
        return await _change(command, client, action, levels)

    return carry


def wanted_levels(given: argparse.Namespace, action: str) -> dict[str, int]:
    """Return feature -> level, as the options ask for them. Raises OptionsError."""
    if given.release_version is not None:
        metadata, others = release_levels(given.release_version)
        # An upgrade leaves alone what the release does not have.
        mine = {name: level for name, level in others.items() if action != "upgrade" or level > 0}
        return {METADATA_VERSION: metadata} | mine
    levels: dict[str, int] = {}
    if given.metadata is not None:
        levels[METADATA_VERSION], _ = release_levels(given.metadata)
    for text in given.feature or ():
        name, level = (text.strip(), 0) if action == "disable" else name_and_level(text)
        if name in levels:
            raise OptionsError(f"Feature {name[:80]} was specified more than once.")
        if level < 0:
            raise OptionsError(f"{name[:80]}: there is no level {level}")
        levels[name] = level
    return levels


async def _change(command: Running, client: Client, action: str, levels: Mapping[str, int]) -> int | Change:
    from console.admin.features import describe_features

    given = command.given
    if given.metadata is not None and command.is_kafka:
        command.lines((" `metadata` flag is deprecated and may be removed in a future release.",))
    finalized = (await client.run(describe_features)).finalized
    problems = {name: _against(action, finalized.get(name, 0), level) for name, level in levels.items()}
    if any(problems.values()):
        if not command.is_kafka:
            raise OptionsError("; ".join(f"{name}: {why}" for name, why in problems.items() if why))
        why = next(f"{name}: {why}" for name, why in problems.items() if why)
        return _show(command, action, levels, dict.fromkeys(levels, why))
    moved = {name: level for name, level in levels.items() if finalized.get(name, 0) != level}
    if moved:
        text = " ".join(f"{quote(name)}={level}" for name, level in moved.items())
        return Change((f"feature set {text}",), then=partial(_changed, command, action, levels))
    if command.is_kafka:
        return _show(command, action, levels, {})
    command.complain("not needed: all are at these levels already")
    return DONE


async def _changed(command: Running, action: str, levels: Mapping[str, int], changed: Changed) -> int:
    if not command.is_kafka or not changed.outcomes:
        return changed.code
    found = {
        outcome.target.name: str(outcome.failure or outcome.status.value)
        for outcome in changed.outcomes
        if isinstance(outcome.target, FeatureTarget) and not outcome.ok
    }
    return _show(command, action, levels, found)


def _against(action: str, now: int, level: int) -> str:
    """Return why a level is not an upgrade or not a downgrade, ``""`` where it is."""
    if action == "upgrade" and level < now:
        return f"it is at level {now}, and {level} is a downgrade: write downgrade"
    if action == "downgrade" and level > now:
        return f"it is at level {now}, and {level} is an upgrade: write upgrade"
    return ""


def _show(command: Running, action: str, levels: Mapping[str, int], problems: Mapping[str, str]) -> int:
    """Print a change as kafka-features does, and return the exit code. problems: feature -> why it failed."""
    out = change_lines(action, levels, problems, dry_run=command.given.validate_only)
    failed = sum(1 for why in problems.values() if why)
    command.lines(out, [f"{failed} out of {len(levels)} operation(s) failed."] if failed else ())
    return FAILED if failed else DONE


def change_lines(
    action: str, levels: Mapping[str, int], problems: Mapping[str, str], *, dry_run: bool
) -> Iterable[str]:
    """Yield the lines that kafka-features prints of a change.

    Args:
        problems: feature -> why it failed, ``""`` where it did not.
    """
    for name, level in sorted(levels.items()):
        shown, to = safe(name), "" if action == "disable" else f" to {level}"
        if problems.get(name):
            yield f"{'Can not' if dry_run else 'Could not'} {action} {shown}{to}. {safe(problems[name])}"
        else:
            yield f"{shown} {'can be' if dry_run else 'was'} {action}d{to}."

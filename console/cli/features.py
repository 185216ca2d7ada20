"""`kac features`: kafka-features' commands and options (FeatureCommand, 4.3)."""

from __future__ import annotations

import argparse

from console.cli.noun import Carry, Noun, OptionsError, Statements
from console.model.numbers import option, whole_number

_EXAMPLES = """\
examples:
  kac features -b broker1:9092 describe
  kac features -c prod upgrade --feature transaction.version=2 --dry-run
  kac features -c prod upgrade --release-version 4.3 --accept feature-irreversible=metadata.version
  kac features -c prod downgrade --feature transaction.version=1
  kac features -c prod version-mapping --release-version 4.0
"""

DESCRIBE, UPGRADE, DOWNGRADE, DISABLE = "describe", "upgrade", "downgrade", "disable"
MAPPING, DEPENDENCIES = "version-mapping", "feature-dependencies"
CHANGES = (UPGRADE, DOWNGRADE, DISABLE)

_BELONGING = {
    "node_id": (DESCRIBE,),
    "metadata": (UPGRADE, DOWNGRADE),
    "release_version": (UPGRADE, DOWNGRADE, MAPPING),
    "feature": (*CHANGES, DEPENDENCIES),
    "dry_run": CHANGES,
}
"""An option, by its name in the namespace -> the commands that take it."""


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--feature", metavar="NAME=LEVEL", action="append", help="a feature and a level; of disable the name alone")
    add("--release-version", metavar="RELEASE", help="all features as this release has them, as 4.3 or 4.3-IV0")
    add("--metadata", metavar="RELEASE", help="metadata.version as this release has it")
    add("--node-id", metavar="ID", type=option(whole_number, -(2**31)), help="of describe: what this node supports")
    add("--dry-run", action="store_true", default=None, help="let the controller check it, change nothing")


def check(given: argparse.Namespace, action: str) -> None:
    """Raise OptionsError for what kafka-features refuses, in its words."""
    for name, actions in _BELONGING.items():
        if getattr(given, name) is not None and action not in actions:
            raise OptionsError(f"Command line error: unrecognized arguments: '--{name.replace('_', '-')}'")
    if action == DESCRIBE and given.node_id is not None and given.node_id < 0:
        raise OptionsError(f"Invalid node id {given.node_id}: must be non-negative.")
    if action == DEPENDENCIES and not given.feature:
        raise OptionsError("Command line error: argument --feature is required")
    if action in CHANGES:
        if given.release_version is not None and (given.metadata is not None or given.feature):
            raise OptionsError("Can not specify `release-version` with other feature flags.")
        if not (given.release_version or given.metadata or given.feature):
            raise OptionsError(f"You must specify at least one feature to {action}")


def _statements(_given: argparse.Namespace, action: str) -> Statements:
    raise OptionsError(f"{action} is no command of kac features")


def _carried(given: argparse.Namespace, action: str) -> Carry | None:
    check(given, action)
    from console.cli.kafka_tools import feature_command as commands

    if action in CHANGES:
        given.validate_only = given.validate_only or bool(given.dry_run)
        return commands.changes(given, action)
    return commands.describe


def _offline(given: argparse.Namespace, action: str) -> tuple[str, ...] | None:
    check(given, action)
    if action not in (MAPPING, DEPENDENCIES):
        return None
    from console.cli.kafka_tools.feature_levels import dependency_lines, mapping_lines

    return mapping_lines(given.release_version) if action == MAPPING else dependency_lines(given.feature)


NOUN = Noun(
    "features",
    "show features and their levels, upgrade and downgrade them",
    {},
    _options,
    _statements,
    _EXAMPLES,
    words={
        DESCRIBE: "what is finalized, and what a node supports",
        UPGRADE: "finalize higher levels",
        DOWNGRADE: "finalize lower levels",
        DISABLE: "finalize level 0",
        MAPPING: "the levels that a release has",
        DEPENDENCIES: "what a level needs of other features",
    },
    carried=_carried,
    offline=_offline,
    kafka=True,
)

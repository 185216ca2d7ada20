"""`kac features`, with the actions and options of kafka-features."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.answers.results import Column, Row, Table, table_of
from console.cli.noun import Carry, Change, Found, Noun, OptionsError
from console.language.quoting import quote_beside_equals
from console.model.feature_levels import METADATA_VERSION, feature_levels, level_name
from console.model.numbers import natural_number, option
from console.model.parts import Part

if TYPE_CHECKING:
    from console.contexts import Context
    from console.model.numbers import Data
    from console.session.snapshot_reader import Client

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

NAMES = (
    "kraft.version",
    "transaction.version",
    "group.version",
    "eligible.leader.replicas.version",
    "share.version",
    "streams.version",
)
"""The names of the features whose levels a release determines, besides metadata.version
(Feature.PRODUCTION_FEATURES).
"""
_LOWEST = 7
"""The lowest level of metadata.version that Kafka 4 supports: 3.3-IV3 (MetadataVersion.MINIMUM_VERSION)."""
_RELEASE = re.compile(r"\A(\d+\.\d+)(?:\.\d+)*")
_SHORT = 2**15 - 1


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--feature", metavar="NAME=LEVEL", action="append", help="a feature and a level; with disable only the name")
    add(
        "--release-version",
        metavar="RELEASE",
        help="all features at the levels of this release, such as 4.3 or 4.3-IV0",
    )
    add("--metadata", metavar="RELEASE", help="metadata.version at the level of this release")
    add(
        "--node-id", metavar="ID", type=option(natural_number), help="with describe: the levels that this node supports"
    )
    add(
        "--dry-run",
        action="store_true",
        help="let the controller check the change, change nothing; the same as --validate-only",
    )


def _meaning(given: argparse.Namespace, action: str) -> Found | Carry:
    match action:
        case "describe":
            return _describe(given.node_id)
        case "version-mapping":
            return Found([_mapping(given.release_version)])
        case "feature-dependencies":
            if not given.feature:
                raise OptionsError("feature-dependencies needs --feature NAME=LEVEL")
            return Found([_dependencies(given.feature)])
    return _change(action, _wanted(given, action), dry=given.dry_run)


def _describe(node_id: int | None) -> Carry:
    async def carry(client: Client, _context: Context) -> Found:
        from console.admin.features import describe_features
        from console.model.snapshot import ReadFailure, Snapshot
        from console.present import features as shown

        features = await client.run(describe_features)
        nodes = tuple(node for node in features.nodes if node_id in (None, node.id))
        if not nodes:
            raise OptionsError("no node reports its features" if node_id is None else f"there is no node {node_id}")
        rows = shown.feature_rows(Snapshot(features=replace(features, nodes=nodes)))
        silent = tuple(ReadFailure(Part.FEATURES, f"node {node.id}", node.failure) for node in nodes if node.failure)
        return Found([table_of("features", shown.FEATURES, rows, problems=silent)])

    return carry


# -- changes of levels -------------------------------------------------------------------------------------------------


def _wanted(given: argparse.Namespace, action: str) -> dict[str, int]:
    """Return feature -> the level that the options request; 0 to disable a feature. Raises OptionsError."""
    if action != DISABLE and given.release_version is not None:
        if given.metadata is not None or given.feature:
            raise OptionsError("--release-version has the levels of all features: leave out --feature and --metadata")
        metadata, others = _release_levels(given.release_version)
        # Leave out features that the release does not have: an upgrade does not change them.
        mine = {name: level for name, level in others.items() if action != UPGRADE or level > 0}
        return {METADATA_VERSION: metadata} | mine
    levels: dict[str, int] = {}
    if action != DISABLE and given.metadata is not None:
        levels[METADATA_VERSION], _ = _release_levels(given.metadata)
    for text in given.feature or ():
        name, level = (text.strip(), 0) if action == DISABLE else _name_and_level(text)
        if name in levels:
            raise OptionsError(f"{name[:80]} is given twice")
        levels[name] = level
    if not levels:
        raise OptionsError(f"{action} needs --feature" + ("" if action == DISABLE else " or --release-version"))
    return levels


def _change(action: str, levels: Mapping[str, int], *, dry: bool) -> Carry:
    async def carry(client: Client, _context: Context) -> Change:
        from console.admin.features import describe_features

        finalized = (await client.run(describe_features)).finalized
        for name, level in levels.items():
            now = finalized.get(name, 0)
            if (action == UPGRADE and level < now) or (action == DOWNGRADE and level > now):
                other = DOWNGRADE if action == UPGRADE else UPGRADE
                raise OptionsError(f"{name} is at level {now}: {level} is no {action}, write {other}")
        pairs = (f"{quote_beside_equals(name)}={level}" for name, level in levels.items())
        return Change((f"feature set {' '.join(pairs)}",), to="check" if dry else "apply")

    return carry


# -- levels of releases and their dependencies; without a cluster ------------------------------------------------------


def _release_levels(release: str | None) -> tuple[int, dict[str, int]]:
    """Return the level of metadata.version of a release, and the levels of all other features by name. Raises
    OptionsError: the release is unknown.

    Args:
        release: the name of a release, as ``4.3``, ``4.3.1`` or ``4.3-IV0``; None for the newest that kac knows.
    """
    names = {level: each.name for level, each in feature_levels()[METADATA_VERSION].items() if level >= _LOWEST}
    found = max(names)
    if release is not None:
        short = _RELEASE.fullmatch(release)
        mine = [level for level, name in names.items() if name == release]
        mine += [level for level, name in names.items() if short is not None and name.startswith(f"{short[1]}-")]
        if not mine:
            known = ", ".join(names[level] for level in sorted(names))
            raise OptionsError(f"'{release[:80]}' is no release with a metadata.version: {known} are")
        found = max(mine)
    return found, {name: _default(name, found) for name in NAMES}


def _default(feature: str, metadata: int) -> int:
    """Return the level that a feature has in a new cluster with this level of metadata.version; 0 if the feature is
    newer.
    """
    order = {each.name: level for level, each in feature_levels()[METADATA_VERSION].items()}
    levels = feature_levels().get(feature, {})
    return max((level for level, each in levels.items() if order.get(each.name, _SHORT) <= metadata), default=0)


def _name_and_level(text: str) -> tuple[str, int]:
    """Return the name and the level in ``NAME=LEVEL``. Raises OptionsError: the text has another form."""
    name, _, number = text.partition("=")
    try:
        level = natural_number(number.strip())
    except ValueError:
        level = -1
    if not (name.strip() and 0 <= level <= _SHORT):
        raise OptionsError(f"'{text[:200]}' is no NAME=LEVEL: a level is a whole number of 0 to {_SHORT}")
    return name.strip(), level


def _levels_table(rows: Iterable[dict[str, Data]]) -> Table:
    made = list(rows)
    titles = tuple(Column(key.replace("_", " ").capitalize(), isinstance(value, int)) for key, value in made[0].items())
    texts = (tuple("" if value is None else str(value) for value in row.values()) for row in made)
    return Table("features", titles, tuple(map(Row, texts, made)))


def _mapping(release: str | None) -> Table:
    """Return the levels of all features in a release, as a table. Raises OptionsError."""
    metadata, others = _release_levels(release)
    levels = {METADATA_VERSION: metadata, **others}
    return _levels_table(
        {"feature": name, "level": level, "release": level_name(name, level) or None} for name, level in levels.items()
    )


def _dependencies(texts: Iterable[str]) -> Table:
    """Return the levels of other features that the given levels require, as a table. texts: ``NAME=LEVEL``. Raises
    OptionsError.
    """
    rows: list[dict[str, Data]] = []
    for name, level in map(_name_and_level, texts):
        known = feature_levels().get(name, {}).get(level)
        if name not in (METADATA_VERSION, *NAMES):
            raise OptionsError(f"kac knows no feature '{name[:80]}'")
        if (known is None and level != 0) or (name == METADATA_VERSION and level < _LOWEST):
            raise OptionsError(f"{name} has no level {level} that kac knows")
        needs = known.needs.items() if known is not None else ()
        of: dict[str, Data] = {"feature": name, "level": level}
        rows += [
            {**of, "needs": need, "least": least, "release": level_name(need, least) or None} for need, least in needs
        ]
        rows += [{**of, "needs": None, "least": None, "release": None}] if not needs else []
    return _levels_table(rows)


FEATURES = Noun(
    "features",
    {},
    _options,
    _meaning,
    _EXAMPLES,
    words={
        DESCRIBE: "the finalized levels, and the levels that nodes support",
        UPGRADE: "finalize higher levels",
        DOWNGRADE: "finalize lower levels",
        DISABLE: "finalize level 0",
        MAPPING: "the levels that a release has",
        DEPENDENCIES: "the levels of other features that a level needs",
    },
)

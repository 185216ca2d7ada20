"""Levels of features by release, and what they need, in kafka-features' words (FeatureCommand, MetadataVersion, 4.3).
Pure, without a cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable

from console.cli.noun import OptionsError
from console.model.feature_levels import METADATA_VERSION, feature_levels, level_name

NAMES = (
    "kraft.version",
    "transaction.version",
    "group.version",
    "eligible.leader.replicas.version",
    "share.version",
    "streams.version",
)
"""The features that releases have, beside metadata.version (Feature.PRODUCTION_FEATURES)."""
_LOWEST = 7
"""The lowest level of metadata.version that Kafka 4 supports: 3.3-IV3 (MetadataVersion.MINIMUM_VERSION)."""
_RELEASE = re.compile(r"\A(\d+\.\d+)(?:\.\d+)*")
_SHORT = 2**15


def release_levels(release: str | None) -> tuple[int, dict[str, int]]:
    """Return a release's level of metadata.version, and feature -> level of all others. Raises OptionsError.

    Args:
        release: ``4.3``, ``4.3.1``, ``4.3-IV0``; None for the newest.
    """
    names = {level: each.name for level, each in feature_levels()[METADATA_VERSION].items() if level >= _LOWEST}
    found = max(names)
    if release is not None:
        short = _RELEASE.fullmatch(release)
        mine = [level for level, name in names.items() if name == release]
        mine += [level for level, name in names.items() if short is not None and name.startswith(f"{short[1]}-")]
        if not mine:
            known = ", ".join(names[level] for level in sorted(names))
            raise OptionsError(f"Unknown metadata.version '{release[:80]}'. Supported metadata.version are: {known}")
        found = max(mine)
    return found, {name: _default(name, found) for name in NAMES}


def _default(feature: str, metadata: int) -> int:
    """Return the level of a feature that new clusters with this level of metadata.version have."""
    order = {each.name: level for level, each in feature_levels()[METADATA_VERSION].items()}
    levels = feature_levels().get(feature, {})
    return max((level for level, each in levels.items() if order.get(each.name, _SHORT) <= metadata), default=0)


def mapping_lines(release: str | None) -> tuple[str, ...]:
    """Return the lines of version-mapping. Raises OptionsError."""
    metadata, others = release_levels(release)
    shown = release if release is not None else level_name(METADATA_VERSION, metadata)
    return (f"{METADATA_VERSION}={metadata} ({shown})", *(f"{name}={level}" for name, level in others.items()))


def name_and_level(text: str) -> tuple[str, int]:
    """Parse ``NAME=LEVEL``. Raises OptionsError."""
    name, equals, level = text.partition("=")
    if not equals:
        raise OptionsError(f"Can't parse feature=level string {text[:200]}: equals sign not found.")
    number = level.strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,6}", number) or not -_SHORT <= int(number) < _SHORT:
        raise OptionsError(f"Can't parse feature=level string {text[:200]}: unable to parse {number[:80]} as a short.")
    return name.strip(), int(number)


def dependency_lines(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the lines of feature-dependencies. Raises OptionsError."""
    lines: list[str] = []
    for text in texts:
        name, level = name_and_level(text)
        if name == METADATA_VERSION:
            if level < _LOWEST or not (release := level_name(name, level)):
                raise OptionsError(f"Unknown metadata.version {level}")
            lines.append(f"{name}={level} ({release}) has no dependencies.")
            continue
        if name not in NAMES:
            raise OptionsError(f"Unknown feature: {name[:80]}")
        known = feature_levels().get(name, {}).get(level)
        if known is None and level != 0:
            raise OptionsError(f"No feature:{name} with feature level {level}")
        needs = known.needs if known is not None else {}
        if not needs:
            lines.append(f"{name}={level} has no dependencies.")
            continue
        lines.append(f"{name}={level} requires:")
        for other, least in needs.items():
            release = level_name(other, least)
            lines.append(f"    {other}={least}{f' ({release})' if release else ''}")
    return tuple(lines)


def level_text(feature: str, level: int) -> str:
    """Return a level as describe shows it: metadata.version by its release."""
    if feature != METADATA_VERSION:
        return str(level)
    return (level_name(feature, level) if level >= _LOWEST else "") or f"UNKNOWN {level}"

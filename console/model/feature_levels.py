"""The levels of Kafka's features: the release that introduced each, its effect, and the levels that can be lowered.

``python -m tests.support.record_feature_levels`` writes `feature_levels.json` from Kafka's own jars; the effect of each
level is described here, with its KIP. Loaded on first use.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from console.model.cluster import BrokerVersion

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
ELR_VERSION = "eligible.leader.replicas.version"
MIN_ISR = "min.insync.replicas"
"""The config that behaves differently with eligible leader replicas (ELR): topics and the cluster default have values,
single brokers have none, and the value of the cluster default can't be removed (ConfigurationControlManager).
"""
CORDONED, CORDONS_FROM = "cordoned.log.dirs", 30
"""A key, and the level of metadata.version that it requires."""


class FeatureLevel(NamedTuple):
    """A level of a feature: its name, whether it changed the metadata log, and the levels of other features that it
    needs.
    """

    name: str
    """For metadata.version a name such as ``4.0-IV1``; for another feature the level of metadata.version since which
    this level is the default of new clusters.
    """
    changed: bool
    """Whether the level changed the format of the metadata log; meaningful for metadata.version only."""
    needs: Mapping[str, int]
    """Feature -> the minimum level that this level needs."""


_BRINGS: Mapping[str, Mapping[int, str]] = {
    METADATA_VERSION: {
        2: "topic ids in fetches (KIP-516)",
        3: "leaders that recover from an unclean election are marked (KIP-704)",
        5: "empty records, by which an idle quorum shows that it lives (KIP-835)",
        7: "brokers in controlled shutdown are no leaders any more (KIP-841)",
        8: "migration from ZooKeeper (KIP-866)",
        9: "tiered storage (KIP-405)",
        10: "replicas' epochs in fetches (KIP-903)",
        11: "SCRAM credentials (KIP-900)",
        12: "no new leader epoch where an ISR shrinks",
        13: "transactions in the metadata log (KIP-868)",
        14: "delegation tokens",
        15: "controllers register themselves (KIP-919)",
        17: "several log directories for each broker (KIP-858)",
        19: "fetch answers name the new leader (KIP-951)",
        22: "the base of group.version 1 (KIP-848)",
        23: "the base of eligible leader replicas (KIP-966)",
        24: "the base of transaction.version 2 (KIP-890)",
        25: "offsets of tiered records are listed in the background (KIP-1075)",
        26: "eligible leader replicas by default on new clusters (KIP-966)",
        27: "followers fetch with the leader's high watermark (KIP-1166)",
        28: "share groups by default on new clusters (KIP-932)",
        29: "streams groups by default on new clusters (KIP-1071)",
        30: "log directories that get no new partitions (KIP-1066)",
        32: "ranges of addresses as hosts of ACLs",
        33: "controllers' registrations can be removed",
    },
    KRAFT_VERSION: {1: "controllers can be added and removed while the quorum runs (KIP-853)"},
    "transaction.version": {
        1: "fields can be added to the transaction log",
        2: "a new producer epoch for each transaction, which late requests can't join (KIP-890)",
    },
    "group.version": {1: "consumer groups whose coordinator assigns the partitions (KIP-848)"},
    ELR_VERSION: {1: "replicas that left the ISR without losing records may lead (KIP-966)"},
    "share.version": {1: "share groups (KIP-932)", 2: "dead letter queues of share groups (KIP-1191)"},
    "streams.version": {1: "streams groups (KIP-1071)"},
}


@cache
def feature_levels() -> Mapping[str, Mapping[int, FeatureLevel]]:
    """Return feature -> level -> its record. Level 0, which means that the feature is disabled, is left out."""
    read = json.loads(Path(__file__).with_suffix(".json").read_text())
    return {
        feature: {int(level): FeatureLevel(**facts) for level, facts in levels.items()}
        for feature, levels in read.items()
    }


def level_name(feature: str, level: int) -> str:
    """Return the name of a level of metadata.version, such as ``4.0-IV1``; ``""`` for an unknown level or another
    feature."""
    known = feature_levels().get(feature, {}).get(level)
    return known.name if known is not None and feature == METADATA_VERSION else ""


def brings(feature: str, old: int, new: int) -> tuple[tuple[int, str], ...]:
    """Return the levels above `old` up to `new`, each with a description of its effect; levels without a visible effect
    are left out.
    """
    known = _BRINGS.get(feature, {})
    return tuple((level, known[level]) for level in sorted(known) if old < level <= new)


def missing_needs(feature: str, level: int, others: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Return the other features that must be raised before a feature gets this level, each with the lowest sufficient
    level.

    Args:
        others: feature -> its level now.
    """
    known = feature_levels().get(feature, {}).get(level)
    needs = known.needs if known is not None else {}
    return tuple((name, least) for name, least in needs.items() if others.get(name, 0) < least)


def why_no_way_back(feature: str, old: int, new: int) -> str:
    """Return the reason why a feature can't be lowered from level `new` to `old`; ``""`` if kac knows of no reason.

    metadata.version can only be lowered over levels that did not change the metadata log's format
    (MetadataVersion.checkIfMetadataChanged); kraft.version can never be lowered (KIP-853).
    """
    if feature == KRAFT_VERSION:
        return "kraft.version can't be lowered" if old < new else ""
    if feature != METADATA_VERSION:
        return ""
    known = feature_levels()[METADATA_VERSION]
    changed = [level for level in range(old + 1, new + 1) if level not in known or known[level].changed]
    if not changed:
        return ""
    name = level_name(feature, changed[-1])
    return f"level {changed[-1]}{f' ({name})' if name else ''} changed the format of the metadata log"


def newest_levels(versions: Iterable[BrokerVersion]) -> dict[str, int]:
    """Return feature -> its finalized level, as the brokers with the newest epoch report it: brokers with an older
    epoch may not know of the last change. If brokers with the same epoch differ, the highest level is returned.
    """
    every = [*versions]
    newest = max((each.epoch for each in every), default=-1)
    levels: dict[str, int] = {}
    for name, level in (pair for one in every if one.epoch == newest for pair in one.finalized_features.items()):
        levels[name] = max(level, levels.get(name, 0))
    return levels

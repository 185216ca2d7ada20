"""Finds share groups that began to read at the end of a topic. They have no commits from before, and no lag shows the
records that they skipped. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from console.model.codes import DEFAULT_CONFIG, GROUP
from console.model.config import ConfigResource, entry_in
from console.model.observed_logs import ObservedLogs
from console.model.parts import Part
from console.model.snapshot import Snapshot

SHARE = "share"
RESET = "share.auto.offset.reset"
FEW = 20
"""Minimum number of skipped records that count: fewer may be tests of a new topic."""


class Passed(NamedTuple):
    """Records that were in a topic before a share group began to read it, and that no other group reads."""

    group: str
    topic: str
    records: int
    at: datetime
    """The time of the poll at which the group first appeared, UTC."""


def share_group_config(group: str) -> ConfigResource:
    """Return the config resource of the group with this name."""
    return ConfigResource(GROUP, group)


def came_after(
    known: Mapping[str, datetime], old: Snapshot, new: Snapshot, at: datetime, oldest: datetime
) -> Mapping[str, datetime]:
    """Return share group -> the time of the poll at which it first appeared, UTC.

    Args:
        known: the result for the last poll.
        old, new: the snapshots of the last poll and of this one.
        at: the time of this poll, UTC.
        oldest: the time before which nothing is kept, UTC.
    """
    if old.groups is new.groups or Part.GROUPS not in old.read_at:
        return known
    kept = {name: then for name, then in known.items() if then > oldest and name in new.groups}
    came = (name for name, each in new.groups.items() if each.type == SHARE and name not in old.groups)
    return {**kept, **dict.fromkeys(came, at)}


def passed_over(came: Mapping[str, datetime], snapshot: Snapshot, logs: ObservedLogs) -> Iterator[Passed]:
    """Yield the records that share groups skipped because where they start (share.auto.offset.reset) is not set:
    Kafka's default is the end of the log. Topics that another group reads are left out: that group processes the
    records. So are topics with fewer than 20 such records (`FEW`).

    Args:
        came: the result of `came_after`.
    """
    found: dict[str, list[Passed]] = {}
    for name, at in came.items():
        entry = entry_in(snapshot.configs, share_group_config(name), RESET)
        lag = snapshot.lags.get(name)
        if entry is None or entry.source != DEFAULT_CONFIG or entry.value != "latest" or lag is None:
            continue
        records: dict[str, int] = {}
        for each in lag.partitions:
            log = logs.logs.get((each.topic, each.partition))
            there = max(0, log.first_end - log.last.start) if log is not None else 0
            records[each.topic] = records.get(each.topic, 0) + there
        for topic, count in sorted(records.items()):
            if count >= FEW:
                found.setdefault(topic, []).append(Passed(name, topic, count, at))
    if not found:
        return
    readers: dict[str, set[str]] = {topic: set() for topic in found}
    for name, lag in snapshot.lags.items():
        for each in lag.partitions:
            if each.topic in readers:
                readers[each.topic].add(name)
    yield from (each for topic, mine in found.items() if len(readers[topic]) == 1 for each in mine)

"""Share groups that began at the end of a topic: they have no commits before, and no lag that shows the records that
they passed over. Pure.
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
"""Maximum number of records that no client misses, such as tests of a new topic."""


class Passed(NamedTuple):
    """Records that were in a topic before a share group began to read it, and that no group reads."""

    group: str
    topic: str
    records: int
    at: datetime
    """The time at which the group came, UTC."""


def share_group_config(group: str) -> ConfigResource:
    """Return the resource with the configs of a group."""
    return ConfigResource(GROUP, group)


def came_after(
    known: Mapping[str, datetime], old: Snapshot, new: Snapshot, at: datetime, oldest: datetime
) -> Mapping[str, datetime]:
    """Return the share groups that appeared between two listings, each with the time.

    Args:
        at: the time of the poll.
        oldest: the time before which nothing is kept, UTC.
    """
    if old.groups is new.groups or Part.GROUPS not in old.read_at:
        return known
    kept = {name: then for name, then in known.items() if then > oldest and name in new.groups}
    came = (name for name, each in new.groups.items() if each.type == SHARE and name not in old.groups)
    return {**kept, **dict.fromkeys(came, at)}


def passed_over(came: Mapping[str, datetime], snapshot: Snapshot, logs: ObservedLogs) -> Iterator[Passed]:
    """Yield the records that share groups passed over because their start is not set: Kafka's default is the end of the
    log. A topic that another group reads is left out: that group works on its records.

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

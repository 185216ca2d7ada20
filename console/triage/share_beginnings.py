"""Share groups that began at the end of a topic: they have no commits before, and no lag that shows what they passed
over. Pure.
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
"""Records that no client misses: tests of a new topic."""


class Passed(NamedTuple):
    """Records that were in a topic before a share group came, and that no group reads. at: when it came, UTC."""

    group: str
    topic: str
    records: int
    at: datetime


def share_group_config(group: str) -> ConfigResource:
    """Return the resource with the configs of a group."""
    return ConfigResource(GROUP, group)


def came_after(
    known: Mapping[str, datetime], old: Snapshot, new: Snapshot, at: datetime, oldest: datetime
) -> Mapping[str, datetime]:
    """Return the share groups that came between two listings, with the time. at: of the poll; oldest: of what is kept,
    UTC.
    """
    if old.groups is new.groups or Part.GROUPS not in old.read_at:
        return known
    kept = {name: then for name, then in known.items() if then > oldest and name in new.groups}
    came = (name for name, each in new.groups.items() if each.type == SHARE and name not in old.groups)
    return {**kept, **dict.fromkeys(came, at)}


def passed_over(came: Mapping[str, datetime], snapshot: Snapshot, logs: ObservedLogs) -> Iterator[Passed]:
    """Yield what share groups passed over, if their beginning is not set: Kafka's default is the end. A topic that
    another group reads is left out: its records are worked on.

    Args:
        came: from `came_after`.
    """
    for name, at in came.items():
        entry = entry_in(snapshot.configs, share_group_config(name), RESET)
        lag = snapshot.lags.get(name)
        if entry is None or entry.source != DEFAULT_CONFIG or entry.value != "latest" or lag is None:
            continue
        read = {each.topic for other, mine in snapshot.lags.items() if other != name for each in mine.partitions}
        for topic in sorted({each.topic for each in lag.partitions} - read):
            known = [logs.logs.get((topic, each.partition)) for each in lag.partitions if each.topic == topic]
            records = sum(max(0, each.first_end - each.last.start) for each in known if each is not None)
            if records >= FEW:
                yield Passed(name, topic, records, at)

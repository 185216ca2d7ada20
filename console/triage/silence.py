"""Topics that producers stopped writing to at a change. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from console.model.cluster import Topic
from console.model.observed_logs import ObservedLogs
from console.triage.observations import Observations
from console.triage.remembered import remembered

WROTE, QUIET, SETTLES = 30.0, 12.0, 5.0
"""Limits in seconds: from the last write to a topic to the change; without new records since; for records in flight
that still arrive after the change.
"""


def fell_silent(observations: Observations, after: datetime, at: datetime, broker: int | None = None) -> Iterator[str]:
    """Yield the topics that were written to until just before a change, and not since.

    Args:
        after: the last read without the change.
        at: the first read with it.
        broker: only the partitions that it leads; None for all.
    """
    logs = observations.last.facts.logs
    earliest, latest = after.timestamp() - WROTE, at.timestamp() + SETTLES
    for topic, by_leader in _last_writes(logs, observations.last.snapshot.topics).items():
        last = max(by_leader.values()) if broker is None else by_leader.get(broker)
        # Silence is measured at the last read of the logs, not now: offsets are read less often than polls are taken.
        if last is not None and logs.at - last >= QUIET and earliest <= last <= latest:
            yield topic


@remembered
def _last_writes(logs: ObservedLogs, topics: Mapping[str, Topic]) -> Mapping[str, Mapping[int, float]]:
    """Return topic -> leader -> the time at which one of its partitions was last seen to grow; seconds since 1970."""
    found: dict[str, dict[int, float]] = {}
    for (name, number), log in logs.logs.items():
        topic = topics.get(name)
        if log.grew_at is None or topic is None or number >= len(topic.partitions):
            continue
        leader = topic.partitions[number].leader
        by_leader = found.setdefault(name, {})
        by_leader[leader] = max(log.grew_at, by_leader.get(leader, log.grew_at))
    return found

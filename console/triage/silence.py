"""Topics that producers stopped writing to: at a change, or without one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import NamedTuple

from console.model.cluster import Topic
from console.model.observed_logs import ObservedLogs
from console.triage.observations import Observations
from console.triage.remembered import remembered

WROTE, QUIET, SETTLES = 30.0, 12.0, 5.0
"""Limits in seconds: maximum from the last write to a topic to the change; minimum without new records since; maximum
for records in flight that arrive after the change."""
STEADY, SEEN, PAUSES, FORGOTTEN = 8.0, 2.0, 3.0, 1_800.0
"""Limits for a silence without a change: the minimum seconds between the first and the last write; the minimum of that
time, and of the silence, as multiples of the longest pause before; the seconds after which the topic counts as one
without producers."""


class Silence(NamedTuple):
    """A topic that producers wrote to steadily, and no longer do."""

    topic: str
    grew_at: float
    """The time of the last poll with new records, Unix seconds."""
    pause: float
    """An upper bound of the longest time without new records before the silence, in seconds."""


def silences(observations: Observations) -> Sequence[Silence]:
    """Return the topics whose steady writes ended a while ago, the latest first."""
    return _silences(observations.last.facts.logs, observations.last.snapshot.topics)


@remembered
def _silences(logs: ObservedLogs, topics: Mapping[str, Topic]) -> Sequence[Silence]:
    # A topic's longest pause is at most that of any of its partitions that was written to all the time.
    seen: dict[str, tuple[float, float, float]] = {}  # topic -> last write, first read, shortest of the longest pauses
    for (topic, _), log in logs.logs.items():
        if log.grew_at is not None:
            last, first, pause = seen.get(topic, (log.grew_at, log.first_at, log.pause))
            seen[topic] = max(last, log.grew_at), min(first, log.first_at), min(pause, log.pause)
    found = [
        Silence(topic, last, pause)
        for topic, (last, first, pause) in seen.items()
        if last - first >= max(STEADY, SEEN * pause)
        and max(QUIET, PAUSES * pause) <= logs.at - last <= FORGOTTEN
        and topic in topics
        and not topics[topic].internal
    ]
    return sorted(found, key=lambda each: (-each.grew_at, each.topic))


FIRST_LOOK = 15.0
"""Seconds after the start within which every topic was read at least once."""
APPEARED = 60.0
"""Maximum seconds from the last record of a topic to the first look at the topic that is written to instead."""
SIMILAR = 0.8
"""Minimum similarity (difflib's ratio) of two names to suspect that one is a slip of the other."""


def instead_of(observations: Observations) -> Sequence[tuple[Silence, str]]:
    """Return the silent topics for which producers now write to a new topic of a similar name, each with that topic."""
    return _instead_of(observations.last.facts.logs, observations.last.snapshot.topics, observations.began)


@remembered
def _instead_of(logs: ObservedLogs, topics: Mapping[str, Topic], began: datetime) -> Sequence[tuple[Silence, str]]:
    silent = _silences(logs, topics)
    if not silent:
        return ()
    first = began.timestamp() + FIRST_LOOK
    new = {topic: log.first_at for (topic, _), log in logs.logs.items() if log.first_at > first and log.last.end > 0}
    return [
        (each, found[0])
        for each in silent
        if (some := [name for name, at in new.items() if name in topics and abs(at - each.grew_at) <= APPEARED])
        and (found := get_close_matches(each.topic, some, 1, SIMILAR))
    ]


def fell_silent(observations: Observations, after: datetime, at: datetime, broker: int | None = None) -> Iterator[str]:
    """Yield the topics that producers wrote to until just before a change, and not since.

    Args:
        after: the time of the last read without the change, UTC.
        at: the time of the first read with the change, UTC.
        broker: the leader of the partitions that count; None for all partitions.
    """
    logs = observations.last.facts.logs
    earliest, latest = after.timestamp() - WROTE, at.timestamp() + SETTLES
    for topic, by_leader in _last_writes(logs, observations.last.snapshot.topics).items():
        last = max(by_leader.values()) if broker is None else by_leader.get(broker)
        # Measure the silence at the last read of the logs, not now: offsets are read less often than polls are taken.
        if last is not None and logs.at - last >= QUIET and earliest <= last <= latest:
            yield topic


@remembered
def _last_writes(logs: ObservedLogs, topics: Mapping[str, Topic]) -> Mapping[str, Mapping[int, float]]:
    """Return topic -> leader -> the time at which one of its partitions was last seen to grow; seconds since 1970."""
    found: dict[str, dict[int, float]] = {}
    for (name, number), log in logs.logs.items():
        topic = topics.get(name)
        if log.grew_at is None or topic is None or topic.internal or number >= len(topic.partitions):
            continue
        leader = topic.partitions[number].leader
        by_leader = found.setdefault(name, {})
        by_leader[leader] = max(log.grew_at, by_leader.get(leader, log.grew_at))
    return found

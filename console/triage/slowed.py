"""Finds topics that producers write to more slowly since a quota was lowered, at about the rate that the quota allows.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from types import MappingProxyType

from console.model.snapshot import Snapshot
from console.triage.events import Place
from console.triage.judged_changes import JudgedChange
from console.triage.remembered import remembered
from console.triage.written import Written, written

SETTLED = timedelta(seconds=45)
"""The time after a change for which measured rates still include the time before the change."""
BEGINS = timedelta(minutes=2)
"""Maximum time from the end of `SETTLED` to the first poll at which a topic is slower, for the change to be
the cause.
"""
LASTS = timedelta(seconds=60)
"""The time for which a topic has to be written to at the quota's limit to count: a load that falls by itself only
passes the limit.
"""
AT_LIMIT, FALLEN, RISEN = (0.6, 1.4), 0.6, 0.8
"""Shares of a quota between which the load of the topics of one producer is at it; the share of its former load to
which a topic has to fall; and the share above which it no longer counts as slower."""
MOST = 20
"""Maximum number of lowered quotas that are compared with the load, the latest ones."""


Slow = Mapping[tuple[str, int], datetime]
"""(topic, leader) -> the time since which producers write more slowly to the topic's partitions on that leader, UTC."""
Slowed = Mapping[Place, Slow]
"""Quota -> what is written to more slowly since it was lowered."""
NOTHING: Slowed = MappingProxyType({})


def slowed_after(known: Slowed, judged: Sequence[JudgedChange], snapshot: Snapshot, at: datetime) -> Slowed:
    """Return, as of this poll, what is written to more slowly since a quota was lowered. The same object as `known` if
    nothing changed.

    Args:
        known: the result for the last poll.
        judged: the known changes, the earliest first.
        at: the time of this poll, UTC.
    """
    limits = islice((each for each in reversed(judged) if each.limits is not None), MOST)
    # The load of a large cluster costs much, so look at it only while topics are slower, or may still begin to be.
    changes = [each for each in limits if each.place in known or SETTLED <= at - each.at <= SETTLED + BEGINS]
    if not changes:
        return NOTHING if known else known
    now = written(snapshot.rates, snapshot.topics)
    some = ((each.place, _slow_after(known.get(each.place, {}), each, now, at)) for each in changes)
    found = {place: slow for place, slow in some if slow}
    return found if found != known else known


def slower(known: Slowed, change: JudgedChange, at: datetime) -> Iterator[str]:
    """Yield the topics that have been slower for at least a minute (`LASTS`) since the change lowered a quota. A topic
    is yielded once for each leader.

    Args:
        known: the result of `slowed_after` for this poll.
        at: the time of this poll, UTC.
    """
    if change.limits is not None:
        yield from (topic for (topic, _), since in known.get(change.place, {}).items() if at - since >= LASTS)


def _slow_after(known: Slow, change: JudgedChange, now: Written, at: datetime) -> Slow:
    # A topic has to stay at the limit for a while; from then on it only has to stay slower.
    mine = {place: since for place, since in known.items() if at - since >= LASTS}
    begins = SETTLED <= at - change.at <= SETTLED + BEGINS
    if begins or len(mine) < len(known):
        some = _at_limit(change, now)
        mine |= {place: known.get(place, at) for place in some if begins or place in known}
    return {place: since for place, since in mine.items() if _is_slower(place, change, now)}


def _is_slower(place: tuple[str, int], change: JudgedChange, now: Written) -> bool:
    assert change.limits is not None
    before = change.limits.written.get(place)
    return before is not None and 0 < now.get(place, 0.0) <= RISEN * before


def _at_limit(change: JudgedChange, now: Written) -> Iterator[tuple[str, int]]:
    """Yield (topic, leader) for the topics whose load fell on a leader, if the load of all of them on that leader is
    about the rate that the quota allows one client.

    Args:
        now: the present load.
    """
    assert change.limits is not None
    limit = float(change.became or 0)
    fallen = _fallen(change.limits.written, now)
    for leader in sorted(change.limits.leaders):
        topics = fallen.get(leader, {})
        if AT_LIMIT[0] * limit <= sum(topics.values()) <= AT_LIMIT[1] * limit:
            yield from ((topic, leader) for topic in topics)


@remembered
def _fallen(before: Written, now: Written) -> Mapping[int, Mapping[str, float]]:
    """Return leader -> topic -> the present load in bytes per second, for the topics that are written to there at most
    at 0.6 (`FALLEN`) of their former rate.
    """
    found: dict[int, dict[str, float]] = {}
    for (topic, leader), former in before.items():
        rate = now.get((topic, leader), 0.0)
        if 0 < rate <= FALLEN * former:
            found.setdefault(leader, {})[topic] = rate
    return found

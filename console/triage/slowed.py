"""Topics that producers write to more slowly since a quota was lowered, about as fast as it lets them. Pure."""

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
"""The time after a change in which rates still cover the time before it."""
BEGINS = timedelta(minutes=2)
"""Maximum time from a change to the first poll in which a topic is slower, for the change to be its cause."""
LASTS = timedelta(seconds=60)
"""The time for which a topic has to be written to at the limit: a load that falls by itself passes it."""
AT_LIMIT, FALLEN, RISEN = (0.6, 1.4), 0.6, 0.8
"""Shares of a quota between which the load of the topics of one producer is at it; the share of its former load to
which a topic has to fall; and the share above which it no longer counts as slower."""
MOST = 20
"""Maximum number of quotas that are compared with the load, the latest ones."""


Slow = Mapping[tuple[str, int], datetime]
"""Topic and leader -> since when producers write less there, UTC."""
Slowed = Mapping[Place, Slow]
"""Quota -> the topics that are slower since it was lowered."""
NOTHING: Slowed = MappingProxyType({})


def slowed_after(known: Slowed, judged: Sequence[JudgedChange], snapshot: Snapshot, at: datetime) -> Slowed:
    """Return the slower topics after a poll. known: the same after the poll before."""
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
    """Yield the topics that were written to at the limit of a quota for a while, and are slower still."""
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
    """Yield the topics whose load fell, if those of one leader are written to together about as fast as the quota lets
    one client.
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
    """Return leader -> the topics that are written to more slowly there than before, with their present load."""
    found: dict[int, dict[str, float]] = {}
    for (topic, leader), former in before.items():
        rate = now.get((topic, leader), 0.0)
        if 0 < rate <= FALLEN * former:
            found.setdefault(leader, {})[topic] = rate
    return found

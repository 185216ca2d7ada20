"""Finds topics whose records were spread over their partitions before and now go almost all to one partition. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.cluster import Topic
from console.model.observed_logs import ObservedLogs
from console.model.rates import Counter, Rates

MOST_OF, AT_MOST, RECORDS, WATCHED, LESS, FEWEST = 0.8, 2.0, 100, 30.0, 0.5, 3
"""Limits for a topic whose records go to one partition: the partition's share of the latest records; its former share,
as a multiple of an even one; the minimum number of records, then and now, and of seconds before; the share to which the
writes to the other partitions fell, as more records of one tenant leave the others as they were; and the minimum number
of partitions. "Before" is the last 5 to 10 minutes: the load of a day differs from that of a night."""
SPREAD = 0.5
"""Maximum share of any partition in the records before: if one had more, the topic's records were not spread."""
MOVED = 0.5, 2.0
"""The minimum and maximum of what the partition gains, as a multiple of what the other partitions lose, both in records
per second. If records get the same key, they move to one partition and both are equal; a batch of one tenant only
adds records, and other tenants that stop only take some away.
"""
BRIEF = 8.0
"""Maximum seconds for which a partition may have got no record before. Producers without keys may stay with one
partition for longer (KIP-794), so that their records are unevenly spread at any time.
"""
MOST_PARTITIONS = 5_000
"""Maximum number of partitions in the cluster for which topics are examined; with more, none are."""
KEPT = timedelta(minutes=30)


class Collapsed(NamedTuple):
    """A topic whose records were spread over its partitions and now go to one of them, `number`."""

    topic: str
    number: int
    share: float
    """The partition's share in the latest records when kac saw the change, from 0 to 1."""
    was: float
    """The partition's share in the records before, from 0 to 1."""
    of: int
    """The number of partitions of the topic."""
    at: datetime
    """The time of the first poll that showed the change, UTC."""


def collapsed_after(
    known: Sequence[Collapsed],
    logs: ObservedLogs,
    topics: Mapping[str, Topic],
    rates: Rates,
    before: Rates,
    at: datetime,
) -> Sequence[Collapsed]:
    """Return, as of this poll, the topics whose records now go to one partition.

    Args:
        known: the result for the last poll. Its entries are kept for 30 minutes (`KEPT`), as long as their topic gets
            records and most of these go to the partition.
        rates, before: the rates of this poll and of the last one.
        at: the time of this poll, UTC.
    """
    if any(each.topic not in topics for each in known):
        known = tuple(each for each in known if each.topic in topics)
    if rates.ends is before.ends or len(rates.ends) > MOST_PARTITIONS:
        return known
    grown: dict[str, dict[int, Counter]] = {}
    for (name, number), end in rates.ends.items():
        if end.value > end.base:
            grown.setdefault(name, {})[number] = end
    found = {each.topic: each for each in known if _lasts(each, grown.get(each.topic, {}), at)}
    for name in grown:
        topic = topics.get(name)
        if name not in found and topic is not None and not topic.internal and len(topic.partitions) >= FEWEST:
            found |= {each.topic: each for each in _examined(topic, logs, rates, at)}
    return tuple(found.values())


def _lasts(known: Collapsed, grown: Mapping[int, Counter], at: datetime) -> bool:
    recent = {number: end.value - end.base for number, end in grown.items()}
    mine = recent.get(known.number, 0)
    return at - known.at < KEPT and mine > 0 and mine >= MOST_OF * sum(recent.values())


def _examined(topic: Topic, logs: ObservedLogs, rates: Rates, at: datetime) -> Iterator[Collapsed]:
    """Yield the change of a topic, if almost all of its latest records go to one partition and the earlier ones did
    not; else nothing.
    """
    now: dict[int, int] = {}
    before: dict[int, int] = {}
    earlier = lately = 0.0
    for each in topic.partitions:
        place = topic.name, each.number
        end, log = rates.ends.get(place), logs.logs.get(place)
        if end is None or log is None or log.grew_at is None or log.recent_pause > BRIEF:
            return
        since = log.periods[0]
        if end.base < since.end:
            return
        now[each.number], before[each.number] = end.value - end.base, end.base - since.end
        earlier, lately = max(earlier, end.base_at - since.at), max(lately, end.at - end.base_at)
    recent, former = sum(now.values()), sum(before.values())
    if min(recent, former) < RECORDS or earlier < WATCHED:
        return
    number = max(now, key=lambda each: now[each])
    share, was = now[number] / recent, before[number] / former
    lately = max(1.0, lately)
    rest, then = (recent - now[number]) / lately, (former - before[number]) / earlier
    gained, lost = now[number] / lately - before[number] / earlier, then - rest
    is_moved = (
        max(before.values()) <= SPREAD * former and rest <= LESS * then and MOVED[0] * lost <= gained <= MOVED[1] * lost
    )
    if share >= MOST_OF and was <= AT_MOST / len(topic.partitions) and is_moved:
        yield Collapsed(topic.name, number, share, was, len(topic.partitions), at)

"""Partitions that get the load which all partitions of their topic should share, and the time since when. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.cluster import Topic, partition_in
from console.model.rates import WINDOW, Counter, Place, Rates
from console.model.snapshot import Snapshot
from console.triage.remembered import remembered

HOT = 5.0
"""Factor of the median load of a topic's partitions: a partition above it may be hot."""
SHARE = 0.5
"""Minimum share of the load of the leader, 0 to 1, that a hot partition has: a smaller one harms no broker."""
LEAST = 1 << 20
"""Minimum load of a hot partition in bytes per second."""
FEWEST = 3
"""Minimum number of partitions of a topic for which hot ones are looked for."""
LASTS = timedelta(seconds=45)
"""The time for which a partition has to be hot, in addition to the first window of its rate: a bulk load ends
earlier.
"""


class Hot(NamedTuple):
    """A hot partition. `taken` is what producers write to it; all loads are in bytes per second."""

    place: Place
    taken: float
    leader: int
    led: float
    """The load of all partitions that the leader leads."""
    middle: float
    """The median load of the topic's partitions."""


def hot_after(known: Mapping[Place, datetime], snapshot: Snapshot, at: datetime) -> Mapping[Place, datetime]:
    """Return hot partition -> the time since when it is hot, UTC, after a poll.

    Args:
        known: the result for the last poll.
        at: the time of this poll, UTC.
    """
    found = {each.place: known.get(each.place, at) for each in hot(snapshot)}
    return found if found or known else known


def hot(snapshot: Snapshot) -> tuple[Hot, ...]:
    """Return the hot partitions."""
    return _hot(snapshot.topics, snapshot.rates)


@remembered
def _hot(topics: Mapping[str, Topic], rates: Rates) -> tuple[Hot, ...]:
    return tuple(_found(topics, rates))


def _found(topics: Mapping[str, Topic], rates: Rates) -> Iterator[Hot]:
    # Few partitions take so much: compute the totals of brokers for these only.
    settled = _all_settled(rates.sizes)
    large = sorted(place for place, taken in settled.items() if taken >= LEAST)
    led = _led(topics, settled) if large else {}
    for name, number in large:
        known = topics.get(name)
        leader = rates.sizes[name, number].source
        taken = settled[name, number]
        if known is None or taken < SHARE * led.get(leader, 0.0):
            continue
        middle = _middle(rates, known)
        if middle is not None and taken >= HOT * middle:
            yield Hot((name, number), taken, leader, led[leader], middle)


@remembered
def _all_settled(sizes: Mapping[Place, Counter]) -> Mapping[Place, float]:
    """Return partition -> its load in bytes per second, for partitions that grow and whose rate covers a whole window,
    so that a burst does not count.
    """
    return {
        place: each.rate or 0.0
        for place, each in sizes.items()
        if each.value != each.base and each.at - each.base_at >= WINDOW
    }


@remembered
def _led(topics: Mapping[str, Topic], settled: Mapping[Place, float]) -> Mapping[int, float]:
    """Return broker -> the bytes per second that producers write to all partitions that it leads."""
    led: dict[int, float] = {}
    for (name, number), taken in settled.items():
        partition = partition_in(topics.get(name), number)
        if partition is not None and partition.leader >= 0:
            led[partition.leader] = led.get(partition.leader, 0.0) + taken
    return led


def _middle(rates: Rates, topic: Topic) -> float | None:
    """Return the median load of a topic's partitions in bytes per second; None while one of them is unknown, and for a
    topic with fewer than `FEWEST` (3) partitions.
    """
    found = [rates.of(topic.name, each.number).bytes for each in topic.partitions]
    known = [each for each in found if each is not None]
    if not len(known) == len(found) >= FEWEST:
        return None
    from statistics import median  # imported late: it imports decimals and fractions, and few topics get here

    return median(known)

"""Partitions that take the load that their topic should share, and since when each has done so. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.cluster import Topic, partition_in
from console.model.rates import WINDOW, Counter, Place, Rates
from console.model.snapshot import Snapshot
from console.triage.remembered import remembered

HOT = 5.0
"""Factor of the median load of a topic's partitions; a partition above it is hot."""
SHARE = 0.5
"""Minimum share of the leader's load: a partition with a smaller one harms no broker."""
LEAST = 1 << 20
"""Minimum bytes per second of a hot partition."""
FEWEST = 3
"""Minimum number of partitions of a topic with a hot one."""
LASTS = timedelta(seconds=45)
"""The time for which a partition has to be hot, after a first window: a bulk load into one partition ends earlier."""


class Hot(NamedTuple):
    """A hot partition, with loads in bytes per second."""

    place: Place
    taken: float
    leader: int
    led: float
    """The load of the leader."""
    middle: float
    """The median load of the topic's partitions."""


def hot_after(known: Mapping[Place, datetime], snapshot: Snapshot, at: datetime) -> Mapping[Place, datetime]:
    """Return hot partition -> since when it is hot, UTC, after a poll. known: the same after the poll before."""
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
    """Return partition -> bytes per second, for partitions that grow and were measured over a whole window. A burst is
    not a load.
    """
    return {
        place: each.rate or 0.0
        for place, each in sizes.items()
        if each.value != each.base and each.at - each.base_at >= WINDOW
    }


@remembered
def _led(topics: Mapping[str, Topic], settled: Mapping[Place, float]) -> Mapping[int, float]:
    """Return leader -> bytes per second that producers write to it."""
    led: dict[int, float] = {}
    for (name, number), taken in settled.items():
        partition = partition_in(topics.get(name), number)
        if partition is not None and partition.leader >= 0:
            led[partition.leader] = led.get(partition.leader, 0.0) + taken
    return led


def _middle(rates: Rates, topic: Topic) -> float | None:
    """Return the median bytes per second of a topic's partitions; None while one of them is unknown, and for fewer than
    `FEWEST` partitions.
    """
    found = [rates.of(topic.name, each.number).bytes for each in topic.partitions]
    known = [each for each in found if each is not None]
    if not len(known) == len(found) >= FEWEST:
        return None
    from statistics import median  # imported late: it imports decimals and fractions, and few topics get here

    return median(known)

"""Load as a cause: one partition takes the load that its topic should share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from console.model.cluster import Topic, partition_in
from console.model.coordinators import OFFSETS, TRANSACTIONS, partition_of
from console.model.lag_trend import LagTrend
from console.model.numbers import first_few
from console.model.rates import WINDOW, Counter, Place, Rates
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.plan.amounts import size
from console.triage import cause
from console.triage.folding import FEW
from console.triage.observations import Observations
from console.triage.remembered import remembered
from console.triage.symptoms import Subject

HOT = 5.0
"""Factor of the median load of a topic's partitions; a partition above it is hot."""
SHARE = 0.5
"""Minimum share of the leader's load: a partition with a smaller one harms no broker."""
LEAST = 1 << 20
"""Minimum bytes per second of a hot partition."""
FEWEST = 3
"""Minimum number of partitions of a topic with a hot one."""


def _hot(observations: Observations) -> Iterator[cause.Claim]:
    snapshot = observations.last.snapshot
    rates = snapshot.rates
    # Few partitions take so much: compute the totals of brokers for these only.
    settled = _all_settled(rates.sizes)
    large = sorted(place for place, taken in settled.items() if taken >= LEAST)
    led = _led(snapshot.topics, settled) if large else {}
    for name, number in large:
        known = snapshot.topics.get(name)
        leader = rates.sizes[name, number].source
        taken = settled[name, number]
        if known is None or taken < SHARE * led.get(leader, 0.0):
            continue
        middle = _middle(rates, known)
        if middle is None or taken < HOT * middle:
            continue
        yield cause.Claim(
            cause="hot-partition",
            subject=Subject(topic=name, partition=number),
            severity=Severity.WARNING,
            certainty=Certainty.LIKELY,
            title=f"{name}/{number} takes {size(round(taken))}/s, its topic's median is {size(round(middle))}/s",
            evidence=(
                cause.Evidence(
                    f"{size(round(taken))}/s of {size(round(led[leader]))}/s that are written to leader {leader}",
                    "DescribeLogDirs, two looks",
                ),
                cause.Evidence(f"the median of the topic's partitions is {size(round(middle))}/s", "the same"),
            ),
            next=(_next(snapshot, name, number),),
        )


def _next(snapshot: Snapshot, topic: str, partition: int) -> cause.Next:
    if topic == OFFSETS:
        count = len(snapshot.topics[topic].partitions)
        some = [
            name
            for name, trend in snapshot.lag_trends.items()
            if _commits(trend) and partition_of(name, count) == partition
        ]
        whose = f": {first_few(sorted(some), FEW)}" if some else ""
        return cause.Next(
            f"look at the groups with their offsets there{whose}. One of them commits too often, as after each record"
        )
    if topic == TRANSACTIONS:
        return cause.Next("look at the producers with a transactional.id: one of them begins transactions too often")
    return cause.Next("look at the producer: records of one key all go to one partition")


def _commits(trend: LagTrend) -> bool:
    return any(each.moved is not None and each.moved > trend.base.at for each in trend.standing.values())


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


CAUSES = (
    cause.CauseRule(
        "hot-partition",
        _hot,
        reads="DescribeLogDirs over 15 s",
        takes=(
            "likely: the partition gets five times the median of its topic, half of its leader's bytes, and at least "
            "1 MiB/s"
        ),
    ),
)

"""Causes that are load: one partition that takes what its topic should share."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from console.model.cluster import Topic
from console.model.rates import WINDOW, Rates
from console.plan.amounts import size
from console.triage.cause import CauseRule, Certainty, Claim, Evidence, Next, Severity
from console.triage.course import Course
from console.triage.symptoms import Subject

HOT = 5.0
"""Times the median of its topic that a partition takes before it is hot."""
SHARE = 0.5
"""Share of what its leader takes, at least: less does no broker harm."""
LEAST = 1 << 20
"""Bytes a second, at least."""
FEWEST = 3
"""Partitions of a topic among which one can be hot."""


def _hot(course: Course) -> Iterator[Claim]:
    snapshot = course.last.snapshot
    rates = snapshot.rates
    # Few partitions take so much: the sums of their brokers are made for them alone.
    large = {place for place in rates.sizes if _settled(rates, *place) >= LEAST}
    if not large:
        return
    led: dict[int, float] = {}
    for name, topic in snapshot.topics.items():
        for each in topic.partitions:
            if each.leader >= 0:
                led[each.leader] = led.get(each.leader, 0.0) + _settled(rates, name, each.number)
    for name, number in sorted(large):
        known = snapshot.topics.get(name)
        leader = rates.sizes[name, number].source
        taken = _settled(rates, name, number)
        if known is None or taken < SHARE * led.get(leader, 0.0):
            continue
        middle = _middle(rates, known)
        if middle is None or taken < HOT * middle:
            continue
        yield Claim(
            cause="hot-partition",
            subject=Subject(topic=name, partition=number),
            severity=Severity.WARNING,
            certainty=Certainty.LIKELY,
            title=f"{name}/{number} takes {size(round(taken))}/s, its topic's median is {size(round(middle))}/s",
            evidence=(
                Evidence(
                    f"{size(round(taken))}/s of {size(round(led[leader]))}/s that are written to leader {leader}",
                    "DescribeLogDirs, two looks",
                ),
                Evidence(f"the median of the topic's partitions is {size(round(middle))}/s", "the same"),
            ),
            predicted=(),
            next=(Next("look at the producer: records of one key all go to one partition"),),
        )


def _settled(rates: Rates, topic: str, number: int) -> float:
    """Bytes a second over a whole window; 0 while that is unknown. What a burst shows is no load."""
    counter = rates.sizes.get((topic, number))
    if counter is None or counter.at - counter.base_at < WINDOW:
        return 0.0
    return counter.rate or 0.0


def _middle(rates: Rates, topic: Topic) -> float | None:
    """The median of the topic's partitions, None while one of them is unknown."""
    found = [rates.of(topic.name, each.number).bytes for each in topic.partitions]
    known = [each for each in found if each is not None]
    return median(known) if len(known) == len(found) >= FEWEST else None


CAUSES = (CauseRule("hot-partition", _hot),)

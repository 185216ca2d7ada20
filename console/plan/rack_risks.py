"""Warnings about partitions that a single failure takes away: their replicas are all in one rack, or they have only one
replica. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from console.model.cluster import Broker, partition_in
from console.model.numbers import first_few, plural
from console.plan import edits
from console.plan.risk_rules import Judged, RiskNeeds

NAMED = 3
"""Maximum number of partitions that a text names."""


def racks(brokers: Collection[Broker]) -> Mapping[int, str]:
    """Return broker -> its rack, for brokers that have one; empty if the brokers are in fewer than two different
    racks.
    """
    known = {each.id: each.rack for each in brokers if each.rack}
    return known if len(set(known.values())) > 1 else {}


def one_rack(replicas: Sequence[int], of: Mapping[int, str]) -> str | None:
    """Return the rack that has all of these replicas; None for fewer than two replicas, for replicas in several racks,
    and if the rack of one is unknown.
    """
    found = {of.get(each) for each in replicas}
    return next(iter(found)) if len(replicas) > 1 and len(found) == 1 else None


def move_needs(edit: edits.MoveReplicas) -> RiskNeeds:
    """Return the facts that `move` needs: the racks of brokers."""
    return RiskNeeds(topics=frozenset({edit.topic}))


def move(edit: edits.MoveReplicas, judged: Judged) -> Iterator[str]:
    """Yield a warning if a move puts all replicas of a partition into one rack."""
    of = racks(judged.before.cluster.brokers)
    partition = partition_in(judged.before.topics.get(edit.topic), edit.partition)
    rack = one_rack(edit.replicas, of)
    if rack is not None and not (partition is not None and one_rack(partition.replicas, of)):
        yield f"all replicas of {edit.topic}/{edit.partition} are in rack {rack} then: without it the partition is gone"


def single_needs(edit: edits.MoveReplicas) -> RiskNeeds:
    """Return the facts that `single` needs: the topic."""
    return RiskNeeds(topics=frozenset({edit.topic}))


def single(edit: edits.MoveReplicas, judged: Judged) -> Iterator[str]:
    """Yield a warning if a move leaves a partition with one replica that had more."""
    partition = partition_in(judged.before.topics.get(edit.topic), edit.partition)
    if len(edit.replicas) == 1 and partition is not None and len(partition.replicas) > 1:
        yield single_text([f"{edit.topic}/{edit.partition}"], edit.replicas)


def single_text(partitions: Sequence[str], brokers: Collection[int]) -> str:
    """Return the warning about partitions with one replica. partitions: their names, as ``orders/3``."""
    verb = "is" if len(partitions) == 1 else "are"
    where = f"broker {next(iter(brokers))}" if len(brokers) == 1 else "one broker each"
    return (
        f"{first_few(partitions, NAMED)} {verb} left with one replica, on {where}: clients can't use a partition while "
        "that broker is away, and without its disk the records are gone"
    )


def creation_needs(edit: edits.CreateTopic) -> RiskNeeds:
    """Return the facts that `creation` needs: the racks of brokers if the edit assigns replicas to brokers."""
    return RiskNeeds(brokers=bool(edit.topic.assignments))


def creation(edit: edits.CreateTopic, judged: Judged) -> Iterator[str]:
    """Yield a warning if a new topic has a partition whose replicas are all in one rack."""
    of = racks(judged.before.cluster.brokers)
    found = [number for number, replicas in enumerate(edit.topic.assignments) if one_rack(replicas, of)]
    if found:
        some = first_few([str(number) for number in found], NAMED)
        yield f"all replicas of {plural(len(found), 'partition')} ({some}) are in one rack: without it they are gone"


def moved_rack(
    was: Mapping[int, str], became: Mapping[int, str], partitions: Collection[tuple[str, int, Sequence[int]]]
) -> str:
    """Return a text on the partitions whose replicas are all in one rack since the racks of brokers changed; ``""`` if
    there is no such partition.

    Args:
        was, became: broker -> its rack, before and after, as `racks` returns it.
        partitions: topic, number and replicas of each partition.
    """
    found = [
        f"{topic}/{number}"
        for topic, number, replicas in partitions
        if one_rack(replicas, became) and not one_rack(replicas, was)
    ]
    if not found:
        return ""
    verb = "has its replicas" if len(found) == 1 else "have their replicas"
    return f"{plural(len(found), 'partition')} {verb} in one rack since: {first_few(found, NAMED)}"

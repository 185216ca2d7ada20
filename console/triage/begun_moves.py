"""The partition moves that clients began, however far brokers have got with them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from console.model.changes import MoveTarget
from console.model.cluster import Reassignment, Topic, settled
from console.model.differing import differing
from console.model.grouping import grouped
from console.model.numbers import commas
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.triage.events import Difference, Kind, Place


def begun_moves(old: Snapshot, new: Snapshot) -> Iterator[Difference]:
    """Yield a difference for each partition that was assigned other replicas between two snapshots. A move counts when
    it begins: its wanted replicas are compared, not the present ones.
    """
    is_same = old.topics is new.topics and old.reassignments is new.reassignments
    if is_same or not {Part.TOPICS, Part.REASSIGNMENTS} <= old.read_at.keys():
        return
    before, after = (moves_by_topic(each.reassignments) for each in (old, new))
    names = [
        name
        for name, was, now in differing(old.topics, new.topics)
        if was is not None and now is not None and _replicas(was) != _replicas(now)
    ]
    if old.reassignments is not new.reassignments:
        names += [*before, *after]
    for name in dict.fromkeys(names):
        known, there = old.topics.get(name), new.topics.get(name)
        if known is None or there is None or known.topic_id != there.topic_id:
            continue
        sides = settled(known, before.get(name, ())), settled(there, after.get(name, ()))
        for one, two in zip(*(each.partitions for each in sides), strict=False):
            if one.replicas != two.replicas:
                place = Place(Kind.REPLICAS, MoveTarget(name, two.number))
                yield Difference(place, commas(one.replicas), commas(two.replicas))


def _replicas(topic: Topic) -> list[tuple[int, ...]]:
    return [each.replicas for each in topic.partitions]


def moves_by_topic(reassignments: Sequence[Reassignment]) -> Mapping[str, Sequence[Reassignment]]:
    """Return topic -> its running moves."""
    return grouped((each.topic, each) for each in reassignments)

"""Counts over all topics, which are updated by the topics that changed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from console.model.cluster import Topic
from console.model.differing import differing
from console.model.parts import Part

if TYPE_CHECKING:
    from console.model.snapshot import Snapshot


def are_topics_hidden(snapshot: Snapshot) -> bool:
    """Return whether counts of 0 mean nothing, because no topic is known and topics could not be read."""
    return not snapshot.topics and any(each.part == Part.TOPICS for each in snapshot.failures)


def alike(topics: Collection[Topic]) -> list[tuple[Topic, int]]:
    """Return groups of topics with equal partitions, as pairs: one topic of the group, and the number of topics in
    it. 100,000 topics usually make a few hundred such groups.
    """
    ids = [id(topic.partitions) for topic in topics]
    counts = Counter(ids)
    return [(topic, counts[number]) for number, topic in dict(zip(ids, topics, strict=True)).items()]


class TopicCounts(NamedTuple):
    """Counts over all topics, and the topics that were counted."""

    made_of: Mapping[str, Topic] = MappingProxyType({})
    topics: int = 0
    """The number of topics, internal ones not counted."""
    under_replicated: int = 0
    """The number of partitions with fewer in-sync replicas than replicas."""
    offline: int = 0
    """The number of partitions without a leader."""

    def after(self, topics: Mapping[str, Topic]) -> TopicCounts:
        """Return the counts for other topics; only topics that differ from the counted ones are counted."""
        if topics is self.made_of:
            return self
        changed = differing(self.made_of, topics)
        gone = _counted([before for _, before, _ in changed if before is not None])
        come = _counted([after for _, _, after in changed if after is not None])
        return TopicCounts(topics, *(now - less + more for now, less, more in zip(self[1:], gone, come, strict=True)))


def _counted(topics: Collection[Topic]) -> tuple[int, int, int]:
    sets = alike(topics)
    return (
        len(topics) - sum(topic.internal for topic in topics),
        sum(topic.under_replicated * count for topic, count in sets),
        sum(topic.offline * count for topic, count in sets),
    )

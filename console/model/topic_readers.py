"""How far groups have read topics. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from console.model.differing import differing
from console.model.parts import Part
from console.model.time_lag import NOT_BEHIND, UNSEEN, Behind, longest

if TYPE_CHECKING:
    from console.model.cluster import Group
    from console.model.lag_trend import LagTrend
    from console.model.snapshot import Snapshot


class TopicReaders(NamedTuple):
    """How far groups have read a topic. committed: (group, partition) -> offset. groups: how many there are; asked:
    how many of them were asked for. problem: why some of these could not be read, ``""`` where all were. members:
    group -> how many of its members the topic is assigned to. listed: the names of all groups."""

    committed: Mapping[tuple[str, int], int]
    groups: int
    asked: int
    problem: str = ""
    members: Mapping[str, int] = MappingProxyType({})
    listed: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """The groups that read the topic: those with members before those that have committed alone."""
        committed = {group for group, _ in self.committed} - self.members.keys()
        return (*sorted(self.members), *sorted(committed))

    @property
    def whole(self) -> bool:
        """Whether all groups were read."""
        return self.asked == self.groups and not self.problem


class TopicLag(NamedTuple):
    """The groups that read a topic, as far as their offsets were read. behind: for how long the next record of the one
    that is furthest behind has waited."""

    groups: int = 0
    behind: Behind = UNSEEN


class TopicLags(NamedTuple):
    """What groups have still to read, by topic, and what that was made of. listed: the groups, None where they were not
    listed. by_group: group -> topic -> for how long its next record has waited; by_topic: the same by topic. complete:
    all groups that are listed were read, so that a topic that is missing has no reader."""

    trends: Mapping[str, LagTrend] = MappingProxyType({})
    listed: Mapping[str, Group] | None = None
    by_group: Mapping[str, Mapping[str, Behind]] = MappingProxyType({})
    by_topic: Mapping[str, Mapping[str, Behind]] = MappingProxyType({})
    topics: Mapping[str, TopicLag] = MappingProxyType({})
    complete: bool = False

    def after(self, snapshot: Snapshot) -> TopicLags:
        """Return the lags by topic after more groups were read; only what changed is computed again.

        Returns:
            Its `topics` is the same object where nothing changed, so that a view may compare identities.
        """
        trends, listed = snapshot.lag_trends, snapshot.groups if Part.GROUPS in snapshot.read_at else None
        if trends is self.trends and listed is self.listed:
            return self
        complete = listed is not None and trends.keys() >= listed.keys()
        changed = {group: _by_topic(trend) if trend else {} for group, _, trend in differing(self.trends, trends)}
        by_group, by_topic, topics = {**self.by_group, **changed}, dict(self.by_topic), dict(self.topics)
        touched: dict[str, dict[str, Behind]] = {}
        for group, mine in changed.items():
            was = self.by_group.get(group, {})
            for topic in {**was, **mine}:
                if was.get(topic) != mine.get(topic):
                    readers = touched.setdefault(topic, {**by_topic.get(topic, {})})
                    readers.pop(group, None)
                    readers |= {group: mine[topic]} if topic in mine else {}
            if not mine:
                del by_group[group]
        for topic, readers in touched.items():
            if readers:
                by_topic[topic], topics[topic] = readers, TopicLag(len(readers), longest([*readers.values()]))
            else:
                del by_topic[topic], topics[topic]
        same = all(topics.get(topic) == self.topics.get(topic) for topic in touched)
        return TopicLags(trends, listed, by_group, by_topic, self.topics if same else topics, complete)

    def readers(self, topic: str) -> list[tuple[str, Behind]]:
        """Return the groups that read a topic, with for how long their next record there has waited; those that are
        furthest behind first."""
        return sorted(self.by_topic.get(topic, {}).items(), key=lambda each: (-(each[1].seconds or 0), each[0]))

    def of(self, topic: str) -> TopicLag | None:
        """Return what groups have still to read of a topic; None where groups that may read it were not read."""
        return self.topics.get(topic) or (TopicLag(0, NOT_BEHIND) if self.complete else None)


def _by_topic(trend: LagTrend) -> Mapping[str, Behind]:
    """Return each topic of a group, with for how long its next record has waited there."""
    found: dict[str, list[Behind]] = {}
    for each in trend.last.lag.partitions:
        place = each.topic, each.partition
        found.setdefault(each.topic, []).append(trend.behind.get(place, NOT_BEHIND if each.lag == 0 else UNSEEN))
    return {topic: longest(each) for topic, each in found.items()}

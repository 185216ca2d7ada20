"""How far groups have read topics. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from console.model.differing import differing
from console.model.grouping import grouped
from console.model.parts import Part
from console.model.time_lag import NOT_BEHIND, UNSEEN, Behind, longest

if TYPE_CHECKING:
    from console.model.cluster import Group
    from console.model.lag_trend import LagTrend
    from console.model.snapshot import Snapshot


class TopicReaders(NamedTuple):
    """The groups that read a topic, and their offsets."""

    committed: Mapping[tuple[str, int], int]
    """(group, partition) -> the committed offset."""
    groups: int
    """The number of groups in the cluster."""
    asked: int
    """The number of groups whose offsets kac requested."""
    problem: str = ""
    """The reason why the offsets of some groups could not be read; ``""`` if all could."""
    members: Mapping[str, int] = MappingProxyType({})
    """Group -> the number of its members that have partitions of the topic."""
    listed: frozenset[str] = frozenset()
    """The names of all groups in the cluster."""

    @property
    def names(self) -> tuple[str, ...]:
        """The groups that read the topic: first those with members, then those that only have committed offsets."""
        committed = {group for group, _ in self.committed} - self.members.keys()
        return (*sorted(self.members), *sorted(committed))

    @property
    def whole(self) -> bool:
        """Whether the offsets of all groups were read."""
        return self.asked == self.groups and not self.problem


class TopicLag(NamedTuple):
    """The number of groups that read a topic, and the longest wait of a next record, over the groups whose offsets
    were read.
    """

    groups: int = 0
    behind: Behind = UNSEEN
    """For how long the next record of a group has waited, in the group with the longest wait."""


class TopicLags(NamedTuple):
    """The lags of groups by topic, and the values from which they were computed."""

    trends: Mapping[str, LagTrend] = MappingProxyType({})
    listed: Mapping[str, Group] | None = None
    """Name -> group, for all groups; None if the groups were not listed."""
    by_group: Mapping[str, Mapping[str, Behind]] = MappingProxyType({})
    """Group -> topic -> for how long the group's next record there has waited."""
    by_topic: Mapping[str, Mapping[str, Behind]] = MappingProxyType({})
    """Topic -> group -> for how long the group's next record there has waited."""
    topics: Mapping[str, TopicLag] = MappingProxyType({})
    complete: bool = False
    """Whether all groups were read, so that no group reads a topic that is missing from `topics`."""

    def after(self, snapshot: Snapshot) -> TopicLags:
        """Return the lags by topic for a newer snapshot; only the groups that changed are computed again.

        Returns:
            Lags whose `topics` is the same object as here if nothing changed, so that a view may compare identities.
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
        """Return the groups that read a topic, each with the time for which its next record there has waited, the
        longest first.
        """
        return sorted(self.by_topic.get(topic, {}).items(), key=lambda each: (-(each[1].seconds or 0), each[0]))

    def of(self, topic: str) -> TopicLag | None:
        """Return the lag of a topic's readers; a lag with 0 groups if no group reads the topic. None if a group that
        may read the topic was not read.
        """
        return self.topics.get(topic) or (TopicLag(0, NOT_BEHIND) if self.complete else None)


def _by_topic(trend: LagTrend) -> Mapping[str, Behind]:
    """Return topic -> for how long a group's next record there has waited."""
    found = grouped(
        (each.topic, trend.behind.get((each.topic, each.partition), NOT_BEHIND if each.lag == 0 else UNSEEN))
        for each in trend.last.lag.partitions
    )
    return {topic: longest(each) for topic, each in found.items()}

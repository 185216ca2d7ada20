"""How far groups have read topics. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from console.model.time_lag import NOT_BEHIND, UNSEEN, Behind, longest

if TYPE_CHECKING:
    from console.model.lag_trend import LagTrend
    from console.model.snapshot import Snapshot


class TopicReaders(NamedTuple):
    """How far groups have read a topic. committed: (group, partition) -> offset. groups: how many there are; asked:
    how many of them were asked for. problem: why some of these could not be read, ``""`` where all were."""

    committed: Mapping[tuple[str, int], int]
    groups: int
    asked: int
    problem: str = ""


class TopicLag(NamedTuple):
    """The groups that read a topic, as far as their offsets were read. behind: for how long the next record of the one
    that is furthest behind has waited."""

    groups: int = 0
    behind: Behind = UNSEEN


class TopicLags(NamedTuple):
    """What groups have still to read, by topic, and what that was made of. complete: all groups that are listed were
    read, so that a topic that is missing has no reader."""

    trends: Mapping[str, LagTrend] = MappingProxyType({})
    by_group: Mapping[str, Sequence[tuple[str, Behind]]] = MappingProxyType({})
    topics: Mapping[str, TopicLag] = MappingProxyType({})
    complete: bool = False

    def after(self, snapshot: Snapshot) -> TopicLags:
        """Return the lags by topic after more groups were read; only what changed is computed again.

        Returns:
            Its `topics` is the same object where nothing changed, so that a view may compare identities.
        """
        trends = snapshot.lag_trends
        complete = "groups" in snapshot.read_at and all(name in trends for name in snapshot.groups)
        if trends is self.trends and complete == self.complete:
            return self
        by_group = {
            name: self.by_group[name] if self.trends.get(name) is trend and name in self.by_group else _by_topic(trend)
            for name, trend in trends.items()
        }
        found: dict[str, list[Behind]] = {}
        for mine in by_group.values():
            for topic, behind in mine:
                found.setdefault(topic, []).append(behind)
        topics = {topic: TopicLag(len(each), longest(each)) for topic, each in found.items()}
        return TopicLags(trends, by_group, self.topics if topics == self.topics else topics, complete)

    def readers(self, topic: str) -> list[tuple[str, Behind]]:
        """Return the groups that read a topic, with for how long their next record there has waited; those that are
        furthest behind first."""
        found = [(name, behind) for name, mine in self.by_group.items() for about, behind in mine if about == topic]
        return sorted(found, key=lambda each: (-(each[1].seconds or 0), each[0]))

    def of(self, topic: str) -> TopicLag | None:
        """Return what groups have still to read of a topic; None where groups that may read it were not read."""
        return self.topics.get(topic) or (TopicLag(0, NOT_BEHIND) if self.complete else None)


def _by_topic(trend: LagTrend) -> Sequence[tuple[str, Behind]]:
    """Return each topic of a group, with for how long its next record has waited there."""
    found: dict[str, list[Behind]] = {}
    for each in trend.last.lag.partitions:
        place = each.topic, each.partition
        found.setdefault(each.topic, []).append(trend.behind.get(place, NOT_BEHIND if each.lag == 0 else UNSEEN))
    return tuple((topic, longest(each)) for topic, each in found.items())

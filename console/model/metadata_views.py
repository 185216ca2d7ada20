"""The comparison of the brokers' Metadata responses, which shows brokers with outdated partitions. Pure.

A partition's leader epoch only rises. A broker that responds with a lower one than was known before the request has not
applied the cluster's decisions yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct, field

from console.model.cluster import Topic, TopicListing

MOST_EPOCHS = 20_000
"""Maximum number of partitions whose highest leader epoch is kept: the most recently requested ones."""
MOST_LATE = 100
"""Maximum number of outdated partitions that are kept for a broker."""
NEVER = -1
"""In place of a leader epoch: the broker does not know the partition."""


class Late(NamedTuple):
    """A partition of which a broker has an outdated state."""

    topic: str
    partition: int
    known: int
    """The leader epoch that was known before the request."""
    shown: int
    """The leader epoch in the broker's response; `NEVER` if the broker does not know the partition."""
    since: float
    """The time of the first response of this broker with an outdated state, Unix seconds."""


class Views(Struct, frozen=True):
    """The comparison of the brokers' Metadata responses so far."""

    epochs: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """(topic id, partition) -> the highest leader epoch in any response."""
    late: Mapping[int, tuple[Late, ...]] = field(default_factory=dict)
    """Broker -> the outdated partitions in its last response."""
    at: Mapping[int, float] = field(default_factory=dict)
    """Broker -> the time of its last response, Unix seconds."""

    def behind(self, seconds: float) -> dict[int, tuple[Late, ...]]:
        """Return broker -> the partitions of which it has had an outdated state for at least these seconds."""
        lasting = {
            broker: tuple(each for each in mine if self.at[broker] - each.since >= seconds)
            for broker, mine in self.late.items()
        }
        return {broker: mine for broker, mine in lasting.items() if mine}


def views_after(before: Views, broker: int, known: Iterable[Topic], answer: TopicListing, at: float) -> Views:
    """Return the comparison after a broker's response to Metadata.

    Args:
        broker: the broker that responded.
        known: the requested topics in the state that was known before the request. Topics without an id (before Kafka
            2.8) are left out, because they can't be distinguished from later topics with the same name.
        answer: the broker's response.
        at: the time of the response, Unix seconds.
    """
    epochs = dict(before.epochs)
    was = {(each.topic, each.partition): each for each in before.late.get(broker, ())}
    late: list[Late] = []
    for topic in known:
        shown = _shown(topic, answer)
        if topic.topic_id is None or shown is None:
            continue
        for partition in topic.partitions:
            key = topic.topic_id, partition.number
            # Remove the key and set it again: the dict stays in order of use, and the oldest keys are dropped below.
            floor = max(epochs.pop(key, NEVER), partition.leader_epoch)
            epoch = shown.get(partition.number, NEVER)
            epochs[key] = max(floor, epoch)
            if epoch < floor and len(late) < MOST_LATE:
                since = was[topic.name, partition.number].since if (topic.name, partition.number) in was else at
                late.append(Late(topic.name, partition.number, floor, epoch, min(since, at)))
    for key in list(epochs)[: max(0, len(epochs) - MOST_EPOCHS)]:
        del epochs[key]
    return Views(epochs, {**before.late, broker: tuple(late)}, {**before.at, broker: at})


def _shown(topic: Topic, answer: TopicListing) -> dict[int, int] | None:
    """Return partition -> its leader epoch in the response; None if the response lacks the topic or has another topic
    of this name, since the topic may have been deleted meanwhile.
    """
    found = answer.topics.get(topic.name)
    if found is None or found.topic_id != topic.topic_id:
        return None
    return {each.number: each.leader_epoch for each in found.partitions}


def views_of(before: Views, brokers: Iterable[int]) -> Views:
    """Return the comparison without brokers that are not in `brokers`, such as brokers that are down."""
    kept = frozenset(brokers)
    if kept >= before.late.keys():
        return before
    late = {broker: mine for broker, mine in before.late.items() if broker in kept}
    return Views(before.epochs, late, {broker: at for broker, at in before.at.items() if broker in kept})

"""Finds compacted replicas that are far larger than the others of their partition, because the broker's log cleaner
does not work. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from console.model.cluster import LogDir, Topic
from console.model.config import ConfigResource, ConfigSet, entry_in, topic_resource
from console.model.numbers import long_number
from console.model.snapshot import Snapshot
from console.triage.remembered import remembered

UNCLEANED = 3.0
"""A replica is too large if it is more than this factor, and more than two segments, larger than every other replica of
its partition. A working cleaner leaves at most half of a log dirty (min.cleanable.dirty.ratio).
"""


class Uncleaned(NamedTuple):
    """A broker with compacted replicas that are far larger than the other replicas of their partitions. `topic` and
    `partition` name the largest.
    """

    broker: int
    replicas: int
    """The number of the broker's replicas that are too large."""
    topic: str
    partition: int
    size: int
    """The size of the largest of these replicas, in bytes."""
    other: int
    """The size of the largest other replica of that partition, in bytes."""


def uncleaned(snapshot: Snapshot) -> Sequence[Uncleaned]:
    """Return the broker whose compacted replicas are far larger than the other replicas of their partitions, as one
    entry. Empty if there is no such replica, or several brokers have some.
    """
    return _uncleaned(_compacted(snapshot.topics, snapshot.configs), snapshot.log_dirs)


@remembered
def _uncleaned(compacted: Mapping[str, int], dirs: Mapping[int, tuple[LogDir, ...]]) -> Sequence[Uncleaned]:
    # Read sizes by partition only for topics that take much space on a broker.
    large = {
        topic
        for topic, segment in compacted.items()
        if len(dirs) > 1 and max(sum(each.sizes.get(topic, 0) for each in mine) for mine in dirs.values()) > 2 * segment
    }
    sizes: dict[tuple[str, int], dict[int, int]] = {}
    for broker, mine in dirs.items():
        for log_dir in mine if large else ():
            for each in log_dir.replicas.of(large):
                if not each.is_future:
                    sizes.setdefault((each.topic, each.partition), {})[broker] = each.size
    found = [each for place, held in sizes.items() for each in _larger(*place, held, compacted[place[0]])]
    if len({each.broker for each in found}) != 1:
        return ()
    return (max(found, key=lambda each: each.size)._replace(replicas=len(found)),)


@remembered
def _compacted(topics: Mapping[str, Topic], configs: Mapping[ConfigResource, ConfigSet]) -> Mapping[str, int]:
    """Return topic -> its segment.bytes, for the topics that are compacted. 1 GiB if the value is unknown."""
    found: dict[str, int] = {}
    for topic in topics:
        policy = entry_in(configs, topic_resource(topic), "cleanup.policy")
        if policy is not None and "compact" in (policy.value or ""):
            segment = entry_in(configs, topic_resource(topic), "segment.bytes")
            found[topic] = (long_number(segment.value) if segment is not None else None) or 2**30
    return found


def _larger(topic: str, partition: int, held: Mapping[int, int], segment: int) -> Iterator[Uncleaned]:
    """Yield the largest replica of a partition, if it is far larger than all others; else nothing.

    Args:
        held: broker id -> the size of its replica, in bytes.
        segment: the topic's segment.bytes.
    """
    broker = max(held, key=held.__getitem__)
    other = max((size for each, size in held.items() if each != broker), default=-1)
    # Require two segments more: the active segment is never cleaned, so small logs may differ by that alone.
    if other >= 0 and held[broker] > UNCLEANED * other and held[broker] - other > 2 * segment:
        yield Uncleaned(broker, 1, topic, partition, held[broker], other)

"""Compacted replicas that no cleaner shrinks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from console.model.cluster import LogDir, Topic
from console.model.config import ConfigResource, ConfigSet, entry_in, topic_resource
from console.model.numbers import long_number
from console.model.snapshot import Snapshot
from console.triage.remembered import remembered

UNCLEANED = 3.0
"""Factor by which a compacted replica exceeds every other one of its partition, in addition to two segments, if no
cleaner runs: a working cleaner leaves at most half of a log dirty (min.cleanable.dirty.ratio)."""


class Uncleaned(NamedTuple):
    """Compacted replicas of a broker that are far larger than the others of their partitions."""

    broker: int
    replicas: int
    """The number of the replicas."""
    topic: str
    partition: int
    size: int
    """The bytes of the largest of them."""
    other: int
    """The bytes of the largest other replica of that partition."""


def uncleaned(snapshot: Snapshot) -> Sequence[Uncleaned]:
    """Return the largest of the compacted replicas that are far larger than the other replicas of their partition, with
    the number of such replicas, if one broker alone has them; else none.
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
    """Return topic -> its segment.bytes, for the compacted topics."""
    found: dict[str, int] = {}
    for topic in topics:
        policy = entry_in(configs, topic_resource(topic), "cleanup.policy")
        if policy is not None and "compact" in (policy.value or ""):
            segment = entry_in(configs, topic_resource(topic), "segment.bytes")
            found[topic] = (long_number(segment.value) if segment is not None else None) or 2**30
    return found


def _larger(topic: str, partition: int, held: Mapping[int, int], segment: int) -> Iterator[Uncleaned]:
    """Yield the replica of a partition that is far larger than all others. held: broker -> bytes of its replica."""
    broker = max(held, key=held.__getitem__)
    other = max((size for each, size in held.items() if each != broker), default=-1)
    # Require two segments more: the active segment is never cleaned, so small logs may differ by that alone.
    if other >= 0 and held[broker] > UNCLEANED * other and held[broker] - other > 2 * segment:
        yield Uncleaned(broker, 1, topic, partition, held[broker], other)

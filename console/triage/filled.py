"""The part of a file system's growth that one topic, or the moves to a broker, make up, and the limits of that topic.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.cluster import LogDir, Reassignment
from console.model.config import ConfigSet, text_in, topic_resource
from console.model.coordinators import OFFSETS
from console.model.snapshot import Snapshot
from console.plan.topic_risks import BY_SIZE, BY_TIME, FOREVER, kept

Dirs = Mapping[int, Sequence[LogDir]]
"""Broker -> its log directories."""
LASTS = timedelta(seconds=60)
"""Minimum age of the directories that the present ones are compared with; until then the first ones count."""
MOST_OF = 0.5
"""Minimum share of a growth, or of the logs, for its name in a row."""
CERTAIN_BYTES = 1_000_000
"""Minimum number of used bytes for a conclusion about what used them."""


class Looks(NamedTuple):
    """Two former readings of all log directories: `first` is 60 to 120 s old (`LASTS`) once there are two."""

    first: Dirs
    second: Dirs
    at: datetime
    """The time of the second one, UTC."""


def looks_after(known: Looks | None, dirs: Dirs, at: datetime) -> Looks | None:
    """Return the readings to compare with after a poll. dirs: of the poll; at: its time, UTC."""
    if not dirs:
        return known
    if known is None:
        return Looks(dirs, dirs, at)
    return Looks(known.second, dirs, at) if at - known.at >= LASTS else known


class Filled(NamedTuple):
    """The topic, or the moves, that make up most of a file system's growth or of the logs there."""

    topics: tuple[str, ...]
    """The topic; for moves, the topics whose replicas come, the largest first."""
    size: int
    whole: int
    """The growth of all, or all bytes."""
    grows: bool
    """Whether the share is of the growth; else of the bytes that are held."""
    moves: bool = False


def filled(before: Sequence[LogDir], now: Sequence[LogDir], moves: frozenset[Reassignment]) -> Filled | None:
    """Return the moves, or else the topic, that make up most of the growth of directories on one file system; if they
    do not grow, the topic with most of the bytes. None if no topic has most of them.

    Args:
        before, now: the directories at a former reading, and now; empty if they are unknown.
        moves: the reassignments that add a replica there.
    """
    held: dict[str, int] = {}
    grown: dict[str, int] = {}
    for was, each in zip(before, now, strict=True):
        for topic, size in each.sizes.items():
            held[topic] = held.get(topic, 0) + size
            more = size - was.sizes.get(topic, 0)
            grown[topic] = grown.get(topic, 0) + max(0, more)
    # Directories of one file system all report its free bytes.
    used = max((was.usable_bytes - each.usable_bytes for was, each in zip(before, now, strict=True)), default=0)
    whole = max(used, sum(grown.values()))
    if moves and whole >= CERTAIN_BYTES:
        come = _moved(before, now, moves)
        if sum(come.values()) >= MOST_OF * whole:
            return Filled(tuple(sorted(come, key=lambda name: -come[name])), sum(come.values()), whole, True, True)
    is_growth = whole >= CERTAIN_BYTES
    sizes, total = (grown, whole) if is_growth else (held, sum(held.values()))
    if not sizes or total < CERTAIN_BYTES:
        return None
    most = max(sizes, key=lambda name: sizes[name])
    return Filled((most,), sizes[most], total, is_growth) if sizes[most] >= MOST_OF * total else None


def _moved(before: Sequence[LogDir], now: Sequence[LogDir], moves: frozenset[Reassignment]) -> dict[str, int]:
    """Return topic -> the growth of the replicas that moves add."""
    places = {(each.topic, each.partition) for each in moves}
    topics = {each.topic for each in moves}
    found: dict[str, int] = {}
    for was, each in zip(before, now, strict=True):
        sizes = {(one.topic, one.partition): one.size for one in was.replicas.of(topics)}
        for one in each.replicas.of(topics):
            place = one.topic, one.partition
            if place in places:
                found[one.topic] = found.get(one.topic, 0) + max(0, one.size - sizes.get(place, 0))
    return found


def limits_of(snapshot: Snapshot, topic: str) -> str:
    """Return why a topic's logs grow without end, or the limits up to which they may grow, as text; ``""`` if its
    configs were not read.
    """
    configs = snapshot.configs.get(topic_resource(topic))
    return "; ".join(_limits(topic, configs)) if configs is not None else ""


def _limits(topic: str, configs: ConfigSet) -> Iterator[str]:
    limit = kept(configs)
    policy = text_in(configs, "cleanup.policy") or ""
    if topic == OFFSETS:
        yield "it has the commits of all groups, and is compacted"
    elif not policy.strip():
        yield "its cleanup.policy is empty: nothing is deleted or compacted"
    elif not limit.deletes:
        ratio = text_in(configs, "min.cleanable.dirty.ratio") or ""
        never = ", and with min.cleanable.dirty.ratio=1 hardly ever" if _is_one(ratio) else ""
        yield f"its cleanup.policy is compact: it keeps the last record of each key for ever{never}"
    elif limit.ms >= FOREVER and limit.size >= FOREVER:
        yield f"no limit: its {BY_TIME} and {BY_SIZE} are -1"
    else:
        sizes = "-1" if limit.size >= FOREVER else f"{limit.size:,} for each partition"
        yield f"its {BY_TIME} is {'-1' if limit.ms >= FOREVER else f'{limit.ms:,}'}, its {BY_SIZE} {sizes}"
    if text_in(configs, "remote.storage.enable") == "true" and text_in(configs, "remote.log.copy.disable") == "true":
        yield "its copies to remote storage are off (remote.log.copy.disable), so that brokers keep all of it"


def _is_one(ratio: str) -> bool:
    try:
        return float(ratio) >= 1
    except ValueError:
        return False

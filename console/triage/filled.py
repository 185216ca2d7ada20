"""What fills a file system: the share of its growth that one topic, or the moves to a broker, make up; and the limits
of that topic. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.cluster import LogDir, Reassignment
from console.model.config import ConfigSet, text_in, topic_resource
from console.model.coordinators import OFFSETS
from console.model.snapshot import Snapshot
from console.plan.topic_risks import BY_SIZE, BY_TIME, FOREVER, POLICY, kept

Dirs = Mapping[int, Sequence[LogDir]]
"""Broker -> its log directories."""
LASTS = timedelta(seconds=60)
"""Minimum time between two readings of the log directories that are kept for the comparison."""
MOST_OF = 0.5
"""Minimum share of a growth, or of all logs, 0 to 1, for which a topic or moves are named."""
CERTAIN_BYTES = 1_000_000
"""Minimum number of bytes used up between two readings from which the reason can be concluded."""


class Looks(NamedTuple):
    """Two former readings of all log directories. The first is 60 to 120 s old once there were two readings."""

    first: Dirs
    second: Dirs
    at: datetime
    """The time of the second reading, UTC."""
    moves: tuple[Sequence[Reassignment], Sequence[Reassignment]] = ((), ())
    """The reassignments that ran at the two readings."""


def looks_after(known: Looks | None, snapshot: Snapshot, at: datetime) -> Looks | None:
    """Return the readings with which the next poll is compared; None before the first reading. at: the time of this
    poll, UTC.
    """
    dirs, moves = snapshot.log_dirs, snapshot.reassignments
    if not dirs:
        return known
    if known is None:
        return Looks(dirs, dirs, at, (moves, moves))
    return Looks(known.second, dirs, at, (known.moves[1], moves)) if at - known.at >= LASTS else known


class Filled(NamedTuple):
    """The topic, or the moves, that make up most of a file system's growth or of all its logs."""

    topics: tuple[str, ...]
    """The topic; for moves, the topics whose added replicas grow, the largest first."""
    size: int
    whole: int
    """The whole growth in bytes; if `grows` is false, the bytes of all logs."""
    grows: bool
    """Whether `size` and `whole` are growths; otherwise they are the bytes that are stored."""
    places: frozenset[tuple[str, int]] = frozenset()
    """(topic, partition) of the growing replicas that running moves add; empty if the moves do not make up most of the
    growth.
    """
    copies: bool = False
    """Whether the topic's growth is in replicas that were not there at the former reading: copies from elsewhere, or a
    new topic.
    """

    @property
    def comes(self) -> bool:
        """Whether most of the growth is in replicas that are added or new."""
        return bool(self.places) or self.copies


def filled(
    before: Sequence[LogDir],
    now: Sequence[LogDir],
    moves: frozenset[Reassignment],
    ended: frozenset[Reassignment],
    fills: bool | None,
) -> Filled | None:
    """Return the moves, or else the topic, that make up most of the growth of directories on one file system; if the
    file system does not fill up, the topic with most of the stored bytes. None if neither moves nor a topic make up
    most.

    Args:
        before, now: the directories at a former reading, and now; empty if they are unknown.
        moves: the running reassignments that add a replica there.
        ended: the reassignments that ran at the former reading, or since.
        fills: whether the file system will be full soon at its present rate; None while the rate is unknown. A little
            growth of a large disk that fills slowly is not the reason why it is nearly full.
    """
    # Directories of one file system all report its free bytes.
    used = max((was.usable_bytes - each.usable_bytes for was, each in zip(before, now, strict=True)), default=0)
    if used >= CERTAIN_BYTES and fills is not False:
        return _most_grown(before, now, moves, ended, used) if fills else None
    held: dict[str, int] = {}
    for each in now:
        for topic, size in each.sizes.items():
            held[topic] = held.get(topic, 0) + size
    total = sum(held.values())
    most = max(held, key=lambda name: held[name], default="")
    return Filled((most,), held[most], total, False) if most and held[most] >= max(MOST_OF * total, 1) else None


def _most_grown(
    before: Sequence[LogDir],
    now: Sequence[LogDir],
    moves: frozenset[Reassignment],
    ended: frozenset[Reassignment],
    used: int,
) -> Filled | None:
    """Return the moves, or else the topic, that make up most of the growth of directories; None if none does.

    Args:
        used: the number of free bytes that were used up.
    """
    grown: dict[str, int] = {}
    for was, each in zip(before, now, strict=True):
        for topic, size in each.sizes.items():
            grown[topic] = grown.get(topic, 0) + max(0, size - was.sizes.get(topic, 0))
    whole = max(used, sum(grown.values()))
    if moves:
        come = _grown_places(before, now, {each.topic for each in moves})
        mine = {place: come[place] for each in moves if (place := (each.topic, each.partition)) in come}
        if sum(mine.values()) >= MOST_OF * whole:
            sizes = {topic: sum(size for (name, _), size in mine.items() if name == topic) for topic, _ in mine}
            topics = tuple(sorted(sizes, key=lambda name: -sizes[name]))
            return Filled(topics, sum(mine.values()), whole, True, frozenset(mine))
    most = max(grown, key=lambda name: grown[name], default="")
    if not most or grown[most] < MOST_OF * whole:
        return None
    copied = _grown_places(before, now, {most}, {(each.topic, each.partition) for each in moves | ended})
    return Filled((most,), grown[most], whole, True, copies=sum(copied.values()) >= MOST_OF * grown[most])


def _grown_places(
    before: Sequence[LogDir],
    now: Sequence[LogDir],
    topics: Collection[str],
    moved: Collection[tuple[str, int]] | None = None,
) -> dict[tuple[str, int], int]:
    """Return (topic, partition) -> the growth in bytes of its replicas in these directories.

    Args:
        topics: the topics that count.
        moved: None to count all replicas. Otherwise only replicas that were not there before, and those of these
            partitions, which are copies from another directory.
    """
    found: dict[tuple[str, int], int] = {}
    for was, each in zip(before, now, strict=True):
        sizes = {(one.topic, one.partition): one.size for one in was.replicas.of(topics)}
        for one in each.replicas.of(topics):
            place = one.topic, one.partition
            more = one.size - sizes.get(place, 0)
            if more > 0 and (moved is None or one.is_future or place in moved or place not in sizes):
                found[place] = found.get(place, 0) + more
    return found


def limits_of(snapshot: Snapshot, topic: str) -> str:
    """Return, as text, the limits up to which a topic's logs may grow, or why they grow without end; ``""`` if its
    configs were not read.
    """
    configs = snapshot.configs.get(topic_resource(topic))
    return "; ".join(_limits(topic, configs)) if configs is not None else ""


def _limits(topic: str, configs: ConfigSet) -> Iterator[str]:
    limit = kept(configs)
    entry = configs.get(POLICY)
    policy = entry.value if entry is not None else None
    if policy is not None and not policy.strip():
        yield "its cleanup.policy is empty: nothing is deleted or compacted"
    elif topic == OFFSETS and not limit.deletes:
        yield "it has the commits of all groups, and is compacted"
    elif policy is None:
        return
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

"""The cluster over the last half hour in a few numbers, one sample each ten seconds: what is drawn over time. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from heapq import nlargest
from typing import Literal, NamedTuple

from console.model.rates import NOT_LOOKED, RateTotals
from console.model.snapshot import Snapshot

EVERY = 10
"""Seconds for which one sample stands."""
SLOTS = 180
"""Samples that are kept, half an hour of them."""
MOST_GROUPS = 8
"""Groups of a sample, those that are furthest behind."""

What = Literal["under-replicated", "offline", "written", "read", "behind", "disk"]


class Measure(NamedTuple):
    """What is measured. about: the broker's id, the group, or the broker and its directory; ``""`` for the cluster."""

    what: What
    about: str = ""


class Sample(NamedTuple):
    """The cluster at one time. slot: Unix seconds divided by `EVERY`. values: partitions; bytes a second that are
    written to the partitions that a broker leads, and that groups read of them; seconds behind; the share of a disk
    that is used. What is not known is missing. least: measures whose value may be larger, as of a lag that is older
    than the watching."""

    slot: int
    values: Mapping[Measure, float]
    least: frozenset[Measure] = frozenset()


def first_kept(slots: Sequence[int], slot: int, most: int) -> int | None:
    """Return the place of the first sample that stays when one is added: the number of samples where none does, since
    the clock went back; None where the time for the next one has not come.

    Args:
        slots: of the samples that are known, ascending.
        slot: of the one that is added.
        most: slots that the half hour has.
    """
    if slots and slot <= slots[-1]:
        return None if slot == slots[-1] else len(slots)
    return bisect_right(slots, slot - most)


def with_sample(known: tuple[Sample, ...], snapshot: Snapshot, at: datetime) -> tuple[Sample, ...]:
    """Return the samples after a look at the cluster: the same object while the time for the next one has not come.

    Args:
        known: the earliest first.
        at: when it was looked, an aware time. Where the clock went back, the samples begin again.
    """
    slot = int(at.timestamp() // EVERY)
    first = first_kept([each.slot for each in known], slot, SLOTS)
    if first is None:
        return known
    kept = known[first:]
    values = dict(_values(snapshot))
    bounded = (Measure("behind", name) for name, trend in snapshot.lag_trends.items() if trend.longest_behind.least)
    return (*kept, Sample(slot, values, frozenset(bounded) & values.keys()))


def _values(snapshot: Snapshot) -> Iterator[tuple[Measure, float]]:
    if "topics" in snapshot.read_at:
        topics = snapshot.topics.values()
        yield Measure("under-replicated"), sum(each.under_replicated for each in topics)
        yield Measure("offline"), sum(each.offline for each in topics)
    if snapshot.rates is not NOT_LOOKED:
        for broker, rate in RateTotals().after(snapshot.rates, snapshot.topics).leaders().items():
            if rate.bytes is not None:
                yield Measure("written", str(broker)), rate.bytes
        for broker, read in _read_by_groups(snapshot).items():
            yield Measure("read", str(broker)), read
    behind = ((trend.longest_behind.seconds, name) for name, trend in snapshot.lag_trends.items())
    known = ((seconds, name) for seconds, name in behind if seconds is not None)
    for seconds, name in nlargest(MOST_GROUPS, known):
        yield Measure("behind", name), seconds
    for broker, dirs in snapshot.log_dirs.items():
        for each in dirs:
            if each.total_bytes > 0 and each.usable_bytes >= 0:
                yield Measure("disk", f"{broker} {each.path}"), 1 - each.usable_bytes / each.total_bytes


def _read_by_groups(snapshot: Snapshot) -> Mapping[int, float]:
    """Return about how many bytes a second groups read of the partitions that each broker leads.

    No broker says it. Of a partition it is what is written, times the records that were committed for each that was
    written meanwhile. Readers without commits, and what is read where nothing is written, are not seen.
    """
    found: dict[int, float] = {}
    leaders: dict[str, dict[int, int]] = {}
    for trend in snapshot.lag_trends.values():
        if trend.last is trend.base:
            continue
        before = {(each.topic, each.partition): each for each in trend.base.lag.partitions}
        for now in trend.last.lag.partitions:
            then, size = before.get((now.topic, now.partition)), snapshot.rates.sizes.get((now.topic, now.partition))
            rate = size.rate if size is not None else None
            if then is None or rate is None or min(then.committed, then.end) < 0 or now.topic not in snapshot.topics:
                continue
            read, written = now.committed - then.committed, now.end - then.end
            if read < 0 or written < 0 or (read and not written):
                continue
            if now.topic not in leaders:
                leaders[now.topic] = {each.number: each.leader for each in snapshot.topics[now.topic].partitions}
            if (leader := leaders[now.topic].get(now.partition, -1)) >= 0:
                found[leader] = found.get(leader, 0.0) + (rate * read / written if read else 0.0)
    return found

"""Samples of how many records were written to a group's partitions and how many the group committed. They show the
rates before a lag grew. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from console.model.cluster import PartitionLag

APART, OLDER_APART = 10.0, 30.0
"""Minimum seconds between two samples, and between two that are older than `RECENT`."""
RECENT, KEPT = 60.0, 300.0
"""Age in seconds up to which all samples are kept, and the maximum age of a sample."""


class Sample(NamedTuple):
    """Sums of offsets over a group's partitions at one time, Unix seconds."""

    at: float
    written: int
    """The sum of the end offsets."""
    read: int
    """The sum of the committed offsets."""
    partitions: int
    """The number of partitions."""


class Rates(NamedTuple):
    """Written and committed records per second, averaged over a time."""

    written: float
    read: float


def sampled(known: Sequence[Sample], read: Iterable[PartitionLag], before: float, at: float) -> Sequence[Sample]:
    """Return the samples after one more poll.

    Args:
        known: the samples so far; empty before the first poll.
        read: the partitions that kac saw a client read. In other partitions, records would count as written and never
            read.
        before, at: the times of the previous poll and of this one, Unix seconds.

    Returns:
        The same object if the sums did not change, or the last sample is less than `APART` seconds old; only the new
        sample if an offset was set back, or the number of partitions changed.
    """
    if known and 0 <= at - known[-1].at < APART:
        return known
    rows = [each for each in read if each.committed >= 0 and each.end >= 0]
    now = Sample(at, sum(each.end for each in rows), sum(each.committed for each in rows), len(rows))
    if not known:
        return (now,)
    last = known[-1]
    if now.partitions != last.partitions or now.read < last.read or now.written < last.written:
        return (now,)
    if now[1:] == last[1:]:
        return known
    # If the previous poll was late enough for a sample and made none, its sums were those of the last sample. Add it,
    # to show how long the sums did not change.
    rested = (last._replace(at=before),) if before - last.at >= APART else ()
    return _thinned((*known, *rested, now), at)


def _thinned(samples: Sequence[Sample], at: float) -> Sequence[Sample]:
    kept: list[Sample] = []
    spaced: Sample | None = None
    for each in samples:
        age = at - each.at
        if age >= KEPT:
            continue
        is_spaced = age <= RECENT or spaced is None or each.at - spaced.at >= OLDER_APART
        # The second one shows the rates of the beginning: a lag may grow soon after it.
        if is_spaced or len(kept) == 1:
            kept.append(each)
        spaced = each if is_spaced else spaced
    return tuple(kept)


def rates_between(samples: Sequence[Sample], first: float, last: float, least: float) -> Rates | None:
    """Return the rates between two times, Unix seconds, from the first and the last sample within them; None if these
    samples are less than `least` seconds apart.
    """
    within = [each for each in samples if first <= each.at <= last]
    if len(within) < 2 or within[-1].at - within[0].at < least:
        return None
    seconds = within[-1].at - within[0].at
    return Rates(
        (within[-1].written - within[0].written) / seconds,
        (within[-1].read - within[0].read) / seconds,
    )

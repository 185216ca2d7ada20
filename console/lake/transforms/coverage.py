"""The time for which the state of a cluster is known, from polls or from its metadata log. Pure; times are microseconds
since 1970.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

LOG = ("kraft_log", "kraft_snapshot")
"""The sources of changes from the metadata log."""


class Covered(NamedTuple):
    """The time that a cluster's metadata log covers: from its `first` to its `last` change, without the `holes`. Times
    are microseconds since 1970.
    """

    first: int
    last: int
    holes: tuple[tuple[int, int], ...] = ()
    """The first and the last time of each missing part of the log, in order."""
    whole: int | None = None
    """The time of the snapshot with which the log begins: an entity that the snapshot lacks did not exist. None if the
    log begins with a segment.
    """

    def merged(self, more: Covered) -> Covered:
        """Return the time that the log covers with further changes."""
        holes: dict[int, int] = {}
        for begins, ends in (*self.holes, *more.holes):
            holes[ends] = min(begins, holes.get(ends, begins))
        known = [each for each in (self.whole, more.whole) if each is not None]
        ordered = tuple(sorted((begins, ends) for ends, begins in holes.items()))
        return Covered(min(self.first, more.first), max(self.last, more.last), ordered, min(known, default=None))

    @property
    def reaches(self) -> int:
        """The time up to which the log is complete: the beginning of its first hole, or `last`, in microseconds since
        1970.
        """
        return min([self.last, *(begins for begins, _ in self.holes)])


class Polls:
    """The polls of a cluster: their times in order, by entity type; and the brokers seen in any of them."""

    def __init__(self, times: Mapping[str, Sequence[int]], brokers: Iterable[str]) -> None:
        self.times = times
        self.brokers = frozenset(brokers)

    @staticmethod
    def of(read: Iterable[tuple[str, Iterable[int]]], brokers: Iterable[str]) -> Polls:
        """Return the polls. read: pairs of entity types, separated by commas, and the times of their polls, in any
        order.
        """
        times: dict[str, array[int]] = {}
        for types, when in read:
            of_types = array("q", sorted(set(when)))
            for each in types.split(","):
                known = times.get(each)
                times[each] = of_types if known is None else array("q", sorted({*known, *of_types}))
        return Polls(times, brokers)

    def sure(self, entity_type: str, covered: Covered | None) -> int | None:
        """Return the time, in microseconds since 1970, of the last poll of an entity type up to which the log is
        complete (`Covered.reaches`). None if there is no such poll or no log.
        """
        if covered is None:
            return None
        times = self.times.get(entity_type, ())
        reached = bisect_right(times, covered.reaches)
        return times[reached - 1] if reached else None

    def shown(self, entity_type: str, after: int, covered: Covered | None) -> int | None:
        """Return the time, in microseconds since 1970, of the first poll of an entity type at or after `after`. None if
        there is no such poll, or if the log covers its time.
        """
        times = self.times.get(entity_type, ())
        place = bisect_left(times, after)
        if place == len(times):
            return None
        found = times[place]
        if covered is not None and covered.first <= found <= covered.last:
            return found if any(begins < found < ends for begins, ends in covered.holes) else None
        return found


TIMES_THE_USUAL = 3
"""A cluster counts as unobserved if the next poll comes later than this multiple of the usual interval between polls.
"""


def coverage_gaps(
    times: Mapping[str, Sequence[int]], covered: Covered | None, until: int
) -> Iterator[tuple[int, int | None]]:
    """Yield (begin, end) of each time range without polls that is longer than `TIMES_THE_USUAL` (3) usual intervals,
    without the time that the metadata log covers; end is None for a gap that has not ended.

    Args:
        times: entity type -> the times of its polls, in order. The usual interval is the median for the type with the
            least frequent polls.
        until: the time up to which polls are expected.
        covered: the time that the metadata log covers; None without a log.
    """
    lists = {id(each): each for each in times.values()}.values()  # most types are polled together
    usual = [median(b // 1000 - a // 1000 for a, b in pairwise(each)) for each in lists if len(each) > 1]
    if not usual:
        return
    polls = sorted({each for of_type in lists for each in of_type})
    for begins, then in zip(polls, [*polls[1:], None], strict=True):
        ends = until if then is None else then
        for first, last in _less(begins, ends, covered):
            if last // 1000 - first // 1000 > max(usual) * TIMES_THE_USUAL:
                yield first, last if then is not None or last < ends else None


def _less(begins: int, ends: int, covered: Covered | None) -> Sequence[tuple[int, int]]:
    """Return the time from one poll to the next, without the time that the log covers: at most two ranges."""
    if covered is None or covered.first >= ends or covered.last <= begins:
        return ((begins, ends),)
    return (begins, max(covered.first, begins)), (min(covered.last, ends), ends)

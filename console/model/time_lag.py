"""A group's lag as a time: the seconds for which the next record that it reads has waited. Pure.

The end offset at each poll shows when records were written: the record at an offset existed once the end had passed
it. For records from before the first poll the polls only show a minimum wait; the record itself has the time
(`Written`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from console.model.cluster import PartitionLag

HELD = 1800.0
"""Seconds for which ends are kept; the flight record in memory keeps its frames as long."""
CLOSE, CLOSE_SHARE = 2.0, 0.1
"""Seconds, and the share of their age, below which the distance of two polls is so small that they are thinned out: an
interpolated time is then wrong by no more than that."""
MOST = 96
"""Number of polls of a partition above which they are thinned out."""
AHEAD = 2.0
"""Seconds by which a record's timestamp may be ahead of this host's clock and count as now."""
LEAST = 1.0
"""Minimum seconds of a wait that is shown as a lower bound."""
NO_TIMESTAMP, IN_FUTURE = "the record has no timestamp", "the record's timestamp is in the future"


class EndsSeen(NamedTuple):
    """The end offsets of a log at its polls, in order."""

    ats: tuple[float, ...]
    """The times of the polls, Unix seconds."""
    ends: tuple[int, ...]
    """The end offsets, never falling."""


class Spot(NamedTuple):
    """An offset in a partition, whose record's time is of interest."""

    topic: str
    partition: int
    offset: int


class Written(NamedTuple):
    """The write time in the record at a committed offset."""

    offset: int
    timestamp: int = -1
    """The write time in milliseconds since 1970; -1 if the record has none."""
    why: str = ""
    """The reason why it could not be read; ``""`` if it was read."""
    refused: bool = False
    """Whether brokers refuse the read at any offset."""
    until: int = -1
    """The first offset that may have a record; lower ones are markers of transactions, or were compacted away."""

    def says_of(self, committed: int) -> bool:
        """Return whether the time, or the refusal, applies to the record at a committed offset."""
        return self.refused or self.offset == committed


class Behind(NamedTuple):
    """The time for which the next record has waited."""

    seconds: float | None = None
    """The seconds; 0 if no record waits, None if unknown."""
    least: bool = False
    """Whether the time may be longer."""
    why: str = ""
    """The reason why the record's own time is unavailable; ``""`` if it is not needed, or if the reason is unknown."""


UNSEEN, NOT_BEHIND = Behind(), Behind(0.0)


def see_end(known: EndsSeen | None, end: int, at: float) -> EndsSeen:
    """Return the end offsets of a log after one more poll.

    Args:
        known: the polls before, None before the first poll.
        end: the offset after the last record. If it fell, the log was truncated or is another one: the result omits the
            polls before.
        at: Unix seconds; the result also omits the polls before if the clock went back.
    """
    if known is None or end < known.ends[-1] or at < known.ats[-1]:
        return EndsSeen((at,), (end,))
    ats, ends = known
    # Only the first and the last poll of an idle log are informative: drop those in between.
    if len(ends) > 1 and end == ends[-1] == ends[-2]:
        return EndsSeen((*ats[:-1], at), ends)
    first = max(0, bisect_right(ats, at - HELD) - 1)
    seen = EndsSeen((*ats[first:], at), (*ends[first:], end))
    return seen if len(seen.ats) <= MOST else _thinned(seen)


def _thinned(seen: EndsSeen) -> EndsSeen:
    # The older the polls, the larger the gap between them may be: the error remains a constant share of the result.
    now, kept = seen.ats[-1], [0]
    for at in range(1, len(seen.ats) - 1):
        after = seen.ats[at + 1]
        if after - seen.ats[kept[-1]] > max(CLOSE, CLOSE_SHARE * (now - after)):
            kept.append(at)
    kept.append(len(seen.ats) - 1)
    return EndsSeen(tuple(seen.ats[i] for i in kept), tuple(seen.ends[i] for i in kept))


def waits_since(seen: EndsSeen, offset: int) -> float | None:
    """Return the time at which the record at an offset was written, Unix seconds, interpolated between two polls.

    Returns:
        None if the record existed at the first poll; the time of the last poll if it did not exist then.
    """
    after = bisect_right(seen.ends, offset)
    if after == 0:
        return None
    if after == len(seen.ends):
        return seen.ats[-1]  # the record did not exist at the last poll
    before = after - 1
    share = (offset + 1 - seen.ends[before]) / (seen.ends[after] - seen.ends[before])
    return seen.ats[before] + share * (seen.ats[after] - seen.ats[before])


def time_lag(partition: PartitionLag, seen: EndsSeen | None, written: Written | None, now: float) -> Behind:
    """Return the time for which the next record of a partition has waited.

    Args:
        seen: the end offsets at polls, None before the first one.
        written: the write time in the record at the committed offset, ignored if it is for another offset;
            None if it was not read.
        now: the time of the poll, Unix seconds.
    """
    if partition.lag == 0:
        return NOT_BEHIND
    if partition.lag < 0 or partition.committed < 0:
        return UNSEEN
    known = written is not None and written.says_of(partition.committed)
    first = max(partition.committed, written.until) if written is not None and known else partition.committed
    if first >= partition.end >= 0:
        return NOT_BEHIND  # the remaining offsets have no records
    since = waits_since(seen, first) if seen is not None else None
    if since is not None:
        return Behind(max(0.0, now - since))
    waited = max(0.0, now - seen.ats[0]) if seen is not None else 0.0
    why = _no_time(written, now) if written is not None and known else ""
    if written is not None and known and not why:
        return Behind(max(0.0, waited, now - written.timestamp / 1000))
    return Behind(waited, least=True, why=why) if waited >= LEAST else Behind(why=why)


def _no_time(written: Written, now: float) -> str:
    if written.why:
        return written.why
    if written.timestamp < 0:
        return NO_TIMESTAMP
    return IN_FUTURE if written.timestamp / 1000 > now + AHEAD else ""


def longest(found: Iterable[Behind]) -> Behind:
    """Return the longest of the times of several partitions; it is a minimum if one of them is unknown or a minimum.
    Without partitions it is unknown."""
    known, part, why, seen = 0.0, False, "", False
    for each in found:
        part |= each.least or each.seconds is None
        why = why or each.why
        if each.seconds is not None:
            seen = True
            known = max(known, each.seconds)
    if not seen or (part and known == 0):
        return Behind(None, why=why) if why else UNSEEN
    return Behind(known, part, why) if known or why else NOT_BEHIND

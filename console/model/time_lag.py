"""A group's lag as a time: the seconds for which the next record that the group reads has waited. Pure.

The end offsets at the polls show when records were written: a record exists once the end offset is greater than its
offset. For records from before the first poll, the polls show only a minimum wait; the timestamp of the record itself
then gives the time (`Written`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from console.model.cluster import PartitionLag

HELD = 1800.0
"""Seconds for which end offsets are kept, which is as long as the flight record in memory keeps its frames."""
CLOSE, CLOSE_SHARE = 2.0, 0.1
"""Seconds, and the share of their age, below which the distance of two polls is so small that they are thinned out: an
interpolated time is then wrong by no more than that."""
MOST = 96
"""Maximum number of polls that are kept for a partition; if there are more, old ones are left out."""
AHEAD = 2.0
"""Maximum seconds by which a record's timestamp may be ahead of this host's clock and still count as now."""
LEAST = 1.0
"""Minimum seconds of a wait that kac shows as a lower bound."""
NO_TIMESTAMP, IN_FUTURE = "the record has no timestamp", "the record's timestamp is in the future"


class EndsSeen(NamedTuple):
    """The end offsets of a log at its polls, the earliest first."""

    ats: tuple[float, ...]
    """The times of the polls, Unix seconds."""
    ends: tuple[int, ...]
    """The end offsets at the times in `ats`; each is at least the one before."""


class Spot(NamedTuple):
    """A committed offset in a partition; kac reads the timestamp of the record there."""

    topic: str
    partition: int
    offset: int


class Written(NamedTuple):
    """The timestamp of the record at a committed offset."""

    offset: int
    timestamp: int = -1
    """The timestamp in milliseconds since 1970; -1 if the record has none, or was not read."""
    why: str = ""
    """The reason why the timestamp could not be read; ``""`` if it was read."""
    refused: bool = False
    """Whether brokers refuse to return the records of this partition, so that reading at other offsets is useless."""
    until: int = -1
    """The first offset that may have a record; lower offsets are transaction markers, or were compacted away. -1 if it
    was not determined.
    """

    def says_of(self, committed: int) -> bool:
        """Return whether the timestamp, or the refusal, applies to the record at this committed offset."""
        return self.refused or self.offset == committed


class Behind(NamedTuple):
    """For how long the next record that a group reads has waited."""

    seconds: float | None = None
    """The seconds; 0 if no record waits, None if unknown."""
    least: bool = False
    """Whether `seconds` is only a lower bound."""
    why: str = ""
    """The reason why the record's timestamp is unavailable; ``""`` if the timestamp is not needed, or the reason is
    unknown.
    """


UNSEEN, NOT_BEHIND = Behind(), Behind(0.0)


def see_end(known: EndsSeen | None, end: int, at: float) -> EndsSeen:
    """Return the end offsets of a log after one more poll.

    Args:
        known: the earlier polls; None before the first poll.
        end: the end offset. If it is lower than before, the log was truncated or is another one, and the earlier polls
            are dropped.
        at: the time of the poll, Unix seconds. If it is before the last poll, the clock was set back, and the earlier
            polls are dropped.
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
    """Return the time in Unix seconds at which the record at an offset was written, interpolated between two polls.

    Returns:
        None if the record existed already at the first poll; the time of the last poll if the record did not exist
        then.
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
    """Return for how long the next record of a partition has waited.

    Args:
        seen: the end offsets at polls; None before the first one.
        written: the timestamp of the record at the committed offset, ignored if it is for another offset; None if it
            was not read.
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
    """Return the longest of several partitions' waits. The result is a lower bound if one of the waits is unknown or
    a lower bound; it is unknown if there are no partitions.
    """
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

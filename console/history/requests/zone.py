"""From a log line's time, which has no zone, to UTC; the hour that a clock shows twice, too.

Where clocks go back, the order of the lines tells the first pass from the second: times jump back once. A file that
begins inside that hour and goes on beyond it has the second pass alone. Where neither tells (a file that lies inside
the hour as a whole, or a broker that was silent in one of the passes), the earlier moment is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from .files import BLOCK_BYTES, LogBytes
from .lines import lines

_STEP = timedelta(minutes=15)
"""No zone changes at another time than at a quarter of an hour."""
_PACKED_SPAN = timedelta(days=8)
"""How long the time of one packed file is thought to be at most; its last line is not known before all is unpacked."""


@dataclass(frozen=True)
class Twice:
    """Times of the clock, without zone, that are shown twice: from `first` up to `end`; `shift` later again."""

    first: datetime
    end: datetime
    shift: timedelta


def to_utc(at: pa.Array, places: pa.Array, zone: str, fold_at: int | None) -> pa.Array:
    """Moments with microseconds in UTC. at, places: the lines' times without zone, and their bytes. fold_at: from this
    byte on, times that the clock shows twice are of the second pass. A time that the clock leaves out is taken as if
    it had not yet been put forward."""
    utc = pa.timestamp("us", "UTC")
    earlier = pc.assume_timezone(at, zone, ambiguous="earliest", nonexistent="earliest").cast(utc)
    if fold_at is None:
        return earlier
    later = pc.assume_timezone(at, zone, ambiguous="latest", nonexistent="earliest").cast(utc)
    return pc.if_else(pc.greater_equal(places, fold_at), later, earlier)


def shown_twice(zone: str, first: datetime, last: datetime) -> Twice | None:
    """The first times that are shown twice among those from `first` to `last`, all without zone."""
    clock = ZoneInfo(zone)
    at = first.replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
    began: datetime | None = None
    shift = timedelta(0)
    while at <= last + timedelta(hours=3):
        early, late = (clock.utcoffset(at.replace(fold=fold)) or timedelta(0) for fold in (0, 1))
        if early > late:
            began, shift = began or at, early - late
        elif began is not None:
            found = Twice(began, at, shift)
            if found.end > first:
                return found if found.first <= last else None
            began = None
        at += _STEP
    return None


def fold_at(file: LogBytes, zone: str, end: int) -> int | None:
    """The byte from which on a file's ambiguous times are of the second pass; None: there are none, or all are of the
    first. end: where what is read of it ends. Reads the whole file, but only where its time holds such an hour. Raises
    OSError."""
    # Without zones that change there is nothing to look for.
    if zone == "UTC":
        return None
    span = _span(file, end)
    twice = span and shown_twice(zone, *span)
    return jump(_times(file, 0, end), twice) if twice else None


def jump(times: Iterable[tuple[int, datetime]], twice: Twice) -> int | None:
    """The same of (byte, time) of all lines in their order."""
    first: datetime | None = None
    latest = datetime.min
    for place, at in times:
        first = first or at
        if twice.first <= at < twice.end and latest - at > twice.shift / 2:
            return place
        latest = max(latest, at)
    inside = first is not None and twice.first <= first < twice.end
    return 0 if inside and latest >= twice.end else None


def _times(file: LogBytes, start: int, end: int) -> Iterator[tuple[int, datetime]]:
    for at, text in file.blocks(start, end):
        for batch in lines(at, text):
            timed = batch.filter(pc.is_valid(batch.column("at")))
            yield from zip(timed.column("byte_pos").to_pylist(), timed.column("at").to_pylist(), strict=True)


def _span(file: LogBytes, end: int) -> tuple[datetime, datetime] | None:
    """The times of the first and of the last line; of a packed file, what the last may be at most."""
    first = next((at for _, at in _times(file, 0, end)), None)
    if first is None:
        return None
    if file.is_packed:
        return first, first + _PACKED_SPAN
    latest, start = first, end
    while start and latest == first:
        start = max(0, start - BLOCK_BYTES)
        latest = max((at for _, at in _times(file, start, end)), default=first)
    return first, latest

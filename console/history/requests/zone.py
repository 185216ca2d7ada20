"""From a log line's time, which has no zone, to UTC; the hour that a clock shows twice, too.

Where clocks go back, the order of the lines separates the first pass from the second: times jump back once. A file that
begins inside that hour and goes on beyond it has the second pass alone. Of a file that lies inside the hour as a whole
its last change decides: it has no line that is younger. Where that decides nothing either, as of a copy that was made
later, the file is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from difflib import get_close_matches
from zoneinfo import ZoneInfo, available_timezones

import pyarrow as pa
import pyarrow.compute as pc

from console.history.requests.lines import clocks

from .files import BLOCK_BYTES, LogBytes

QUARTER = timedelta(minutes=15)
"""No zone changes at another time than at a quarter of an hour, and none is another time than quarters off UTC."""
FURTHEST = 26 * 4
"""Quarters between the zones that are furthest apart."""
_AT_ONCE = timedelta(minutes=1)
"""How long after its last line a file may be changed where it is the one that the broker wrote."""
LEAST_REQUESTS = 2
"""Requests that have to agree that a zone is wrong."""
_MOST_ASKED_FOR = (
    "UTC",
    *("Europe/Berlin", "Europe/London", "Europe/Helsinki", "Europe/Moscow", "America/New_York", "America/Chicago"),
    *("America/Denver", "America/Los_Angeles", "America/Sao_Paulo", "Asia/Dubai", "Asia/Kolkata", "Asia/Singapore"),
    *("Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland"),
)
"""Which of several zones that fit are named first."""
_PACKED_SPAN = timedelta(days=8)
"""How long the time of one packed file is thought to be at most; its last line is not known before all is unpacked."""


def zone_problem(zone: str) -> str:
    """Why a name is no time zone, or empty text."""
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        near = get_close_matches(zone, available_timezones(), n=1)
        return f"there is no time zone {zone!r}" + (f"; did you mean {near[0]}?" if near else "; as Europe/Berlin")
    return ""


class AmbiguousHourError(ValueError):
    """A file lies inside an hour that the clock shows twice, and nothing says in which of the two."""


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
        at += QUARTER
    return None


def fold_at(file: LogBytes, zone: str, end: int) -> int | None:
    """The byte from which on a file's ambiguous times are of the second pass; None: there are none, or all are of the
    first. end: where what is read of it ends. Reads the whole file, but only where its time holds such an hour. Raises
    OSError, AmbiguousHourError."""
    # Without zones that change there is nothing to look for.
    if zone == "UTC":
        return None
    span = _span(file, end)
    twice = span and shown_twice(zone, *span)
    if not twice:
        return None
    found, last = jump(_times(file, 0, end), twice)
    return found if last is None else _pass_of(file, zone, last, twice)


def _pass_of(file: LogBytes, zone: str, last: datetime, twice: Twice) -> int | None:
    """The same as `fold_at` of a file that lies inside the hour as a whole, and whose last line shows `last`."""
    clock = ZoneInfo(zone)
    first_pass, second_pass = (last.replace(tzinfo=clock, fold=fold).astimezone(timezone.utc) for fold in (0, 1))
    changed = datetime.fromtimestamp(file.changed / 1e9, timezone.utc)
    if first_pass - _AT_ONCE <= changed < second_pass - _AT_ONCE:
        return None
    if abs(changed - second_pass) <= _AT_ONCE:
        return 0
    earlier, later = (_only(last, clock.utcoffset(last.replace(fold=fold))) for fold in (0, 1))
    raise AmbiguousHourError(
        f"{file.path} lies as a whole between {twice.first:%Y-%m-%d %H:%M} and {twice.end:%H:%M}, which clocks in "
        f"{zone} showed twice, and nothing says when it was. Give this file by itself with the time zone {earlier} if "
        f"it is of the first time, or {later} if it is of the second"
    )


def _only(shown: datetime, offset: timedelta | None) -> str:
    """A zone that was so far from UTC when its clock showed that, and showed it once."""
    names = sorted(available_timezones(), key=lambda name: (not name.startswith("Etc/GMT"), name))
    clocks = ((name, ZoneInfo(name)) for name in names)
    return next(name for name, clock in clocks if {clock.utcoffset(shown.replace(fold=f)) for f in (0, 1)} == {offset})


def jump(times: Iterable[tuple[int, datetime]], twice: Twice) -> tuple[int | None, datetime | None]:
    """The same of (byte, time) of all lines in their order; or the latest time, where all are shown twice and none is
    before another: they do not say of which pass they are."""
    first: datetime | None = None
    latest, is_all_inside = datetime.min, True
    for place, at in times:
        first = first or at
        is_inside = twice.first <= at < twice.end
        if is_inside and latest - at > twice.shift / 2:
            return place, None
        latest, is_all_inside = max(latest, at), is_all_inside and is_inside
    if first is not None and is_all_inside:
        return None, latest
    return (0 if first is not None and twice.first <= first < twice.end <= latest else None), None


def wrong_steps(requests: Mapping[int, int]) -> int | None:
    """By how many quarters of an hour a zone is wrong; None: nothing says that it is. Pure.

    requests: how many requests were made so many quarters before their records.
    """
    best = max(requests, key=lambda steps: (requests[steps], steps == 0), default=0)
    is_wrong = best != 0 and requests[best] >= LEAST_REQUESTS and requests[best] > 4 * requests.get(0, 0)
    return best if is_wrong else None


def fitting_zones(zone: str, ends: Iterable[datetime], steps: int) -> list[str]:
    """The zones in which the clock showed what the lines show, those that are asked for most first.

    zone: what was given. ends: times in UTC that were made with it, `steps` quarters too early.
    """
    given = ZoneInfo(zone)
    moments = [(each.astimezone(given).replace(tzinfo=None), each + steps * QUARTER) for each in ends]

    def fits(name: str) -> bool:
        clock = ZoneInfo(name)
        return all(moment.astimezone(clock).replace(tzinfo=None) == shown for shown, moment in moments)

    others = sorted(each for each in available_timezones() if "/" in each and not each.startswith("Etc/"))
    return [name for name in dict.fromkeys((*_MOST_ASKED_FOR, *others)) if fits(name)]


def _times(file: LogBytes, start: int, end: int) -> Iterator[tuple[int, datetime]]:
    """Those that have no zone of their own."""
    for at, text in file.blocks(start, end):
        yield from (each for each in clocks(at, text) if each[1].tzinfo is None)


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

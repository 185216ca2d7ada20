"""The changes of partitions' logs between polls: a first offset that jumps, an end that falls, a last stable offset
that stands still. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import NamedTuple

from msgspec import Struct, field

Place = tuple[str, int]
"""A topic and a partition number."""

MOST_JUMPS = 2_000
"""Maximum number of jumps, and of falls, that are kept: the latest ones."""
KEPT_SECONDS = 1_800.0
MOST_WAITS = 6
"""Maximum number of waits that are kept of a log: at a checkpoint, several transactions end one after the other."""
CORRECTED = 5.0
"""Seconds by which a clock may go back: a correction of the clock, or the times of answers in a record, may cause
this."""


class LogOffsets(NamedTuple):
    """The log of a partition at one time."""

    start: int
    stable: int
    """The last stable offset, read before `end`, the high watermark; equal to the end if it was not requested."""
    end: int

    @property
    def waiting(self) -> int:
        """The number of records that are written, but not readable with read_committed."""
        return max(0, self.end - self.stable)


class Newest(NamedTuple):
    """The record of a partition with the highest timestamp (ListOffsets -3): Unix milliseconds, and its offset."""

    timestamp: int
    offset: int


PERIOD = 300.0
"""Seconds of a period of a log: the last one or two of them are its last minutes."""
LATE = 1.5
"""The time between two reads that counts as a gap in kac's own reads, as a multiple of the time before."""


class Period(NamedTuple):
    """The writes to a log since a time, in Unix seconds."""

    at: float
    end: int
    """The end of the log at that time."""
    pause: float = 0.0
    """The longest time without new records that ended since, in seconds."""


class ObservedLog(NamedTuple):
    """The observations of one partition's log over the polls."""

    last: LogOffsets
    at: float
    """The time of the last poll, Unix seconds."""
    first_at: float
    """The time of the first poll, Unix seconds."""
    first_end: int
    """The end of the log at the first poll; a lower one if the end fell since."""
    stable_since: float | None = None
    """The time since which the last stable offset has had this value below the end; None if it is not below the end."""
    grew_at: float | None = None
    """The time of the last poll with a higher end; None without one."""
    pause: float = 0.0
    """The longest time between two such polls, or from the first poll to the first of them, in seconds. The time by
    which a read came late is left out."""
    every: float = 0.0
    """The seconds between the last two reads; 0 before the second one."""
    periods: tuple[Period, ...] = ()
    """The last period, and the one before if there is one: they begin at most 10 minutes (two of `PERIOD`) before the
    last write to a log that is written to all the time."""
    waits: tuple[float, ...] = ()
    """The times for which the last stable offset stood below the end before it moved, in seconds: the latest
    `MOST_WAITS` of which kac saw the whole."""

    @property
    def held(self) -> float:
        """The usual time for which the last stable offset stands below the end, in seconds; 0 if kac saw no whole one.
        It is the second longest one of several: one producer that died makes no rule.
        """
        return sorted(self.waits)[-2:][0] if self.waits else 0.0

    @property
    def recent_pause(self) -> float:
        """The longest pause of the last minutes in which the log was written to, in seconds; that of all reads if there
        are no periods.
        """
        return max((each.pause for each in self.periods), default=self.pause)


class Jump(NamedTuple):
    """A rise of a log's first offset."""

    topic: str
    partition: int
    was: int
    start: int
    after: float
    """The time of the poll before it, Unix seconds."""
    at: float
    """The time of the poll after it, Unix seconds."""


class Fall(NamedTuple):
    """A fall of a log's end."""

    topic: str
    partition: int
    was: int
    end: int
    at: float
    """The time of the poll, Unix seconds."""


class ObservedLogs(Struct, frozen=True):
    """The observations of all partitions' logs over the polls."""

    at: float = 0.0
    """The time of the last read, Unix seconds."""
    logs: Mapping[Place, ObservedLog] = field(default_factory=dict)
    jumps: tuple[Jump, ...] = ()
    falls: tuple[Fall, ...] = ()
    waiting: frozenset[Place] = frozenset()
    """The logs whose last stable offset was below the end at the last read, so that not all logs have to be scanned for
    them."""

    def standing(self, seconds: float) -> tuple[Place, ...]:
        """Return the partitions whose last stable offset has stood still below the end for at least these seconds,
        sorted."""
        return tuple(sorted(place for place in self.waiting if self.stood(place) >= seconds))

    def stood(self, place: Place) -> float:
        """Return the seconds for which the last stable offset has stood still below the end; -1 if it does not."""
        known = self.logs.get(place)
        return -1.0 if known is None or known.stable_since is None else known.at - known.stable_since

    def untrimmed(self, numbers: Callable[[str], Iterable[int]]) -> Iterator[Place]:
        """Yield the partitions that grow and keep their first record, while another partition of the topic has lost its
        first record twice: the deletion of old records has stopped in the yielded ones.

        Args:
            numbers: returns the partitions of a topic.
        """
        jumped: dict[str, dict[int, list[float]]] = {}
        for each in self.jumps:
            jumped.setdefault(each.topic, {}).setdefault(each.partition, []).append(each.at)
        for topic, mine in jumped.items():
            twice = max((times[-2] for times in mine.values() if len(times) > 1), default=None)
            if twice is None:
                continue
            for number in numbers(topic):
                log = self.logs.get((topic, number))
                kept = max(mine.get(number, ()), default=0.0) < twice
                if kept and log is not None and log.last.end > log.last.start and (log.grew_at or 0.0) >= twice:
                    yield topic, number


def logs_after(before: ObservedLogs, logs_read: Mapping[Place, LogOffsets], at: float) -> ObservedLogs:
    """Return the observations after another read of some logs.

    A log that begins at a lower offset than before is a new one, since its topic was created again: its observations
    start over.

    Args:
        logs_read: the logs of this read; the observations of other logs stay.
        at: the time of the read, Unix seconds. If it is long before that of the last read, the clock went back, and all
            observations start over.
    """
    if at < before.at - CORRECTED:
        before = ObservedLogs()
    at = max(at, before.at)
    logs = dict(before.logs)
    alike: dict[tuple[int, LogOffsets], ObservedLog] = {}  # most logs of a large cluster are idle: share objects
    jumps = [each for each in before.jumps if each.at > at - KEPT_SECONDS]
    falls = [each for each in before.falls if each.at > at - KEPT_SECONDS]
    for place, now in logs_read.items():
        known = logs.get(place)
        if known is None or now.start < known.last.start:
            logs[place] = alike.setdefault((0, now), _first_seen(now, at))
            continue
        was = known.last
        if now == was and (same := alike.get((id(known), now))) is not None:
            logs[place] = same
            continue
        if now.start > was.start:
            jumps.append(Jump(*place, was.start, now.start, known.at, at))
        if now.end < was.end:
            falls.append(Fall(*place, was.end, now.end, at))
        stands = now.waiting > 0 and known.stable_since is not None and now.stable == was.stable
        since = known.stable_since if stands else at if now.waiting else None
        waits = known.waits
        if not stands and known.stable_since is not None and known.stable_since > known.first_at:
            waits = (*waits, at - known.stable_since)[-MOST_WAITS:]
        first_end = min(known.first_end, now.end)
        grew_at, pause, periods = known.grew_at, known.pause, known.periods
        if now.end > was.end:
            paused = at - (grew_at or known.first_at) - _late(known, at)
            pause, grew_at = max(pause, paused), at
            periods = _periods(periods, now.end, at, paused)
        elif now.end < was.end:
            periods = (Period(at, now.end),)
        logs[place] = alike[id(known), now] = ObservedLog(
            now, at, known.first_at, first_end, since, grew_at, pause, at - known.at, periods, waits
        )
    waiting = {place for place in logs_read if logs[place].stable_since is not None}
    still = frozenset({*waiting, *(place for place in before.waiting if place not in logs_read)})
    return ObservedLogs(at, logs, tuple(jumps[-MOST_JUMPS:]), tuple(falls[-MOST_JUMPS:]), still)


def _first_seen(now: LogOffsets, at: float) -> ObservedLog:
    return ObservedLog(now, at, at, now.end, at if now.waiting else None, periods=(Period(at, now.end),))


def _late(known: ObservedLog, at: float) -> float:
    """Return the seconds by which a read comes later than the reads before."""
    return at - known.at - known.every if 0 < LATE * known.every < at - known.at else 0.0


def _periods(known: tuple[Period, ...], end: int, at: float, paused: float) -> tuple[Period, ...]:
    """Return the periods after a read with a higher end: a log without writes keeps its periods, which tell how it was
    written to. paused: the seconds without records that ended with this read.
    """
    last = known[-1]
    if at - last.at >= PERIOD:
        return last._replace(pause=max(last.pause, paused)), Period(at, end)
    return (*known[:-1], last._replace(pause=paused)) if paused > last.pause else known


def without_logs(before: ObservedLogs, gone: Set[str]) -> ObservedLogs:
    """Return the observations without those of deleted topics.

    Args:
        gone: the names of the topics, which other topics may have now.
    """
    if not any(topic in gone for topic, _ in before.logs):
        return before
    logs = {place: known for place, known in before.logs.items() if place[0] not in gone}
    jumps = tuple(each for each in before.jumps if each.topic not in gone)
    falls = tuple(each for each in before.falls if each.topic not in gone)
    return ObservedLogs(before.at, logs, jumps, falls, before.waiting & logs.keys())

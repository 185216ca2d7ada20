"""The changes of partitions' logs between polls: a first offset that rises, an end offset that falls, and a last stable
offset that does not move. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import NamedTuple

from msgspec import Struct, field

Place = tuple[str, int]
"""A topic and a partition number."""

MOST_JUMPS = 2_000
"""Maximum number of `Jump` objects that are kept, and of `Fall` objects: the latest of each."""
KEPT_SECONDS = 1_800.0
MOST_WAITS = 6
"""Maximum number of items in `ObservedLog.waits`. Several are needed: at a checkpoint of an application, several
transactions end one after the other.
"""
STEPS = 3
"""Minimum number of the largest rises of an end offset that make up its fall, for new records to have filled it."""
CORRECTED = 5.0
"""Maximum seconds by which the time of a read may lie before the previous one without a restart of the observations.
The cause may be a correction of the clock, or a flight record, whose answers may be out of order.
"""


class LogOffsets(NamedTuple):
    """The offsets of a partition's log at one time."""

    start: int
    stable: int
    """The last stable offset; equal to `end` if it was not requested. It is read before `end`, the high watermark."""
    end: int

    @property
    def waiting(self) -> int:
        """The number of offsets from the last stable offset to the high watermark: records that read_committed does not
        return yet.
        """
        return max(0, self.end - self.stable)


class Newest(NamedTuple):
    """The record of a partition with the highest timestamp (ListOffsets -3): the timestamp in ms since 1970, and the
    offset.
    """

    timestamp: int
    offset: int


PERIOD = 300.0
"""Length in seconds of a period of a log. The last two periods are kept."""
LATE = 1.5
"""A read is late if the time since the read before is more than this multiple of the time between the two reads
before.
"""


class Period(NamedTuple):
    """The writes to a log from a time on, in Unix seconds."""

    at: float
    end: int
    """The end offset of the log at that time."""
    pause: float = 0.0
    """The longest time in seconds without new records, among those that ended in the period."""


class ObservedLog(NamedTuple):
    """kac's observations of one partition's log at its polls."""

    last: LogOffsets
    at: float
    """The time of the last poll, Unix seconds."""
    first_at: float
    """The time of the first poll, Unix seconds."""
    first_end: int
    """The end offset at the first poll, or the lowest end offset since, if it fell below that."""
    stable_since: float | None = None
    """The time, Unix seconds, since which the last stable offset has had its present value and been below the end
    offset; None if it is not below the end offset.
    """
    grew_at: float | None = None
    """The time, Unix seconds, of the last poll that saw a higher end offset than the poll before; None if none did."""
    pause: float = 0.0
    """The longest time in seconds between two polls that saw a higher end offset; the first poll of the log counts
    as one of them. The time by which a read was late is subtracted.
    """
    every: float = 0.0
    """The seconds between the last two reads; 0 before the second one."""
    periods: tuple[Period, ...] = ()
    """The last period, preceded by the period before it if there is one. For a log with steady writes, they begin at
    most 10 minutes (two of `PERIOD`) before the last write.
    """
    waits: tuple[float, ...] = ()
    """For how many seconds the last stable offset did not move while it was below the end offset: the latest
    `MOST_WAITS` waits whose beginning and end kac saw.
    """

    @property
    def held(self) -> float:
        """How long the last stable offset usually does not move while below the end offset, in seconds: the second
        longest of `waits`, so that the wait for one producer that died does not count. The only wait if there is
        one, 0 if there is none.
        """
        return sorted(self.waits)[-2:][0] if self.waits else 0.0

    @property
    def recent_pause(self) -> float:
        """The longest pause in seconds between writes in the kept periods; the longest of all reads if there are no
        periods.
        """
        return max((each.pause for each in self.periods), default=self.pause)


class Jump(NamedTuple):
    """A rise of a log's first offset."""

    topic: str
    partition: int
    was: int
    start: int
    after: float
    """The time of the last poll before the rise, Unix seconds."""
    at: float
    """The time of the first poll after the rise, Unix seconds."""


class Fall(NamedTuple):
    """A fall of a log's end offset."""

    topic: str
    partition: int
    was: int
    end: int
    at: float
    """The time of the first poll after the fall, Unix seconds."""
    step: int = 0
    """The largest rise of the end offset between two polls, from the fall to `again_at`."""
    again_at: float | None = None
    """The time of the first poll at which the end offset was `was` or higher again, Unix seconds; None if it is lower
    still.
    """

    @property
    def is_rewritten(self) -> bool:
        """Whether new records brought the end offset back to `was`. A high watermark that a new leader did not know yet
        returns in one step instead, as soon as the followers fetch.
        """
        return self.again_at is not None and STEPS * self.step <= self.was - self.end


class ObservedLogs(Struct, frozen=True):
    """kac's observations of all partitions' logs at its polls."""

    at: float = 0.0
    """The time of the last read, Unix seconds."""
    logs: Mapping[Place, ObservedLog] = field(default_factory=dict)
    jumps: tuple[Jump, ...] = ()
    falls: tuple[Fall, ...] = ()
    waiting: frozenset[Place] = frozenset()
    """The logs whose last stable offset was below the end offset at their last read. This set saves a scan of all
    logs.
    """

    def standing(self, seconds: float) -> tuple[Place, ...]:
        """Return the partitions whose last stable offset has not moved for at least these seconds while below the end
        offset, sorted.
        """
        return tuple(sorted(place for place in self.waiting if self.stood(place) >= seconds))

    def stood(self, place: Place) -> float:
        """Return the seconds for which the last stable offset of a partition has not moved while below the end offset;
        -1 if it is not below, or the partition was not read.
        """
        known = self.logs.get(place)
        return -1.0 if known is None or known.stable_since is None else known.at - known.stable_since

    def untrimmed(self, numbers: Callable[[str], Iterable[int]]) -> Iterator[Place]:
        """Yield the partitions that grow and keep their first record, while another partition of the topic has lost its
        first record twice: the broker no longer deletes old records in the yielded partitions.

        Args:
            numbers: a function from a topic to the numbers of its partitions.
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

    If a log begins at a lower offset than before, its topic was created again: the observations of this log start over.

    Args:
        logs_read: the logs of this read; the observations of other logs stay.
        at: the time of the read, Unix seconds. If it is more than `CORRECTED` before that of the last read, the clock
            was set back, and all observations start over.
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
    falls = [_after_fall(each, before.logs, logs, at) for each in falls[-MOST_JUMPS:]]
    waiting = {place for place in logs_read if logs[place].stable_since is not None}
    still = frozenset({*waiting, *(place for place in before.waiting if place not in logs_read)})
    return ObservedLogs(at, logs, tuple(jumps[-MOST_JUMPS:]), tuple(falls), still)


def _after_fall(fall: Fall, before: Mapping[Place, ObservedLog], now: Mapping[Place, ObservedLog], at: float) -> Fall:
    """Return a fall with what another read shows of the log since.

    Args:
        before, now: the logs as of the last read and as of this one.
        at: the time of this read, Unix seconds.
    """
    place = fall.topic, fall.partition
    if fall.again_at is not None or fall.at == at or place not in before or now[place] is before[place]:
        return fall
    end = now[place].last.end
    step = max(fall.step, end - before[place].last.end)
    return fall._replace(step=step, again_at=at if end >= fall.was else None)


def _first_seen(now: LogOffsets, at: float) -> ObservedLog:
    return ObservedLog(now, at, at, now.end, at if now.waiting else None, periods=(Period(at, now.end),))


def _late(known: ObservedLog, at: float) -> float:
    """Return the seconds by which the time since the last read exceeds the time between the last two reads; 0 if the
    read at `at` is not late (`LATE`).
    """
    return at - known.at - known.every if 0 < LATE * known.every < at - known.at else 0.0


def _periods(known: tuple[Period, ...], end: int, at: float, paused: float) -> tuple[Period, ...]:
    """Return the periods after a read with a higher end offset. A new period begins if the last one is at least
    `PERIOD` old; so a log without writes keeps its periods, which describe its earlier writes. paused: the seconds
    without new records that ended with this read.
    """
    last = known[-1]
    if at - last.at >= PERIOD:
        return last._replace(pause=max(last.pause, paused)), Period(at, end)
    return (*known[:-1], last._replace(pause=paused)) if paused > last.pause else known


def without_logs(before: ObservedLogs, gone: Set[str]) -> ObservedLogs:
    """Return the observations without those of deleted topics.

    Args:
        gone: the names of the deleted topics; new topics may have these names now.
    """
    if not any(topic in gone for topic, _ in before.logs):
        return before
    logs = {place: known for place, known in before.logs.items() if place[0] not in gone}
    jumps = tuple(each for each in before.jumps if each.topic not in gone)
    falls = tuple(each for each in before.falls if each.topic not in gone)
    return ObservedLogs(before.at, logs, jumps, falls, before.waiting & logs.keys())

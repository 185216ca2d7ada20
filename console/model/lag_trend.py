"""The trend of a group's lag, and partitions whose committed offset does not move although records wait. Pure.

A consumer commits in steps (auto.commit.interval.ms is 5 s), so its lag is a sawtooth. A change of the lag below one
step is not a trend, and a commit that does not move for less than a few steps is not a problem. If enough commits of a
member were observed, their interval is the measure; otherwise the longest usual interval is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress, zip_longest
from math import inf
from types import MappingProxyType
from typing import Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from console.model import time_lag as model_time_lag
from console.model.cluster import GroupLag, PartitionLag
from console.model.observed_logs import CORRECTED
from console.model.rate_samples import Sample, sampled

WINDOW = 15.0
"""Length in seconds: a trend compares the last poll with one that is one to two windows old, once there is such a poll.
"""
SHORTEST = 6.0
"""Minimum seconds between two polls for a trend: slightly more than the default of auto.commit.interval.ms."""
STEP_SECONDS = 10.0
"""Maximum size of a step of commits, as the seconds that the group needs to read it: two intervals of auto.commit. A
larger change is no step but a jump, such as a reset.
"""
STUCK_SOON = 10.0
"""Minimum seconds without a commit until a partition counts as stuck, if the interval of its member's commits is known:
two intervals of auto.commit.
"""
MISSED = 2.0
"""Number of intervals without a commit until a partition counts as stuck, if the interval of its member's commits is
known.
"""
STUCK_WHOLE, MISSED_WHOLE = 20.0, 3.0
"""The same two limits if several partitions of a group wait, and no partition has a newer commit."""
TOGETHER = 5.0
"""Maximum seconds between the times since which two of these partitions wait. If a later one counted, a partition that
is stuck after 10 s would not be stuck any more as soon as a record came to the other one.
"""
PAUSED = 1.3
"""A partition counts as stuck only after this multiple of the longest pause between two of its commits."""
RHYTHM = 3
"""Minimum number of a partition's commits from which their interval is computed."""
STUCK_BESIDE = 20.0
"""Seconds without a commit until a partition counts as stuck, if the interval is unknown and other partitions of its
member have newer commits.
"""
STUCK_ALONE = 90.0
"""Seconds without a commit until a partition counts as stuck, if the interval is unknown and no other partition of its
member has a newer commit. Kafka Connect commits every 60 s.
"""
LONGEST_THROTTLE = 11.0
"""Maximum seconds by which a broker delays a response to a client above its quota: quota.window.num times
quota.window.size.seconds, by default (ClientQuotaManager). After the delay the client gets at least one batch, so
that it commits again.
"""

Place = tuple[str, int]
Direction = Literal["grows", "shrinks", "steady"]


class PartitionTrend(NamedTuple):
    """The change of a partition's lag, and how long its commit has not moved."""

    rate: float | None = None
    """Records per second by which the lag grows: negative if it shrinks, 0 if it changed by at most one step of
    commits, None if unknown.
    """
    still: float = 0.0
    """Seconds for which records have waited without a commit; 0 if no record waits."""
    stuck: bool = False
    """Whether the commit has not moved for so long that a record which the consumer can't process is the probable
    cause.
    """


class Standing(NamedTuple):
    """The movement of a group's committed offset in a partition, as the polls show it."""

    committed: int
    since: float | None
    """The time in Unix seconds of the first poll at which there were records after the present committed offset;
    None if no record waits.
    """
    end: int
    """The end offset of the partition at that time."""
    moved: float | None = None
    """The time in Unix seconds of the poll that first saw the present committed offset; None if the offset never moved.
    """
    step: int = 0
    """The number of offsets by which the committed offset last moved."""
    pause: float = 0.0
    """The longest time in seconds for which records waited before the commit moved."""
    first_moved: float | None = None
    """The time in Unix seconds of the poll that saw the first move of the committed offset; None if it never moved."""
    moves: int = 0
    """The number of moves that the polls saw."""
    read: bool = False
    """Whether kac saw a client read the partition: a member had the partition, or the committed offset moved to an
    offset within the log. A move beyond the end does not show it, because such an offset was copied from another
    cluster.
    """
    held: bool = False
    """Whether a member ever had the partition. If so, `since` is moved forward by the time in which no member has
    the partition, so that only the time with a member counts as waiting.
    """
    high: int = 0
    """The highest lag in records since the poll `LagTrend.base`."""
    next_high: int = 0
    """The highest lag in records since the poll `LagTrend.next_base`."""
    grew: float | None = None
    """The time in Unix seconds of the last poll without a record after `end`; None if no such record was seen. Offsets
    before `end` may have no record that a consumer gets, such as markers of transactions.
    """

    @property
    def interval(self) -> float | None:
        """The average seconds between two commits; None if fewer than `RHYTHM` (3) were seen."""
        if self.moved is None or self.first_moved is None or self.moves < RHYTHM:
            return None
        return (self.moved - self.first_moved) / (self.moves - 1)


class Poll(NamedTuple):
    """A group's lag at a time in Unix seconds."""

    at: float
    lag: GroupLag


class LagTrend(Struct, frozen=True):
    """The trend of the lag of a group, from its polls so far."""

    base: Poll
    """The poll with which `last` is compared."""
    next_base: Poll
    """The poll that will replace `base`."""
    last: Poll
    standing: Mapping[Place, Standing]
    partitions: Mapping[Place, PartitionTrend] = field(default_factory=dict)
    """The trends of partitions with a known rate, or with waiting records."""
    rate: float | None = None
    """Records per second by which the lag of the group grows, over the partitions with a known rate; None if no rate is
    known.
    """
    stuck: tuple[Place, ...] = ()
    """The stuck partitions, sorted."""
    seen: Mapping[Place, model_time_lag.EndsSeen] = MappingProxyType({})
    """For partitions with a lag: their end offsets at the polls since the lag was last 0."""
    written: Mapping[Place, model_time_lag.Written] = MappingProxyType({})
    """The times at which the records at the committed offsets were written, for the partitions where kac read them."""
    behind: Mapping[Place, model_time_lag.Behind] = MappingProxyType({})
    """The time for which the next record of a partition has waited; partitions with a lag of 0 are missing."""
    samples: Sequence[Sample] = ()
    """The numbers of written and of committed records over the last minutes."""

    @property
    def catch_up(self) -> float | None:
        """Seconds until the lag is 0 at the trend's rate; None if the lag does not shrink, or is 0 already."""
        return time_left(self.last.lag.total, self.rate)

    @property
    def moving(self) -> list[Place]:
        """The partitions whose committed offset moved since the poll `base`."""
        since = self.base.at
        return [place for place, each in self.standing.items() if each.moved is not None and each.moved > since]

    @property
    def longest_behind(self) -> model_time_lag.Behind:
        """The time for which the next record has waited, in the partition with the longest wait."""
        if self.behind:
            return model_time_lag.longest(self.behind.values())
        return model_time_lag.NOT_BEHIND if self.last.lag.partitions else model_time_lag.UNSEEN


def times_to_read(trends: Iterable[LagTrend], most: int) -> list[model_time_lag.Spot]:
    """Return the committed offsets whose records' timestamps have to be read, because the polls do not show how long
    these records have waited. Offsets whose timestamps were read before are left out.

    Args:
        most: maximum number of results: the partitions with the largest lags of each group first, the groups in turn.
    """
    in_turn = chain.from_iterable(zip_longest(*map(_unknown_times, trends)))
    return list(dict.fromkeys(spot for spot in in_turn if spot is not None))[:most]


def _unknown_times(trend: LagTrend) -> list[model_time_lag.Spot]:
    unknown = [
        each
        for each in trend.last.lag.partitions
        if each.lag > 0 and each.committed >= 0 and _is_open(trend, place(each)) and place(each) not in trend.written
    ]
    return [_spot(each) for each in sorted(unknown, key=lambda each: (-each.lag, place(each)))]


def _is_open(trend: LagTrend, where: Place) -> bool:
    behind = trend.behind.get(where)
    return behind is None or behind.least or behind.seconds is None


def _spot(at: PartitionLag) -> model_time_lag.Spot:
    return model_time_lag.Spot(at.topic, at.partition, at.committed)


def with_times(
    trends: Mapping[str, LagTrend], found: Mapping[model_time_lag.Spot, model_time_lag.Written]
) -> Mapping[str, LagTrend]:
    """Return the trends of the groups with the write times of records added. found: committed offset -> the time of its
    record.
    """
    return {name: _with_times(trend, found) for name, trend in trends.items()} if found else trends


def _with_times(trend: LagTrend, found: Mapping[model_time_lag.Spot, model_time_lag.Written]) -> LagTrend:
    new = {place(each): found[spot] for each in trend.last.lag.partitions if (spot := _spot(each)) in found}
    if not new:
        return trend
    written = {**trend.written, **new}
    return replace(trend, written=written, behind=_behind(trend.last, trend.seen, written))


NO_TIMES: Mapping[Place, model_time_lag.Written] = {}


def _ends_seen(known: LagTrend | None, poll: Poll) -> Mapping[Place, model_time_lag.EndsSeen]:
    """Return the end offsets at the polls since the lag was last 0, for partitions with a lag. Older end offsets say
    nothing about a later lag, so nothing is kept for most partitions.
    """
    behind = [(place(p), p.end) for p in poll.lag.partitions if p.lag > 0 and p.end >= 0]
    if not behind:
        return MappingProxyType({})
    before: dict[Place, PartitionLag] = {}
    if known is not None and any(where not in known.seen for where, _ in behind):
        before = {place(p): p for p in known.last.lag.partitions if p.end >= 0}
    found = {}
    for where, end in behind:
        seen = known.seen.get(where) if known is not None else None
        if seen is None and known is not None and (last := before.get(where)) is not None:
            seen = model_time_lag.see_end(None, last.end, known.last.at)
        found[where] = model_time_lag.see_end(seen, end, poll.at)
    return found


def _behind(
    poll: Poll, seen: Mapping[Place, model_time_lag.EndsSeen], written: Mapping[Place, model_time_lag.Written]
) -> Mapping[Place, model_time_lag.Behind]:
    found = {
        (where := place(p)): model_time_lag.time_lag(p, seen.get(where), written.get(where), poll.at)
        for p in poll.lag.partitions
        if p.lag != 0
    }
    return found or MappingProxyType({})


def recovers(trend: LagTrend) -> bool:
    """Return whether a group is catching up after a burst. For each partition, take the fall of the lag from its
    recent maximum, and the last step of commits: the sum of the falls must be above 0, and at least the sum of
    the steps.
    """
    fell = sum(max(0, each.high - max(0, p.lag)) for each, p in _standing(trend))
    return 0 < fell >= sum(each.step for each, _ in _standing(trend))


def _standing(trend: LagTrend) -> Iterator[tuple[Standing, PartitionLag]]:
    return ((trend.standing[place(p)], p) for p in trend.last.lag.partitions)


def direction(rate: float | None) -> Direction | None:
    """Return ``grows``, ``shrinks`` or ``steady`` for a rate; None for an unknown rate."""
    if rate is None:
        return None
    return "grows" if rate > 0 else "shrinks" if rate < 0 else "steady"


def time_left(lag: int, rate: float | None) -> float | None:
    """Return the seconds until a lag is 0.

    Args:
        lag: the lag in records.
        rate: records per second by which it grows; None if unknown.

    Returns:
        None if the lag does not shrink, or is 0 already.
    """
    return lag / -rate if rate is not None and rate < 0 and lag > 0 else None


def trend_after(known: LagTrend | None, lag: GroupLag, at: float, *, throttled: bool = False) -> LagTrend:
    """Return the trend of a group after one more poll of its lag.

    Args:
        known: the trend so far; None before the first poll.
        at: the time of the poll, Unix seconds. If it lies more than `CORRECTED` before the last poll, the clock was set
            back, and the trend starts over.
        throttled: whether a quota may delay the fetches of the group's members.

    Returns:
        A trend whose partitions have a rate if the compared polls are at least `SHORTEST` seconds apart. Values that
        are equal to those of the last poll are the same objects.
    """
    if known is not None and at < known.last.at - CORRECTED:
        known = None
    at = at if known is None else max(at, known.last.at)
    poll = Poll(at, lag if known is None else _shared(known.last.lag, lag))
    if known is None:
        standing = {place(p): _stands(p, at, 0.0, None) for p in lag.partitions}
        seen = _ends_seen(None, poll)
        samples = sampled((), _read(lag, standing), at, at)
        return LagTrend(poll, poll, poll, standing, seen=seen, behind=_behind(poll, seen, NO_TIMES), samples=samples)
    # Two polls alternate as the base, so that with frequent polls the base is one to two windows old.
    base, next_base = known.base, known.next_base
    if at - known.last.at >= WINDOW:
        base, next_base = known.last, poll
    elif at - next_base.at >= WINDOW:
        base, next_base = next_base, poll
    before = known.standing if next_base is not poll else _with_next_high(known.standing)
    passed = at - known.last.at
    standing = {(where := place(p)): _stands(p, at, passed, before.get(where)) for p in lag.partitions}
    partitions = _trends(base, poll, standing, LONGEST_THROTTLE if throttled else 0.0)
    rates = [trend.rate for trend in partitions.values() if trend.rate is not None]
    seen, written = _ends_seen(known, poll), NO_TIMES
    if known.written:
        committed = {place(p): p.committed for p in lag.partitions}
        written = {w: each for w, each in known.written.items() if w in committed and each.says_of(committed[w])}
    return LagTrend(
        base,
        next_base,
        poll,
        standing,
        partitions,
        sum(rates) if rates else None,
        tuple(sorted(where for where, trend in partitions.items() if trend.stuck)),
        seen,
        written,
        _behind(poll, seen, written),
        known.samples
        if poll.lag is known.last.lag
        else sampled(known.samples, _read(lag, standing), known.last.at, at),
    )


def _read(lag: GroupLag, standing: Mapping[Place, Standing]) -> Iterator[PartitionLag]:
    """Yield the partitions that kac saw a client read. standing: in the order of the partitions of `lag`."""
    return compress(lag.partitions, (each.read for each in standing.values()))


def _shared(known: GroupLag, lag: GroupLag) -> GroupLag:
    """Return the lag with each unchanged partition replaced by the object of the known lag. This saves memory,
    because most groups are idle, and kac keeps three polls of each group.
    """
    if lag == known:
        return known
    before = {each: each for each in known.partitions}
    return replace(lag, partitions=tuple(before.get(each, each) for each in lag.partitions))


def place(partition: PartitionLag) -> Place:
    """Return the topic and the number of a partition as a pair."""
    return partition.topic, partition.partition


def _with_next_high(standing: Mapping[Place, Standing]) -> dict[Place, Standing]:
    return {where: each._replace(high=each.next_high, next_high=0) for where, each in standing.items()}


def _stands(now: PartitionLag, at: float, passed: float, before: Standing | None) -> Standing:
    """Return the movement of a committed offset after one more poll.

    Args:
        at: the time of the poll, Unix seconds.
        passed: seconds since the previous poll.
        before: the movement until then; None before the first poll.
    """
    stands = _stood(now, at, passed, before)
    if before is None:
        return stands._replace(high=now.lag, next_high=now.lag)
    high, next_high = max(before.high, now.lag), max(before.next_high, now.lag)
    if (stands.high, stands.next_high) == (high, next_high):
        return stands
    return stands._replace(high=high, next_high=next_high)


def _stood(now: PartitionLag, at: float, passed: float, before: Standing | None) -> Standing:
    waits = now.lag > 0
    read = bool(now.member) or (before is not None and before.read)
    held = bool(now.member) or (before is not None and before.held)
    if before is None or now.committed < 0 or before.committed < 0:
        return Standing(now.committed, at if waits else None, now.end, read=read, held=held)
    if now.committed != before.committed:
        pause = max(before.pause, at - before.since if before.since is not None else 0.0)
        step = abs(now.committed - before.committed)
        first = before.first_moved if before.first_moved is not None else at
        read |= now.committed <= now.end
        moves = before.moves + 1
        return Standing(now.committed, at if waits else None, now.end, at, step, pause, first, moves, read, held)
    # The first member has just begun, as of a job that comes from time to time: no record waited for it before.
    begins = held and not before.held
    # Keep the object if nothing changed: a cluster may have 100,000 idle partitions.
    if (read, held) != (before.read, before.held):
        before = before._replace(read=read, held=held)
    if not waits:
        return before._replace(since=None, grew=None)
    since, grew = before.since, before.grew
    if since is None:
        return before._replace(since=at, end=now.end, grew=None)
    if grew is None and now.end > before.end:
        grew = max(since, at - passed)
    if begins:
        since, grew = at, None if grew is None else at
    elif held and not now.member:
        since, grew = since + passed, None if grew is None else grew + passed
    return before if (since, grew) == (before.since, before.grew) else before._replace(since=since, grew=grew)


def _trends(base: Poll, now: Poll, standing: Mapping[Place, Standing], delay: float) -> dict[Place, PartitionTrend]:
    then = {place(p): p for p in base.lag.partitions}
    moved: dict[str, float] = {}
    # Use the commit interval of a member's busiest partition: other partitions may have nothing to commit.
    intervals: dict[str, float] = {}
    # Members that catch up read one partition after the other, so their other partitions wait without being stuck.
    busy: set[str] = set()
    each: list[tuple[Place, PartitionLag, Standing, float | None]] = []
    for p in now.lag.partitions:
        where = place(p)
        stands, before = standing[where], then.get(where)
        rate = None if before is None else _rate(before, p, now.at - base.at, stands.step, stands.interval)
        each.append((where, p, stands, rate))
        if stands.moved is not None:
            moved[p.member] = max(stands.moved, moved.get(p.member, stands.moved))
        if p.member and (interval := stands.interval) is not None:
            intervals[p.member] = min(interval, intervals.get(p.member, interval))
        if p.member and _drains(p, stands, rate, base.at):
            busy.add(p.member)
    anywhere = max(moved.values(), default=None)
    waiting = sorted(stands.grew for _, _, stands, _ in each if stands.grew is not None)[:2]
    second = waiting[1] if waiting[1:] else inf
    found = {}
    for where, p, stands, rate in each:
        still = 0.0 if stands.since is None else now.at - stands.since
        of_member = moved.get(p.member) if p.member else None
        waits = p.member in busy
        waited = 0.0 if stands.grew is None else now.at - stands.grew
        stuck = (
            waited > delay
            and not waits
            and _is_stuck(
                p,
                stands,
                waited - delay,
                of_member,
                anywhere,
                intervals.get(p.member),
                several=stands.grew is not None and second <= stands.grew + TOGETHER,
            )
        )
        if rate is not None or still:
            found[where] = PartitionTrend(rate, still, stuck)
    return found


def _drains(now: PartitionLag, stands: Standing, rate: float | None, since: float) -> bool:
    """Return whether a group is catching up in a partition: its commit moved after `since`, its lag shrinks, and the
    lag is larger than the commit's last move.

    Args:
        stands: the movement of the partition's committed offset.
        rate: records per second by which the lag grows, negative if it shrinks; None if unknown, then the result is
            False.
        since: Unix seconds.
    """
    moves = stands.moved is not None and stands.moved > since
    return moves and rate is not None and rate < 0 and now.lag > stands.step


def _rate(before: PartitionLag, now: PartitionLag, seconds: float, step: int, interval: float | None) -> float | None:
    """Return the records per second by which the lag grew: 0 if it changed by at most one step of commits, None if
    unknown.

    Args:
        seconds: the time between the two polls.
        step: the number of offsets of the last move of the commit.
        interval: seconds between two commits; None if unknown.
    """
    if before.lag < 0 or now.lag < 0 or seconds < SHORTEST:
        return None
    change = now.lag - before.lag
    # A poll hits any point of the sawtooth, so the lag may differ by a whole step without any trend. A step of more
    # than ten seconds of reading, or than the interval of its commits, is no step but a jump, such as a reset.
    read = max(0, now.committed - before.committed)
    noise = min(step, max(STEP_SECONDS, PAUSED * (interval or 0.0)) * read / seconds)
    return 0.0 if abs(change) <= noise else change / seconds


def _is_stuck(
    now: PartitionLag,
    stands: Standing,
    still: float,
    of_member: float | None,
    anywhere: float | None,
    interval: float | None,
    *,
    several: bool,
) -> bool:
    """Return whether a commit is stuck: records were written since it last moved, and it has not moved for too long.

    If the interval of the member's commits is known, "too long" is the greatest of:

    - `STUCK_SOON` (10 s), or `STUCK_WHOLE` (20 s) if several partitions wait and the group committed nothing meanwhile;
    - `MISSED` (2) intervals, or `MISSED_WHOLE` (3) in that case;
    - `PAUSED` (1.3) times the longest pause of this commit so far (`Standing.pause`).

    If the interval is unknown, the group may commit only once a minute. Then "too long" is `STUCK_BESIDE` (20 s) if
    another commit of the member moved later, else `STUCK_ALONE` (90 s), and at least twice the longest pause; and the
    commit is not stuck if no client is known to read the partition.

    Args:
        still: seconds without a commit since a new record came, less the seconds by which a quota may delay responses.
        of_member: the time at which a commit of the same member last moved, Unix seconds; None for never.
        anywhere: the time at which a commit of the group last moved, Unix seconds; None for never.
        interval: seconds between two commits of the member; None if unknown.
        several: whether records began to wait in another partition of the group earlier, or at most `TOGETHER` (5 s)
            later.
    """
    # The offsets up to the end may have no record (markers of transactions, gaps of compaction): only records that were
    # written since then prove that one waits.
    if stands.since is None or stands.grew is None:
        return False
    beside = of_member is not None and of_member > stands.since
    if interval is not None:
        # A group that commits nothing at all may just work on longer batches than before.
        whole = several and (anywhere is None or anywhere <= stands.since)
        soon, missed = (STUCK_WHOLE, MISSED_WHOLE) if whole else (STUCK_SOON, MISSED)
        return still >= max(soon, missed * interval, PAUSED * stands.pause)
    # If no client reads the partition, its committed offset can't move, and is not stuck. Other commits of the group
    # that move show that consumers which are no members (assign()) may read it.
    reads = bool(now.member) or (anywhere is not None and anywhere > stands.since)
    return reads and still >= max(STUCK_BESIDE if beside else STUCK_ALONE, 2 * stands.pause)

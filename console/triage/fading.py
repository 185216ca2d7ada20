"""Symptoms of groups that were not in the last polls, but whose end is not proved yet: a lag that shrinks for some
seconds because members start again, a partition whose member is unknown during a rebalance. They count as seen until
their repair is seen, or until they were absent for as long as it takes to prove them. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.lag_trend import WINDOW, LagTrend
from console.model.numbers import time_of_day
from console.model.snapshot import LAG_UNREAD, Snapshot
from console.triage import symptoms
from console.triage.memberships import Memberships, leave_again
from console.triage.past import Past

PROVED = timedelta(seconds=2 * WINDOW)
"""Maximum time for which a symptom stays after the last poll that shows it: the longest time between the two polls that
a trend compares."""
RESTLESS = timedelta(minutes=2)
"""The same for a group whose members left, and for one whose members left at least `AGAIN` times each within this time.
"""
AGAIN = 2
SLOWLY = 0.5
"""Minimum records per second by which a lag grows on that grew faster before."""
LOW = 0.5
"""The share of the highest lag within a trend to which a lag falls by a commit, or by a reader that works."""
FRESH = 10.0
"""Maximum seconds for which the next record of a group has waited that reads up to the end, as a job does in each run.
"""
MOST = 100
"""Maximum number of symptoms that fade. If more end at once, all of them end, so that a verdict is never expensive
because thousands of groups recover."""


class Fading(NamedTuple):
    """A symptom that the last poll does not show, and whose end is not proved."""

    symptom: symptoms.Symptom
    since: datetime
    """The time of the first poll that did not show it, UTC."""
    stood: timedelta
    """The duration of the symptom, from its first poll (`began` of `fading_after`) to `since`."""
    is_restless: bool = False
    """Whether the group's members left, or leave again and again."""

    @property
    def is_calm(self) -> bool:
        """Whether a lag does not grow any more, and the members of its group stay."""
        return self.symptom.name == symptoms.LAG_GROWS and not self.is_restless

    def said(self, snapshot: Snapshot) -> str:
        """Return, as text, what replaces the symptom now."""
        name, subject = self.symptom.name, self.symptom.subject
        since, group = time_of_day(self.since), subject.group or ""
        if name == symptoms.COMMIT_STANDS_STILL:
            return f"its commit in {subject.topic}/{subject.partition} has not moved; since {since} its reader may work"
        lag = snapshot.lags[group].total
        rest = ", while its members leave and come back" if self.is_restless else ""
        return f"the lag of group {group} has not grown since {since}: it is {lag:,} now{rest}"


def fading_after(
    known: Mapping[symptoms.Key, Fading],
    before: Mapping[symptoms.Key, symptoms.Symptom],
    began: Mapping[symptoms.Key, datetime],
    past: Past,
    poll: symptoms.Poll,
) -> Mapping[symptoms.Key, Fading]:
    """Return the symptoms that fade at a poll.

    Args:
        known: those of the last poll.
        before: the symptoms that counted as seen at the last poll.
        began: the beginning of each symptom in `before` that the poll does not show and that may fade, UTC.
        past: the events up to this poll.

    Returns:
        Empty if more than `MOST` would fade.
    """
    found: dict[symptoms.Key, Fading] = {}
    unread = unread_lags(poll.snapshot) if began else ()
    # A change that was taken back is a repair.
    repaired = max((at for _, at in past.ended), default=None)
    for key, start in began.items():
        if repaired is not None and repaired >= start:
            continue
        each = known.get(key) or Fading(before[key], poll.at, poll.at - start)
        restless = _is_restless(key[1].group or "", past.members, poll)
        longest = RESTLESS if restless else PROVED
        is_unread = (key[1].group or "") in unread
        if poll.at - each.since < min(each.stood, longest) and not _is_over(
            key, start, poll.snapshot, restless=restless, unread=is_unread
        ):
            found[key] = each._replace(is_restless=restless)
    return found if len(found) <= MOST else {}


def may_fade(key: symptoms.Key) -> bool:
    """Return whether a symptom may be absent for some polls while its trouble goes on."""
    return key[0] in (symptoms.LAG_GROWS, symptoms.COMMIT_STANDS_STILL)


def still_grows(key: symptoms.Key, snapshot: Snapshot, unread: Collection[str]) -> bool:
    """Return whether a symptom of a growing lag goes on: the lag grows, more slowly than a new symptom needs. unread:
    the groups whose lag can't be read now.
    """
    name = key[1].group or ""
    trend = snapshot.lag_trends.get(name) if key[0] == symptoms.LAG_GROWS and name not in unread else None
    return trend is not None and symptoms.grows(trend, SLOWLY)


def unread_lags(snapshot: Snapshot) -> Collection[str]:
    """Return the groups whose lag can't be read now."""
    return frozenset(each.entity for each in snapshot.failures if each.part == LAG_UNREAD)


def _is_restless(name: str, members: Memberships, poll: symptoms.Poll) -> bool:
    group = poll.snapshot.groups.get(name)
    left = members.departures.get(name, ())
    if group is not None and group.is_vacant:
        return name in members.left  # a job that assigns its partitions itself never had members, and reads
    return leave_again([each for each in left if each.at > poll.at - RESTLESS], poll.at, AGAIN)


def _is_over(key: symptoms.Key, began: datetime, snapshot: Snapshot, *, restless: bool, unread: bool) -> bool:
    """Return whether a poll proves the end of a symptom that it does not show: its group or partition is not there any
    more, the partition's commit moved, the next record has not waited for long, or the lag is as low as before the
    symptom, or far below its highest value.

    Args:
        began: the beginning of the symptom, UTC.
        restless: whether members of the group leave again and again: a start may read much, and end the same way.
        unread: whether the lag can't be read now, so that `snapshot` has a former one.
    """
    _, subject = key
    name = subject.group or ""
    trend, lag = snapshot.lag_trends.get(name), snapshot.lags.get(name)
    if name not in snapshot.groups or trend is None or lag is None:
        return True
    if unread:
        return False
    if subject.topic is None:
        waits_for = trend.longest_behind
        if waits_for.seconds is not None and not waits_for.least and waits_for.seconds < FRESH:
            return True
        peak = 0 if restless else sum(each.high for each in trend.standing.values())
        return lag.total <= max(usual_lag(trend, began), LOW * peak)
    stands = trend.standing.get((subject.topic, subject.partition or 0))
    return stands is None or stands.since is None or (stands.moved or 0.0) >= began.timestamp()


def usual_lag(trend: LagTrend, began: datetime) -> int:
    """Return the lag of a group in records before it began to grow; 0 if kac did not watch then. began: the time at
    which the growth was seen, UTC.
    """
    before = [each for each in trend.samples if each.at <= began.timestamp() - WINDOW]
    return max(0, before[-1].written - before[-1].read) if before else 0

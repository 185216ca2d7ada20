"""The observations of a cluster over several polls: the beginning and end of each symptom, rates, and events between
polls. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from console.model.cluster import Topic, partition_in
from console.model.disk_trend import DirSample, sampled
from console.model.observed_logs import Place
from console.model.parts import Part
from console.model.quorum import leaders_clock
from console.triage import symptoms
from console.triage.answer_times import Late, Took, late_after, took_after
from console.triage.fading import Fading, fading_after, may_fade, still_grows, unread_lags
from console.triage.filled import Looks, looks_after
from console.triage.moves import Copy, Replica, copies_after
from console.triage.past import NOTHING, Past, past_after
from console.triage.registrations import Unregistered, unregistered_after
from console.triage.remembered import remembered
from console.triage.standing import Standing, standing_after
from console.triage.tiers import Tier, tiers_after

T = TypeVar("T")

KEPT = timedelta(minutes=30)
"""The time for which observations are kept."""
SETTLES = timedelta(seconds=20)
"""The time after a broker left or returned within which clients look for leaders and coordinators, so that a growing
lag is not the fault of consumers.
"""
FEWEST_JUMPS = 3
"""Minimum number of elections of the quorum, each with a leader, from which they count as too many: more than a
failover and its reversal.
"""
FEWEST_UNEXPLAINED = 2
"""Minimum number of these elections that no restart explains."""
CALM, LONGER = timedelta(seconds=60), 3
"""The time without an election after which the quorum is calm again; and the factor of the average time between
elections, which counts if it gives a longer time."""
MOST_INTERVALS = 64
ABSENCES = (symptoms.BROKER_GONE, symptoms.BROKER_SILENT)
FLAPS = 3
"""Minimum number of absences of a broker while kac watched that are more than restarts."""
QUICK = timedelta(seconds=3)
"""Maximum time for which a broker may not have answered before its leaders moved, if it was stopped in order: after a
crash the controller moves them after broker.session.timeout.ms, 9 s, less at most an interval of heartbeats, 2 s.
"""
APART = timedelta(seconds=4)
"""Maximum time between two polls that can show whether a broker answered until its leaders moved."""
UNHEARD = timedelta(seconds=7)
"""Minimum time since a broker's last fetch of the metadata log when it was fenced, if it was not stopped in order:
controllers fence a broker after broker.session.timeout.ms, 9 s, and polls see that up to 4 s later or earlier.
"""
PROVED = timedelta(seconds=1)
"""The time after a broker began to refuse connections from which on a description of the cluster shows whether it
handed its leaders over: before a broker ends, all others know about the leaders that it handed over.
"""


class Interval(Struct, frozen=True):
    """A time span in which a symptom was seen in every poll."""

    began: datetime
    ended: datetime | None = None
    """The time of the first poll without the symptom, UTC; None while the symptom is seen."""


class HandedOver(Struct, frozen=True):
    """A stop of a broker in order: it handed its leaders over before it ended."""

    at: datetime
    """The time of the first poll that showed the broker fenced, or its leaders elsewhere, although it had been up until
    then, UTC.
    """
    over: datetime | None = None
    """The time at which the broker led again, or was in sync with a leader, UTC; None until then."""
    unheard: bool = False
    """Whether the broker's last fetch of the metadata log was long before it was fenced: then it was not stopped in
    order, but lost its connection to the controllers. A broker that is stopped fetches until its end.
    """


class Epoch(NamedTuple):
    """An epoch of the quorum in which a leader was seen."""

    number: int
    leader: int
    at: datetime
    """The time of the first poll that showed the epoch, UTC."""


class Observations(Struct, frozen=True):
    """All that is known from the polls so far, as the rules of causes need it."""

    began: datetime
    """The time of the first poll, UTC."""
    last: symptoms.Poll
    seen: Mapping[symptoms.Key, symptoms.Symptom]
    """The symptoms of the last poll, and those that fade."""
    intervals: Mapping[symptoms.Key, tuple[Interval, ...]]
    """Symptom -> the intervals in which it was seen, the earliest first."""
    dirs: Mapping[tuple[int, str], tuple[DirSample, ...]] = field(default_factory=dict)
    """(broker, log directory) -> the samples of its free bytes, the earliest first."""
    looks: Looks | None = None
    """Two former readings of all log directories; None before the first reading."""
    epochs: tuple[Epoch, ...] = ()
    """The epochs of the quorum with a leader, the earliest first. A failover may use several epochs, of which polls see
    only few.
    """
    past: Past = NOTHING
    """The events between polls, such as changes of settings."""
    copies: Mapping[Replica, Copy] = field(default_factory=dict)
    """Replica -> the progress of its copy by a running reassignment."""
    racks: Mapping[int, str] = field(default_factory=dict)
    """Broker -> its rack in the last listing with the broker: before Kafka 4.0, brokers that are down are not
    listed.
    """
    standing: Standing = Standing()
    """The findings of lint's rules that are causes."""
    handed_over: Mapping[int, HandedOver] = field(default_factory=dict)
    """Broker -> its last stop in order."""
    fell: Mapping[int, datetime] = field(default_factory=dict)
    """Broker -> the last time at which its leaders were moved because it did not answer any more, UTC."""
    left: Mapping[int, tuple[datetime, ...]] = field(default_factory=dict)
    """Broker -> the times at which its replicas left ISRs, UTC, the earliest first."""
    unregistered: Mapping[int, Unregistered] = field(default_factory=dict)
    """The brokers that the cluster listed before and does not list any more."""
    tiers: Mapping[Place, Tier] = field(default_factory=dict)
    """Partition -> the progress of the copies of its segments to remote storage."""
    took: Mapping[int, Took] = field(default_factory=dict)
    """Broker -> the times that it took to answer probes."""
    late: Mapping[int, Late] = field(default_factory=dict)
    """Broker -> its times, for brokers that answer far later than the others."""
    fading: Mapping[symptoms.Key, Fading] = field(default_factory=dict)
    """The symptoms in `seen` that the last poll does not show, and whose end is not proved."""

    @property
    def watched(self) -> timedelta:
        """The time between the first and the last poll."""
        return self.last.at - self.began

    def since(self, symptom: symptoms.Symptom) -> datetime | None:
        """Return the beginning of the last interval of a symptom.

        Returns:
            UTC; None if the symptom was there at the first poll, or was never seen.
        """
        intervals = self.intervals.get((symptom.name, symptom.subject))
        return intervals[-1].began if intervals and intervals[-1].began > self.began else None

    def lasts(self, name: str, subject: symptoms.Subject, long: timedelta) -> bool:
        """Return whether the last poll has a symptom that began at least `long` ago. For a symptom that was there at
        the first poll, the time counts from that poll.
        """
        symptom = self.seen.get((name, subject))
        return symptom is not None and (self.since(symptom) or self.began) <= self.last.at - long

    def came_back(self, broker: int, lately: timedelta) -> datetime | None:
        """Return the time at which a broker came back, UTC, if that is at most `lately` ago; else None."""
        mine = (self.intervals.get((name, symptoms.Subject(broker=broker)), ()) for name in ABSENCES)
        ended = [each[-1].ended for each in mine if each]
        last = max((each for each in ended if each is not None), default=None)
        return last if last is not None and last > self.last.at - lately else None

    def back_since(self, broker: int, at: datetime | None = None) -> datetime | None:
        """Return the time since which a broker answers again after an absence.

        Args:
            at: a time, UTC: only absences that ended after it count; None for all absences.

        Returns:
            UTC; None if the broker is away now, or was not away.
        """
        mine = [each for name in ABSENCES for each in self.intervals.get((name, symptoms.Subject(broker=broker)), ())]
        ends = [each.ended for each in mine if each.ended is None or at is None or each.ended > at]
        return max((each for each in ends if each is not None), default=None) if None not in ends else None

    def absences(self) -> Iterator[tuple[int, Interval]]:
        """Yield (broker, interval) for each interval in which a broker was away or did not answer, the latest first."""
        found = [
            (subject.broker, interval)
            for name in ABSENCES
            for subject, mine in self.intervals_of(name).items()
            if subject.broker is not None
            for interval in mine
        ]
        yield from sorted(found, key=lambda each: each[1].began, reverse=True)

    def of(self, name: str) -> Sequence[symptoms.Symptom]:
        """Return the symptoms of the last poll with this name."""
        return _by_name(self.seen).get(name, ())

    def intervals_of(self, name: str) -> Mapping[symptoms.Subject, tuple[Interval, ...]]:
        """Return subject -> the intervals of its symptom with this name."""
        return _intervals_by_name(self.intervals).get(name, {})

    def of_groups(self, name: str) -> Mapping[str, symptoms.Symptom]:
        """Return group -> its symptom with this name in the last poll; only symptoms whose subject is a whole group."""
        return _by_group(self.seen).get(name, {})

    def intervals_of_groups(self, name: str) -> Mapping[str, Sequence[Interval]]:
        """Return group -> the intervals of its symptom with this name; only symptoms whose subject is a whole group."""
        return _intervals_by_group(self.intervals).get(name, {})

    def times(self, key: symptoms.Key) -> int:
        """Return how often a symptom began within the last 30 minutes (`KEPT`), at most 64 (`MOST_INTERVALS`)."""
        return len(self.intervals.get(key, ()))


@remembered
def _by_name(seen: Mapping[symptoms.Key, symptoms.Symptom]) -> Mapping[str, Sequence[symptoms.Symptom]]:
    found: dict[str, list[symptoms.Symptom]] = {}
    for each in seen.values():
        found.setdefault(each.name, []).append(each)
    return found


@remembered
def _intervals_by_name(
    intervals: Mapping[symptoms.Key, tuple[Interval, ...]],
) -> Mapping[str, Mapping[symptoms.Subject, tuple[Interval, ...]]]:
    found: dict[str, dict[symptoms.Subject, tuple[Interval, ...]]] = {}
    for (name, subject), mine in intervals.items():
        found.setdefault(name, {})[subject] = mine
    return found


@remembered
def _first_end(intervals: Mapping[symptoms.Key, tuple[Interval, ...]]) -> datetime | None:
    """Return the time at which the first of all intervals ended, UTC; None if none has ended."""
    ends = (mine[0].ended for mine in intervals.values())
    return min((each for each in ends if each is not None), default=None)


@remembered
def _by_group(seen: Mapping[symptoms.Key, symptoms.Symptom]) -> Mapping[str, Mapping[str, symptoms.Symptom]]:
    return _of_groups(seen)


@remembered
def _intervals_by_group(
    intervals: Mapping[symptoms.Key, tuple[Interval, ...]],
) -> Mapping[str, Mapping[str, Sequence[Interval]]]:
    return _of_groups(intervals)


def _of_groups(by_key: Mapping[symptoms.Key, T]) -> Mapping[str, Mapping[str, T]]:
    """Return name of a symptom -> group -> value, for the entries whose subject is a whole group."""
    found: dict[str, dict[str, T]] = {}
    for (name, subject), value in by_key.items():
        if subject.group is not None and subject.topic is None:
            found.setdefault(name, {})[subject.group] = value
    return found


def earliest(moments: Iterable[datetime | None]) -> datetime | None:
    """Return the earliest of several beginnings of symptoms; None if one of them is None, which means at or before the
    first poll.
    """
    known = list(moments)
    return min((each for each in known if each is not None), default=None) if None not in known else None


def begin(poll: symptoms.Poll) -> Observations:
    """Return the observations after the first poll."""
    return _advanced(Observations(poll.at, poll, {}, {}), poll)


def after(observations: Observations, poll: symptoms.Poll) -> Observations:
    """Return the observations after another poll.

    Args:
        observations: the observations up to the last poll, which stay unchanged.
        poll: a poll with a later time, UTC, than the last one of the observations. An earlier one (the clock was set
            back) starts new observations, because rates and durations would be negative.

    Returns:
        The symptoms of the poll and of several polls together; `seen` is the same object as before if the symptoms are
        equal. Intervals, elections and events older than 30 minutes (`KEPT`) are dropped.
    """
    return _advanced(observations, poll) if poll.at > observations.last.at else begin(poll)


def _advanced(observations: Observations, poll: symptoms.Poll) -> Observations:
    # Several polls may follow one round of probes.
    is_round = poll.took is not observations.last.took or not observations.took
    took = took_after(observations.took, poll.took) if is_round else observations.took
    known = replace(
        observations,
        last=poll,
        dirs=_with_dirs(observations.dirs, poll),
        looks=looks_after(observations.looks, poll.snapshot, poll.at),
        epochs=_epochs(observations, poll),
        past=past_after(observations.past, observations.last, poll),
        copies=copies_after(observations.copies, observations.last.snapshot, poll.snapshot, poll.at),
        standing=standing_after(observations.standing, observations.last, poll),
        handed_over=_handed_over(observations, poll),
        fell=_fell(observations, poll),
        unregistered=unregistered_after(
            observations.unregistered,
            observations.last.snapshot.cluster,
            poll.snapshot.cluster,
            observations.last.silent,
            poll.at - observations.last.at,
            poll.at,
        ),
        took=took,
        late=late_after(observations.late, took) if took is not observations.took else observations.late,
        tiers=tiers_after(observations.tiers, observations.last.snapshot.tiered, poll.snapshot.tiered, poll.at)
        if observations.tiers or poll.snapshot.tiered
        else {},
        racks={**observations.racks, **{each.id: each.rack for each in poll.snapshot.cluster.brokers if each.rack}},
    )
    found = symptoms.shown(poll)
    found.update(((each.name, each.subject), each) for each in _over_time(known))
    # Equal symptoms become the same object, so that results based on them are not computed again.
    now = _same_as(observations.seen, found)
    former, fading = _with_former(observations, now, known.past, poll)
    if former:
        now = _same_as(observations.seen, {**found, **former})
    intervals = _intervals(observations, now, poll.at)
    # Drop these symptoms only now: the intervals of brokers show whether one left or returned a moment ago.
    left = [each.at for each in known.handed_over.values()]
    if not _is_settled(intervals, left, observations.began, poll.at):
        first = poll.at - 2 * SETTLES
        settled = {
            key: symptom
            for key, symptom in now.items()
            if key[0] != symptoms.LAG_GROWS or (key in observations.seen and intervals[key][-1].began <= first)
        }
        now = _same_as(observations.seen, settled)
        intervals = _intervals(observations, now, poll.at)
        fading = {key: each for key, each in fading.items() if key in now}
    return replace(known, seen=now, intervals=intervals, left=_left(observations, now, poll), fading=fading)


def _with_former(
    observations: Observations, now: Mapping[symptoms.Key, symptoms.Symptom], past: Past, poll: symptoms.Poll
) -> tuple[Mapping[symptoms.Key, symptoms.Symptom], Mapping[symptoms.Key, Fading]]:
    """Return the symptoms of the last poll that go on although this poll does not show them, and those of them that
    fade (`fading`).

    Args:
        now: the symptoms that this poll shows.
    """
    if now is observations.seen or now.keys() >= observations.seen.keys():
        return {}, {}
    former = observations.seen
    ended = [key for key in former if key not in now and may_fade(key)]
    unread = unread_lags(poll.snapshot) if ended else ()
    going_on = {key: former[key] for key in ended if still_grows(key, poll.snapshot, unread)}
    began = {key: observations.intervals[key][-1].began for key in ended if key not in going_on}
    fading = fading_after(observations.fading, former, began, past, poll)
    return {**going_on, **{key: each.symptom for key, each in fading.items()}}, fading


def _same_as(
    before: Mapping[symptoms.Key, symptoms.Symptom], now: Mapping[symptoms.Key, symptoms.Symptom]
) -> Mapping[symptoms.Key, symptoms.Symptom]:
    return before if now == before else now


def _is_settled(
    intervals: Mapping[symptoms.Key, tuple[Interval, ...]], left: Iterable[datetime], began: datetime, at: datetime
) -> bool:
    """Return whether no broker left or returned within the last `SETTLES` (20 s).

    Args:
        intervals: the intervals of all symptoms.
        left: the times at which brokers handed their leaders over, UTC.
        began: the time of the first poll, UTC.
        at: the present time, UTC.
    """
    last = [mine[-1] for name in ABSENCES for mine in _intervals_by_name(intervals).get(name, {}).values()]
    moments = [*(interval.ended or interval.began for interval in last), *left]
    # A broker that was away at the first poll left before it: clients have settled.
    return all(moment <= max(began, at - SETTLES) for moment in moments)


def _intervals(
    observations: Observations, now: Mapping[symptoms.Key, symptoms.Symptom], at: datetime
) -> Mapping[symptoms.Key, tuple[Interval, ...]]:
    """Return the intervals of all symptoms after a poll: those of symptoms that are seen go on, the others end.
    Unchanged entries are the same objects. now: the symptoms of the poll; at: its time, UTC.
    """
    oldest, first_end = at - KEPT, _first_end(observations.intervals)
    old: list[symptoms.Key] = []
    if first_end is not None and first_end <= oldest:
        some = observations.intervals.items()
        old = [key for key, mine in some if mine[0].ended is not None and mine[0].ended <= oldest]
    if not old and (now is observations.seen or now.keys() == observations.seen.keys()):
        return observations.intervals
    intervals = dict(observations.intervals)
    for key in old:
        kept = tuple(interval for interval in intervals[key] if interval.ended is None or interval.ended > oldest)
        if kept:
            intervals[key] = kept
        else:
            del intervals[key]
    for key in observations.seen:
        if key not in now:
            *ended, last = intervals[key]
            intervals[key] = (*ended, Interval(last.began, at))
    for key in now:
        if key not in observations.seen:
            intervals[key] = (*intervals.get(key, ()), Interval(at))[-MOST_INTERVALS:]
    return intervals


def elections(observations: Observations, announced: Collection[symptoms.Subject] = ()) -> Sequence[Epoch]:
    """Return the elections of the quorum that no restart explains, the earliest first.

    Args:
        announced: subjects of announced restarts, such as `Subject(broker=1)`.

    Returns:
        The epochs that began more than 20 s (`SETTLES`) before or after an announced broker's absence or an orderly
        stop: a controller that stops, or comes back, may hand over its leadership. Empty if fewer than 3
            (`FEWEST_JUMPS`) were seen in all.
    """
    if len(observations.epochs) <= FEWEST_JUMPS:
        return ()
    away = [
        each for subject in announced for name in ABSENCES for each in observations.intervals.get((name, subject), ())
    ]
    planned = list(_planned(observations))
    # Skip the first epoch: kac did not see its election.
    return [
        each
        for each in observations.epochs[1:]
        if not any(one.began - SETTLES <= each.at <= (one.ended or observations.last.at) + SETTLES for one in away)
        and not any(abs(each.at - at) <= SETTLES for at in planned)
    ]


def _is_restless(some: Sequence[Epoch], at: datetime) -> bool:
    """Return whether there are too many elections, and the time since the last is shorter than `CALM`. at: the time of
    the last poll.
    """
    if len(some) < FEWEST_UNEXPLAINED:
        return False
    average = (some[-1].at - some[0].at) / (len(some) - 1)
    return at - some[-1].at <= max(CALM, LONGER * average)


def without_restarts(observations: Observations, announced: Collection[symptoms.Subject]) -> Observations:
    """Return the observations without the symptom of too many elections of the quorum, if announced restarts explain
    it.

    Args:
        observations: the observations with all symptoms.
        announced: as for `elections`.

    Returns:
        The same object if nothing is announced, if there is no such symptom, or if there are too many elections without
        those that the restarts explain.
    """
    key = symptoms.EPOCH_JUMPS, symptoms.CLUSTER
    if (
        not announced
        or key not in observations.seen
        or _is_restless(elections(observations, announced), observations.last.at)
    ):
        return observations
    return replace(observations, seen={each: symptom for each, symptom in observations.seen.items() if each != key})


@remembered
def in_sync_with_others(topics: Mapping[str, Topic]) -> frozenset[int]:
    """Return the brokers that are in an ISR together with another broker."""
    sets = {each.isr for topic in topics.values() for each in topic.partitions if len(each.isr) > 1}
    return frozenset(broker for isr in sets for broker in isr)


@remembered
def serving(topics: Mapping[str, Topic]) -> frozenset[int]:
    """Return the brokers that lead a partition or are in sync with a leader, so that they could lead."""
    return in_sync_with_others(topics) | {each.leader for topic in topics.values() for each in topic.partitions}


def _handed_over(observations: Observations, poll: symptoms.Poll) -> Mapping[int, HandedOver]:
    """Return broker -> its last stop in order, of the last 30 minutes (`KEPT`): the broker was fenced, or left all ISRs
    and led no partition any more, while it answered, or before it could have been fenced because it did not answer.
    """
    known, last = observations.handed_over, observations.last
    old, new = last.snapshot.topics, poll.snapshot.topics
    left = symptoms.gone(poll.snapshot) - symptoms.gone(last.snapshot)
    if old is not new:
        serve = serving(new)
        back = [broker for broker, each in known.items() if each.over is None and broker in serve]
        known = {**known, **{broker: replace(known[broker], over=poll.at) for broker in back}} if back else known
        replicas = {broker for _, each in symptoms.out_of_sync(new) for broker in each.replicas}
        left |= (in_sync_with_others(old) - serve) & replicas
    # If polls are further apart, they do not show that a broker was up until it left.
    if left and poll.at - last.at <= APART:
        known_open = {broker for broker, each in known.items() if each.over is None}
        served = (left & in_sync_with_others(old)) - known_open
        over = {b: HandedOver(poll.at) for b in sorted(served) if not _failed(observations, b, poll.at)}
        known = {**known, **over} if over else known
    lost = [broker for broker, each in known.items() if not each.unheard and _was_unheard(poll, broker, each)]
    known = {**known, **{broker: replace(known[broker], unheard=True) for broker in lost}} if lost else known
    # While a broker is away without controllers that hear it, this is all that shows why.
    away = symptoms.gone(poll.snapshot)
    kept = {
        broker: each
        for broker, each in known.items()
        if each.at > poll.at - KEPT or (each.unheard and each.over is None and broker in away)
    }
    return known if len(kept) == len(known) else kept


def _leading(topics: Mapping[str, Topic]) -> frozenset[int]:
    """Return the brokers that lead a partition of which another replica is in sync, so that they could hand it over."""
    return frozenset(each.leader for topic in topics.values() for each in topic.partitions if len(each.isr) > 1)


def _fell(observations: Observations, poll: symptoms.Poll) -> Mapping[int, datetime]:
    """Return broker -> the last time at which its leaders were moved without a handover, of the last 30 minutes
    (`KEPT`): the broker did not answer, and the cluster still described it as a leader `PROVED` (1 s) later.
    """
    known, last = observations.fell, observations.last
    if last.silent and poll.at - last.at <= APART:
        described = last.snapshot.read_at.get(Part.TOPICS, observations.began)
        gone, gone_before = symptoms.gone(poll.snapshot), symptoms.gone(last.snapshot)
        dead = {
            broker
            for broker in last.silent - gone_before
            if (since := observations.since(symptoms.Symptom(symptoms.BROKER_SILENT, symptoms.Subject(broker=broker))))
            and described >= since + PROVED
        }
        if dead and (poll.snapshot.topics is not last.snapshot.topics or dead & gone):
            led, leads = _leading(last.snapshot.topics), _leading(poll.snapshot.topics)
            fell = {broker for broker in dead & led if broker in gone or broker not in leads}
            known = {**known, **dict.fromkeys(sorted(fell), poll.at)} if fell else known
    if all(at > poll.at - KEPT for at in known.values()):
        return known
    return {broker: at for broker, at in known.items() if at > poll.at - KEPT}


def _was_unheard(poll: symptoms.Poll, broker: int, stop: HandedOver) -> bool:
    """Return whether a broker's last fetch of the metadata log was long before it was fenced, by the clock of the
    quorum's leader. False while that is unknown: a new leader of the quorum has not heard from the broker, and after
    some minutes none lists it.
    """
    quorum, read = poll.snapshot.quorum, poll.snapshot.read_at.get(Part.QUORUM)
    if quorum is None or read is None or read < stop.at or stop.over is not None or broker == quorum.leader_id:
        return False
    clock = leaders_clock(quorum)
    last = max((each.last_fetch_ms for each in (*quorum.voters, *quorum.observers) if each.id == broker), default=-1)
    if clock is None or last <= 0 or broker not in symptoms.gone(poll.snapshot):
        return False
    return timedelta(milliseconds=clock - last) - (read - stop.at) >= UNHEARD


def _failed(observations: Observations, broker: int, at: datetime) -> bool:
    """Return whether a broker failed before its leaders moved, instead of being stopped in order. A broker that does
    not answer failed if it neither refuses nor closes connections, if it did not answer for longer than a stop in
    order takes, or if the cluster was described with it meanwhile. A broker that answers failed if the cluster does
    not have it any more.

    Args:
        at: the time of the poll that showed that the leaders had moved, UTC.
    """
    silent = observations.seen.get((symptoms.BROKER_SILENT, symptoms.Subject(broker=broker)))
    if silent is None:
        return broker in symptoms.gone(observations.last.snapshot)
    since = observations.since(silent)
    if broker not in observations.last.refusing | observations.last.closing:
        return True
    described = observations.last.snapshot.read_at.get(Part.TOPICS)
    return since is None or at - since > QUICK or (described is not None and described >= since + PROVED)


def _left(
    observations: Observations, now: Mapping[symptoms.Key, symptoms.Symptom], poll: symptoms.Poll
) -> Mapping[int, tuple[datetime, ...]]:
    """Return broker -> the times of the polls at which its replicas had left ISRs, of the last 30 minutes (`KEPT`).
    Replicas that reassignments add are not counted, since they were in no ISR. While one replica of a broker is out,
    others that leave count as the same episode.
    """
    known, topics = observations.left, observations.last.snapshot.topics
    if now is not observations.seen and poll.snapshot.topics is not topics:
        found: set[int] = set()
        for each in _by_name(now).get(symptoms.UNDER_REPLICATED, ()):
            if (each.name, each.subject) not in observations.seen and not found.issuperset(each.brokers):
                was = partition_in(topics.get(each.subject.topic or ""), each.subject.partition or 0)
                found.update(set(each.brokers).intersection(was.isr if was is not None else ()))
        if found:
            found.difference_update(
                *(each.brokers for each in _by_name(observations.seen).get(symptoms.UNDER_REPLICATED, ()))
            )
        new = {broker: (*known.get(broker, ()), poll.at)[-MOST_INTERVALS:] for broker in found}
        known = {**known, **new} if new else known
    if all(mine[0] > poll.at - KEPT for mine in known.values()):
        return known
    kept = {broker: tuple(at for at in mine if at > poll.at - KEPT) for broker, mine in known.items()}
    return {broker: mine for broker, mine in kept.items() if mine}


def _planned(observations: Observations) -> Iterator[datetime]:
    """Yield the times at which brokers that were stopped in order left, and those at which they returned: then a
    controller may hand over its leadership.
    """
    for broker, stop in observations.handed_over.items():
        yield stop.at
        for name in ABSENCES:
            for each in observations.intervals.get((name, symptoms.Subject(broker=broker)), ()):
                if each.ended is None or each.ended > stop.at:
                    yield from (each.began, each.ended or each.began)


# -- symptoms that need several polls ----------------------------------------------------------------------------------


def _over_time(observations: Observations) -> Iterator[symptoms.Symptom]:
    some = elections(observations)
    if _is_restless(some, observations.last.at):
        yield symptoms.Symptom(symptoms.EPOCH_JUMPS, symptoms.CLUSTER, count=len(some))
    for each in dict.fromkeys((loss.jump.topic, loss.jump.partition) for loss in observations.past.losses):
        yield symptoms.Symptom(symptoms.RECORDS_LOST, symptoms.Subject(topic=each[0], partition=each[1]))
    fell = {(fall.topic, fall.partition) for fall in observations.last.facts.logs.falls}
    # An election that may have been clean counts only if the log's end fell, which proves that it was truncated.
    proven = (led.place for led in observations.past.unclean if led.sure or led.read is not None or led.place in fell)
    for place in dict.fromkeys(proven):
        yield symptoms.Symptom(symptoms.UNCLEAN_LEADER, symptoms.Subject(topic=place[0], partition=place[1]))
    for passed in observations.past.passed:
        yield symptoms.Symptom(symptoms.BEGAN_AT_END, symptoms.Subject(group=passed.group, topic=passed.topic))
    for left in observations.past.without_new:
        yield symptoms.Symptom(symptoms.NEW_UNREAD, symptoms.Subject(group=left.group.name, topic=left.growth.topic))


def _epochs(observations: Observations, poll: symptoms.Poll) -> tuple[Epoch, ...]:
    quorum = poll.snapshot.quorum
    # Keep the last epoch at any age: an election shows only in comparison with it.
    kept = tuple(each for each in observations.epochs if each.at > poll.at - KEPT) or observations.epochs[-1:]
    if quorum is None or min(quorum.leader_id, quorum.leader_epoch) < 0:
        return kept  # candidates that lose an election raise the epoch too
    if kept and kept[-1].number == quorum.leader_epoch:
        return kept
    return (*kept, Epoch(quorum.leader_epoch, quorum.leader_id, poll.at))[-MOST_INTERVALS:]


def _with_dirs(
    before: Mapping[tuple[int, str], tuple[DirSample, ...]], poll: symptoms.Poll
) -> dict[tuple[int, str], tuple[DirSample, ...]]:
    return {
        (broker, each.path): sampled(
            before.get((broker, each.path), ()), DirSample(poll.at, each.usable_bytes, each.size)
        )
        for broker, dirs in poll.snapshot.log_dirs.items()
        for each in dirs
        # Skip brokers before Kafka 3.3 (KIP-827), which report -1 for the size of a volume.
        if each.usable_bytes >= 0
    }

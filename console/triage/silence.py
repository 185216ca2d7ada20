"""Finds topics that producers stopped writing to, at a change or without one, and leaders that producers stopped
writing to. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import NamedTuple

from console.model.cluster import Topic, partition_in
from console.model.observed_logs import ObservedLog, ObservedLogs, Place
from console.triage import symptoms
from console.triage.observations import Observations
from console.triage.remembered import remembered

WROTE, QUIET, SETTLES = 30.0, 12.0, 5.0
"""Limits in seconds: maximum from the last write to a topic to the change; minimum without new records since; maximum
for records in flight that arrive after the change."""
STEADY, SEEN, PAUSES, FORGOTTEN = 8.0, 2.0, 3.0, 1_800.0
"""Limits for a silence without a change: the minimum seconds between the first and the last write; the minimum of that
time, and of the silence, as multiples of the longest pause before; the seconds after which the topic counts as one
without producers."""


class Silence(NamedTuple):
    """A topic that producers wrote to steadily and no longer write to."""

    topic: str
    grew_at: float
    """The time of the last poll that saw new records in the topic, Unix seconds."""
    pause: float
    """The longest time in seconds for which the topic may have got no record before the silence: its true longest pause
    is no longer than this.
    """
    wrote: float = 0.0
    """Seconds from the first read of the topic's logs to `grew_at`."""


class Written(NamedTuple):
    """A partition in which kac saw new records since it began to watch."""

    topic: str
    number: int
    log: ObservedLog


class Growth(NamedTuple):
    """Which topics and partitions got new records, and when, as the polls show it."""

    silent: Sequence[Silence]
    """The topics that got records steadily and get none any more, the one with the latest record first."""
    written: Sequence[Written]
    """The partitions in which kac saw new records; empty if there are more than `MOST_WRITTEN`."""
    alive: Mapping[str, float]
    """Topic -> the time at which its logs were first read, Unix seconds, for the topics that still get new records."""


MOST_WRITTEN = 5_000
"""Maximum number of partitions with new records that are compared by leader; with more, they are not compared
at all.
"""


def silences(observations: Observations) -> Sequence[Silence]:
    """Return the topics that got records steadily and get none any more, the one with the latest record first. Silences
    of more than half an hour are left out.
    """
    return _growth(observations.last.facts.logs, observations.last.snapshot.topics).silent


@remembered
def _growth(logs: ObservedLogs, topics: Mapping[str, Topic]) -> Growth:
    # A topic's longest pause is at most that of any of its partitions that was written to all the time.
    seen: dict[str, tuple[float, float, float]] = {}  # topic -> last write, first read, shortest of the longest pauses
    written: list[Written] = []
    for (topic, number), log in logs.logs.items():
        if log.grew_at is not None:
            last, first, pause = seen.get(topic, (log.grew_at, log.first_at, log.pause))
            seen[topic] = max(last, log.grew_at), min(first, log.first_at), min(pause, log.pause)
            if len(written) <= MOST_WRITTEN:
                written.append(Written(topic, number, log))
    found = [
        Silence(topic, last, pause, last - first)
        for topic, (last, first, pause) in seen.items()
        if last - first >= max(STEADY, SEEN * pause)
        and max(QUIET, PAUSES * pause) <= logs.at - last <= FORGOTTEN
        and topic in topics
        and not topics[topic].internal
        and max(QUIET, PAUSES * pause) <= _read_at(topics[topic], logs) - last
    ]
    alive = {
        topic: first
        for topic, (last, first, pause) in seen.items()
        if topic in topics and not topics[topic].internal and logs.at - last <= max(QUIET, PAUSES * pause)
    }
    return Growth(
        sorted(found, key=lambda each: (-each.grew_at, each.topic)),
        written if len(written) <= MOST_WRITTEN else (),
        alive,
    )


def _read_at(topic: Topic, logs: ObservedLogs) -> float:
    """Return the Unix time in seconds up to which all logs of the topic that ever grew were read. Partitions without a
    leader don't count: they get no records and can't be read.
    """
    known = (logs.logs.get((topic.name, each.number)) for each in topic.partitions if each.leader >= 0)
    return min((log.at for log in known if log is not None and log.grew_at is not None), default=logs.at)


BRIEF, STANDS, MOST_OF, FEWEST, FEWEST_TOPICS = 8.0, 15.0, 0.8, 3, 2
"""Limits for a leader whose partitions are not written to: the longest pause of a steady partition, and the seconds
without a record; the share of its partitions that stand, and of those of other leaders that do not; the minimum number
of partitions on each side, and of topics."""
UNREAD = 2.5
"""Maximum time since the last read of a log for it to be judged, as a multiple of the time between its last
two reads.
"""


class Unwritten(NamedTuple):
    """A leader to whose partitions producers stopped writing, all at once, while they write to partitions of other
    leaders. `partitions` are those without new records.
    """

    leader: int
    partitions: Sequence[tuple[str, int]]
    since: float
    """The time of the last poll that saw a new record in one of `partitions`, Unix seconds."""
    others: int
    """The number of partitions of other leaders that still get records."""


def unwritten(observations: Observations) -> Sequence[Unwritten]:
    """Return the leaders whose partitions no longer get records, while those of the other leaders do."""
    return _unwritten(observations.last.facts.logs, observations.last.snapshot.topics)


@remembered
def _unwritten(logs: ObservedLogs, topics: Mapping[str, Topic]) -> Sequence[Unwritten]:
    by_leader: dict[int, list[Written]] = {}
    for each in _growth(logs, topics).written:
        log, partition = each.log, partition_in(topics.get(each.topic), each.number)
        # A log that kac could not read lately shows neither that it is written to nor that it is not.
        is_read = logs.at - log.at <= UNREAD * log.every
        if partition is not None and _is_steady(log) and is_read and not topics[each.topic].internal:
            by_leader.setdefault(partition.leader, []).append(each)
    stand = {leader: [each for each in mine if _stands(each.log)] for leader, mine in by_leader.items()}
    alive: dict[str, set[int]] = {}  # topic -> the leaders of its partitions that are written to
    for leader, mine in by_leader.items():
        for each in mine:
            if not _stands(each.log):
                alive.setdefault(each.topic, set()).add(leader)
    found = []
    for leader, mine in stand.items():
        count = sum(len(by_leader[other]) for other in by_leader if other != leader)
        living = count - sum(len(stand[other]) for other in by_leader if other != leader)
        # A topic that stands as a whole has lost its producer, and says nothing about the leader.
        of_both = [each for each in mine if alive.get(each.topic, set()) - {leader}]
        if (
            leader >= 0
            and len(mine) >= MOST_OF * len(by_leader[leader])
            and len(of_both) >= FEWEST
            and len({each.topic for each in of_both}) >= FEWEST_TOPICS
            and living >= max(FEWEST, MOST_OF * count)
        ):
            places = sorted((each.topic, each.number) for each in mine)
            found.append(Unwritten(leader, places, max(each.log.grew_at or 0.0 for each in mine), living))
    return found


def _is_steady(log: ObservedLog) -> bool:
    """Return whether a log got records with short pauses only, for some time."""
    pause = log.recent_pause
    return pause <= BRIEF and (log.grew_at or 0.0) - log.first_at >= max(STEADY, SEEN * pause)


def _stands(log: ObservedLog) -> bool:
    return log.at - (log.grew_at or log.at) >= max(STANDS, PAUSES * log.recent_pause)


WROTE_FOR, REMAINS, TIMES, HURRIED, RETRIED = 60.0, 45.0, 5.0, 5.0, 30.0
"""Limits in seconds for producers that did not come back: the minimum of steady writes before a broker stopped; that of
the silence, also as a multiple of the longest pause; and the last write, before the stop and after it."""


class NotBack(NamedTuple):
    """A topic whose producers did not resume after a broker stopped."""

    silence: Silence
    broker: int
    others: int
    """The number of other topics that were written to before the stop and are written to again."""


def not_back(observations: Observations) -> Sequence[NotBack]:
    """Return the topics that got records steadily until a broker stopped that leads some of their partitions, or is
    their preferred leader, and that got none since. All their partitions must have leaders, and at least as many
    other topics must get records again.
    """
    growth = _growth(observations.last.facts.logs, observations.last.snapshot.topics)
    if not growth.silent:
        return ()
    # A broker that only answers kac late still serves its clients.
    gone = observations.intervals_of(symptoms.BROKER_GONE).items()
    stops = [
        (about.broker, each.began.timestamp()) for about, some in gone for each in some if about.broker is not None
    ]
    stops += [(broker, each.at.timestamp()) for broker, each in observations.handed_over.items()]
    topics, at = observations.last.snapshot.topics, observations.last.facts.logs.at
    found = []
    for each in growth.silent if stops else ():
        partitions = topics[each.topic].partitions
        led = all(one.leader >= 0 for one in partitions) and each.pause <= BRIEF and each.wrote >= WROTE_FOR
        if not led or at - each.grew_at < max(REMAINS, TIMES * each.pause):
            continue
        leading = {broker for one in partitions for broker in (*one.replicas[:1], one.leader)}
        stopped = (one for one, moment in stops if one in leading and -HURRIED <= each.grew_at - moment <= RETRIED)
        broker = next(stopped, None)
        others = sum(first <= each.grew_at - STEADY for first in growth.alive.values())
        if broker is not None and others:
            found.append(NotBack(each, broker, others))
    return [each for each in found if each.others >= len(found)]


FIRST_LOOK = 15.0
"""Seconds from the first poll within which every topic that existed then was read: a topic that is first read later is
new.
"""
APPEARED = 60.0
"""Maximum seconds between the last record in a topic and the first read of a new topic that is written to instead."""
SIMILAR = 0.8
"""Minimum similarity (the ratio of difflib, 0 to 1) of two names for one to be suspected to be a misspelling of the
other.
"""


def instead_of(observations: Observations) -> Sequence[tuple[Silence, str]]:
    """Return the topics without new records, each with the new topic of a similar name to which producers seem to write
    instead. Topics without such a new topic are left out.
    """
    return _instead_of(observations.last.facts.logs, observations.last.snapshot.topics, observations.began)


@remembered
def _instead_of(logs: ObservedLogs, topics: Mapping[str, Topic], began: datetime) -> Sequence[tuple[Silence, str]]:
    silent = _growth(logs, topics).silent
    if not silent:
        return ()
    first = began.timestamp() + FIRST_LOOK
    new = {topic: log.first_at for (topic, _), log in logs.logs.items() if log.first_at > first and log.last.end > 0}
    return [
        (each, found[0])
        for each in silent
        if (some := [name for name, at in new.items() if name in topics and abs(at - each.grew_at) <= APPEARED])
        and (found := get_close_matches(each.topic, some, 1, SIMILAR))
    ]


HEARTBEAT, TOGETHER = "__debezium-heartbeat.", 10.0
"""The default of topic.heartbeat.prefix of Debezium's connectors, with the dot after it; and the maximum number of
seconds between the last records of topics that one client wrote, beyond a pause of each."""


class HeartbeatsEnded(NamedTuple):
    """The topic of the heartbeats of a connector that writes no more."""

    silence: Silence
    prefix: str
    """The prefix of the connector's topics (topic.prefix)."""
    topics: Sequence[str]
    """Its other topics that fell silent at the same time."""


def heartbeats_ended(observations: Observations, silent: Sequence[Silence]) -> Sequence[HeartbeatsEnded]:
    """Return those of the silent topics that had the heartbeats of a connector, none of whose other topics gets records
    now: one that goes on without heartbeats was configured again.
    """
    ended = {
        each.topic.removeprefix(HEARTBEAT): each
        for each in silent
        if each.topic.startswith(HEARTBEAT) and each.topic != HEARTBEAT
    }
    if not ended:
        return ()
    growth = _growth(observations.last.facts.logs, observations.last.snapshot.topics)
    goes_on = {prefix for topic in growth.alive for prefix in _prefixes(topic) if prefix in ended}
    others: dict[str, list[str]] = {}
    for other in silent:
        for prefix in _prefixes(other.topic):
            each = ended.get(prefix)
            if each is not None and abs(other.grew_at - each.grew_at) <= TOGETHER + max(each.pause, other.pause):
                others.setdefault(prefix, []).append(other.topic)
    return [
        HeartbeatsEnded(each, prefix, others.get(prefix, ())) for prefix, each in ended.items() if prefix not in goes_on
    ]


def _prefixes(topic: str) -> Iterator[str]:
    """Yield the parts of a topic's name before each of its dots."""
    return (topic[:n] for n, sign in enumerate(topic) if sign == ".")


def fell_silent(observations: Observations, after: datetime, at: datetime, broker: int | None = None) -> Iterator[str]:
    """Yield the topics that got records until just before a change, and none since.

    Args:
        after: the time of the last read without the change, UTC.
        at: the time of the first read with the change, UTC.
        broker: only partitions that this broker leads count; None for all partitions.
    """
    logs = observations.last.facts.logs
    earliest, latest = after.timestamp() - WROTE, at.timestamp() + SETTLES
    for topic, by_leader in _last_writes(logs, observations.last.snapshot.topics).items():
        some = [*by_leader.values()] if broker is None else [by_leader[broker]] if broker in by_leader else []
        if not some:
            continue
        last = max(each.grew_at for each in some)
        # Measure the silence at the last read of the logs, not now: offsets are read less often than polls are taken.
        if min(each.read_at for each in some) - last >= QUIET and earliest <= last <= latest:
            yield topic


def fell_silent_at_leader(observations: Observations, broker: int, after: datetime) -> Iterator[Place]:
    """Yield the partitions of a leader that got records steadily until a change of this broker, or until it led them
    again, and none since, while partitions of the same topic with other leaders still get records.

    Args:
        broker: the leader.
        after: the time of the last read without the change, UTC.
    """
    topics, logs = observations.last.snapshot.topics, observations.last.facts.logs
    led = [
        (each, partition.leader)
        for each in _growth(logs, topics).written
        if (partition := partition_in(topics.get(each.topic), each.number)) is not None
    ]
    alive = {each.topic for each, leader in led if leader != broker and not _stands(each.log)}
    earliest = after.timestamp() - HURRIED
    for each, leader in led:
        if leader != broker or each.topic not in alive or topics[each.topic].internal or not _is_steady(each.log):
            continue
        last = each.log.grew_at or 0.0
        if last >= earliest and each.log.at - last >= max(REMAINS, TIMES * each.log.recent_pause):
            yield each.topic, each.number


class _Writes(NamedTuple):
    """The writes to those partitions of a topic that one broker leads."""

    grew_at: float
    """The time of the last poll that saw a new record in one of the partitions, Unix seconds."""
    read_at: float
    """The time up to which all of the partitions were read, Unix seconds."""


@remembered
def _last_writes(logs: ObservedLogs, topics: Mapping[str, Topic]) -> Mapping[str, Mapping[int, _Writes]]:
    """Return topic -> leader -> the writes to the partitions that it leads. Partitions without a leader, or without any
    record since the first read, are left out.
    """
    found: dict[str, dict[int, _Writes]] = {}
    for (name, number), log in logs.logs.items():
        topic = topics.get(name)
        if log.grew_at is None or topic is None or topic.internal or number >= len(topic.partitions):
            continue
        leader = topic.partitions[number].leader
        if leader < 0:
            continue
        by_leader = found.setdefault(name, {})
        known = by_leader.get(leader, _Writes(log.grew_at, log.at))
        by_leader[leader] = _Writes(max(log.grew_at, known.grew_at), min(log.at, known.read_at))
    return found

"""Finds symptoms: the problems that a single poll shows, each with its subject. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from msgspec import Struct, field

from console.lint.acceptance import Acceptance
from console.model import quorum as model_quorum
from console.model import transactions
from console.model.cluster import Group, GroupLag, LogRange, Partition, Topic
from console.model.codes import BROKER, GROUP
from console.model.config import ConfigPlace, ConfigResource, ConfigSet, min_isr, topic_resource
from console.model.coordinators import OFFSETS, SHARES, TRANSACTIONS
from console.model.lag_trend import LagTrend, recovers
from console.model.mirror import Beat, Flow, is_silent
from console.model.numbers import long_number, time_of
from console.model.observed_logs import Newest
from console.model.observers import not_in_sync
from console.model.parts import Part
from console.model.snapshot import LAG_UNREAD, Snapshot
from console.plan.topic_risks import ages_by_producers, are_all_enough, is_isr_impossible
from console.triage import connectors
from console.triage.facts import Facts
from console.triage.readers import DELIVERIES, Reading, is_below, is_beyond, reading_of
from console.triage.remembered import RememberedAmong, remembered
from console.triage.uncleaned import uncleaned

BROKER_GONE = "broker-gone"
BROKER_SILENT = "broker-silent"
LEADERLESS = "leaderless"
COORDINATOR_LEADERLESS = "coordinator-leaderless"
UNDER_REPLICATED = "under-replicated"
UNDER_MIN_ISR = "under-min-isr"
MIN_ISR_ABOVE_REPLICATION = "min-isr-above-replication"
NOT_PREFERRED = "not-preferred"
MOVING = "moving"
DIR_ERROR = "dir-error"
DIR_NEARLY_FULL = "dir-nearly-full"
NO_QUORUM_LEADER = "no-quorum-leader"
VOTER_BEHIND = "voter-behind"
EPOCH_JUMPS = "epoch-jumps"
REBALANCING = "rebalancing"
COMMITS_LATER = "commits-later"
"""Records arrive in the topics of a group that has not committed since. Only later polls show whether its
members read.
"""
LAG_GROWS = "lag-grows"
COMMIT_STANDS_STILL = "commit-stands-still"
OFFSET_OUT_OF_RANGE = "offset-out-of-range"
LSO_STANDS_STILL = "lso-stands-still"
RECORDS_LOST = "records-lost"
UNCLEAN_LEADER = "unclean-leader"
BEGAN_AT_END = "began-at-end"
NEW_UNREAD = "new-partitions-unread"
FUTURE_TIMESTAMP = "future-timestamp"
VIEWS_DISAGREE = "views-disagree"
CONTROLLER_SILENT = "controller-silent"
OBSERVER_STOPPED = "observer-stopped"
NO_BROKER = "no-broker"
VOTER_FORMATTED = "voter-formatted"
COMPACTED_GROWS = "compacted-grows"
CONSOLE_THROTTLED = "console-throttled"
CONNECTOR_FAILED = "connector-failed"
TASK_FAILED = "task-failed"
CONNECTOR_PAUSED = "connector-paused"
TASKS_UNASSIGNED = "tasks-unassigned"
WORKER_GONE = "worker-gone"
CONNECT_UNREACHABLE = "connect-unreachable"
DEAD_LETTERS_GROW = "dead-letters-grow"
MIRROR_SILENT = "mirror-silent"
MIRROR_HALTED = "mirror-halted"

OF_REPLICAS = (UNDER_REPLICATED, UNDER_MIN_ISR, LEADERLESS)
"""Symptoms of a partition that arise when brokers with its replicas are away."""

WORK = frozenset(
    {
        MOVING,
        REBALANCING,
        COMMITS_LATER,
        TASKS_UNASSIGNED,
        CONNECTOR_PAUSED,
        MIRROR_SILENT,
        MIRROR_HALTED,
        BEGAN_AT_END,
        NEW_UNREAD,
    }
)
"""Symptoms that are a problem only if a cause is known for them. Else they are normal work: reassignments run; members
join or leave, commit later, or have yet to find new partitions; Connect moves tasks to other workers; a flow of
MirrorMaker was shut down; a share group begins with new records.
"""

MOVING_STATES = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})
"""States in which a group does not read, because partitions are being assigned to its members."""

COORDINATORS = frozenset({OFFSETS, TRANSACTIONS, SHARES})
"""Internal topics: the leaders of their partitions are the coordinators of groups and transactions."""

IMBALANCE = 0.10
"""The share of a broker's preferred leaders that may be on other brokers without a symptom: the default of
leader.imbalance.per.broker.percentage, which brokers themselves tolerate.
"""
GROWTH = 0.1
"""Minimum growth of a lag to count, as a share of the records written meanwhile: less can't be told from noise within
half a minute.
"""
QUORUM_SECONDS = 15.0
"""Seconds without a description of the quorum after which it counts as without leader: an election takes one or two."""
SILENT_SECONDS = 5.0
"""Seconds without a description of the quorum after which it counts as without leader, if most of its voters do not
answer or their brokers are gone. A leader without a majority resigns after 1.5 times
controller.quorum.fetch.timeout.ms (KafkaRaftClient).
"""
FULL = 0.10
"""The share of usable bytes below which a disk is nearly full."""
LATE_SECONDS = 8.0
"""Seconds for which a broker has to show an outdated state to be reported: time for many fetches of the metadata log
and one round of requests.
"""
DEAD_LETTER_SECONDS = 120.0
"""Seconds after the last dead letter for which the topic counts as growing."""
WATCHED_MIRROR, HALTED_MIRROR, MISSED_WATCHED = 10.0, 120.0, 5
"""Minimum seconds for which kac has to see no new heartbeat of a flow that it watches; the minimum for heartbeats that
are copied, which pause for a while after a start; and the minimum number of missing heartbeats."""
AHEAD_MS = 3_600_000
"""Milliseconds by which a record's timestamp has to be in the future to be reported: the default of
message.timestamp.after.max.ms since Kafka 4.0.
"""
SECONDS_BELOW = 10**11
"""Timestamps below this are probably in seconds: in milliseconds they would be before March 1973."""


class Subject(Struct, frozen=True, omit_defaults=True, order=True, cache_hash=True):
    """The entity that a symptom or a cause is about. Fields that are None are left out of its JSON form; with all None,
    it is the whole cluster.
    """

    broker: int | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    rack: str | None = None
    dir: str | None = None
    key: str | None = None
    listener: str | None = None
    entity: str | None = None
    change: str | None = None
    """The local time at which kac saw the change that is the cause, such as ``10:31:05``. It makes two changes of a key
    separate causes.
    """
    connector: str | None = None
    """kac's name of the connector: its Connect cluster and its name there."""
    task: int | None = None
    """The number of a task of the connector."""


CLUSTER = Subject()


class Symptom(Struct, frozen=True):
    """A problem of a subject, as one poll shows it."""

    name: str
    """One of the names of symptoms above, such as `LEADERLESS`."""
    subject: Subject
    brokers: tuple[int, ...] = ()
    """The ids of the brokers that the symptom points to, for example those missing from an ISR; empty if it points to
    none.
    """
    count: int = 1
    """The number of affected partitions, replicas or tasks, or of elections; 1 if they are not counted."""


Key = tuple[str, Subject]
"""A symptom's name and subject, which identify it from poll to poll."""
_Keyed = tuple[tuple[Key, Symptom], ...]


class Own(NamedTuple):
    """How much brokers throttle this console itself."""

    throttled_ms: int = 0
    """Milliseconds of each second for which brokers delay the console's requests."""
    user: str = ""
    """The user name as which the console logs in: quotas may be for it."""
    client_id: str = ""
    """The console's client id: quotas may be for it."""


THROTTLED_MS = 50
"""Minimum of `Own.throttled_ms` for a symptom."""


class Poll(Struct, frozen=True):
    """The state of a cluster as it was read at one time."""

    at: datetime
    """The time of the poll, UTC."""
    snapshot: Snapshot
    silent: frozenset[int] = frozenset()
    """The ids of listed brokers that did not answer in time."""
    refusing: frozenset[int] = frozenset()
    """The ids of silent brokers whose hosts refuse connections."""
    unread: tuple[str, ...] = ()
    """The names of the parts of the cluster's state that were never read so far."""
    facts: Facts = field(default_factory=Facts)
    """What is read less often than the snapshot, such as open transactions and logs."""
    own_throttles: frozenset[ConfigPlace] = frozenset()
    """The config keys that throttle replication for operations of this host, which are no leftovers."""
    closing: frozenset[int] = frozenset()
    """The ids of silent brokers that close each new connection at once."""
    late: tuple[str, ...] = ()
    """The names of the parts whose last read is longer ago than their interval allows."""
    denying: frozenset[int] = frozenset()
    """The ids of silent brokers that refuse the login of this console."""
    own: Own = Own()
    accepted: tuple[Acceptance, ...] = ()
    """The findings of lint that the context's user has accepted."""
    took: Mapping[int, float] = field(default_factory=dict)
    """Broker id -> seconds until its answer to the last probe, which uses a new connection."""


def symptoms(poll: Poll) -> Iterator[Symptom]:
    """Yield the symptoms that a poll shows by itself, without earlier polls."""
    yield from shown(poll).values()


def shown(poll: Poll) -> dict[Key, Symptom]:
    """Return the symptoms that a poll shows by itself, by their keys."""
    snapshot = poll.snapshot
    return (
        _keyed(_broker_symptoms(poll))
        | _topics_symptoms(snapshot.topics, snapshot.configs, are_all_enough(snapshot.versions.values()))
        | _keyed((*_move_symptoms(snapshot), *_dir_symptoms(snapshot), *_quorum_symptoms(poll)))
        | _groups_symptoms(poll)
        | _keyed(_fact_symptoms(poll))
        | _keyed(_connect_symptoms(poll))
        | _keyed(_mirror_symptoms(poll))
    )


def _keyed(symptoms: Iterable[Symptom]) -> dict[Key, Symptom]:
    return {(each.name, each.subject): each for each in symptoms}


def _fact_symptoms(poll: Poll) -> Iterator[Symptom]:
    yield from _transaction_symptoms(poll.facts)
    yield from _newest_symptoms(poll)
    if poll.own.throttled_ms >= THROTTLED_MS:
        yield Symptom(CONSOLE_THROTTLED, CLUSTER)
    for broker, late in poll.facts.views.behind(LATE_SECONDS).items():
        yield Symptom(VIEWS_DISAGREE, Subject(broker=broker), (broker,), len(late))


def cluster_time(poll: Poll) -> datetime:
    """Return the time by the active controller's clock, UTC. If that is unknown, the time of the poll by this host's
    clock, which may be wrong.
    """
    at = model_quorum.leaders_clock(poll.snapshot.quorum)
    return (None if at is None else time_of(at)) or poll.at


# -- brokers -----------------------------------------------------------------------------------------------------------


def gone(snapshot: Snapshot) -> frozenset[int]:
    """Return the ids of the brokers that are fenced, and of those that have replicas but are not listed. Empty until
    the cluster was described.
    """
    if Part.CLUSTER not in snapshot.read_at:
        return frozenset()
    known = {broker.id for broker in snapshot.cluster.brokers}
    fenced = {broker.id for broker in snapshot.cluster.brokers if broker.fenced}
    return frozenset(fenced | (with_replicas(snapshot.topics) - known))


@remembered
def with_replicas(topics: Mapping[str, Topic]) -> frozenset[int]:
    """Return the ids of the brokers that a partition's replica list has."""
    lists = {partition.replicas for topic in topics.values() for partition in topic.partitions}
    return frozenset(broker for replicas in lists for broker in replicas)


@remembered
def out_of_sync(topics: Mapping[str, Topic]) -> tuple[tuple[str, Partition], ...]:
    """Return the partitions that have no leader or some replica out of sync, each with the name of its topic."""
    return tuple(
        (name, partition)
        for name, topic in topics.items()
        for partition in topic.partitions
        if partition.under_replicated or partition.leader < 0
    )


def _broker_symptoms(poll: Poll) -> Iterator[Symptom]:
    if poll.snapshot.cluster.controllers:  # kac is connected only to controllers
        for controller in sorted(poll.silent):
            yield Symptom(CONTROLLER_SILENT, Subject(broker=controller), (controller,))
        return
    # Report a broker that is gone only once: it does not answer either.
    away = gone(poll.snapshot)
    for broker in sorted(away):
        yield Symptom(BROKER_GONE, Subject(broker=broker), (broker,))
    for broker in sorted(poll.silent - away):
        yield Symptom(BROKER_SILENT, Subject(broker=broker), (broker,))


# -- partitions --------------------------------------------------------------------------------------------------------


@remembered
def _topics_symptoms(
    topics: Mapping[str, Topic], configs: Mapping[ConfigResource, ConfigSet], enough: bool
) -> dict[Key, Symptom]:
    return _keyed(_partition_symptoms(topics, configs, enough))


def _partition_symptoms(
    topics: Mapping[str, Topic], configs: Mapping[ConfigResource, ConfigSet], enough: bool
) -> Iterator[Symptom]:
    led: dict[int, int] = {}
    should: dict[int, int] = {}
    for topic in topics.values():
        wanted = min_isr(configs, topic.name)
        if wanted is not None and is_isr_impossible(wanted, topic.replication, are_all_enough=enough):
            yield Symptom(MIN_ISR_ABOVE_REPLICATION, Subject(topic=topic.name), count=len(topic.partitions))
            wanted = None  # don't report its consequences too
        elif wanted is not None:
            wanted = min(wanted, max(1, topic.replication))
        for partition in topic.partitions:
            # Count only preferred leaders that are in sync: others can't be elected, so they are no imbalance yet.
            if partition.replicas and partition.replicas[0] in partition.isr:
                should[partition.replicas[0]] = should.get(partition.replicas[0], 0) + 1
                if partition.leader == partition.replicas[0]:
                    led[partition.leader] = led.get(partition.leader, 0) + 1
            if partition.under_replicated or partition.leader < 0:
                yield from _replica_symptoms(topic.name, partition, wanted)
    for broker, count in sorted(should.items()):
        missing = count - led.get(broker, 0)
        # With few partitions, a single one would already exceed the share.
        if missing > 1 and missing > IMBALANCE * count:
            yield Symptom(NOT_PREFERRED, Subject(broker=broker), (broker,), missing)


def _replica_symptoms(topic: str, partition: Partition, wanted: int | None) -> Iterator[Symptom]:
    subject = Subject(topic=topic, partition=partition.number)
    missing = not_in_sync(partition)
    if partition.leader < 0:
        yield Symptom(COORDINATOR_LEADERLESS if topic in COORDINATORS else LEADERLESS, subject, partition.replicas)
    if missing:
        yield Symptom(UNDER_REPLICATED, subject, missing)
    if wanted is not None and len(partition.isr) < wanted:
        yield Symptom(UNDER_MIN_ISR, subject, missing)


def _move_symptoms(snapshot: Snapshot) -> Iterator[Symptom]:
    for move in snapshot.reassignments:
        yield Symptom(MOVING, Subject(topic=move.topic, partition=move.partition), move.adding)


# -- disks and the quorum ----------------------------------------------------------------------------------------------


def _dir_symptoms(snapshot: Snapshot) -> Iterator[Symptom]:
    for broker, dirs in snapshot.log_dirs.items():
        for log_dir in dirs:
            subject = Subject(broker=broker, dir=log_dir.path)
            if log_dir.failure is not None:
                yield Symptom(DIR_ERROR, subject, (broker,))
            # Skip brokers before Kafka 3.3 (KIP-827), which report -1 for the size of a volume.
            elif 0 <= log_dir.usable_bytes < FULL * log_dir.total_bytes:
                yield Symptom(DIR_NEARLY_FULL, subject, (broker,))
    for each in uncleaned(snapshot):
        yield Symptom(COMPACTED_GROWS, Subject(broker=each.broker), (each.broker,), each.replicas)


def voters_away(poll: Poll) -> frozenset[int]:
    """Return the ids of the voters that are away: those that refuse connections. Once the quorum has not been described
    for 5 s (`SILENT_SECONDS`), also those that do not answer and those whose brokers are gone. Before, these may be
    well: a host may be busy for a moment, and a broker that starts votes before it is unfenced. Without a majority
    there is no leader, even if the last description names one: brokers delay a DescribeQuorum request until it times
    out.
    """
    quorum = poll.snapshot.quorum
    voters = frozenset(voter.id for voter in quorum.voters) if quorum is not None else frozenset()
    is_described = quorum_silence(poll) <= SILENT_SECONDS
    return voters & (poll.refusing if is_described else poll.silent | gone(poll.snapshot))


def quorum_silence(poll: Poll) -> float:
    """Return the seconds without a description of the quorum while brokers answered other requests: since the last
    description, or since the first request for one. 0 if neither was asked for, or brokers did not answer either.
    """
    at = poll.snapshot.read_at
    since = at.get(Part.QUORUM, poll.snapshot.quorum_asked)
    return (at[Part.CLUSTER] - since).total_seconds() if Part.CLUSTER in at and since is not None else 0.0


def _is_leaderless(poll: Poll) -> bool:
    """Return whether kac is connected to controllers, and they know no leader or most of them do not answer. From Kafka
    4.0 on, the rest name the former leader until they have elected a new one (KIP-996).
    """
    there = {each.id for each in poll.snapshot.cluster.controllers}
    left = len(there - poll.silent)
    return bool(there) and (poll.snapshot.cluster.controller_id < 0 or left < model_quorum.majority(len(there)))


def _quorum_symptoms(poll: Poll) -> Iterator[Symptom]:
    quorum = poll.snapshot.quorum
    if quorum is None:
        limit = SILENT_SECONDS if _is_leaderless(poll) else QUORUM_SECONDS
        if poll.snapshot.quorum_asked is not None and quorum_silence(poll) > limit:
            yield Symptom(NO_QUORUM_LEADER, CLUSTER)
        return
    for voter in quorum.voters:
        if model_quorum.formatted_again(quorum, voter) is not None:
            yield Symptom(VOTER_FORMATTED, Subject(broker=voter.id), (voter.id,))
    if (
        quorum.leader_id < 0
        or len(voters_away(poll)) > len(quorum.voters) // 2
        or quorum_silence(poll) > QUORUM_SECONDS
    ):
        # Without a leader, the positions of voters are those of its last response: don't judge them.
        yield Symptom(NO_QUORUM_LEADER, CLUSTER)
        return
    # Use the leader's clock, which the times of voters come from: clocks of hosts differ.
    now = model_quorum.leaders_clock(quorum) or int(poll.at.timestamp() * 1000)
    for voter in quorum.voters:
        caught_up = voter.last_caught_up_ms
        if voter.id != quorum.leader_id and voter.lag > 0 and 0 <= caught_up < now - model_quorum.FOLLOWS_MS:
            yield Symptom(VOTER_BEHIND, Subject(broker=voter.id), (voter.id,))
    if poll.snapshot.cluster.controllers:
        for broker in model_quorum.observing_brokers(poll.snapshot):
            if not model_quorum.fetches(quorum, broker):
                yield Symptom(OBSERVER_STOPPED, Subject(broker=broker.id), (broker.id,))
        if model_quorum.has_no_broker(poll.snapshot, poll.silent):
            yield Symptom(NO_BROKER, CLUSTER)


# -- groups ------------------------------------------------------------------------------------------------------------


def grows(trend: LagTrend, least: float = 1.0) -> bool:
    """Return whether a group's lag grows by at least `least` records a second, and by more than can come from reading
    commits and log ends one after the other. False while the group recovers from a burst of records.
    """
    if trend.rate is None or trend.rate < least or recovers(trend):
        return False
    then = {(each.topic, each.partition): each.end for each in trend.base.lag.partitions}
    # Ends and commits are read one after the other: on a busy topic, even a steady lag seems to change a little.
    written = sum(each.end - then.get((each.topic, each.partition), each.end) for each in trend.last.lag.partitions)
    return trend.rate * (trend.last.at - trend.base.at) >= GROWTH * written


def _may_yet_commit(group: Group, trend: LagTrend) -> bool:
    """Return whether the members may be reading and just commit later, as some do only each minute: the group has
    members, none of its offsets moved since the trend's base, and none has stood still for long.
    """
    return not (group.is_vacant or trend.moving or trend.stuck)


def _groups_symptoms(poll: Poll) -> dict[Key, Symptom]:
    known = _read_groups(poll.snapshot)
    found = dict(chain.from_iterable(known.symptoms))
    for key in _reached({subject.group for name, subject in found if name == OFFSET_OUT_OF_RANGE}, poll):
        found.pop(key, None)
    found.update(_before_start(known.readings, poll.snapshot.log_ranges))
    return found


def _reached(groups: Iterable[str | None], poll: Poll) -> Iterator[Key]:
    """Yield the keys of symptoms of these groups for offsets that another read of the log shows within it: the end that
    was read with the lags may be older than the commit, as in a record without the leader's later answers.
    """
    for group in groups:
        lag = poll.snapshot.lags.get(group or "")
        for each in lag.partitions if lag is not None else ():
            log = poll.facts.logs.logs.get((each.topic, each.partition))
            if log is not None and is_beyond(each) and each.committed <= log.last.end:
                yield OFFSET_OUT_OF_RANGE, Subject(group=group, topic=each.topic, partition=each.partition)


def readings(snapshot: Snapshot) -> Mapping[str, Reading]:
    """Return group -> its reading: its offsets, divided into those that clients read from and leftovers."""
    return _read_groups(snapshot).readings


class _ReadGroups(NamedTuple):
    """The readings of all groups, by name (`readings`), and one entry for each group with symptoms: its symptoms by
    their keys (`symptoms`).
    """

    readings: Mapping[str, Reading]
    symptoms: Sequence[_Keyed]


def _read_groups(snapshot: Snapshot) -> _ReadGroups:
    # An earlier trend of a lag that can't be read now does not show the present.
    unread = frozenset(each.entity for each in snapshot.failures if each.part == LAG_UNREAD)
    return _read_groups_symptoms(
        _each_group.of(
            snapshot.groups, snapshot.lags, snapshot.lag_trends, snapshot.had_members, unread, _rests(snapshot.configs)
        )
    )


@remembered
def _read_groups_symptoms(read: Mapping[str, tuple[Reading, _Keyed]]) -> _ReadGroups:
    return _ReadGroups(
        {name: reading for name, (reading, _) in read.items()}, [mine for _, mine in read.values() if mine]
    )


@remembered
def _rests(configs: Mapping[ConfigResource, ConfigSet]) -> Mapping[str, float]:
    """Return share group -> the seconds for which it may stand at a record that is delivered again and again, by its
    configs. Groups whose configs don't say it are left out.
    """
    limits = (each.get(_DELIVERIES) for of, each in configs.items() if of.type == BROKER)
    times = [number for entry in limits if entry is not None and (number := long_number(entry.value)) is not None]
    values = ((of, each.get(_LOCK)) for of, each in configs.items() if of.type == GROUP)
    known = {of.name: long_number(entry.value) for of, entry in values if entry is not None}
    most = max(times, default=DELIVERIES)
    return {name: most * value / 1000 for name, value in known.items() if value is not None}


_LOCK, _DELIVERIES = "share.record.lock.duration.ms", "group.share.delivery.count.limit"


def _group_symptoms(
    group: Group, lag: GroupLag | None, trend: LagTrend | None, had_members: bool, unread: bool, rests: float | None
) -> tuple[Reading, _Keyed]:
    """Return the reading of a group and its symptoms by their keys. Leftover offsets are no symptom.

    Args:
        lag: None if the group's offsets were not read.
        trend: the trend of `lag`; None if there is none yet.
        unread: whether the lag can't be read now, so that the trend is outdated.
        rests: as for `reading_of`.
    """
    reading = reading_of(group, lag, trend, had_members=had_members, rests=rests)
    return reading, tuple(((each.name, each.subject), each) for each in _wrong_with(reading, unread=unread))


def _wrong_with(reading: Reading, *, unread: bool) -> Iterator[Symptom]:
    group, lag, trend = reading.group, reading.lag, reading.trend
    if group.state in MOVING_STATES:
        yield Symptom(REBALANCING, Subject(group=group.name), (group.coordinator,))
    if lag is not None and trend is not None and trend.base.at < trend.last.at:
        yield from _beyond_end(group.name, lag, trend)
    if trend is None or unread:
        return
    if grows(trend):
        name = COMMITS_LATER if _may_yet_commit(group, trend) else LAG_GROWS
        yield Symptom(name, Subject(group=group.name))
    for topic, partition in trend.stuck:
        yield Symptom(COMMIT_STANDS_STILL, Subject(group=group.name, topic=topic, partition=partition))


_each_group: RememberedAmong[str, tuple[Reading, _Keyed]] = RememberedAmong(_group_symptoms)


def _beyond_end(group: str, lag: GroupLag, trend: LagTrend) -> Iterator[Symptom]:
    """Yield a symptom for each committed offset beyond the end of the log that has not moved since the last read.
    Commits and log ends come from two brokers, so an offset that moves may seem to be beyond the end for a moment.
    """
    for each in lag.partitions:
        if is_beyond(each):
            stands = trend.standing.get((each.topic, each.partition))
            if stands is not None and (stands.moved or 0.0) < trend.last.at:
                yield Symptom(OFFSET_OUT_OF_RANGE, Subject(group=group, topic=each.topic, partition=each.partition))


@remembered
def _before_start(known: Mapping[str, Reading], ranges: Mapping[tuple[str, int], LogRange]) -> dict[Key, Symptom]:
    """Return the symptoms for committed offsets whose record was deleted, by their keys. Offsets without a lag don't
    count: then no record after the offset can have been deleted.
    """
    if not any(each.start > 0 for each in ranges.values()):
        return {}
    return _keyed(
        Symptom(OFFSET_OUT_OF_RANGE, Subject(group=reading.group.name, topic=each.topic, partition=each.partition))
        for reading in known.values()
        for each in (reading.lag.partitions if reading.lag is not None else ())
        if is_below(each, ranges)
    )


# -- transactions ------------------------------------------------------------------------------------------------------


def held_by(facts: Facts) -> Iterator[tuple[transactions.OpenTransaction, transactions.Verdict]]:
    """Yield the open transactions that hold back a last stable offset and that no coordinator will end, as far as kac
    can see, each with the verdict on it.

    A transaction that no coordinator knows and that is still young counts if two polls saw it: a coordinator knows a
    transaction from before its first record until its markers are written. A transaction whose end is decided counts if
    it was decided at two polls, since markers are written at once.
    """
    seen = facts.transactions
    for each in seen.open:
        judged = transactions.verdict(each, seen)
        before = facts.open_before.get((each.place, each.producer.id, each.producer.start_offset))
        again = before is not None
        known = seen.by_producer.get(each.producer.id)
        if (
            known is not None
            and judged.standing is transactions.Standing.HEALTHY
            and known.state in transactions.DECIDED
            and before in transactions.DECIDED
        ):
            judged = transactions.decided(known, seen, late=True)
        lost = judged.standing is transactions.Standing.YOUNG and each.confirmed and not seen.gaps and again
        if (
            lost
            or judged.standing
            in (transactions.Standing.HANGS, transactions.Standing.UNDELIVERED, transactions.Standing.SLOW)
            or (judged.standing is transactions.Standing.POSSIBLE and again)
        ):
            yield each, judged


def _transaction_symptoms(facts: Facts) -> Iterator[Symptom]:
    seen = facts.transactions
    places = {each.place for each, _ in held_by(facts)}
    # A partition whose transactions can't be read is a symptom once it is stuck for longer than any transaction may
    # last.
    places |= {place for place in seen.failures if facts.logs.stood(place) * 1000 > seen.max_timeout_ms}
    for topic, number in sorted(places):
        if facts.logs.stood((topic, number)) >= 0:
            yield Symptom(LSO_STANDS_STILL, Subject(topic=topic, partition=number))


# -- records -----------------------------------------------------------------------------------------------------------


def ahead(poll: Poll) -> dict[str, tuple[int, Newest]]:
    """Return topic -> (partition number, record), where the record is the one furthest in the future. Only for topics
    that delete by the timestamps of producers and have a record more than `AHEAD_MS` ahead of both the cluster's and
    this host's clock.
    """
    # Take the later of both clocks: with a slow one, good records would seem to be in the future.
    limit = int(max(cluster_time(poll), poll.at).timestamp() * 1000) + AHEAD_MS
    if not poll.facts.newest:
        return {}
    found = {topic: worst for topic, worst in _newest_of(poll.facts.newest).items() if worst[1].timestamp > limit}
    return {topic: worst for topic, worst in found.items() if _deletes_by_time(poll.snapshot, topic)}


def in_seconds(poll: Poll) -> dict[str, tuple[int, Newest]]:
    """Return topic -> (partition number, newest record), for topics that delete by the timestamps of producers and
    whose newest record is stamped in the first years after 1970. Its producer writes seconds where Kafka expects
    milliseconds.
    """
    found = _newest_of(poll.facts.newest) if poll.facts.newest else {}
    return {
        topic: newest
        for topic, newest in found.items()
        if 0 < newest[1].timestamp < SECONDS_BELOW and _deletes_by_time(poll.snapshot, topic)
    }


@remembered
def _newest_of(newest: Mapping[tuple[str, int], Newest]) -> Mapping[str, tuple[int, Newest]]:
    """Return topic -> (partition number, record), where the record has the latest timestamp of the topic."""
    found: dict[str, tuple[int, Newest]] = {}
    for (topic, number), each in newest.items():
        if topic not in found or each.timestamp > found[topic][1].timestamp:
            found[topic] = number, each
    return found


def _deletes_by_time(snapshot: Snapshot, topic: str) -> bool:
    configs = snapshot.configs.get(topic_resource(topic))
    return configs is not None and ages_by_producers(configs)


def _newest_symptoms(poll: Poll) -> Iterator[Symptom]:
    for topic, (number, _) in ahead(poll).items():
        yield Symptom(FUTURE_TIMESTAMP, Subject(topic=topic, partition=number))


# -- Connect -----------------------------------------------------------------------------------------------------------


def connect_subject(name: str) -> Subject:
    """Return the subject for a whole Connect cluster.

    Args:
        name: the name of the Connect cluster in the context.
    """
    return Subject(entity=f"Connect {name}")


def worker_subject(cluster: str, worker: str) -> Subject:
    """Return the subject for a worker of a Connect cluster.

    Args:
        worker: the worker's address, or ``host:port``.
    """
    return Subject(entity=f"worker {worker} of Connect {cluster}")


def _connect_symptoms(poll: Poll) -> Iterator[Symptom]:
    snapshot = poll.snapshot
    unread = {each.entity for each in snapshot.failures if each.part == Part.CONNECT and each.entity}
    for name in sorted(unread):
        yield Symptom(CONNECT_UNREACHABLE, connect_subject(name))
    # Don't judge the last state of a cluster that does not answer: the present one may differ.
    seen = {name: each for name, each in snapshot.connect.items() if name not in unread} if unread else snapshot.connect
    for failed in connectors.failed(seen):
        name = CONNECTOR_FAILED if failed.task is None else TASK_FAILED
        yield Symptom(name, Subject(connector=failed.connector, task=failed.task))
    for cluster in seen.values():
        for worker in connectors.gone_workers(cluster):
            yield Symptom(WORKER_GONE, worker_subject(cluster.name, worker.address))
    for each in connectors.placed(snapshot.connect, snapshot.configs):
        if each.cluster not in seen:
            continue
        subject = Subject(connector=each.name)
        if each.is_paused:
            yield Symptom(CONNECTOR_PAUSED, subject)
        elif count := connectors.unassigned(each.connector):
            yield Symptom(TASKS_UNASSIGNED, subject, count=count)
        if dead_letters_since(poll, each.dead_letters):
            yield Symptom(DEAD_LETTERS_GROW, subject)


def dead_letters_since(poll: Poll, topic: str) -> int:
    """Return the number of records that were written to a topic of dead letters since kac first read its logs. 0 if the
    last one is more than 2 minutes old (`DEAD_LETTER_SECONDS`), or the topic is unknown.
    """
    logs, known = poll.facts.logs, poll.snapshot.topics.get(topic)
    if known is None:
        return 0
    found = [log for each in known.partitions if (log := logs.logs.get((topic, each.number))) is not None]
    last = max((log.grew_at for log in found if log.grew_at is not None), default=None)
    if last is None or logs.at - last > DEAD_LETTER_SECONDS:
        return 0
    return sum(log.last.end - log.first_end for log in found)


# -- MirrorMaker -------------------------------------------------------------------------------------------------------


def mirror_subject(name: str) -> Subject:
    """Return the subject for a flow of MirrorMaker.

    Args:
        name: the flow's name, such as ``east->west``.
    """
    return Subject(entity=f"mirror {name}")


def _mirror_symptoms(poll: Poll) -> Iterator[Symptom]:
    snapshot = poll.snapshot
    at = snapshot.read_at.get(Part.MIRRORS)
    # Without its newest records, a flow may look silent.
    if at is None or any(each.part == Part.MIRRORS for each in snapshot.failures):
        return
    for flow in snapshot.mirrors.values():
        if not flow.topics:
            continue  # the flow copies nothing to this cluster
        if _stands(flow.beat, at, WATCHED_MIRROR):
            yield Symptom(MIRROR_SILENT, mirror_subject(flow.name))
        elif flow.beat is not None and _stands(flow.copied, at, HALTED_MIRROR) and not copies_grow(poll, flow):
            yield Symptom(MIRROR_HALTED, mirror_subject(flow.name))


def _stands(beat: Beat | None, at: datetime, watched: float) -> bool:
    """Return whether the newest heartbeat is too old and kac has seen no new one for long. The second condition
    excludes that only the clock of the heartbeat's writer is wrong.

    Args:
        beat: the newest heartbeat; None if there is none, which returns False.
        at: the time of the last read, UTC.
        watched: minimum seconds without a new heartbeat.
    """
    if beat is None or not is_silent(beat, at):
        return False
    return (at - beat.seen).total_seconds() >= max(watched, MISSED_WATCHED * (beat.every_ms or 0) / 1000)


def copies_grow(poll: Poll, flow: Flow) -> bool:
    """Return whether the topics that a flow copies got records more than 10 s (`WATCHED_MIRROR`) after its last
    heartbeat. If the flow itself is silent, that is its own heartbeat, else the newest one copied from the source
    cluster. False if there is none.
    """
    last = flow.beat if flow.beat is not None and is_silent(flow.beat, poll.at) else flow.copied
    if last is None:
        return False
    since, logs = last.seen.timestamp() + WATCHED_MIRROR, poll.facts.logs.logs
    places = (
        (name, each.number)
        for name in flow.topics
        if name in poll.snapshot.topics
        for each in poll.snapshot.topics[name].partitions
    )
    found = (logs.get(place) for place in places)
    return any(log is not None and log.grew_at is not None and log.grew_at > since for log in found)

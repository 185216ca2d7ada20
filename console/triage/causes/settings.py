"""Causes in settings: a broker that differs from the others, a quota that is reached. kac can't prove most of them, so
they are listed next to the symptoms that they may explain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from math import ceil
from operator import itemgetter
from typing import NamedTuple

from console.model.cluster import Group, partition_in
from console.model.codes import CONNECTOR, SCHEMA
from console.model.config import ConfigResource, broker_resource
from console.model.lag_trend import LagTrend
from console.model.numbers import first_few, time_of_day
from console.model.quota import CLIENT_ID, USER, QuotaEntity, QuotaValues, effective
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.plan.edits import SetConfig, SetQuota
from console.plan.staged import shown
from console.triage import at_quotas, cause
from console.triage import symptoms as triage_symptoms
from console.triage.changed_places import changed_place, quota_text
from console.triage.connection_limits import NEW_CONNECTIONS
from console.triage.judged_changes import JudgedChange
from console.triage.observations import Interval, Observations
from console.triage.odd_configs import odd_keys
from console.triage.past import ConfigChange
from console.triage.remembered import RememberedAmong, remembered
from console.triage.writers import may_write
from console.triage.written import written

LIMIT = (0.75, 1.35)
"""Shares of a quota (1 at the quota) between which a rate counts as being at the quota: brokers limit means over
samples (quota.window.num), and the sizes of records are means, too.
"""
CONSUMERS, PRODUCERS = "consumer_byte_rate", "producer_byte_rate"
LONG_ENOUGH = 15.0
"""Seconds for which more has to be written than a quota lets a reader read, before the quota counts as the reason for
its lag.
"""
TO_AND_FRO, OVER = 6, timedelta(minutes=10)
"""Minimum number of changes between two values within half an hour that no operator makes by hand; and the time after
the last one, from which on they seem to be over."""

_LOW: Mapping[str, tuple[float, str, str]] = {
    "controller_mutation_rate": (
        5.0,
        "programs that create topics, as Streams and Connect do",
        "Their logs have ThrottlingQuotaExceededException",
    ),
    NEW_CONNECTIONS: (
        10.0,
        "clients that connect, as after a deployment",
        "Brokers have connection-accept-throttle-time of the listener",
    ),
}
"""Quota -> the value below which it may hold up clients; these clients; and the place that shows whether it does."""

# -- brokers that differ -----------------------------------------------------------------------------------------------


def _odd(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each broker whose replicas are out of ISRs, or that does not compact, and that has a worse
    setting than all other brokers.
    """
    suffering = {
        (symptom.name, symptom.brokers[0])
        for symptom in (
            *observations.of(triage_symptoms.UNDER_REPLICATED),
            *observations.of(triage_symptoms.COMPACTED_GROWS),
        )
        if len(symptom.brokers) == 1
    }
    for name, broker in sorted(suffering):
        for key, (mine, others) in odd_keys(observations.last.snapshot, broker).items():
            # Settings of the log cleaner explain only growing logs; settings of fetchers explain only lagging replicas.
            if ("cleaner" in key) is not (name == triage_symptoms.COMPACTED_GROWS):
                continue
            yield cause.Claim(
                cause="config-odd",
                subject=triage_symptoms.Subject(broker=broker, key=key),
                severity=Severity.WARNING,
                certainty=Certainty.POSSIBLE,
                title=f"broker {broker} has {key}={mine}, the others {others}",
                evidence=(
                    cause.Evidence(f"{key} is {mine} on broker {broker}, {others} on the others", "DescribeConfigs"),
                ),
                predicted=cause.predict(name, brokers=frozenset({broker}), only=True),
                next=(cause.Next("set it as on the others", edits=(SetConfig(broker_resource(broker), key, others),)),),
                beside=True,
            )


# -- values that change to and fro -------------------------------------------------------------------------------------


def _contested(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each config that changes between two values again and again, as if two tools set it."""
    changes: dict[tuple[ConfigResource, str], list[ConfigChange]] = {}
    authors = observations.last.facts.authors
    for each in observations.past.changes:
        if (each.resource, each.key, each.became) not in authors:
            changes.setdefault((each.resource, each.key), []).append(each)
    for (resource, key), mine in changes.items():
        values = {each.became for each in mine[-TO_AND_FRO:]}
        # Each move sets throttles, and removes them.
        if len(mine) < TO_AND_FRO or len(values) != 2 or ".throttled." in key:
            continue
        if observations.last.at - mine[-1].at > OVER:
            continue
        subject, name = changed_place(resource, key)
        one, other = sorted("no value" if each is None else f"'{shown(each)}'" for each in values)
        read, write = _REQUESTS.get(resource.type, _OF_BROKERS)
        yield cause.Claim(
            cause="config-contested",
            subject=subject,
            severity=Severity.WARNING,
            certainty=Certainty.LIKELY,
            title=f"{name}: {key} changes to and fro between {one} and {other}: two tools seem to set it",
            since=mine[0].at,
            latest=mine[-1].at,
            times=len(mine),
            evidence=(
                cause.Evidence(
                    f"{len(mine)} changes since {time_of_day(mine[0].after)}, the last one at "
                    f"{time_of_day(mine[-1].at)}",
                    f"{read}, many looks",
                ),
            ),
            next=(
                cause.Next(
                    f"give {name} one owner: look for tools that set {key}, such as an operator, Terraform or a job; "
                    f"{write}"
                ),
            ),
        )


_OF_BROKERS = "DescribeConfigs", "brokers' request logs have IncrementalAlterConfigs with its principal"
_REQUESTS = {
    CONNECTOR: ("GET /connectors", "access logs of Connect's workers have PUT /connectors with its address"),
    SCHEMA: ("GET /config", "access logs of the registry have PUT /config with its address"),
}
"""Type of a service's resource -> the request that reads its config, and the place that shows who writes it."""


# -- quotas ------------------------------------------------------------------------------------------------------------


class Limit(NamedTuple):
    """The quota of the one client id with which a group reads."""

    client: str
    entity: QuotaEntity
    quota: float
    sure: bool
    """Whether no user has a quota. Otherwise the quota of a member's user may apply instead, and no API reports the
    user.
    """


def limit_of(snapshot: Snapshot, group: Group) -> Limit | None:
    """Return the quota that limits a group's reads from each broker. None if there is none, or if several clients read
    with the group, whose shares are unknown.
    """
    return _limits(snapshot.quotas).of_group(group) if snapshot.quotas else None


_NO_ONE = "\0"
"""A user name that no quota names: the quotas of all users without their own apply to it."""


class _Limits:
    """The quotas for reads by client id, cached: most of 10,000 groups have one of a few client ids."""

    def __init__(self, quotas: Mapping[QuotaEntity, QuotaValues]) -> None:
        self._quotas = quotas
        self._users = [
            entity
            for entity, values in quotas.items()
            if CONSUMERS in values and any(part.type == USER and part.name is not None for part in entity.parts)
        ]
        self._known: dict[str, Limit | None] = {}

    def of_group(self, group: Group) -> Limit | None:
        """Return the quota that limits a group's reads; None if there is none, or if several clients read with the
        group.
        """
        # Quotas apply to client ids and users. Groups report the client ids of their members, but no API reports their
        # users.
        clients = {member.client_id for member in group.members or ()}
        return self.of(clients.pop()) if len(clients) == 1 else None

    def of(self, client: str) -> Limit | None:
        """Return the quota that limits the reads of a client id; None if there is none, or if only quotas of some users
        may apply.
        """
        if client not in self._known:
            self._known[client] = self._limit(client)
        return self._known[client]

    def _limit(self, client: str) -> Limit | None:
        own = [each for each in self._users if not each.has(CLIENT_ID) or each.name_of(CLIENT_ID) in (client, None)]
        found = effective(self._quotas, _NO_ONE, client, CONSUMERS)
        users = {each.name_of(USER) for each in own}
        if found is None and len(users) == 1:
            found = effective(self._quotas, users.pop() or _NO_ONE, client, CONSUMERS)
        return Limit(client, found.entity, found.value, not own) if found is not None else None


_limits = remembered(_Limits)


def _limited(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each group that falls behind while producers write more to a broker for it than the client's
    quota, or while it reads about as much from a broker as the quota allows.
    """
    snapshot = observations.last.snapshot
    if not snapshot.quotas:
        return
    known = {each.client_id for each in observations.last.facts.request_logs.throttled}  # proven by request logs
    claims = _each_limited.of(
        _waiting(observations.seen),
        snapshot.groups,
        snapshot.lag_trends,
        observations.intervals_of_groups(triage_symptoms.LAG_GROWS),
        common=(
            _limits(snapshot.quotas),
            known,
            observations.began,
            _RecordSizes(observations.last),
            _starving(observations),
        ),
    )
    yield from (claim for claim in claims.values() if claim is not None)


_NEIGHBOURS = 100
"""Maximum number of lagging groups whose leaders are examined."""


def _starving(observations: Observations) -> frozenset[int]:
    """Return the leaders from which groups without a quota read too slowly: a higher quota for another client would
    take more from them.
    """
    snapshot = observations.last.snapshot
    limits, found = _limits(snapshot.quotas), set[int]()
    for name in islice(observations.of_groups(triage_symptoms.LAG_GROWS), _NEIGHBOURS):
        group, lag = snapshot.groups.get(name), snapshot.lags.get(name)
        if group is None or group.is_vacant or lag is None or limits.of_group(group) is not None:
            continue
        led = (partition_in(snapshot.topics.get(each.topic), each.partition) for each in lag.partitions if each.lag > 0)
        found.update(each.leader for each in led if each is not None)
    return frozenset(found)


@remembered
def _waiting(
    seen: Mapping[triage_symptoms.Key, triage_symptoms.Symptom],
) -> Mapping[str, triage_symptoms.Symptom | None]:
    """Return group for which records wait -> the symptom of its growing lag; None if its lag does not grow."""
    found: dict[str, triage_symptoms.Symptom | None] = {}
    for name in (triage_symptoms.LAG_GROWS, triage_symptoms.COMMIT_STANDS_STILL, triage_symptoms.COMMITS_LATER):
        for each in seen.values():
            if each.name == name and each.subject.group is not None:
                found.setdefault(each.subject.group, each if name == triage_symptoms.LAG_GROWS else None)
    return found


def _limited_group(
    lags: triage_symptoms.Symptom | None,
    group: Group | None,
    trend: LagTrend | None,
    lagged: Sequence[Interval] | None,
    limits: _Limits,
    known: Collection[str],
    watched: datetime,
    sizes: _RecordSizes,
    starving: frozenset[int],
) -> cause.Claim | None:
    """Return the claim that its quota holds a group back; None if it does not.

    Args:
        lags: the symptom of the growing lag; None if the lag does not grow.
        group, trend: None if they are unknown.
        lagged: the intervals in which the lag grew; None if there are none.
        limits: the quotas for reads.
        known: the client ids that the request logs prove to be throttled.
        watched: the time of the first poll, UTC.
        sizes: the mean sizes of records.
        starving: the brokers from which groups without a quota read too slowly.
    """
    if group is None or trend is None:
        return None
    since = lagged[-1].began if lags is not None and lagged and lagged[-1].began > watched else None
    limit = limits.of_group(group)
    if limit is None or limit.client in known:
        return None
    rates = _rates(trend, sizes)
    broker, much = max(rates.written.items(), key=itemgetter(1), default=(-1, 0.0))
    if much > limit.quota and trend.last.at - trend.base.at >= LONG_ENOUGH:
        what = f"{much:,.0f} bytes/s are written to broker {broker}"
        return _throttled(group.name, since, limit, what, much, has_room=broker not in starving)
    broker, much = max(rates.read.items(), key=itemgetter(1), default=(-1, 0.0))
    if LIMIT[0] * limit.quota <= much <= LIMIT[1] * limit.quota:
        what = f"it reads about {much:,.0f} bytes/s from broker {broker}"
        return _throttled(group.name, since, limit, what, 0.0, has_room=broker not in starving)
    return None


_each_limited: RememberedAmong[str, cause.Claim | None] = RememberedAmong(_limited_group)


def limit_of_reading(observations: Observations, group: Group, topic: str, number: int) -> Limit | None:
    """Return the quota of a group's client id if producers write at least about as much to the group's topics on the
    leader of a partition as the quota allows: then the broker delays its responses to the group for longer than most
    consumers take between two commits. Else None.
    """
    limit = limit_of(observations.last.snapshot, group)
    partition = partition_in(observations.last.snapshot.topics.get(topic), number)
    if limit is None or partition is None:
        return None
    trend = observations.last.snapshot.lag_trends.get(group.name)
    if trend is None:
        return None
    written = _rates(trend, _RecordSizes(observations.last)).written.get(partition.leader, 0.0)
    return limit if written >= LIMIT[0] * limit.quota else None


@lru_cache(256)
def _allow(entity: QuotaEntity, rate: float, has_room: bool) -> tuple[cause.Next, ...]:
    """Return the steps for a client at its quota. Equal arguments give the same object, since many groups may have it.

    Args:
        entity: the entity with the quota.
        rate: the higher quota to propose, bytes per second.
        has_room: whether no other group lags on that broker.
    """
    return (
        cause.Next("allow more; or unset it", edits=(SetQuota(entity, CONSUMERS, rate),))
        if has_room
        else cause.Next(
            "look at the broker's load first: groups without a quota lag there too, and what this client may read more "
            "is taken from them"
        ),
        cause.Next("look at its throttle time: brokers' request logs, or fetch-throttle-time-avg of its consumers"),
    )


@lru_cache(256)
def _quota_evidence(entity: QuotaEntity, rate: float) -> cause.Evidence:
    return cause.Evidence(
        f"{CONSUMERS} of {quota_text(entity)} is {rate:,.0f}, from each broker", "DescribeClientQuotas"
    )


def _throttled(
    group: str, since: datetime | None, limit: Limit, what: str, written: float, *, has_room: bool
) -> cause.Claim:
    """Return the claim about a group at its quota.

    Args:
        group: the name of the group.
        since: the beginning, UTC; None if it was so at the first poll.
        what: the fact for the title.
        written: the bytes per second that are written to a broker, if above the quota; 0 if only the reads are near it.
        has_room: whether no other group lags on that broker.
    """
    sure = bool(written) and limit.sure
    allow = 2 * max(limit.quota, written)
    return cause.Claim(
        cause="quota-exceeded",
        subject=triage_symptoms.Subject(group=group, entity=quota_text(limit.entity)),
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY if sure else Certainty.POSSIBLE,
        title=(
            f"group {group} may read {limit.quota:,.0f} bytes/s from a broker by its quota, and more is written"
            if written
            else f"group {group} reads as much as its quota allows: {limit.quota:,.0f} bytes/s from a broker"
        ),
        since=since,
        evidence=cause.given(
            _quota_evidence(limit.entity, limit.quota),
            cause.Evidence(what, "OffsetFetch, ListOffsets, DescribeLogDirs"),
            None
            if limit.sure
            else cause.Evidence("users have quotas of their own, and who its members are is not known", "the same"),
        ),
        predicted=cause.predict(
            *((triage_symptoms.COMMIT_STANDS_STILL, triage_symptoms.COMMITS_LATER) if written else ()),
            triage_symptoms.LAG_GROWS,
            group=group,
        ),
        next=_allow(limit.entity, float(ceil(allow)), has_room),
        beside=not sure,
        fold=("is held back by its quota", "are held back by the quota of their client"),
    )


class _RecordSizes:
    """The mean size in bytes of a record of each topic, and the leaders of partitions, at one poll.

    It is equal to another one with the same topics: a mean changes slowly, so that the rates of a group whose offsets
    were not read again need not be computed again.
    """

    def __init__(self, poll: triage_symptoms.Poll) -> None:
        self._poll = poll
        self._known: dict[str, float | None] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _RecordSizes) and self._poll.snapshot.topics is other._poll.snapshot.topics

    __hash__ = None  # type: ignore[assignment]

    def leader(self, topic: str, number: int) -> int:
        """Return the id of the leader of a partition; -1 if it has none."""
        partition = partition_in(self._poll.snapshot.topics.get(topic), number)
        return partition.leader if partition is not None else -1

    def of(self, topic: str) -> float | None:
        """Return the mean size in bytes of a topic's record on disk, which is about its size in requests; None if
        unknown.
        """
        if topic not in self._known:
            self._known[topic] = _record_size(self._poll, topic)
        return self._known[topic]


class _Rates(NamedTuple):
    """The bytes per second for a group by broker, which is the leader, over the window of the group's trend. Empty if
    unknown.
    """

    written: Mapping[int, float]
    """Broker -> the bytes per second that producers write to the group's partitions."""
    read: Mapping[int, float]
    """Broker -> the bytes per second that the group reads."""


_UNKNOWN = _Rates({}, {})


def _rates(trend: LagTrend, sizes: _RecordSizes) -> _Rates:
    seconds = trend.last.at - trend.base.at
    if seconds <= 0:
        return _UNKNOWN
    before = {(each.topic, each.partition): each for each in trend.base.lag.partitions}
    written: dict[int, float] = {}
    read: dict[int, float] = {}
    unknown = [False, False]
    for each in trend.last.lag.partitions:
        was = before.get((each.topic, each.partition))
        if was is None:
            continue
        came = each.end - was.end if was.end >= 0 else 0
        taken = each.committed - was.committed if was.committed >= 0 else 0
        leader = sizes.leader(each.topic, each.partition) if came > 0 or taken > 0 else -1
        if leader < 0:
            continue
        size = sizes.of(each.topic)
        if size is None:
            unknown = [unknown[0] or came > 0, unknown[1] or taken > 0]
            continue
        if came > 0:
            written[leader] = written.get(leader, 0.0) + came * size / seconds
        if taken > 0:
            read[leader] = read.get(leader, 0.0) + taken * size / seconds
    return _Rates({} if unknown[0] else written, {} if unknown[1] else read)


def _record_size(poll: triage_symptoms.Poll, topic: str) -> float | None:
    known = poll.snapshot.topics.get(topic)
    if known is None or not known.partitions:
        return None
    # Log directories have the bytes of all replicas, offsets count each record once.
    replicas = sum(len(each.replicas) for each in known.partitions)
    held = sum(log_dir.sizes.get(topic, 0) for dirs in poll.snapshot.log_dirs.values() for log_dir in dirs)
    logs = [poll.facts.logs.logs.get((topic, each.number)) for each in known.partitions]
    records = sum(log.last.end - log.last.start for log in logs if log is not None)
    if held <= 0 or records <= 0 or None in logs:
        return None
    return held * len(known.partitions) / replicas / records


_AT_MOST = 3


def _not_shown(observations: Observations) -> Iterator[tuple[str, str]]:
    """Yield possible effects of quotas that no API shows: on topics whose write rate is near a quota, and of low quotas
    for changes and for new connections that were set lately. With each it yields the place to look.
    """
    yield from _written_at_a_limit(observations)
    yield from islice(_lowered(observations), _AT_MOST)


def _lowered(observations: Observations) -> Iterator[tuple[str, str]]:
    for change in reversed(observations.past.judged):
        about, key = change.place.about, change.place.key
        if not isinstance(about, QuotaEntity) or key not in _LOW or change.became is None:
            continue
        low, whom, where = _LOW[key]
        now = float(change.became)
        is_lower = now < low and (change.was is None or now < float(change.was))
        if is_lower and (about, key, change.became) not in observations.last.facts.authors:  # kac warned of its own
            yield f"{quota_text(about)} has {key}={now:g} lately: whether it holds up {whom}", where


def _written_at_a_limit(observations: Observations) -> Iterator[tuple[str, str]]:
    """Yield a possibility for topics whose write rate is near a quota: no API shows which client writes them."""
    snapshot = observations.last.snapshot
    places = sorted(observations.past.at_quotas.items()) if snapshot.quotas else ()
    if not places:
        return
    limits, now = at_quotas.limited(snapshot.quotas), written(snapshot.rates, snapshot.topics)
    found = []
    for (topic, broker), counted in places:
        entity = at_quotas.near_over_a_minute(counted, limits) or limits.near(now.get((topic, broker), 0.0))
        if entity is not None:
            found.append((topic, broker, entity))
    for topic, broker, entity in found[:_AT_MOST]:
        yield (
            f"{topic} is written to through broker {broker} about as fast as the {PRODUCERS} of {quota_text(entity)} "
            f"allows, {snapshot.quotas[entity][PRODUCERS]:,.0f}: whether its producer is throttled",
            "The brokers' request logs have throttle times by client, as has a lake; producers have "
            "produce-throttle-time-avg",
        )


def _preceded(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each quota of a user or a client that was raised in vain: a lower one of the same user or
    client together with another component precedes it, and a topic is written to at that rate since then. Nothing is
    yielded if many topics are: rates are near a quota by chance then.
    """
    snapshot, places = observations.last.snapshot, observations.past.at_quotas
    named: set[QuotaEntity] = set()
    for change in filter(_is_raised, observations.past.judged if places else ()):
        about = change.place.about
        assert isinstance(about, QuotaEntity)
        rates, count = at_quotas.MinuteRates(places, change.at.timestamp()), 0
        for entity, quota in at_quotas.preceding(about, float(change.became or 0), snapshot.quotas):
            user = entity.as_dict().get(USER)
            topics = rates.at(quota) if entity not in named and count < _AT_MOST else ()
            if user is not None:
                topics = [each for each in topics if may_write(snapshot.acls, f"User:{user}", each)]
            if 0 < len(topics) <= _AT_MOST:
                count += 1
                named.add(entity)
                yield _held_back(change, entity, quota, topics)


def _is_raised(change: JudgedChange) -> bool:
    """Return whether a change raised or set a quota of producers."""
    if not isinstance(change.place.about, QuotaEntity) or change.place.key != PRODUCERS or change.became is None:
        return False
    return change.was is None or float(change.became) > float(change.was)


def _held_back(change: JudgedChange, entity: QuotaEntity, quota: float, topics: Sequence[str]) -> cause.Claim:
    assert isinstance(change.place.about, QuotaEntity)
    wider, lower, raised = quota_text(change.place.about), quota_text(entity), float(change.became or 0)
    return cause.Claim(
        cause="quota-exceeded",
        subject=triage_symptoms.Subject(entity=lower, key=PRODUCERS),
        severity=Severity.WARNING,
        certainty=Certainty.POSSIBLE,  # no API links a topic's producers to a quota's user or client
        title=f"quota of {lower}, {quota:,.0f} bytes/s, precedes that of {wider}, raised to {raised:,.0f}: a topic is "
        "written to at that rate",
        since=change.at,
        evidence=(
            cause.Evidence(
                f"{PRODUCERS} of {wider} was {f'{float(change.was):,.0f}' if change.was else 'not set'}, and is "
                f"{raised:,.0f} since {time_of_day(change.after)} to {time_of_day(change.at)}",
                "DescribeClientQuotas, two looks",
            ),
            cause.Evidence(
                f"{PRODUCERS} of {lower} is {quota:,.0f}: the more specific quota alone holds for that client",
                "DescribeClientQuotas",
            ),
            cause.Evidence(
                f"through a broker, {quota:,.0f} bytes/s are written for a minute, or about as much: "
                f"{first_few(topics, _AT_MOST)}",
                "DescribeLogDirs, many looks",
            ),
        ),
        next=(
            cause.Next(
                "if that limit is not meant for this client, give it the same",
                edits=(SetQuota(entity, PRODUCERS, raised),),
            ),
        ),
        alone=True,
    )


def _by_quotas(observations: Observations) -> Iterator[cause.Claim]:
    yield from _limited(observations)
    yield from _preceded(observations)


QUOTAS = (
    cause.CauseRule(
        "quota-exceeded",
        _by_quotas,
        hides=_not_shown,
        reads="DescribeClientQuotas, DescribeGroups, rates",
        takes=(
            "likely: the topics of a client get more bytes than its quota allows it to read; possible: the client "
            "reads about as much as its quota, or users have separate quotas; or a producers' quota of a user or a "
            "client was raised within the hour, a lower one of the same with another component precedes it, and a "
            "topic is written to at that rate for a minute"
        ),
    ),
)
"""The rules about quotas, which are to be tried before the rules about groups: they explain the same symptoms
better.
"""
CAUSES = (
    cause.CauseRule(
        "config-contested",
        _contested,
        reads="DescribeConfigs over time",
        takes=(
            "likely: within half an hour clients other than kac changed a config 6 times between the same two values, "
            "the last time within 10 minutes"
        ),
    ),
    cause.CauseRule(
        "config-odd",
        _odd,
        reads="DescribeConfigs",
        takes=("possible: one broker of three or more has a worse value than all others, and its replicas are behind"),
    ),
)

"""Finds causes in the replication between running brokers: one follower lags, no broker replicates from a leader, or no
broker replicates from another; with the change that may be the reason. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from console.model.acl import Acl
from console.model.broker_keys import listener_base
from console.model.certificates import Certificate, Listener
from console.model.changes import ScramUser
from console.model.cluster import Partition, Topic
from console.model.codes import AclResourceType
from console.model.config import ConfigResource, broker_resource
from console.model.inheritance import values_of_brokers
from console.model.numbers import first_few, long_number, plural, time_of_day
from console.model.observers import not_in_sync
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.plan.edits import AddAcl, RemoveAcl
from console.plan.limit_risks import FETCH_WAIT, LAG_TIME, is_lag_time_short
from console.triage import cause, symptoms
from console.triage.causes.brokers import LASTS, added_replicas, address, follows, not_there
from console.triage.observations import Interval, Observations, earliest
from console.triage.remembered import remembered

JOINS = timedelta(minutes=1)
"""Maximum time from a broker's return to the first replica that is out of sync because of the broker's new connections:
if its replicas were in sync for longer, its connections work. Its configs may be read up to that time later.
"""
UNREAD = timedelta(seconds=15)
"""Maximum time from a topic's new replicas to the read of the reassignment that adds them."""
BEFORE = timedelta(minutes=5)
"""Maximum time from the loss of a right to the first replica that leaves an ISR: it leaves after
replica.lag.time.max.ms.
"""
FEWEST = 3
"""Minimum number of brokers, with listeners of the same name, whose certificates are compared."""
KEPT = timedelta(hours=1)
"""The time after a broker's return within which its new connections may be the reason."""
_CLUSTER = AclResourceType.parse("CLUSTER")
_FETCH = "CLUSTER_ACTION"
_FETCHES = frozenset({_FETCH, "ALL"})
"""The operations on the cluster of which a broker needs one to fetch from other brokers."""
LISTENER, PROTOCOL = "inter.broker.listener.name", "security.inter.broker.protocol"
_BETWEEN = frozenset(
    {
        LISTENER,
        PROTOCOL,
        "allow.everyone.if.no.acl.found",
        "authorizer.class.name",
        "listener.security.protocol.map",
        "listeners",
        "principal.builder.class",
        "sasl.enabled.mechanisms",
        "sasl.mechanism.inter.broker.protocol",
        "ssl.cipher.suites",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.keystore.location",
        "ssl.principal.mapping.rules",
        "ssl.truststore.location",
        "super.users",
    }
)
"""Keys in a broker's file that determine whether it and the other brokers can fetch from one another."""


class _Reason(NamedTuple):
    """A change that may be the reason why brokers do not replicate from one another."""

    text: str
    """The words to append to a title."""
    evidence: cause.Evidence
    next: cause.Next


def _reasons(
    observations: Observations, brokers: Collection[int], since: datetime | None, *, of_all: bool = False
) -> Iterator[_Reason]:
    """Yield the changes that may keep brokers from fetching, the most certain first.

    Args:
        brokers: the ids of the brokers that the claim is about.
        since: the time since which replicas are out of sync, UTC; None if they were at the first poll.
        of_all: whether no broker replicates from another, so that a right that they all need may be missing.
    """
    if since is not None:
        yield from islice(_lines(observations, brokers, since), 1)
    for odd in _other_authority(observations):
        if odd.listener.broker in brokers and not _is_unread(observations, odd.listener.broker):
            # It may be another intermediate of one authority: no title names it.
            yield _Reason(
                "",
                cause.Evidence(f"{odd.words}: they may not trust one another", "TLS handshakes"),
                cause.Next(_ROTATION.format(odd.others, odd.issuer)),
            )
            break
    if since is None:
        return
    if reason := _lost_right(observations, since, of_all=of_all) or _scram(observations, brokers, since):
        yield reason


def _lost_right(observations: Observations, since: datetime, *, of_all: bool) -> _Reason | None:
    """Return the removal of rights on the cluster that brokers need, if it was shortly before `since` (UTC) and was not
    reverted; None if there is none.
    """
    acls = observations.last.snapshot.acls
    operations = _FETCHES if of_all else {_FETCH}
    changed = Counter(each.acl for each in observations.past.access)
    found = [
        each
        for each in reversed(observations.past.access)
        if each.takes
        and each.after <= since <= each.at + BEFORE
        and each.acl.resource_type == _CLUSTER
        and each.acl.operation.name in operations
        and each.added == (each.acl in acls)
        and changed[each.acl] == 1  # else it was given back, or comes and goes
    ]
    if not found:
        return None
    text = first_few(
        [f"{_right(each.acl)} was {'added' if each.added else 'removed'} at {time_of_day(each.at)}" for each in found]
    )
    one = found[0]
    # A right to everything may have been taken from someone for good reason.
    is_sure = of_all and len(found) == 1 and one.acl.operation.name == _FETCH
    return _Reason(
        f"; {text}",
        cause.Evidence(f"{text}: brokers need CLUSTER_ACTION to fetch from one another", "DescribeAcls"),
        cause.Next(
            "take the change of the ACL back, if it is about the brokers' user",
            edits=((RemoveAcl(one.acl) if one.added else AddAcl(one.acl),) if is_sure else ()),
        ),
    )


def _scram(observations: Observations, brokers: Collection[int], since: datetime) -> _Reason | None:
    """Return a change of SCRAM credentials before a broker came back without getting in sync since; None if there is
    none, or if brokers do not use SCRAM between them.
    """
    if not _logs_in_by_scram(observations):
        return None
    # A broker logs in again when it restarts, and the others log in to it.
    returns = [observations.came_back(each, KEPT) for each in brokers]
    back = max((each for each in returns if each is not None and since <= each + JOINS), default=None)
    if back is None:
        return None
    changes = {
        about.user: change
        for change in observations.past.judged
        if isinstance(about := change.place.about, ScramUser) and change.was is not None and change.after <= since
        if change.after < back
    }
    if not changes:
        return None
    names = first_few(sorted(changes))
    last = max(changes.values(), key=lambda each: each.at)
    what = f"SCRAM user {names} was {'deleted' if last.became is None else 'changed'} at {time_of_day(last.at)}"
    if len(changes) > 1:
        what = f"{len(changes)} SCRAM users were changed or deleted ({names})"
    return _Reason(
        f"; {what}, before the restart",
        cause.Evidence(
            f"{what}; brokers log in to one another by SCRAM, and no API shows as which user",
            "DescribeUserScramCredentials, DescribeConfigs",
        ),
        cause.Next(f"if brokers log in as {names}: set it again, with the password in their files")
        if len(changes) == 1
        else cause.Next("find the user in the brokers' files, and set it again, with the password there"),
    )


_ROTATION = (
    "if the brokers' logs have errors of TLS handshakes: the trust stores of all brokers need the authorities of both "
    "{} and {} until all brokers have certificates of one of them"
)


class _OtherAuthority(NamedTuple):
    """A broker whose certificate is from another authority than those of all other brokers on listeners of the same
    name.
    """

    listener: Listener
    issuer: str
    others: str
    """The issuer of the others' certificates."""

    @property
    def words(self) -> str:
        """The difference as text for a title."""
        return (
            f"broker {self.listener.broker} shows a certificate of {self.issuer} on {self.listener.name}, the others "
            f"of {self.others}"
        )


def _other_authority(observations: Observations) -> Sequence[_OtherAuthority]:
    """Return the brokers whose certificate, on the listener that brokers use between them, is from another authority
    than those of all other brokers; empty with fewer than three brokers.
    """
    snapshot = observations.last.snapshot
    named, protocols = (values_of_brokers(snapshot, key) for key in (LISTENER, PROTOCOL))
    # Without a name the listener is called like the protocol.
    between = {broker: named.get(broker) or protocols.get(broker) for broker in (*named, *protocols)}
    certificates = observations.last.facts.certificates
    return _odd_issuers([each for each in certificates if each.listener.name == between.get(each.listener.broker)])


def _odd_issuers(certificates: Sequence[Certificate]) -> Sequence[_OtherAuthority]:
    by_name: dict[str, list[Certificate]] = {}
    for each in certificates:
        if each.listener.name:
            by_name.setdefault(each.listener.name, []).append(each)
    found = []
    for mine in by_name.values():
        brokers = Counter(issuer for _, issuer in {(each.listener.broker, each.issuer) for each in mine})
        if len(brokers) != 2 or brokers.total() < FEWEST:
            continue
        (usual, _), (rare, count) = brokers.most_common()
        if count == 1:
            found += [_OtherAuthority(each.listener, rare, usual) for each in mine if each.issuer == rare]
    return tuple(found)


def _is_unread(observations: Observations, broker: int) -> bool:
    """Return whether the known certificate of a broker may be from before its return: kac reads certificates again only
    of brokers that did not answer for a while.
    """
    was_silent = observations.intervals.get((symptoms.BROKER_SILENT, symptoms.Subject(broker=broker)))
    return observations.came_back(broker, KEPT) is not None and not was_silent


def _right(acl: Acl) -> str:
    return f"{acl.permission.name} {acl.operation.name} for {acl.principal} on the cluster"


def _lines(observations: Observations, brokers: Collection[int], since: datetime) -> Iterator[_Reason]:
    """Yield the changed lines in these brokers' files that affect connections between brokers, if replicas have been
    out of sync since the restart that read the lines.
    """
    own = {broker_resource(each): each for each in brokers}
    for change in reversed(observations.past.judged):
        about, key = change.place.about, change.place.key
        broker = own.get(about) if isinstance(about, ConfigResource) else None
        is_then = change.after - JOINS <= since <= change.at + JOINS
        if broker is not None and is_then and change.from_file and (listener_base(key) or key) in _BETWEEN:
            text = f"broker {broker} came back with another {key}"
            yield _Reason(
                f"; {text}",
                cause.Evidence(f"{text} at {time_of_day(change.at)}", "DescribeConfigs, two looks"),
                cause.Next(
                    f"compare {key} in server.properties of broker {broker} with the other brokers' files, correct it, "
                    "and restart the broker"
                ),
            )


def _logs_in_by_scram(observations: Observations) -> bool:
    """Return whether the known configs show that a broker uses SCRAM to log in to other brokers."""
    snapshot = observations.last.snapshot
    mechanisms = values_of_brokers(snapshot, "sasl.mechanism.inter.broker.protocol").values()
    if not any(each is not None and each.startswith("SCRAM") for each in mechanisms):
        return False
    protocols = values_of_brokers(snapshot, PROTOCOL).values()
    listeners = values_of_brokers(snapshot, LISTENER).values()
    return any(listeners) or any(each is not None and each.startswith("SASL") for each in protocols)


@remembered
def _apart(
    topics: Mapping[str, Topic], away: frozenset[int], added: frozenset[tuple[str, int, int]]
) -> tuple[frozenset[int], tuple[symptoms.Subject, ...]] | None:
    """Return the ids of the brokers that do not replicate from one another, and the partitions whose leaders are alone
    in their ISRs. None if a leader has a follower in sync while another follower is not, or if a single broker, or
    its network, may be the reason.

    Args:
        away: the ids of the brokers that are down.
        added: replicas (topic, partition, broker) that reassignments add.
    """
    pairs: set[tuple[int, int]] = set()
    places = []
    for topic, partition in symptoms.out_of_sync(topics):
        missing = [
            each
            for each in not_in_sync(partition)
            if each not in away and (topic, partition.number, each) not in added and each not in partition.offline
        ]
        if partition.leader < 0 or not missing:
            continue
        if partition.isr != (partition.leader,):
            return None
        places.append(symptoms.Subject(topic=topic, partition=partition.number))
        pairs.update((partition.leader, each) for each in missing)
    brokers = frozenset(each for pair in pairs for each in pair)
    if len({leader for leader, _ in pairs}) < 2 or any(all(each in pair for pair in pairs) for each in brokers):
        return None
    return brokers, tuple(places)


@remembered
def _began(
    places: Sequence[symptoms.Subject], intervals: Mapping[symptoms.Key, tuple[Interval, ...]], began: datetime
) -> datetime | None:
    return _earliest_of(places, intervals, began)


@remembered
def _began_each(
    places: Mapping[int, Sequence[symptoms.Subject]],
    intervals: Mapping[symptoms.Key, tuple[Interval, ...]],
    began: datetime,
) -> Mapping[int, datetime | None]:
    return {broker: _earliest_of(mine, intervals, began) for broker, mine in places.items()}


@remembered
def _predicted_each(places: Mapping[int, Sequence[symptoms.Subject]]) -> Mapping[int, tuple[cause.Prediction, ...]]:
    names = symptoms.UNDER_REPLICATED, symptoms.UNDER_MIN_ISR
    return {broker: cause.predict_each(mine, *names) for broker, mine in places.items()}


def _earliest_of(
    places: Sequence[symptoms.Subject], intervals: Mapping[symptoms.Key, tuple[Interval, ...]], began: datetime
) -> datetime | None:
    """Return the time since which any of these partitions is under-replicated, UTC; None if one was at the first poll.
    began: the time of the first poll.
    """
    found = []
    for each in places:
        mine = intervals.get((symptoms.UNDER_REPLICATED, each))
        if not mine or mine[-1].began <= began:
            return None
        found.append(mine[-1].began)
    return min(found, default=None)


@remembered
def _has_any(places: Sequence[symptoms.Subject], seen: Mapping[symptoms.Key, symptoms.Symptom]) -> bool:
    """Return whether one of these partitions is below min ISR."""
    return any((symptoms.UNDER_MIN_ISR, each) in seen for each in places)


def _between(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim if replication between all brokers of the cluster fails: no follower is in sync with its leader
    although the brokers are up.
    """
    apart = _apart(observations.last.snapshot.topics, not_there(observations), added_replicas(observations))
    if apart is None:
        return
    brokers, places = apart
    ids = ", ".join(map(str, sorted(brokers)))
    since = _began(places, observations.intervals, observations.began)
    read = observations.last.snapshot.read_at.get(Part.REASSIGNMENTS)
    # Moves may add these replicas, until the reassignments are read.
    patience = UNREAD if since is not None and read is not None and read < since else LASTS
    is_brief = since is not None and observations.last.at - since < patience
    halts = _has_any(places, observations.seen)
    reasons = [*_reasons(observations, brokers, since, of_all=True)]
    yield cause.Claim(
        cause="replication-broken",
        subject=symptoms.CLUSTER,
        severity=Severity.INFO if is_brief else Severity.CRITICAL if halts else Severity.HIGH,
        certainty=Certainty.LIKELY,
        title=f"brokers {ids} do not follow one another: {plural(len(places), 'partition')} "
        f"{'has' if len(places) == 1 else 'have'} only the leader in sync" + "".join(each.text for each in reasons[:1]),
        since=since,
        evidence=(
            *(each.evidence for each in reasons),
            cause.Evidence("no other replica of these is in sync, and their brokers are up", "Metadata"),
        ),
        predicted=cause.predict(symptoms.UNDER_REPLICATED, symptoms.UNDER_MIN_ISR, brokers=brokers),
        next=(
            *(each.next for each in reasons),
            cause.Next(
                "look at what brokers need to reach one another: the network, the listener of "
                "inter.broker.listener.name, its certificates, their login, their right CLUSTER_ACTION; their logs "
                "have the errors of ReplicaFetcher"
            ),
        ),
    )


def _replication(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each broker that is up and answers, and whose replicas are the only ones out of sync."""
    snapshot = observations.last.snapshot
    pairs = _behind_alone(snapshot.topics, not_there(observations), added_replicas(observations))
    for broker, (partitions, topics) in sorted(pairs.items()):
        leaders = sorted({partition.leader for partition in partitions})
        names = sorted(topics)
        from_ = f"broker{'s' * (len(leaders) > 1)} {', '.join(map(str, leaders))}"
        mine = [s for s in observations.of(symptoms.UNDER_REPLICATED) if s.brokers == (broker,)]
        since = earliest(map(observations.since, mine))
        # A follower may be missing for a moment while the leader moves.
        is_brief = since is not None and observations.last.at - since < LASTS
        reasons = [*_reasons(observations, {broker}, since)]
        yield cause.Claim(
            cause="replication-broken",
            subject=symptoms.Subject(broker=broker),
            severity=Severity.INFO if is_brief else Severity.HIGH,
            certainty=Certainty.LIKELY,
            title=f"broker {broker} is out of the ISR of {plural(len(partitions), 'partition')}"
            + "".join(each.text for each in reasons[:1]),
            since=since,
            times=_times_out(observations, topics),
            evidence=(
                *(each.evidence for each in reasons),
                cause.Evidence(f"broker {broker} answers, and is missing in the ISR of {first_few(names)}", "Metadata"),
                cause.Evidence(
                    f"led by {from_}, {'which answers' if len(leaders) == 1 else 'which answer'} too", "Metadata"
                ),
            ),
            predicted=follows(broker, alone=True),
            next=(
                *(each.next for each in reasons),
                cause.Next(f"look at the network from {address(observations, broker)} to {from_}, and at its disk"),
            ),
        )


OFTEN, PERIOD = 4, timedelta(minutes=5)
"""Minimum number of times that replicas of a broker left ISRs within a period for a broker that flaps."""
SETTLED, STAYS = timedelta(seconds=60), timedelta(seconds=30)
"""The time around a broker's absence in which its replicas leave and join ISRs; and the time out of an ISR after which
a replica does not just flap."""


def _flapping(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each broker that answers, and whose replicas leave ISRs and come back again and again."""
    found = {
        broker: mine for broker, times in observations.left.items() if (mine := _flaps(observations, broker, times))
    }
    away = not_there(observations)
    found = {broker: mine for broker, mine in found.items() if broker not in away}
    up = len([each for each in observations.last.snapshot.cluster.brokers if not each.fenced])
    if len(found) > 1 and 2 * len(found) >= up:
        times = max(found.values(), key=len)
        ids = ", ".join(map(str, sorted(found)))
        yield _flaps_of(observations, symptoms.CLUSTER, found.keys(), f"the replicas of brokers {ids}", times)
        return
    for broker, times in sorted(found.items()):
        subject = symptoms.Subject(broker=broker)
        yield _flaps_of(observations, subject, {broker}, f"the replicas of broker {broker}", times)


def _flaps(observations: Observations, broker: int, times: tuple[datetime, ...]) -> tuple[datetime, ...]:
    """Return the times at which replicas of a broker left ISRs lately. Empty if there are too few, if the series may
    have ended, or if replicas stay out of sync. Times of twice the period in which they have to be frequent are
    returned, so that the row does not change while the pace is steady.

    Args:
        times: all times at which replicas of the broker left ISRs, UTC, the earliest first.
    """
    at = observations.last.at
    if len(times) < OFTEN:
        return ()
    subject = symptoms.Subject(broker=broker)
    absences = [
        each
        for name in (symptoms.BROKER_GONE, symptoms.BROKER_SILENT)
        for each in observations.intervals.get((name, subject), ())
    ]
    stop = observations.handed_over.get(broker)
    mine = tuple(
        each
        for each in times
        if each > at - 2 * PERIOD
        and not any(one.began - SETTLED <= each <= (one.ended or at) + SETTLED for one in absences)
        and (stop is None or abs(each - stop.at) > SETTLED)
    )
    is_often = any(last - first < PERIOD for first, last in zip(mine, mine[OFTEN - 1 :], strict=False))
    if not is_often or at - mine[-1] > 2 * (mine[-1] - mine[-OFTEN]) / (OFTEN - 1):
        return ()
    stays = any(
        broker in each.brokers and observations.lasts(each.name, each.subject, STAYS)
        for each in observations.of(symptoms.UNDER_REPLICATED)
    )
    return () if stays else mine


def _flaps_of(
    observations: Observations,
    subject: symptoms.Subject,
    brokers: Collection[int],
    what: str,
    times: tuple[datetime, ...],
) -> cause.Claim:
    short = _short_lag_times(observations, brokers)
    why = f": {LAG_TIME} is {short} ms" if short else ""
    return cause.Claim(
        cause="isr-flaps",
        subject=subject,
        severity=Severity.WARNING,
        certainty=Certainty.LIKELY,
        title=f"{what} leave ISRs and come back again and again{why}",
        since=times[0],
        times=len(times),
        evidence=cause.given(
            cause.Evidence(
                f"{len(times)} times since {time_of_day(times[0])}; the brokers answer meanwhile", "Metadata over time"
            ),
            cause.Evidence(
                f"a follower waits for {FETCH_WAIT} before it fetches again: it may be out of sync after {short} ms "
                "without a fault",
                "DescribeConfigs",
            )
            if short
            else None,
        ),
        predicted=cause.predict(symptoms.UNDER_REPLICATED, brokers=frozenset(brokers), only=True),
        next=(
            cause.Next(f"set {LAG_TIME} to Kafka's default, 30,000 ms, in the brokers' files, and restart them")
            if short
            else cause.Next(
                f"look at {', '.join(address(observations, each) for each in sorted(brokers))}: disk, garbage "
                "collection, and the network to the leaders"
            ),
        ),
    )


def _short_lag_times(observations: Observations, brokers: Collection[int]) -> str:
    """Return, as text, the replica.lag.time.max.ms of the leaders that remove these brokers' replicas from ISRs, if all
    of them are too short for the brokers' fetch intervals; ``""`` if one is not, or is unknown.
    """
    snapshot = observations.last.snapshot
    lags, waits = values_of_brokers(snapshot, LAG_TIME), values_of_brokers(snapshot, FETCH_WAIT)
    # The leaders of a single broker's replicas are others.
    leaders = [each.id for each in snapshot.cluster.brokers if len(brokers) > 1 or each.id not in brokers]
    found = {long_number(lags.get(each) or "") for each in leaders}
    mine = {long_number(waits.get(each) or "") for each in brokers}
    is_short = all(
        lag is not None and wait is not None and is_lag_time_short(lag, wait) for lag in found for wait in mine
    )
    return " or ".join(f"{lag:,}" for lag in sorted(filter(None, found))) if is_short else ""


@remembered
def _behind_alone(
    topics: Mapping[str, Topic], away: frozenset[int], added: frozenset[tuple[str, int, int]]
) -> dict[int, tuple[list[Partition], set[str]]]:
    """Return running broker -> the partitions in whose ISRs only this broker is missing, and their topics.

    Args:
        away: the brokers that are down.
        added: replicas (topic, partition, broker) that reassignments add, which join the ISR once they are copied.
    """
    found: dict[int, tuple[list[Partition], set[str]]] = {}
    lonely = _lonely(topics, away)
    for topic, partition in symptoms.out_of_sync(topics):
        if partition.leader < 0 or partition.leader in lonely:
            continue
        missing = [broker for broker in not_in_sync(partition) if (topic, partition.number, broker) not in added]
        if len(missing) == 1 and missing[0] not in away and missing[0] not in partition.offline:
            partitions, names = found.setdefault(missing[0], ([], set()))
            partitions.append(partition)
            names.add(topic)
    return found


@remembered
def _lonely(topics: Mapping[str, Topic], away: frozenset[int]) -> dict[int, list[symptoms.Subject]]:
    """Return leader -> partitions, for leaders that answer and are alone in the ISRs of several partitions although
    more than one follower is up. Followers of idle partitions stay in sync (Partition.isFollowerOutOfSync), so these
    prove nothing. A leader with a follower that gets new records is left out.
    """
    alone: dict[int, list[symptoms.Subject]] = {}
    followers: dict[int, set[int]] = {}
    followed = set(away)
    for topic, partition in symptoms.out_of_sync(topics):
        leader, isr = partition.leader, partition.isr
        up = set(partition.replicas) - set(partition.observers) - {leader} - away
        if leader < 0 or not up or up <= set(isr):
            continue
        if isr != (leader,):
            followed.add(leader)
            continue
        alone.setdefault(leader, []).append(symptoms.Subject(topic=topic, partition=partition.number))
        followers.setdefault(leader, set()).update(up)
    return {
        leader: places
        for leader, places in alone.items()
        if leader not in followed and len(places) > 1 and len(followers[leader]) > 1
    }


def _unfollowed(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each leader from which no follower fetches: the reason is its listener for other brokers, the
    network, or a disk that does not respond.
    """
    lonely = _lonely(observations.last.snapshot.topics, not_there(observations))
    began = _began_each(lonely, observations.intervals, observations.began)
    for broker, places in sorted(lonely.items()):
        since = began[broker]
        reasons = [*_reasons(observations, {broker}, since)]
        yield cause.Claim(
            cause="replication-broken",
            subject=symptoms.Subject(broker=broker),
            severity=Severity.HIGH,
            certainty=Certainty.LIKELY,
            title=f"no replica follows broker {broker}: it is alone in the ISR of {plural(len(places), 'partition')}"
            + "".join(each.text for each in reasons[:1]),
            since=since,
            times=_times_out(observations, {each.topic for each in places if each.topic is not None}),
            evidence=(
                *(each.evidence for each in reasons),
                cause.Evidence(
                    f"broker {broker} is alone in the ISR of {plural(len(places), 'partition')} that it leads",
                    "Metadata",
                ),
                cause.Evidence("their other replicas are on brokers that are up", "Metadata"),
            ),
            predicted=_predicted_each(lonely)[broker],
            next=(
                *(each.next for each in reasons),
                cause.Next(
                    f"look at {address(observations, broker)}: its listener for other brokers, the network to it, "
                    "its disk"
                ),
            ),
        )


def _times_out(observations: Observations, topics: set[str]) -> int:
    """Return how often partitions of these topics were under-replicated: the highest number for a single partition."""
    return max(
        (
            len(intervals)
            for (name, subject), intervals in observations.intervals.items()
            if name == symptoms.UNDER_REPLICATED and subject.topic in topics
        ),
        default=0,
    )


CAUSES = (
    cause.CauseRule(
        "isr-flaps",
        _flapping,
        bare=True,
        reads="Metadata over time; DescribeConfigs",
        takes=(
            "likely: replicas of a broker that was not away left ISRs 4 times within 5 minutes, and came back each "
            "time within half a minute"
        ),
    ),
    cause.CauseRule(
        "replication-broken",
        lambda observations: (*_between(observations), *_unfollowed(observations), *_replication(observations)),
        bare=True,
        reads="Metadata; DescribeAcls, DescribeConfigs and DescribeUserScramCredentials over time; TLS handshakes",
        takes=(
            "likely: the only missing follower is on a broker that answers, a leader has no followers, or brokers do "
            "not follow one another. The row names a lost right, a line of a file or a SCRAM user that changed before"
        ),
    ),
)

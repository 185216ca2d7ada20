"""Causes in changes that clients made: each change is judged by the rules for plans, and explains the symptoms that
began right after it in entities that depend on what it changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime, timedelta
from functools import cached_property
from itertools import islice, takewhile
from operator import itemgetter
from typing import NamedTuple

from console.model import changes, codes
from console.model.broker_keys import TOPIC_SYNONYMS, listener_base
from console.model.cluster import Group, Topic
from console.model.config import ConfigResource, topic_resource
from console.model.coordinators import OFFSETS
from console.model.inheritance import AUTO_CREATE, is_made_on_request, values_of_brokers
from console.model.lag_trend import LagTrend
from console.model.numbers import commas, first_few, long_number, plural, time_of_day
from console.model.quorum import majority
from console.model.quota import QuotaEntity
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.model.subjects import COMPATIBILITY, NONE, SubjectTarget, level_of
from console.model.system_topics import COMPACT, is_of_application, may_be_of_application, system_topic
from console.plan import record_risks, risk_rules, topic_risks
from console.plan.amounts import size, utc_time
from console.plan.edits import CommitOffset
from console.plan.values import items_of
from console.triage import cause, dependencies, shorter_logs, topic_bytes
from console.triage import silence as triage_silence
from console.triage import symptoms as triage_symptoms
from console.triage.causes import addresses
from console.triage.causes.records import brokers_with
from console.triage.causes.slow_groups import MOST_MEMBERS
from console.triage.changed_places import owner_of
from console.triage.config_changes import HIDDEN
from console.triage.connection_limits import CONNECTION_LIMITS, NEW_CONNECTIONS
from console.triage.connectors import groups_of, misses_schema, reason_of, trace_of
from console.triage.events import ADDRESS, ID, PARTITIONS, Kind, Place
from console.triage.facts import Author, ChangeKey
from console.triage.judged_changes import KEPT, JudgedChange, Versions
from console.triage.observations import Interval, Observations
from console.triage.past import RETENTION, is_tighter
from console.triage.remembered import remembered, remembered_by
from console.triage.restarting_groups import members_restarting
from console.triage.restarts import restarting
from console.triage.schema_changes import way_back as schema_way_back
from console.triage.silence import SETTLES, WROTE, Silence
from console.triage.slowed import slower
from console.triage.written import Written, written

BEFORE = timedelta(minutes=5)
"""Maximum time from a change to the beginning of a symptom that it may have caused."""
REPLACED = timedelta(seconds=60)
"""The time within which a removed voter may be replaced by another one, before its removal is reported."""
KNOWN = timedelta(seconds=3)
"""The time after a change at which the journal of this host has surely been searched for it: only then is it known that
the change was not made here. Changes made here are not reported.
"""
COMMITTED = timedelta(seconds=15)
"""The time after which offsets that were set back count as set by the group's own client: an older commit that arrived
late is overtaken by then, after two intervals of auto.commit.
"""
TOGETHER = timedelta(seconds=60)
"""Maximum time between two changes of which either may be the cause of a symptom."""
_READ_LATER = timedelta(seconds=5)
"""The time by which a symptom may seem to begin before its cause, because kac reads settings and topics one after the
other.
"""

_REPLICAS = frozenset({triage_symptoms.UNDER_REPLICATED, triage_symptoms.MOVING})
_READERS = frozenset(
    {
        triage_symptoms.LAG_GROWS,
        triage_symptoms.COMMIT_STANDS_STILL,
        triage_symptoms.COMMITS_LATER,
        triage_symptoms.OFFSET_OUT_OF_RANGE,
    }
)
_FAILURES = frozenset({triage_symptoms.CONNECTOR_FAILED, triage_symptoms.TASK_FAILED})
_FORMS = ("value.converter", "key.converter", "header.converter", "transforms")
"""Prefixes of a connector's keys that determine the form of its records, which their readers may not understand."""
_THREADS = frozenset({"num.io.threads", "num.network.threads"})
"""Configs with a number of threads of brokers. After a reduction to a third, the threads may be too few for
the load.
"""
_EFFECTS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        _THREADS,
        frozenset({triage_symptoms.LAG_GROWS, triage_symptoms.UNDER_REPLICATED, triage_symptoms.BROKER_SILENT}),
    ),
    "min.insync.replicas": frozenset({triage_symptoms.UNDER_MIN_ISR, triage_symptoms.MIN_ISR_ABOVE_REPLICATION}),
    "unclean.leader.election.enable": frozenset({triage_symptoms.UNCLEAN_LEADER, triage_symptoms.LEADERLESS}),
    "leader.replication.throttled.replicas": _REPLICAS,
    "follower.replication.throttled.replicas": _REPLICAS,
    "leader.replication.throttled.rate": _REPLICAS,
    "follower.replication.throttled.rate": _REPLICAS,
    "num.replica.fetchers": frozenset({triage_symptoms.UNDER_REPLICATED}),
    "replica.fetch.max.bytes": frozenset({triage_symptoms.UNDER_REPLICATED}),
    "replica.lag.time.max.ms": frozenset({triage_symptoms.UNDER_REPLICATED}),
    "max.message.bytes": frozenset({triage_symptoms.UNDER_REPLICATED, triage_symptoms.LAG_GROWS}) | _FAILURES,
    "cleanup.policy": _FAILURES,
    **dict.fromkeys((record_risks.TIMES, *record_risks.TIME_LIMITS), _FAILURES),
    "message.max.bytes": frozenset({triage_symptoms.UNDER_REPLICATED, triage_symptoms.LAG_GROWS}),
    **dict.fromkeys(CONNECTION_LIMITS, _READERS | {triage_symptoms.BROKER_SILENT}),
    NEW_CONNECTIONS: _READERS | {triage_symptoms.BROKER_SILENT},
    "consumer_byte_rate": _READERS,
    "request_percentage": _READERS | {triage_symptoms.BROKER_SILENT},
}
"""Config key without a listener's prefix, or quota key -> the names of the symptoms that a change of its value may
cause.
"""
_PROTOCOL_OF = {"group.version": "consumer", "streams.version": "streams", "share.version": "share"}
"""Feature -> the type of the groups that work only with the feature."""
_SHORTER = frozenset(
    {
        "share.record.lock.duration.ms",
        "share.partition.max.record.locks",
        "share.session.timeout.ms",
        "consumer.session.timeout.ms",
        "streams.session.timeout.ms",
    }
)
"""Configs of a group whose lower value may hold up its members, as they need more time to process records."""
_IS_LOWER = frozenset(
    {
        *MOST_MEMBERS.values(),
        "group.max.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    }
)
"""Configs of brokers with an upper limit: brokers refuse members of groups above it."""
_IS_HIGHER = frozenset({"group.min.session.timeout.ms", "group.consumer.min.session.timeout.ms"})
"""Configs of brokers with a lower limit: brokers refuse members of groups below it."""
_PROTOCOLS = "group.coordinator.rebalance.protocols"
_FETCHES = frozenset({"replica.lag.time.max.ms", "replica.fetch.max.bytes", "num.replica.fetchers"})
"""Configs in a broker's file whose lower value may let its replicas leave ISRs."""
_WORSE_IF_LOWER = frozenset(
    {
        "num.replica.fetchers",
        "replica.fetch.max.bytes",
        "replica.lag.time.max.ms",
    }
)
"""Configs whose higher value holds up no client."""
_WORSE_IF_HIGHER = frozenset({"min.insync.replicas"})
"""Configs whose lower value holds up no client."""
_SIZES = frozenset({topic_risks.MESSAGE_SIZE, "message.max.bytes"})
"""Configs that limit the size of batches."""
_COMPRESSION, _NEWEST = "compression.type", "zstd"
"""The config of a topic for the codec that brokers give its batches; and a codec that old consumers can't read."""
_ADDRESSES = ("advertised.listeners", "listeners")
"""Configs of brokers with the address of each listener."""
_CONNECTS = (
    "ssl.keystore.location",
    "ssl.keystore.certificate.chain",
    "ssl.truststore.location",
    "ssl.truststore.certificates",
    "ssl.client.auth",
    "ssl.enabled.protocols",
    "ssl.cipher.suites",
    "ssl.principal.mapping.rules",
    "sasl.enabled.mechanisms",
    "listener.security.protocol.map",
    "principal.builder.class",
    "authorizer.class.name",
    "super.users",
    "allow.everyone.if.no.acl.found",
)
"""Configs of brokers that determine whether a client may connect, and as which principal. They do not affect
connections that exist already.
"""
_LISTS = ("ssl.enabled.protocols", "ssl.cipher.suites", "sasl.enabled.mechanisms", "listener.security.protocol.map")
"""Those of `_CONNECTS` whose value is the list of what brokers accept."""
_OPENS = ("super.users", "allow.everyone.if.no.acl.found")
"""Those of `_CONNECTS` that give clients access without ACLs. Brokers hide the values, so only the removal of the line
shows that access was taken away.
"""
_ANEW = (
    "a client meets it when it connects again, so that those which were restarted since fail first: it has to trust "
    "the authority of the brokers' certificate, and the broker has to take its login"
)
_ADDRESS_ANEW = (
    "a client meets it when it looks up the broker again: it has to resolve the new host, and reach it and its port; "
    "clients of another listener may go on"
)
_REFUSED_ABOVE: Mapping[str, str] = {
    "transaction.max.timeout.ms": "brokers refuse a transactional producer that asks for a longer timeout when it "
    "starts (InvalidTransactionTimeoutException)",
    "socket.request.max.bytes": "brokers close the connection of a client that sends a larger request",
}
"""Config of brokers with an upper limit -> the requests of producers that brokers refuse above it. If the limit was
lowered, a producer may notice it only at its next start.
"""
_SLOWS = frozenset({"producer_byte_rate", "request_percentage"})
"""Quotas that may stop or slow down a producer."""
_STANDS = frozenset(
    {
        risk_rules.UNCLEAN_ELECTION,
        risk_rules.RETENTION_ZERO,
        risk_rules.RETENTION_TINY,
        risk_rules.RETENTION_IN_SECONDS,
        risk_rules.RETENTION_ABOVE_DISK,
        risk_rules.SYSTEM_TOPIC,
        risk_rules.QUOTA_NEAR_ZERO,
        risk_rules.CONNECTIONS_BELOW_USE,
        risk_rules.SETTINGS_CONTRADICT,
        risk_rules.KEYLESS_RECORDS,
        risk_rules.TIMES_REFUSED,
        risk_rules.ONE_RACK,
        risk_rules.ONE_REPLICA,
        risk_rules.ACL_LOCKS_OUT,
        risk_rules.ACL_MATCHES_NOTHING,
        risk_rules.TOPIC_DELETED,
        risk_rules.ISR_ABOVE_REPLICATION,
        risk_rules.NO_SPARE_VOTER,
    }
)
"""Names of risks of plans that are reported before a client suffers. Other risks are advice for the operator who stages
an edit, such as a default quota that no client reaches, or only harm clients that no API shows.
"""
_BY_POSITION = frozenset(
    {
        *triage_symptoms.OF_REPLICAS,
        triage_symptoms.BROKER_SILENT,
        triage_symptoms.LAG_GROWS,
        triage_symptoms.COMMIT_STANDS_STILL,
        triage_symptoms.OFFSET_OUT_OF_RANGE,
        triage_symptoms.LSO_STANDS_STILL,
        triage_symptoms.COMPACTED_GROWS,
        triage_symptoms.VOTER_BEHIND,
    }
)
"""Names of symptoms for which a change of an entity on which their subject depends is named as possible cause if no
rule explains them.
"""
_MOST_SAID = 10
"""Maximum number of changes of one owner that are listed as evidence."""
MOST_NAMED = 3
"""Maximum number of topics, or of groups, that a title names."""
STAYS = timedelta(seconds=30)
"""The time for which a group whose offsets were set has to be without members before kac offers to set them again: its
consumers may be starting. Also the time after a restart of brokers within which clients connect again.
"""

CAUGHT_UP = timedelta(seconds=30)
"""The time after a broker's restart after which the restart is no reason any more why a replica leaves an ISR."""

EXPIRES = "offsets.retention.minutes"
"""The broker config with the time after which brokers delete the offsets of a group without members."""
JUST_BEFORE, RECONNECTS = 15.0, 60.0
"""Seconds before and after a broker stopped within which the last record of a producer came that then did not get a
connection again."""
FEWEST_LOST = 20
"""Minimum number of records that a group had read when its offsets were lost; for fewer, the loss is not reported."""
LONG_KEPT = 24 * 60
"""Minutes: if brokers keep offsets for at least this time, offsets that go soon after their group's members stopped did
not expire.
"""
COUNT = "num.partitions"
"""The broker config with the number of partitions of a topic that brokers create because a client requested it."""

_Owner = tuple[object, datetime | None]


def _owner(change: JudgedChange) -> _Owner:
    """Return the key under which changes are reported together: the changed entity and the time of the change. For a
    line in brokers' files it is the line with its former and present value, for a subject of the registry the
    subject; both without a time, so that all such changes are together.
    """
    if change.from_file:  # one line in the files of several brokers
        return (change.place.key, change.was, change.became), None
    schema = _schema_of(change)
    return (schema, None) if schema is not None else (change.place.about, change.at)


def _schema_of(change: JudgedChange) -> dependencies.Entity | None:
    """Return the subject of the registry whose versions or configs changed; None for other changes."""
    entity = dependencies.changed_entity(change.place.about)
    if entity is None or entity.sort not in (dependencies.SCHEMAS, dependencies.SCHEMA_CONFIGS):
        return None
    return dependencies.Entity(dependencies.SCHEMAS, entity.name)


def _has_risk(change: JudgedChange) -> bool:
    return any(risk.name in _STANDS for risk in change.risks)


def _is_done(change: JudgedChange, snapshot: Snapshot) -> bool:
    """Return whether a change of the voters needs no further step, because enough controllers vote now that one may
    fail; False for other changes.
    """
    if change.place.kind is not Kind.VOTER:
        return False
    voters = len(snapshot.quorum.voters) if snapshot.quorum is not None else 0
    return majority(voters) < voters


class _Hit(NamedTuple):
    """A symptom that a change may explain."""

    symptom: triage_symptoms.Symptom
    by_rule: bool
    """Whether a rule says that such a change causes symptoms of this name."""
    predicted: cause.Prediction
    is_near: bool
    """Whether a rule says so, or the changed entity is the symptom's subject or one on which the subject depends
    directly.
    """
    rival: JudgedChange | None = None
    """Another change at about the same time that is equally likely the cause; None if there is none."""


class _Suffering(NamedTuple):
    """The symptoms that the changes of one owner explain.

    Attributes:
        hit: the symptoms.
        by_rule: whether a rule attributes at least one of the symptoms to the changes.
        groups, connectors: the groups and connectors with the symptoms, sorted.
        predicted: the predictions of all these symptoms.
    """

    hit: Sequence[_Hit] = ()
    by_rule: bool = False
    groups: Sequence[str] = ()
    connectors: Sequence[str] = ()
    failed: Sequence[triage_symptoms.Subject] = ()
    predicted: tuple[cause.Prediction, ...] = ()


_UNHARMED = _Suffering()


class _Hits:
    """The symptoms that each change explains. found: id() of a change -> its symptoms."""

    def __init__(self, found: Mapping[int, Sequence[_Hit]]) -> None:
        self._found = found
        self._known: dict[tuple[int, ...], _Suffering] = {}

    @cached_property
    def near(self) -> Mapping[triage_symptoms.Subject, tuple[int, _Hit]]:
        """Subject -> the id() of a change, and the symptom that it explains; only for changes that are near
        (`_Hit.is_near`).
        """
        found: dict[triage_symptoms.Subject, tuple[int, _Hit]] = {}
        for change, mine in self._found.items():
            for each in mine:
                if each.is_near:
                    found.setdefault(each.symptom.subject, (change, each))
        return found

    def __contains__(self, change: JudgedChange) -> bool:
        return id(change) in self._found

    def of(self, parts: Iterable[JudgedChange]) -> _Suffering:
        """Return the symptoms that the changes of one owner explain. The result is cached: for an owner of 10,000
        groups it is not computed again in each poll.
        """
        which = tuple(id(part) for part in parts if part in self)
        if not which:
            return _UNHARMED
        if which not in self._known:
            self._known[which] = self._suffering(which)
        return self._known[which]

    def _suffering(self, which: Iterable[int]) -> _Suffering:
        hit = list({id(each.symptom): each for part in which for each in self._found[part]}.values())
        subjects = [each.symptom.subject for each in hit]
        failed = [each for each in subjects if each.connector is not None]
        return _Suffering(
            hit,
            any(each.by_rule for each in hit),
            sorted({each.group for each in subjects if each.group is not None}),
            sorted({each.connector for each in failed if each.connector is not None}),
            failed[:MOST_NAMED],
            tuple([each.predicted for each in hit]),
        )


class _Made(NamedTuple):
    """Changes of one owner between the same two polls, and their effects: symptoms, topics to which producers stopped
    writing, and groups that lost their commits.
    """

    parts: tuple[JudgedChange, ...]
    suffers: _Suffering = _UNHARMED
    silent: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    slower: tuple[str, ...] = ()
    """Topics to which producers have written more slowly since, about as fast as a quota allows."""
    compacted: topic_bytes.Measured | None = None
    """The measure of the topic from which compaction removed records since."""
    swollen: topic_bytes.Measured | None = None
    """The measure of the topic whose records take several times the former bytes since."""

    @property
    def at(self) -> datetime:
        """The time of the first poll that showed the changes."""
        return self.parts[0].at

    @property
    def by_rule(self) -> bool:
        """Whether a rule attributes at least one of the symptoms to the changes; True without symptoms."""
        return not self.suffers.hit or self.suffers.by_rule

    @property
    def has_effect(self) -> bool:
        """Whether the changes have any effect that kac knows of."""
        return bool(self.suffers.hit or self.silent or self.lost or self.slower or self.is_measured)

    @property
    def is_measured(self) -> bool:
        """Whether a measure of rates or sizes shows an effect."""
        return bool(self.slower or self.compacted or self.swollen)


def _changed(observations: Observations) -> Iterator[cause.Claim]:
    judged = observations.past.judged
    if not judged and not observations.past.ended:
        return
    hits = _hits(observations.seen, observations.intervals, judged, observations)
    silent, lost = _silent(observations, judged), _lost(judged)
    by_owner: dict[_Owner, list[JudgedChange]] = {}
    falls = shorter_logs.shorter(observations)
    for each in judged:
        if shorter_logs.is_effect(each, falls):
            continue  # `log-shortened` names the group
        by_owner.setdefault(_owner(each), []).append(each)
    for parts in by_owner.values():
        made = _with_effects(parts, hits, silent, lost)
        if slow := [each for part in parts for each in slower(observations.past.slowed, part, observations.last.at)]:
            made = made._replace(slower=tuple(dict.fromkeys(slow)))
        if observations.past.measured:
            made = _with_bytes(made, observations)
        if parts[0].from_file and made.has_effect and _restart_lately(parts, observations):
            made = made._replace(
                suffers=_UNHARMED, silent=() if _connects(parts[0]) or _moves(parts[0]) else made.silent
            )
        is_settled = not parts[0].by_member or observations.last.at - made.at >= COMMITTED
        if is_settled and (made.has_effect or _stands(made, observations)):
            yield _claim(made, observations)
    yield from _outlived(observations, {topic for topics in silent.values() for topic in topics})


def _outlived(observations: Observations, named: Set[str]) -> Iterator[cause.Claim]:
    """Yield a claim for each change that was reverted, but after which producers did not start again: some end at the
    first error.

    Args:
        named: the topics that became silent because of a change that is not reverted.
    """
    left = (
        [each for each in triage_silence.silences(observations) if each.topic not in named]
        if observations.past.ended
        else []
    )
    for change, ended in reversed(observations.past.ended):
        if not left:
            return
        found = list(_ended_at(observations, change, ended, left)) if _stops_producers(change) else []
        if found:
            left = [each for each in left if each.topic not in found]
            yield _claim_of_outlived(change, ended, found, observations)


def _ended_at(
    observations: Observations, change: JudgedChange, ended: datetime, silent: Sequence[Silence]
) -> Iterator[str]:
    """Yield the topics to which producers stopped writing right after a change that has been reverted since.

    Args:
        ended: the time at which the change was reverted, UTC.
        silent: the silent topics, the latest first.
    """
    own = change.place.about
    broker = int(own.name) if isinstance(own, ConfigResource) and own.name.isdecimal() else None
    only = own.name if isinstance(own, ConfigResource) and own.type == codes.TOPIC else None
    # A topic's own config may refuse a later record, as one that is larger than those before it.
    last = min(ended, change.at if only is None else change.at + BEFORE).timestamp() + SETTLES
    first = bisect_left(silent, -last, key=lambda each: -each.grew_at)
    topics = observations.last.snapshot.topics
    for each in islice(silent, first, None):
        if each.grew_at < change.after.timestamp() - WROTE:
            return
        is_led = broker is None or any(one.leader == broker for one in topics[each.topic].partitions)
        if only in (None, each.topic) and is_led:
            yield each.topic


def _claim_of_outlived(
    change: JudgedChange, ended: datetime, topics: Sequence[str], observations: Observations
) -> cause.Claim:
    subject, name = owner_of(change.place)
    refused = _refused(change)
    author = _author(change, observations.last.facts.authors)
    # No API links a producer to a quota or a user, and a connected client does not meet what decides about logins.
    certainty = Certainty.LIKELY if refused else Certainty.POSSIBLE
    is_user = change.place.kind is Kind.SCRAM
    back = "set again" if is_user else "put back"
    return cause.Claim(
        cause="changed-lately",
        subject=subject,
        severity=Severity.HIGH if refused else Severity.WARNING,
        certainty=certainty,
        title=f"{name}: {_short(change)}, and was {back} at {time_of_day(ended)}; nothing is written to "
        f"{first_few(topics, MOST_NAMED)} since",
        since=change.at,
        evidence=cause.given(
            cause.Evidence(_said(change), _source(change)),
            cause.Evidence(
                f"it {'is there again' if is_user else 'has its former value'} since {time_of_day(ended)}",
                _source(change),
            ),
            cause.Evidence(refused, "Kafka's documentation") if refused else None,
            cause.Evidence(f"{author.who} set it: change {author.number}", "this host's journal") if author else None,
        ),
        next=(
            cause.Next(
                f"look whether the producers of {first_few(topics, MOST_NAMED)} still run, and start them again: some "
                "end at the first error; the brokers take their records again"
            ),
        ),
        alone=certainty is Certainty.POSSIBLE,
    )


def blamed(observations: Observations) -> Mapping[triage_symptoms.Key, object]:
    """Return symptom of a failed connector -> the owner of the change that explains it by a rule."""
    judged = observations.past.judged
    if not judged:
        return {}
    hits = _hits(observations.seen, observations.intervals, judged, observations)
    return {
        (hit.symptom.name, hit.symptom.subject): _owner(change)
        for change in judged
        for suffers in (hits.of([change]),)
        if suffers.connectors  # a shortcut: other changes have no hit with a connector
        for hit in suffers.hit
        if hit.by_rule and hit.symptom.subject.connector is not None
    }


class Suspect(NamedTuple):
    """A change right before a symptom of an entity that depends on the changed entity."""

    name: str
    """The changed entity and the change, in a few words."""
    said: cause.Evidence
    by_rule: bool
    """Whether a rule says that such a change causes such symptoms."""


def suspect(observations: Observations, subject: triage_symptoms.Subject) -> Suspect | None:
    """Return the change that may be the reason for a subject's symptoms; None if no near change is known."""
    judged = observations.past.judged
    if not judged:
        return None
    found = _hits(observations.seen, observations.intervals, judged, observations).near.get(subject)
    if found is None:
        return None
    change, hit = next(each for each in judged if id(each) == found[0]), found[1]
    _, name = owner_of(change.place)
    return Suspect(f"{name}: {_short(change)}", in_words(change), hit.by_rule)


def in_words(change: JudgedChange) -> cause.Evidence:
    """Return a change with the changed entity as evidence."""
    _, name = owner_of(change.place)
    return cause.Evidence(f"{name}: {_said(change)}", _source(change))


def _stands(made: _Made, observations: Observations) -> bool:
    """Return whether changes are reported before they have an effect: they make groups pass over or repeat records,
    have a risk, or created a topic again; another client than kac on this host made them; and at least `KNOWN` (3 s)
    has passed.
    """
    snapshot = observations.last.snapshot
    if not any(
        each.again
        or each.ahead
        or each.waited
        or each.skipped
        or (_has_risk(each) and not (_is_done(each, snapshot) or _is_read_anew(each, snapshot)))
        or _lost_its_place(each, observations)
        or _made_by_request(each, snapshot)
        for each in made.parts
    ):
        return False
    # Leave out kac's own changes: kac showed their warnings to the operator before it sent them.
    is_own = any(_author(each, observations.last.facts.authors) is not None for each in made.parts)
    waits = REPLACED if made.parts[0].place.kind is Kind.VOTER else KNOWN
    return not is_own and observations.last.at - made.at >= waits


def _lost_its_place(change: JudgedChange, observations: Observations) -> bool:
    """Return whether a group without members lost offsets of partitions that clients read, or may read, for it. False
    if the offsets went because the topic of all groups' offsets changed, which is a cause of its own.
    """
    about, snapshot = change.place.about, observations.last.snapshot
    group = snapshot.groups.get(about.name) if isinstance(about, changes.GroupTarget) else None
    lost = sum(was for was, now in change.offsets.values() if now < 0)
    return (
        group is not None
        and change.waited is None
        and lost >= FEWEST_LOST
        and (change.was_used or group.is_vacant)
        and all(each.place.about != _OFFSETS_TOPIC.about for each in observations.past.judged)
    )


def _is_read_anew(change: JudgedChange, snapshot: Snapshot) -> bool:
    """Return whether a topic was deleted and created again, and a group has committed offsets in the new topic."""
    about = change.place.about
    if not isinstance(about, changes.TopicTarget) or change.place.key != ID:
        return False
    topic, since = snapshot.topics.get(about.name), change.at.timestamp()
    places = {(about.name, each.number) for each in (topic.partitions if topic is not None else ())}
    # Look up the places in each group: an index of what all groups read costs ten times as much.
    moved = (trend.standing[where].moved for trend in snapshot.lag_trends.values() for where in _among(places, trend))
    return any(at is not None and at > since for at in moved)


def _among(places: Set[tuple[str, int]], trend: LagTrend) -> Set[tuple[str, int]]:
    return frozenset() if trend.standing.keys().isdisjoint(places) else trend.standing.keys() & places


def _with_effects(
    parts: Sequence[JudgedChange], hits: _Hits, silent: Mapping[int, Sequence[str]], lost: Mapping[int, Sequence[str]]
) -> _Made:
    """Return changes of one owner with their effects. If any of the changes has an effect, those without one are left
    out.

    Args:
        hits: the symptoms that each change explains.
        silent: id() of a change -> the topics that became silent because of it.
        lost: id() of a change -> the groups that lost their commits by it.
    """
    suffers = hits.of(parts)
    if any(map(_has_risk, parts)) and not suffers.by_rule:
        suffers = _UNHARMED  # the risk that the rule names is better evidence than the order in time
    topics = dict.fromkeys(each for part in parts for each in silent.get(id(part), ()))
    groups = dict.fromkeys(each for part in parts for each in lost.get(id(part), ()))
    with_effect = [each for each in parts if (suffers.hit and each in hits) or id(each) in silent or id(each) in lost]
    # Name a schema's version first: it explains more than the compatibility level that admitted it.
    with_effect.sort(key=lambda each: each.place.kind is Kind.CONFIG)
    return _Made(
        tuple(parts if parts[0].from_file else with_effect or parts),
        suffers,
        tuple(topics),
        tuple(groups),
    )


def _with_bytes(made: _Made, observations: Observations) -> _Made:
    """Return changes with their effect on the bytes of a topic, the change that has it first. Risks that a rule of
    plans names precede what compaction removed: they say more.
    """
    known, at = observations.past.measured, observations.last.at
    for each in made.parts:
        compacted = None if _has_risk(each) else topic_bytes.compacted(known, each)
        swollen = topic_bytes.swollen(known, each, at)
        if compacted is not None or swollen is not None:
            parts = (each, *(other for other in made.parts if other is not each))
            return made._replace(parts=parts, compacted=compacted, swollen=swollen)
    return made


# -- affected symptoms -------------------------------------------------------------------------------------------------


def _restart_lately(parts: Sequence[JudgedChange], observations: Observations) -> bool:
    """Return whether the brokers whose files changed restart now, or came back a moment ago: the restart itself has the
    same symptoms as a changed line that clients notice when they connect again.
    """
    now = observations.last.at
    if restarting(observations):
        return True
    for part in parts:
        about = part.place.about
        if not isinstance(about, ConfigResource) or not about.name.isdecimal():
            continue
        number = int(about.name)
        if number in triage_symptoms.gone(observations.last.snapshot) | observations.last.silent:
            return True
        back = observations.back_since(number)
        if now - max(back or part.after, part.after) < STAYS:
            return True
    return False


def _effects_of_file(change: JudgedChange) -> frozenset[str]:
    """Return the names of the symptoms that a rule attributes to a changed line of a broker's file."""
    key, was, now = change.place.key, change.held or change.was, change.holds or change.became
    if _connects(change) or (_limits_connections(change) and not _lets_go(change)):
        return _READERS
    falls = record_risks.falls(was, now, is_known=True)
    rises = record_risks.falls(now, was, is_known=True)
    if (falls and key in _IS_LOWER) or (rises and key in _IS_HIGHER):
        return _READERS | {triage_symptoms.REBALANCING}
    if key == _PROTOCOLS and not set(items_of(was or "")) <= set(items_of(now or "")):
        return _READERS | {triage_symptoms.REBALANCING}
    return frozenset({triage_symptoms.UNDER_REPLICATED}) if falls and key in _FETCHES else frozenset()


def _effects_of(change: JudgedChange) -> frozenset[str]:
    """Return the names of the symptoms that a rule attributes to a change."""
    place = change.place
    if change.from_file:
        return _effects_of_file(change)
    match place.kind:
        case Kind.CONFIG if _connects(change):
            return _READERS
        case Kind.CONFIG if place.key in _SHORTER:
            falls = record_risks.falls(change.held or change.was, change.holds or change.became, is_known=False)
            return _READERS if falls else frozenset()
        case Kind.CONFIG if _is_of_connector(change) and place.key.startswith(_FORMS):
            return _FAILURES | _READERS
        case Kind.CONFIG | Kind.SCHEMA if _is_of_connector(change) or _schema_of(change) is not None:
            return _FAILURES
        case Kind.CONFIG if place.key in _SIZES:
            return _effects_of_size(change)
        case Kind.CONFIG if place.key == _COMPRESSION and change.holds == _NEWEST != change.held:
            return _READERS | _FAILURES  # brokers refuse their fetches (UNSUPPORTED_COMPRESSION_TYPE)
        case Kind.CONFIG | Kind.QUOTA:
            return frozenset() if _lets_go(change) else _EFFECTS.get(_base(place.key), frozenset())
        case Kind.FEATURE if _needs_feature(change):
            return _READERS
        case kind if kind.about.is_login and change.was is not None:
            return _READERS | _FAILURES
        case Kind.TOPIC if place.key == ID or change.became is None:
            return _READERS | _FAILURES
        case Kind.OFFSET if change.again:  # deleted or skipped records cause no lag
            return _READERS
        case Kind.BROKER if place.key == ADDRESS:
            return frozenset({triage_symptoms.BROKER_SILENT, triage_symptoms.NOT_PREFERRED})
        case Kind.VOTER:
            return frozenset({triage_symptoms.NO_QUORUM_LEADER, triage_symptoms.EPOCH_JUMPS})
    return frozenset()


def _base(key: str) -> str:
    """Return a key without the prefix of a listener."""
    return listener_base(key) or key


def _needs_feature(change: JudgedChange) -> str:
    """Return the type of the groups that can't work with the lower level of a feature; ``""`` for other changes."""
    about = change.place.about
    if not isinstance(about, changes.FeatureTarget) or int(change.became or 0) >= int(change.was or 0):
        return ""
    return _PROTOCOL_OF.get(about.name, "")


def _effects_of_size(change: JudgedChange) -> frozenset[str]:
    """Return the names of the symptoms that a changed limit of the size of batches may cause. A higher limit lets
    larger batches in, for replicas and readers; a lower one refuses writes: those of a connector, and commits.
    """
    was, now = change.held or change.was, change.holds or change.became
    if not record_risks.falls(was, now, is_known=True):
        return _EFFECTS[change.place.key]
    is_of_offsets = change.place.about == topic_resource(OFFSETS)
    return _FAILURES | (_READERS if is_of_offsets else frozenset())


def _connects(change: JudgedChange) -> bool:
    """Return whether a change of a broker's config may keep clients from connecting, to one listener or to all."""
    key = change.place.key
    is_brokers = isinstance(change.place.about, ConfigResource) and change.place.about.type == codes.BROKER
    if key in _OPENS and change.became is not None:
        return False
    if key == "authorizer.class.name" and not change.became:
        return False  # every client may do all
    if key.endswith(_LISTS):
        was, now = (set(items_of(each or "")) for each in (change.held or change.was, change.holds or change.became))
        if was and was <= now:
            return False  # what clients used is taken still
    return is_brokers and any(key == each or key.endswith(f".{each}") for each in _CONNECTS)


def _moves(change: JudgedChange) -> bool:
    """Return whether a broker's listener has another address since a change, or none."""
    about, was = change.place.about, items_of(change.held or change.was or "")
    is_brokers = isinstance(about, ConfigResource) and about.type == codes.BROKER and about.name.isdecimal()
    is_address = is_brokers and change.place.key in _ADDRESSES
    return is_address and bool(was) and not set(was) <= set(items_of(change.holds or change.became or ""))


def _near(change: JudgedChange) -> frozenset[str]:
    """Return the names of the symptoms that a change may explain only because their subject depends on the changed
    entity.
    """
    is_new = change.was is None and change.place.kind in (Kind.SCRAM, Kind.TOPIC)
    is_by_rule = change.offsets or change.from_file or _ends_by_itself(change)
    return frozenset() if is_new or is_by_rule or _lets_go(change) else _BY_POSITION


def _ends_by_itself(change: JudgedChange) -> bool:
    """Return whether a change is the end of a login that expired: connected clients are not affected."""
    about = change.place.kind.about
    return about.is_login and not about.by_requests


def _lets_go(change: JudgedChange) -> bool:
    """Return whether a change can't make clients slower: it removes or raises a quota, a replication throttle or a
    limit of connections, or gives a config a better value.
    """
    key = _base(change.place.key)
    held, holds = change.held or change.was, change.holds or change.became
    if key in _THREADS:
        before, after = long_number(held or ""), long_number(holds or "")
        return before is None or after is None or 3 * after > before
    if key in _WORSE_IF_LOWER:
        return record_risks.falls(holds, held, is_known=True)
    if key in _WORSE_IF_HIGHER:
        return record_risks.falls(held, holds, is_known=True)
    is_limit = key.endswith((".throttled.rate", ".throttled.replicas")) or _limits_connections(change)
    if not is_limit and change.place.kind is not Kind.QUOTA:
        return False
    if not change.became:
        return True
    was, became = (_limits_in(each or "", key) for each in (change.was, change.became))
    # An address without an override had the limit of all addresses, which is mostly higher.
    return bool(was and became) and all(where in was and limit >= was[where] for where, limit in became.items())


def _limits_in(value: str, key: str) -> Mapping[str, float]:
    """Return address -> limit for a value with overrides by address, ``""`` -> limit for any other value; empty if the
    value can't be parsed.
    """
    some = (each.rpartition(":") for each in (items_of(value) if key.endswith(".overrides") else [value]))
    try:
        return {where: float(limit) for where, _, limit in some}
    except ValueError:
        return {}


def _limits_connections(change: JudgedChange) -> bool:
    return _base(change.place.key) in (*CONNECTION_LIMITS, NEW_CONNECTIONS)


class _Candidate(NamedTuple):
    """A change that may have caused symptoms."""

    change: JudgedChange
    by_rule: frozenset[str]
    """The names of the symptoms that a rule says such a change causes."""
    near: frozenset[str]
    """The names of the symptoms that the change may explain only because their subject depends on the changed
    entity.
    """
    first: datetime
    last: datetime
    of_vacant: bool = False
    """Whether the change affects, among groups, only those whose members have left."""
    of_type: str = ""
    """The type of the groups that the change affects; ``""`` for all types."""


def _candidate(change: JudgedChange) -> _Candidate:
    # Clients notice some changes late: a deleted credential, or a line of a broker's file, at their next login; a new
    # schema when they read its first record. A group may take as long to read up to its former offsets again.
    is_late = change.offsets or change.place.kind.about.is_login or _schema_of(change) is not None or change.from_file
    lasts = KEPT if is_late else BEFORE
    first = change.after - _READ_LATER
    if change.from_file and change.place.key in _FETCHES:
        first = change.at + CAUGHT_UP  # the replicas of a broker that restarted leave ISRs, and come back
    return _Candidate(
        change,
        _effects_of(change),
        _near(change),
        first,
        change.at + lasts,
        of_vacant=_connects(change) or _limits_connections(change) or _ends_by_itself(change),
        of_type=_needs_feature(change),
    )


@remembered_by(3)
def _hits(
    seen: Mapping[triage_symptoms.Key, triage_symptoms.Symptom],  # noqa: ARG001  with the intervals it decides
    intervals: Mapping[triage_symptoms.Key, Sequence[Interval]],  # noqa: ARG001
    judged: Sequence[JudgedChange],
    observations: Observations,
) -> _Hits:
    """Return change -> the symptoms that it explains: they began right after it, and their subjects depend on the
    changed entity. Each symptom is attributed to its most likely change, which is determined once, when the symptom
    or the change is new.
    """
    changed: dict[str, dict[str, list[_Candidate]]] = {}
    by_owner: dict[_Owner, list[_Candidate]] = {}
    candidates = []
    for each in judged:
        if (entity := _entity_of(each)) is not None:
            candidates.append(_candidate(each))
            by_owner.setdefault(_owner(each), []).append(candidates[-1])
            changed.setdefault(entity.sort, {}).setdefault(entity.name, []).append(candidates[-1])
    found: dict[int, list[_Hit]] = {}
    earliest = min((each.first for each in candidates), default=None)
    for name in sorted(frozenset().union(*(each.by_rule | each.near for each in candidates))):
        for symptom in observations.of(name):
            since = observations.since(symptom)
            if since is None or earliest is None or since < earliest:
                continue
            snapshot = observations.last.snapshot
            group = snapshot.groups.get(symptom.subject.group or "")
            some = _by_trace(symptom, snapshot, dependencies.near(symptom, snapshot, changed))
            best = _best(symptom, since, group, some)
            if best is None:
                continue
            predicted = cause.Prediction(frozenset({name}), symptom.subject)
            named: list[tuple[_Candidate, _Candidate | None]] = [(best.candidate, best.rival)]
            if best.rival is not None:
                named.append((best.rival, best.candidate))
            for likely, other in named:
                rival = other.change if other is not None else None
                # Name changes of one owner together.
                for mine in by_owner[_owner(likely.change)]:
                    one = likely if mine.change is likely.change else mine
                    by_rule = name in one.by_rule
                    if one is likely or by_rule:
                        hit = _Hit(symptom, by_rule, predicted, by_rule or best.is_near, rival)
                        found.setdefault(id(one.change), []).append(hit)
    return _Hits(found)


def _entity_of(change: JudgedChange) -> dependencies.Entity | None:
    """Return the entity that a change concerns; for a login that names its owner, the owner. None if no symptom depends
    on it.
    """
    if change.place.kind.about.is_login and change.place.key:
        return dependencies.Entity(dependencies.USERS, change.place.key.removeprefix("User:"))
    return dependencies.changed_entity(change.place.about)


def _by_trace(
    symptom: triage_symptoms.Symptom, snapshot: Snapshot, some: Iterable[tuple[int, Sequence[_Candidate]]]
) -> Iterator[tuple[int, Sequence[_Candidate]]]:
    """Yield the changes of `some`, with their distances, without deletions of schemas that the trace of the symptom's
    connector does not name as missing: the ids of deleted versions still decode records.
    """
    subject = symptom.subject
    if subject.connector is None:
        for distance, mine in some:
            # Nearly no group of 10,000 with 100 changes has a topic that grew.
            grown = distance == dependencies.READS and any(each.change.place.key == PARTITIONS for each in mine)
            yield distance, [_if_joined(each, subject.group, snapshot) for each in mine] if grown else mine
        return
    is_missing = misses_schema(trace_of(snapshot.connect, subject.connector, subject.task))
    for distance, mine in some:
        found = [each for each in mine if (seen := each.change.versions) is None or seen.registered or is_missing]
        yield distance, found


def _if_joined(candidate: _Candidate, group: str | None, snapshot: Snapshot) -> _Candidate:
    """Return a candidate for a group's symptom. The growth of a topic becomes a candidate by rule if the group also
    reads a topic that has the former number of partitions: joins need equal numbers. Any other candidate is returned
    unchanged.
    """
    return (
        candidate._replace(by_rule=candidate.near)
        if group and _joined_with(candidate.change, group, snapshot)
        else candidate
    )


def _joined_with(change: JudgedChange, group: str, snapshot: Snapshot) -> str:
    """Return the topic that needs as many partitions as a topic that was given more: a group joins them, or a Kafka
    Streams application created it with the former number; ``""`` if there is none.
    """
    grown, lag = change.place.about, snapshot.lags.get(group)
    if (
        not isinstance(grown, changes.TopicTarget)
        or change.place.key != PARTITIONS
        or change.was is None
        or lag is None
    ):
        return ""
    read = {row.topic for row in lag.partitions}
    if grown.name not in read:
        return ""
    others = [*_of_application(group, snapshot), *sorted(read - {grown.name})]
    same = (
        name for name in others if (known := snapshot.topics.get(name)) and str(len(known.partitions)) == change.was
    )
    return next(same, "")


def _of_application(group: str, snapshot: Snapshot) -> Sequence[str]:
    """Return the topics that the Kafka Streams application with this group's name created for itself; empty for other
    groups.
    """
    names, prefix = _made_by_applications(snapshot.topics), f"{group}-"
    first = bisect_left(names, prefix)
    return list(takewhile(lambda name: name.startswith(prefix), names[first:]))


@remembered
def _made_by_applications(topics: Mapping[str, Topic]) -> Sequence[str]:
    """Return the topics whose names have the form that Kafka Streams gives to its own topics, sorted."""
    return sorted(filter(may_be_of_application, topics))


class _Best(NamedTuple):
    """The change that is most likely the cause of a symptom, and how near the changed entity is."""

    candidate: _Candidate
    is_near: bool
    """Whether the changed entity is the symptom's subject, or one on which the subject depends directly."""
    rival: _Candidate | None = None
    """Another change that is equally likely the cause; None if there is none."""


def _best(
    symptom: triage_symptoms.Symptom,
    since: datetime,
    group: Group | None,
    some: Iterable[tuple[int, Sequence[_Candidate]]],
) -> _Best | None:
    """Return the change that is most likely the cause of a symptom; None if no change can be.

    The order is: changes with a rule for the symptom; those with a risk; for a group without members, those that keep
    clients from connecting; the nearest; the latest. Another change at about the same time is a rival if both have a
    rule and neither is preferred by the risk or the kind: then the nearer one is not more likely.

    Args:
        since: the beginning of the symptom, UTC.
        group: the group of the symptom; None if it is unknown.
        some: the changes that may be the cause, each with its distance from the symptom's subject.
    """
    best: tuple[_Rank, _Candidate] | None = None
    alike: list[tuple[_Rank, _Candidate]] = []
    name, subject = symptom.name, symptom.subject
    is_vacant = group is not None and group.is_vacant
    for distance, mine in some:
        for each in mine:
            by_rule = name in each.by_rule
            if not (by_rule or name in each.near) or not each.first <= since <= each.last:
                continue
            if each.of_vacant and subject.group is not None and not is_vacant:
                continue
            if each.of_type and (group is None or group.type.lower() != each.of_type):
                continue
            # A member that rereads many records reads one topic after the other, so topics whose offsets were not reset
            # wait too.
            topics = {topic for (topic, _), (was, now) in each.change.offsets.items() if now < was}
            if topics and subject.topic is not None and subject.topic not in topics:
                continue
            is_kept_out = is_vacant and (each.of_vacant or each.change.place.kind.about.is_login)
            rank = not by_rule, not each.change.risks, not is_kept_out, distance, -each.change.at.timestamp()
            if best is None or rank < best[0]:
                best = rank, each
            if by_rule and rank[1]:
                alike.append((rank, each))
    if best is None:
        return None
    rank, first = best
    is_near = rank[3] <= dependencies.COORDINATES
    if len(alike) < 2 or not rank[1] or subject.connector is not None:
        return _Best(first, is_near)
    rivals = [each for each in alike if each[0][:3] == rank[:3] and _are_rivals(first.change, each[1].change)]
    return _Best(first, is_near, min(rivals, key=itemgetter(0))[1] if rivals else None)


_Rank = tuple[bool, bool, bool, int, float]


def _are_rivals(one: JudgedChange, other: JudgedChange) -> bool:
    """Return whether two changes are of different kinds and were made at about the same time. Of two changes of
    configs, only the nearer one can be in effect.
    """
    return one.place.kind is not other.place.kind and abs(one.at - other.at) <= TOGETHER


def _stops_producers(change: JudgedChange) -> bool:
    """Return whether brokers may refuse, or slow down, producers because of a change."""
    match change.place.kind:
        case Kind.CONFIG:
            return _connects(change) or _moves(change) or bool(_refused(change))
        case Kind.QUOTA:
            return change.place.key in _SLOWS and not _lets_go(change)
        case Kind.SCRAM:
            return change.was is not None  # a new credential can't lock a client out
    return False


def _refused(change: JudgedChange) -> str:
    """Return, as text, the requests of producers that brokers refuse because of a changed config and accepted before;
    ``""`` for other changes.
    """
    resource = change.place.about
    if not isinstance(resource, ConfigResource):
        return ""
    was, now = (held or value for held, value in ((change.held, change.was), (change.holds, change.became)))
    key = topic_risks.key_of_topics(resource, change.place.key)
    if key == topic_risks.POLICY:
        begins = COMPACT in items_of(now or "") and COMPACT not in items_of(was or "")
        return "a compacted topic refuses records without a key (InvalidRecordException)" if begins else ""
    if key == record_risks.TIMES:
        begins = was == record_risks.BY_BROKERS and now not in (None, was)
        text = "brokers take the producers' times, and refuse those outside of the limits (InvalidTimestampException)"
        return text if begins else ""
    if not record_risks.falls(was, now, is_known=False):
        return ""
    if resource.type == codes.BROKER and change.place.key in _REFUSED_ABOVE:
        return _REFUSED_ABOVE[change.place.key]
    if key == topic_risks.MESSAGE_SIZE:
        return "brokers refuse batches that are larger than it (RecordTooLargeException)"
    if key in record_risks.TIME_LIMITS:
        times = record_risks.refused_times(key, long_number(now) or 0)
        return f"brokers refuse {times} (InvalidTimestampException)"
    return ""


def _silent(observations: Observations, judged: Sequence[JudgedChange]) -> Mapping[int, Sequence[str]]:
    """Return id() of a change -> the topics to which producers wrote until the change, and not since; partitions (as
    ``topic/number``) if only those of the changed broker became silent. Only changes that
    may stop producers count. Each topic is attributed to one change: to one of the topic itself if there is any,
    else to the latest.
    """
    best: dict[str, tuple[bool, datetime, JudgedChange]] = {}
    for change in judged:
        for topic in _fell_silent(observations, change):
            mine = change.place.about == topic_resource(topic), change.at, change
            if topic not in best or mine[:2] > best[topic][:2]:
                best[topic] = mine
    found: dict[int, list[str]] = {}
    for topic, (_, _, change) in best.items():
        found.setdefault(id(change), []).append(topic)
    return found


def _fell_silent(observations: Observations, change: JudgedChange) -> Iterator[str]:
    if not _stops_producers(change):
        return
    if change.place.kind is Kind.SCRAM or _connects(change):
        yield from _not_back(observations, change)
    if change.at < observations.last.at - BEFORE:
        return
    match change.place.about:
        case ConfigResource(name=name) if _moves(change):
            # Migrations move all brokers. Only the silence of what this broker leads speaks against its new address.
            if not addresses.is_of_another(int(name), observations):  # a cause with a row of its own
                places = triage_silence.fell_silent_at_leader(observations, int(name), change.after)
                yield from (f"{topic}/{number}" for topic, number in places)
        case ConfigResource(type=codes.BROKER) if change.place.key in _REFUSED_ABOVE or (
            change.from_file and _connects(change)
        ):
            # A producer may meet the limit at a later start. A pause of a topic with rare records says nothing.
            steady = {each.topic for each in triage_silence.silences(observations)}
            yield from (
                each
                for each in triage_silence.fell_silent(observations, change.after, observations.last.at)
                if each in steady
            )
            name = change.place.about.name
            if _connects(change) and name.isdecimal():
                places = triage_silence.fell_silent_at_leader(observations, int(name), change.after)
                yield from (f"{topic}/{number}" for topic, number in places)
        case ConfigResource(type=codes.BROKER, name=name) if name.isdecimal():
            yield from triage_silence.fell_silent(observations, change.after, change.at, int(name))
        case ConfigResource(type=codes.TOPIC, name=name):
            yield from (
                topic for topic in triage_silence.fell_silent(observations, change.after, change.at) if topic == name
            )
        case _:
            yield from triage_silence.fell_silent(observations, change.after, change.at)


def _not_back(observations: Observations, change: JudgedChange) -> Iterator[str]:
    """Yield the topics whose producers did not come back after a broker stopped, which happened after a change that
    clients notice only when they log in again.
    """
    left = [interval.began for _, interval in observations.absences()]
    left += [each.at for each in observations.handed_over.values()]
    moments = [each.timestamp() for each in left if each >= change.after]
    for each in triage_silence.silences(observations) if moments else ():
        if any(-JUST_BEFORE <= each.grew_at - moment <= RECONNECTS for moment in moments):
            yield each.topic


def _lost(judged: Sequence[JudgedChange]) -> Mapping[int, Sequence[str]]:
    """Return id() of the change that gave the topic of committed offsets more partitions -> the groups that lost their
    commits by it, because their commits belong to another partition now. Empty if the topic did not grow, or no
    group lost commits.
    """
    grown = next((each for each in judged if each.place == _OFFSETS_TOPIC and each.was and each.became), None)
    if grown is None:
        return {}
    lost = [
        each.place.about.name
        for each in judged
        if each.is_lost and isinstance(each.place.about, changes.GroupTarget) and each.at >= grown.after
    ]
    found = topic_risks.moved_groups(lost, int(grown.was or 1), int(grown.became or 1))
    return {id(grown): found} if found else {}


_OFFSETS_TOPIC = Place(Kind.TOPIC, changes.TopicTarget(OFFSETS), PARTITIONS)


# -- the claim about a change ------------------------------------------------------------------------------------------


def _claim(made: _Made, observations: Observations) -> cause.Claim:
    authors = observations.last.facts.authors
    first = made.parts[0]
    subject, name = owner_of(first.place)
    if first.from_file:
        name = _brokers_of(made.parts)
    risks = dict.fromkeys(risk for each in made.parts for risk in each.risks)
    rescue = _rescue(made, observations)
    certainty = Certainty.POSSIBLE if rescue else _certainty(made, observations.last.snapshot)
    # A config, a quota or a credential affects many entities: it must not displace the cause that a symptom itself
    # shows.
    is_shown = certainty is Certainty.CERTAIN or bool(made.silent or made.slower or made.swollen)
    is_shown = is_shown or (made.by_rule and _is_exact(first))
    beside = bool(made.suffers.hit) and not is_shown
    standing = [risk.text for risk in risks if risk.name in _STANDS]
    if _made_by_request(first, observations.last.snapshot):
        standing.insert(0, "a client that asks for it seems to make it")
    return cause.Claim(
        cause="changed-lately",
        subject=subject,
        severity=_severity(made, certainty, rescue, beside=beside),
        certainty=certainty,
        title=f"{name}: {_effect(made, standing)}",
        since=made.at,
        evidence=(
            *dict.fromkeys(cause.Evidence(_said(each), _source(each)) for each in made.parts[:_MOST_SAID]),
            *(cause.Evidence(risk.text, f"the rule {risk.name} of plans") for risk in risks),
            *((cause.Evidence(f"{rescue}: the change may be meant to help", "events before it"),) if rescue else ()),
            *_why(made, observations.last.snapshot),
            *_restarts(made, observations),
            *(
                cause.Evidence(
                    f"{author.who} set it: change {author.number}, {time_of_day(author.at)}", "this host's journal"
                )
                for author in dict.fromkeys(_author(each, authors) for each in made.parts)
                if author is not None
            ),
        ),
        predicted=_predicted(made.suffers, observations),
        next=(
            (cause.Next(f"take it back once that is over: {rescue}"),)
            if rescue
            else tuple(_ways_back(made, observations))
        ),
        beside=beside,
        alone=not made.has_effect or (made.is_measured and not made.suffers.hit),
        fills=not made.by_rule,
        yields=not made.has_effect and not first.ahead and not first.is_lost,
    )


_RESCUED = timedelta(minutes=10)
"""The time after the end of a problem within which a risky change may have ended it on purpose."""


def _rescue(made: _Made, observations: Observations) -> str:
    """Return, as text, the problem that risky changes seem to have been made to relieve; ``""`` if there is none for
    one of them.
    """
    risky = () if made.has_effect else [each for each in made.parts if each.risks]
    found = [_relieved(each, observations) for each in risky]
    return found[0] if found and all(found) else ""


def _relieved(each: JudgedChange, observations: Observations) -> str:
    about, key = each.place.about, each.place.key
    topic = about.name if isinstance(about, ConfigResource) and about.type == codes.TOPIC else None
    if key == topic_risks.UNCLEAN and each.became == "true":
        for subject, intervals in observations.intervals_of(triage_symptoms.LEADERLESS).items():
            if topic in (subject.topic, None) and (before := _before(each, intervals)) is not None:
                return f"{subject.topic}/{subject.partition} {'has' if before.ended is None else 'had'} no leader"
    if key in _RETENTION and is_tighter(_RETENTION[key], each.held, each.holds):
        brokers: Collection[int] | None = None
        if topic is not None:
            brokers = brokers_with(frozenset([topic]), observations.last.snapshot)
        elif isinstance(about, ConfigResource) and not about.is_cluster_default:
            brokers = {number} if (number := long_number(about.name)) is not None else ()
        for full, intervals in observations.intervals_of(triage_symptoms.DIR_NEARLY_FULL).items():
            if (brokers is None or full.broker in brokers) and _before(each, intervals) is not None:
                return f"{full.dir} of broker {full.broker} is or was nearly full"
    return ""


def _before(each: JudgedChange, intervals: Sequence[Interval]) -> Interval | None:
    """Return the last interval of a problem that began before a change and lasted until shortly before it; None if
    there is none.
    """
    last = next((one for one in reversed(intervals) if one.began <= each.at), None)
    return last if last is not None and (last.ended is None or last.ended > each.after - _RESCUED) else None


_RETENTION = {name: key for key in RETENTION for name in (key, *(each.name for each in TOPIC_SYNONYMS[key]))}
"""Name of a retention config of a topic or of a broker -> the name of the topic's config."""


def _severity(made: _Made, certainty: Certainty, rescue: str, *, beside: bool) -> Severity:
    if rescue:
        return Severity.INFO
    about = made.parts[0].place.about
    if certainty is Certainty.POSSIBLE and isinstance(about, changes.TopicTarget) and not made.has_effect:
        # The reset of a Kafka Streams application that stopped deletes such topics.
        return Severity.INFO if may_be_of_application(about.name) else Severity.WARNING
    if (certainty is Certainty.POSSIBLE and made.slower) or _is_of_bytes(made):
        return Severity.WARNING
    return Severity.HIGH if made.has_effect and not beside else Severity.WARNING


def _is_of_bytes(made: _Made) -> bool:
    """Return whether the only effect of changes is on the bytes of a topic."""
    return bool(made.compacted or made.swollen) and not (made.suffers.hit or made.silent or made.lost)


def _predicted(suffers: _Suffering, observations: Observations) -> tuple[cause.Prediction, ...]:
    if not suffers.connectors:  # pass on the same object in each poll, so that later steps use their caches
        return suffers.predicted
    return (*suffers.predicted, *cause.predict_groups(groups_of(observations.last.snapshot, suffers.connectors)))


def _restarts(made: _Made, observations: Observations) -> Iterator[cause.Evidence]:
    """Yield the groups that suffer and whose members leave and come again and again."""
    departures = observations.past.members.departures
    for name in made.suffers.groups if departures else ():
        found = members_restarting(observations, name) if name in departures else None
        if found is not None:
            yield cause.Evidence(f"{found.said}: the reason is in its log", "DescribeGroups over time")


def _why(made: _Made, snapshot: Snapshot) -> Iterator[cause.Evidence]:
    """Yield the evidence that connects changes with their effect: the requests that brokers refuse because of them, the
    brokers on which configs differ, the errors of failed connectors, and how a deleted topic came back.
    """
    yield from _bytes(made)
    for each in made.parts:
        about, key = each.place.about, each.place.key
        minutes = sorted({value for value in values_of_brokers(snapshot, EXPIRES).values() if value})
        if each.waited is not None and minutes:
            yield cause.Evidence(
                f"offsets expire after {' or '.join(minutes)} minutes without members ({EXPIRES}), unless "
                "another client deleted the group",
                "DescribeConfigs",
            )
        if each.ahead:
            yield cause.Evidence(
                "its members were gone, and others would have committed later: another client set it",
                "DescribeGroups, OffsetFetch over time",
            )
        if each.limits is not None:
            yield from _loads(made.slower[:MOST_NAMED], each.limits.written, snapshot)
        if made.silent and (refused := _refused(each)):
            yield cause.Evidence(refused, "Kafka's documentation")
        if (other := _joined(made, snapshot)) is not None:
            yield _needs_number(each, *other)
        if made.has_effect and (_connects(each) or _moves(each)):
            yield cause.Evidence(_ADDRESS_ANEW if _moves(each) else _ANEW, "Kafka's documentation")
        if isinstance(about, ConfigResource) and about.type == codes.BROKER and about.name:
            others = {value for broker, value in values_of_brokers(snapshot, key).items() if str(broker) != about.name}
            if len(others) == 1 and others != {each.holds}:
                yield cause.Evidence(f"it differs from all other brokers, which have {others.pop()}", "DescribeConfigs")
    for subject in made.suffers.failed:
        name = subject.connector or ""
        which = f" task {subject.task}" if subject.task is not None else ""
        reason = reason_of(snapshot.connect, name, subject.task) or "its worker gives no reason"
        yield cause.Evidence(f"connector {name}{which} is FAILED: {reason}", "GET /connectors?expand=status")
    if (schema := _schema_of(made.parts[0])) is not None:
        yield from _why_of_schema(schema.name, snapshot)
    if _made_by_request(made.parts[0], snapshot):
        yield cause.Evidence(
            f"{AUTO_CREATE} is true, and it has the number of partitions of {COUNT}", "DescribeConfigs"
        )


def _bytes(made: _Made) -> Iterator[cause.Evidence]:
    """Yield, as evidence, the bytes of a topic before a change and since."""
    if (found := made.compacted) is not None:
        before, left = sum(found.was.values()), sum(found.lowest.values())
        yield cause.Evidence(
            f"its leaders' logs had {size(before)}, and {size(left)} then: {found.removed:.0%} went while its first "
            "offsets stayed, so compaction removed it",
            "DescribeLogDirs, ListOffsets over time",
        )
    if (found := made.swollen) is not None and found.written is not None and found.now is not None:
        yield cause.Evidence(
            f"a record takes {found.now.each:,.0f} bytes on a disk, and took {found.written.each:,.0f} before, at "
            "about as many records per second",
            "DescribeLogDirs, ListOffsets over time",
        )


def _loads(topics: Iterable[str], former: Written, snapshot: Snapshot) -> Iterator[cause.Evidence]:
    """Yield, as evidence, the write rate of topics before a quota was lowered and now."""
    for topic in topics:
        loads = former, written(snapshot.rates, snapshot.topics)
        before, now = (round(sum(rate for (name, _), rate in load.items() if name == topic)) for load in loads)
        text = f"{size(before)}/s were written to {topic} before, {size(now)}/s are now"
        yield cause.Evidence(text, "DescribeLogDirs, many looks")


def _why_of_schema(name: str, snapshot: Snapshot) -> Iterator[cause.Evidence]:
    topics = dependencies.topics_with(name, snapshot)
    if topics:
        yield cause.Evidence(f"topic {first_few(topics, MOST_NAMED)} uses schema {name} by its name", "GET /subjects")
    if level_of(snapshot.configs, name) == NONE:
        yield cause.Evidence(
            f"its {COMPATIBILITY} is NONE: the registry compares no version with another", "GET /config"
        )


def _made_by_request(change: JudgedChange, snapshot: Snapshot) -> bool:
    """Return whether a client's request for a deleted topic probably created it again: brokers create requested topics,
    and this one has their default number of partitions.
    """
    about = change.place.about
    topic = snapshot.topics.get(about.name) if isinstance(about, changes.TopicTarget) else None
    if topic is None or change.place.key != ID:
        return False
    counts = values_of_brokers(snapshot, COUNT).values()
    return is_made_on_request(snapshot) and str(len(topic.partitions)) in counts


def _is_block(made: _Made) -> bool:
    """Return whether changes block a single user or client without an effect on others: operators do that on
    purpose.
    """
    return not made.has_effect and all(
        isinstance(each.place.about, QuotaEntity)
        and any(part.name is not None for part in each.place.about.parts)
        and any(risk.name == risk_rules.QUOTA_NEAR_ZERO for risk in each.risks)
        for each in made.parts
    )


def _is_deliberate(made: _Made, snapshot: Snapshot) -> bool:
    """Return whether changes are probably a clean-up or a block: they have no effect, and no client used what was
    removed.
    """
    first = made.parts[0]
    if made.has_effect or first.skipped:
        return False
    if first.is_lost and first.waited is None:
        return not first.was_used
    if first.waited is not None:
        # If brokers keep offsets for days, a client deleted the group, and its last members stopped within the watch.
        kept = (long_number(value) for value in values_of_brokers(snapshot, EXPIRES).values())
        return all(minutes is None or minutes >= LONG_KEPT for minutes in kept)
    return _is_block(made) or (not first.was_used and not _made_by_request(first, snapshot))


def _certainty(made: _Made, snapshot: Snapshot) -> Certainty:
    """Return the certainty that changes are the cause.

    It is CERTAIN for a change of offsets, for commits that were lost with the growth of the offsets' topic, and for a
    change without an effect, which is reported for itself. It is LIKELY for offsets that were set ahead or are gone,
    for topics that became silent or that a default quota slows down, and for symptoms that a rule attributes to the
    change if a rule of plans warned of it or the change is exact (`_is_exact`). It is POSSIBLE for a clean-up or a
    block (`_is_deliberate`), for offsets that a member of the group set back, unless to the beginning, and for any
    other change, which only its time and place connect with the symptoms.
    """
    first = made.parts[0]
    if first.waited is None and not first.again and (first.ahead or (first.is_lost and first.was_used)):
        return Certainty.LIKELY
    if _is_deliberate(made, snapshot) or (first.by_member and not first.to_start):
        return Certainty.POSSIBLE
    if not made.has_effect or first.offsets or made.lost:
        return Certainty.CERTAIN
    warned = any(each.risks for each in made.parts)
    if made.slower and not made.silent and not _is_of_all(first):
        return Certainty.POSSIBLE  # no API links the topic's producers to the quota's user or client
    if made.compacted and _is_of_bytes(made):
        return Certainty.POSSIBLE  # an operator may turn a topic into a table on purpose
    if made.silent or made.slower or made.swollen or (made.by_rule and (warned or _is_exact(first))):
        return Certainty.LIKELY
    return Certainty.POSSIBLE


def _is_of_all(change: JudgedChange) -> bool:
    """Return whether a change is one of a default quota, which applies to all clients without a quota of their own."""
    about = change.place.about
    return isinstance(about, QuotaEntity) and all(part.name is None for part in about.parts)


_EXACT = frozenset({Kind.TOPIC, Kind.BROKER})
"""Kinds of changes that affect only the changed entity itself."""


def _is_of_connector(change: JudgedChange) -> bool:
    about = change.place.about
    return isinstance(about, ConfigResource) and about.type == codes.CONNECTOR


def _is_exact(change: JudgedChange) -> bool:
    return change.place.kind in _EXACT or _is_of_connector(change) or _schema_of(change) is not None


def _author(change: JudgedChange, authors: Mapping[ChangeKey, Author]) -> Author | None:
    about = change.place.about
    if isinstance(about, changes.GroupTarget):
        targets = ((changes.GroupOffsetTarget(about.name, *where), now) for where, (_, now) in change.offsets.items())
        found = (authors.get((target, "", str(now) if now >= 0 else None)) for target, now in targets)
        return next((each for each in found if each is not None), None)
    if isinstance(about, SubjectTarget) and change.versions is not None:
        new: list[ChangeKey] = [
            (SubjectTarget(about.name, 0), "", f"version {number}") for number in change.versions.registered
        ]
        gone: list[ChangeKey] = [(SubjectTarget(about.name, number), "", None) for number in change.versions.deleted]
        return next((each for key in (*new, *gone) if (each := authors.get(key)) is not None), None)
    return authors.get((about, change.place.key, change.became))


_REQUESTS = {
    Kind.CONFIG: "DescribeConfigs",
    Kind.QUOTA: "DescribeClientQuotas",
    Kind.SCRAM: "DescribeUserScramCredentials",
    Kind.OFFSET: "OffsetFetch",
    Kind.BROKER: "DescribeCluster",
    Kind.FEATURE: "ApiVersions",
    Kind.VOTER: "DescribeQuorum",
    Kind.SCHEMA: "GET /subjects",
}
"""Kind of changes -> the requests that show them, if the kind's part of a snapshot does not name them."""


def _source(change: JudgedChange) -> str:
    kind = change.place.kind
    if kind is Kind.CONFIG and _schema_of(change) is not None:
        request = "GET /config"
    elif _is_of_connector(change):
        request = "GET /connectors"
    else:
        part = kind.about.part
        request = _REQUESTS.get(kind) or (part.about.request.partition(",")[0] if part is not None else "")
    return f"{request}, two looks"


def _effect(made: _Made, standing: Sequence[str]) -> str:
    """Return the end of a cause's title: the first change, how many more there are, and what followed, such as "… right
    before group a fell behind". If nothing followed, the first text in `standing` takes that place.

    Args:
        standing: texts of the risks in `_STANDS` that the changes have.
    """
    first, more = made.parts[0], len({each.place.key if each.from_file else id(each) for each in made.parts}) - 1
    what = f"{_short(first)}{f' and {more} more' if more else ''}"
    if first.offsets:
        return what
    if made.lost:
        return f"{what}, and {first_few([f'group {name}' for name in made.lost], MOST_NAMED)} lost what was committed"
    if made.silent:
        return f"{what}, and nothing is written to {first_few(list(made.silent), MOST_NAMED)} since"
    if made.slower:
        return f"{what}, and {first_few(list(made.slower), MOST_NAMED)} is written to more slowly since, as it lets"
    if made.swollen:
        return f"{what}, and a record takes several times the bytes since"
    if made.compacted:
        return f"{what}, and compaction removed older records of each key since"
    suffers = made.suffers
    if suffers.connectors:
        failed = [f"connector {name}" for name in suffers.connectors]
        when = "right before" if _schema_of(first) is None else "before"
        return f"{what} {when} {first_few(failed, MOST_NAMED)} failed"
    if suffers.groups:
        when = "before" if first.from_file or _ends_by_itself(first) else "right before"
        return f"{what} {when} {first_few([f'group {name}' for name in suffers.groups], MOST_NAMED)} fell behind"
    if any(each.symptom.name == triage_symptoms.BROKER_SILENT for each in suffers.hit):
        return f"{what} right before it stopped answering"
    if suffers.hit:
        return f"{what} right before"
    return f"{what}: {standing[0]}" if standing else what


def _short(change: JudgedChange) -> str:
    """Return a change as text of a few words."""
    match change.place.kind:
        case Kind.TOPIC if change.place.key == ID:
            return "deleted and made again"
        case Kind.TOPIC if change.became is None:
            return "deleted"
        case Kind.TOPIC:
            return f"grown from {change.was} to {change.became} partitions"
        case Kind.SCHEMA if change.versions is not None:
            return _short_versions(change.versions)
        case Kind.SCRAM:
            return "credential deleted" if change.became is None else "credential set"
        case _ if _ends_by_itself(change):
            return f"ended at {utc_time(int(change.was or 0))}"
        case Kind.REPLICAS:
            return f"replicas moved from {change.was} to {change.became}"
        case Kind.ACL:
            return "ACL removed" if change.became is None else "ACL added"
        case Kind.OFFSET:
            return _short_offsets(change)
        case Kind.BROKER:
            return f"{change.place.key} changed from {change.was or 'none'} to {change.became or 'none'}"
        case Kind.VOTER:
            return "votes no more" if change.became is None else "votes"
        case Kind.FEATURE:
            return f"level changed from {change.was or 'off'} to {change.became or 'off'}"
    return f"{change.place.key} changed"


def _short_versions(versions: Versions) -> str:
    done = ((versions.registered, "registered"), (versions.deleted, "deleted"))
    return " and ".join(f"version {commas(numbers)} {what}" for numbers, what in done if numbers)


def _short_offsets(change: JudgedChange) -> str:
    where = plural(len(change.offsets), "partition")
    if change.skipped:
        return f"began {plural(change.skipped, 'record')} after its former offsets, which were gone"
    if change.waited is not None:
        return f"gone, with its offsets in {where}, while {plural(change.waited, 'record')} waited for it"
    if change.by_member and change.to_start:
        return f"its own client began again at the first record of {where}: {plural(change.again, 'record')} again"
    if change.by_member:
        return f"offsets set back by its own client, by {plural(change.again, 'record')} in {where}"
    if change.again:
        return f"offsets set back by {plural(change.again, 'record')} in {where}, which it reads again"
    if change.ahead:
        return f"offsets set ahead by {plural(change.ahead, 'record')} in {where}, which it never reads"
    return f"offsets gone in {where}: its next member begins at auto.offset.reset"


def _said(change: JudgedChange) -> str:
    """Return a change as a sentence."""
    when = f"since {time_of_day(change.after)} to {time_of_day(change.at)}"
    if change.place.kind in (Kind.CONFIG, Kind.QUOTA):
        was, became = _shown(change.was, change.held), _shown(change.became, change.holds)
        return f"{change.place.key} was {was}, and is {became} {when}"
    if change.waited is not None:
        return f"it had offsets and no members, and is in no list {when}"
    if change.offsets:
        (topic, number), (was_at, now) = next(iter(change.offsets.items()))
        became = f"became {now:,}" if now >= 0 else "is gone"
        return f"the offset of {topic}/{number} was {was_at:,}, and {became} {when}"
    return f"{_short(change)} {when}"


def _shown(value: str | None, held: str | None) -> str:
    if value is None:
        return f"not set ({held} applied)" if held else "not set"
    return "hidden" if value == HIDDEN else value or "empty"


def _ways_back(made: _Made, observations: Observations) -> Iterator[cause.Next]:
    schema = _schema_of(made.parts[0])
    if schema is not None:
        subjects = [hit.symptom.subject for hit in made.suffers.hit]
        failed = {each.connector: each.task for each in subjects if each.connector is not None}
        yield from schema_way_back(schema.name, made.parts, failed, observations.last.snapshot)
        return
    rival = next((each.rival for each in made.suffers.hit if each.rival is not None), None)
    step = _way_back(made, observations)
    if step is not None and made.slower and not made.silent:
        _, name = owner_of(made.parts[0].place)
        yield cause.Next(f"ask who set {name}, and why: a limit on purpose stays")
    if rival is None or not all(each.rival is not None for each in made.suffers.hit):
        yield from (step,) if step is not None else ()
    if rival is not None:
        _, other = owner_of(rival.place)
        few = [each for each in made.suffers.hit if each.rival is not None]
        whose = f" for {first_few(_names(few), MOST_NAMED)}" if len(few) < len(made.suffers.hit) else ""
        yield cause.Next(
            f"find out which change it was{whose}: {other} changed at about the same time ({_short(rival)}); the logs "
            "of the clients say what brokers refuse them"
        )


def _names(some: Iterable[_Hit]) -> list[str]:
    """Return the names of the entities with these symptoms, sorted."""
    subjects = (each.symptom.subject for each in some)
    return sorted({name for each in subjects if (name := each.group or each.topic or each.entity or each.connector)})


def _way_back(made: _Made, observations: Observations) -> cause.Next | None:
    back = tuple(edit for each in made.parts for edit in each.back)
    first = made.parts[0]
    if _is_block(made):
        _, name = owner_of(first.place)
        return cause.Next(f"ask who blocks {name.removeprefix('quota of ')}, and why: a block on purpose stays")
    if back:
        text = "take it back before more goes; what is gone is on no replica" if made.compacted else "take it back"
        return cause.Next(text, edits=back)
    match first.place.about:
        case ConfigResource() if first.from_file:
            lines = first_few(list(dict.fromkeys(map(_former_line, made.parts))), MOST_NAMED)
            brokers = _brokers_of(made.parts)
            files = (
                f"file of {brokers} and restart it"
                if len(brokers.split()) == 2
                else f"files of {brokers} and restart them in turn"
            )
            return cause.Next(f"put back {lines} in the {files}, if the change was not meant")
        case changes.TopicTarget(name=topic):
            return _way_back_of_topic(made, topic, observations.last.snapshot)
        case changes.MoveTarget(topic=topic):
            return _placed_back(first, topic, observations.last.snapshot)
        case changes.ScramUser(user=user, mechanism=mechanism):
            return _password_back(user, mechanism.label, observations.last.snapshot)
        case changes.BrokerTarget(id=number) if first.place.key == ADDRESS:
            return cause.Next(f"look at advertised.listeners of broker {number}: clients are sent to {first.became}")
        case changes.GroupTarget() if first.waited is not None:
            return _position_lost(first)
        case changes.GroupTarget(name=group) if first.again or first.ahead or first.is_lost:
            return _offsets_back(first, group, observations)
        case _ if first.became is None and (text := first.place.kind.about.once_gone):
            return cause.Next(text)
    return None


def _password_back(user: str, mechanism: str, snapshot: Snapshot) -> cause.Next:
    """Return the step for a user without a credential of a SCRAM mechanism that it had."""
    left = first_few([each.label for each, _ in snapshot.scram.get(user, ())])
    if not left:
        return cause.Next(f"set a password for {user} again: no broker has kept the former one")
    return cause.Next(
        f"{user} still has a password for {left}, which clients that log in with {mechanism} can't use: set one for "
        f"{mechanism} again, or let its clients log in with {left} if the brokers' listeners take it"
    )


def _placed_back(change: JudgedChange, topic: str, snapshot: Snapshot) -> cause.Next:
    """Return the step for a topic that has fewer replicas after a change, or all of them in one rack."""
    was, became = (len((each or "").split(",")) for each in (change.was, change.became))
    if became < was:
        return cause.Next("give it the former number of replicas", f"replication topic {topic} {was}")
    racks = {str(each.id): each.rack for each in snapshot.cluster.brokers}
    if len({racks.get(each) for each in (change.was or "").split(",")}) > 1:
        return cause.Next(f"move its replicas back to brokers of several racks, as {change.was}")
    return cause.Next(f"move a replica of each partition of {topic} to a broker of another rack")


def _way_back_of_topic(made: _Made, topic: str, snapshot: Snapshot) -> cause.Next | None:
    """Return the step after a change of a topic itself, such as its deletion; None if no step helps."""
    first = made.parts[0]
    if first.became is None and made.suffers.connectors:
        restarts = "; ".join(f"restart connector {name} failed" for name in made.suffers.connectors[:MOST_NAMED])
        return cause.Next(f"make {topic} again, its records are gone; then restart what failed: {restarts}")
    if first.place.key == ID and made.suffers.groups:
        return cause.Next(
            "its offsets are those of the former topic: read the new one from its beginning, once its members stopped",
            f"reset group {made.suffers.groups[0]} topic {topic} to earliest",
        )
    if (other := _joined(made, snapshot)) is not None:
        return _mend_join(first, topic, *other)
    if _made_by_request(first, snapshot):
        return cause.Next(
            "find the client that asks for it by name, such as an exporter or a consumer, and stop that; or set "
            f"{AUTO_CREATE}=false in server.properties of all brokers: only a restart reads it"
        )
    system = system_topic(topic) if first.place.key == PARTITIONS and first.was == "1" else None
    if system is not None and system.grown:
        return cause.Next(
            f"partitions can't be removed: copy the records of {topic} to a new topic with 1 partition, let "
            f"{system.owner} use that one, and only then delete {topic}"
        )
    if topic == OFFSETS and first.became is not None:
        return cause.Next(
            "set the offsets of these groups to what they were, as far as it is known, with their members stopped"
            if made.lost
            else "before a broker restarts, keep the offsets of all groups: afterwards they have to be set again"
        )
    return None


def _mend_join(change: JudgedChange, topic: str, group: str, with_: str) -> cause.Next:
    """Return the step for a group that needs a topic with as many partitions as the topic `with_`."""
    if is_of_application(with_, group):
        return cause.Next(
            f"look at the log of {group}: if it ends because {with_} has invalid partitions, stop it and reset it "
            "(kafka-streams-application-reset), or give it another application.id: either builds its state again from "
            f"{topic}"
        )
    return cause.Next(
        f"look at the logs of {group}'s members: if they join {topic} with {with_}, both topics need the same number "
        f"of partitions. Give {with_} {change.became} partitions, too; members that only have to see new partitions "
        "need a restart"
    )


def _needs_number(change: JudgedChange, group: str, with_: str) -> cause.Evidence:
    """Return the evidence that the topic `with_` has the former number of partitions of a grown topic, and why that
    matters.
    """
    text = (
        f"{with_} is of the Kafka Streams application {group}, and has {change.was} partitions: the application ends "
        "if they are fewer than its input has"
        if is_of_application(with_, group)
        else f"group {group} also reads {with_}, which has {change.was} partitions: a join needs equal numbers"
    )
    return cause.Evidence(text, "OffsetFetch, Metadata")


def _joined(made: _Made, snapshot: Snapshot) -> tuple[str, str] | None:
    """Return a group with symptoms after the growth of a topic, and the topic with which it may join that topic; None
    if there is none.
    """
    if made.parts[0].place.key != PARTITIONS:  # 10,000 groups may suffer from a quota
        return None
    found = ((group, _joined_with(made.parts[0], group, snapshot)) for group in made.suffers.groups)
    return next((each for each in found if each[1]), None)


def _former_line(change: JudgedChange) -> str:
    """Return the line of a broker's file before a change, as text."""
    key = change.place.key
    if change.was == HIDDEN:
        return f"{key} as it was"
    return f"{key}={change.was}" if change.was is not None else f"the default of {key} (without a line)"


def _brokers_of(parts: Iterable[JudgedChange]) -> str:
    """Return the brokers on which changes were made, as text."""
    names = list(dict.fromkeys(each.place.about.name for each in parts if isinstance(each.place.about, ConfigResource)))
    return f"{'broker' if len(names) == 1 else 'brokers'} {', '.join(names)}"


def _position_lost(change: JudgedChange) -> cause.Next:
    """Return the step that commits again the offsets that disappeared with a group; kac saw them before."""
    offsets = [f"{topic}/{number} to {was:,}" for (topic, number), (was, _) in sorted(change.offsets.items())]
    when = "without members" if change.skipped else "before its next member starts"
    return cause.Next(
        f"reset it to its former offsets, {when}: {first_few(offsets, MOST_NAMED)}. Longer gaps need a higher "
        f"{EXPIRES} in server.properties of all brokers"
    )


_LOOK_AT_ITS_LOG = cause.Next(
    "look at its log for OffsetOutOfRange, or for a seek: with auto.offset.reset=earliest a client begins again at the "
    "first record if brokers refuse its offset, as after a log became shorter, or at a follower that lags. If it was "
    "not meant, stop its members, and set its offsets to what they were"
)
_LOOK_FOR_A_SEEK = cause.Next(
    "look at its log and its code for a seek, or for commits that are sent without waiting: an older one may come "
    "late. If it was not meant, stop its members, and set its offsets to what they were"
)


def _offsets_back(change: JudgedChange, group: str, observations: Observations) -> cause.Next:
    """Return the step that sets a group's offsets to the former ones. Brokers accept that only while the group has no
    members.
    """
    known = observations.last.snapshot.groups.get(group)
    moved = {where: was for where, (was, now) in sorted(change.offsets.items()) if now >= 0 or change.is_lost}
    if known is not None and known.is_vacant and observations.last.at - change.at >= STAYS:
        edits = tuple(CommitOffset(group, *where, was, restored=True) for where, was in moved.items())
        return cause.Next("take it back", edits=edits)
    if change.by_member:
        return _LOOK_AT_ITS_LOG if change.to_start else _LOOK_FOR_A_SEEK
    if change.again:
        return cause.Next(
            "if it was meant, wait until it catches up; if no record may be processed twice, stop its members first, "
            "and set its offsets to what they were"
        )
    offsets = first_few([f"{topic}/{number} to {was:,}" for (topic, number), was in moved.items()], MOST_NAMED)
    return cause.Next(
        f"if these records are needed, stop its members, reset group {group} to its former offsets ({offsets}), and "
        "start them: they also read again what they read since"
    )


CAUSES = (
    cause.CauseRule(
        "changed-lately",
        _changed,
        reads="configs, quotas, ACLs, credentials, topics and schemas over time; the rules of plans",
        takes=(
            "certain if a rule names a risk, or a group's offsets were set back (possible if its own client did it, "
            "and not to the first record); likely if they were set ahead while "
            "the group had no members, or are gone, if producers stopped or write only as fast as a lower default "
            "quota lets them, a record takes 3 times the bytes after another compression.type, the topic was deleted "
            "and created again, or a connector failed because of records of a "
            "changed schema; else possible, as for a deleted topic or group that no client used, for a single "
            "client that was blocked or has a quota at which a topic is written to, and for a topic from which "
            "compaction removed records after cleanup.policy became compact"
        ),
    ),
)

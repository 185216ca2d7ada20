"""Changes that clients made, as causes: each is judged by the rules that judge a plan, and explains the symptoms that
began right after it among those that it affects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model import changes, codes
from console.model.config import ConfigResource
from console.model.numbers import first_few, long_number, time_of_day
from console.model.quota import CLIENT_ID, QuotaEntity
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.plan import risk_rules
from console.triage import cause
from console.triage import symptoms as triage_symptoms
from console.triage.changed_places import changed_place
from console.triage.config_changes import HIDDEN
from console.triage.events import ID, Kind
from console.triage.facts import Author, ChangeKey
from console.triage.judged_changes import JudgedChange
from console.triage.observations import Observations
from console.triage.silence import fell_silent

BEFORE = timedelta(minutes=5)
"""The longest time between a change and a symptom for naming the change next to it."""
KNOWN = timedelta(seconds=3)
"""The time after which the journal of this host was searched for a change: one that was made here is no surprise."""
_READ_LATER = timedelta(seconds=5)
"""Settings and topics are read one after the other, so a symptom may appear a little before its cause."""

_REPLICAS = frozenset({triage_symptoms.UNDER_REPLICATED, triage_symptoms.MOVING})
_READERS = frozenset(
    {
        triage_symptoms.LAG_GROWS,
        triage_symptoms.COMMIT_STANDS_STILL,
        triage_symptoms.COMMITS_LATER,
        triage_symptoms.OFFSET_OUT_OF_RANGE,
    }
)
_EFFECTS: Mapping[str, frozenset[str]] = {
    "min.insync.replicas": frozenset({triage_symptoms.UNDER_MIN_ISR, triage_symptoms.MIN_ISR_ABOVE_REPLICATION}),
    "unclean.leader.election.enable": frozenset({triage_symptoms.UNCLEAN_LEADER, triage_symptoms.LEADERLESS}),
    "leader.replication.throttled.replicas": _REPLICAS,
    "follower.replication.throttled.replicas": _REPLICAS,
    "leader.replication.throttled.rate": _REPLICAS,
    "follower.replication.throttled.rate": _REPLICAS,
    "num.replica.fetchers": frozenset({triage_symptoms.UNDER_REPLICATED}),
    "replica.fetch.max.bytes": frozenset({triage_symptoms.UNDER_REPLICATED}),
    "replica.lag.time.max.ms": frozenset({triage_symptoms.UNDER_REPLICATED}),
    "max.message.bytes": frozenset({triage_symptoms.UNDER_REPLICATED, triage_symptoms.LAG_GROWS}),
    "message.max.bytes": frozenset({triage_symptoms.UNDER_REPLICATED, triage_symptoms.LAG_GROWS}),
    "max.connections.per.ip": frozenset({triage_symptoms.BROKER_SILENT}),
    "max.connections": frozenset({triage_symptoms.BROKER_SILENT}),
    "max.connection.creation.rate": frozenset({triage_symptoms.BROKER_SILENT}),
    "consumer_byte_rate": _READERS,
    "request_percentage": _READERS | {triage_symptoms.BROKER_SILENT},
}
"""Key of a config or a quota -> the symptoms that its change may cause."""
_REFUSES = frozenset({"cleanup.policy", "max.message.bytes", "message.max.bytes"})
"""Configs by which brokers refuse what producers wrote before: records without a key, or large batches."""
_SLOWS = frozenset({"producer_byte_rate", "request_percentage"})
"""Quotas that may stop a producer."""
_STANDS = frozenset(
    {
        risk_rules.UNCLEAN_ELECTION,
        risk_rules.RETENTION_ZERO,
        risk_rules.RETENTION_TINY,
        risk_rules.SYSTEM_TOPIC,
        risk_rules.QUOTA_NEAR_ZERO,
        risk_rules.ACL_LOCKS_OUT,
        risk_rules.TOPIC_DELETED,
    }
)
"""Risks that are worth a row before a client suffers. The others are advice for the operator who stages the edit, such
as a default quota that all clients stay below, or harm only clients that no API shows.
"""
MOST_NAMED = 3
"""Limit of silent topics, or of groups, that a title names."""


class _Made(NamedTuple):
    """Changes of one owner between the same polls, and their effects: symptoms, and topics that fell silent."""

    parts: tuple[JudgedChange, ...]
    hit: tuple[triage_symptoms.Symptom, ...]
    silent: tuple[str, ...]

    @property
    def at(self) -> datetime:
        """Time of the first poll with them."""
        return self.parts[0].at


def _changed(observations: Observations) -> Iterator[cause.Claim]:
    by_owner: dict[tuple[object, datetime], list[JudgedChange]] = {}
    for each in observations.past.judged:
        by_owner.setdefault((each.place.about, each.at), []).append(each)
    authors = observations.last.facts.authors
    for parts in by_owner.values():
        made = _with_effects(observations, parts)
        if made.hit or made.silent:
            yield _claim(made, authors)
        elif any(risk.name in _STANDS for each in made.parts for risk in each.risks):
            # A change that was made here was announced, with its warnings.
            is_own = any(_author(each, authors) is not None for each in made.parts)
            if not is_own and observations.last.at - made.at >= KNOWN:
                yield _claim(made, authors)


def _with_effects(observations: Observations, parts: Sequence[JudgedChange]) -> _Made:
    """Return changes of one owner with their effects; only those with an effect, if any has one."""
    hits = {n: [*_hit(observations, each)] for n, each in enumerate(parts)}
    silent = {n: [*_silent(observations, each)] for n, each in enumerate(parts)}
    with_effect = [each for n, each in enumerate(parts) if hits[n] or silent[n]]
    symptoms = {id(each): each for mine in hits.values() for each in mine}
    topics = dict.fromkeys(each for mine in silent.values() for each in mine)
    return _Made(tuple(with_effect or parts), tuple(symptoms.values()), tuple(topics))


# -- who is affected ---------------------------------------------------------------------------------------------------


def _effects_of(change: JudgedChange) -> frozenset[str]:
    """Return the symptoms that a change may cause."""
    match change.place.kind:
        case Kind.CONFIG | Kind.QUOTA:
            return frozenset() if _lets_go(change) else _EFFECTS.get(change.place.key, frozenset())
        case Kind.SCRAM if change.was is not None:
            return _READERS
        case Kind.TOPIC if change.place.key == ID or change.became is None:
            return _READERS
    return frozenset()


def _lets_go(change: JudgedChange) -> bool:
    """Return whether a change removes a limit, or raises it: no client falls behind because of it."""
    key = change.place.key
    if not key.endswith((".throttled.rate", ".throttled.replicas")) and change.place.kind is not Kind.QUOTA:
        return False
    if not change.became:
        return True
    was, became = (float(each) if each and _is_number(each) else None for each in (change.was, change.became))
    return was is not None and became is not None and became >= was


def _is_number(text: str) -> bool:
    return long_number(text) is not None or text.replace(".", "", 1).replace("e", "", 1).isdecimal()


def _hit(observations: Observations, change: JudgedChange) -> Iterator[triage_symptoms.Symptom]:
    """Yield the symptoms of those that a change affects, if they began right after it."""
    for name in sorted(_effects_of(change)):
        for symptom in observations.of(name):
            since = observations.since(symptom)
            if since is None or not change.after - _READ_LATER <= since <= change.at + BEFORE:
                continue
            if _affects(change.place.about, symptom, observations.last.snapshot):
                yield symptom


def _affects(about: changes.Target, symptom: triage_symptoms.Symptom, snapshot: Snapshot) -> bool:
    """Return whether the subject of a symptom depends on a changed entity."""
    subject = symptom.subject
    match about:
        case ConfigResource(type=codes.TOPIC, name=name) | changes.TopicTarget(name=name):
            return subject.topic == name or (subject.topic is None and _reads(snapshot, subject.group, name))
        case ConfigResource(type=codes.GROUP, name=name):
            return subject.group == name
        case ConfigResource(name=name):
            return not name or not symptom.brokers or _is_near(snapshot, symptom, name)
        case QuotaEntity():
            return subject.group is None or _has_client(snapshot, subject.group, about)
        case changes.ScramUser():
            # No API names the users of members.
            return subject.group is not None
    return False


def _reads(snapshot: Snapshot, group: str | None, topic: str) -> bool:
    lag = snapshot.lags.get(group or "")
    return lag is not None and any(each.topic == topic for each in lag.partitions)


def _is_near(snapshot: Snapshot, symptom: triage_symptoms.Symptom, broker: str) -> bool:
    """Return whether a symptom points to a broker, or the broker has a replica of its partition."""
    if broker in map(str, symptom.brokers):
        return True
    topic = snapshot.topics.get(symptom.subject.topic or "")
    found = (each for each in topic.partitions if each.number == symptom.subject.partition) if topic else ()
    return any(broker in map(str, each.replicas) for each in found)


def _has_client(snapshot: Snapshot, name: str, entity: QuotaEntity) -> bool:
    """Return whether a quota may limit a member of a group: members report their client id, and no API their user."""
    if not entity.has(CLIENT_ID) or entity.name_of(CLIENT_ID) is None:
        return True
    group = snapshot.groups.get(name)
    return group is not None and any(each.client_id == entity.name_of(CLIENT_ID) for each in group.members or ())


def _stops_producers(change: JudgedChange) -> bool:
    """Return whether brokers may refuse, or slow down, producers by a change."""
    match change.place.kind:
        case Kind.CONFIG:
            return change.place.key in _REFUSES and change.became is not None
        case Kind.QUOTA:
            return change.place.key in _SLOWS and not _lets_go(change)
        case Kind.SCRAM:
            return change.was is not None  # a new credential locks no client out
    return False


def _silent(observations: Observations, change: JudgedChange) -> Iterator[str]:
    """Yield the topics that were written to until a change that stops producers, and not since."""
    if not _stops_producers(change) or change.at < observations.last.at - BEFORE:
        return
    match change.place.about:
        case ConfigResource(type=codes.BROKER, name=name) if name.isdecimal():
            yield from fell_silent(observations, change.after, change.at, int(name))
        case ConfigResource(type=codes.TOPIC, name=name):
            yield from (topic for topic in fell_silent(observations, change.after, change.at) if topic == name)
        case _:
            yield from fell_silent(observations, change.after, change.at)


# -- the claim ---------------------------------------------------------------------------------------------------------


def _claim(made: _Made, authors: Mapping[ChangeKey, Author]) -> cause.Claim:
    first = made.parts[0]
    subject, name = changed_place(first.place.about, first.place.key)
    risks = dict.fromkeys(risk for each in made.parts for risk in each.risks)
    # A rule that has this effect makes the change the likely cause; its time alone, a possible one.
    is_sure = bool(made.silent) or first.place.kind is Kind.TOPIC or not made.hit
    certainty = Certainty.LIKELY if is_sure else Certainty.POSSIBLE
    standing = [risk.text for risk in risks if risk.name in _STANDS]
    return cause.Claim(
        cause="changed-lately",
        subject=subject,
        severity=Severity.HIGH if is_sure and (made.hit or made.silent) else Severity.WARNING,
        certainty=certainty if made.hit or made.silent else Certainty.CERTAIN,
        title=f"{name}: {_effect(made, standing)}",
        since=made.at,
        evidence=(
            *(cause.Evidence(_said(each), _SOURCES[each.place.kind]) for each in made.parts),
            *(cause.Evidence(risk.text, f"the rule {risk.name} of plans") for risk in risks),
            *(
                cause.Evidence(
                    f"{author.who} set it: change {author.number}, {time_of_day(author.at)}", "this host's journal"
                )
                for author in dict.fromkeys(_author(each, authors) for each in made.parts)
                if author is not None
            ),
        ),
        predicted=tuple(each for symptom in made.hit for each in cause.predict(symptom.name, subject=symptom.subject)),
        next=cause.given(_way_back(made)),
        beside=bool(made.hit) and not is_sure,
        yields=not made.hit and not made.silent,
    )


def _author(change: JudgedChange, authors: Mapping[ChangeKey, Author]) -> Author | None:
    return authors.get((change.place.about, change.place.key, change.became))


_SOURCES = {
    Kind.CONFIG: "DescribeConfigs, two looks",
    Kind.QUOTA: "DescribeClientQuotas, two looks",
    Kind.ACL: "DescribeAcls, two looks",
    Kind.SCRAM: "DescribeUserScramCredentials, two looks",
    Kind.TOPIC: "Metadata, two looks",
}


def _effect(made: _Made, standing: Sequence[str]) -> str:
    """Return the effect of changes, for a title."""
    first, more = made.parts[0], len(made.parts) - 1
    what = f"{_short(first)}{f' and {more} more' if more else ''}"
    if made.silent:
        return f"{what}, and nothing is written to {first_few(list(made.silent), MOST_NAMED)} since"
    groups = sorted({each.subject.group for each in made.hit if each.subject.group is not None})
    if groups:
        return f"{what} right before {first_few([f'group {name}' for name in groups], MOST_NAMED)} fell behind"
    if made.hit:
        return f"{what} right before"
    return f"{what}: {standing[0]}" if standing else what


def _short(change: JudgedChange) -> str:
    """Return a change in few words."""
    match change.place.kind:
        case Kind.TOPIC if change.place.key == ID:
            return "deleted and made again"
        case Kind.TOPIC if change.became is None:
            return "deleted"
        case Kind.TOPIC:
            return f"grown from {change.was} to {change.became} partitions"
        case Kind.SCRAM:
            return "credential deleted" if change.became is None else "credential set"
        case Kind.ACL:
            return "ACL removed" if change.became is None else "ACL added"
    return f"{change.place.key} changed"


def _said(change: JudgedChange) -> str:
    """Return a change as a sentence."""
    when = f"since {time_of_day(change.after)} to {time_of_day(change.at)}"
    if change.place.kind in (Kind.CONFIG, Kind.QUOTA):
        was, became = _shown(change.was, change.held), _shown(change.became, change.holds)
        return f"{change.place.key} was {was}, and is {became} {when}"
    return f"{_short(change)} {when}"


def _shown(value: str | None, held: str | None) -> str:
    if value is None:
        return f"not set ({held} applied)" if held else "not set"
    return "hidden" if value == HIDDEN else value or "empty"


def _way_back(made: _Made) -> cause.Next | None:
    back = tuple(edit for each in made.parts for edit in each.back)
    if back:
        return cause.Next("take it back", edits=back)
    first = made.parts[0]
    groups = sorted({each.subject.group for each in made.hit if each.subject.group is not None})
    if isinstance(first.place.about, changes.TopicTarget) and first.place.key == ID and groups:
        topic = first.place.about.name
        return cause.Next(
            "its offsets are those of the former topic: read the new one from its beginning, once its members stopped",
            f"reset group {groups[0]} topic {topic} to earliest",
        )
    if first.place.kind is Kind.SCRAM:
        assert isinstance(first.place.about, changes.ScramUser)
        return cause.Next(f"set a password for {first.place.about.user} again: no broker has kept the former one")
    return None


CAUSES = (cause.CauseRule("changed-lately", _changed),)

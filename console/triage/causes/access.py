"""Causes in access rights: an ACL was added or removed just before clients that need it stopped."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import islice, takewhile
from typing import NamedTuple

from console.model import authorizer
from console.model.acl import PREFIXED, Acl
from console.model.cluster import Topic
from console.model.codes import AclResourceType
from console.model.inheritance import values_of_brokers
from console.model.name_order import in_order
from console.model.numbers import first_few, plural, time_of_day
from console.model.severity import Certainty, Severity
from console.plan.edits import AddAcl, RemoveAcl
from console.plan.risk_rules import FIRST_ACL
from console.triage import cause, symptoms
from console.triage.causes.changed import Suspect
from console.triage.connectors import AUTHORIZATION, names, trace_of
from console.triage.events import PRESENT
from console.triage.observations import Interval, Observations
from console.triage.past import AclChange
from console.triage.remembered import remembered_by
from console.triage.silence import SETTLES, fell_silent

BEFORE = timedelta(minutes=5)
"""Maximum time from a change of an ACL to the stop of a client that the change may have caused."""
MOST = 200
"""Maximum number of changes that are examined, the latest ones: if there are more, ACLs of another cluster
were copied.
"""
_TOPIC, _GROUP = AclResourceType.parse("TOPIC"), AclResourceType.parse("GROUP")
_TRANSACTIONAL = AclResourceType.parse("TRANSACTIONAL_ID")
_STOPS = (symptoms.COMMIT_STANDS_STILL, symptoms.LAG_GROWS, symptoms.COMMITS_LATER)


class _Change(NamedTuple):
    """Changes of ACLs that differ only in the operation and came in the same poll, as if one statement had made them:
    all added or all removed.
    """

    parts: tuple[AclChange, ...]

    @property
    def acl(self) -> Acl:
        """The first of the ACLs, which differ only in their operations."""
        return self.parts[0].acl

    def takes(self, operations: frozenset[str]) -> bool:
        """Return whether a user may have lost the right to one of these operations by the change. The first ACL on a
        resource takes the access away from all users that it does not name, whatever operations it allows.
        """
        return any(
            each.first or operations & {each.acl.operation.name, *(one.name for one in authorizer.granted(each.acl))}
            for each in self.parts
        )


_WRITES, _READS = frozenset({"WRITE", "ALL"}), frozenset({"READ", "DESCRIBE", "ALL"})
_OF_TRANSACTIONS = _WRITES | {"DESCRIBE"}


def _changed(observations: Observations) -> Iterator[cause.Claim]:
    now = observations.last.at
    recent = [each for each in observations.past.access[-MOST:] if each.takes and each.at > now - BEFORE]
    for change in _together(recent):
        topics = _topics(observations, change.acl)
        if change.takes(_OF_TRANSACTIONS if change.acl.resource_type == _TRANSACTIONAL else _WRITES) and (
            quiet := [
                each for each in fell_silent(observations, change.parts[0].after, change.parts[0].at) if each in topics
            ]
        ):
            yield _claim(observations, change, quiet, [])
        else:
            hit = [*_failures(observations, change.parts[0])]
            if change.takes(_READS) and change.acl.resource_type != _TRANSACTIONAL:
                hit += _group_symptoms(observations, change.parts[0], topics)
            if hit:
                whose = {each.subject.connector or each.subject.group or "" for each in hit}
                yield _claim(observations, change, sorted(whose), hit)


def _together(changes: Iterable[AclChange]) -> Iterator[_Change]:
    """Yield the changes of ACLs, those of one poll that differ only in their operation as one."""
    found: dict[tuple[object, ...], list[AclChange]] = {}
    for each in changes:
        found.setdefault((*each.acl[:5], each.acl.permission, each.added, each.at), []).append(each)
    return (_Change(tuple(some)) for some in found.values())


def _topics(observations: Observations, acl: Acl) -> frozenset[str]:
    """Return the topics that an ACL concerns; empty for ACLs on other types of resources. For an ACL on a transactional
    id, these are the topics to which its user may write by an ACL that names them; a right on all topics does not
    show where the user writes.
    """
    snapshot = observations.last.snapshot
    if acl.resource_type == _TRANSACTIONAL:
        mine = (each for each in snapshot.acls if each.principal == acl.principal and each.resource_type == _TOPIC)
        writes = (each for each in mine if each.permission == authorizer.ALLOW and each.operation.name in _WRITES)
        patterns = [authorizer.pattern_of(each) for each in writes if each.resource_name != authorizer.WILDCARD]
    elif acl.resource_type == _TOPIC:
        patterns = [authorizer.pattern_of(acl)]
    else:
        return frozenset()
    return frozenset().union(*(_covered(each, snapshot.topics) for each in patterns))


def _covered(pattern: authorizer.Pattern, topics: Mapping[str, Topic]) -> Iterable[str]:
    """Return the topics to which a pattern applies. Only topics that may match are looked at, since there may be many
    patterns.
    """
    if pattern.pattern_type == PREFIXED:
        names = in_order(topics)
        return takewhile(
            lambda name: name.startswith(pattern.name), islice(names, bisect_left(names, pattern.name), None)
        )
    if pattern.name == authorizer.WILDCARD:
        return topics
    return [pattern.name] if pattern.name in topics else []


def _group_symptoms(
    observations: Observations, change: AclChange, topics: frozenset[str]
) -> Iterator[symptoms.Symptom]:
    """Yield the symptoms of groups that began after the change of an ACL on the group, or on a topic that the group
    reads.
    """
    snapshot = observations.last.snapshot
    for name in _STOPS:
        for symptom in observations.of(name):
            group = symptom.subject.group or ""
            since = observations.since(symptom)
            if since is None or since < change.after - timedelta(seconds=SETTLES):
                continue
            if change.acl.resource_type == _GROUP:
                is_hit = authorizer.covers(authorizer.pattern_of(change.acl), _GROUP, group)
            elif symptom.subject.topic is not None:
                is_hit = symptom.subject.topic in topics
            else:
                lag = snapshot.lags.get(group)
                is_hit = bool(topics) and lag is not None and any(each.topic in topics for each in lag.partitions)
            if is_hit:
                yield symptom


def suspect(observations: Observations, subject: symptoms.Subject) -> Suspect | None:
    """Return the change of an ACL that may be the reason for the symptoms of a group, as text and evidence; None if
    there is no such change. subject: the subject of a symptom.
    """
    if not observations.past.access:
        return None
    change = _suspects(observations.seen, observations.intervals, observations.past.access, observations).get(subject)
    if change is None:
        return None
    said = cause.Evidence(f"{_words(change)} at {time_of_day(change.parts[0].at)}", "DescribeAcls, two looks")
    return Suspect(_words(change), said, by_rule=True)


@remembered_by(3)
def _suspects(
    seen: Mapping[symptoms.Key, symptoms.Symptom],  # noqa: ARG001  with the intervals it decides
    intervals: Mapping[symptoms.Key, Sequence[Interval]],  # noqa: ARG001
    access: Sequence[AclChange],
    observations: Observations,
) -> Mapping[symptoms.Subject, _Change]:
    """Return subject of a group's symptoms -> the change of an ACL that the group needs, if the symptoms began right
    after it.
    """
    found: dict[symptoms.Subject, _Change] = {}
    for change in _together([each for each in access[-MOST:] if each.takes]):
        if not change.takes(_READS) or change.acl.resource_type == _TRANSACTIONAL:
            continue
        first, topics = change.parts[0], _topics(observations, change.acl)
        for symptom in _group_symptoms(observations, first, topics):
            since = observations.since(symptom)
            if since is not None and since <= first.at + BEFORE:
                found.setdefault(symptom.subject, change)
    return found


def _failures(observations: Observations, change: AclChange) -> Iterator[symptoms.Symptom]:
    """Yield the symptoms of connectors and tasks that failed after the change because they lack a right on a resource
    that their trace names.
    """
    for symptom in (*observations.of(symptoms.CONNECTOR_FAILED), *observations.of(symptoms.TASK_FAILED)):
        since, subject = observations.since(symptom), symptom.subject
        if since is None or since < change.after - timedelta(seconds=SETTLES):
            continue
        trace = trace_of(observations.last.snapshot.connect, subject.connector or "", subject.task)
        wanted, is_prefix = change.acl.resource_name, change.acl.pattern_type == PREFIXED
        if AUTHORIZATION in trace and (wanted in trace if is_prefix else names(trace, wanted)):
            yield symptom


def _authors(observations: Observations, change: _Change) -> Iterator[cause.Evidence]:
    """Yield the author of each of these changes that is in this host's journal, as evidence."""
    known = observations.last.facts.authors
    verb = "added" if change.parts[0].added else "removed"
    for author in dict.fromkeys(known.get((each.acl, "", PRESENT if each.added else None)) for each in change.parts):
        if author is not None:
            text = f"{author.who} {verb} it: change {author.number}, {time_of_day(author.at)}"
            yield cause.Evidence(text, "this host's journal")


def _left_for_hosts(change: _Change, acls: Iterable[Acl]) -> Iterator[cause.Evidence]:
    """Yield, as evidence, the hosts for which the user still has the removed rights by other ACLs, unless it has them
    for all hosts: then the user's ACLs look right, but its clients may run on other hosts.
    """
    acl, pattern = change.acl, authorizer.pattern_of(change.acl)
    if change.parts[0].added or acl.permission != authorizer.ALLOW:
        return
    lost = {each.acl.operation for each in change.parts}

    def holds(other: Acl) -> bool:
        """Return whether another ACL of the user gives one of the removed rights."""
        has = authorizer.ALL in lost or any(authorizer.grants(other, operation) for operation in lost)
        return has and (authorizer.pattern_of(other) == pattern or authorizer.is_within(pattern, other))

    mine = (each for each in acls if each.principal == acl.principal and each.permission == authorizer.ALLOW)
    hosts = {each.host for each in mine if holds(each)}
    if hosts and authorizer.WILDCARD not in hosts:
        word = "host" if len(hosts) == 1 else "hosts"
        text = f"{acl.principal}'s other ACLs on it hold for {word} {first_few(sorted(hosts))} only"
        yield cause.Evidence(text, "DescribeAcls")


def _lets_all(observations: Observations) -> bool:
    """Return whether a broker is known to allow everyone access to a resource without ACLs
    (allow.everyone.if.no.acl.found).
    """
    values = values_of_brokers(observations.last.snapshot, authorizer.OPEN).values()
    return any(value is not None and value.lower() == "true" for value in values)


def _words(change: _Change) -> str:
    """Return a change of ACLs as text for a title."""
    acl = change.acl
    operations = ", ".join(each.acl.operation.name for each in change.parts)
    return (
        f"{acl.permission.name} {operations} for {acl.principal} on {acl.resource_type.name.lower().replace('_', ' ')} "
        f"{acl.resource_name}{'*' if acl.pattern_type.name == 'PREFIXED' else ''} "
        f"{'were' if len(change.parts) > 1 else 'was'} {'added' if change.parts[0].added else 'removed'}"
    )


def _claim(observations: Observations, change: _Change, what: list[str], hit: list[symptoms.Symptom]) -> cause.Claim:
    acl, first = change.acl, change.parts[0]
    is_topic = not hit
    text = _words(change)
    failed = list(dict.fromkeys(each.subject.connector for each in hit if each.subject.connector is not None))
    stops = (f"nothing is written to {what[0]} since" if is_topic else f"group {what[0]} gets no further since") + (
        f", nor {'to' if is_topic else 'do'} {plural(len(what) - 1, 'more')}" if what[1:] else ""
    )
    if failed:
        stops = f"{first_few([f'connector {each}' for each in failed])} failed since, for lack of that right"
    subject = symptoms.Subject(topic=what[0]) if is_topic and not what[1:] else symptoms.Subject(entity=acl.principal)
    return cause.Claim(
        cause="access-changed",
        subject=subject if not hit else symptoms.Subject(entity=acl.principal),
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY,
        title=f"{text}, and {stops}",
        since=first.at,
        evidence=cause.given(
            cause.Evidence(
                f"{text} between {time_of_day(first.after)} and {time_of_day(first.at)}",
                "DescribeAcls, two looks",
            ),
            *_left_for_hosts(change, observations.last.snapshot.acls),
            *_authors(observations, change),
            cause.Evidence(
                stops,
                "ListOffsets"
                if is_topic
                else "GET /connectors?expand=status"
                if failed
                else "OffsetFetch, ListOffsets",
            ),
            cause.Evidence("it is the first ACL on it: before, everyone had access", "DescribeAcls")
            if first.first
            else None,
        ),
        predicted=tuple(each for symptom in hit for each in cause.predict(symptom.name, subject=symptom.subject)),
        next=(
            cause.Next(
                "take the change of the ACL back",
                edits=tuple(RemoveAcl(each.acl) if each.added else AddAcl(each.acl) for each in change.parts),
                # A group that stops when its last ACL goes was denied: brokers do not let everyone in without ACLs.
                ruled_out=frozenset({FIRST_ACL})
                if hit and not first.added and not _lets_all(observations)
                else frozenset(),
            ),
        ),
        beside=bool(hit) and not failed,  # the traces of failed connectors name the missing right
    )


CAUSES = (
    cause.CauseRule(
        "access-changed",
        _changed,
        reads="DescribeAcls over time; this host's journal",
        takes=(
            "likely: at most 5 minutes after a right was removed, a topic fell silent, or a group stopped, that needs "
            "the right; for a right on a transactional id, a topic that its user may write to by name"
        ),
    ),
)

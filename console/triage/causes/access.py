"""Causes that are rights: an ACL that was added or removed right before what it is about stopped."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from console.model.acl import Acl
from console.model.authorizer import covers, granted, pattern_of
from console.model.codes import AclResourceType, Permission
from console.model.numbers import plural, time_of_day
from console.plan.edits import AddAcl, RemoveAcl
from console.triage.cause import CauseRule, Certainty, Claim, Evidence, Next, Severity, of
from console.triage.course import Course
from console.triage.past import AclChange
from console.triage.symptoms import (
    COMMIT_STANDS_STILL,
    COMMITS_LATER,
    LAG_GROWS,
    Subject,
    Symptom,
)

BEFORE = timedelta(minutes=5)
"""How long before something stops a change may have been to be its cause."""
WROTE, QUIET, SETTLES = 30.0, 12.0, 5.0
"""Seconds before a change within which a topic was written to; for which nothing has arrived since; and within which
what was on its way still arrives."""
MOST = 200
"""Changes that are looked at, the latest: more at once are a copy of another cluster's."""
_TOPIC, _GROUP = AclResourceType.parse("TOPIC"), AclResourceType.parse("GROUP")
_DENY = Permission.parse("DENY")
_STOPS = (COMMIT_STANDS_STILL, LAG_GROWS, COMMITS_LATER)


def _changed(course: Course) -> Iterator[Claim]:
    now = course.last.at
    for change in course.past.access[-MOST:]:
        if change.takes and change.at > now - BEFORE:
            names = {each.name for each in granted(change.acl)} | {change.acl.operation.name}
            topics = _topics(course, change.acl)
            if names & {"WRITE", "ALL"} and (quiet := [each for each in topics if _fell_silent(course, change, each)]):
                yield _claim(change, quiet, [], Certainty.LIKELY)
            elif hit := list(_of_groups(course, change, frozenset(topics))):
                yield _claim(change, sorted({each.subject.group or "" for each in hit}), hit, Certainty.LIKELY)


def _topics(course: Course, acl: Acl) -> list[str]:
    if acl.resource_type != _TOPIC:
        return []
    pattern = pattern_of(acl)
    return [name for name in course.last.snapshot.topics if covers(pattern, _TOPIC, name)]


def _fell_silent(course: Course, change: AclChange, topic: str) -> bool:
    """Whether a topic was written to right until the change, and not since."""
    logs = course.last.facts.logs
    partitions = course.last.snapshot.topics[topic].partitions
    grew = [known.grew_at for each in partitions if (known := logs.logs.get((topic, each.number))) is not None]
    last = max((at for at in grew if at is not None), default=None)
    if last is None or logs.at - last < QUIET:
        return False
    return change.after.timestamp() - WROTE <= last <= change.at.timestamp() + SETTLES


def _of_groups(course: Course, change: AclChange, topics: frozenset[str]) -> Iterator[Symptom]:
    """What stopped of groups that the change is about, or that read what it is about, since it was made."""
    snapshot = course.last.snapshot
    for name in _STOPS:
        for symptom in course.of(name):
            group = symptom.subject.group or ""
            since = course.since(symptom)
            if since is None or since < change.after - timedelta(seconds=SETTLES):
                continue
            if change.acl.resource_type == _GROUP:
                is_hit = covers(pattern_of(change.acl), _GROUP, group)
            elif symptom.subject.topic is not None:
                is_hit = symptom.subject.topic in topics
            else:
                lag = snapshot.lags.get(group)
                is_hit = bool(topics) and lag is not None and any(each.topic in topics for each in lag.partitions)
            if is_hit:
                yield symptom


def _claim(change: AclChange, what: list[str], hit: list[Symptom], certainty: Certainty) -> Claim:
    acl = change.acl
    is_topic = not hit
    word = "added" if change.added else "removed"
    text = (
        f"{acl.permission.name} {acl.operation.name} for {acl.principal} on {acl.resource_type.name.lower()} "
        f"{acl.resource_name}{'*' if acl.pattern_type.name == 'PREFIXED' else ''}"
    )
    stops = (f"nothing is written to {what[0]} since" if is_topic else f"group {what[0]} gets no further since") + (
        f", nor {'to' if is_topic else 'do'} {plural(len(what) - 1, 'more')}" if what[1:] else ""
    )
    subject = Subject(topic=what[0]) if is_topic and not what[1:] else Subject(entity=acl.principal)
    first = change.added and acl.permission != _DENY
    return Claim(
        cause="access-changed",
        subject=subject if not hit else Subject(entity=acl.principal),
        severity=Severity.HIGH,
        certainty=certainty,
        title=f"{text} was {word}, and {stops}",
        since=change.at,
        evidence=(
            Evidence(
                f"{text} was {word} between {time_of_day(change.after)} and {time_of_day(change.at)}",
                "DescribeAcls, two looks",
            ),
            Evidence(stops, "ListOffsets" if is_topic else "OffsetFetch, ListOffsets"),
            *((Evidence("it is the first ACL on it: before, everyone had access", "DescribeAcls"),) if first else ()),
        ),
        predicted=tuple(each for symptom in hit for each in of(symptom.name, subject=symptom.subject)),
        next=(Next("take it back", edits=(RemoveAcl(acl) if change.added else AddAcl(acl),)),),
        beside=bool(hit),
    )


CAUSES = (CauseRule("access-changed", _changed),)

"""What stands wrong in the cluster or a broker as a whole, by the rules of lint that say so, poll after poll. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from console.lint.replicas import is_cordoned
from console.lint.report import can_look
from console.lint.rule import Found, Rule, Seen
from console.lint.rules import RULES
from console.model.changes import OwnTarget
from console.model.cluster import ClusterInfo, Reassignment, Topic
from console.model.codes import BROKER
from console.model.config import ConfigResource
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.triage.changed_places import ChangedPlace, changed_place
from console.triage.remembered import remembered
from console.triage.symptoms import Subject

if TYPE_CHECKING:
    from console.triage.symptoms import Poll

STANDING = tuple(rule for rule in RULES if rule.stands_after is not None)
"""The rules whose findings are causes of a verdict."""
_NO_TIME = datetime.fromtimestamp(0, UTC)

Key = tuple[str, str]
"""The name of a rule, and its finding's subject as text."""


class Stands(NamedTuple):
    """A finding of the last poll. since: the first poll with it, UTC; None if the rule's first look found it. is_meant:
    a user made it so while it was watched, as by moving all replicas away from a broker.
    """

    rule: Rule
    found: Found
    place: ChangedPlace
    since: datetime | None
    is_meant: bool = False


class Standing(Struct, frozen=True):
    """The findings. looked: the rules that had all that they read, once."""

    findings: Mapping[Key, Stands] = field(default_factory=dict)
    looked: frozenset[str] = frozenset()


def standing_after(known: Standing, before: Poll, poll: Poll) -> Standing:
    """Return the findings after a poll. A rule that can't look now, as a broker is away, keeps what it found.

    Args:
        before: the poll before it; of the first poll itself.
    """
    seen = Seen(poll.snapshot, poll.at)
    findings: dict[Key, Stands] = {}
    looked = set(known.looked)
    for rule in STANDING:
        if not can_look(seen, rule):
            findings |= {key: each for key, each in known.findings.items() if each.rule is rule}
            continue
        for found in _found(rule, seen):
            place = _place(found)
            key = rule.name, place.name
            was = known.findings.get(key)
            if was is not None:
                findings[key] = was._replace(found=found)
                continue
            since = poll.at if rule.name in known.looked else None
            is_meant = since is not None and _held_replicas(before.snapshot, place.subject.broker)
            findings[key] = Stands(rule, found, place, since, is_meant)
        looked.add(rule.name)
    now = Standing(findings, frozenset(looked))
    return known if now == known else now


def _found(rule: Rule, seen: Seen) -> Iterator[Found]:
    snapshot = seen.snapshot
    if Part.TOPICS not in rule.reads:
        yield from rule.find(seen)
        return
    for each in _over_topics(snapshot.cluster, snapshot.topics, snapshot.reassignments)[rule.name]:
        subject = each.subject
        if not (isinstance(subject, ConfigResource) and subject.type == BROKER) or not is_cordoned(
            snapshot, int(subject.name)
        ):
            yield each


@remembered
def _over_topics(
    cluster: ClusterInfo, topics: Mapping[str, Topic], reassignments: tuple[Reassignment, ...]
) -> Mapping[str, tuple[Found, ...]]:
    """Return what the rules over all topics find: it is the same until one of these parts is another."""
    seen = Seen(Snapshot(cluster=cluster, topics=topics, reassignments=reassignments), _NO_TIME)
    return {rule.name: tuple(rule.find(seen)) for rule in STANDING if Part.TOPICS in rule.reads}


def _held_replicas(snapshot: Snapshot, broker: int | None) -> bool:
    partitions = (partition for topic in snapshot.topics.values() for partition in topic.partitions)
    return broker is not None and any(broker in partition.replicas for partition in partitions)


def _place(found: Found) -> ChangedPlace:
    """Return the subject of a finding, and its name as acceptances have it."""
    if isinstance(found.subject, OwnTarget):
        return ChangedPlace(Subject(entity=found.subject.title), found.subject.title)
    place = changed_place(found.subject, found.key)
    return place if found.key else place._replace(subject=_without_key(place.subject))


def _without_key(subject: Subject) -> Subject:
    return Subject(broker=subject.broker, topic=subject.topic, group=subject.group, entity=subject.entity)

"""Keeps the findings of lint's rules that are possible causes, from poll to poll, with the time since when each exists.
Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from console.lint.replicas import UNEVEN, is_cordoned
from console.lint.report import can_look
from console.lint.rule import Found, Rule, Seen
from console.lint.rules import BY_NAME, RULES
from console.model.changes import OwnTarget, Target
from console.model.cluster import Topic
from console.model.codes import TOPIC
from console.model.config import ConfigPlace, ConfigResource, ConfigSet, broker_resource
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.triage.changed_places import ChangedPlace, changed_place
from console.triage.remembered import remembered
from console.triage.symptoms import CLUSTER, Subject, cluster_time

if TYPE_CHECKING:
    from console.triage.symptoms import Poll

STANDING = tuple(rule for rule in RULES if rule.stands_after is not None)
"""The rules whose findings are causes in a verdict, also if they are older than this watch."""
_ARISING = (
    "leaders-uneven",
    "one-rack",
    "rack-missing",
    "segments-tiny",
    "single-replica",
    "voters-few",
)
ARISING = tuple(BY_NAME[name] for name in _ARISING)
"""The rules whose findings are possible causes only if they arose while kac watched: many clusters live with such
findings for years.
"""
CHOSEN, ENDS = frozenset({"one-rack", "segments-tiny", "single-replica"}), timedelta(hours=1)
"""The rules of `ARISING` whose findings a client may have chosen, and the time after which these are no causes."""
LOOKS_EVERY, LASTS = timedelta(seconds=30), timedelta(seconds=60)
"""The time between two looks by these rules, which read all partitions; and the time for which a finding has to last.
"""
_NO_TIME = datetime.fromtimestamp(0, UTC)

_EMPTY, _UNEVEN = BY_NAME["broker-empty"], "leaders-uneven"
BALANCE = ("balance",)
"""The words of the console's statement that moves replicas to balance brokers."""

Key = tuple[str, str, str, int]
"""A rule's name, the text of its finding's subject, the finding's key, and a number that separates findings that are
equal in all of these.
"""


class Stands(NamedTuple):
    """A finding of a rule at the last poll."""

    rule: Rule
    found: Found
    place: ChangedPlace
    since: datetime | None
    """The time at which the finding began, as far as the rule knows it, else that of the first poll with it, UTC. None
    if the rule had the finding at its first run.
    """
    is_meant: bool = False
    """Whether a user probably caused the finding on purpose while kac watched, for example by moving all replicas away
    from a broker.
    """


Mark = tuple[str, Target, str]
"""A rule's name, and its finding's subject and key."""


class Arising(Struct, frozen=True):
    """The findings of the rules in `ARISING`.

    Attributes:
        at: the time of the last run of the rules, UTC; None before the first.
        brokers: the brokers that were listed at that run. A finding that comes with other brokers does not count as
            arisen.
        looked: the names of the rules that have run at least once.
        found: the findings of that run. For `leaders-uneven`: the brokers with too many preferred leaders that had them
            when kac began to watch, or that got them together with a change of the listed brokers. While a broker
            restarts its leaders are elsewhere, and the rule does not find it.
        arisen: the findings that arose while kac watched.
        configs: the configs at that run. Configs that are missing here may only have been read since, or belong to new
            topics.
    """

    at: datetime | None = None
    brokers: frozenset[int] = frozenset()
    looked: frozenset[str] = frozenset()
    found: frozenset[Mark] = frozenset()
    arisen: Mapping[Mark, Stands] = field(default_factory=dict)
    configs: Mapping[ConfigResource, ConfigSet] = field(default_factory=dict)


class Standing(Struct, frozen=True):
    """The findings of lint's rules that may be causes, and which rules could run so far."""

    findings: Mapping[Key, Stands] = field(default_factory=dict)
    looked: frozenset[str] = frozenset()
    """The names of the rules that have run at least once with all data that they need."""
    arising: Arising = Arising()


def standing_after(known: Standing, before: Poll, poll: Poll) -> Standing:
    """Return the findings as of this poll; the same object as `known` if nothing changed. A rule that can't run now,
    for example because a broker is away, keeps its findings.

    Args:
        known: the result for the last poll.
        before: the last poll; `poll` itself if it is the first.
    """
    seen = Seen(poll.snapshot, cluster_time(poll), poll.facts.certificates, poll.own_throttles)
    findings: dict[Key, Stands] = {}
    looked = set(known.looked)
    for rule in STANDING:
        if not can_look(seen, rule):
            findings |= {key: each for key, each in known.findings.items() if each.rule is rule}
            continue
        # What does no harm has no time yet: it counts from the poll on since which it does.
        for found in filter(rule.stands, _found(rule, seen)):
            place = _place(found)
            key = rule.name, place.name, found.key, 0
            while key in findings:  # a broker may have one finding for each listener
                key = *key[:3], key[3] + 1
            was = known.findings.get(key)
            if was is not None:
                findings[key] = was._replace(found=found, since=found.since or was.since)
                continue
            first = poll.at if rule.name in known.looked and not _is_late(rule, found, before.snapshot) else None
            is_meant = first is not None and rule is _EMPTY and _held_replicas(before.snapshot, place.subject.broker)
            findings[key] = Stands(rule, found, place, found.since or first, is_meant)
        looked.add(rule.name)
    now = Standing(findings, frozenset(looked), _arising_after(known.arising, seen, poll))
    return known if now == known else now


def _is_late(rule: Rule, found: Found, before: Snapshot) -> bool:
    """Return whether configs with a finding that clusters live with were unknown before: the finding may be old."""
    about = found.subject
    if not rule.is_lasting or not isinstance(about, ConfigResource) or about.is_cluster_default:
        return False
    is_new = about.type == TOPIC and about.name not in before.topics
    return about not in before.configs and not is_new


def _arising_after(known: Arising, seen: Seen, poll: Poll) -> Arising:
    """Run the rules in `ARISING` on this poll, and return their findings. The rules don't run while replicas are
    being reassigned, or within 30 s (`LOOKS_EVERY`) of their last run: then return `known` unchanged.
    """
    if poll.snapshot.reassignments or (known.at is not None and poll.at - known.at < LOOKS_EVERY):
        return known
    rules = [rule for rule in ARISING if can_look(seen, rule)]
    kept = {rule.name for rule in ARISING} - {rule.name for rule in rules}
    found: set[Mark] = {mark for mark in known.found if mark[0] in kept}
    arisen = {mark: each for mark, each in known.arisen.items() if mark[0] in kept}
    brokers = frozenset(each.id for each in seen.brokers)
    is_new = _UNEVEN not in known.looked or brokers != known.brokers
    had = {mark for mark in known.found if mark[0] == _UNEVEN}
    if _UNEVEN not in kept and (is_new or had):
        uneven = _uneven(poll.snapshot.topics, brokers)
        found |= uneven if is_new else uneven & had
    for rule in rules:
        for each in _LOOKS[rule.name](seen):
            mark = rule.name, each.subject, each.key
            if rule.name != _UNEVEN:
                found.add(mark)
            elif each.command != BALANCE or mark not in _uneven(poll.snapshot.topics, brokers):
                continue  # an election, which brokers hold by themselves, spreads the leaders again
            was = known.arisen.get(mark)
            if was is not None:
                arisen[mark] = was._replace(found=each)
            elif (
                rule.name in known.looked
                and brokers == known.brokers
                and mark not in known.found
                and (not rule.configs_of or _has_changed(each.subject, known.configs, poll.snapshot.configs))
            ):
                arisen[mark] = Stands(rule, each, _place(each), poll.at)
    looked = known.looked | {rule.name for rule in rules}
    return Arising(poll.at, brokers, looked, frozenset(found), arisen, poll.snapshot.configs)


def _has_changed(
    subject: Target, before: Mapping[ConfigResource, ConfigSet], now: Mapping[ConfigResource, ConfigSet]
) -> bool:
    """Return whether the configs of the subject were known before and differ now."""
    return isinstance(subject, ConfigResource) and subject in before and before[subject] != now.get(subject)


def _uneven(topics: Mapping[str, Topic], brokers: Collection[int]) -> Set[Mark]:
    """Return the marks of the brokers that are the preferred leaders of many more partitions than the average
    broker.
    """
    preferred = _preferred(topics)
    most = UNEVEN * preferred.total() / max(1, len(brokers))
    return {(_UNEVEN, broker_resource(broker), "") for broker, count in preferred.items() if count > most}


@remembered
def _preferred(topics: Mapping[str, Topic]) -> Counter[int]:
    """Return broker id -> the number of partitions of which it is the preferred leader."""
    partitions = (each for topic in topics.values() for each in topic.partitions)
    return Counter(each.replicas[0] for each in partitions if each.replicas)


def _found(rule: Rule, seen: Seen) -> Iterator[Found]:
    for each in _LOOKS[rule.name](seen):
        subject = each.subject
        if rule is not _EMPTY or not (
            isinstance(subject, ConfigResource) and is_cordoned(seen.snapshot, int(subject.name))
        ):
            yield each


def _look(rule: Rule) -> Callable[[Seen], Sequence[Found]]:
    """Return a function that runs the rule and caches its findings: it runs the rule again only if a part of the
    snapshot that the rule reads is another object. Rules that depend on the time always run.
    """
    if rule.by_time:
        return lambda seen: tuple(rule.find(seen))
    names = (*rule.reads, *rule.also)
    restricted = _RESTRICTED.setdefault(names, remembered(partial(_restricted, names)))
    found = remembered(lambda seen: tuple(rule.find(seen)))
    return lambda seen: found(
        restricted(seen.meant, seen.snapshot.configs_from, *(getattr(seen.snapshot, part) for part in names))
    )


def _restricted(names: Sequence[Part], meant: frozenset[ConfigPlace], configs_from: int | None, *parts: object) -> Seen:
    """Return the state with these parts alone. configs_from: the broker that described the topics' configs."""
    known = Snapshot(**dict(zip(names, parts, strict=True)), read_at=dict.fromkeys(names, _NO_TIME))  # type: ignore[arg-type]
    return Seen(replace(known, configs_from=configs_from), _NO_TIME, meant=meant)


_RESTRICTED: dict[tuple[Part, ...], Callable[..., Seen]] = {}
"""Parts -> the state with these parts alone: the rules that read them share it, with the values that it derives."""
_LOOKS = {rule.name: _look(rule) for rule in (*STANDING, *ARISING)}


def _held_replicas(snapshot: Snapshot, broker: int | None) -> bool:
    partitions = (partition for topic in snapshot.topics.values() for partition in topic.partitions)
    return broker is not None and any(broker in partition.replicas for partition in partitions)


def _place(found: Found) -> ChangedPlace:
    """Return the subject of a finding, and the name under which an acceptance refers to it."""
    place = changed_place(found.subject, found.key)
    if isinstance(found.subject, ConfigResource) and found.subject.is_cluster_default:
        place = place._replace(name="broker <default>")
    elif place.subject == CLUSTER:
        name = found.subject.title if isinstance(found.subject, OwnTarget) else place.name
        place = ChangedPlace(Subject(entity=found.whose or name), name)
    return place if found.key else place._replace(subject=_without_key(place.subject))


def _without_key(subject: Subject) -> Subject:
    return Subject(broker=subject.broker, topic=subject.topic, group=subject.group, entity=subject.entity)

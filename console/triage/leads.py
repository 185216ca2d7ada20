"""Leads: the changes shortly before a symptom without a known cause, and the unusual states, at the entities on which
the symptom's subject depends. They are evidence and advice of a row, and never a cause. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from console.model.acl import LITERAL, Acl
from console.model.cluster import partition_in
from console.model.codes import DYNAMIC_BROKER_CONFIG, AclResourceType
from console.model.config import ConfigSet, broker_resource
from console.model.coordinators import OFFSETS, partition_of
from console.model.drift_rules import is_of_each_broker
from console.model.numbers import first_few, time_of_day
from console.model.observed_logs import Place
from console.triage import dependencies, symptoms
from console.triage.cause import Claim, Evidence, Next
from console.triage.causes.changed import in_words
from console.triage.changed_places import owner_of
from console.triage.dependencies import Entity
from console.triage.events import Kind
from console.triage.judged_changes import JudgedChange
from console.triage.observations import Observations, earliest
from console.triage.remembered import remembered

BEFORE, LATER, SEEN = timedelta(minutes=10), timedelta(seconds=5), timedelta(seconds=15)
"""Maximum time from a change to the beginning of a symptom; the time by which a symptom may seem to begin before it,
because kac reads the parts of a cluster one after the other; and the time after the beginning within which a poll has
to show the change, because a later one may be the operator's repair.
"""
OLD_MS = 30_000
"""Minimum milliseconds from the last record of an open transaction, for a lead about it."""
MOST, MOST_ROWS, MOST_PARTITIONS = 3, 20, 2_000
"""Maximum number of leads of a row, of rows with leads, and of a group's partitions that are compared."""
SHORTLY_BEFORE, STANDS_OUT, RELATED = "shortly before: ", "stands out: ", "may be related: "
"""The beginnings of the evidence about a change and about a state, and of the advice."""
_FEWEST_PEERS, _MOST_PEERS = 3, 50
"""Minimum and maximum number of brokers whose configs are compared."""
_MOST_FINDINGS = 200
"""Maximum number of findings of lint that are examined."""
_IN_COMMON, _OF_LAG = -2, -1
"""Distances of a lead that all subjects with the symptom have in common, the others not; they come first."""
_FEW, _MOST_OF = 0.1, 0.5
"""Minimum share of a group's lag in a new topic for it to be a lead, and for it to come first."""
_TOPICS, _OPEN = "Metadata over time", "DescribeProducers"
_CORDONED, _CORDON = "cordoned.log.dirs", ("cordon",)
_ACL_TOPIC, _ACL_GROUP = AclResourceType.parse("TOPIC"), AclResourceType.parse("GROUP")


class Leads(NamedTuple):
    """The leads of a row: at most three (`MOST`) pieces of evidence, and at most one advice."""

    evidence: tuple[Evidence, ...] = ()
    next: tuple[Next, ...] = ()

    def added(self, claim: Claim) -> Claim:
        """Return a claim with the leads behind its first evidence and its first step, because a screen may have no room
        for all of them; the same object without leads.
        """
        claim = without(claim)
        if not self.evidence:
            return claim
        return replace(
            claim,
            evidence=(*claim.evidence[:1], *self.evidence, *claim.evidence[1:]),
            next=(*claim.next[:1], *self.next, *claim.next[1:]),
        )


NOTHING = Leads()


def without(claim: Claim) -> Claim:
    """Return a claim without leads; the same object if it has none."""
    evidence = tuple(each for each in claim.evidence if not each.fact.startswith((SHORTLY_BEFORE, STANDS_OUT)))
    if len(evidence) == len(claim.evidence):
        return claim
    return replace(
        claim, evidence=evidence, next=tuple(each for each in claim.next if not each.text.startswith(RELATED))
    )


class _Lead(NamedTuple):
    """A change or a state at an entity.

    Attributes:
        entity: the entity.
        said: the text without its beginning, and the source.
        advice: the advice without its beginning; ``""`` for none.
        words: texts that together show that evidence already names it.
        at: the time of the first poll with the change, UTC; None for a state.
        after: the time of the last read without the change, UTC; None for a state.
    """

    entity: Entity
    said: Evidence
    advice: str
    words: tuple[str, ...]
    at: datetime | None = None
    after: datetime | None = None

    def is_before(self, began: datetime) -> bool:
        """Return whether a change was made within `BEFORE` before the time `began`, UTC."""
        at, after = self.at, self.after
        return at is not None and after is not None and began - BEFORE <= at <= began + SEEN and after <= began + LATER


class Known:
    """The changes and the states that may be leads for the rows of one verdict.

    Args:
        observations: the observations up to the last poll.
        claims: the claims of all rows; what they name is no lead.
    """

    def __init__(self, observations: Observations, claims: Sequence[Claim]) -> None:
        self._observations, self._snapshot = observations, observations.last.snapshot
        self._changes = _by_entity(_changes(observations, claims))
        self._states = _by_entity(_states(observations, claims))
        self._open = {each.place for each in observations.last.facts.transactions.open}

    def of(self, seen: Sequence[symptoms.Symptom], claim: Claim | None = None) -> Leads:
        """Return the leads of a row.

        Args:
            seen: symptoms that the row explains.
            claim: the row's claim, whose evidence is not repeated; None for symptoms without a cause.
        """
        present = [self._observations.seen.get((each.name, each.subject), each) for each in seen]
        began = claim.since if claim is not None else None
        if began is None:
            began = earliest(map(self._observations.since, present)) if present else None
        told = _told(claim) if claim is not None else ""
        found: dict[_Lead, int] = {}
        for symptom in present:
            for distance, lead in self._near(symptom, began):
                if not all(word in told for word in lead.words):
                    found[lead] = min(distance, found.get(lead, distance))
        groups = {each.subject.group for each in present}
        is_split = len(groups) == 1 and any(each.entity.sort == dependencies.BROKERS for each in found)
        split = self._split(groups.pop() or "") if is_split else None
        if split is not None:
            found = {each: split.distance(each, n) for each, n in found.items() if split.may_be(each)}
        ordered = sorted(found, key=lambda each: _rank(each, found[each]))
        evidence = [each.said for each in ordered]
        if split is not None and ordered and found[ordered[0]] == _IN_COMMON:
            evidence.insert(0, split.said)
        advice = next((each.advice for each in ordered[:MOST] if each.advice), "")
        return Leads(tuple(evidence[:MOST]), (Next(f"{RELATED}{advice}"),) if advice else ())

    def _near(self, symptom: symptoms.Symptom, began: datetime | None) -> Iterator[tuple[int, _Lead]]:
        if began is not None and self._changes:
            for distance, some in dependencies.near(symptom, self._snapshot, self._changes):
                yield from ((distance, each) for each in some if each.is_before(began))
        if began is not None and (group := symptom.subject.group) is not None:
            yield from self._new_topics(group, symptom.subject.topic, began)
        if self._states:
            for distance, some in dependencies.near(symptom, self._snapshot, self._states):
                yield from ((distance, each) for each in some)
        if self._open:
            yield from self._transactions(symptom.subject)

    def _new_topics(self, group: str, only: str | None, began: datetime) -> Iterator[tuple[int, _Lead]]:
        """Yield the topics that were created shortly before, and of which a group has at least a tenth of its lag.

        Args:
            only: the only topic that counts; None for all that the group reads.
        """
        created, lag = self._observations.past.created, self._snapshot.lags.get(group)
        if lag is None or not any(began - BEFORE <= at <= began + LATER for at in created.values()):
            return
        of_topics: Counter[str] = Counter()
        for each in lag.partitions:
            of_topics[each.topic] += max(0, each.lag or 0)
        total = of_topics.total()
        for topic, at in created.items():
            share = of_topics[topic] / total if total else 0.0
            if only in (None, topic) and share >= _FEW and began - BEFORE <= at <= began + LATER:
                said = (
                    f"{SHORTLY_BEFORE}topic {topic} was created at {time_of_day(at)}, and group {group} reads it: "
                    f"{share:.0%} of its lag is there"
                )
                advice = (
                    f"if members of group {group} were not meant to read topic {topic}, take it out of their "
                    "subscription (a pattern takes in new topics); else start more of them"
                )
                words = (topic, "created")
                lead = _Lead(Entity(dependencies.TOPICS, topic), Evidence(said, _TOPICS), advice, words, at, at)
                yield _OF_LAG if share >= _MOST_OF else dependencies.READS, lead

    def _transactions(self, subject: symptoms.Subject) -> Iterator[tuple[int, _Lead]]:
        """Yield the open transactions in the partition of a group's offsets, and in the subject's own partition."""
        offsets = self._snapshot.topics.get(OFFSETS)
        places: list[tuple[int, Place, str]] = []
        if subject.group is not None and offsets is not None and offsets.partitions:
            number = partition_of(subject.group, len(offsets.partitions))
            places.append((dependencies.ITSELF, (OFFSETS, number), f"with the offsets of group {subject.group}"))
        if subject.topic is not None and subject.partition is not None:
            places.append((dependencies.LEADS, (subject.topic, subject.partition), "that has the symptom"))
        known = self._observations.last.facts.transactions
        for distance, (topic, number), what in places:
            old = (each for each in known.at(topic, number) if known.age_ms(each.producer) >= OLD_MS)
            if (found := next(old, None)) is not None:
                holder = known.by_producer.get(found.producer.id)
                which = f"transaction {holder.id}" if holder is not None else "a transaction"
                said = f"{STANDS_OUT}{which} is open in {topic}/{number}, the partition {what}"
                advice = "look at the producer of the open transaction: it commits or aborts it"
                lead = _Lead(Entity(dependencies.TOPICS, topic), Evidence(said, _OPEN), advice, ("transaction", "open"))
                yield distance, lead

    def _split(self, group: str) -> _Split | None:
        """Return the leaders of a group's partitions that stand still and of the others; None if none or all stand."""
        still, lag = _still(self._observations.seen).get(group), self._snapshot.lags.get(group)
        if not still or lag is None:
            return None
        every = {(each.topic, each.partition) for each in islice(lag.partitions, MOST_PARTITIONS)}
        moving = every - still
        return _Split(self._leaders(still), self._leaders(moving), len(still), len(moving)) if moving else None

    def _leaders(self, places: Iterable[Place]) -> frozenset[str]:
        known = (partition_in(self._snapshot.topics.get(topic), number) for topic, number in places)
        return frozenset(str(each.leader) for each in known if each is not None)


@remembered
def _still(seen: Mapping[symptoms.Key, symptoms.Symptom]) -> Mapping[str, set[Place]]:
    """Return group -> its partitions that stand still."""
    found: dict[str, set[Place]] = {}
    for name, subject in seen:
        if name == symptoms.COMMIT_STANDS_STILL and subject.topic is not None and subject.partition is not None:
            found.setdefault(subject.group or "", set()).add((subject.topic, subject.partition))
    return found


class _Split(NamedTuple):
    """The leaders of a group's partitions that stand still, and of those that move, with their numbers."""

    still: frozenset[str]
    moving: frozenset[str]
    stand: int
    move: int

    def distance(self, lead: _Lead, distance: int) -> int:
        """Return the distance of a lead: less if it is about the one broker that all partitions that stand have in
        common, and no other has.
        """
        sort, name = lead.entity
        is_common = sort == dependencies.BROKERS and self.still == {name} and name not in self.moving
        return _IN_COMMON if is_common else distance

    def may_be(self, lead: _Lead) -> bool:
        """Return whether a lead fits the partitions that stand: False for a broker that leads only others."""
        sort, name = lead.entity
        return sort != dependencies.BROKERS or name in self.still or name not in self.moving

    @property
    def said(self) -> Evidence:
        """What the partitions that stand have in common."""
        which = "the partition that stands still is" if self.stand == 1 else f"all {self.stand} that stand still are"
        others = "the other one is not" if self.move == 1 else f"the {self.move} that move are not"
        return Evidence(f"{STANDS_OUT}{which} led by broker {next(iter(self.still))}, {others}", _TOPICS)


def _rank(lead: _Lead, distance: int) -> tuple[object, ...]:
    """Return the sort key: what is in common first, then changes, then states; the nearest and latest first."""
    latest = -lead.at.timestamp() if lead.at is not None else 0.0
    return min(distance, 0), lead.at is None, distance, latest, lead.said.fact


def _told(claim: Claim) -> str:
    return " ".join((claim.title, *(each.fact for each in claim.evidence), *(each.text for each in claim.next)))


def _by_entity(some: Iterable[_Lead]) -> Mapping[str, Mapping[str, Sequence[_Lead]]]:
    found: dict[str, dict[str, list[_Lead]]] = {}
    for each in some:
        found.setdefault(each.entity.sort, {}).setdefault(each.entity.name, []).append(each)
    return found


def _changes(observations: Observations, claims: Sequence[Claim]) -> Iterator[_Lead]:
    """Yield the changes that no claim names: those of clients, of brokers' files, and brokers that came back."""
    named = {_bare_subject(each.subject) for each in claims if each.cause == "changed-lately"}
    for change in observations.past.judged:
        entity = _entity_of(change)
        owner = owner_of(change.place)
        is_own = change.by_member or change.waited is not None  # what the symptom's own clients did
        if entity is not None and not is_own and _bare_subject(owner.subject) not in named:
            said = in_words(change)
            yield _Lead(
                entity,
                said._replace(fact=f"{SHORTLY_BEFORE}{said.fact}"),
                _advice(change, owner.name, entity),
                (owner.name, change.place.key) if change.place.key else (said.fact,),
                change.at,
                change.after,
            )
    about = {each.subject.broker for each in claims}
    for broker, interval in observations.absences():
        if interval.ended is not None and broker not in about:
            away = f"from {time_of_day(interval.began)} to {time_of_day(interval.ended)}"
            back = Evidence(f"{SHORTLY_BEFORE}broker {broker} was away {away}", "DescribeCluster over time")
            advice = f"compare broker {broker} with the others: its configs, its log, its host"
            words = (f"broker {broker}", "back")
            entity = Entity(dependencies.BROKERS, str(broker))
            yield _Lead(entity, back, advice, words, interval.began, interval.began)


def _bare_subject(subject: symptoms.Subject) -> tuple[object, ...]:
    return subject.broker, subject.topic, subject.group, subject.entity, subject.connector


def _entity_of(change: JudgedChange) -> Entity | None:
    about = change.place.about
    if not isinstance(about, Acl):
        return dependencies.changed_entity(about)
    sort = {_ACL_TOPIC: dependencies.TOPICS, _ACL_GROUP: dependencies.GROUPS}.get(about.resource_type)
    return Entity(sort, about.resource_name) if sort is not None and about.pattern_type == LITERAL else None


def _advice(change: JudgedChange, name: str, entity: Entity) -> str:
    """Return the way back from a change, if the plan's rules do not warn of it; else the comparison of a broker."""
    key = change.place.key
    if change.back and key and change.place.kind in (Kind.CONFIG, Kind.QUOTA):
        former = f"back to {change.was}" if change.was is not None else "back by its removal"
        return f"if it began with that change, take it back: put {key} of {name} {former}"
    if entity.sort == dependencies.BROKERS:
        return f"compare {name} with the others" + (f": {key} first" if key else "")
    return ""


def _states(observations: Observations, claims: Sequence[Claim]) -> Iterator[_Lead]:
    """Yield the unusual states that no claim names: findings of lint that triage keeps, cordoned log directories, and
    configs that were set on one broker only.
    """
    snapshot = observations.last.snapshot
    causes = {each.cause for each in claims}
    for stands in islice(observations.standing.findings.values(), _MOST_FINDINGS):
        subject, entity = stands.place.subject, None
        if subject.broker is not None:
            entity = Entity(dependencies.BROKERS, str(subject.broker))
        elif subject.topic is not None:
            entity = Entity(dependencies.TOPICS, subject.topic)
        elif subject.group is not None:
            entity = Entity(dependencies.GROUPS, subject.group)
        if entity is not None and stands.rule.name not in causes:
            what = f"{stands.place.name}: {stands.found.what}"
            yield _Lead(entity, Evidence(f"{STANDS_OUT}{what}", f"lint: {stands.rule.name}"), "", (what,))
    changed = {(each.place.about, each.place.key) for each in observations.past.judged}
    for broker, dirs in snapshot.log_dirs.items():
        own = broker_resource(broker)
        cordoned = [each.path for each in dirs if each.cordoned]
        if cordoned and (own, _CORDONED) not in changed:
            said = f"{STANDS_OUT}broker {broker} gets no new replicas in {first_few(cordoned)}: cordoned"
            advice = f"if the cordon is not needed any more, take it back: {_CORDONED} of broker {broker}"
            yield _Lead(Entity(dependencies.BROKERS, str(broker)), Evidence(said, "DescribeLogDirs"), advice, _CORDON)
    brokers = snapshot.cluster.brokers[:_MOST_PEERS]
    sets = [(each.id, snapshot.configs.get(broker_resource(each.id))) for each in brokers]
    known = tuple((number, each) for number, each in sets if each is not None)
    for broker, key, value, others in _odd(tuple(n for n, _ in known), *(each for _, each in known)):
        if (broker_resource(broker), key) not in changed:
            said = f"{STANDS_OUT}broker {broker} alone has {key} = {value}; the others have {others}"
            advice = f"compare broker {broker} with the others: {key} first"
            words = (f"broker {broker}", key)
            entity = Entity(dependencies.BROKERS, str(broker))
            yield _Lead(entity, Evidence(said, "DescribeConfigs"), advice, words)


_Odd = tuple[int, str, str, str]


@remembered
def _odd(brokers: tuple[int, ...], *sets: ConfigSet) -> Sequence[_Odd]:
    """Return (broker, key, its value, that of the others) for each config that was set on one broker by a request, and
    that has one other value on all other brokers; empty with fewer than three brokers.
    """
    found: list[_Odd] = []
    for place, mine in enumerate(sets if len(sets) >= _FEWEST_PEERS else ()):
        for entry in mine:
            if entry.source != DYNAMIC_BROKER_CONFIG or entry.hidden or is_of_each_broker(entry.name):
                continue
            peers = [each.get(entry.name) for number, each in enumerate(sets) if number != place]
            values = {each.value for each in peers if each is not None and not each.hidden}
            if len(values) == 1 and None not in peers and entry.value not in values:
                found.append((brokers[place], entry.name, entry.value or "empty", values.pop() or "empty"))
    return found

"""The diagnosis: the fewest causes with evidence that cover the symptoms (parsimonious covering, greedily)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from msgspec import Struct, field

from console.triage.cause import CauseRule, Certainty, Claim, Severity
from console.triage.causes import brokers, groups, load, partitions, records, settings, storage
from console.triage.course import Course, Key, without_restarts
from console.triage.symptoms import MOVING, REBALANCING, Subject, Symptom

RULES: tuple[CauseRule, ...] = (
    *brokers.CAUSES,
    *storage.CAUSES,
    *partitions.CAUSES,
    *records.CAUSES,
    *groups.CAUSES,
    *load.CAUSES,
    *settings.CAUSES,
)
"""All causes. Where two claims explain equally much, the one of the earlier rule is named."""

WORK = frozenset({MOVING, REBALANCING})
"""Symptoms that are no trouble unless a cause claims them: moves run, and members join and leave."""
SHOWN = 5
"""Examples of what a cause explains."""
_SEVERITIES = tuple(Severity)
_CERTAINTIES = tuple(Certainty)


class Named(Struct, frozen=True):
    """A cause of the verdict. explains: symptom -> how many; examples: the subjects of some."""

    claim: Claim
    explains: Mapping[str, int]
    examples: tuple[Subject, ...] = ()


class Unexplained(Struct, frozen=True):
    """A symptom without a cause: how many, and some of them."""

    symptom: str
    count: int
    examples: tuple[Subject, ...]


class Hidden(Struct, frozen=True):
    """What can't be known from here, and where to look."""

    what: str
    where: str


class RuledOut(Struct, frozen=True):
    """A cause that is not it, and why."""

    cause: str
    why: str


class Verdict(Struct, frozen=True):
    """What is wrong, and why, the worst first. at: of the last look, UTC."""

    at: datetime
    causes: tuple[Named, ...]
    unexplained: tuple[Unexplained, ...]
    ruled_out: tuple[RuledOut, ...]
    unknowable: tuple[Hidden, ...] = field(default=())

    @property
    def is_healthy(self) -> bool:
        """Nothing is wrong: moves that run are work, not trouble."""
        return not self.unexplained and all(each.claim.severity is Severity.INFO for each in self.causes)


def diagnose(course: Course, expected: Iterable[Subject] = ()) -> Verdict:
    """The verdict over a course. expected: what is announced, as a broker that is restarted: it is no trouble, and what
    it explains is not either."""
    announced = frozenset(expected)
    course = without_restarts(course, announced)
    claims = [claim for rule in RULES for claim in rule.claims(course)]
    left = dict(course.seen)
    for claim in claims:
        if claim.subject in announced:
            _take(left, claim)
    claims = [claim for claim in claims if claim.subject not in announced]
    remaining = {
        key: symptom for key, symptom in left.items() if symptom.name not in WORK or _is_claimed(symptom, claims)
    }
    index = _index(remaining)
    explained = [_explained(claim, index) for claim in claims]
    aside = [claim.beside for claim in claims]
    chosen, open_ = _cover(
        [[] if apart else mine for mine, apart in zip(explained, aside, strict=True)], set(remaining)
    )
    chosen += [place for place, mine in enumerate(explained) if aside[place] and mine]
    open_.difference_update(key for place in chosen for key in explained[place])
    found = [_named(claims[n], [remaining[key] for key in explained[n]]) for n in chosen]
    taken = [symptom for key, symptom in course.seen.items() if key not in left]
    alone = [claim for claim, mine in zip(claims, explained, strict=True) if not mine and _stands_alone(claim)]
    found += [_named(claim, []) for claim in alone if not any(map(claim.predicts, taken))]
    found.sort(key=_order)
    return Verdict(
        course.last.at,
        tuple(found),
        _unexplained(remaining[key] for key in remaining if key in open_),
        _ruled_out(course, {each.claim.cause for each in found}, bool(remaining)),
        _hidden(course),
    )


class _Index(NamedTuple):
    """Symptoms, looked up by what a prediction names: of 10,000 partitions without a leader, or groups that lag, each
    has a claim of its own."""

    seen: Mapping[Key, Symptom]
    order: Mapping[Key, int]
    by_name: Mapping[str, list[Key]]
    by_group: Mapping[str, list[Key]]
    by_topic: Mapping[str, list[Key]]


def _index(seen: Mapping[Key, Symptom]) -> _Index:
    by_name: dict[str, list[Key]] = {}
    by_group: dict[str, list[Key]] = {}
    by_topic: dict[str, list[Key]] = {}
    for key in seen:
        name, subject = key
        by_name.setdefault(name, []).append(key)
        if subject.group is not None:
            by_group.setdefault(subject.group, []).append(key)
        if subject.topic is not None:
            by_topic.setdefault(subject.topic, []).append(key)
    return _Index(seen, {key: place for place, key in enumerate(seen)}, by_name, by_group, by_topic)


def _explained(claim: Claim, index: _Index) -> list[Key]:
    """The symptoms that a claim explains, in their order."""
    found: set[Key] = set()
    for each in claim.predicted:
        near: Iterable[Key]
        if each.subject is not None:
            near = [key for name in each.names if (key := (name, each.subject)) in index.seen]
        elif each.group is not None:
            near = index.by_group.get(each.group, ())
        elif each.topic is not None:
            near = index.by_topic.get(each.topic, ())
        else:
            near = [key for name in each.names for key in index.by_name.get(name, ())]
        found.update(key for key in near if each.fits(index.seen[key]))
    return sorted(found, key=index.order.__getitem__)


def _cover(explained: Sequence[Sequence[Key]], open_: set[Key]) -> tuple[list[int], set[Key]]:
    """The places of the claims that are named: always the one next that explains most of what is open, the earlier of
    two alike; and what stays open. What a claim adds only falls, so a count is taken again only at the top."""
    heap = [(-len(mine), place) for place, mine in enumerate(explained) if mine]
    heapify(heap)
    chosen = []
    while heap:
        adds, place = heappop(heap)
        new = [key for key in explained[place] if key in open_]
        if len(new) == -adds:
            chosen.append(place)
            open_.difference_update(new)
        elif new:
            heappush(heap, (-len(new), place))
    return chosen, open_


def _is_claimed(symptom: Symptom, claims: Iterable[Claim]) -> bool:
    return any(claim.predicts(symptom) for claim in claims)


def _stands_alone(claim: Claim) -> bool:
    """Whether a claim without a symptom is trouble by itself: its evidence is the cause."""
    return claim.certainty is not Certainty.POSSIBLE


def _take(left: dict[Key, Symptom], claim: Claim) -> None:
    for key in [key for key, symptom in left.items() if claim.predicts(symptom)]:
        del left[key]


def _named(claim: Claim, explains: list[Symptom]) -> Named:
    counts: dict[str, int] = {}
    for symptom in explains:
        counts[symptom.name] = counts.get(symptom.name, 0) + symptom.count
    most = dict(sorted(counts.items(), key=lambda each: -each[1])) if len(counts) > 1 else counts
    return Named(claim, most, tuple([symptom.subject for symptom in explains[:SHOWN]]))


def _order(named: Named) -> tuple[int, int, int, str]:
    claim = named.claim
    much = sum(named.explains.values())
    return _SEVERITIES.index(claim.severity), _CERTAINTIES.index(claim.certainty), -much, repr(claim.subject)


def _unexplained(symptoms: Iterable[Symptom]) -> tuple[Unexplained, ...]:
    by_name: dict[str, list[Symptom]] = {}
    for symptom in symptoms:
        by_name.setdefault(symptom.name, []).append(symptom)
    return tuple(
        Unexplained(name, sum(each.count for each in some), tuple(each.subject for each in some[:SHOWN]))
        for name, some in by_name.items()
    )


def _ruled_out(course: Course, named: set[str], is_ill: bool) -> tuple[RuledOut, ...]:
    if not is_ill:
        return ()
    given = ((rule.name, rule.rules_out(course)) for rule in RULES if rule.name not in named)
    return tuple(RuledOut(name, why) for name, why in given if why)


def _hidden(course: Course) -> tuple[Hidden, ...]:
    """What could not be read, each reason once; and what was not answered yet."""
    failed = {each.part for each in course.last.snapshot.failures}
    seen = {
        (part, ""): Hidden(f"{part}: not answered yet", "a longer look, or the brokers' load")
        for part in course.last.unread
        if part not in failed
    }
    for each in course.last.snapshot.failures:
        part = each.part.partition(" ")[0]
        key = (part, each.failure.name)
        where = each.failure.remedy or "the brokers' logs"
        seen.setdefault(key, Hidden(f"{each.part} {each.entity}".strip() + f": {each.failure}", where))
    return (*seen.values(), *(Hidden(*each) for rule in RULES for each in rule.hides(course)))

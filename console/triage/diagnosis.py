"""The diagnosis: the fewest causes with evidence that cover the symptoms (parsimonious covering, greedy)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import heapify, heappop, heappush
from itertools import chain, islice
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct, field

from console.model.parts import about
from console.model.severity import Certainty, Severity
from console.triage.cause import CauseRule, Claim
from console.triage.causes import (
    access,
    addresses,
    brokers,
    changed,
    connect,
    console,
    controllers,
    coordinators,
    groups,
    load,
    loops,
    members,
    mirrors,
    partitions,
    records,
    settings,
    silent,
    standing,
    storage,
    throttled,
    tokens,
)
from console.triage.folding import folded, one_of
from console.triage.observations import Observations, without_restarts
from console.triage.offers import offered
from console.triage.remembered import RememberedEach, remembered
from console.triage.restarts import undecided
from console.triage.settling import Held, still_held
from console.triage.symptoms import BROKER_SILENT, WORK, Key, Subject, Symptom
from console.triage.unread import in_order, present_failures, unread_parts, vital_parts

RULES: tuple[CauseRule, ...] = (
    *changed.CAUSES,
    *console.CAUSES,
    *brokers.CAUSES,
    *addresses.CAUSES,
    *controllers.CAUSES,
    *storage.CAUSES,
    *partitions.CAUSES,
    *records.CAUSES,
    *throttled.CAUSES,
    *coordinators.CAUSES,
    *settings.QUOTAS,
    *members.CAUSES,
    *groups.CAUSES,
    *load.CAUSES,
    *loops.CAUSES,
    *silent.CAUSES,
    *settings.CAUSES,
    *access.CAUSES,
    *connect.CAUSES,
    *mirrors.CAUSES,
    *tokens.CAUSES,
    *standing.CAUSES,
)
"""All causes. If two claims explain equally much, the one of the earlier rule is named."""

SHOWN = 5
"""Limit of examples of a cause's symptoms."""
_SEVERITIES = tuple(Severity)
_CERTAINTIES = tuple(Certainty)


class Named(Struct, frozen=True):
    """A cause of the verdict. explains: symptom -> count; examples: subjects of some of them."""

    claim: Claim
    explains: Mapping[str, int]
    examples: tuple[Subject, ...] = ()


class Unexplained(Struct, frozen=True):
    """A symptom without a cause: the count, and some subjects."""

    symptom: str
    count: int
    examples: tuple[Subject, ...]


class Hidden(Struct, frozen=True):
    """A possibility that can't be checked from here, and the place to look."""

    what: str
    where: str


class RuledOut(Struct, frozen=True):
    """A cause that does not apply, and the reason."""

    cause: str
    why: str


class Verdict(Struct, frozen=True):
    """The problems and their causes, the worst first. at: time of the last poll, UTC. unread: parts that no poll has
    read, or whose last read failed or is too old. blind: those of them without which no verdict says anything. held:
    the causes whose names stay, although this poll has no evidence for them.
    """

    at: datetime
    causes: tuple[Named, ...]
    unexplained: tuple[Unexplained, ...]
    ruled_out: tuple[RuledOut, ...]
    unknowable: tuple[Hidden, ...] = field(default=())
    unread: tuple[str, ...] = ()
    blind: tuple[str, ...] = ()
    held: tuple[Held, ...] = ()

    @property
    def is_calm(self) -> bool:
        """Whether there is no problem; running moves are work, not a problem."""
        return not self.unexplained and all(each.claim.severity is Severity.INFO for each in self.causes)

    @property
    def is_healthy(self) -> bool:
        """Whether there is no problem, and all parts were read: what was not read may have one."""
        return self.is_calm and not self.unread


def diagnose(observations: Observations, expected: Iterable[Subject] = (), before: Verdict | None = None) -> Verdict:
    """Return the verdict over observations: the fewest causes that explain their symptoms.

    Each rule claims the causes that it has evidence for; then the claim that explains most of the unexplained symptoms
    is chosen, repeatedly. Claims with `beside` are added, and claims without a symptom whose evidence is the cause.

    Args:
        observations: from `observations.after`.
        expected: subjects of announced work, such as a broker that is restarted: neither they nor the symptoms that
            they explain are reported.
        before: the last verdict; its names stay for a while if nothing changed (`settling`). None: it is not known.

    Returns:
        Causes with the worst first: those that are sure, the possible ones, information; each by severity, then active
        ones before idle ones, then by certainty and by the number of explained symptoms. Symptoms that are work
        (`WORK`) count as unexplained only if a claim predicts them.
    """
    announced = frozenset(expected)
    observations = without_restarts(observations, announced)
    claims = connect.of_sinks([claim for rule in RULES for claim in rule.claims(observations)], observations)
    index = _index(observations.seen)
    explained = [_explained(claim, index) for claim in claims]
    claims, explained, excused = _unannounced(claims, explained, announced)
    waiting = ((BROKER_SILENT, Subject(broker=broker)) for broker in undecided(observations))
    excused = excused | {index.by_key[key] for key in waiting if key in index.by_key}
    held = () if before is None else _held(before, claims, explained, index, observations.last.at, announced)
    claims = [*(each.claim for each in held), *claims]
    explained = [*(_explained(each.claim, index) for each in held), *explained]
    claimed = set().union(*explained)
    symptoms = index.symptoms
    remaining = {n for n, each in enumerate(symptoms) if n not in excused and (n in claimed or each.name not in WORK)}
    # Claims with `beside` do not compete: a change right before a fault would displace the fault itself.
    aside = [place for place, claim in enumerate(claims) if claim.beside and explained[place]]
    # A guess is not named if a change that is the likely cause explains all of it.
    sure = {n for place in aside if claims[place].certainty is not Certainty.POSSIBLE for n in explained[place]}
    covering = [
        [] if claim.beside or (claim.certainty is Certainty.POSSIBLE and sure.issuperset(mine)) else mine
        for claim, mine in zip(claims, explained, strict=True)
    ]
    chosen, open_ = _cover(covering, set(remaining))
    chosen += [place for place in aside if not claims[place].fills or not open_.isdisjoint(explained[place])]
    open_.difference_update(n for place in aside for n in explained[place])
    alone = [place for place, claim in enumerate(claims) if not explained[place] and _stands_alone(claim)]
    taken = {subject for place in (*chosen, *alone) if not claims[place].yields for subject in _owners(claims[place])}
    alone = [place for place in alone if not claims[place].yields or taken.isdisjoint(_owners(claims[place]))]
    shown = (*chosen, *alone)
    last = observations.last
    claimed_now = offered([claims[place] for place in shown], last.snapshot, last.facts.taken_back)
    named = _each_named.of(
        (id(claim), (claim, tuple([symptoms[n] for n in explained[place]])))
        for claim, place in zip(claimed_now, shown, strict=True)
    )
    found = [each for _, each in sorted(_as_few(named), key=itemgetter(0))]
    unread = unread_parts(observations.last)
    return Verdict(
        observations.last.at,
        tuple(found),
        _unexplained(symptoms[n] for n in sorted(open_)),
        _ruled_out(observations, {each.claim.cause for each in found}, bool(remaining)),
        _hidden(observations),
        in_order(unread),
        tuple(part for part in vital_parts(observations.last) if part in unread),
        tuple(each for place, each in enumerate(held) if place in shown),
    )


def _held(
    before: Verdict,
    claims: Sequence[Claim],
    explained: Sequence[Sequence[int]],
    index: _Index,
    at: datetime,
    announced: frozenset[Subject],
) -> tuple[Held, ...]:
    """Return the former names that stay."""
    known = {each.name: each for each in before.held}
    former = [
        known.get((claim.cause, claim.subject)) or Held(claim, before.at, frozenset(named.explains))
        for named in before.causes
        for claim in (named.claim,)
        if claim.subject not in announced
    ]

    def look(claim: Claim) -> Mapping[int, str]:
        return {n: index.symptoms[n].name for n in _explained(claim, index)}

    return tuple(still_held(former, claims, explained, look, at))


def _unannounced(
    claims: list[Claim], explained: list[Sequence[int]], announced: frozenset[Subject]
) -> tuple[list[Claim], list[Sequence[int]], set[int]]:
    """Return the claims that are not about announced work, each with the symptoms that it explains, and the symptoms
    that such work excuses.
    """
    excused: set[int] = set()
    if not announced:
        return claims, explained, excused
    excused.update(*(mine for claim, mine in zip(claims, explained, strict=True) if claim.subject in announced))
    kept = [place for place, claim in enumerate(claims) if claim.subject not in announced]
    # A claim that only explains excused symptoms is not named, and does not stand alone.
    kept = [place for place in kept if not explained[place] or not excused.issuperset(explained[place])]
    left: list[Sequence[int]] = [[n for n in explained[place] if n not in excused] for place in kept]
    return [claims[place] for place in kept], left, excused


class _Index(NamedTuple):
    """Symptoms by their indexes, with lookups for predictions: of 10,000 leaderless partitions, or lagging groups, each
    has a claim of its own. by_kind: by name and brokers, the only parts that a prediction without a subject compares.
    """

    symptoms: Sequence[Symptom]
    by_key: Mapping[Key, int]
    by_kind: Mapping[tuple[str, tuple[int, ...]], Sequence[int]]
    by_group: Mapping[str, Sequence[int]]
    by_topic: Mapping[str, Sequence[int]]


@remembered
def _index(seen: Mapping[Key, Symptom]) -> _Index:
    by_kind: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    by_group: dict[str, list[int]] = {}
    by_topic: dict[str, list[int]] = {}
    for place, each in enumerate(seen.values()):
        by_kind.setdefault((each.name, each.brokers), []).append(place)
        if (group := each.subject.group) is not None:
            by_group.setdefault(group, []).append(place)
        if (topic := each.subject.topic) is not None:
            by_topic.setdefault(topic, []).append(place)
    return _Index(tuple(seen.values()), {key: n for n, key in enumerate(seen)}, by_kind, by_group, by_topic)


def _explained(claim: Claim, index: _Index) -> Sequence[int]:
    """Return the indexes of the symptoms that a claim explains, sorted."""
    found: set[int] = set()
    if len(claim.predicted) == 1 and (of_group := claim.predicted[0].group) is not None:
        only = claim.predicted[0]  # of 10,000 claims nearly all
        return [place for place in index.by_group.get(of_group, ()) if only.fits(index.symptoms[place])]
    for each in claim.predicted:
        near: Iterable[int]
        if each.subject is not None:
            near = [place for name in each.names if (place := index.by_key.get((name, each.subject))) is not None]
        elif each.group is not None:
            near = index.by_group.get(each.group, ())
        elif each.topic is not None:
            near = index.by_topic.get(each.topic, ())
        else:
            # Such a prediction depends only on name and brokers: all symptoms of a kind fit, or none.
            for (name, _), places in index.by_kind.items():
                if name in each.names and each.fits(index.symptoms[places[0]]):
                    found.update(places)
            continue
        found.update([place for place in near if each.fits(index.symptoms[place])])
    return sorted(found)


def _cover(explained: Sequence[Sequence[int]], open_: set[int]) -> tuple[list[int], set[int]]:
    """Return the indexes of the chosen claims, and the symptoms that stay open. Each step takes the claim that explains
    most of the open symptoms, the earlier one of equals (greedy set cover).
    """
    times = Counter(chain.from_iterable(explained))
    # A symptom of only one claim needs no comparison: of many groups each has its own.
    chosen = [place for place, mine in enumerate(explained) if len(mine) == 1 and times[mine[0]] == 1]
    open_.difference_update(explained[place][0] for place in chosen)
    heap = [
        (-len(mine), place) for place, mine in enumerate(explained) if mine and (len(mine) > 1 or times[mine[0]] > 1)
    ]
    heapify(heap)
    # A claim's gain only falls as others are chosen, so it is computed again only once it is on top (lazy greedy): of
    # thousands of claims few are counted twice.
    while heap:
        adds, place = heappop(heap)
        new = [each for each in explained[place] if each in open_]
        if len(new) == -adds:
            chosen.append(place)
            open_.difference_update(new)
        elif new:
            heappush(heap, (-len(new), place))
    return chosen, open_


def _stands_alone(claim: Claim) -> bool:
    """Return whether a claim without a symptom is a problem by itself: its evidence is the cause."""
    return claim.certainty is not Certainty.POSSIBLE


def _owners(claim: Claim) -> Iterator[tuple[str, object]]:
    """Yield the topic, the group, the broker, the connector and the entity of a claim's subject."""
    subject = claim.subject
    places = (
        ("topic", subject.topic),
        ("group", subject.group),
        ("broker", subject.broker),
        ("connector", subject.connector),
        ("entity", subject.entity),
    )
    yield from (each for each in places if each[1] is not None)


_Order = tuple[bool, bool, int, bool, int, int, str]


def _named(claim: Claim, explains: tuple[Symptom, ...]) -> tuple[_Order, Named]:
    """Return a cause of the verdict with its sort key."""
    counts: dict[str, int] = {}
    for symptom in explains:
        counts[symptom.name] = counts.get(symptom.name, 0) + symptom.count
    most = dict(sorted(counts.items(), key=lambda each: -each[1])) if len(counts) > 1 else counts
    much = sum(counts.values())
    return _order(claim, much), Named(claim, most, tuple([symptom.subject for symptom in explains[:SHOWN]]))


def _order(claim: Claim, much: int) -> _Order:
    severity, certainty = _SEVERITIES.index(claim.severity), _CERTAINTIES.index(claim.certainty)
    # The subject decides last, so that rows of a verdict keep their places from poll to poll.
    first = claim.severity is Severity.INFO, claim.is_guess
    return *first, severity, claim.idle, certainty, -much, repr(claim.subject)


_each_named: RememberedEach[int, tuple[_Order, Named]] = RememberedEach(_named)


def _as_few(named: Sequence[tuple[_Order, Named]]) -> Iterator[tuple[_Order, Named]]:
    """Yield the causes, with equal ones of many groups merged."""
    for places in folded([each.claim for _, each in named]):
        if len(places) == 1:
            yield named[places[0]]
            continue
        mine = [named[place][1] for place in places]
        claim = one_of([each.claim for each in mine])
        counts: dict[str, int] = {}
        for each in mine:
            for name, count in each.explains.items():
                counts[name] = counts.get(name, 0) + count
        most = dict(sorted(counts.items(), key=lambda each: -each[1]))
        examples = tuple(islice(chain.from_iterable(each.examples for each in mine), SHOWN))
        yield _order(claim, sum(most.values())), Named(claim, most, examples)


def _unexplained(symptoms: Iterable[Symptom]) -> tuple[Unexplained, ...]:
    by_name: dict[str, list[Symptom]] = {}
    for symptom in symptoms:
        by_name.setdefault(symptom.name, []).append(symptom)
    return tuple(
        Unexplained(name, sum(each.count for each in some), tuple(each.subject for each in some[:SHOWN]))
        for name, some in by_name.items()
    )


def _ruled_out(observations: Observations, named: set[str], is_ill: bool) -> tuple[RuledOut, ...]:
    if not is_ill:
        return ()
    # Causes that controllers can't see are not ruled out.
    rules = (*controllers.CAUSES, *storage.QUORUM) if observations.last.snapshot.cluster.controllers else RULES
    given = ((rule.name, rule.rules_out(observations)) for rule in rules if rule.name not in named)
    return tuple(RuledOut(name, why) for name, why in given if why)


def _hidden(observations: Observations) -> tuple[Hidden, ...]:
    """Return the parts that could not be read, each reason once; and the parts without a response yet."""
    failures = [*present_failures(observations.last.snapshot)]
    failed = {each.part for each in failures}
    pending = [about(part).noun for part in observations.last.unread if part not in failed]
    seen: dict[tuple[str, str], Hidden] = {}
    if pending:
        what = f"{', '.join(pending)}: not answered yet"
        seen["", ""] = Hidden(what, "a longer look, or the brokers' load")
    at_controllers = bool(observations.last.snapshot.cluster.controllers)
    for each in failures:
        part = each.part.partition(" ")[0]
        if at_controllers and not about(part).at_controllers:
            continue  # another pane requested it
        # 1,000 topics without the right to describe them are 1,000 failures with one reason.
        key = (part, each.failure.name)
        where = each.failure.remedy or "the brokers' logs"
        what = each.part if each.entity in ("", each.part) else f"{each.part} {each.entity}"
        seen.setdefault(key, Hidden(f"{what}: {each.failure}", where))
    return (*seen.values(), *(Hidden(*each) for rule in RULES for each in rule.hides(observations)))

"""The diagnosis: it chooses the fewest causes with evidence that together explain all symptoms (parsimonious covering,
by a greedy algorithm).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import chain
from operator import attrgetter, itemgetter

from msgspec import Struct, field
from msgspec.structs import replace

from console.model.parts import about
from console.model.severity import Certainty, Severity
from console.triage import leads
from console.triage.cause import CauseRule, Claim, Evidence, Prediction
from console.triage.causes import (
    access,
    addresses,
    brokers,
    changed,
    connect,
    console,
    controllers,
    coordinators,
    denied,
    groups,
    in_common,
    load,
    loops,
    members,
    mirrors,
    overlapping,
    partitions,
    records,
    replication,
    settings,
    silent,
    standing,
    storage,
    throttled,
    upgraded,
)
from console.triage.folding import folded, one_of
from console.triage.leads import Leads
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
    *standing.CAUSES,
    *denied.CAUSES,
    *overlapping.CAUSES,
    *brokers.CAUSES,
    *replication.CAUSES,
    *in_common.CAUSES,
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
    upgraded.CAUSE,
)
"""The rules of all causes. If two claims explain equally many symptoms, that of the earlier rule is chosen."""

_BARE = frozenset(rule.name for rule in RULES if rule.bare)
"""The names of the causes that only say what is seen."""
SHOWN = 5
"""Maximum number of subjects that are named as examples of a cause or symptom."""
_SEVERITIES = tuple(Severity)
_CERTAINTIES = tuple(Certainty)


class Named(Struct, frozen=True):
    """A cause in the verdict, with the symptoms that it explains."""

    claim: Claim
    explains: Mapping[str, int]
    """Name of a symptom -> the number of its subjects that the cause explains."""
    examples: tuple[Subject, ...] = ()
    """Some of the subjects of these symptoms."""


class Unexplained(Struct, frozen=True):
    """A kind of symptom that no cause explains: its number, and some subjects."""

    symptom: str
    count: int
    examples: tuple[Subject, ...]
    leads: Leads = leads.NOTHING


class Hidden(Struct, frozen=True):
    """A possible cause that kac can't check, and the place to look."""

    what: str
    where: str


class RuledOut(Struct, frozen=True):
    """A cause that would explain a symptom but does not apply, and the reason."""

    cause: str
    why: str


class Verdict(Struct, frozen=True):
    """The problems and their causes, the worst first."""

    at: datetime
    """The time of the last poll, UTC."""
    causes: tuple[Named, ...]
    unexplained: tuple[Unexplained, ...]
    ruled_out: tuple[RuledOut, ...]
    unknowable: tuple[Hidden, ...] = field(default=())
    unread: tuple[str, ...] = ()
    """Names of the parts of the cluster that no poll has read, or whose last read failed or is too old."""
    blind: tuple[str, ...] = ()
    """Those of `unread` without which the cluster can't be judged."""
    held: tuple[Held, ...] = ()
    """The causes that stay in the verdict although this poll has no evidence for them."""

    @property
    def is_calm(self) -> bool:
        """Whether there is no problem: no unexplained symptom, and only causes of severity INFO, such as
        running moves.
        """
        return not self.unexplained and all(each.claim.severity is Severity.INFO for each in self.causes)

    @property
    def is_healthy(self) -> bool:
        """Whether there is no problem, and all parts were read; an unread part may hide a problem."""
        return self.is_calm and not self.unread


def diagnose(observations: Observations, expected: Iterable[Subject] = (), before: Verdict | None = None) -> Verdict:
    """Return the verdict on observations: the fewest causes that explain their symptoms.

    Each rule makes the claims for which it has evidence. Then the claim that explains most of the unexplained symptoms
    is chosen, repeatedly, until no claim explains a further one. Claims with `beside` are added, and those whose
    evidence is a problem without any symptom.

    Args:
        observations: the result of `observations.after`.
        expected: subjects of announced work, such as a broker that is restarted: neither they nor the symptoms that
            they explain are reported.
        before: the last verdict; its causes stay for a while if nothing changed (`settling`). None for the first
            verdict.

    Returns:
        The causes, the worst first: certain ones, then possible ones, then information; each by severity, then active
        ones before idle ones, then by certainty and by the number of explained symptoms. Symptoms that are work
        (`WORK`) count as unexplained only if a claim predicts them.
    """
    announced = frozenset(expected)
    observations = without_restarts(observations, announced)
    claims = connect.of_sinks([claim for rule in RULES for claim in rule.claims(observations)], observations)
    index = _index(observations.seen)
    explained = index.explained(claims)
    faint = frozenset(index.by_key[key] for key in observations.fading)
    if faint:
        claims = [*map(partial(_faded, observations=observations, index=index, faint=faint), claims, explained)]
    claims, explained, excused = _unannounced(claims, explained, announced)
    waiting = ((BROKER_SILENT, Subject(broker=broker)) for broker in undecided(observations))
    excused = excused | {index.by_key[key] for key in waiting if key in index.by_key}
    held = () if before is None else _held(before, claims, explained, index, observations, announced)
    stay = [_explained(each.claim.predicted, index) for each in held]
    kept = [each.claim for each in held]
    if faint:
        kept = [*map(partial(_faded, observations=observations, index=index, faint=faint), kept, stay)]
    claims, explained = [*kept, *claims], [*stay, *explained]
    quiet = index.work | faint
    remaining = index.every - excused - quiet.difference(*explained if quiet else ())
    shown, open_ = _chosen(claims, explained, remaining)
    last = observations.last
    rows = _as_few([claims[place] for place in shown], [explained[place] for place in shown], index.symptoms)
    named = [each for _, each in sorted(rows, key=itemgetter(0))]
    found = [
        each if each.claim is claim else replace(each, claim=claim)
        for each, claim in zip(
            named, offered([each.claim for each in named], last.snapshot, last.facts.taken_back), strict=True
        )
    ]
    unread = unread_parts(last)
    causes, unexplained = _with_leads(found, _unexplained(index.symptoms[n] for n in sorted(open_)), observations)
    return Verdict(
        last.at,
        causes,
        unexplained,
        _ruled_out(observations, {each.claim.cause for each in found}, bool(remaining)),
        _hidden(observations),
        in_order(unread),
        tuple(part for part in vital_parts(last) if part in unread),
        tuple(each for place, each in enumerate(held) if place in shown),
    )


def _with_leads(
    found: Sequence[Named], unexplained: tuple[Unexplained, ...], observations: Observations
) -> tuple[tuple[Named, ...], tuple[Unexplained, ...]]:
    """Return the rows of a verdict, with leads for the first of those that only say what is seen."""
    bare = [n for n, each in enumerate(found) if each.claim.cause in _BARE and each.claim.severity is not Severity.INFO]
    if not bare and not unexplained:
        return tuple(found), unexplained
    known = leads.Known(observations, [each.claim for each in found])
    rows = [*found]
    for n in bare[: leads.MOST_ROWS]:
        claim = rows[n].claim
        seen = [*_present(rows[n], observations)]
        rows[n] = replace(rows[n], claim=known.of(seen, claim).added(claim))
    open_ = [
        replace(each, leads=known.of([Symptom(each.symptom, one) for one in each.examples]))
        for each in unexplained[: leads.MOST_ROWS]
    ]
    return tuple(rows), (*open_, *unexplained[leads.MOST_ROWS :])


def _present(row: Named, observations: Observations) -> Iterator[Symptom]:
    """Yield a symptom for each subject of a row: one that it explains, or one of its cause's name if it explains none,
    as a topic to which nothing is written.
    """
    claim = row.claim
    for subject in dict.fromkeys((claim.subject, *row.examples, *(each.subject for each in claim.members[:SHOWN]))):
        found = (observations.seen.get((name, subject)) for name in row.explains)
        known = next((each for each in found if each is not None), None)
        if known is not None or not row.explains:
            yield known or Symptom(claim.cause, subject)


def _faded(claim: Claim, mine: _Places, observations: Observations, index: _Index, faint: frozenset[int]) -> Claim:
    """Return a claim with the evidence that its symptoms fade, and at most as a warning unless members of the group
    leave again and again. The same object if a symptom is still seen, or if the claim explains none.

    Args:
        mine: the symptoms that the claim explains.
        faint: the symptoms that fade.
    """
    if not mine or not faint.issuperset(mine):
        return claim
    found = [observations.fading[each.name, each.subject] for each in (index.symptoms[n] for n in mine)]
    first = min(found, key=attrgetter("since"))
    said = Evidence(first.said(observations.last.snapshot), _FADES)
    is_less = claim.severity is Severity.HIGH and not any(each.is_restless for each in found)
    return replace(
        claim,
        severity=Severity.WARNING if is_less else claim.severity,
        evidence=(*(each for each in claim.evidence if each.source != _FADES), said),
    )


_FADES = "OffsetFetch, ListOffsets over time"


def _held(
    before: Verdict,
    claims: Sequence[Claim],
    explained: Sequence[_Places],
    index: _Index,
    observations: Observations,
    announced: frozenset[Subject],
) -> tuple[Held, ...]:
    """Return the causes of the last verdict that stay although no rule claims them now (`still_held`).

    Args:
        before: the last verdict.
        claims: the claims of this poll.
        explained: the symptoms that each claim explains.
        announced: the subjects of announced work.
    """
    # The evidence of a cause and the growth of its lag have both gone: it may be repaired.
    calm = frozenset(index.by_key[key] for key, each in observations.fading.items() if each.is_calm)
    known = {each.name: each for each in before.held}
    former = [
        known.get((claim.cause, claim.subject)) or Held(claim, before.at, frozenset(named.explains))
        for named in before.causes
        for claim in (leads.without(named.claim) if named.claim.cause in _BARE else named.claim,)
        if claim.subject not in announced
    ]

    def look(claim: Claim) -> Mapping[int, str]:
        mine = _explained(claim.predicted, index)
        return {n: index.symptoms[n].name for n in mine if not calm.issuperset(mine)}

    return tuple(still_held(former, claims, explained, look, observations.last.at))


def _unannounced(
    claims: list[Claim], explained: list[_Places], announced: frozenset[Subject]
) -> tuple[list[Claim], list[_Places], set[int]]:
    """Return the claims that are not about announced work, the symptoms that each of them explains, and the symptoms
    that the announced work explains.
    """
    excused: set[int] = set()
    if not announced:
        return claims, explained, excused
    excused.update(*(mine for claim, mine in zip(claims, explained, strict=True) if claim.subject in announced))
    kept = [
        place
        for place, claim in enumerate(claims)
        if claim.subject not in announced and not (claim.brokers and announced.issuperset(claim.brokers))
    ]
    # Leave out a claim that explains only excused symptoms: without symptoms it would look like a claim that needs
    # none, and be named.
    kept = [place for place in kept if not explained[place] or not excused.issuperset(explained[place])]
    left: list[_Places] = [[n for n in explained[place] if n not in excused] for place in kept]
    return [claims[place] for place in kept], left, excused


_Places = Sequence[int]
"""Indexes of symptoms in `_Index.symptoms`, sorted."""


class _Index:
    """All symptoms, numbered, with lookups for predictions: there may be 10,000 leaderless partitions or lagging
    groups, each with its own claim.

    Attributes:
        by_kind: (name, brokers) -> the symptoms' numbers: a prediction without a subject compares only these two.
        every: the numbers of all symptoms.
        work: the numbers of the symptoms that are work (`WORK`).
    """

    def __init__(self, seen: Mapping[Key, Symptom]) -> None:
        self.symptoms: Sequence[Symptom] = tuple(seen.values())
        self.by_key: Mapping[Key, int] = {key: n for n, key in enumerate(seen)}
        self.by_kind: dict[tuple[str, tuple[int, ...]], list[int]] = {}
        self.by_group: dict[str, list[int]] = {}
        self.by_topic: dict[str, list[int]] = {}
        for place, each in enumerate(self.symptoms):
            self.by_kind.setdefault((each.name, each.brokers), []).append(place)
            if (group := each.subject.group) is not None:
                self.by_group.setdefault(group, []).append(place)
            if (topic := each.subject.topic) is not None:
                self.by_topic.setdefault(topic, []).append(place)
        self.every = frozenset(range(len(self.symptoms)))
        self.work = frozenset(n for n, each in enumerate(self.symptoms) if each.name in WORK)
        self._known: dict[int, tuple[tuple[Prediction, ...], _Places]] = {}

    def explained(self, claims: Sequence[Claim]) -> list[_Places]:
        """Return the symptoms that each claim explains. The results are cached, since most predictions are the same
        objects as in the last call.
        """
        found: list[_Places] = []
        all_predicted = [claim.predicted for claim in claims]
        for predicted, known in zip(all_predicted, map(self._known.get, map(id, all_predicted)), strict=True):
            if known is None:  # keep the object in the entry, so that no other one gets its id
                known = self._known[id(predicted)] = predicted, _explained(predicted, self)
            found.append(known[1])
        if len(self._known) > 2 * len(claims) + _MOST_LOST:
            self._known = {id(claim.predicted): self._known[id(claim.predicted)] for claim in claims}
        return found


_index = remembered(_Index)
_MOST_LOST = 1_000
"""Maximum number of cached results for claims that do not exist any more."""


def _explained(predicted: Sequence[Prediction], index: _Index) -> _Places:
    """Return the symptoms that fit at least one of the predictions."""
    if len(predicted) == 1:  # a shortcut for most claims
        return _fitting(predicted[0], index)
    return sorted({place for each in predicted for place in _fitting(each, index)})


def _fitting(each: Prediction, index: _Index) -> _Places:
    if each.subject is not None:
        near = [place for name in each.names if (place := index.by_key.get((name, each.subject))) is not None]
        near.sort()
    elif each.group is not None:
        near = index.by_group.get(each.group, [])
    elif each.topic is not None:
        near = index.by_topic.get(each.topic, [])
    else:
        # This prediction depends only on name and brokers: all symptoms of a kind fit it, or none.
        kinds = (
            places
            for (name, _), places in index.by_kind.items()
            if name in each.names and each.fits(index.symptoms[places[0]])
        )
        return sorted(chain.from_iterable(kinds))
    return [place for place in near if each.fits(index.symptoms[place])]


def _chosen(
    claims: Sequence[Claim], explained: Sequence[_Places], remaining: Iterable[int]
) -> tuple[list[int], set[int]]:
    """Return the indexes of the claims to report, and the symptoms that none of them explains.

    Args:
        explained: the symptoms that each claim explains.
        remaining: the symptoms to explain.
    """
    # Claims with `beside` don't compete: otherwise a change right before a fault would displace the fault.
    beside = [place for place, claim in enumerate(claims) if claim.beside]
    aside = [place for place in beside if explained[place]]
    # Don't name a guess if changes that are the likely cause explain all of it.
    sure = {n for place in aside if claims[place].certainty is not Certainty.POSSIBLE for n in explained[place]}
    covering = [*explained]
    for place in beside:
        covering[place] = ()
    if sure:
        for place, claim in enumerate(claims):
            if claim.certainty is Certainty.POSSIBLE and sure.issuperset(explained[place]):
                covering[place] = ()
    chosen, open_ = _cover(covering, set(remaining))
    chosen += [place for place in aside if not claims[place].fills or not open_.isdisjoint(explained[place])]
    open_.difference_update(n for place in aside for n in explained[place])
    taken_up = frozenset(chosen)
    alone = [
        place
        for place, claim in enumerate(claims)
        if (not explained[place] or (claim.stands is not None and place not in taken_up)) and _stands_alone(claim)
    ]
    if any(claims[place].yields for place in alone):
        staying = (claims[place] for place in (*chosen, *alone) if not claims[place].yields)
        taken = {subject for claim in staying for subject in _owners(claim)}
        alone = [place for place in alone if not claims[place].yields or taken.isdisjoint(_owners(claims[place]))]
    return [*chosen, *alone], open_


def _cover(explained: Sequence[_Places], open_: set[int]) -> tuple[list[int], set[int]]:
    """Return the indexes of the chosen claims, sorted, and the symptoms that they do not explain. Each step takes the
    claim that explains most of the remaining symptoms, the earlier one of equals (greedy set cover).
    """
    chosen: list[int] = []
    heap = [(-len(mine), place) for place, mine in enumerate(explained) if len(mine) > 1]
    heapify(heap)
    # Take claims with one symptom last; they need no comparison. Often each of many groups has its own.
    last = [place for place, mine in enumerate(explained) if len(mine) == 1]
    # A claim's gain can only fall as others are chosen. It is computed again only once it is on top of the heap (lazy
    # greedy), so that few of thousands of claims are counted twice.
    while heap:
        adds, place = heappop(heap)
        new = [each for each in explained[place] if each in open_]
        if len(new) == 1:
            last.append(place)
        elif len(new) == -adds:
            chosen.append(place)
            open_.difference_update(new)
        elif new:
            heappush(heap, (-len(new), place))
    last.sort()
    for place in last:
        for symptom in explained[place]:
            if symptom in open_:  # each of these claims has at most one that is open
                chosen.append(place)
                open_.remove(symptom)
    return sorted(chosen), open_


def _stands_alone(claim: Claim) -> bool:
    """Return whether a claim that explains no symptom is reported nevertheless, because its evidence itself is a
    problem.
    """
    return claim.certainty is not Certainty.POSSIBLE or claim.alone


def _owners(claim: Claim) -> Iterator[tuple[str, object]]:
    """Yield (kind, value) for the topic, the group, the broker, the connector and the entity in a claim's subject."""
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


def _named(claim: Claim, explains: Sequence[Symptom]) -> tuple[_Order, Named]:
    """Return a cause for the verdict, and before it its sort key. explains: the symptoms that the claim explains."""
    counts: dict[str, int] = {}
    for symptom in explains:
        counts[symptom.name] = counts.get(symptom.name, 0) + symptom.count
    most = dict(sorted(counts.items(), key=lambda each: -each[1])) if len(counts) > 1 else counts
    much = sum(counts.values())
    return _order(claim, much), Named(claim, most, tuple([symptom.subject for symptom in explains[:SHOWN]]))


def _order(claim: Claim, much: int) -> _Order:
    severity, certainty = _SEVERITIES.index(claim.severity), _CERTAINTIES.index(claim.certainty)
    # Order by the subject last, so that the rows of a verdict keep their places from poll to poll.
    first = claim.severity is Severity.INFO, claim.is_guess
    return *first, severity, claim.idle, certainty, -much, repr(claim.subject)


_each_named: RememberedEach[int, tuple[_Order, Named]] = RememberedEach(_named)


def _as_few(
    claims: Sequence[Claim], explained: Sequence[_Places], symptoms: Sequence[Symptom]
) -> Iterator[tuple[_Order, Named]]:
    """Yield the causes with their sort keys; equal causes of many groups become one (`folded`)."""
    alone: list[tuple[int, tuple[object, ...]]] = []
    for places in folded(claims):
        explains = tuple([symptoms[n] for place in places for n in explained[place]])
        if len(places) == 1:
            claim = claims[places[0]]
            alone.append((id(claim), (claim, explains)))
        else:
            yield _named(one_of([claims[place] for place in places]), explains)
    yield from _each_named.of(alone)


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
    # Don't rule out causes that controllers can't see.
    rules = (*controllers.CAUSES, *storage.QUORUM) if observations.last.snapshot.cluster.controllers else RULES
    given = ((rule.name, rule.rules_out(observations)) for rule in rules if rule.name not in named)
    return tuple(RuledOut(name, why) for name, why in given if why)


def _hidden(observations: Observations) -> tuple[Hidden, ...]:
    """Return the parts that brokers have not answered yet; the parts that could not be read, each with its reason,
    equal reasons once; and the possibilities that the rules yield but kac can't check.
    """
    failures = [*present_failures(observations.last.snapshot)]
    failed = {each.part for each in failures}
    pending = [about(part).noun for part in observations.last.unread if part not in failed]
    seen: dict[tuple[str, str], Hidden] = {}
    if pending:
        what = f"{', '.join(pending)}: not answered yet"
        seen["", ""] = Hidden(what, "a longer look, or the brokers' load")
    at_controllers = bool(observations.last.snapshot.cluster.controllers)
    for each in failures:
        if at_controllers and not about(each.part).at_controllers:
            continue  # a pane about brokers requested it
        # Report one reason once: 1,000 topics without the right to describe them are 1,000 failures.
        key = (each.part, each.failure.name)
        where = each.failure.remedy or "the brokers' logs"
        seen.setdefault(key, Hidden(f"{each.what}: {each.failure}", where))
    return (*seen.values(), *(Hidden(*each) for rule in RULES for each in rule.hides(observations)))

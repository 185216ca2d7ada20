"""Causes that rules of lint find: states that do not end by themselves. All findings of one rule are one row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set

from msgspec.structs import replace

from console.lint.rule import AT_ONCE, OLD_ONLY, Rule
from console.model.changes import MoveTarget, TopicTarget
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.triage import cause, standing
from console.triage.changed_places import changed_place
from console.triage.facts import Author, ChangeKey
from console.triage.observations import Observations
from console.triage.remembered import remembered
from console.triage.symptoms import BROKER_SILENT, Subject


def _claims_of(rule: Rule) -> Callable[[Observations], Iterator[cause.Claim]]:
    def claims(observations: Observations) -> Iterator[cause.Claim]:
        poll = observations.last
        for each in observations.standing.findings.values():
            if each.rule is not rule or each.is_meant:
                continue
            is_new = each.since is not None and poll.at - each.since < (rule.stands_after or AT_ONCE)
            if not is_new and not any(one.fits(rule.name, each.place.name) for one in poll.accepted):
                yield _claim(each)

    return claims


def _arisen(rule: Rule) -> Callable[[Observations], Iterator[cause.Claim]]:
    def claims(observations: Observations) -> Iterator[cause.Claim]:
        poll = observations.last
        for each in observations.standing.arising.arisen.values():
            age = poll.at - each.since if each.since is not None else standing.ENDS
            if each.rule is not rule or age < standing.LASTS or (rule.name in standing.CHOSEN and age >= standing.ENDS):
                continue
            is_own = each.place.subject in _placed_here(poll.facts.authors)
            if not is_own and not any(one.fits(rule.name, each.place.name) for one in poll.accepted):
                claim = _claim(each)
                yield replace(claim, severity=Severity.WARNING, certainty=Certainty.POSSIBLE, yields=True, alone=True)

    return claims


@remembered
def _placed_here(authors: Mapping[ChangeKey, Author]) -> Set[Subject]:
    """Return the topics that were created or moved by kac on this host: it showed the risks to the operator before."""
    return {changed_place(about, "").subject for about, _, _ in authors if isinstance(about, TopicTarget | MoveTarget)}


def _claim(stands: standing.Stands) -> cause.Claim:
    rule, found, place, since, _ = stands
    name = f"{place.name} of {found.whose}" if found.whose else place.name
    is_old = rule.is_lasting and since is None
    certainty = Certainty.POSSIBLE if is_old else rule.certainty
    severity = found.severity or (rule.severity if rule.severity is Severity.HIGH else Severity.WARNING)
    return cause.Claim(
        cause=rule.name,
        subject=place.subject,
        severity=Severity.WARNING if is_old else severity,
        certainty=certainty,
        title=f"{name}: {found.what}",
        evidence=(
            cause.Evidence(found.what, _reads(rule)),
            cause.Evidence(rule.why, rule.source),
        ),
        predicted=tuple(_explained(stands)),
        since=since,
        next=(cause.Next(found.advice or "mend it", " ".join(found.command), found.edits),),
        yields=certainty is not Certainty.CERTAIN,
        alone=certainty is Certainty.POSSIBLE,
        stands=(name, found.what),
    )


def _explained(stands: standing.Stands) -> Iterator[cause.Prediction]:
    """Yield predictions of the symptoms that a finding explains: for example, kac can't reach a broker with an expired
    certificate.
    """
    broker = stands.place.subject.broker
    if stands.found.severity is Severity.CRITICAL and broker is not None:
        yield from cause.predict(BROKER_SILENT, subject=Subject(broker=broker))


def _reads(rule: Rule) -> str:
    parts = dict.fromkeys((*rule.reads, *rule.also))
    if Part.CONNECT in parts:  # the configs of connectors
        parts.pop(Part.CONFIGS, None)
    known = ", ".join(part.about.request for part in parts if part.about.request)
    return known or ("DescribeQuorum" if Part.QUORUM in rule.reads else "DescribeCluster")


def _rule(rule: Rule) -> cause.CauseRule:
    old = "; possible if it was there before" if rule.is_lasting and rule.certainty is not Certainty.POSSIBLE else ""
    takes = f"{rule.certainty.value}: {rule.title}; the rule of `kac lint`{old}"
    if rule.stands_after == OLD_ONLY:
        takes = f"possible: {rule.title}; it was there before, as an exception; a rule of `kac lint`"
    claims, since = _claims_of(rule), rule.since or "2.8"
    return cause.CauseRule(rule.name, claims, _rules_out(rule), reads=_reads(rule), takes=takes, since=since)


def _rules_out(rule: Rule) -> Callable[[Observations], str]:
    what = _NOT_THERE.get(rule.name, "")

    def why(observations: Observations) -> str:
        found = observations.standing
        return what if rule.name in found.looked and all(name != rule.name for name, *_ in found.findings) else ""

    return why


_NOT_THERE = {"replication-throttled": "no leftover replication throttle"}
"""Name of a rule -> the text that rules its cause out if it has no finding; only for rules whose findings may explain a
symptom.
"""


def _rule_of_arisen(rule: Rule) -> cause.CauseRule:
    lasts = "from a minute to an hour" if rule.name in standing.CHOSEN else "for a minute"
    takes = f"possible: {rule.title}; it came while kac watched, {lasts}, with the same brokers; a rule of `kac lint`"
    return cause.CauseRule(rule.name, _arisen(rule), reads=_reads(rule), takes=takes, since=rule.since or "2.8")


CAUSES = (*map(_rule, standing.STANDING), *map(_rule_of_arisen, standing.ARISING))

"""Causes that rules of lint find: states that hurt no client yet, and that do not end by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

from console.lint.rule import Rule
from console.model.parts import Part
from console.model.severity import Severity
from console.triage import cause
from console.triage.observations import Observations
from console.triage.standing import STANDING, Stands

NEW = timedelta(minutes=5)
"""Time for which a finding that began while it was watched is still work under way: an upgrade that ended a moment
ago, or a broker that was just added."""


def _claims_of(rule: Rule) -> Callable[[Observations], Iterator[cause.Claim]]:
    def claims(observations: Observations) -> Iterator[cause.Claim]:
        poll = observations.last
        for each in observations.standing.findings.values():
            is_new = each.since is not None and poll.at - each.since < (rule.stands_after or timedelta(0))
            accepted = any(one.fits(rule.name, each.place.name) for one in poll.accepted)
            if each.rule is rule and not (is_new or each.is_meant or accepted):
                yield _claim(each)

    return claims


def _claim(stands: Stands) -> cause.Claim:
    rule, found, place, since, _ = stands
    return cause.Claim(
        cause=rule.name,
        subject=place.subject,
        severity=Severity.WARNING,
        certainty=rule.certainty,
        title=f"{place.name}: {found.what}",
        evidence=(
            cause.Evidence(found.what, ", ".join(part.noun for part in rule.reads)),
            cause.Evidence(rule.why, rule.source),
        ),
        since=since,
        next=(cause.Next(found.advice or "mend it", " ".join(found.command), found.edits),),
        yields=True,
    )


_READS = {Part.FEATURES: "ApiVersions of all brokers, each 30 s", Part.TOPICS: "Metadata"}


def _rule(rule: Rule) -> cause.CauseRule:
    reads = ", ".join(text for part, text in _READS.items() if part in rule.reads)
    takes = f"{rule.certainty.value}: {rule.title}; the rule of `kac lint`"
    return cause.CauseRule(rule.name, _claims_of(rule), reads=reads, takes=takes, since=rule.since or "2.8")


CAUSES = tuple(map(_rule, STANDING))

"""Keeps a cause in the verdict for a minute after the last claim of it, as long as everything that it explained is
still seen and no better cause is known. So rows do not flicker between polls. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.severity import Certainty, Severity
from console.triage.cause import Claim
from console.triage.symptoms import Subject

HELD = timedelta(minutes=1)
"""Maximum time for which a cause stays in the verdict without a claim."""
MOST_PREDICTED = 50
"""Maximum number of predicted symptoms of a claim that may be kept: claims for thousands of groups change too often."""
_SEVERITIES, _CERTAINTIES = tuple(Severity), tuple(Certainty)
Name = tuple[str, Subject]
"""A cause's name and subject, which identify a row of the verdict."""


class Held(NamedTuple):
    """A cause of the last verdict that may stay in the next ones."""

    claim: Claim
    claimed_at: datetime
    """The time of the last poll at which a rule claimed the cause, UTC."""
    explains: frozenset[str]
    """The names of the symptoms that the cause explained."""

    @property
    def name(self) -> Name:
        """The cause's name and subject."""
        return self.claim.cause, self.claim.subject


def still_held(
    former: Iterable[Held],
    claims: Sequence[Claim],
    explained: Sequence[Sequence[int]],
    look: Callable[[Claim], Mapping[int, str]],
    at: datetime,
) -> Iterator[Held]:
    """Yield the former causes that stay in the verdict although no rule claims them at this poll.

    Args:
        former: the causes of the last verdict.
        claims: the claims of this poll.
        explained: for each of `claims`, the indexes of the symptoms that it explains.
        look: returns index -> name of the symptoms of this poll that a claim explains.
        at: the time of this poll, UTC.
    """
    known = [
        each
        for each in former
        if each.explains and each.claimed_at > at - HELD and len(each.claim.predicted) <= MOST_PREDICTED
    ]
    if not known:
        return
    causes = {each.claim.cause for each in known}
    names = {(claim.cause, claim.subject) for claim in claims if claim.cause in causes}
    lost = [each for each in known if each.name not in names]
    if not lost:
        return
    by_symptom: dict[int, list[Claim]] = {}
    for claim, mine in zip(claims, explained, strict=True):
        for symptom in mine:
            by_symptom.setdefault(symptom, []).append(claim)
    for each in lost:
        seen = look(each.claim)
        rivals = (rival for symptom in seen for rival in by_symptom.get(symptom, ()))
        if frozenset(seen.values()) == each.explains and not any(_is_better(rival, each.claim) for rival in rivals):
            yield each


def _is_better(claim: Claim, former: Claim) -> bool:
    """Return whether a claim replaces a former one at once: it is more severe, or more certain, or has the
    same cause.
    """
    return (
        claim.cause == former.cause
        or _SEVERITIES.index(claim.severity) < _SEVERITIES.index(former.severity)
        or _CERTAINTIES.index(claim.certainty) < _CERTAINTIES.index(former.certainty)
    )

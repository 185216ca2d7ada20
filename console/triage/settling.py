"""Names that stay while nothing changes: a cause that is claimed no more keeps its row for a minute, if all that it
explained is still seen and nothing better is known. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.severity import Certainty, Severity
from console.triage.cause import Claim
from console.triage.symptoms import Subject

HELD = timedelta(minutes=1)
"""Maximum time for which a name stays without a claim."""
MOST_PREDICTED = 50
"""Maximum number of predictions of a name that is held: a row for thousands of groups is made of claims that change
often."""
_SEVERITIES, _CERTAINTIES = tuple(Severity), tuple(Certainty)
Name = tuple[str, Subject]
"""The cause and the subject of a row."""


class Held(NamedTuple):
    """A cause of a former verdict that may stay in the next ones."""

    claim: Claim
    claimed_at: datetime
    """The time of the last poll with evidence for the cause, UTC."""
    explains: frozenset[str]
    """The names of the symptoms that the cause explains."""

    @property
    def name(self) -> Name:
        """The name of the cause and its subject."""
        return self.claim.cause, self.claim.subject


def still_held(
    former: Iterable[Held],
    claims: Sequence[Claim],
    explained: Sequence[Sequence[int]],
    look: Callable[[Claim], Mapping[int, str]],
    at: datetime,
) -> Iterator[Held]:
    """Yield the former names that stay, although no rule claims them now.

    Args:
        claims: the claims of the present poll.
        explained: the indexes of the symptoms that each claim explains.
        look: returns the symptoms that a claim explains now: index -> name.
        at: time of the poll, UTC.
    """
    known = [
        each
        for each in former
        if each.explains and each.claimed_at > at - HELD and len(each.claim.predicted) <= MOST_PREDICTED
    ]
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
    """Return whether a claim replaces a former one at once: it is more severe, more certain, or of the same cause."""
    return (
        claim.cause == former.cause
        or _SEVERITIES.index(claim.severity) < _SEVERITIES.index(former.severity)
        or _CERTAINTIES.index(claim.certainty) < _CERTAINTIES.index(former.certainty)
    )

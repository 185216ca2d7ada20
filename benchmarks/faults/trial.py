"""The result of a trial: the causes that triage named, with their subjects, the time when each was first named, and its
highest certainty.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from console.model.severity import Certainty
from console.triage.diagnosis import Verdict
from console.triage.symptoms import Subject

SPARE = "/spare/logs"
"""The end of the path of the spare log directory."""
_CERTAINTIES = [each.value for each in Certainty]


class Told(Struct, frozen=True):
    """A cause that triage named. after: seconds from the beginning of the fault until it was first named. certainty:
    the highest with which it was named.
    """

    cause: str
    subject: dict[str, Any]
    certainty: str
    severity: str
    after: float


class Trial(Struct, frozen=True, kw_only=True):
    """The causes that triage named while faults were present.

    load: the machine's load average at the end. seconds: the duration. began_ms: the time at which the faults began, in
    ms since 1970. commit: of the rules, with ``+`` if files differed from it.
    """

    faults: tuple[str, ...]
    version: str
    told: tuple[Told, ...]
    unexplained: tuple[str, ...]
    load: float
    seconds: float
    began_ms: int = 0
    commit: str = ""


class Names:
    """Collects all causes that the verdicts of a trial name, at any time."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], Told] = {}
        self._unexplained: set[str] = set()

    def add(self, verdict: Verdict, after: float) -> None:
        """Add the causes of a verdict. after: seconds from the beginning of the faults to the verdict."""
        self._unexplained |= {each.symptom for each in verdict.unexplained}
        for named in verdict.causes:
            claim = named.claim
            subject = _subject(claim.subject)
            key = claim.cause, repr(subject)
            certainty = claim.certainty.value
            known = self._told.setdefault(
                key, Told(claim.cause, subject, certainty, claim.severity.value, round(after, 1))
            )
            if _CERTAINTIES.index(certainty) < _CERTAINTIES.index(known.certainty):
                self._told[key] = msgspec.structs.replace(known, certainty=certainty)

    @property
    def told(self) -> tuple[Told, ...]:
        """Every cause that a verdict named, with subject, first time and highest certainty."""
        return tuple(self._told.values())

    @property
    def unexplained(self) -> tuple[str, ...]:
        """Every symptom that a verdict left without a cause."""
        return tuple(sorted(self._unexplained))


def _subject(subject: Subject) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(subject)
    if "dir" in found:
        found["dir"] = "spare" if found["dir"].endswith(SPARE) else "first"
    return found

"""What a cause is: a record with its name and the function that claims it where its evidence is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, TypeVar

from msgspec import Struct

from console.plan.edits import Edit
from console.triage.observations import Observations
from console.triage.symptoms import Subject, Symptom

T = TypeVar("T")


class Severity(StrEnum):
    """How bad: CRITICAL loses or stops data, HIGH soon will or slows it, WARNING waits for its day, INFO is on its
    way."""

    CRITICAL = "critical"
    HIGH = "high"
    WARNING = "warning"
    INFO = "info"


class Certainty(StrEnum):
    """CERTAIN: the evidence is the cause. LIKELY: evidence, and all predictions fit. POSSIBLE: less."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Evidence(NamedTuple):
    """A fact that a claim stands on. source: the API or the record that it is from."""

    fact: str
    source: str


class Next(NamedTuple):
    """What to do next. command: of the command language, which shows or stages it; edits: what to stage, where they are
    known already; neither for what is outside of Kafka."""

    text: str
    command: str = ""
    edits: tuple[Edit, ...] = ()


class Prediction(Struct, frozen=True):
    """Symptoms that a cause explains: of these names, and with all else that is given.

    subject: exactly this one. group, topic: the subject's. brokers: the symptom points to one of them; only: and to no
    other.
    """

    names: frozenset[str]
    subject: Subject | None = None
    group: str | None = None
    topic: str | None = None
    brokers: frozenset[int] | None = None
    only: bool = False

    def fits(self, symptom: Symptom) -> bool:
        """Return whether a symptom is one of them."""
        subject, brokers = symptom.subject, self.brokers
        if symptom.name not in self.names or (self.subject is not None and subject != self.subject):
            return False
        if (self.group is not None and subject.group != self.group) or (
            self.topic is not None and subject.topic != self.topic
        ):
            return False
        if brokers is None:
            return True
        pointed = brokers.issuperset(symptom.brokers) if self.only else not brokers.isdisjoint(symptom.brokers)
        return bool(symptom.brokers) and pointed


def given(*parts: T | None) -> tuple[T, ...]:
    """Return the parts that there are: evidence, or next steps, without those that this case does not have."""
    return tuple(part for part in parts if part is not None)


def predict(
    *names: str,
    subject: Subject | None = None,
    group: str | None = None,
    topic: str | None = None,
    brokers: frozenset[int] | None = None,
    only: bool = False,
) -> tuple[Prediction, ...]:
    """Return one prediction, of symptoms with these names; the rest as in `Prediction`."""
    return (Prediction(frozenset(names), subject, group, topic, brokers, only),)


def predict_each(subjects: Iterable[Subject], *names: str) -> tuple[Prediction, ...]:
    """Return a prediction for each of these subjects, of symptoms with these names."""
    return tuple(Prediction(frozenset(names), subject) for subject in subjects)


class Claim(Struct, frozen=True, kw_only=True):
    """A cause that has its evidence.

    Attributes:
        cause: the name of its `CauseRule`.
        predicted: the symptoms that it explains. A symptom is explained where any one of them fits.
        since: UTC, None if it was there at the first poll.
        times: how often it happened, 0 where that is not counted.
        beside: it explains only what no other cause does, and is named beside the others.
        fold: what is said of one of many groups, and of many of them, where equal claims are reported as one; None
            where each stands for itself.
        idle: no one works with it: of two equally severe causes it comes after the one that is at work.
        latest: when the last of what it adds up happened, UTC, of causes that add up: who muted it before does not know
            of that.
    """

    cause: str
    subject: Subject
    severity: Severity
    certainty: Certainty
    evidence: tuple[Evidence, ...]
    title: str
    predicted: tuple[Prediction, ...] = ()
    since: datetime | None = None
    times: int = 0
    next: tuple[Next, ...] = ()
    beside: bool = False
    fold: tuple[str, str] | None = None
    idle: bool = False
    latest: datetime | None = None

    def predicts(self, symptom: Symptom) -> bool:
        """Return whether it explains a symptom."""
        for each in self.predicted:  # noqa: SIM110 - 40,000 symptoms are asked for
            if each.fits(symptom):
                return True
        return False


class CauseRule(NamedTuple):
    """A cause of the vocabulary. Its functions are pure, and called with each poll.

    Attributes:
        name: as in verdicts and JSON; with the subject it is what is muted.
        claims: returns the claims that have their evidence.
        rules_out: returns why it is not the cause here, for a cause that would explain some symptom; ``""`` where
            nothing can be said. Called only while something is wrong and no claim of this name is part of the verdict.
        hides: yields what may be the case and can't be known from here, each with where to look.
    """

    name: str
    claims: Callable[[Observations], Iterable[Claim]]
    rules_out: Callable[[Observations], str] = lambda _observations: ""
    hides: Callable[[Observations], Iterable[tuple[str, str]]] = lambda _observations: ()

"""The type of a cause: a record with its name and the function that claims it from its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple, TypeVar

from msgspec import Struct

from console.model.severity import Certainty, Severity
from console.plan.edits import Edit
from console.triage import symptoms
from console.triage.observations import Observations
from console.triage.symptoms import Subject, Symptom

T = TypeVar("T")


class Evidence(NamedTuple):
    """A fact that supports a claim."""

    fact: str
    source: str
    """The API or the record with the fact."""


class Next(NamedTuple):
    """A next step."""

    text: str
    command: str = ""
    """The command that shows or stages the step; ``""`` for a step outside Kafka."""
    edits: tuple[Edit, ...] = ()
    """The edits to stage, if they are already known."""
    ruled_out: frozenset[str] = frozenset()
    """The names of risks of these edits that the evidence rules out."""


class Prediction(Struct, frozen=True):
    """Symptoms that a cause explains: those with one of these names that fit all other given values."""

    names: frozenset[str]
    subject: Subject | None = None
    """The exact subject."""
    group: str | None = None
    """The group of the subject."""
    topic: str | None = None
    """The topic of the subject."""
    brokers: frozenset[int] | None = None
    """Brokers; the symptom has to name at least one of them."""
    only: bool = False
    """Whether the symptom may name only these brokers."""

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
    """Return the parts that are not None: evidence, or next steps, that exist in this case."""
    return tuple(part for part in parts if part is not None)


def predict(
    *names: str,
    subject: Subject | None = None,
    group: str | None = None,
    topic: str | None = None,
    brokers: frozenset[int] | None = None,
    only: bool = False,
) -> tuple[Prediction, ...]:
    """Return one prediction, of symptoms with these names; the other arguments as in `Prediction`."""
    return (Prediction(frozenset(names), subject, group, topic, brokers, only),)


def predict_each(subjects: Iterable[Subject], *names: str) -> tuple[Prediction, ...]:
    """Return a prediction for each of these subjects, of symptoms with these names."""
    return tuple(Prediction(frozenset(names), subject) for subject in subjects)


_OF_SINKS = (symptoms.LAG_GROWS, symptoms.COMMIT_STANDS_STILL, symptoms.COMMITS_LATER, symptoms.REBALANCING)


def predict_groups(groups: Iterable[str]) -> Iterator[Prediction]:
    """Yield the symptoms of the groups of sinks that do not run, as predictions."""
    for group in groups:
        yield from predict(*_OF_SINKS, group=group)


class Claim(Struct, frozen=True, kw_only=True):
    """A cause with its evidence.

    Attributes:
        cause: the name of its `CauseRule`.
        predicted: the symptoms that it explains. A symptom is explained if any one of them fits.
        since: UTC; None if it was there at the first poll.
        times: the number of times that it happened; 0 if that is not counted.
        beside: it explains only symptoms without another cause, and is listed next to the others.
        yields: it is dropped if another claim is about the same topic, group, broker or entity: it says what may
            follow, and the other one what did.
        fills: it is named only if nothing else explains one of its symptoms.
        fold: the texts for one and for many groups, if equal claims are reported as one; None if each is reported
            alone.
        stands: it is a state: its subject's name, and what stands wrong. It is named also if others explain its
            symptoms, and all of its cause are reported as one, with the subject of the worst.
        idle: no client works with it: of two equally severe causes it comes after the active one.
        members: the claims that it is made of, for one that stands for several states. Each is muted, and told, by
            itself.
        latest: time of the latest event that it counts, UTC, for causes that count events: a user who muted it before
            does not know of that event.
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
    yields: bool = False
    fills: bool = False
    fold: tuple[str, str] | None = None
    stands: tuple[str, str] | None = None
    idle: bool = False
    members: tuple[Claim, ...] = ()
    latest: datetime | None = None

    @property
    def is_guess(self) -> bool:
        """Whether it is only a possible trouble: it is listed below those that are sure, and not counted."""
        return self.severity is not Severity.INFO and self.certainty is Certainty.POSSIBLE

    @property
    def counts(self) -> bool:
        """Whether it counts as trouble."""
        return self.severity is not Severity.INFO and not self.is_guess


class CauseRule(NamedTuple):
    """A cause of the vocabulary. Its functions are pure, and called with each poll.

    Attributes:
        name: the name in verdicts and JSON; a mute applies to the name and the subject.
        claims: returns the claims that have evidence.
        rules_out: returns why it is not the cause here, for a cause that would explain a symptom; ``""`` if that is
            unknown. Called only if there is a problem and no claim of this name is part of the verdict.
        hides: yields possibilities that can't be checked from here, each with the place to look.
        reads: the APIs and records that it needs, for the page on causes.
        takes: the certainty, and the evidence that it takes.
        since: the oldest release of Kafka that answers what it reads.
    """

    name: str
    claims: Callable[[Observations], Iterable[Claim]]
    rules_out: Callable[[Observations], str] = lambda _observations: ""
    hides: Callable[[Observations], Iterable[tuple[str, str]]] = lambda _observations: ()
    reads: str = ""
    takes: str = ""
    since: str = "2.8"

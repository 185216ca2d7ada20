"""The types with which causes are defined: a rule with its name, and the claim that it makes from evidence."""

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
    """The API or the record that shows the fact."""


class Next(NamedTuple):
    """A next step that a cause proposes to the operator."""

    text: str
    command: str = ""
    """The command that shows or stages the step; ``""`` for a step outside Kafka."""
    edits: tuple[Edit, ...] = ()
    """The edits that the step stages, if they are already known; empty otherwise."""
    ruled_out: frozenset[str] = frozenset()
    """The names of risks of these edits that can't occur, by the evidence."""


class Prediction(Struct, frozen=True):
    """Symptoms that a cause explains: those that have one of these names and fit every other field that is not None."""

    names: frozenset[str]
    subject: Subject | None = None
    """The exact subject of the symptom; None for any."""
    group: str | None = None
    """The group of the symptom's subject; None for any."""
    topic: str | None = None
    """The topic of the symptom's subject; None for any."""
    brokers: frozenset[int] | None = None
    """Brokers, of which the symptom has to point to at least one; None for no such condition."""
    only: bool = False
    """Whether the symptom may point to no broker outside of `brokers`."""

    def fits(self, symptom: Symptom) -> bool:
        """Return whether the prediction includes a symptom."""
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
    """Return the parts that are not None. It is used for evidence and steps that exist only in some cases."""
    return tuple(part for part in parts if part is not None)


def predict(
    *names: str,
    subject: Subject | None = None,
    group: str | None = None,
    topic: str | None = None,
    brokers: frozenset[int] | None = None,
    only: bool = False,
) -> tuple[Prediction, ...]:
    """Return a tuple with one prediction: symptoms with one of these names; the other arguments are the fields of
    `Prediction`.
    """
    return (Prediction(frozenset(names), subject, group, topic, brokers, only),)


def predict_each(subjects: Iterable[Subject], *names: str) -> tuple[Prediction, ...]:
    """Return a prediction for each of these subjects: symptoms of exactly this subject with one of these names."""
    return tuple(Prediction(frozenset(names), subject) for subject in subjects)


_OF_SINKS = (symptoms.LAG_GROWS, symptoms.COMMIT_STANDS_STILL, symptoms.COMMITS_LATER, symptoms.REBALANCING)


def predict_groups(groups: Iterable[str]) -> Iterator[Prediction]:
    """Yield a prediction for each group: the symptoms that the group of a sink connector has if the connector does not
    run.
    """
    for group in groups:
        yield from predict(*_OF_SINKS, group=group)


class Claim(Struct, frozen=True, kw_only=True):
    """A cause with its evidence, claimed by its `CauseRule` for one subject.

    Attributes:
        cause: the name of its `CauseRule`.
        predicted: the symptoms that it explains: those that fit one of these predictions.
        since: the time of its beginning, UTC; None if it was there at the first poll.
        times: the number of times that it happened; 0 if that is not counted.
        beside: whether the claim explains only symptoms without another cause, and is listed next to the others.
        brokers: the brokers of a claim about several; announced work on all of them excuses the claim.
        yields: whether the claim is dropped if another one is about the same topic, group, broker or entity: this claim
            is about effects that may follow, the other one about effects that were seen.
        alone: whether the claim is named without a symptom although it is only possible: its event was seen, and only
            whether it does harm is not known.
        fills: whether the claim is named only if no other claim explains one of its symptoms.
        fold: the titles for one and for many groups, if equal claims are reported as one; None if each is reported by
            itself.
        stands: for a claim about a lasting state: the name of its subject, and the wrong state. Such a claim is named
            even if others explain its symptoms; all claims of one cause are reported as one, with the subject of the
            worst. None for other claims.
        idle: whether no client works with the subject: of two equally severe causes, an idle one comes after an active
            one.
        members: if the claim represents several states: the claim for each. Each is muted and reported to receivers by
            itself.
        latest: the time of the latest event, UTC, for causes that count events: a user who muted the cause before that
            time does not know of the event. None for other causes.
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
    brokers: tuple[Subject, ...] = ()
    yields: bool = False
    alone: bool = False
    fills: bool = False
    fold: tuple[str, str] | None = None
    stands: tuple[str, str] | None = None
    idle: bool = False
    members: tuple[Claim, ...] = ()
    latest: datetime | None = None

    @property
    def is_guess(self) -> bool:
        """Whether the cause is only possible: it is listed below the certain ones, and not counted."""
        return self.severity is not Severity.INFO and self.certainty is Certainty.POSSIBLE

    @property
    def counts(self) -> bool:
        """Whether the cause counts as a problem: it is neither only information nor only possible."""
        return self.severity is not Severity.INFO and not self.is_guess


class CauseRule(NamedTuple):
    """A cause that triage can name. Its functions are pure, and called with the observations after each poll.

    Attributes:
        name: the name in verdicts and JSON; a mute applies to the name and the subject.
        claims: returns the claims for which there is evidence.
        rules_out: returns the reason why the cause does not apply here, if it would explain a present symptom; ``""``
            if there is no proof. Called only if there is a problem and no claim of this name is part of the verdict.
        hides: yields possibilities that kac can't check, each with the place to look.
        reads: the APIs and records that it needs, for the page on causes.
        takes: the certainty of the cause, and the evidence that it needs, for the page on causes.
        since: the oldest release of Kafka whose answers have the facts that it reads.
        bare: whether it names only what is seen, not why, so that its rows get leads (`leads`).
    """

    name: str
    claims: Callable[[Observations], Iterable[Claim]]
    rules_out: Callable[[Observations], str] = lambda _observations: ""
    hides: Callable[[Observations], Iterable[tuple[str, str]]] = lambda _observations: ()
    reads: str = ""
    takes: str = ""
    since: str = "2.8"
    bare: bool = False

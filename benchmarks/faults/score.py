"""Judges the verdicts of a trial: the causes that triage named, missed, or named without reason."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from msgspec import Struct

from benchmarks.faults.catalogue import FAULTS
from benchmarks.faults.fault import Name
from benchmarks.faults.trial import Told, Trial
from console.model.severity import Certainty, Severity

_POSSIBLE, _INFO = Certainty.POSSIBLE.value, Severity.INFO.value


class Judged(Struct, frozen=True):
    """The judgement of a trial. named: the causes of its faults that triage named. missed: the causes of its faults
    that triage did not name. alarms: false causes with a certainty above `possible`. guesses: false causes that are
    `possible`.
    """

    trial: Trial
    named: dict[str, tuple[Told, ...]]
    missed: tuple[str, ...]
    alarms: tuple[Told, ...]
    guesses: tuple[Told, ...]


def judge(trial: Trial) -> Judged:
    """Return the causes of a trial in groups: those that triage named rightly, those that it missed, and those that it
    named falsely, the merely possible ones apart.
    """
    faults = [FAULTS[name] for name in trial.faults if name in FAULTS]  # a trial of a healthy cluster has no fault
    wanted = [name for fault in faults for name in fault.named]
    unique = list({str(name): name for name in wanted}.values())
    allowed = [*unique, *(each.name for fault in faults for each in fault.beside)]
    named = {str(name): tuple(told for told in trial.told if name.fits(told.cause, told.subject)) for name in unique}
    others = [told for told in trial.told if not _is_one(told, allowed) and told.severity != _INFO]
    return Judged(
        trial,
        {name: told for name, told in named.items() if told},
        tuple(name for name, told in named.items() if not told),
        tuple(told for told in others if told.certainty != _POSSIBLE),
        tuple(told for told in others if told.certainty == _POSSIBLE),
    )


def _is_one(told: Told, names: Iterable[Name]) -> bool:
    return any(name.fits(told.cause, told.subject) for name in names)


class Score(Struct, frozen=True):
    """The figures over all trials, counted by (cause, subject).

    precision, strict: the share (0 to 1) of true causes among those that triage named, leaving out or including causes
    that are only `possible`. recall: the share of causes that triage named among those that it had to name. median,
    worst: seconds until triage named a cause, for single faults.
    """

    wanted: int
    named: int
    alarms: int
    guesses: int
    precision: float
    strict: float
    recall: float
    median: float
    worst: float


def score(judged: Sequence[Judged]) -> Score:
    """Return the figures over all trials."""
    named = sum(len(each.named) for each in judged)
    missed = sum(len(each.missed) for each in judged)
    alarms = sum(len(each.alarms) for each in judged)
    guesses = sum(len(each.guesses) for each in judged)
    times = [
        min(told.after for told in found)
        for each in judged
        if len(each.trial.faults) == 1
        for found in each.named.values()
    ]
    return Score(
        named + missed,
        named,
        alarms,
        guesses,
        round(named / (named + alarms), 3) if named else 0.0,
        round(named / (named + alarms + guesses), 3) if named else 0.0,
        round(named / (named + missed), 3) if named else 0.0,
        round(statistics.median(times), 1) if times else 0.0,
        max(times, default=0.0),
    )

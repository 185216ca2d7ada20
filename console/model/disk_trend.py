"""How the usable bytes of a log directory move: samples over looks, and the time until it is full. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

KEPT = timedelta(minutes=30)
"""How far back samples reach."""
MOST_SAMPLES = 32
SOON = 24 * 3600.0
"""Seconds until a disk is full, under which it is said."""
FORESIGHT = 30
"""How far a trend is believed, in times of what it covers: one of half a minute, in which someone wrote a file, for a
quarter of an hour."""
LEAST = 30.0
"""Seconds that the trend of a disk has to cover."""


class DirSample(Struct, frozen=True):
    """The usable bytes of a log directory at a time. held: the bytes that its replicas hold, -1 if unknown."""

    at: datetime
    usable: int
    held: int = -1


def sampled(before: tuple[DirSample, ...], sample: DirSample) -> tuple[DirSample, ...]:
    """The samples with another; of the older ones, those that are kept. After a clock that went back they begin
    again."""
    if before and sample.at < before[-1].at:
        return (sample,)
    kept = [each for each in before if each.at > sample.at - KEPT]
    kept.append(sample)
    return tuple(kept[-MOST_SAMPLES:])


def seconds_left(samples: tuple[DirSample, ...]) -> float | None:
    """Seconds until a directory is full at the rate of the samples, None if it does not fill or that is unknown."""
    if len(samples) < 2:
        return None
    first, last = samples[0], samples[-1]
    seconds = (last.at - first.at).total_seconds()
    used = first.usable - last.usable
    return last.usable * seconds / used if seconds >= LEAST and used > 0 else None


class Growth(NamedTuple):
    """What was used up over some time, and by how much the replicas grew of that."""

    used: int
    held: int


def growth(samples: tuple[DirSample, ...]) -> Growth | None:
    """What was used up over the samples, None where that is unknown."""
    if len(samples) < 2 or samples[0].held < 0 or samples[-1].held < 0:
        return None
    return Growth(samples[0].usable - samples[-1].usable, samples[-1].held - samples[0].held)


def foreseen(samples: tuple[DirSample, ...]) -> float | None:
    """As `seconds_left`; None also for what is too far off for so short a trend, and for a disk that is emptied again
    and again."""
    left = seconds_left(samples) if _falls(samples) else None
    covered = (samples[-1].at - samples[0].at).total_seconds() if samples else 0.0
    return left if left is not None and left <= FORESIGHT * covered else None


def _falls(samples: tuple[DirSample, ...]) -> bool:
    """Whether usable bytes fall by more than they rise again: logs grow until segments are deleted."""
    steps = [before.usable - after.usable for before, after in pairwise(samples)]
    fell, rose = sum(step for step in steps if step > 0), -sum(step for step in steps if step < 0)
    return fell > 2 * rose

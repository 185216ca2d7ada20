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
    return _seconds_left(samples[-1].usable, samples) if samples else None


def _seconds_left(usable: int, trend: tuple[DirSample, ...]) -> float | None:
    """Return the seconds in which so many bytes are used up at the rate of a trend, from its first to its last
    sample."""
    seconds = _covered(trend)
    used = trend[0].usable - trend[-1].usable
    return usable * seconds / used if seconds >= LEAST and used > 0 else None


def _covered(samples: tuple[DirSample, ...]) -> float:
    return (samples[-1].at - samples[0].at).total_seconds()


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
    """As `seconds_left`, at the rate that is believed; None also for what is too far off for so short a trend."""
    if not samples:
        return None
    trend = _believed(samples)
    left = _seconds_left(samples[-1].usable, trend)
    return left if left is not None and left <= FORESIGHT * _covered(trend) else None


def _believed(samples: tuple[DirSample, ...]) -> tuple[DirSample, ...]:
    """The samples up to the last rise; all of them where usable bytes never rose.

    Logs grow until segments are deleted: what fell since the last rise may come back as it did before, so a disk fills
    only as far as its peaks fall.
    """
    rises = [n for n, (before, after) in enumerate(pairwise(samples), 1) if after.usable > before.usable]
    return samples[: rises[-1] + 1] if rises else samples

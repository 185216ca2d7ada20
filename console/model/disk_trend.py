"""How the usable bytes of a log directory move: a sample for each poll, and the time until it is full. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

KEPT = timedelta(minutes=30)
"""How far back samples reach."""
MOST_SAMPLES = 32
SOON = 24 * 3600.0
"""Seconds until a disk is full below which that is reported."""
FORESIGHT = 30
"""How far a trend is extrapolated, in multiples of the time that it covers: one of half a minute, in which a file was
written, for a quarter of an hour."""
LEAST = 30.0
"""Seconds that the trend of a disk has to cover."""


class DirSample(Struct, frozen=True):
    """The usable bytes of a log directory at a time. held: the bytes that its replicas hold, -1 if unknown."""

    at: datetime
    usable: int
    held: int = -1


def sampled(before: tuple[DirSample, ...], sample: DirSample) -> tuple[DirSample, ...]:
    """Return the samples with one added and those older than `KEPT` dropped; only the new one after a clock that went
    back."""
    if before and sample.at < before[-1].at:
        return (sample,)
    kept = [each for each in before if each.at > sample.at - KEPT]
    kept.append(sample)
    return tuple(kept[-MOST_SAMPLES:])


def seconds_left(samples: tuple[DirSample, ...]) -> float | None:
    """Return the seconds until a directory is full at the rate of the samples.

    Returns:
        None where it does not fill, or that is unknown.
    """
    return _seconds_left(samples, samples[0].usable - samples[-1].usable) if samples else None


def _seconds_left(samples: tuple[DirSample, ...], used: int) -> float | None:
    """Return the seconds in which the usable bytes are used up at a rate of `used` bytes over the samples."""
    seconds = _covered(samples)
    return samples[-1].usable * seconds / used if seconds >= LEAST and used > 0 else None


def _covered(samples: tuple[DirSample, ...]) -> float:
    return (samples[-1].at - samples[0].at).total_seconds()


class Growth(NamedTuple):
    """What was used up over some time, and by how much the replicas grew of that."""

    used: int
    held: int


def growth(samples: tuple[DirSample, ...]) -> Growth | None:
    """Return what was used up from the first to the last sample; None where that is unknown."""
    if len(samples) < 2 or samples[0].held < 0 or samples[-1].held < 0:
        return None
    return Growth(samples[0].usable - samples[-1].usable, samples[-1].held - samples[0].held)


def foreseen(samples: tuple[DirSample, ...]) -> float | None:
    """Return the seconds until a directory is full as far as that is believed.

    Logs grow until segments are deleted: as much as came back before may come back again, and does not count as used.

    Returns:
        None where it does not fill, or that is unknown; also for what is too far off for so short a trend, and for a
        disk that is emptied again and again.
    """
    if not samples:
        return None
    left = _seconds_left(samples, samples[0].usable - samples[-1].usable - _may_come_back(samples))
    return left if left is not None and left <= FORESIGHT * _covered(samples) else None


def _may_come_back(samples: tuple[DirSample, ...]) -> int:
    """Return the bytes that were used up since the largest rise, as far as that rise goes."""
    # Usable bytes of a busy broker are a saw: they fall as logs grow, and jump where retention deletes segments, every
    # log.retention.check.interval.ms (5 minutes). What fell since the last jump is likely to jump back.
    low = samples[0].usable
    rise, top = 0, low
    for each in samples:
        low = min(low, each.usable)
        if each.usable - low >= rise:
            rise, top = each.usable - low, each.usable
    return max(0, min(rise, top - samples[-1].usable))

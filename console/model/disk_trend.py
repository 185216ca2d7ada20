"""The trend of a log directory's usable bytes: a sample for each poll, and the time until the disk is full. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

KEPT = timedelta(minutes=30)
"""Maximum age of samples."""
MOST_SAMPLES = 32
SOON = 24 * 3600.0
"""Maximum seconds until a disk is full for which kac reports it."""
FORESIGHT = 30
"""Maximum extrapolation, as a multiple of the time that a trend covers: a trend of half a minute, in which a file was
written, counts for a quarter of an hour."""
LEAST = 30.0
"""Minimum seconds that the trend of a disk must cover."""


class DirSample(Struct, frozen=True):
    """The usable bytes of a log directory at a time."""

    at: datetime
    usable: int
    held: int = -1
    """The bytes of its replicas; -1 if unknown."""


def sampled(before: tuple[DirSample, ...], sample: DirSample) -> tuple[DirSample, ...]:
    """Return the samples with one added and those older than `KEPT` dropped, at most `MOST_SAMPLES`; only the new
    one if the clock went back."""
    if before and sample.at < before[-1].at:
        return (sample,)
    kept = [each for each in before if each.at > sample.at - KEPT]
    kept.append(sample)
    return tuple(kept[-MOST_SAMPLES:])


def seconds_left(samples: tuple[DirSample, ...]) -> float | None:
    """Return the seconds until a directory is full at the rate of the samples.

    Returns:
        None if the directory does not fill, or the rate is unknown.
    """
    return _seconds_left(samples, samples[0].usable - samples[-1].usable) if samples else None


def _seconds_left(samples: tuple[DirSample, ...], used: int) -> float | None:
    """Return the seconds until no bytes are usable at a rate of `used` bytes over the samples; None if `used` is not
    positive, or the samples cover less than `LEAST` seconds.
    """
    seconds = _covered(samples)
    return samples[-1].usable * seconds / used if seconds >= LEAST and used > 0 else None


def _covered(samples: tuple[DirSample, ...]) -> float:
    return (samples[-1].at - samples[0].at).total_seconds()


class Growth(NamedTuple):
    """The bytes that were used up over a time, and the growth of the replicas, which is a part of them."""

    used: int
    held: int


def growth(samples: tuple[DirSample, ...]) -> Growth | None:
    """Return the growth from the first to the last sample; None if unknown."""
    if len(samples) < 2 or samples[0].held < 0 or samples[-1].held < 0:
        return None
    return Growth(samples[0].usable - samples[-1].usable, samples[-1].held - samples[0].held)


def foreseen(samples: tuple[DirSample, ...]) -> float | None:
    """Return the seconds until a directory is full, if the trend is reliable.

    Logs grow until segments are deleted: bytes that were freed before may be freed again, and do not count as used.

    Returns:
        None if the directory does not fill, or the rate is unknown, also if the time is more than 30 (`FORESIGHT`)
        times the time that the trend covers, and for a disk that is emptied again and again.
    """
    if not samples:
        return None
    left = _seconds_left(samples, samples[0].usable - samples[-1].usable - _may_come_back(samples))
    return left if left is not None and left <= FORESIGHT * _covered(samples) else None


def _may_come_back(samples: tuple[DirSample, ...]) -> int:
    """Return the bytes that were used since the largest rise, limited to the size of that rise."""
    # Usable bytes of a busy broker are a sawtooth: they fall as logs grow, and jump when retention deletes segments,
    # every log.retention.check.interval.ms (5 minutes). The fall since the last jump is likely to be undone by the
    # next.
    low = samples[0].usable
    rise, top = 0, low
    for each in samples:
        low = min(low, each.usable)
        if each.usable - low >= rise:
            rise, top = each.usable - low, each.usable
    return max(0, min(rise, top - samples[-1].usable))

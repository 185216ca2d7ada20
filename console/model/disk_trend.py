"""The trend of a log directory's usable bytes, from one sample for each poll, and the time until the disk is full.
Pure.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

KEPT = timedelta(minutes=30)
"""Maximum age of the samples that are kept."""
MOST_SAMPLES = 32
SOON = 24 * 3600.0
"""Seconds. kac reports a disk if a reliable trend (`foreseen`) forecasts that it is full within this time."""
FORESIGHT = 30
"""Maximum length of a forecast, as a multiple of the time that the samples cover. A trend over 30 s, which may come
from one written file, can forecast only that a disk is full within 15 minutes.
"""
LEAST = 30.0
"""Minimum seconds that the samples of a disk must cover for a forecast."""


class DirSample(Struct, frozen=True):
    """The usable bytes of a log directory at a time."""

    at: datetime
    usable: int
    held: int = -1
    """The bytes of the replicas in the directory; -1 if unknown."""


def sampled(before: tuple[DirSample, ...], sample: DirSample) -> tuple[DirSample, ...]:
    """Return the samples with a new one added, without those older than `KEPT`, and at most `MOST_SAMPLES` of them;
    only the new sample if its time is before that of the last one.
    """
    if before and sample.at < before[-1].at:
        return (sample,)
    kept = [each for each in before if each.at > sample.at - KEPT]
    kept.append(sample)
    return tuple(kept[-MOST_SAMPLES:])


def seconds_left(samples: tuple[DirSample, ...]) -> float | None:
    """Return the seconds until a directory is full at the rate between the first and the last sample.

    Returns:
        None if the usable bytes do not decrease, or the samples cover less than `LEAST` seconds.
    """
    return _seconds_left(samples, samples[0].usable - samples[-1].usable) if samples else None


def _seconds_left(samples: tuple[DirSample, ...], used: int) -> float | None:
    """Return the seconds until no bytes are usable, at a rate of `used` bytes in the time that the samples cover.
    None if `used` is not positive, or the samples cover less than `LEAST` seconds.
    """
    seconds = _covered(samples)
    return samples[-1].usable * seconds / used if seconds >= LEAST and used > 0 else None


def _covered(samples: tuple[DirSample, ...]) -> float:
    return (samples[-1].at - samples[0].at).total_seconds()


class Growth(NamedTuple):
    """The decrease of a disk's usable bytes from the first to the last sample (`used`), and the increase of the
    bytes of the replicas on the disk (`held`).
    """

    used: int
    held: int


def growth(samples: tuple[DirSample, ...]) -> Growth | None:
    """Return the changes from the first to the last sample; None if there are fewer than two samples, or the size of
    the replicas is unknown in one of these two.
    """
    if len(samples) < 2 or samples[0].held < 0 or samples[-1].held < 0:
        return None
    return Growth(samples[0].usable - samples[-1].usable, samples[-1].held - samples[0].held)


def foreseen(samples: tuple[DirSample, ...]) -> float | None:
    """Return the seconds until a directory is full, if the trend is reliable.

    Brokers delete segments from time to time, so usable bytes fall and jump up again. The bytes that were used since
    the largest such jump, at most as many as it freed, are left out of the rate, because the next deletion is likely to
    free them again.

    Returns:
        None if the directory does not fill, the rate is unknown, or the result would exceed `FORESIGHT` times the
        seconds that the trend covers.
    """
    if not samples:
        return None
    left = _seconds_left(samples, samples[0].usable - samples[-1].usable - _may_come_back(samples))
    return left if left is not None and left <= FORESIGHT * _covered(samples) else None


def _may_come_back(samples: tuple[DirSample, ...]) -> int:
    """Return the bytes that were used since the largest rise of the usable bytes, at most the size of that rise; 0 if
    there was no rise.
    """
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

"""A half hour as a console would have it that watched through it: the same each time, as pictures need it.

A topic is written to at waves, a group falls behind and catches up, a broker goes and comes back, a disk fills.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

from console.model.half_hour import EVERY, SLOTS, HalfHour, Measure, Sample
from console.present.graphs import Mark

BEGAN, ENDED = 70, 96
"""Samples at which a broker goes, and comes back."""
MIB = 2**20


def half_hour(until: datetime) -> HalfHour:
    """Samples of three brokers, up to a time."""
    last = int(until.timestamp()) // EVERY
    return HalfHour(tuple(Sample(last - SLOTS + 1 + number, dict(_values(number))) for number in range(SLOTS)))


def marks(until: datetime) -> list[Mark]:
    """Return what changed: two settings, and many leaders when the broker went, which was trouble, and came back."""
    began = until - timedelta(seconds=EVERY * SLOTS)
    places = [30, 52, *[BEGAN] * 6, *[ENDED + 1] * 6]
    return [Mark(began + timedelta(seconds=EVERY * place), place == BEGAN) for place in places]


def _values(number: int) -> Iterator[tuple[Measure, float]]:
    is_away = BEGAN <= number < ENDED
    yield (
        Measure("under-replicated"),
        225.0 if is_away else max(0.0, 225.0 - 50 * (number - ENDED)) if number >= ENDED else 0.0,
    )
    yield Measure("offline"), 2.0 if BEGAN <= number < BEGAN + 4 else 0.0
    for broker in (1, 2, 3):
        wave = 1 + 0.4 * math.sin(number / 19 + broker)
        led = 0.0 if broker == 3 and is_away else 1.5 if is_away else 1.0
        yield Measure("written", str(broker)), 3 * MIB * wave * led / broker
        yield Measure("read", str(broker)), 6 * MIB * wave * led / broker * (0.4 if is_away else 1.0)
        used = 0.4 + 0.15 * broker + number * 0.00015 * broker
        yield Measure("disk", f"{broker} /var/lib/kafka"), used
    behind = max(
        0.0, 12.0 * (number - BEGAN) if is_away else 312.0 - 9.0 * (number - ENDED) if number >= ENDED else 0.0
    )
    yield Measure("behind", "billing"), behind
    yield Measure("behind", "dispatch"), 3.0 * max(0, number - 120)
    yield Measure("throttled", "kac by answers"), 20.0 + number % 25 if 100 <= number < 150 else 0.0

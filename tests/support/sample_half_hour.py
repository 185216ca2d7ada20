"""Samples of the last half hour with fixed, invented values, in place of a console's measurements, for pictures.

Writes to a topic come in waves, a group falls behind and catches up, a broker stops and comes back, a disk fills. The
last sample equals the state of the scenario *incident*.
"""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache

from console.model.half_hour import (
    EVERY,
    OWN,
    OWN_EVERY,
    OWN_SLOTS,
    SLOTS,
    HalfHour,
    Kind,
    Measure,
    OwnSample,
    Sample,
)
from console.present.graphs import Mark

BEGAN, ENDED = 70, 96
"""The samples at which a broker goes, and comes back."""
MIB = 2**20
OUT_OF_SYNC = 12
"""Number of partitions for which broker 2 is out of the ISR during the whole half hour."""
LEADERS = {"1": 85, "2": 82, "3": 89}
LAGS = {
    "billing": 403,
    "cart-reminders": 242_500,
    "connect-audit-export": 109,
    "connect-cluster": 0,
    "connect-orders-archive": 2_184_000,
    "fraud-check": 1471,
    "search-index": 450,
    "warehouse": 36,
    "year-end-report": 3_166_200,
}
"""Group -> its lag in records at the end; other groups have a small lag."""
MEMBERS = {"billing": 3, "connect-cluster": 2, "search-index": 2, "warehouse": 2, "year-end-report": 0}
"""Group -> its number of members; other groups have one."""
WAITS = 2.0
"""Age in seconds of a group's oldest unread record at the end."""


@cache
def half_hour(until: datetime) -> HalfHour:
    """Return the samples of three brokers in the half hour before `until`. Values of single topics, groups and brokers
    come from `own_values`.
    """
    last, own_last = int(until.timestamp()) // EVERY, int(until.timestamp()) // OWN_EVERY
    return HalfHour(
        tuple(Sample(last - SLOTS + 1 + number, dict(_values(number))) for number in range(SLOTS)),
        tuple(OwnSample(own_last - OWN_SLOTS + 1 + number, {}) for number in range(OWN_SLOTS)),
    )


def own_values(samples: Sequence[OwnSample], kind: Kind, name: str) -> dict[str, dict[int, float]]:
    """Return series name -> (slot of the sample -> invented value) for any topic, group or broker."""
    phase = sum(name.encode())
    found: dict[str, dict[int, float]] = {what: {} for what in OWN[kind]}
    for number, sample in enumerate(samples):
        wave = 1 + 0.4 * math.sin(number / 5 + phase)
        is_gone = BEGAN * EVERY <= number * OWN_EVERY < ENDED * EVERY
        is_away = is_gone and name == "3"
        behind = max(0, min(12 * (4 * number - BEGAN), 312 - 9 * (4 * number - ENDED))) if name == "billing" else 0
        waits = LAGS.get(name, 4)
        values: dict[str, float] = {
            "bytes in": (1 + phase % 5) * MIB * wave,
            "records in": (1 + phase % 5) * 1000 * wave,
            "lag": waits + 40.0 * behind,
            "behind": float(behind) + (WAITS if waits else 0.0),
            "members": float(MEMBERS.get(name, 1)),
            "leaders": 0.0 if is_away else float(LEADERS.get(name, 85)),
            "out of sync": 33.0 if is_away else float(OUT_OF_SYNC if name == "2" else 0),
            "written": 0.0 if is_away else (1 + phase % 3) * MIB * wave,
            "read ≈": 0.0 if is_away else (2 + phase % 3) * MIB * wave,
            "disk": 0.002,
        }
        for what in found:
            found[what][sample.slot] = values[what]
    return found


def marks(until: datetime) -> list[Mark]:
    """Return the marks of the half hour: two changed configs, and two changes of many leaders, when the broker stopped
    (shown as trouble) and when it came back.
    """
    began = until - timedelta(seconds=EVERY * SLOTS)
    places = [30, 52, *[BEGAN] * 6, *[ENDED + 1] * 6]
    return [Mark(began + timedelta(seconds=EVERY * place), place == BEGAN) for place in places]


def _values(number: int) -> Iterator[tuple[Measure, float]]:
    is_away = BEGAN <= number < ENDED
    yield (
        Measure("under-replicated"),
        OUT_OF_SYNC + (225.0 if is_away else max(0.0, 225.0 - 50 * (number - ENDED)) if number >= ENDED else 0.0),
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
    yield Measure("behind", "billing"), WAITS + behind
    yield Measure("throttled", "kac by answers"), 20.0 + number % 25 if 100 <= number < 150 else 0.0

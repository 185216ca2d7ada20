"""A request log of any length in the form that brokers write, for measurements."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from tests.lake.request_lines import Logged, fetch, metadata, produce

PAIRS = 300
"""Users with their clients."""
TEMPLATES = 4000
PER_SECOND = 10_000
BEGIN = datetime(2026, 11, 21, 10)
_WRITTEN_AT_ONCE = 20_000


def templates(seed: int = 7) -> list[str]:
    """Requests without their times, of about 1.3 kB with them: half PRODUCE, half FETCH, an eighth of these replicas',
    some errors, some throttled, a client whose name has to be escaped."""
    dice = random.Random(seed)
    pairs = [(f"User:svc-{each % 40}", f"app-{each}-client") for each in range(PAIRS - 1)]
    pairs.append(("User:odd", 'we "quote" \\ thïs'))
    return [_line(dice, *dice.choice(pairs)) for _ in range(TEMPLATES)]


def _line(dice: random.Random, principal: str, client_id: str) -> str:
    kind = dice.random()
    topics = [dice.randrange(100, 90_000) for _ in range(dice.choice((1, 1, 1, 2, 3)))]
    made: Logged
    if kind < 0.5:
        made = produce(*topics, error=6 if dice.random() < 0.01 else 0)
    elif kind < 0.99:
        made = fetch(*topics[:2], replica=dice.randrange(3) if dice.random() < 0.125 else None)
    else:
        made = metadata(error=3 if dice.random() < 0.1 else 0)
    made = replace(
        made,
        principal=principal,
        client_id=client_id,
        local_ms=round(dice.random() * 5, 3),
        total_ms=round(dice.random() * 20, 3),
        throttle_ms=dice.randrange(200) if dice.random() < 0.03 else 0,
        correlation_id=dice.randrange(1 << 30),
    )
    return made.line[made.line.index("]") :]


def write(path: Path, lines: int) -> None:
    """So many lines, ten thousand to the second; the same each time."""
    dice = random.Random(lines)
    pool = templates()
    with path.open("w") as file:
        for begin in range(0, lines, _WRITTEN_AT_ONCE):
            file.writelines(_timed(dice, pool, range(begin, min(lines, begin + _WRITTEN_AT_ONCE))))


def _timed(dice: random.Random, pool: list[str], numbers: range) -> Iterator[str]:
    clock, shown = -1, ""
    for number, line in zip(numbers, dice.choices(pool, k=len(numbers)), strict=True):
        millis = number * 1000 // PER_SECOND
        if millis != clock:
            clock = millis
            shown = (BEGIN + timedelta(milliseconds=millis)).strftime("[%Y-%m-%d %H:%M:%S,%f")[:-3]
        yield shown + line

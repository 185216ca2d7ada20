"""Amounts with units: ``1.5h``, ``512MiB``, ``10MB/s``. Exact or refused; a key takes the unit that its name tells."""

from __future__ import annotations

import re
from enum import Enum


class Unit(Enum):
    """What the number of a config key counts; the value is its plural in words."""

    NONE = ""
    MILLISECONDS = "milliseconds"
    SECONDS = "seconds"
    MINUTES = "minutes"
    HOURS = "hours"
    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes per second"

    @property
    def is_time(self) -> bool:
        """Whether it counts time."""
        return self in _MILLISECONDS_IN

    @property
    def examples(self) -> str:
        """How an amount may be written, for help and for what is refused."""
        return _EXAMPLES[self]


_MILLISECONDS_IN = {Unit.MILLISECONDS: 1, Unit.SECONDS: 1_000, Unit.MINUTES: 60_000, Unit.HOURS: 3_600_000}
_EXAMPLES = {
    Unit.NONE: "",
    Unit.MILLISECONDS: "250ms, 90s, 30min, 12h, 7d",
    Unit.SECONDS: "90s, 30min, 12h, 7d",
    Unit.MINUTES: "30min, 12h, 7d",
    Unit.HOURS: "12h, 7d",
    Unit.BYTES: "512KiB, 10MB (10,000,000), 10MiB (10,485,760)",
    Unit.BYTES_PER_SECOND: "512KiB/s, 10MB/s (10,000,000), 10MiB/s (10,485,760)",
}

TIMES = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
"""Unit -> milliseconds."""

SIZES = {
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgtp", start=1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgtp", start=1)},
}
"""Unit in small letters -> bytes."""

_AMOUNT = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,30})?) ?([A-Za-z]{1,5})(/s)?")


def unit_of(key: str) -> Unit:
    """What a config key's number counts, told by the key's name; NONE where the name does not tell."""
    if key.endswith(("bytes.per.second", "throttled.rate")):
        return Unit.BYTES_PER_SECOND
    last = key.rpartition(".")[2]
    by_last = {
        "ms": Unit.MILLISECONDS,
        "seconds": Unit.SECONDS,
        "secs": Unit.SECONDS,
        "minutes": Unit.MINUTES,
        "hours": Unit.HOURS,
        "bytes": Unit.BYTES,
    }
    if last in by_last:
        return by_last[last]
    return Unit.BYTES if ".bytes." in key or key.endswith("buffer.size") else Unit.NONE


def has_unit(text: str) -> bool:
    """Whether the text is a number with letters behind it, so that it is read as an amount."""
    return _AMOUNT.fullmatch(text) is not None


def parse_amount(text: str, unit: Unit) -> int:
    """The amount in `unit`, exactly. Raises ValueError with words where it is not one, or would have a fraction."""
    found = _AMOUNT.fullmatch(text)
    if found is None or unit is Unit.NONE:
        raise ValueError(f"{text} is not a number with a unit")
    number, name, per_second = found.groups()
    divisor = 1
    if unit.is_time:
        factor = TIMES.get(name, 0) if not per_second else 0
        divisor = _MILLISECONDS_IN[unit]
    elif per_second and unit is not Unit.BYTES_PER_SECOND:
        raise ValueError(f"{text} is a rate, and a size is wanted: {number}{name}")
    else:
        factor = SIZES.get(name.lower(), 0)
        if not factor and name.lower() in ("k", "m", "g", "t", "p"):
            letter = name.upper()
            raise ValueError(f"{text} may mean {letter}B (powers of 1000) or {letter}iB (powers of 1024): write which")
    if not factor:
        raise ValueError(f"{text} is no amount of {unit.value}; write for instance {unit.examples}")
    whole, _, decimals = number.partition(".")
    divisor *= int("1" + "0" * len(decimals))
    amount, rest = divmod(int(whole + decimals) * factor, divisor)
    if rest:
        raise ValueError(f"{text} is not a whole number of {unit.value}")
    return amount


def duration_text(milliseconds: int) -> str:
    """The shortest exact writing of a duration, as the language reads it."""
    sizes = sorted(((size, unit) for unit, size in TIMES.items()), reverse=True)
    return next(f"{milliseconds // size}{unit}" for size, unit in sizes if milliseconds % size == 0)

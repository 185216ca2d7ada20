"""Converts between numbers and amounts with units: it shows `604800000` ms as `7 d`, and parses `7d` or `10MB/s` for a
key.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from enum import Enum

from console.model.numbers import time_of
from console.model.quota import BY_KEY

BINARY = (("PiB", 1 << 50), ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
DECIMAL = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))

_GROUPED = 1e21


def number(value: float) -> str:
    """Return a number as text: ``2.0`` as ``2``, fractions with two decimals, or below 1 with four significant digits;
    thousands are separated. Numbers from 10^21 on, infinity and NaN are written as in Python: ``1e+300``, ``inf``,
    ``nan``.
    """
    if not abs(value) < _GROUPED:
        return f"{value:.4g}"
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.4g}" if abs(value) < 1 else f"{value:,.2f}"


def scaled(value: float, units: tuple[tuple[str, int], ...], base: str, suffix: str = "") -> str:
    """Return a value as text in the largest unit in which it is an integer below 1,000; otherwise in the largest unit
    that is not larger than the value, with up to two decimals if they are exact, else rounded and with ``≈``. A value
    below all units is in `base`.

    Args:
        units: names and factors of the units.
        base: the name of the unit of `value`.
        suffix: text after the unit.
    """
    if not abs(value) < _GROUPED:
        return f"{number(value)} {base}{suffix}"
    for name, size in units:
        if value >= size and value % size == 0 and value // size < 1000:
            return f"{int(value // size)} {name}{suffix}"
    for name, size in units:
        if value >= size:
            scaled = value / size
            if value * 100 % size == 0 and scaled < 1000:
                return f"{scaled:.2f}".rstrip("0").rstrip(".") + f" {name}{suffix}"
            return f"≈ {scaled:.3g} {name}{suffix}" if scaled < 1000 else f"≈ {scaled:,.0f} {name}{suffix}"
    return f"{number(value)} {base}{suffix}"


def byte_rate(per_second: float, beside: float | None = None) -> str:
    """Return a rate as text: ``10000000`` as ``10 MB/s``, ``1048576`` as ``1 MiB/s``. Units in which it is exact are
    preferred, decimal ones first.

    Args:
        per_second: bytes per second.
        beside: another rate that is shown next to this one, so that both get the same sort of units (decimal or
            binary); None if there is none.
    """
    if beside is not None:
        return scaled(per_second, _exact_units(beside) or DECIMAL, "B", "/s")
    return scaled(per_second, _exact_units(per_second) or DECIMAL, "B", "/s")


def _exact_units(per_second: float) -> tuple[tuple[str, int], ...] | None:
    """Return the units, decimal or binary, in one of which a rate is an integer below 1,000; None for other rates."""
    for units in (DECIMAL, BINARY):
        for _, unit in units:
            if _GROUPED > per_second >= unit and per_second % unit == 0 and per_second // unit < 1000:
                return units
    return None


def quota(key: str, value: float, beside: float | None = None) -> str:
    """Return a quota's value as text with the unit of its key; only the number for a key that Kafka does not define.
    beside: as in `byte_rate`.
    """
    known = BY_KEY.get(key)
    if known is None:
        return number(value)
    return byte_rate(value, beside) if known.is_byte_rate else f"{number(value)} {known.unit}"


def measured_rate(key: str, value: float, limit: float | None = None) -> str:
    """Return a measured rate as text, in the unit of its quota's key, rounded to three figures without ``≈``.

    Args:
        limit: the quota that is shown next to the rate, so that both get the same sort of units; None if there is none.
    """
    sign = "-" if value < 0 else ""
    figures, space, unit = quota(key, float(f"{abs(value):.3g}"), limit).removeprefix("≈ ").partition(" ")
    if "." in figures:  # a number of bytes with three digits may have more digits in KiB
        figures = f"{float(figures.replace(',', '')):.3g}"
    return sign + figures + space + unit


_DURATIONS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1))


def duration(milliseconds: int) -> str:
    """Return milliseconds as text: ``604800000`` as ``7 d``, ``5400000`` as ``90 min``, ``123456`` as ``≈ 2.06 min``
    (rounded).
    """
    return scaled(milliseconds, _DURATIONS[:-1], "ms")


def measured_time(seconds: float) -> str:
    """Return measured seconds as text for a column, rounded to two or three figures without ``≈``: ``96 s``, ``2.5
    min``, ``43 min``, ``5.2 h``; ``1 s`` for less than a second.
    """
    whole = max(1, round(seconds))
    for name, milliseconds in _DURATIONS[:3]:
        if whole >= 2 * milliseconds / 1000:
            figures = whole * 1000 / milliseconds
            short = f"{figures:.1f}".removesuffix(".0")
            return f"{short if len(short) < 4 else f'{figures:,.0f}'} {name}"
    return f"{whole} s"


def byte_count(count: int) -> str:
    """Return bytes as text: ``1073741824`` as ``1 GiB``, ``1500`` as ``≈ 1.46 KiB``."""
    return scaled(count, BINARY, "B")


def size(count: int) -> str:
    """Return measured bytes as text for a column, rounded without ``≈``: with one decimal below 10 of a unit (``1.2
    TiB``), otherwise without (``900 GiB``); ``–`` for a negative number, which means unknown.
    """
    if count < 0:
        return "–"
    for name, unit in BINARY:
        if count >= unit:
            figures = count / unit
            return f"{figures:.1f} {name}" if figures < 10 else f"{figures:,.0f} {name}"
    return f"{count} B"


def size_range(least: int, most: int) -> str:
    """Return a range of bytes as text, rounded outwards: ``3.9–6.0 GiB``, ``900 MiB – 1.2 GiB``, ``up to 14 MiB``; a
    single size if both ends are equal.
    """
    if least == most:
        return size(least)
    high = size(_rounded(most, up=True))
    if least <= 0:
        return f"up to {high}"
    low = size(_rounded(least, up=False))
    if low == high:
        return low
    number, _, unit = low.partition(" ")
    return f"{number}–{high}" if high.endswith(f" {unit}") else f"{low} – {high}"


def _rounded(count: int, *, up: bool) -> int:
    """Return bytes rounded up or down to the last figure that `size` shows."""
    unit = next((unit for _, unit in BINARY if count >= unit), 1)
    step = 1 if unit == 1 else unit if count >= 10 * unit else unit / 10
    figures = count / step
    return int((math.ceil(figures) if up else math.floor(figures)) * step)


def exact_number(value: float) -> str:
    """Return a finite number as text with every digit, in a form that kac's language and Kafka's tools parse:
    ``1048577``, ``12.345``.
    """
    return str(int(value)) if float(value).is_integer() else repr(value)


def exact_quota(key: str, value: float) -> str:
    """Return a quota's value with every digit and its unit: ``1048577 B/s``, ``12.345 %``."""
    unit = f" {BY_KEY[key].unit}" if key in BY_KEY else ""
    return f"{repr(float(value)).removesuffix('.0')}{unit}"


# -- reading -----------------------------------------------------------------------------------------------------------


class Unit(Enum):
    """The unit of a config key's number.

    Attributes:
        plural: its name in a sentence.
        short: its abbreviation after a number.
        milliseconds: the milliseconds in one unit; 0 for a unit that is no time.
        examples: examples of amounts for help texts and refusals.
    """

    NONE = "", "", 0, ""
    MILLISECONDS = "milliseconds", "ms", 1, "250ms, 90s, 30min, 12h, 7d"
    SECONDS = "seconds", "s", 1_000, "90s, 30min, 12h, 7d"
    MINUTES = "minutes", "min", 60_000, "30min, 12h, 7d"
    HOURS = "hours", "h", 3_600_000, "12h, 7d"
    BYTES = "bytes", "bytes", 0, "512KiB, 10MB (10,000,000), 10MiB (10,485,760)"
    BYTES_PER_SECOND = "bytes per second", "bytes/s", 0, "512KiB/s, 10MB/s (10,000,000), 10MiB/s (10,485,760)"

    def __init__(self, plural: str, short: str, milliseconds: int, examples: str) -> None:
        self.plural = plural
        self.short = short
        self.milliseconds = milliseconds
        self.examples = examples

    @property
    def is_time(self) -> bool:
        """Whether it is a unit of time."""
        return self.milliseconds > 0


TIMES = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
"""Unit -> milliseconds."""

SIZES = {
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgtp", start=1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgtp", start=1)},
}
"""Name of a unit in lower case -> its bytes."""

_AMOUNT = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,30})?) ?([A-Za-z]{1,5})(/s)?")


def unit_of(key: str) -> Unit:
    """Return the unit of a config key's number, derived from the key's name; NONE if the name does not show it."""
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
    """Return whether the text is a number followed by letters, so that it must be parsed as an amount with a unit."""
    return _AMOUNT.fullmatch(text) is not None


def parse_amount(text: str, unit: Unit) -> int:
    """Parse an amount such as ``7d`` and return the number in `unit`, exactly.

    Raises:
        ValueError: the text is not an amount of that unit, or the result would have a fraction. The message is for the
            operator.
    """
    found = _AMOUNT.fullmatch(text)
    if found is None or unit is Unit.NONE:
        raise ValueError(f"{text} is not a number with a unit")
    number, name, per_second = found.groups()
    divisor = 1
    if unit.is_time:
        factor = TIMES.get(name, 0) if not per_second else 0
        divisor = unit.milliseconds
    elif per_second and unit is not Unit.BYTES_PER_SECOND:
        raise ValueError(f"{text} is a rate, and a size is wanted: {number}{name}")
    else:
        factor = SIZES.get(name.lower(), 0)
        # Tools disagree on the meaning of these units: a guess could set a limit that is 10 % off for T.
        if not factor and name.lower() in ("k", "m", "g", "t", "p"):
            letter = name.upper()
            raise ValueError(f"{text} may mean {letter}B (powers of 1000) or {letter}iB (powers of 1024): write which")
    if not factor:
        raise ValueError(f"{text} is no amount of {unit.plural}; write for instance {unit.examples}")
    whole, _, decimals = number.partition(".")
    # Compute with integers: a float would round 0.1 of a large unit, and the broker would get another value than the
    # written one.
    divisor *= int("1" + "0" * len(decimals))
    amount, rest = divmod(int(whole + decimals) * factor, divisor)
    if rest:
        raise ValueError(f"{text} is not a whole number of {unit.plural}")
    return amount


def utc_time(milliseconds: int) -> str:
    """Return milliseconds since 1970 as a time in UTC, to the second; ``unknown`` for a negative number, ``after the
    year 9999`` for a later time.
    """
    at = time_of(milliseconds)
    if at is not None:
        return at.isoformat(timespec="seconds")
    return "unknown" if milliseconds < 0 else "after the year 9999"


def duration_text(milliseconds: int) -> str:
    """Return milliseconds as the shortest exact text that kac's language parses: ``7d``, ``90min``."""
    sizes = sorted(((size, unit) for unit, size in TIMES.items()), reverse=True)
    return next(f"{milliseconds // size}{unit}" for size, unit in sizes if milliseconds % size == 0)


__all__ = ["LONGEST_MS", "duration_text", "moment", "parse_duration"]

LONGEST_MS = 2**31 - 1
"""The longest timeout of a request in milliseconds, which is an int32 in the protocol."""


def parse_duration(text: str) -> int:
    """Parse a duration (a number with its unit), and return milliseconds, at least 1.

    Raises:
        ValueError: the text is not a duration, or is 0. The message is for the operator.
    """
    try:
        milliseconds = parse_amount(text, Unit.MILLISECONDS)
    except ValueError:
        raise ValueError(f"a duration is a number with a unit: {Unit.MILLISECONDS.examples}") from None
    if milliseconds < 1:
        raise ValueError("a duration must be greater than 0")
    return milliseconds


def moment(text: str, now: datetime) -> datetime:
    """Parse a point in time: ``2h`` (two hours ago), ``14:05`` (the last time that a clock showed it), ``2026-11-20``,
    ``2026-11-20T14:05``; in this host's time zone unless the text has an offset.

    Raises:
        ValueError: the text has another form. The message is for the operator.
    """
    here = now.astimezone()
    try:
        return now - timedelta(milliseconds=parse_duration(text))
    except ValueError:
        pass
    try:
        if len(text) <= 8 and ":" in text:
            clock = datetime.fromisoformat(f"{here:%Y-%m-%d}T{text:0>5}").astimezone()
            # A time of day is in the past: shortly after midnight, 23:50 means yesterday.
            return clock if clock <= here else clock - timedelta(days=1)
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r} is no time: 2h and 7d (ago), 14:05, 2026-11-20, 2026-11-20T14:05 and 2026-11-20T14:05Z are"
        ) from None

"""Amounts with units, as people read them: ``10 MB/s``, ``≈ 1.46 KiB``. Pure; runs on executors too: Python 3.10,
standard library.
"""

from __future__ import annotations

BINARY = (("PiB", 1 << 50), ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
DECIMAL = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))

_GROUPED = 1e21


def number(value: float) -> str:
    """Return a number without a needless fraction: ``2.0`` is ``2``; thousands are grouped. Beyond what Kafka's numbers
    are used for, and for infinity and NaN, as Python writes it: ``1e+300``, ``inf``, ``nan``."""
    if not abs(value) < _GROUPED:
        return f"{value:.4g}"
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.4g}" if abs(value) < 1 else f"{value:,.2f}"


def scaled(value: float, units: tuple[tuple[str, int], ...], base: str, suffix: str = "") -> str:
    """Return `value` in the largest unit of which it is a whole number below 1,000, else in the largest that fits: with
    two decimals where they are exact, with ``≈`` where not."""
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
    """Return ``10000000`` as ``10 MB/s``, ``1048576`` as ``1 MiB/s``: whichever is exact, decimal first. beside: a rate
    that it is compared with: both are told in one kind of byte."""
    if beside is not None:
        return scaled(per_second, _exact_units(beside) or DECIMAL, "B", "/s")
    return scaled(per_second, _exact_units(per_second) or DECIMAL, "B", "/s")


def _exact_units(per_second: float) -> tuple[tuple[str, int], ...] | None:
    """The kind of byte in which a rate is a whole number below a thousand, None where it is in neither."""
    for units in (DECIMAL, BINARY):
        for _, unit in units:
            if _GROUPED > per_second >= unit and per_second % unit == 0 and per_second // unit < 1000:
                return units
    return None


QUOTA_UNITS = {
    "producer_byte_rate": "B/s",
    "consumer_byte_rate": "B/s",
    "request_percentage": "%",
    "controller_mutation_rate": "mut/s",
    "connection_creation_rate": "conn/s",
}


def quota(key: str, value: float, beside: float | None = None) -> str:
    """Return a quota's value by its key, with its unit; the bare number for a key that is not Kafka's. beside: as in
    `byte_rate`."""
    unit = QUOTA_UNITS.get(key, "")
    return byte_rate(value, beside) if unit == "B/s" else f"{number(value)} {unit}".rstrip()


def measured_rate(key: str, value: float, limit: float | None = None) -> str:
    """Return a measured rate by the key of its quota: three figures are enough, and no ``≈`` is needed to say so.
    limit: what it is compared with."""
    sign = "-" if value < 0 else ""
    figures, space, unit = quota(key, float(f"{abs(value):.3g}"), limit).removeprefix("≈ ").partition(" ")
    if "." in figures:  # three figures of bytes are more of KiB
        figures = f"{float(figures.replace(',', '')):.3g}"
    return sign + figures + space + unit

"""Values of configs as people say them: ``604800000`` ms is ``7 d``; the amounts are `console.plan.amounts`'."""

from __future__ import annotations

from console.model.numbers import LONG_MAX, long_number
from console.plan.amounts import byte_count, byte_rate, duration, exact_quota, number, quota, size, size_range
from console.plan.units import Unit, unit_of

__all__ = [
    "byte_count",
    "byte_rate",
    "config_value",
    "duration",
    "exact_quota",
    "is_unlimited",
    "key_unit",
    "number",
    "quota",
    "size",
    "size_range",
]

_UNLIMITED_AT_MINUS_ONE = ("retention.ms", "retention.bytes", "retention.minutes", "retention.hours")
_SHORT = {
    Unit.MILLISECONDS: "ms",
    Unit.SECONDS: "s",
    Unit.MINUTES: "min",
    Unit.HOURS: "h",
    Unit.BYTES: "bytes",
    Unit.BYTES_PER_SECOND: "bytes/s",
}
_MILLISECONDS_IN = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000}


def key_unit(key: str) -> str:
    """What a config's number counts, by its name: ``ms``, ``s``, ``min``, ``h``, ``bytes``, ``bytes/s`` or ``""``."""
    return _SHORT.get(unit_of(key), "")


def is_unlimited(key: str, value: str | None) -> bool:
    """Whether the value says that there is no limit."""
    return value == "-1" and key.endswith(_UNLIMITED_AT_MINUS_ONE)


def config_value(key: str, value: str | None) -> str:
    """The human form of a config's value, ``""`` where the value says it already."""
    unit = key_unit(key)
    count = long_number(value)
    if not unit or count is None:
        return ""
    if count == LONG_MAX:
        return "max"
    if is_unlimited(key, value):
        return "no limit"
    if count <= 0:
        return ""
    if unit in ("bytes", "bytes/s"):
        text = byte_rate(count) if unit == "bytes/s" else byte_count(count)
    else:
        text = duration(count * _MILLISECONDS_IN[unit])
    return "" if text.replace(",", "") in (f"{count} {unit}", f"{count} B") else text

"""Values of configs and quotas: parses an operator's text into a value for brokers, and computes a key's value after an
edit.

Types are those of ConfigDef.Type, quota keys those of QuotaConfig, with the checks of ClientQuotaControlManager.
"""

from __future__ import annotations

import math

from console.model.codes import ConfigType
from console.model.config import ConfigEntry, ConfigResource, is_override, own_source
from console.model.inheritance import Inheritance
from console.model.numbers import has_number_form, is_decimal, is_whole, java_double
from console.model.quota import BY_KEY, QUOTA_KEYS
from console.model.unordered import UNORDERED, as_it_counts
from console.plan.amounts import Unit, has_unit, parse_amount, unit_of
from console.plan.edits import AppendConfig, ConfigEdit, SetConfig, UnsetConfig

BOOLEAN = ConfigType(1)
INT = ConfigType(3)
SHORT = ConfigType(4)
LONG = ConfigType(5)
DOUBLE = ConfigType(6)
LIST = ConfigType(7)

_BITS = {INT: 32, SHORT: 16, LONG: 64}

_FRACTION = 1e-6
"""A number counts as an integer if it differs by at most this from one, as in Kafka's ClientQuotaControlManager."""


def parse_value(key: str, type_: ConfigType, text: str) -> str:
    """Parse an operator's value of a config key, and return the text to send.

    Args:
        type_: the type of the key. If it is unknown (0), only an amount with a unit is converted.

    Raises:
        ValueError: the value does not fit the type. The message names the key, the given value and what is expected.
    """
    unit = unit_of(key)
    stripped = text.strip()
    match type_:
        case _ if type_ == BOOLEAN:
            if stripped.lower() not in ("true", "false"):
                raise ValueError(f"{key} is true or false, not {_quoted(text)}")
            return stripped.lower()
        case _ if type_ in _BITS:
            return _whole(key, type_, unit, stripped)
        case _ if type_ == DOUBLE:
            return _decimal(key, unit, stripped)
        case _ if type_ == LIST:
            items = items_of(text) if stripped else []
            # Remove repetitions only if the order has no meaning: in other lists they may be intended.
            return ",".join(dict.fromkeys(items) if key in UNORDERED else items)
        case _ if type_ == 0 and unit is not Unit.NONE and has_unit(stripped):
            return str(_amount(key, unit, stripped))
        case _:
            return text


def items_of(text: str) -> list[str]:
    """Return the items of a LIST as ConfigDef parses it: separated by commas, without blanks around them."""
    return [item.strip() for item in text.split(",")]


def _quoted(text: str) -> str:
    return f"'{text}'" if len(text) <= 60 else f"'{text[:57]}…'"


def _amount(key: str, unit: Unit, text: str) -> int:
    try:
        return parse_amount(text, unit)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def _whole(key: str, type_: ConfigType, unit: Unit, text: str) -> str:
    if unit is not Unit.NONE and has_unit(text):
        written = str(_amount(key, unit, text))
    elif is_whole(text):
        written = text
    else:
        counted = f" of {unit.plural}" if unit is not Unit.NONE else ""
        examples = f" (or, for instance, {unit.examples})" if unit is not Unit.NONE else ""
        raise ValueError(f"{key} is a whole number{counted}{examples}, not {_quoted(text)}")
    half = 1 << (_BITS[type_] - 1)
    if not -half <= int(written) < half:
        raise ValueError(f"{key} is from {-half} to {half - 1} ({type_.name}); {written} is beyond that")
    return written


def _decimal(key: str, unit: Unit, text: str) -> str:
    if unit is not Unit.NONE and has_unit(text):
        return str(_amount(key, unit, text))
    if not is_decimal(text):
        raise ValueError(f"{key} is a number such as 0.5, not {_quoted(text)}")
    return text


def canonical(type_: ConfigType, text: str) -> str:
    """Return a value in the form in which brokers describe it (ConfigDef.convertToString of the parsed value), so that
    texts with the same meaning are equal. A text that is invalid for the type is returned unchanged.
    """
    stripped = text.strip()
    match type_:
        case _ if type_ == BOOLEAN:
            return stripped.lower()
        case _ if type_ in _BITS and is_whole(stripped):
            return str(int(stripped))
        case _ if type_ == DOUBLE and is_decimal(stripped):
            return java_double(float(stripped))
        case _ if type_ == LIST and stripped:
            return ",".join(items_of(text))
        case _ if type_ == 2 or type_ == 8:
            return stripped
        case _:
            return text


def as_compared(key: str, type_: ConfigType, text: str) -> str:
    """Return a value in the form for comparisons, which is `canonical`; but if the order of a list has no meaning,
    its items are sorted, and each occurs once.
    """
    return as_it_counts(key, canonical(type_, text))


def same_value(type_: ConfigType, one: str, other: str) -> bool:
    """Return whether two texts of a config have the same meaning. Repeated items of a list count once, because Kafka
    4.3 keeps one of each, and older brokers keep all.
    """
    if type_ == LIST:
        return list(dict.fromkeys(items_of(one))) == list(dict.fromkeys(items_of(other)))
    return canonical(type_, one) == canonical(type_, other)


def parse_quota(key: str, text: str) -> float:
    """Parse a quota's value and return the number in the unit of its key: byte rates may have units, percentages ``%``,
    and rates ``/s``.

    Raises:
        ValueError: the key is not a quota's, or brokers would not accept the value. The message is for the operator.
    """
    quota = BY_KEY.get(key)
    if quota is None:
        raise ValueError(unknown_quota_key(key))
    written = text.strip()
    if not quota.is_byte_rate:
        value = _number(key, written.removesuffix(quota.suffix).rstrip(), f"20{quota.suffix}")
    elif has_unit(written):
        value = float(_amount(key, Unit.BYTES_PER_SECOND, written))
    else:
        value = _number(key, written.removesuffix(quota.suffix), Unit.BYTES_PER_SECOND.examples)
    problem = quota_problem(key, value)
    if problem:
        raise ValueError(problem)
    return value


def _number(key: str, text: str, example: str) -> float:
    if not has_number_form(text):
        raise ValueError(f"{key} is a number above 0 (for instance {example}), not {_quoted(text)}")
    return float(text)


def unknown_quota_key(key: str) -> str:
    """Return the message about a quota key that Kafka does not define."""
    return f"{key} is no quota; there are {', '.join(QUOTA_KEYS)}"


def quota_problem(key: str, value: float) -> str:
    """Return the reason why a broker would refuse a value, or would accept it although it is no limit (NaN, infinity);
    ``""`` for a valid value.
    """
    # Brokers accept NaN, which is neither above nor below any rate: such a quota limits no client.
    if not math.isfinite(value):
        return f"{key} is a finite number"
    if value <= 0:
        return f"{key} is above 0; to lift the limit, unset it"
    largest = BY_KEY[key].largest if key in BY_KEY else None
    if largest is not None and abs(value - round(value)) > _FRACTION:
        return f"{key} is a whole number, {value:g} is not"
    if largest is not None and value > largest:
        return f"{key} is at most {largest}"
    return ""


# -- a resource's own value of a key -----------------------------------------------------------------------------------


def own_text(entry: ConfigEntry | None, resource: ConfigResource) -> str | None:
    """Return the value to which the resource itself sets a key; None if it does not set the key, or the broker hides
    the value.
    """
    if entry is None or not is_override(entry, resource):
        return None
    own = own_source(resource)
    return next((synonym.value for synonym in entry.synonyms if synonym.source == own), entry.value)


def result_of(edit: ConfigEdit, entry: ConfigEntry | None, inheritance: Inheritance) -> str | None:
    """Return the value to which the resource itself sets a key after an edit; None if the edit removes it, or it is a
    secret.

    If the resource does not set a list, APPEND and SUBTRACT start from Kafka's default for the key, not from the
    inherited value (ConfigurationControlManager.getParts).
    """
    if isinstance(edit, UnsetConfig):
        return None
    if isinstance(edit, SetConfig):
        return edit.value if isinstance(edit.value, str) else None
    own = own_text(entry, edit.resource)
    # Start from the default, not from the inherited value, as the controller does: any other prediction would hide a
    # surprise.
    base = own if own is not None else inheritance.default(edit.resource, edit.key)
    return appended(base, edit.value) if isinstance(edit, AppendConfig) else subtracted(base, edit.value)


def appended(base: str | None, items: str) -> str:
    """Return a list after APPEND. Items that are already in it are not added again. base: the list; None for an empty
    one.
    """
    parts = parts_of(base)
    for item in items.split(","):
        if item not in parts:
            parts.append(item)
    return ",".join(parts)


def subtracted(base: str | None, items: str) -> str:
    """Return a list after SUBTRACT: the first occurrence of each item is removed, missing items are ignored. base: the
    list; None for an empty one.
    """
    parts = parts_of(base)
    for item in items.split(","):
        if item in parts:
            parts.remove(item)
    return ",".join(parts)


def parts_of(value: str | None) -> list[str]:
    """Return the items of a list as a controller splits it: blanks around items stay, and empty items are left out."""
    return [part for part in (value or "").split(",") if part]

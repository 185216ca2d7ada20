"""Whether a key can have a value, in Kafka's words (ConfigDef.parseType and its validators)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from console.embedded.configs.definitions import (
    BOOLEAN,
    CLASS,
    DOUBLE,
    INT,
    LIST,
    LONG,
    SHORT,
    ConfigDefinition,
)
from console.embedded.configs.java_values import decimal_number, decimal_text, trimmed, whole_number

Value = str | int | float | bool | tuple[str, ...]
_BITS = {INT: 32, SHORT: 16, LONG: 64}
_COMMA = re.compile(r"\s*,\s*", re.ASCII)
_DURATION = re.compile(r"P(?!$)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d{0,9})?S)?)?", re.IGNORECASE | re.ASCII)
_THROTTLED = re.compile(r"(\d+:\d+)?", re.ASCII)


class InvalidValue(ValueError):
    """A value that a key can't have; the text is Kafka's (ConfigException)."""

    def __init__(self, name: str, value: str, reason: str = "") -> None:
        super().__init__(f"Invalid value {value} for configuration {name}" + (f": {reason}" if reason else ""))


class InvalidConfig(ValueError):
    """A config that is wrong in another way; the text is Kafka's."""


def value_error(definition: ConfigDefinition, text: str) -> str | None:
    """Why the key can't have this value, None where it can."""
    try:
        checked(definition, text)
    except ValueError as error:
        return str(error)
    return None


def checked(definition: ConfigDefinition, text: str) -> Value:
    """The value of a text. Raises InvalidValue or InvalidConfig."""
    value = parsed(definition, text)
    rule = definition.rule
    if rule:
        _RULES[rule["rule"]](definition.name, value, rule)
    return value


def canonical(definition: ConfigDefinition | None, text: str) -> str:
    """A valid value as a broker tells it: ``TRUE`` as ``true``, ``a, b`` as ``a,b`` (ConfigDef.convertToString)."""
    return text if definition is None else shown(parsed(definition, text))


def parsed(definition: ConfigDefinition, text: str) -> Value:
    """The value of a text, whatever the bounds. Raises InvalidValue."""
    type_, stripped = definition.type, trimmed(text)
    if type_ == BOOLEAN:
        if stripped.lower() not in ("true", "false"):
            raise InvalidValue(definition.name, text, "Expected value to be either true or false")
        return stripped.lower() == "true"
    if type_ == LIST:
        parts = tuple(_COMMA.split(stripped)) if stripped else ()
        return tuple(dict.fromkeys(parts)) if definition.rule.get("distinct") else parts
    if type_ == CLASS and not _is_class(stripped):
        raise InvalidValue(definition.name, text, f"Class {text} could not be found.")
    try:
        if type_ in _BITS:
            return whole_number(stripped, _BITS[type_])
        if type_ == DOUBLE:
            return decimal_number(stripped)
    except ValueError:
        raise InvalidValue(definition.name, text, f"Not a number of type {type_.name}") from None
    return stripped


def shown(value: Value) -> str:
    """A value as text, as Java writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return decimal_text(value)
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _is_class(name: str) -> bool:
    """Whether a broker without others' jars could load this class."""
    return name.startswith(("org.apache.kafka.", "kafka.", "java."))


def _range(name: str, value: Value, rule: Mapping[str, Any]) -> None:
    assert isinstance(value, int | float)
    low, high = rule["min"], rule["max"]
    if low is not None and value < low:
        raise InvalidValue(name, shown(value), f"Value must be at least {low}")
    if high is not None and value > high:
        raise InvalidValue(name, shown(value), f"Value must be no more than {high}")


def _one_of(name: str, value: Value, rule: Mapping[str, Any]) -> None:
    if value not in rule["values"]:
        raise InvalidValue(name, str(value), f"String must be one of: {', '.join(rule['values'])}")


def _one_of_any_case(name: str, value: Value, rule: Mapping[str, Any]) -> None:
    if str(value).upper() not in rule["values"]:
        options = ", ".join(rule["values"])
        raise InvalidValue(name, str(value), f"String must be one of (case insensitive): {options}")


def _list_of(name: str, value: Value, rule: Mapping[str, Any]) -> None:
    assert isinstance(value, tuple)
    options = rule["values"]
    if not value and not rule["empty"]:
        expected = ", ".join(options)
        raise InvalidConfig(
            f"Configuration '{name}' must not be empty. Valid values include: "
            + (f"[{expected}]" if options else "any non-empty value")
        )
    for part in value:
        if rule["distinct"] and not part:
            raise InvalidConfig(f"Configuration '{name}' values must not be empty.")
        if options:
            _one_of(name, part, rule)


def _throttled_replicas(name: str, value: Value, _: Mapping[str, Any]) -> None:
    assert isinstance(value, tuple)
    if all(_THROTTLED.fullmatch(part) for part in value) or "".join(value).strip() == "*":
        return
    raise InvalidValue(
        name,
        f"[{', '.join(value)}]",
        f"{name} must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
    )


def _not_empty(name: str, value: Value, _: Mapping[str, Any]) -> None:
    if not value:
        raise InvalidValue(name, "", "String must be non-empty")


def _level_or_default(name: str, value: Value, _: Mapping[str, Any]) -> None:
    assert isinstance(value, int)
    if value != -1 and not 1 <= value <= 9:
        raise InvalidValue(name, shown(value), "Value must be between 1 and 9 or equal to -1")


def _positive_or_default(name: str, value: Value, _: Mapping[str, Any]) -> None:
    assert isinstance(value, int)
    if value < -1 or not value:
        raise InvalidValue(name, shown(value), "Value can be -1 or greater than 0")


def _metadata_version(name: str, value: Value, rule: Mapping[str, Any]) -> None:
    """One of the versions, or a release of it: ``2.8-IV1``, ``2.8``, ``2.8.2`` (ApiVersion, MetadataVersion)."""
    text = str(value)
    versions = rule["text"].strip("[]").split(", ")
    known = {*versions, *(version.partition("-")[0] for version in versions)}
    if ".".join(text.split(".")[: 3 if text.startswith("0.") else 2]) not in known:
        quote = rule["quote"]
        raise InvalidValue(name, text, f"Version {quote}{text}{quote} is not a valid version")


def _offset_reset(name: str, value: Value, _: Mapping[str, Any]) -> None:
    """(ShareGroupAutoOffsetResetStrategy)"""
    text = str(value)
    kind, colon, duration = text.partition(":")
    if text in ("earliest", "latest") or (kind == "by_duration" and colon and _DURATION.fullmatch(duration)):
        return
    raise InvalidValue(
        name,
        text,
        f"Invalid value `{text}` for configuration {name}. The value must be either 'earliest', 'latest' or of the "
        "format 'by_duration:<PnDTnHnMn.nS>'.",
    )


_RULES: Mapping[str, Callable[[str, Value, Mapping[str, Any]], None]] = {
    "range": _range,
    "one_of": _one_of,
    "one_of_any_case": _one_of_any_case,
    "list_of": _list_of,
    "throttled_replicas": _throttled_replicas,
    "metadata_version": _metadata_version,
    "not_empty": _not_empty,
    "level_or_default": _level_or_default,
    "positive_or_default": _positive_or_default,
    "offset_reset": _offset_reset,
}

"""What the configs of groups and of client metrics' subscriptions may be (GroupConfig, ClientMetricsConfigs)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kio.schema.errors import ErrorCode

from console.embedded.configs.inheritance import BrokerLayers
from console.embedded.configs.java_values import trimmed, whole_number
from console.embedded.configs.problems import ConfigProblem
from console.embedded.configs.value_rules import checked, parsed

_KINDS = ("consumer", "share", "streams")
_MATCHED = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)
_SIDES = ("min", "max")
_SHORTEST_MS, _LONGEST_MS = 100, 3_600_000


def check_group(layers: BrokerLayers, own: Mapping[str, str]) -> None:
    """Raises ConfigProblem or ValueError for the first thing that is wrong with a group's configs."""
    definitions = layers.configs.group
    unknown = next((key for key in own if key not in definitions), None)
    if unknown is not None:
        raise ConfigProblem(ErrorCode.invalid_config, f"Unknown group config name: {unknown}")
    values: dict[str, int | str] = {}
    for name, definition in definitions.items():
        text = own.get(name, definition.default)
        if text is not None:
            value = checked(definition, text)
            values[name] = value if isinstance(value, int) else str(value)
    for name in _bounded_keys(layers):
        _check_bounds(layers, name, int(values[name]))
    for kind in _KINDS:
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if int(values[session]) <= int(values[heartbeat]):
            raise ConfigProblem(ErrorCode.invalid_config, f"{session} must be greater than {heartbeat}")


def _bounded_keys(layers: BrokerLayers) -> list[str]:
    """Those for which brokers have a least or a greatest value: of each kind of group the heartbeats first."""
    bounded = [name for name in layers.configs.group if any(_bound(layers, name, side) is not None for side in _SIDES)]
    return sorted(bounded, key=lambda name: (name.partition(".")[0], "heartbeat" not in name))


def _bound(layers: BrokerLayers, name: str, side: str) -> str | None:
    """The broker's key of the bound: ``group.consumer.max.session.timeout.ms``."""
    kind, _, rest = name.partition(".")
    rest = rest.removeprefix("num.") if side == "max" else rest
    key = f"group.{kind}.{side}.{rest}"
    return key if key in layers.configs.broker else None


def _check_bounds(layers: BrokerLayers, name: str, value: int) -> None:
    least, most = (_bound(layers, name, side) for side in _SIDES)
    if least is not None and value < int(layers.value(least) or 0):
        raise ConfigProblem(ErrorCode.invalid_config, f"{name} must be greater than or equal to {least}")
    if most is not None and value > int(layers.value(most) or 0):
        raise ConfigProblem(ErrorCode.invalid_config, f"{name} must be less than or equal to {most}")


def check_client_metrics(layers: BrokerLayers, own: Mapping[str, str], *, modern: bool) -> None:
    """The same for a subscription. modern: since 4.0 values are read as their types."""
    definitions = layers.configs.client_metrics
    unknown = next((key for key in own if key not in definitions), None)
    if unknown is not None:
        raise ConfigProblem(ErrorCode.invalid_request, f"Unknown client metrics configuration: {unknown}")
    if modern:
        for key, text in own.items():
            checked(definitions[key], text)
    if "interval.ms" in own:
        interval = _interval(own["interval.ms"], modern)
        if not _SHORTEST_MS <= interval <= _LONGEST_MS:
            raise ConfigProblem(
                ErrorCode.invalid_request,
                f"Invalid value {interval} for interval.ms, interval must be between 100 and 3600000 (1 hour)",
            )
    if "match" in own:
        patterns = parsed(definitions["match"], own["match"]) if modern else own["match"].split(",")
        assert not isinstance(patterns, str | int | float)
        for pattern in patterns:
            if not _is_match(pattern):
                raise ConfigProblem(ErrorCode.invalid_config, f"Illegal client matching pattern: {pattern}")


def _interval(text: str, modern: bool) -> int:
    try:
        return whole_number(trimmed(text) if modern else text, 32)
    except ValueError:
        raise ConfigProblem(ErrorCode.unknown_server_error) from None


def _is_match(pattern: str) -> bool:
    name, _, expression = pattern.partition("=")
    if name.strip() not in _MATCHED or not expression or "=" in expression:
        return False
    try:
        re.compile(expression.strip())
    except re.error:
        return False
    return True

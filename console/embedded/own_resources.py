"""The rules of brokers for those types of resources that have configs and nothing else, and the differences between the
types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.config_changes import ConfigProblem, invalid_config, invalid_request
from console.embedded.config_definitions import BrokerLayers, checked_value, parsed_value
from console.embedded.java import trimmed, whole_number
from console.embedded.spec import Release
from console.model.codes import CLIENT_METRICS, ResourceType

_TYPES_FROM = (4, 0)
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
_SHORTEST_MS, _LONGEST_MS = 100, 3_600_000


class OwnResource(NamedTuple):
    """The rules for one type of resource."""

    check: Callable[[BrokerLayers, Mapping[str, str], Release], None]
    """Function of (a broker's layers, the resource's configs, release) that raises ConfigProblem or ValueError for the
    first error.
    """
    misnamed: str
    """The message for an invalid name in a DescribeConfigs request."""
    misnamed_altered: str
    """The message for an invalid name in a request that changes configs."""
    defaults_from: tuple[int, int] = (0, 0)
    """The first release in which brokers also return keys that are not set, with their defaults."""


_DIFFERENT: Mapping[ResourceType, OwnResource] = {
    CLIENT_METRICS: OwnResource(
        lambda layers, own, release: check_client_metrics(layers, own, modern=release.number >= _TYPES_FROM),
        "Client metrics subscription name must not be empty",
        "Subscription name can't be empty",
        (4, 1),
    )
}


def own_resource(type_: ResourceType) -> OwnResource:
    """Return the rules for a type. For a type without special rules, only the definitions of its keys are checked."""
    wrong = f"This can't be {type_.entity.one}'s name"
    return _DIFFERENT.get(type_) or OwnResource(
        lambda layers, own, _release: check_own(layers, type_, own), wrong, wrong
    )


def check_own(layers: BrokerLayers, type_: ResourceType, own: Mapping[str, str], *, typed: bool = True) -> None:
    """Check a resource's configs by the definitions of its type's keys. typed: whether to check the values, not only
    the keys. Raises ConfigProblem or ValueError for the first error.
    """
    definitions = layers.configs.others[type_]
    unknown = next((key for key in own if key not in definitions), None)
    if unknown is not None:
        message = f"Unknown {type_.entity.spoken} configuration: {unknown}"
        raise invalid_request(message)
    if typed:
        for key, text in own.items():
            checked_value(definitions[key], text)


def check_client_metrics(layers: BrokerLayers, own: Mapping[str, str], *, modern: bool) -> None:
    """Check the configs of a client metrics subscription (ClientMetricsConfigs). modern: whether to check the values by
    type, as brokers since 4.0 do. Raises ConfigProblem or ValueError for the first error.
    """
    check_own(layers, CLIENT_METRICS, own, typed=modern)
    definitions = layers.configs.others[CLIENT_METRICS]
    if "interval.ms" in own:
        interval = _metrics_interval(own["interval.ms"], modern)
        if not _SHORTEST_MS <= interval <= _LONGEST_MS:
            raise invalid_request(
                f"Invalid value {interval} for interval.ms, interval must be between 100 and 3600000 (1 hour)"
            )
    if "match" in own:
        patterns = parsed_value(definitions["match"], own["match"]) if modern else own["match"].split(",")
        assert not isinstance(patterns, str | int | float)
        for pattern in patterns:
            if not _is_match(pattern):
                raise invalid_config(f"Illegal client matching pattern: {pattern}")


def _metrics_interval(text: str, modern: bool) -> int:
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

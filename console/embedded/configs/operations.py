"""What IncrementalAlterConfigs' operations make of a resource's overrides, on a broker and on a controller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.configs.definitions import ConfigDefinition, Definitions
from console.embedded.configs.messages import ConfigMessages
from console.embedded.configs.problems import ConfigProblem
from console.embedded.state.java_hash import hash_order
from console.model.codes import APPEND, DELETE, SET, SUBTRACT, AlterOp

MOST_CHARACTERS = 32767
"""What a record holds of a value."""


class Operation(NamedTuple):
    """One key's change; `code` is any number that a client sends."""

    key: str
    code: AlterOp
    value: str | None


def check_operations(operations: Iterable[Operation], said: ConfigMessages) -> None:
    """Raises ConfigProblem where a key comes twice or has no value."""
    keys = [operation.key for operation in operations]
    twice = [key for key in dict.fromkeys(keys) if keys.count(key) > 1]
    if twice:
        raise ConfigProblem(ErrorCode.invalid_request, said.duplicate_keys.format(keys=",".join(twice)))
    missing = [
        said.null_shown.format(operation=operation.code.name, key=operation.key)
        for operation in operations
        if operation.value is None and operation.code != DELETE
    ]
    if missing:
        separator = ", " if said.null_shown == "{key}" else ","
        raise ConfigProblem(ErrorCode.invalid_request, said.null_values + separator.join(missing))


def altered_by_broker(
    operations: Iterable[Operation], now: Mapping[str, str], definitions: Definitions, said: ConfigMessages
) -> dict[str, str]:
    """What a broker takes the overrides to become (ConfigAdminManager.prepareIncrementalConfigs; with ZooKeeper that
    is what they do become). Raises ConfigProblem."""
    kraft = not said.lists_as_written
    result = dict(now)
    for key, code, value in operations:
        if code == DELETE:
            result.pop(key, None)
            continue
        assert value is not None
        if code == SET:
            result[key] = value
        elif code in (APPEND, SUBTRACT):
            definition = _list_definition(key, code, definitions, said)
            old = result.get(key, definition.default or "").split(",")
            given = value.split(",")
            if code == SUBTRACT:
                parts = _without(old, given)
            elif kraft:
                old = [part for part in old if part]
                parts = old + [part for part in given if part not in old]
            else:
                parts = old + given
            result[key] = ",".join(parts)
        elif kraft:
            raise ConfigProblem(ErrorCode.invalid_request, f"Unknown operations type {int(code)}")
        else:
            raise ConfigProblem(ErrorCode.unknown_server_error)
    return result


def _list_definition(key: str, code: AlterOp, definitions: Definitions, said: ConfigMessages) -> ConfigDefinition:
    definition = definitions.get(key)
    if definition is None:
        if said.unknown_appended is None:
            raise ConfigProblem(ErrorCode.unknown_server_error)
        raise ConfigProblem(ErrorCode.invalid_config, said.unknown_appended.format(key=key))
    if not definition.is_list:
        wrong = ErrorCode.invalid_request if said.lists_as_written else ErrorCode.invalid_config
        raise ConfigProblem(wrong, f"Config value {code.name.lower()} is not allowed for config key: {key}")
    return definition


def _without(parts: list[str], gone: list[str]) -> list[str]:
    """Each of the gone ones takes one away (List.diff, List.remove)."""
    rest = list(parts)
    for part in gone:
        if part in rest:
            rest.remove(part)
    return rest


def altered_by_controller(
    operations: Iterable[Operation], now: Mapping[str, str], definitions: Definitions, said: ConfigMessages
) -> dict[str, str | None]:
    """Each key's new value, None for one that is deleted (ConfigurationControlManager). Raises ConfigProblem, and
    ControllerFailure."""
    result: dict[str, str | None] = {}
    by_key = {operation.key: operation for operation in operations}
    for key in hash_order(by_key):
        _, code, value = by_key[key]
        if code == SET:
            result[key] = value
        elif code == DELETE:
            result[key] = None
        elif code in (APPEND, SUBTRACT):
            assert value is not None
            definition = definitions.get(key)
            if definition is None or not definition.is_list:
                raise ConfigProblem(
                    ErrorCode.invalid_config, f"Can't {code.name} to key {key} because its type is not LIST."
                )
            text = now.get(key, definition.default) or ""
            parts = [part for part in text.split(",") if part]
            if code == SUBTRACT:
                parts = _without(parts, value.split(","))
            else:
                for part in value.split(","):
                    if part not in parts:
                        parts.append(part)
            result[key] = ",".join(parts)
        else:
            raise ControllerFailure
        if len(result[key] or "") > MOST_CHARACTERS:
            if said.too_long is None:
                raise ControllerFailure
            raise ConfigProblem(ErrorCode.invalid_config, said.too_long)
    return result


class ControllerFailure(Exception):
    """What a controller can't do, and does not look for: the whole request fails."""

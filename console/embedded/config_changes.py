"""Changes of configs: the operations of a request, their results, log levels, and Kafka's messages in each release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kio.schema.errors import ErrorCode
from msgspec import Struct

from console.embedded.config_definitions import ConfigDefinition, Definitions, release_configs
from console.embedded.java import hash_order
from console.embedded.spec import since
from console.model.acl import CLUSTER_NAME
from console.model.codes import APPEND, DELETE, SET, SUBTRACT, AlterOp
from console.model.config import ConfigResource


class ConfigProblem(Exception):
    """A refusal of a config change, with its error code and message. The message is None if Kafka sends none.

    An invalid value raises ValueError instead, because its error code depends on the node that refuses it: an
    ApiException keeps its own code; a ConfigException becomes INVALID_CONFIG at a controller and INVALID_REQUEST at a
    broker.
    """

    def __init__(self, code: int, message: str | None = None) -> None:
        super().__init__(message or f"error {code}")
        self.code = code
        self.message = message


def invalid_config(message: str) -> ConfigProblem:
    """Return a problem with the error code INVALID_CONFIG."""
    return ConfigProblem(ErrorCode.invalid_config, message)


def invalid_request(message: str) -> ConfigProblem:
    """Return a problem with the error code INVALID_REQUEST."""
    return ConfigProblem(ErrorCode.invalid_request, message)


class PolicyViolation(ConfigProblem):
    """A change is refused by a policy. The exception's text is the message for the client."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.policy_violation, message)


MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
WRONG_BROKER = "Unexpected broker id, expected {own}, but received {name}"
RESOURCE_TWICE = "Each resource must appear at most once."


class ConfigMessages(Struct, frozen=True):
    """The parts of error messages that differ between releases, as measured on real brokers."""

    key_set: str
    """The format in which a message prints a set of keys."""
    security_key_set: str
    unknown_appended: str | None
    wrong_logger_broker: str
    too_long: str | None
    one_set: bool
    """Whether a message prints all keys that `keys` gets as one set, in one order. If not, it prints `more` after
    `names`.
    """

    def keys(self, names: Iterable[str], more: Iterable[str] = ()) -> str:
        """Return a set of keys in the form of a message. more: further keys of the set, which are printed after
        `names` unless `one_set`.
        """
        shown = hash_order([*names, *more]) if self.one_set else [*hash_order(names), *hash_order(more)]
        return self.key_set.format(", ".join(shown))

    def security_keys(self, names: Iterable[str]) -> str:
        """Return a set of security keys in the form of a message. names: the keys, which have no listener's prefix."""
        return self.security_key_set.format(", ".join(hash_order(names)))


_MESSAGES: Mapping[str, ConfigMessages] = {
    "3.9": ConfigMessages(
        key_set="Set({})",
        security_key_set="HashSet({})",
        unknown_appended=None,
        wrong_logger_broker="Unexpected node id. Expected {own}, but received {own}",
        too_long=None,
        one_set=False,
    ),
    "4.4": ConfigMessages(
        key_set="[{}]",
        security_key_set="[{}]",
        unknown_appended="Unknown config name: {key}",
        wrong_logger_broker="Unexpected node id. Expected {own}, but received {name}",
        too_long="The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes.",
        one_set=True,
    ),
}
NODE_NOT_NUMBER = "Node id must be an integer, but it is: {name}"


def config_messages(release: str) -> ConfigMessages:
    """Return the messages of a release, by its name such as ``4.3``."""
    return since(_MESSAGES, release)


MOST_CHARACTERS = 32767
"""Maximum number of characters of a config value in a metadata record."""


class Operation(NamedTuple):
    """A requested operation on one config key."""

    key: str
    code: AlterOp
    """The number of the operation as the client sent it, which may be invalid."""
    value: str | None


def check_operations(operations: Iterable[Operation]) -> None:
    """Raise ConfigProblem if a key occurs twice, or an operation lacks its value."""
    keys = [operation.key for operation in operations]
    if len(set(keys)) < len(keys):
        raise invalid_request("Error due to duplicate config keys")
    missing = [operation.key for operation in operations if operation.value is None and operation.code != DELETE]
    if missing:
        raise invalid_request(f"Null value not supported for : {', '.join(missing)}")


def altered_by_broker(
    operations: Iterable[Operation], now: Mapping[str, str], definitions: Definitions, texts: ConfigMessages
) -> dict[str, str]:
    """Return key -> value of the overrides after the operations, as a broker computes them for its checks
    (ConfigAdminManager.prepareIncrementalConfigs). now: the present overrides.

    Raises ConfigProblem.
    """
    result = dict(now)
    for key, code, value in operations:
        if code == DELETE:
            result.pop(key, None)
            continue
        assert value is not None
        if code == SET:
            result[key] = value
        elif code in (APPEND, SUBTRACT):
            definition = _list_definition(key, code, definitions, texts)
            old = result.get(key, definition.default or "").split(",")
            given = value.split(",")
            if code == SUBTRACT:
                parts = _without(old, given)
            else:
                # An empty list has no entries instead of one empty entry, and an existing value is not added twice.
                old = [part for part in old if part]
                parts = old + [part for part in given if part not in old]
            result[key] = ",".join(parts)
        else:
            raise invalid_request(f"Unknown operations type {int(code)}")
    return result


def _list_definition(key: str, code: AlterOp, definitions: Definitions, texts: ConfigMessages) -> ConfigDefinition:
    definition = definitions.get(key)
    if definition is None:
        if texts.unknown_appended is None:
            raise ConfigProblem(ErrorCode.unknown_server_error)
        raise invalid_config(texts.unknown_appended.format(key=key))
    if not definition.is_list:
        raise invalid_config(f"Config value {code.name.lower()} is not allowed for config key: {key}")
    return definition


def _without(parts: list[str], gone: list[str]) -> list[str]:
    """Return a list of values without one occurrence of each value in `gone` (List.diff, List.remove)."""
    rest = list(parts)
    for part in gone:
        if part in rest:
            rest.remove(part)
    return rest


def altered_by_controller(
    operations: Iterable[Operation], now: Mapping[str, str], definitions: Definitions, texts: ConfigMessages
) -> dict[str, str | None]:
    """Return key -> new value, None for a deleted key, as the controller computes it (ConfigurationControlManager).
    now: the present overrides.

    Raises ConfigProblem and ControllerFailure.
    """
    result: dict[str, str | None] = {}
    # Use the order of a Java HashMap: if there are several errors, the order decides which one Kafka reports.
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
                raise invalid_config(f"Can't {code.name} to key {key} because its type is not LIST.")
            # Ignore an inherited value, as Kafka's controller starts from the default.
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
            # A record can't contain such a long value. Older controllers do not check the length before they write, so
            # the whole request fails.
            if texts.too_long is None:
                raise ControllerFailure
            raise invalid_config(texts.too_long)
    return result


class ControllerFailure(Exception):
    """An error in the controller, because of which it refuses the whole request."""


class ConfigChange(Struct, frozen=True):
    """The requested change of one resource."""

    resource: ConfigResource
    operations: tuple[Operation, ...]
    replaces: bool = False
    """Whether the change also deletes all overrides that it does not name, as AlterConfigs does."""


class AuthorizationProblem(ConfigProblem):
    """The principal lacks the right to a change. resource: the resource type and name to which the right applies, in
    the form of `RequestContext.allowed`.
    """

    def __init__(self, code: int, message: str | None, resource: tuple[str, str]) -> None:
        super().__init__(code, message)
        self.resource = resource


def authorization_problem(resource: ConfigResource, *, with_message: bool = True) -> AuthorizationProblem:
    """Return the error that the principal lacks the right to a resource's configs; for some types that is a right on
    the cluster.
    """
    guard = resource.type.entity.guard
    code = ErrorCode[f"{guard.lower()}_authorization_failed"]
    message = f"{guard.capitalize()} authorization failed." if with_message else None
    return AuthorizationProblem(code, message, (guard, CLUSTER_NAME if guard == "CLUSTER" else resource.name))


ROOT = "root"
LEVELS = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")
"""The valid log levels (LogLevelConfig.VALID_LOG_LEVELS)."""
_CONFIGURED: Mapping[str, str] = {ROOT: "INFO", "kafka.request.logger": "WARN"}
"""Logger -> its level in the configuration file of a broker's logging."""


class Loggers:
    """The log levels of each broker. Changed levels are lost when the broker's process ends."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._changed: dict[int, dict[str, str | None]] = {}

    @classmethod
    def of(cls, release: str) -> Loggers:
        """Return the loggers of a release's brokers."""
        return cls(release_configs(release).loggers)

    def levels(self, broker_id: int) -> dict[str, str]:
        """Return logger -> level, for all loggers of a broker. A logger without a level of its own has that of its
        nearest parent.
        """
        own = {**_CONFIGURED, **self._changed.get(broker_id, {})}
        return {name: _level(name, own) for name in self._names}

    def exists(self, name: str) -> bool:
        """Return whether brokers have a logger with this name."""
        return name in self._names

    def change(self, broker_id: int, levels: Mapping[str, str | None]) -> None:
        """Set levels of loggers on a broker. levels: logger -> level; None removes the logger's own level."""
        self._changed.setdefault(broker_id, {}).update(levels)

    def forget(self, broker_id: int) -> None:
        """Drop the changed levels of a broker because its process has ended."""
        self._changed.pop(broker_id, None)


def _level(name: str, own: Mapping[str, str | None]) -> str:
    while name:
        level = own.get(name)
        if level is not None:
            return level
        name = name.rpartition(".")[0]
    return own[ROOT] or "INFO"


def alter_loggers(loggers: Loggers, broker_id: int, operations: Iterable[Operation], validate_only: bool) -> None:
    """Change the levels of a broker's loggers, all or none (RuntimeLoggerManager). Raises ConfigProblem. validate_only:
    whether to check only.
    """
    levels: dict[str, str | None] = {}
    for name, code, value in operations:
        if code in (APPEND, SUBTRACT):
            raise invalid_request(f"{code.name} operation is not allowed for the BROKER_LOGGER resource")
        if code not in (SET, DELETE):
            raise ConfigProblem(ErrorCode.unknown_server_error)
        if not loggers.exists(name):
            raise invalid_config(f"Logger {name} does not exist!")
        if code == SET and value not in LEVELS:
            raise invalid_config(
                f"Cannot set the log level of {name} to {value} as it is not a supported log level. "
                f"Valid log levels are {', '.join(LEVELS)}",
            )
        if code == DELETE and name == ROOT:
            raise invalid_request("Removing the log level of the root logger is not allowed")
        levels[name] = value if code == SET else None
    if not validate_only:
        loggers.change(broker_id, levels)

"""The log levels of each broker: changed at once, told by DescribeConfigs, and gone with the broker's process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kio.schema.errors import ErrorCode

from console.embedded.configs.definitions import release_configs
from console.embedded.configs.messages import ConfigMessages
from console.embedded.configs.operations import Operation
from console.embedded.configs.problems import ConfigProblem
from console.model.codes import APPEND, DELETE, SET, SUBTRACT

ROOT = "root"
LEVELS = frozenset({"DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN"})
"""(LogLevelConfig.VALID_LOG_LEVELS)"""
_CONFIGURED: Mapping[str, str] = {ROOT: "INFO", "kafka.request.logger": "WARN"}
"""What a logging file sets."""


class Loggers:
    """Which loggers there are, and at what level; a change does not outlive the broker's process."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._changed: dict[int, dict[str, str | None]] = {}

    @classmethod
    def of(cls, release: str) -> Loggers:
        """Those that brokers of a release have."""
        return cls(release_configs(release).loggers)

    def levels(self, broker_id: int) -> dict[str, str]:
        """Logger -> level on a broker; one without its own has that of the nearest one above it."""
        own = {**_CONFIGURED, **self._changed.get(broker_id, {})}
        return {name: _level(name, own) for name in self._names}

    def exists(self, name: str) -> bool:
        """Whether brokers have this logger."""
        return name in self._names

    def change(self, broker_id: int, levels: Mapping[str, str | None]) -> None:
        """Set levels on a broker; None takes a logger's own away."""
        self._changed.setdefault(broker_id, {}).update(levels)

    def forget(self, broker_id: int) -> None:
        """A broker's process has ended."""
        self._changed.pop(broker_id, None)


def _level(name: str, own: Mapping[str, str | None]) -> str:
    while name:
        level = own.get(name)
        if level is not None:
            return level
        name = name.rpartition(".")[0]
    return own[ROOT] or "INFO"


def alter_loggers(
    loggers: Loggers, broker_id: int, operations: Iterable[Operation], said: ConfigMessages, validate_only: bool
) -> None:
    """Change levels, all or none (RuntimeLoggerManager). Raises ConfigProblem, with ZooKeeper ValueError too."""
    levels: dict[str, str | None] = {}
    for name, code, value in operations:
        if code in (APPEND, SUBTRACT):
            raise ConfigProblem(
                ErrorCode.invalid_request, f"{code.name} operation is not allowed for the BROKER_LOGGER resource"
            )
        if code not in (SET, DELETE):
            raise ConfigProblem(ErrorCode.unknown_server_error)
        if not loggers.exists(name):
            raise _wrong(f"Logger {name} does not exist!", said)
        if code == SET and value not in LEVELS:
            raise _wrong(
                f"Cannot set the log level of {name} to {value} as it is not a supported log level. "
                f"Valid log levels are {said.log_levels}",
                said,
            )
        if code == DELETE and name == ROOT:
            raise ConfigProblem(ErrorCode.invalid_request, "Removing the log level of the root logger is not allowed")
        levels[name] = value if code == SET else None
    if not validate_only:
        loggers.change(broker_id, levels)


def _wrong(message: str, said: ConfigMessages) -> Exception:
    return ValueError(message) if said.lists_as_written else ConfigProblem(ErrorCode.invalid_config, message)

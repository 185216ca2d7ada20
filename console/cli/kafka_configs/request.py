"""The conversion of arguments to a request, with the checks that kafka-configs makes before it connects, in its order
and words.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable

from msgspec import Struct

from console.cli.kafka_configs import command_line
from console.model.codes import ResourceType
from console.model.config import ConfigResource
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity

_INT = re.compile(r"[+-]?[0-9]+")
_WITH_DEFAULT = tuple(type_ for type_, each in command_line.BY_TYPE.items() if each.has_default)
_AT_BROKER = tuple(type_ for type_, each in command_line.BY_TYPE.items() if each.at_broker)


class ConfigsRequest(Struct, frozen=True):
    """A request of `kac configs`, with all checks passed that need no cluster. `types` and `names` are parallel, in
    kafka-configs' order.
    """

    alter: bool
    types: tuple[str, ...]
    """The values of --entity-type, in kafka-configs' order."""
    names: tuple[str, ...]
    """The names of the entities, ``""`` for a default. If --describe is for all entities of a type, that type has no
    name here.
    """
    all: bool = False
    added: str | None = None
    """The text of --add-config; None if it is not given."""
    file: str | None = None
    """The text of --add-config-file; None if it is not given."""
    deleted: tuple[str, ...] = ()
    validate_only: bool = False
    force: bool = False
    accept: str = ""
    """The text of --accept; empty if it is not given."""
    output: str | None = None

    @property
    def type(self) -> str:
        """The type of the first entity, which kafka-configs names in its messages."""
        return self.types[0]

    @property
    def name(self) -> str | None:
        """The name of the first entity; None if all entities are requested."""
        return self.names[0] if self.names else None


def resolvable(host: str) -> bool:
    """Return whether a host is an IP address or a name that can be resolved, as Java's InetAddress.getByName
    decides.
    """
    try:
        socket.getaddrinfo(host or "localhost", None)
    except (OSError, UnicodeError):
        return False
    return True


def request_of(arguments: command_line.Arguments, *, is_host: Callable[[str], bool] = resolvable) -> ConfigsRequest:
    """Return the request in the arguments. Raises UsageError: they are invalid.

    The arguments need not name a cluster, since a context may do that. is_host: returns whether a text is the address
    of a host.
    """
    if arguments.has("alter") == arguments.has("describe"):
        raise command_line.UsageError("Command must include exactly one action: --describe, --alter", usage=True)
    if arguments.has("describe"):
        for other in ("add-config", "delete-config"):
            if arguments.has(other):
                raise command_line.UsageError(f'Option "[describe]" can\'t be used with option "[{other}]"', usage=True)
    types = _types(arguments)
    names = _names(arguments)
    _check_types(arguments, types)
    _check_names(arguments, types, names, is_host)
    if arguments.has("describe"):
        _check_describe(arguments, types, names)
    else:
        _check_alter(arguments, types, names)
    _check_words(arguments)
    request = ConfigsRequest(
        alter=arguments.has("alter"),
        types=types,
        names=names,
        all=arguments.has("all"),
        added=arguments.value("add-config"),
        file=arguments.value("add-config-file"),
        deleted=arguments.values("delete-config"),
        validate_only=arguments.has("validate-only"),
        force=arguments.has("force"),
        accept=arguments.value("accept") or "",
        output=_output(arguments),
    )
    if request.alter and len(types) != len(names):
        raise command_line.UsageError("An entity name must be specified for every entity type")
    if len(names) > len(types) and set(types) <= {command_line.USERS, command_line.CLIENTS, command_line.IPS}:
        raise command_line.UsageError("More entity names specified than entity types")
    return request


def _types(arguments: command_line.Arguments) -> tuple[str, ...]:
    named = [command_line.TYPE_ALIASES.get(type_, type_) for type_ in arguments.values("entity-type")]
    flags = {**command_line.ENTITY_FLAGS, **command_line.DEFAULT_FLAGS}
    return (*named, *(type_ for flag, type_ in flags.items() if arguments.has(flag)))


def _names(arguments: command_line.Arguments) -> tuple[str, ...]:
    named = [each.value or "" for each in arguments.given if each.name in ("entity-name", "entity-default")]
    flagged = [arguments.value(flag) or "" for flag in command_line.ENTITY_FLAGS if arguments.has(flag)]
    return (*named, *flagged, *("" for flag in command_line.DEFAULT_FLAGS if arguments.has(flag)))


def _check_types(arguments: command_line.Arguments, types: tuple[str, ...]) -> None:
    distinct = tuple(dict.fromkeys(types))
    if len(types) != len(distinct):
        twice = list(types)
        for type_ in distinct:
            twice.remove(type_)
        raise command_line.UsageError(f"Duplicate entity type(s) specified: {','.join(twice)}")
    for type_ in types:
        if type_ not in command_line.ENTITY_TYPES:
            raise command_line.UsageError(
                f"Invalid entity type {type_}, the entity type must be one of {', '.join(command_line.ENTITY_TYPES)} "
                "with a --bootstrap-server or --bootstrap-controller argument"
            )
    if not types:
        raise command_line.UsageError("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {command_line.USERS, command_line.CLIENTS}:
        raise command_line.UsageError(
            f"Only '{command_line.USERS}' and '{command_line.CLIENTS}' entity types may be specified together"
        )
    if arguments.has("entity-name", "entity-type", "entity-default") and arguments.has(
        *command_line.ENTITY_FLAGS, *command_line.DEFAULT_FLAGS
    ):
        raise command_line.UsageError(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )


def _check_names(
    arguments: command_line.Arguments, types: tuple[str, ...], names: tuple[str, ...], is_host: Callable[[str], bool]
) -> None:
    if arguments.has("bootstrap-server") and arguments.has("bootstrap-controller"):
        raise command_line.UsageError("Only one of --bootstrap-server or --bootstrap-controller can be specified")
    if not any(names):
        return
    if types[0] in _AT_BROKER:
        for name in _given(arguments, "entity-name", *(command_line.BY_TYPE[type_].kafka_word for type_ in _AT_BROKER)):
            if not is_int(name):
                raise command_line.UsageError(
                    f"The entity name for {types[0]} must be a valid integer broker id, but it is: {name}"
                )
    if types[0] == command_line.IPS:
        for name in _given(arguments, "entity-name", "ip"):
            if not is_host(name):
                raise command_line.UsageError(
                    f"The entity name for {types[0]} must be a valid IP or resolvable host, but it is: {name}"
                )


def _given(arguments: command_line.Arguments, *names: str) -> list[str]:
    return [arguments.value(name) or "" for name in names if arguments.has(name)]


def is_int(text: str) -> bool:
    """Return whether Java's Integer.parseInt accepts a text."""
    return bool(_INT.fullmatch(text)) and len(text) < 20 and -(2**31) <= int(text) < 2**31


def _check_describe(arguments: command_line.Arguments, types: tuple[str, ...], names: tuple[str, ...]) -> None:
    listed = ",".join(types)
    if not set(types) & set(_WITH_DEFAULT) and arguments.has("entity-default"):
        raise command_line.UsageError(f"--entity-default must not be specified with --describe of {listed}")
    if command_line.BROKER_LOGGERS in types and not any(names):
        raise command_line.UsageError(f"An entity name must be specified with --describe of {listed}")


def _check_alter(arguments: command_line.Arguments, types: tuple[str, ...], names: tuple[str, ...]) -> None:
    if set(types) & set(_WITH_DEFAULT):
        if not names:
            raise command_line.UsageError(
                "An entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
            )
    elif not any(names):
        raise command_line.UsageError(f"An entity name must be specified with --alter of {','.join(types)}")
    if arguments.has("add-config") and arguments.has("add-config-file"):
        raise command_line.UsageError("Only one of --add-config or --add-config-file must be specified")
    if not arguments.has("add-config", "add-config-file", "delete-config"):
        raise command_line.UsageError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )


def _check_words(arguments: command_line.Arguments) -> None:
    """Raise UsageError if the arguments have words that belong to no option.

    kafka-configs ignores such words, for example the ``b`` in ``--delete-config a, b``.
    """
    if arguments.words:
        raise command_line.UsageError(
            f"'{arguments.words[0][:80]}' belongs to no option", "a list with spaces after its commas is quoted: 'a, b'"
        )


def _output(arguments: command_line.Arguments) -> str | None:
    output = arguments.value("output")
    if output is not None and output not in command_line.OUTPUTS:
        raise command_line.UsageError(f"--output is one of {', '.join(command_line.OUTPUTS)}, not {output[:40]}")
    return output


# Entities of a command line as resources and quota entities.

RESOURCE_TYPES = {
    type_: ResourceType(each.number) for type_, each in command_line.BY_TYPE.items() if each.number is not None
}
QUOTA_TYPES = {command_line.USERS: USER, command_line.CLIENTS: CLIENT_ID, command_line.IPS: IP}


def resource_of(request: ConfigsRequest) -> ConfigResource:
    """Return the config resource of a request's entity; the name ``""`` is the brokers' default."""
    return named_resource(request.type, request.name or "")


def named_resource(type_: str, name: str) -> ConfigResource:
    """Return the config resource for an entity of one of `RESOURCE_TYPES`. A broker's id may have Java's forms of an
    integer, ``+1`` or ``01``.
    """
    if type_ in _AT_BROKER and is_int(name):
        name = str(int(name))
    return ConfigResource(RESOURCE_TYPES[type_], name)


def entity_of(request: ConfigsRequest) -> QuotaEntity:
    """Return the quota entity of a request; a name ``""`` is the default."""
    pairs = zip(request.types, request.names, strict=True)
    return QuotaEntity.of({QUOTA_TYPES[type_]: name or None for type_, name in pairs})

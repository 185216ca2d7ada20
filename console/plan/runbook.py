"""The plan as commands of Kafka's own tools, for a runbook: kafka-topics, kafka-configs and kafka-acls of Kafka 4.

They read their arguments in ways of their own. kafka-configs takes every bracket out of a value and trims it, so what
it would spoil goes through --add-config-file; kafka-topics takes a name for a regular expression, so it is escaped. A
secret is in none of them: the command names a file to put it into.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from console.model.acl import Acl
from console.model.changes import NewTopic
from console.model.codes import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.plan.diff import DiffGroup, DiffLine
from console.plan.edits import (
    AddAcl,
    CreateTopic,
    DeleteScram,
    DeleteTopic,
    GrowTopic,
    RemoveAcl,
    UpsertScram,
)

SECRETS = "secret.properties"
"""The file that a command with a secret names."""
STDIN = "/dev/stdin"
_ENTITY_TYPES = {
    TOPIC: "topics",
    BROKER: "brokers",
    BROKER_LOGGER: "broker-loggers",
    CLIENT_METRICS: "client-metrics",
    GROUP: "groups",
}
_QUOTA_TYPES = {"user": "users", "client-id": "clients", "ip": "ips"}
_ACL_OPTIONS = {
    "TOPIC": "--topic",
    "GROUP": "--group",
    "TRANSACTIONAL_ID": "--transactional-id",
    "DELEGATION_TOKEN": "--delegation-token",
    "USER": "--user-principal",
}
_DEFAULT_NAME = "<default>"
_TRIMMED = "".join(map(chr, range(0x21)))


class Command(NamedTuple):
    """One command. words: the program and its arguments; none where no command can do it. stdin: what it reads there.
    note: what whoever runs it has to know."""

    words: tuple[str, ...]
    stdin: str = ""
    note: str = ""


def runbook(groups: Iterable[DiffGroup], connection: Sequence[str]) -> tuple[Command, ...]:
    """The commands, in the order in which a plan is sent. connection: ``--bootstrap-server HOST:PORT`` and the like."""
    found = [(phase, command) for group in groups for phase, command in _commands(group)]
    return tuple(
        command._replace(words=(*command.words, *connection)) if command.words else command
        for _, command in sorted(found, key=lambda each: each[0])
    )


_CREATE, _GROW, _CONFIGS, _ALLOW, _QUOTAS, _SCRAM, _REVOKE, _DELETE = range(8)


def _commands(group: DiffGroup) -> Iterator[tuple[int, Command]]:
    keyed = [line for line in group.lines if line.key]
    for line in group.lines:
        if line.key:
            continue
        match line.staged.edit:
            case CreateTopic(topic):
                yield _CREATE, _create(topic, keyed)
                keyed = [each for each in keyed if not _fits_creation(each)]
            case GrowTopic(name, partitions):
                yield _GROW, Command(("kafka-topics", "--alter", *_topic(name), "--partitions", str(partitions)))
            case DeleteTopic(name):
                yield _DELETE, Command(("kafka-topics", "--delete", *_topic(name)))
            case AddAcl(acl):
                yield _ALLOW, Command(("kafka-acls", "--add", *_binding(acl)))
            case RemoveAcl(acl):
                yield _REVOKE, Command(("kafka-acls", "--remove", "--force", *_binding(acl)))
            case UpsertScram(user, iterations):
                value = f"iterations={iterations},password=…"
                yield _SCRAM, _with_secrets(_user(user.user), [(user.mechanism.label, value)])
            case DeleteScram(user):
                yield _SCRAM, _alter(_user(user.user), "--delete-config", user.mechanism.label)
    target = group.target
    if isinstance(target, ConfigResource):
        for command in _config_commands(_resource(target), keyed):
            yield _CONFIGS, command
    elif isinstance(target, QuotaEntity):
        yield _QUOTAS, _quota_command(target, keyed)


# -- kafka-topics ------------------------------------------------------------------------------------------------------


def _create(topic: NewTopic, configs: Sequence[DiffLine]) -> Command:
    words = ["kafka-topics", "--create", *_option("--topic", topic.name)]
    if topic.assignments:
        words += ["--replica-assignment", ",".join(":".join(map(str, brokers)) for brokers in topic.assignments)]
    else:
        words += ["--partitions", str(topic.partitions)] if topic.partitions > 0 else []
        words += ["--replication-factor", str(topic.replication)] if topic.replication > 0 else []
    for line in configs:
        if _fits_creation(line):
            words += ["--config", f"{line.key}={line.new.value}"]
    return Command(tuple(words))


def _fits_creation(line: DiffLine) -> bool:
    """Whether kafka-topics --config can carry it: it splits at every ``=`` and trims."""
    value = line.new.value
    return isinstance(value, str) and value != "" and "=" not in value and _is_trimmed(value)


def _topic(name: str) -> tuple[str, ...]:
    return _option("--topic", re.sub(r"([^\w-])", r"\\\1", name, flags=re.ASCII))


# -- kafka-configs -----------------------------------------------------------------------------------------------------


def _config_commands(entity: Sequence[str], lines: Sequence[DiffLine]) -> Iterator[Command]:
    """One command for what fits on its line, one for what needs a file, one for what is secret."""
    removed = [line.key for line in lines if line.verb == "unset"]
    given = [line for line in lines if line.verb != "unset"]
    unknown = [line.key for line in given if line.new.value is None and not line.new.hidden]
    secret = [(line.key, "…") for line in given if line.new.hidden]
    values = [(line.key, str(line.new.value)) for line in given if line.new.value is not None]
    for in_file, pairs in groupby(sorted(values, key=_needs_file), key=_needs_file):
        if in_file:
            content = "".join(f"{property_line(key, value)}\n" for key, value in pairs)
            yield _alter(entity, "--add-config-file", STDIN)._replace(stdin=content)
        else:
            yield _alter(entity, "--add-config", ",".join(f"{key}={_bracketed(value)}" for key, value in pairs))
    if secret:
        yield _with_secrets(entity, secret)
    if removed:
        yield _alter(entity, "--delete-config", ",".join(removed))
    if unknown:
        note = f"no command can say this while the list is not read: {', '.join(unknown)} of {' '.join(entity)}"
        yield Command((), note=note)


def _quota_command(entity: QuotaEntity, lines: Sequence[DiffLine]) -> Command:
    if any(part.name == _DEFAULT_NAME or part.type not in _QUOTA_TYPES for part in entity):
        return Command((), note=f"no command can name {entity.as_dict()}: kafka-configs means the default by <default>")
    words = [word for part in entity for word in _entity(_QUOTA_TYPES[part.type], part.name)]
    added = [f"{line.key}={_number(line.new.value)}" for line in lines if line.new.value is not None]
    removed = [line.key for line in lines if line.new.value is None]
    options = ["--add-config", ",".join(added)] if added else []
    options += ["--delete-config", ",".join(removed)] if removed else []
    return _alter(words, *options)


def _with_secrets(entity: Sequence[str], pairs: Iterable[tuple[str, str]]) -> Command:
    content = "; ".join(f"{key}={value}" for key, value in pairs)
    note = f"{SECRETS}, readable by you alone, has to hold: {content}"
    return _alter(entity, "--add-config-file", SECRETS)._replace(note=note)


def _alter(entity: Sequence[str], *options: str) -> Command:
    return Command(("kafka-configs", "--alter", *entity, *options))


def _resource(resource: ConfigResource) -> list[str]:
    return _entity(_ENTITY_TYPES[resource.type], resource.name or None)


def _user(name: str) -> list[str]:
    return _entity("users", name)


def _entity(type_: str, name: str | None) -> list[str]:
    named = ["--entity-default"] if name is None else _option("--entity-name", name)
    return ["--entity-type", type_, *named]


def _number(value: str | float | None) -> str:
    assert isinstance(value, float | int)
    return str(int(value)) if float(value).is_integer() else repr(value)


def _needs_file(pair: tuple[str, str]) -> bool:
    """Whether kafka-configs would spoil the value on its command line (ConfigCommand.parseConfigsToBeAdded)."""
    value = pair[1]
    return "[" in value or "]" in value or not _is_trimmed(value)


def _is_trimmed(value: str) -> bool:
    return value == value.strip(_TRIMMED)


def _bracketed(value: str) -> str:
    return f"[{value}]" if "," in value or "=" in value else value


def property_line(key: str, value: str) -> str:
    """A line of a Java properties file (java.util.Properties.load), in ASCII."""
    return f"{_escaped(key, ' :=#!')}={_escaped(value)}"


def _escaped(text: str, also: str = "") -> str:
    names = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f"}
    result: list[str] = []
    for place, char in enumerate(text):
        if char in names:
            result.append(names[char])
        elif char in also or (char == " " and not place):
            result.append(f"\\{char}")
        elif " " <= char <= "~":
            result.append(char)
        else:
            units = char.encode("utf-16-be")
            result += [f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)]
    return "".join(result)


# -- kafka-acls --------------------------------------------------------------------------------------------------------


def _binding(acl: Acl) -> tuple[str, ...]:
    who = acl.permission.name.lower()
    type_ = acl.resource_type.name
    where = ["--cluster"] if type_ == "CLUSTER" else _option(_ACL_OPTIONS[type_], acl.resource_name)
    operation = "".join(word.capitalize() for word in acl.operation.name.split("_"))
    return (
        *_option(f"--{who}-principal", acl.principal),
        *_option(f"--{who}-host", acl.host),
        *("--operation", operation),
        *where,
        *("--resource-pattern-type", acl.pattern_type.name.lower()),
    )


def _option(name: str, value: str) -> tuple[str, ...]:
    """An option with a value that may begin with a hyphen."""
    return (f"{name}={value}",) if value.startswith("-") else (name, value)

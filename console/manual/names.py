"""Names for completion, from the cluster that the line names and from the contexts; none where none can be read."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.commands.session import Session


class Kind(Enum):
    """What a word of the line is."""

    FILE = "a file"
    TOPIC = "a topic"
    BROKER = "a broker's id"
    GROUP = "a group"
    METRICS = "client metrics"
    USER = "a user"
    CLIENT = "a client id"
    IP = "an ip"
    PRINCIPAL = "a principal"
    CONTEXT = "a context"
    KEY = "a config's key"
    ASSIGNMENT = "a config's key, and = behind it"
    NOTHING = "unknown"


ENTITY_KINDS = {
    "topics": Kind.TOPIC,
    "brokers": Kind.BROKER,
    "broker-loggers": Kind.BROKER,
    "groups": Kind.GROUP,
    "client-metrics": Kind.METRICS,
    "users": Kind.USER,
    "clients": Kind.CLIENT,
    "ips": Kind.IP,
}
"""Entity type as kafka-configs spells it -> what its names are."""

PATIENCE = 2.0
"""Seconds after which nobody waits for a completion any more."""

_ENTITIES = {
    "--topic": "topic",
    "--broker": "broker",
    "--group": "group",
    "--client-metrics": "client-metrics",
    "--user": "user",
    "--client": "client",
    "--ip": "ip",
}
_QUOTAS = ("user", "client", "ip")


def names(kind: Kind, words: Sequence[str], command: str) -> list[str]:
    """All names of a kind, sorted. words: the line so far, for which cluster and which entity it is about."""
    if kind is Kind.CONTEXT:
        from console.contexts import load

        return sorted(context.name for context in load(os.environ, Path.home()).contexts)
    if kind in (Kind.KEY, Kind.ASSIGNMENT) and (keys := _quota_keys(words, command)):
        return list(keys)
    return _of_cluster(kind, words, command)


def _quota_keys(words: Sequence[str], command: str) -> Sequence[str]:
    from console.model.effective_quota import CLIENT_KEYS, IP_KEYS

    about = _entity(words, command)[0]
    if about == "ip":
        return IP_KEYS
    if about in ("user", "client"):
        return CLIENT_KEYS if command == "quotas" else (*CLIENT_KEYS, "SCRAM-SHA-256", "SCRAM-SHA-512")
    return ()


def _entity(words: Sequence[str], command: str) -> tuple[str, str]:
    """What the line is about: its kind in the singular, and its name as far as it is given."""
    split = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    pairs = list(zip(split, [*split[1:], ""], strict=True))
    for word, value in pairs:
        if word in _ENTITIES:
            return _ENTITIES[word], value
        if word.endswith("-defaults"):
            return word.removeprefix("--").removesuffix("-defaults"), ""
        if word == "--entity-type" and value in ENTITY_KINDS:
            name = next((named for option, named in pairs if option == "--entity-name"), "")
            return value.removesuffix("s") if value != "client-metrics" else value, name
    return {"topics": "topic", "brokers": "broker", "groups": "group", "quotas": "user"}.get(command, ""), ""


def _of_cluster(kind: Kind, words: Sequence[str], command: str) -> list[str]:
    from console.admin.errors import AdminError
    from console.commands.session import Refused, Session
    from console.contexts import ContextError, load, resolve
    from console.doors.opening import client_of

    given = _connection(words)
    try:
        context = resolve(
            load(os.environ, Path.home()),
            name=given.context,
            bootstrap=given.bootstrap,
            command_config=given.command_config,
            environ=os.environ,
        )
    except ContextError:
        return []
    client = client_of(context)
    try:
        read = _read(Session(client, context), kind, _entity(words, command))
        return sorted(set(asyncio.run(asyncio.wait_for(read, PATIENCE))))
    except (AdminError, Refused, TimeoutError):
        return []
    finally:
        client.close()


def _connection(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("-b", "--bootstrap-server", "--bootstrap-servers", "--broker-list", dest="bootstrap")
    parser.add_argument("-c", "--context", dest="context")
    parser.add_argument("--command-config", "--config.properties", dest="command_config", type=Path)
    try:
        return parser.parse_known_args([word for word in words if word])[0]
    except argparse.ArgumentError:  # the line ends where a value has to follow
        return argparse.Namespace(bootstrap=None, context=None, command_config=None)


async def _read(session: Session, kind: Kind, about: tuple[str, str]) -> Iterable[str]:
    from console.model.codes import CLIENT_METRICS, GROUP
    from console.model.quota import CLIENT_ID, IP, USER

    match kind:
        case Kind.TOPIC:
            await session.read_topics()
            return session.snapshot.topics
        case Kind.BROKER:
            await session.read_cluster()
            return [str(broker.id) for broker in session.snapshot.cluster.brokers]
        case Kind.GROUP:
            await session.read_groups()
            listed = await session.list_resources([GROUP])
            return [*session.snapshot.groups, *(resource.name for resource in listed)]
        case Kind.METRICS:
            return [resource.name for resource in await session.list_resources([CLIENT_METRICS])]
        case Kind.USER | Kind.CLIENT | Kind.IP:
            await session.read_quotas()
            type_ = {Kind.USER: USER, Kind.CLIENT: CLIENT_ID, Kind.IP: IP}[kind]
            found = [part.name for entity in session.snapshot.quotas for part in entity if part.type == type_]
            if kind is Kind.USER:
                await session.read_scram()
                found += session.snapshot.scram
            return [name for name in found if name]
        case Kind.PRINCIPAL:
            await session.read_acls()
            return [acl.principal for acl in session.snapshot.acls]
        case Kind.KEY | Kind.ASSIGNMENT:
            return await _keys(session, about)
        case _:
            return []


async def _keys(session: Session, about: tuple[str, str]) -> Iterable[str]:
    from console.model.config import ConfigResource, broker_resource, topic_resource

    kind, name = about
    await session.read_cluster()
    if kind == "topic":
        resource = topic_resource(name or "any")
    elif kind in ("broker", "broker-logger"):
        first = min(broker.id for broker in session.snapshot.cluster.brokers)
        resource = broker_resource(int(name) if name.isdecimal() else first)
    else:
        from console.model.codes import CLIENT_METRICS, GROUP

        resource = ConfigResource(CLIENT_METRICS if kind == "client-metrics" else GROUP, name or "any")
    if kind == "broker-logger":
        from console.model.codes import BROKER_LOGGER

        resource = ConfigResource(BROKER_LOGGER, resource.name)
    await session.read_configs([resource])
    if kind == "topic" and resource not in session.snapshot.configs:  # one that is yet to be created
        await session.read_topics()
        resource = topic_resource(next(iter(session.snapshot.topics), ""))
        await session.read_configs([resource])
    return [entry.name for entry in session.snapshot.configs.get(resource, ())]

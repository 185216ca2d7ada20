"""The reads of `kac configs --describe`. They need no plan, and therefore no session, so the command starts sooner."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from msgspec import Struct

from console.admin.errors import AdminError, Unsupported
from console.cli.kafka_configs import command_line
from console.cli.kafka_configs.request import QUOTA_TYPES, RESOURCE_TYPES, ConfigsRequest, named_resource
from console.model.codes import GROUP
from console.model.config import ConfigEntry, ConfigListing, ConfigResource, own_source
from console.model.entity_types import Lister
from console.model.failure import Failure
from console.model.quota import Match, QuotaEntity, QuotaFilter, QuotaMatch, QuotaValues
from console.terminal import complain

if TYPE_CHECKING:
    from console.model.cluster import ScramCredential
    from console.session.snapshot_reader import Client


class ResourceConfigs(Struct, frozen=True):
    """All configs of a topic, broker, group or other resource, or the levels of a broker's loggers."""

    type: str
    """The entity type, as the value of --entity-type."""
    name: str
    """The name as given; ``""`` for the brokers' default."""
    resource: ConfigResource
    entries: tuple[ConfigEntry, ...]

    @property
    def own(self) -> tuple[ConfigEntry, ...]:
        """The entries whose values are set on the resource itself; for loggers all entries."""
        if self.type == "broker-loggers":
            return self.entries
        source = own_source(self.resource)
        return tuple(entry for entry in self.entries if entry.source == source)


class Absent(Struct, frozen=True):
    """An entity that does not exist, so that it has no configs."""

    type: str
    name: str


class QuotaConfigs(Struct, frozen=True):
    """The quotas of one entity."""

    entity: QuotaEntity
    values: QuotaValues


class ScramConfigs(Struct, frozen=True):
    """A user's SCRAM credentials, as brokers describe them: only mechanism and iterations."""

    user: str
    credentials: tuple[ScramCredential, ...]


class Unread(Struct, frozen=True):
    """A part that could not be read, and the reason."""

    what: str
    failure: Failure
    type: str = ""
    """The type of the entities, as in `ResourceConfigs`."""
    name: str = ""
    """The name of the entity, as in `ResourceConfigs`."""


Described = ResourceConfigs | Absent | QuotaConfigs | ScramConfigs | Unread


def singular(type_: str) -> str:
    """Return the singular of an entity type as kafka-configs prints it: without its last letter."""
    return type_[:-1]


# Reads the configs for --describe. It needs no plan, and so no session: a describe starts sooner.

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_LONGEST = 249
_NO_SUCH = ("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_BROKER", "BROKER_ID_NOT_REGISTERED")


async def describe(client: Client, request: ConfigsRequest) -> list[Described]:
    """Read all requested configs.

    Returns:
        The configs that were read, and an `Unread` for each part that was not.

    Raises:
        UsageError: a name is not valid for a topic, and --all is not given.
        AdminError: no broker could be reached.
    """
    if request.type in QUOTA_TYPES:
        return await _quotas_and_credentials(client, request)
    if request.type == command_line.TOPICS and request.name is not None:
        why = topic_name_problem(request.name)
        if why and not request.all:
            raise command_line.UsageError(why)
        if why and request.name:
            return [
                Unread(f"topic {request.name}", Failure("INVALID_TOPIC", why, ""), command_line.TOPICS, request.name)
            ]
    if request.name is not None:
        return await _named(client, request.type, request.name, request.all)
    names = await _all_names(client, request.type)
    resources = {name: named_resource(request.type, name) for name in names}
    listing = await read_configs(client, list(resources.values()))
    return [_found(listing, request.type, name, resource) for name, resource in resources.items()]


def topic_name_problem(name: str) -> str:
    """Return the reason why Kafka's Topic.validate rejects a name, in its words; ``""`` for a valid name."""
    why = ""
    if not name:
        why = "the empty string is not allowed"
    elif name in (".", ".."):
        why = f"'{name}' is not allowed"
    elif len(name) > _LONGEST:
        why = f"the length of '{name}' is longer than the max allowed length {_LONGEST}"
    elif not _LEGAL.fullmatch(name):
        why = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return f"Topic name is invalid: {why}" if why else ""


async def read_configs(client: Client, resources: Sequence[ConfigResource]) -> ConfigListing:
    """Return the configs of these resources as brokers describe them. Raises AdminError: no broker can be reached."""
    from console.admin import configs

    return await client.run(configs.describe_configs, resources)


async def read_quotas(client: Client, filter_: QuotaFilter) -> dict[QuotaEntity, QuotaValues]:
    """Return entity -> quotas for the entities that match a filter. Raises AdminError."""
    from console.admin import quotas

    return await client.run(quotas.describe_quotas, filter_)


async def _named(client: Client, type_: str, name: str, all_: bool) -> list[Described]:
    """Read the configs of an entity by its name.

    Args:
        type_: the entity type, as the value of --entity-type.
        all_: whether --all was given, with which kafka-configs does not check that the entity exists.
    """
    resource = named_resource(type_, name)
    if (name == "" and type_ != command_line.BROKERS and not all_) or (_are_brokers(type_) and name.startswith("-")):
        return [Absent(type_, name)]
    listing = await read_configs(client, [resource])
    found = _found(listing, type_, name, resource)
    if all_ and isinstance(found, Absent) and not _are_brokers(type_):
        return [Unread(f"{singular(type_)} {name}", listing.failures[resource], type_, name)]
    # Brokers describe any name of these types with defaults, so check whether the name exists.
    doubtful = not all_ and command_line.BY_TYPE[type_].listed and isinstance(found, ResourceConfigs) and not found.own
    if doubtful and name not in await _all_names(client, type_):
        return [Absent(type_, name)]
    return [found]


def _are_brokers(type_: str) -> bool:
    return command_line.BY_TYPE[type_].lister is Lister.BROKERS


def _found(listing: ConfigListing, type_: str, name: str, resource: ConfigResource) -> Described:
    entries = listing.sets.get(resource)
    if entries is not None:
        return ResourceConfigs(type_, name, resource, tuple(entries))
    failure = listing.failures.get(resource) or Failure("NO_ANSWER", "the broker left it out of its answer", "")
    if failure.name in _NO_SUCH:
        return Absent(type_, name)
    return Unread(f"{singular(type_)} {name or '<default>'}", failure, type_, name)


async def _all_names(client: Client, type_: str) -> tuple[str, ...]:
    """Return the names of all entities of a type, sorted. For brokers (or controllers, on a connection to controllers),
    ``""`` for the default comes last.
    """
    from console.admin import cluster, groups, topics
    from console.admin.configs import list_config_resources

    if type_ == command_line.TOPICS:
        return tuple(sorted((await client.run(topics.describe_topics)).topics))
    if _are_brokers(type_):
        info = await client.run(cluster.describe_cluster)
        return (*(str(node.id) for node in info.brokers or info.controllers), "")
    if command_line.BY_TYPE[type_].lister is Lister.RESOURCES:
        found = await client.run(list_config_resources, [RESOURCE_TYPES[type_]])
        return tuple(resource.name for resource in found)
    listed, known = await asyncio.gather(_group_resources(client), client.run(groups.list_groups))
    for what, why in known.failures.items():
        complain(f"not all groups are listed: {what}: {why}")
    return tuple(sorted({*known.groups, *(resource.name for resource in listed)}))


async def _group_resources(client: Client) -> Iterable[ConfigResource]:
    from console.admin.configs import list_config_resources

    try:
        return await client.run(list_config_resources, [GROUP])
    except Unsupported:
        return ()  # older brokers list none; groups with members are listed anyway


async def _quotas_and_credentials(client: Client, request: ConfigsRequest) -> list[Described]:
    from console.admin import scram

    quotas = await read_quotas(client, quota_filter(request))
    found: list[Described] = [QuotaConfigs(entity, quotas[entity]) for entity in sorted(quotas, key=_order)]
    if request.type == command_line.IPS or command_line.CLIENTS in request.types or "" in request.names:
        return found
    try:
        listing = await client.run(scram.describe_scram, request.names or None)
    except AdminError as error:
        return [*found, Unread("SCRAM credentials", error.failure)]
    found += [ScramConfigs(user, tuple(sorted(listing.users[user]))) for user in sorted(listing.users)]
    found += [Unread(f"SCRAM credentials of user {user}", why) for user, why in listing.failures.items()]
    return found


def quota_filter(request: ConfigsRequest) -> QuotaFilter:
    """Return the filter for the quotas of entities that have exactly the requested types, with the given names; a type
    without a name matches any name.
    """
    components = []
    for type_, name in zip_longest(request.types, request.names):
        kind = QUOTA_TYPES[type_]
        if name is None:
            components.append(QuotaMatch(kind, Match.ANY_NAME))
        elif name == "":
            components.append(QuotaMatch(kind, Match.DEFAULT))
        else:
            components.append(QuotaMatch(kind, Match.EXACT, name))
    return QuotaFilter(tuple(components), strict=True)


def _order(entity: QuotaEntity) -> tuple[tuple[str, bool, str], ...]:
    """Return the sort key of a quota's entity: by name, defaults after names."""
    return tuple((part.type, part.name is None, part.name or "") for part in entity.parts)

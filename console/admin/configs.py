"""Configs of every kind of resource: large reads in chunks, several in flight, decoded while the next is on its way."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from console.admin.bulk import collector_off
from console.admin.error_codes import failure
from console.admin.errors import (
    AdminError,
    BrokerError,
    Disconnected,
    RequestTimedOut,
    UnknownBroker,
    Unreachable,
)
from console.admin.link import Link
from console.admin.routing import broker
from console.model.codes import BROKER, BROKER_LOGGER, CLIENT_METRICS, ResourceType
from console.model.config import ConfigListing, ConfigResource, ConfigSet
from console.model.failure import Failure
from console.model.numbers import long_number

if TYPE_CHECKING:
    from console.wire.config_decoder import ConfigDecoder

CHUNK = 100
"""Resources in one request: a few milliseconds of a broker's time, so that others get theirs."""
IN_FLIGHT = 4

log = logging.getLogger(__name__)

OnChunk = Callable[[ConfigListing], None]


class _Memory:
    """What one link remembers from listing to listing: decoders with their caches, and who describes topics."""

    def __init__(self) -> None:
        self.decoders: dict[int, ConfigDecoder] = {}
        self.describer: int | None = None

    def decoder(self, version: int) -> ConfigDecoder:
        from console.wire.config_decoder import ConfigDecoder

        if version not in self.decoders:
            self.decoders[version] = ConfigDecoder(version)
        return self.decoders[version]


_memories: WeakKeyDictionary[Link, _Memory] = WeakKeyDictionary()


async def describe_configs(
    link: Link,
    resources: Iterable[ConfigResource],
    *,
    keys: Sequence[str] | None = None,
    synonyms: bool = True,
    documentation: bool = False,
    on_chunk: OnChunk | None = None,
) -> ConfigListing:
    """A set or a failure for each resource (KIP-133, KIP-226, KIP-569).

    Resources of a named broker are asked of that broker; where it can't be reached they are failures, and the rest goes
    on. All others are asked of one broker, the same one each time while it is there, since what they inherit differs by
    broker: `described_by` tells which. keys: only these; a name that no such resource has is left out in silence.
    on_chunk: called with each part as it comes, before the next. Where the describing broker is lost midway, another
    starts over, so a resource may come twice; the later one counts.
    Raises AdminError where the others could not be described at all.
    """
    memory = _memories.setdefault(link, _Memory())
    wanted = list(dict.fromkeys(resources))
    named: dict[int, list[ConfigResource]] = {}
    others: list[ConfigResource] = []
    for resource in wanted:
        broker_id = named_broker(resource)
        if broker_id is None:
            others.append(resource)
        else:
            named.setdefault(broker_id, []).append(resource)
    ask = _Ask(keys, synonyms, documentation)
    listing = _Listing(on_chunk)
    with collector_off():
        of_brokers = [
            asyncio.create_task(_describe_broker(link, memory, broker_id, mine, ask, listing))
            for broker_id, mine in named.items()
        ]
        try:
            if others:
                await _describe_others(link, memory, others, ask, listing)
            await asyncio.gather(*of_brokers)
        finally:
            for task in of_brokers:
                task.cancel()
    for decoder in memory.decoders.values():
        decoder.trim()
    return listing.result()


def named_broker(resource: ConfigResource) -> int | None:
    """The broker that alone can describe or alter this resource, None where any can."""
    return long_number(resource.name) if resource.type in (BROKER, BROKER_LOGGER) else None


class _Ask:
    """What to tell of each resource; makes the requests."""

    def __init__(self, keys: Sequence[str] | None, synonyms: bool, documentation: bool) -> None:
        self._keys = None if keys is None else tuple(dict.fromkeys(keys))
        self._synonyms = synonyms
        self._documentation = documentation

    def request(self, resources: Sequence[ConfigResource]) -> Callable[[ModuleType], Any]:
        def build(kio: ModuleType) -> Any:
            from console.wire.schemas import for_version

            asked = tuple(
                kio.DescribeConfigsResource(resource_type=type_, resource_name=name, configuration_keys=self._keys)
                for type_, name in resources
            )
            return for_version(
                kio.DescribeConfigsRequest,
                resources=asked,
                include_synonyms=self._synonyms,
                include_documentation=self._documentation,
            )

        return build


class _Listing:
    """Gathers what comes, and passes it on."""

    def __init__(self, on_chunk: OnChunk | None) -> None:
        self._on_chunk = on_chunk
        self._sets: dict[ConfigResource, ConfigSet] = {}
        self._failures: dict[ConfigResource, Failure] = {}
        self._described_by: int | None = None

    def add(self, part: ConfigListing) -> None:
        self._sets.update(part.sets)
        self._failures.update(part.failures)
        if part.described_by is not None:
            self._described_by = part.described_by
        if self._on_chunk is not None:
            self._on_chunk(part)

    def result(self) -> ConfigListing:
        return ConfigListing(self._sets, self._failures, self._described_by)


async def _describe_broker(
    link: Link, memory: _Memory, broker_id: int, resources: list[ConfigResource], ask: _Ask, listing: _Listing
) -> None:
    try:
        part = await _chunk(link, memory, broker_id, resources, ask)
    except AdminError as error:
        part = ConfigListing({}, dict.fromkeys(resources, error.failure))
    listing.add(part)


async def _describe_others(
    link: Link, memory: _Memory, resources: list[ConfigResource], ask: _Ask, listing: _Listing
) -> None:
    """From one broker, or where it is lost, all over again from another."""
    tried: set[int] = set()
    while True:
        describer = await _describer(link, memory, tried)
        try:
            await _from_one(link, memory, describer, resources, ask, listing)
        except (Unreachable, Disconnected, RequestTimedOut, UnknownBroker):
            tried.add(describer)
            await link.refresh()
            if not (await link.nodes()).brokers.keys() - tried:
                raise
        else:
            return


async def _describer(link: Link, memory: _Memory, tried: set[int]) -> int:
    """Who describes what any broker could: the one of last time, else one of the addresses that were given."""
    nodes = await link.nodes()
    if memory.describer not in nodes.brokers or memory.describer in tried:
        given = link.settings.bootstrap
        free = sorted(nodes.brokers.keys() - tried) or sorted(nodes.brokers)
        memory.describer = min(free, key=lambda id_: nodes.brokers[id_] not in given)
    assert memory.describer is not None
    return memory.describer


async def _from_one(
    link: Link, memory: _Memory, broker_id: int, resources: list[ConfigResource], ask: _Ask, listing: _Listing
) -> None:
    waiting = deque(chunks(resources))
    flying: deque[asyncio.Task[ConfigListing]] = deque()
    try:
        while waiting or flying:
            while waiting and len(flying) < IN_FLIGHT:
                flying.append(asyncio.create_task(_chunk(link, memory, broker_id, waiting.popleft(), ask)))
            part = await flying.popleft()
            listing.add(ConfigListing(part.sets, part.failures, broker_id))
    finally:
        for task in flying:
            task.cancel()


def chunks(resources: Sequence[ConfigResource]) -> list[list[ConfigResource]]:
    """Parts for one request each, one type to a part: a type that a broker does not know fails its whole request."""
    by_type: dict[int, list[ConfigResource]] = {}
    for resource in resources:
        by_type.setdefault(resource.type, []).append(resource)
    return [mine[start : start + CHUNK] for mine in by_type.values() for start in range(0, len(mine), CHUNK)]


async def _chunk(
    link: Link, memory: _Memory, broker_id: int, resources: Sequence[ConfigResource], ask: _Ask
) -> ConfigListing:
    from console.wire.frames import MalformedFrame

    raw = await link.call_raw("describe_configs", ask.request(resources), to=broker(broker_id))
    asked: Mapping[tuple[int, str], ConfigResource] = {resource: resource for resource in resources}
    try:
        described = memory.decoder(raw.version).decode(bytes(raw.body), asked)
    except MalformedFrame as error:
        unread = Failure(
            "BAD_ANSWER", f"broker {broker_id}: {error}", "Its server.log may say why; try another broker."
        )
        return ConfigListing({}, dict.fromkeys(resources, unread))
    sets: dict[ConfigResource, ConfigSet] = {}
    failures: dict[ConfigResource, Failure] = {}
    for resource, result in described:
        if resource not in asked:
            log.warning("broker %d describes %s, for which it was not asked", broker_id, resource)
        elif isinstance(result, ConfigSet):
            sets[resource] = result
        else:
            failures[resource] = failure(result.code, result.message)
    return ConfigListing(sets, failures)


async def list_config_resources(link: Link, types: Iterable[ResourceType | int]) -> tuple[ConfigResource, ...]:
    """The resources of these types that have configs (KIP-1142), sorted.

    Before Kafka 4.1 brokers list client metrics only (KIP-714), so of other types there are none.
    Raises Unsupported before Kafka 3.7, and other AdminErrors.
    """
    wanted = tuple(dict.fromkeys(map(ResourceType, types)))
    version = await link.require("list_config_resources", 0, "3.7")
    if version == 0 and CLIENT_METRICS not in wanted:
        return ()

    def ask(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        return for_version(kio.ListConfigResourcesRequest, resource_types=wanted)

    response = await link.call("list_config_resources", ask)
    if response.error_code:
        raise BrokerError(failure(response.error_code))
    found = (
        ConfigResource(ResourceType(getattr(item, "resource_type", CLIENT_METRICS)), item.resource_name)
        for item in response.config_resources
    )
    return tuple(sorted(each for each in found if each.type not in (BROKER, BROKER_LOGGER) or _names_broker(each)))


def _names_broker(resource: ConfigResource) -> bool:
    """Whether a name that a broker gave is a broker's id, or that of the default of all."""
    return resource.is_cluster_default or named_broker(resource) is not None

"""Configs of every type of resource: described in chunks, several in flight, and altered; and the listing of resources
with configs (KIP-1142).

DescribeConfigs (KIP-133, KIP-226, KIP-569) is decoded straight into the model while the next chunk is in flight.
Changes use IncrementalAlterConfigs (KIP-339), or AlterConfigs (KIP-133) if a broker lacks it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from console.admin import errors
from console.admin.delivery import Answer, Sender, Senders, configs_verdict, list_items, refused, sent
from console.admin.gc_pause import gc_paused
from console.admin.halving import Halving, parted
from console.admin.link import ANY, Link, aside, broker
from console.admin.link_errors import wrong_broker
from console.model import codes
from console.model.broker_keys import as_altered
from console.model.changes import AlterConfigs, ConfigOp, Outcome, Status
from console.model.config import ConfigListing, ConfigResource, ConfigSet
from console.model.entity_types import BY_NUMBER
from console.model.failure import Failure
from console.model.grouping import grouped
from console.model.numbers import long_number
from console.model.secret import Secret
from console.wire.fields import Asked, Fields, for_version

if TYPE_CHECKING:
    from types import ModuleType

    from console.wire.config_decoder import ConfigDecoder


CHUNK = 100
"""Number of resources in one request: they take a few milliseconds of a broker's time, so that other clients do not
wait."""
IN_FLIGHT = 4

log = logging.getLogger(__name__)

OnChunk = Callable[[ConfigListing], None]


class _LinkMemory:
    """The state that a link keeps between listings: decoders with their caches, one in use at a time, and the broker
    that describes topics.
    """

    def __init__(self) -> None:
        self.decoders: dict[int, ConfigDecoder] = {}
        self.turn = asyncio.Lock()
        self.describer: int | None = None

    def decoder(self, version: int) -> ConfigDecoder:
        from console.wire.config_decoder import ConfigDecoder

        if version not in self.decoders:
            self.decoders[version] = ConfigDecoder(version)
        return self.decoders[version]


_memories: WeakKeyDictionary[Link, _LinkMemory] = WeakKeyDictionary()


async def describe_configs(
    link: Link,
    resources: Iterable[ConfigResource],
    *,
    keys: Sequence[str] | None = None,
    synonyms: bool = True,
    documentation: bool = False,
    on_chunk: OnChunk | None = None,
) -> ConfigListing:
    """Return a set or a failure for each resource (KIP-133, KIP-226, KIP-569).

    The broker that a resource names describes it; if it is unreachable, the resource has a failure. One broker
    describes all other resources, always the same one while it is alive, since inherited values differ by broker:
    `described_by` is its id. If the describing broker is lost midway, another one describes all again, so a resource
    may appear twice; use the later part.

    Args:
        keys: the names to describe, None for all; unknown ones are left out.
        synonyms, documentation: whether brokers send these, too.
        on_chunk: a callback for each part, before the next one arrives.

    Raises:
        AdminError: the other resources could not be described at all.
    """
    memory = _memories.setdefault(link, _LinkMemory())
    asked = list(dict.fromkeys(resources))
    wanted = [each for each in asked if each.type.entity.is_kafkas]
    named: dict[int, list[ConfigResource]] = {}
    others: list[ConfigResource] = []
    for resource in wanted:
        broker_id = named_broker(resource)
        if broker_id is None:
            others.append(resource)
        else:
            named.setdefault(broker_id, []).append(resource)
    listing = _Listing(on_chunk)
    halving = Halving(lambda resource: f"{resource.type.name.lower()} {resource.name}")
    if len(wanted) < len(asked):
        from console.admin.services import DESCRIBERS

        for route, describe in DESCRIBERS.items():
            if mine := [each for each in asked if each.type.entity.route is route]:
                listing.add(await describe(link, mine))
    of_keys = None if keys is None else tuple(dict.fromkeys(keys))
    reading = _Reading(link, memory, _RequestShape(of_keys, synonyms, documentation), listing, halving)
    with gc_paused():
        of_brokers = [
            asyncio.create_task(_describe_broker(reading, broker_id, mine)) for broker_id, mine in named.items()
        ]
        try:
            if others:
                await _describe_others(reading, others)
            await asyncio.gather(*of_brokers)
        finally:
            for task in of_brokers:
                task.cancel()
    for decoder in memory.decoders.values():
        decoder.trim()
    return listing.result()


def named_broker(resource: ConfigResource) -> int | None:
    """Return the id of the only broker that can describe or alter this resource; None if all brokers can."""
    return long_number(resource.name) if resource.type.entity.at_broker else None


class _RequestShape(NamedTuple):
    """The options of a listing."""

    keys: tuple[str, ...] | None
    """The keys to list; None for all."""
    synonyms: bool
    documentation: bool

    def request(self, resources: Sequence[ConfigResource]) -> Asked:
        def made(kio: ModuleType) -> Any:
            # Create the objects directly, without checking each one's fields: there may be 100,000 topics.
            resource, keys = kio.DescribeConfigsResource, self.keys
            asked = [
                resource(resource_type=type_, resource_name=name, configuration_keys=keys) for type_, name in resources
            ]
            return for_version(
                kio.DescribeConfigsRequest,
                resources=tuple(asked),
                include_synonyms=self.synonyms,
                include_documentation=self.documentation,
            )

        return made


class _Listing:
    """Collects the parts of a listing, and passes each on."""

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


class _Reading(NamedTuple):
    """The state of a listing in progress: its link, options and results."""

    link: Link
    memory: _LinkMemory
    shape: _RequestShape
    listing: _Listing
    halving: Halving


async def _describe_broker(reading: _Reading, broker_id: int, resources: list[ConfigResource]) -> None:
    try:
        part = await _describe_chunk(reading, broker_id, resources)
    except errors.AdminError as error:
        part = ConfigListing({}, dict.fromkeys(resources, error.failure))
    reading.listing.add(part)


_MOST_TRIED = 10
"""Maximum number of brokers to try in turn: another cluster's response may name new ones each time."""


async def _describe_others(reading: _Reading, resources: list[ConfigResource]) -> None:
    """Describe the resources at one broker; if it is lost, describe all again at another."""
    tried: set[int] = set()
    while True:
        describer = await _describer(reading.link, reading.memory, tried)
        try:
            await _describe_from(reading, describer, resources)
        except (errors.Unreachable, errors.Disconnected, errors.RequestTimedOut, errors.UnknownBroker):
            tried.add(describer)
            await reading.link.refresh()
            if len(tried) == _MOST_TRIED or not (await reading.link.nodes()).brokers.keys() - tried:
                raise
        else:
            return


async def _describer(link: Link, memory: _LinkMemory, tried: set[int]) -> int:
    """Return the id of the broker for resources that all brokers can describe: the one of the last listing; if it was
    tried or is gone, one that was not tried, preferably at a bootstrap address.
    """
    nodes = await link.nodes()
    if memory.describer not in nodes.brokers or memory.describer in tried:
        given = link.settings.bootstrap
        free = sorted(nodes.brokers.keys() - tried) or sorted(nodes.brokers)
        memory.describer = min(free, key=lambda id_: nodes.brokers[id_] not in given)
    assert memory.describer is not None
    return memory.describer


async def _describe_from(reading: _Reading, broker_id: int, resources: list[ConfigResource]) -> None:
    waiting = deque(chunks(resources))
    flying: deque[asyncio.Task[ConfigListing]] = deque()
    try:
        while waiting or flying:
            while waiting and len(flying) < IN_FLIGHT:
                described = _describe_chunk(reading, broker_id, waiting.popleft())
                flying.append(asyncio.create_task(described))
            part = await flying.popleft()
            reading.listing.add(ConfigListing(part.sets, part.failures, broker_id))
    finally:
        for task in flying:
            task.cancel()


def chunks(resources: Sequence[ConfigResource]) -> list[list[ConfigResource]]:
    """Return the resources of each request, all of one type: a broker refuses the whole request for a type that it does
    not know.
    """
    by_type = grouped((resource.type, resource) for resource in resources)
    return [mine[start : start + CHUNK] for mine in by_type.values() for start in range(0, len(mine), CHUNK)]


async def _describe_chunk(reading: _Reading, broker_id: int, resources: Sequence[ConfigResource]) -> ConfigListing:
    async def ask(some: Sequence[ConfigResource]) -> Mapping[ConfigResource, ConfigSet | Failure]:
        return await _described(reading, broker_id, some)

    return ConfigListing(*parted(await reading.halving.read(resources, ask)))


async def _described(
    reading: _Reading, broker_id: int, resources: Sequence[ConfigResource]
) -> dict[ConfigResource, ConfigSet | Failure]:
    """Return the configs, or the failure, of each resource in one broker's response; a resource that the response
    leaves out is missing. Raises BadAnswer and other AdminErrors.
    """
    from console.wire.bounds_check import MalformedFrame

    memory = reading.memory
    raw = await reading.link.call_raw(
        "describe_configs",
        reading.shape.request(resources),
        to=broker(broker_id),
        prepare=lambda _api, version: memory.decoder(version),
    )
    asked: Mapping[tuple[int, str], ConfigResource] = {resource: resource for resource in resources}
    asked_of = reading.link.settings.asked
    try:
        async with memory.turn:
            described = await aside(len(raw.body), lambda: memory.decoder(raw.version).decode(raw.body, asked))
    except MalformedFrame as error:
        remedy = f"Its server.log may say why; try another {asked_of}."
        raise errors.BadAnswer.of(f"{asked_of} {broker_id}: {error}", remedy) from error
    found: dict[ConfigResource, ConfigSet | Failure] = {}
    for resource, result in described:
        if resource not in asked:
            log.warning("broker %d describes %s, which was not in the request", broker_id, resource)
        elif isinstance(result, ConfigSet):
            found[resource] = as_altered(result) if resource.type == codes.BROKER else result
        else:
            wrong = wrong_broker(broker_id, result.message, asked=asked_of)
            found[resource] = wrong or errors.failure(result.code, result.message)
    return found


# Altering configs.

_FEW_KEYS = 50


class _Altering(Sender[AlterConfigs, ConfigResource]):
    """Alters configs with IncrementalAlterConfigs. A broker applies all keys of a resource or none."""

    of = "ops"
    has_check = True

    def __init__(self, link: Link, request: AlterConfigs, validate_only: bool) -> None:
        super().__init__(link, request, validate_only)
        self._levels = {each: ops for each, ops in request.ops.items() if each.type.entity.has_levels}
        self.secrets = [op.value for ops in request.ops.values() for op in ops if isinstance(op.value, Secret)]
        if not link.settings.controllers or self._levels:
            self.route = ANY if request.broker is None else broker(request.broker)

    async def deliver(self, targets: Sequence[ConfigResource]) -> dict[ConfigResource, Outcome]:
        request = self.request
        parts: tuple[Sender[AlterConfigs, ConfigResource], ...] = ()
        if self.link.settings.controllers and self._levels and len(self._levels) < len(request.ops):
            # A controller sets its own loggers' levels; the active controller sets all other configs.
            others = {each: ops for each, ops in request.ops.items() if each not in self._levels}
            ops_of = (others, self._levels)
            parts = tuple(_Altering(self.link, replace(request, ops=ops), self.validate_only) for ops in ops_of)
        elif await self.link.version(self.api, self.route) is None:
            parts = (Replacing(self.link, request, self.validate_only),)
        if not parts:
            return await super().deliver(targets)
        done = [outcome for part in parts for outcome in await sent(part)]
        return {resource: outcome for outcome in done if isinstance(resource := outcome.target, ConfigResource)}

    def fields(self, targets: Sequence[ConfigResource]) -> Fields:
        def altered(resource: ConfigResource) -> list[Fields]:
            ops = self.request.ops[resource]
            return [{"name": op.key, "config_operation": op.op, "value": _revealed(op.value)} for op in ops]

        return {"resources": _alter_resources(targets, altered), "validate_only": self.validate_only}

    def answers(self, response: Any, _targets: Sequence[ConfigResource]) -> dict[ConfigResource, Answer]:
        return {
            ConfigResource(codes.ResourceType(result.resource_type), result.resource_name): (
                result.error_code,
                result.error_message,
            )
            for result in response.responses
        }

    async def describe_again(self, targets: Sequence[ConfigResource]) -> dict[ConfigResource, Status]:
        ops = self.request.ops
        keys = list(dict.fromkeys(op.key for resource in targets for op in ops[resource]))
        listing = await describe_configs(self.link, targets, keys=keys if len(keys) <= _FEW_KEYS else None)
        return {each: configs_verdict(each, ops[each], listing.sets.get(each)) for each in targets}


SENDERS: Senders = {AlterConfigs: _Altering}


class Replacing(_Altering):
    """Alters configs with AlterConfigs. That deletes all overrides that it does not name, so all are read and sent
    again.

    Refused, each for its resource alone: broker loggers; a resource with a sensitive override that is not edited, since
    it can't be read back; a resource whose overrides have changed since the plan was made; a duplicate key, since
    brokers never answer such a request.
    """

    @property
    def api(self) -> str:
        """The name of the older API."""
        return "alter_configs"

    async def refused(self) -> dict[ConfigResource, Outcome]:
        """Read the overrides, and keep the new ones of each resource for the request. Return the outcomes of the other
        resources: loggers, those that can't be read, and those for which `replacement` refuses.
        """
        request = self.request
        readable = [resource for resource in request.ops if not resource.type.entity.has_levels]
        listing = await describe_configs(self.link, readable)
        outcomes: dict[ConfigResource, Outcome] = {}
        self._whole: dict[ConfigResource, dict[str, str]] = {}
        for resource, ops in request.ops.items():
            known = listing.sets.get(resource)
            if resource.type.entity.has_levels:
                outcomes[resource] = refused(
                    resource, "UNSUPPORTED", "this server can't alter loggers", "Alter its log4j file."
                )
            elif known is None:
                outcomes[resource] = Outcome(resource, Status.FAILED, listing.failures[resource])
            else:
                full = replacement(resource, ops, known, request.prior.get(resource))
                if isinstance(full, Outcome):
                    outcomes[resource] = full
                else:
                    self._whole[resource] = full
        return outcomes

    async def deliver(self, targets: Sequence[ConfigResource]) -> dict[ConfigResource, Outcome]:
        """Send the change or its check."""
        return await Sender.deliver(self, targets)

    def fields(self, targets: Sequence[ConfigResource]) -> Fields:
        """Return the fields of the request, with all overrides of these resources."""

        def replaced(resource: ConfigResource) -> list[Fields]:
            return [{"name": key, "value": value} for key, value in self._whole[resource].items()]

        return {"resources": _alter_resources(targets, replaced), "validate_only": self.validate_only}


def _alter_resources(
    resources: Iterable[ConfigResource], configs: Callable[[ConfigResource], list[Fields]]
) -> list[Fields]:
    return [
        {"resource_type": resource.type, "resource_name": resource.name, "configs": configs(resource)}
        for resource in resources
    ]


def replacement(
    resource: ConfigResource, ops: Iterable[ConfigOp], known: ConfigSet, prior: Mapping[str, str | None] | None
) -> dict[str, str] | Outcome:
    """Return all new overrides of the resource, with secrets as plain text, or the outcome of a refusal.

    Args:
        known: the current configs.
        prior: the overrides when the plan was made; None if unknown.
    """
    own = {entry.name: entry.value for entry in known.overrides(resource)}
    before = own if prior is None else dict(prior)
    changed = sorted({key for key, _ in own.items() ^ before.items()})
    if changed:
        return refused(
            resource,
            "CHANGED_MEANWHILE",
            f"{', '.join(changed)} changed since the plan was made",
            "Refresh, look at the plan again and apply it.",
        )
    edited: set[str] = set()
    full: dict[str, str | None] = dict(own)
    for op in ops:
        if op.key in edited:
            return refused(resource, "DUPLICATE", f"{op.key} is named twice", "Keep one of the edits.")
        edited.add(op.key)
        if op.op == codes.DELETE:
            full.pop(op.key, None)
        elif op.op == codes.SET:
            full[op.key] = _revealed(op.value)
        else:
            entry = known.get(op.key)
            now = list_items(entry.value if entry is not None else None)
            items = list_items(_revealed(op.value))
            kept = [item for item in now if item not in items]
            full[op.key] = ",".join((*now, *(i for i in items if i not in now)) if op.op == codes.APPEND else kept)
    hidden = sorted(key for key, value in full.items() if value is None)
    if hidden:
        return refused(
            resource,
            "SENSITIVE_OVERRIDE",
            f"this broker replaces all overrides at once, and {', '.join(hidden)} can't be read back to be kept",
            "Set these too in the same plan; brokers of 2.3 and newer change single keys.",
        )
    return {key: value for key, value in full.items() if value is not None}


def _revealed(value: str | Secret | None) -> str | None:
    return value.reveal() if isinstance(value, Secret) else value


# Resources with configs that no other API lists.

_FIRST, _SINCE = next(
    (codes.ResourceType(number), each.listed.since)
    for number, each in BY_NUMBER.items()
    if each.listed is not None and each.listed.version == 0
)
"""The only type that version 0 lists, without naming the type, and the first release that lists it."""


async def list_config_resources(link: Link, types: Iterable[codes.ResourceType | int]) -> tuple[ConfigResource, ...]:
    """Return the resources of these types that have configs (KIP-1142), sorted.

    Before Kafka 4.1 brokers list only one type (KIP-1000), so other types have no resources.
    Raises Unsupported before Kafka 3.7, and other AdminErrors.
    """
    wanted = tuple(dict.fromkeys(map(codes.ResourceType, types)))
    version = await link.require("list_config_resources", 0, _SINCE)
    if version == 0 and _FIRST not in wanted:
        return ()
    response = await link.call("list_config_resources", {"resource_types": wanted})
    errors.check(response)
    found = (
        ConfigResource(codes.ResourceType(getattr(item, "resource_type", _FIRST)), item.resource_name)
        for item in response.config_resources
    )
    return tuple(sorted(each for each in found if each.is_default or each.type.entity.names.allows(each.name)))

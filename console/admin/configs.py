"""Configs of all types of resources: reading them in chunks, several at a time; changing them; and listing the
resources that have configs (KIP-1142).

DescribeConfigs responses (KIP-133, KIP-226, KIP-569) are decoded directly into the model while the next chunk is in
flight. Changes use IncrementalAlterConfigs (KIP-339), or AlterConfigs (KIP-133) if a broker lacks it.
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
"""Number of resources in one request, so few that the request keeps a broker busy for only some milliseconds, and
other clients need not wait.
"""
IN_FLIGHT = 4

log = logging.getLogger(__name__)

OnChunk = Callable[[ConfigListing], None]


class _LinkMemory:
    """State that a link keeps from one listing to the next: the decoders with their caches, each used by one listing at
    a time, and the id of the broker that describes topics.
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
    """Return the config set of each resource, or the failure to read it.

    Broker and logger resources are read from the broker that they name; resources of an HTTP service, from the service.
    All others are read from one broker, always the same while it is alive, because inherited values differ between
    brokers; `described_by` in the result is its id. If this broker is lost midway, another one describes all of them
    again, and its result replaces the earlier one.

    Args:
        keys: the names of the configs to return; None for all. Unknown names are ignored.
        synonyms: whether to request the values from which each value is inherited.
        documentation: whether to request Kafka's text about each config.
        on_chunk: function called with each part of the result before the next one arrives; None to get only the whole.

    Raises:
        AdminError: the resources that any broker can describe could not be read at all.
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
    """Return the id of the only broker that can describe or alter this resource; None if any broker can."""
    return long_number(resource.name) if resource.type.entity.at_broker else None


class _RequestShape(NamedTuple):
    """The options of a listing."""

    keys: tuple[str, ...] | None
    """The names of the configs to return; None for all."""
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
    """The parts of a listing so far; each new part is also passed to `on_chunk`."""

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
    """A listing in progress: its link, options and results."""

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
"""Maximum number of brokers that are tried one after another. A limit is needed because each attempt reads the
brokers again, and if another cluster answers, it may name new ones each time.
"""


async def _describe_others(reading: _Reading, resources: list[ConfigResource]) -> None:
    """Read the resources that any broker can describe from one broker. If that broker is lost, read all of them from
    another.
    """
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
    """Return the id of the broker that describes the resources that any broker can describe: the one that described
    them last time. If that one was tried already or is gone, return one that was not tried, preferably one at a
    bootstrap address.
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
    """Divide resources into the lists of single requests. All resources of a list have one type, since a broker refuses
    a whole request for a type that it does not know.
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
    """Return resource -> its config set or failure, from one broker. A resource that the response omits is missing.
    Raises BadAnswer and other AdminErrors.
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
    """Changes configs by IncrementalAlterConfigs. A broker applies all changes of a resource or none."""

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
    """Changes configs by AlterConfigs, which removes all overrides that the request does not have. So all overrides of
    a resource are read first and sent again.

    A resource is refused in four cases: it is a broker's loggers; it has a sensitive override whose value can't be
    read, and which the change does not set; its overrides have changed since the plan was made; or the change names a
    key twice, since brokers never answer such a request. The other resources of the change are sent nevertheless.
    """

    @property
    def api(self) -> str:
        """The name of the older API."""
        return "alter_configs"

    async def refused(self) -> dict[ConfigResource, Outcome]:
        """Read the overrides of the resources, and keep those to send. Return resource -> outcome for the resources
        that are refused: loggers, those that can't be read, and those that `replacement` refuses.
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
        """Return the fields of the request, with all overrides that these resources shall have."""

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
    """Return key -> value for all overrides that the resource shall have, with secrets in clear text; or the outcome
    that refuses the change.

    Args:
        known: the present configs.
        prior: key -> value of the overrides when the plan was made; None if unknown.
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

    Brokers before Kafka 4.1 can list only one type (KIP-1000); for other types the result is empty. Raises Unsupported
    before Kafka 3.7, and other AdminErrors.
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

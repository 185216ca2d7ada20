"""Configs: description, changes, and the resources that have configs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import each_item, error_answer
from console.embedded.config_alter import Altering
from console.embedded.config_changes import MALFORMED, ConfigChange, ConfigProblem, Operation, authorization_problem
from console.embedded.config_describe import DescribedBytes, describable_types, described_entries
from console.embedded.context import RequestContext
from console.model.codes import BROKER, SET, TOPIC, AlterOp, ResourceType
from console.model.config import ConfigResource
from console.model.entity_types import BY_NUMBER, Lister
from console.wire.frames import EncodedBody


async def describe_configs(request: Any, context: RequestContext) -> Any:
    """DescribeConfigs (32), v1-4: the configs of resources, with their sources (KIP-133, KIP-226).

    Return the configs or an error for each resource. An unknown resource type fails the whole request.

    Needs DESCRIBE_CONFIGS on the topic or group, for other types on the cluster. Inherited values of a topic are those
    of the receiving broker.

    Version notes:
    - v1: sources and synonyms (KIP-226).
    - v3: types and documentation (KIP-569).
    - v4: flexible.
    """
    known = describable_types(context.cluster.release.name)
    if any(item.resource_type not in known for item in request.resources):
        return error_answer(request, context.messages, ErrorCode.invalid_request, MALFORMED)
    results = DescribedBytes(context, request)
    refused = []
    for item in request.resources:
        resource = ConfigResource(ResourceType(item.resource_type), item.resource_name)
        keys = item.configuration_keys or None
        problem = authorization_problem(resource)
        if not context.allowed("DESCRIBE_CONFIGS", *problem.resource):
            refused.append((resource, problem))
            continue
        try:
            if resource.type == TOPIC:
                results.add_topic(resource, keys)
            elif resource.type == BROKER and resource.name:
                results.add_broker(resource, keys)
            else:
                results.add(resource, described_entries(context.cluster, context.broker_id, resource), keys)
        except ConfigProblem as wrong:
            results.add_problem(resource, wrong)
    # Like Kafka, append the refused resources after the described ones, whatever the order in the request.
    for resource, problem in refused:
        results.add_problem(resource, problem)
    return EncodedBody(results.body())


async def alter_configs(request: Any, context: RequestContext) -> Any:
    """AlterConfigs (33), v0-2: replaces all overrides of each resource (KIP-133 as Kafka has it).

    Replace the overrides of each resource. Like real brokers, never respond to a request that repeats a resource.

    A key that the request omits is deleted, even a sensitive one.

    Version notes:
    - v2: flexible.
    """
    changes = _changes(request, replaces=True)
    # A real broker fails to group the changes by resource, and fails again when it builds the error response (measured
    # on 4.3), so it does not answer.
    if len({change.resource for change in changes}) < len(changes):
        return None
    return _altered(request, context, changes)


def _changes(request: Any, *, replaces: bool) -> list[ConfigChange]:
    """Return the changes in a request. An AlterConfigs request (`replaces`) has no operations: each of its keys is
    set.
    """
    return [
        ConfigChange(
            ConfigResource(ResourceType(item.resource_type), item.resource_name),
            tuple(
                Operation(config.name, AlterOp(getattr(config, "config_operation", SET)), config.value)
                for config in item.configs
            ),
            replaces,
        )
        for item in request.resources
    ]


def _altered(request: Any, context: RequestContext, changes: Sequence[ConfigChange]) -> Any:
    outcomes = iter(Altering(context, validate_only=request.validate_only).alter(changes))
    return each_item(context, request, lambda _item: next(outcomes))


async def incremental_alter_configs(request: Any, context: RequestContext) -> Any:
    """IncrementalAlterConfigs (44), v0-1: sets, deletes, appends and subtracts configs (KIP-339).

    Apply the operations, and return a result for each resource.

    Needs ALTER_CONFIGS on the topic or group, for other types on the cluster. All operations of a resource are applied,
    or none; resources are independent of each other.

    Version notes:
    - v1: flexible.
    """
    return _altered(request, context, _changes(request, replaces=False))


_KNOWN = tuple(sorted((number for number, each in BY_NUMBER.items() if each.is_kafkas), reverse=True))
_FIRST = tuple(number for number, each in BY_NUMBER.items() if each.listed is not None and each.listed.version == 0)


async def list_config_resources(request: Any, context: RequestContext) -> Any:
    """ListConfigResources (74), v0-1: the resources that can have configs (KIP-1142).

    Return the resources of the requested types. An empty array requests all types; an unknown type fails the request.

    Needs DESCRIBE_CONFIGS on the cluster.

    Version notes:
    - v0: ListClientMetricsResources, for one type only (KIP-1000).
    - v1: any types.
    """
    asked = request.resource_types if context.version >= 1 else _FIRST
    if not context.allowed("DESCRIBE_CONFIGS"):
        return context.answer(error_code=ErrorCode.cluster_authorization_failed)
    if any(type_ not in _KNOWN for type_ in asked):
        return context.answer(error_code=ErrorCode.unsupported_version)
    return context.answer(config_resources=tuple(_resources(context, tuple(asked) or _KNOWN)))


def _resources(context: RequestContext, types: tuple[int, ...]) -> Iterator[Any]:
    view = context.view
    for type_ in _KNOWN:
        if type_ not in types:
            continue
        lister = BY_NUMBER[type_].lister
        if lister is Lister.TOPICS:
            names = list(view.topics)
        elif lister is Lister.BROKERS:
            names = [str(broker.id) for broker in view.brokers.values() if broker.alive]
        else:
            names = [known.name for known in view.configs if known.type == type_]
        for name in names:
            yield {"resource_name": name, "resource_type": type_}

"""ListConfigs v0 and v1 (KIP-133)."""

from __future__ import annotations

from collections.abc import Iterable

from kio.schema.errors import ErrorCode

from console.embedded.configs.problems import ConfigProblem
from console.embedded.context import RequestContext
from console.embedded.proposals.delegated import described
from console.embedded.proposals.kip133_resources import QUOTA_PARTS, config_resource, is_registered, quota_entity
from console.embedded.proposals.quota_values import described as described_quotas
from console.model.codes import BROKER, DYNAMIC_TOPIC_CONFIG
from console.model.config import ConfigEntry
from console.wire.proposals import kip133_configs as wire

READ_CONFIGS = "DESCRIBE_CONFIGS"
"""The proposal's ReadConfigs has the number, 10, that Kafka has given to this name."""

Answer = wire.ListConfigsResponse | wire.ListConfigsResponseV1


async def handle(request: wire.ListConfigsRequest | wire.ListConfigsRequestV1, context: RequestContext) -> Answer:
    """Each resource once, with its configs or its error. v1 can ask for some keys only."""
    response = wire.ListConfigsResponseV1 if context.version else wire.ListConfigsResponse
    if not context.allowed(READ_CONFIGS):
        return response(error_code=ErrorCode.cluster_authorization_failed, entities=())
    resources: dict[tuple[int, str], tuple[str, ...] | None] = {}
    for item in request.resources:
        resources.setdefault((item.resource_type, item.resource_name), getattr(item, "config_names", None))
    entities = [await _entity(type_, name, keys, context) for (type_, name), keys in resources.items()]
    return response(error_code=ErrorCode.none, entities=tuple(entities))


async def _entity(type_: int, name: str, keys: tuple[str, ...] | None, context: RequestContext) -> wire.ResourceConfigs:
    if type_ in QUOTA_PARTS:
        return (
            _told(ErrorCode.none, type_, name, _quotas(type_, name, keys, context))
            if name
            else _told(ErrorCode.invalid_request, type_, name)
        )
    resource = config_resource(type_, name)
    if resource is None:
        return _told(ErrorCode.invalid_request, type_, name)
    is_broker = resource.type == BROKER
    if is_broker and not is_registered(name, context.view):
        return _told(ErrorCode.invalid_request, type_, name)
    try:
        entries = described(resource, keys, context)
    except ConfigProblem as problem:
        return _told(problem.code, type_, name)
    is_elsewhere = is_broker and int(name) != context.broker_id
    told = (entry for entry in entries if not (is_elsewhere and entry.read_only))
    return _told(ErrorCode.none, type_, name, [_config(entry, is_broker) for entry in told])


def _config(entry: ConfigEntry, is_broker: bool) -> wire.Config:
    """is_default: for a broker, what nobody set; for a topic, what the topic itself does not set."""
    return wire.Config(
        config_name=entry.name,
        config_value=entry.value or "",
        read_only=entry.read_only,
        is_default=entry.is_default if is_broker else entry.source != DYNAMIC_TOPIC_CONFIG,
        is_sensitive=entry.sensitive,
    )


def _quotas(type_: int, name: str, keys: tuple[str, ...] | None, context: RequestContext) -> Iterable[wire.Config]:
    for entry in described_quotas(quota_entity(type_, name), context.view, keys):
        yield wire.Config(
            config_name=entry.config_name,
            config_value=entry.config_value,
            read_only=entry.read_only,
            is_default=entry.is_default,
            is_sensitive=entry.is_sensitive,
        )


def _told(code: int, type_: int, name: str, configs: Iterable[wire.Config] = ()) -> wire.ResourceConfigs:
    return wire.ResourceConfigs(error_code=code, resource_type=type_, resource_name=name, configs=tuple(configs))

"""ListConfigs v0 and v1 and AlterConfigs v0, in KIP-133's own formats.

Topics and brokers have configs; clients and users have quotas instead. Configs follow the rules of Kafka's own
requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kio.schema.errors import ErrorCode

from console.embedded.answers import repeated_keys
from console.embedded.config_alter import Altering
from console.embedded.config_changes import ConfigChange, ConfigProblem, Operation
from console.embedded.config_describe import described_entries as describe
from console.embedded.context import RequestContext
from console.embedded.proposals.kip248 import READ_ONLY, described_quotas, parsed_quota
from console.embedded.refusals import CLUSTER_REFUSED, Refusal
from console.embedded.state import View
from console.model.codes import BROKER, DYNAMIC_TOPIC_CONFIG, SET, TOPIC
from console.model.config import ConfigEntry, ConfigResource
from console.model.quota import CLIENT_ID, USER, QuotaEntity
from console.wire.proposals import kip133_configs as wire
from console.wire.proposals.formats import UNSUPPORTED_OPERATION
from console.wire.proposals.kip133_configs import ResourceType

QUOTA_PARTS = {int(ResourceType.CLIENT): CLIENT_ID, int(ResourceType.USER): USER}
_CONFIG_TYPES = {int(ResourceType.TOPIC): TOPIC, int(ResourceType.BROKER): BROKER}
_DEFAULT = "<default>"


def config_resource(type_: int, name: str) -> ConfigResource | None:
    """Return the config resource of a topic or broker; None for any other type."""
    known = _CONFIG_TYPES.get(type_)
    return None if known is None else ConfigResource(known, name)


def is_registered(broker: str, view: View) -> bool:
    """Return whether a broker with this id is registered."""
    return broker.isdecimal() and str(int(broker)) == broker and int(broker) in view.brokers


def quota_entity(type_: int, name: str) -> QuotaEntity:
    """Return the quota entity of a client or user. Raises KeyError for any other type."""
    return QuotaEntity.of({QUOTA_PARTS[type_]: None if name == _DEFAULT else name})


def described_configs(
    resource: ConfigResource, keys: Sequence[str] | None, context: RequestContext
) -> list[ConfigEntry]:
    """Return the config entries of a resource. keys: the keys to return; None for all. Raises ConfigProblem."""
    broker_id = int(resource.name) if resource.type == BROKER else context.broker_id
    entries = describe(context.cluster, broker_id, resource)
    return entries if keys is None else [entry for entry in entries if entry.name in keys]


def altered(change: ConfigChange, context: RequestContext, *, validate_only: bool = False) -> Refusal:
    """Change the configs of a resource by the rules of Kafka's own requests, and return DONE or the refusal. The caller
    has checked the right that the proposal requires.

    A broker's configs are checked as by that broker, since the proposals' requests may go to any broker.
    """
    if change.resource.type == BROKER:
        context = replace(context, broker_id=int(change.resource.name))
    (outcome,) = Altering(context, validate_only=validate_only, authorized=True).alter([change])
    return outcome


READ_CONFIGS = "DESCRIBE_CONFIGS"
"""Kafka's operation with the number 10, which the proposal calls ReadConfigs."""

Answer = wire.ListConfigsResponse | wire.ListConfigsResponseV1


async def list_configs(request: wire.ListConfigsRequest | wire.ListConfigsRequestV1, context: RequestContext) -> Answer:
    """Answer ListConfigs: each resource once, with its configs or its error. v1 can name the wanted keys."""
    response = wire.ListConfigsResponseV1 if context.version else wire.ListConfigsResponse
    if not context.allowed(READ_CONFIGS):
        return response(error_code=ErrorCode.cluster_authorization_failed, entities=())
    resources: dict[tuple[int, str], tuple[str, ...] | None] = {}
    for item in request.resources:
        resources.setdefault((item.resource_type, item.resource_name), getattr(item, "config_names", None))
    entities = [_entity(type_, name, keys, context) for (type_, name), keys in resources.items()]
    return response(error_code=ErrorCode.none, entities=tuple(entities))


def _entity(type_: int, name: str, keys: tuple[str, ...] | None, context: RequestContext) -> wire.ResourceConfigs:
    if type_ in QUOTA_PARTS:
        if not name:
            return _resource_configs(ErrorCode.invalid_request, type_, name)
        return _resource_configs(
            ErrorCode.none, type_, name, described_quotas(quota_entity(type_, name), context.view, keys)
        )
    resource = config_resource(type_, name)
    if resource is None:
        return _resource_configs(ErrorCode.invalid_request, type_, name)
    is_broker = resource.type == BROKER
    if is_broker and not is_registered(name, context.view):
        return _resource_configs(ErrorCode.invalid_request, type_, name)
    try:
        entries = described_configs(resource, keys, context)
    except ConfigProblem as problem:
        return _resource_configs(problem.code, type_, name)
    is_elsewhere = is_broker and int(name) != context.broker_id
    # For another broker, describe only the configs in the metadata log, as only that broker knows its own file.
    visible = (entry for entry in entries if not (is_elsewhere and entry.read_only))
    return _resource_configs(ErrorCode.none, type_, name, [_config(entry, is_broker) for entry in visible])


def _config(entry: ConfigEntry, is_broker: bool) -> wire.Config:
    """Return a config as a response element. The element's is_default is true for a broker's key that is set in no
    layer, and for a topic's key that the topic does not override.
    """
    return wire.Config(
        config_name=entry.name,
        config_value=entry.value or "",
        read_only=entry.read_only,
        is_default=entry.is_default if is_broker else entry.source != DYNAMIC_TOPIC_CONFIG,
        is_sensitive=entry.sensitive,
    )


def _resource_configs(code: int, type_: int, name: str, configs: Iterable[wire.Config] = ()) -> wire.ResourceConfigs:
    return wire.ResourceConfigs(error_code=code, resource_type=type_, resource_name=name, configs=tuple(configs))


WRITE_CONFIGS = "ALTER_CONFIGS"
"""Kafka's operation with the number 11, which the proposal calls WriteConfigs."""

Result = tuple[int, str]
_MISSING = "There is no such topic."


async def alter_configs(request: wire.AlterConfigsRequest, context: RequestContext) -> wire.AlterConfigsResponse:
    """Answer AlterConfigs: check the configs of each resource. Unless the request only validates, replace the
    overrides of each resource whose configs are all valid; other resources stay unchanged.
    """
    twice = repeated_keys(request.resources, _key)
    allowed = context.allowed(WRITE_CONFIGS)
    results: dict[tuple[int, str], Result] = {}
    for item in request.resources:
        key = _key(item)
        if key in results:
            continue
        if not allowed:
            results[key] = ErrorCode.cluster_authorization_failed, CLUSTER_REFUSED
        elif key in twice:
            results[key] = ErrorCode.invalid_request, "Each resource must appear at most once."
        else:
            results[key] = _altered_resource(item, context, request.validate_only)
    # As the proposal requires, respond after all live brokers have applied the change.
    if not request.validate_only:
        await context.visible()
    return wire.AlterConfigsResponse(
        responses=tuple(
            wire.ResourceError(resource_type=type_, resource_name=name, error_code=code, error_message=message)
            for (type_, name), (code, message) in results.items()
        )
    )


def _key(item: wire.AlteredResource) -> tuple[int, str]:
    return item.resource_type, item.resource_name


def _altered_resource(item: wire.AlteredResource, context: RequestContext, validate_only: bool) -> Result:
    configs = {config.config_name: config.config_value for config in item.configs}
    if len(configs) != len(item.configs):
        return ErrorCode.invalid_request, "Error due to duplicate config keys"
    if item.resource_type in QUOTA_PARTS:
        return _alter_quotas(item, configs, context, validate_only)
    resource = config_resource(item.resource_type, item.resource_name)
    if resource is None:
        return ErrorCode.invalid_request, f"Resource type {item.resource_type} has no configs"
    if resource.type == BROKER and not is_registered(resource.name, context.view):
        return ErrorCode.invalid_request, f"There is no broker {resource.name!r}"
    try:
        now = described_configs(resource, list(configs), context)
    except ConfigProblem as problem:
        return problem.code, problem.message or _MISSING
    # The proposal has its own error for read-only keys; Kafka's handler would report an invalid config.
    fixed = [entry.name for entry in now if entry.read_only]
    if fixed:
        return UNSUPPORTED_OPERATION, f"Read-only: {', '.join(fixed)}"
    operations = tuple(Operation(key, SET, value) for key, value in configs.items())
    code, message = altered(ConfigChange(resource, operations, replaces=True), context, validate_only=validate_only)
    return code, message or ""


def _alter_quotas(
    item: wire.AlteredResource, configs: dict[str, str], context: RequestContext, validate_only: bool
) -> Result:
    if not item.resource_name:
        return ErrorCode.invalid_request, "A client or user must be named"
    fixed = READ_ONLY.intersection(configs)
    if fixed:
        return UNSUPPORTED_OPERATION, f"Read-only: {', '.join(sorted(fixed))}"
    try:
        values = {key: parsed_quota(key, value) for key, value in configs.items()}
    except ValueError as error:
        return ErrorCode.invalid_config, str(error)
    if not validate_only:
        entity = quota_entity(item.resource_type, item.resource_name)
        context.state.alter_quota(entity, dict.fromkeys(context.state.quotas.get(entity, {})) | values)
    return ErrorCode.none, ""

"""AlterConfigs v0 (KIP-133)."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.configs.problems import ConfigProblem
from console.embedded.context import RequestContext
from console.embedded.proposals.common import REFUSED, repeated
from console.embedded.proposals.delegated import described, replaced
from console.embedded.proposals.kip133_resources import QUOTA_PARTS, config_resource, is_registered, quota_entity
from console.embedded.proposals.quota_values import READ_ONLY, parsed
from console.model.codes import BROKER
from console.wire.proposals import kip133_configs as wire
from console.wire.proposals.formats import UNSUPPORTED_OPERATION

WRITE_CONFIGS = "ALTER_CONFIGS"
"""The proposal's WriteConfigs has the number, 11, that Kafka has given to this name."""

Result = tuple[int, str]
_MISSING = "There is no such topic."


async def handle(request: wire.AlterConfigsRequest, context: RequestContext) -> wire.AlterConfigsResponse:
    """Puts each resource's configs in the place of its overrides, where they are valid; the others go on."""
    twice = repeated(request.resources, _key)
    allowed = context.allowed(WRITE_CONFIGS)
    results: dict[tuple[int, str], Result] = {}
    for item in request.resources:
        key = _key(item)
        if key in results:
            continue
        if not allowed:
            results[key] = ErrorCode.cluster_authorization_failed, REFUSED
        elif key in twice:
            results[key] = ErrorCode.invalid_request, "Each resource must appear at most once."
        else:
            results[key] = await _altered(item, context, request.validate_only)
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


async def _altered(item: wire.AlteredResource, context: RequestContext, validate_only: bool) -> Result:
    configs = {config.config_name: config.config_value for config in item.configs}
    if len(configs) != len(item.configs):
        return ErrorCode.invalid_request, "Error due to duplicate config keys"
    if item.resource_type in QUOTA_PARTS:
        return _quotas(item, configs, context, validate_only)
    resource = config_resource(item.resource_type, item.resource_name)
    if resource is None:
        return ErrorCode.invalid_request, f"Resource type {item.resource_type} has no configs"
    if resource.type == BROKER and not is_registered(resource.name, context.view):
        return ErrorCode.invalid_request, f"There is no broker {resource.name!r}"
    try:
        now = described(resource, list(configs), context)
    except ConfigProblem as problem:
        return problem.code, problem.message or _MISSING
    fixed = [entry.name for entry in now if entry.read_only]
    if fixed:
        return UNSUPPORTED_OPERATION, f"Read-only: {', '.join(fixed)}"
    result = await replaced(resource, configs, context, validate_only=validate_only)
    return int(result.error_code), result.error_message or ""


def _quotas(
    item: wire.AlteredResource, configs: dict[str, str], context: RequestContext, validate_only: bool
) -> Result:
    if not item.resource_name:
        return ErrorCode.invalid_request, "A client or user must be named"
    fixed = READ_ONLY.intersection(configs)
    if fixed:
        return UNSUPPORTED_OPERATION, f"Read-only: {', '.join(sorted(fixed))}"
    try:
        values = {key: parsed(key, value) for key, value in configs.items()}
    except ValueError as error:
        return ErrorCode.invalid_config, str(error)
    if not validate_only:
        entity = quota_entity(item.resource_type, item.resource_name)
        context.state.alter_quota(entity, dict.fromkeys(context.state.quotas.get(entity, {})) | values)
    return ErrorCode.none, ""

"""DescribeConfig (KIP-21)."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.configs.problems import ConfigProblem
from console.embedded.context import RequestContext
from console.embedded.proposals.delegated import described
from console.embedded.proposals.kip21_entities import entity
from console.embedded.proposals.quota_values import described as described_quotas
from console.model.quota import QuotaEntity
from console.wire.proposals import kip21_configs as wire
from console.wire.proposals.formats import INVALID_ENTITY

Result = tuple[int, dict[str, str]]


async def handle(request: wire.DescribeConfigRequest, context: RequestContext) -> wire.DescribeConfigResponse:
    """What holds for each entity: the dynamic value before the file's before the default; secrets are left out."""
    return wire.DescribeConfigResponse(entities=tuple([await _described(item, context) for item in request.entities]))


async def _described(item: wire.Entity, context: RequestContext) -> wire.DescribedEntity:
    code, configs = await _configs(item, context)
    return wire.DescribedEntity(
        entity_type=item.entity_type,
        entity_name=item.entity_name,
        error_code=code,
        config_entries=tuple(wire.ConfigEntry(config_key=key, config_value=value) for key, value in configs.items()),
    )


async def _configs(item: wire.Entity, context: RequestContext) -> Result:
    if not context.allowed("DESCRIBE_CONFIGS"):
        return ErrorCode.cluster_authorization_failed, {}
    known = entity(item.entity_type, item.entity_name, context.view)
    if known is None:
        return INVALID_ENTITY, {}
    if isinstance(known, QuotaEntity):
        entries = described_quotas(known, context.view, None)
        return ErrorCode.none, {entry.config_name: entry.config_value for entry in entries if not entry.is_sensitive}
    try:
        inherited = described(known, None, context)
    except ConfigProblem as problem:
        return problem.code, {}
    return ErrorCode.none, {entry.name: entry.value for entry in inherited if entry.value is not None}

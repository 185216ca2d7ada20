"""AlterConfig (KIP-21)."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.proposals.delegated import altered
from console.embedded.proposals.kip21_entities import entity
from console.embedded.proposals.quota_values import parsed
from console.model.codes import BROKER
from console.model.quota import QuotaEntity
from console.wire.proposals import kip21_configs as wire
from console.wire.proposals.formats import INVALID_ENTITY, INVALID_ENTITY_CONFIG

Changes = dict[str, str | None]


async def handle(request: wire.AlterConfigRequest, context: RequestContext) -> wire.AlterConfigResponse:
    """Adds and deletes entries of each entity, all or none of one entity's; a deleted one has its default again."""
    results = [
        wire.EntityErrorCode(
            entity_type=item.entity_type, entity_name=item.entity_name, error_code=await _altered(item, context)
        )
        for item in request.entities
    ]
    await context.visible()
    return wire.AlterConfigResponse(entities=tuple(results))


async def _altered(item: wire.AlteredEntity, context: RequestContext) -> int:
    if not context.allowed("ALTER_CONFIGS"):
        return ErrorCode.cluster_authorization_failed
    known = entity(item.entity_type, item.entity_name, context.state.view)
    if known is None:
        return INVALID_ENTITY
    added = {entry.config_key: entry.config_value for entry in item.added_config_entries}
    keys = [entry.config_key for entry in item.added_config_entries] + list(item.deleted_configs)
    if len(set(keys)) < len(keys):
        return INVALID_ENTITY_CONFIG
    if isinstance(known, QuotaEntity):
        return _alter_quotas(known, added, item.deleted_configs, context)
    result = await altered(known, added, item.deleted_configs, context)
    is_config_error = result.error_code == ErrorCode.invalid_config or (
        known.type == BROKER and result.error_code == ErrorCode.invalid_request
    )
    return INVALID_ENTITY_CONFIG if is_config_error else int(result.error_code)


def _alter_quotas(known: QuotaEntity, added: dict[str, str], deleted: tuple[str, ...], context: RequestContext) -> int:
    """An empty value is wrong here: what is to go is among the deleted ones."""
    try:
        values = {key: parsed(key, added.get(key, "")) for key in (*added, *deleted)}
    except ValueError:
        return INVALID_ENTITY_CONFIG
    if not all(added.values()):
        return INVALID_ENTITY_CONFIG
    context.state.alter_quota(known, values)
    return ErrorCode.none

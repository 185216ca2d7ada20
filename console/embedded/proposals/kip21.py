"""DescribeConfig, AlterConfig and the notifications of changes, in KIP-21's own formats."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.config_changes import ConfigChange, ConfigProblem, Operation
from console.embedded.context import RequestContext
from console.embedded.proposals.kip133 import altered, described_configs, is_registered
from console.embedded.proposals.kip248 import described_quotas, parsed_quota
from console.embedded.state import View
from console.model.codes import BROKER, DELETE, SET, TOPIC
from console.model.config import ConfigResource
from console.model.quota import CLIENT_ID, QuotaEntity
from console.wire.proposals import kip21_configs as wire
from console.wire.proposals.formats import INVALID_ENTITY, INVALID_ENTITY_CONFIG

_DEFAULT = "<default>"


def entity(type_: str, name: str, view: View) -> ConfigResource | QuotaEntity | None:
    """Return the config resource or quota entity with this type and name; None if the type or the name is invalid
    (InvalidEntity).
    """
    if type_ == wire.TOPIC and name in view.topics:
        return ConfigResource(TOPIC, name)
    if type_ == wire.BROKER and is_registered(name, view):
        return ConfigResource(BROKER, name)
    if type_ == wire.CLIENT and name:
        return QuotaEntity.of({CLIENT_ID: None if name == _DEFAULT else name})
    return None


Result = tuple[int, dict[str, str]]


async def describe_config(request: wire.DescribeConfigRequest, context: RequestContext) -> wire.DescribeConfigResponse:
    """Answer DescribeConfig: for each entity the effective values, which are set at run time, in the broker's file, or
    defaults.

    Secrets are omitted.
    """
    return wire.DescribeConfigResponse(entities=tuple(_described(item, context) for item in request.entities))


def _described(item: wire.Entity, context: RequestContext) -> wire.DescribedEntity:
    code, configs = _configs(item, context)
    return wire.DescribedEntity(
        entity_type=item.entity_type,
        entity_name=item.entity_name,
        error_code=code,
        config_entries=tuple(wire.ConfigEntry(config_key=key, config_value=value) for key, value in configs.items()),
    )


def _configs(item: wire.Entity, context: RequestContext) -> Result:
    if not context.allowed("DESCRIBE_CONFIGS"):
        return ErrorCode.cluster_authorization_failed, {}
    known = entity(item.entity_type, item.entity_name, context.view)
    if known is None:
        return INVALID_ENTITY, {}
    if isinstance(known, QuotaEntity):
        entries = described_quotas(known, context.view, None)
        return ErrorCode.none, {entry.config_name: entry.config_value for entry in entries if not entry.is_sensitive}
    try:
        inherited = described_configs(known, None, context)
    except ConfigProblem as problem:
        return problem.code, {}
    return ErrorCode.none, {entry.name: entry.value for entry in inherited if entry.value is not None}


async def alter_config(request: wire.AlterConfigRequest, context: RequestContext) -> wire.AlterConfigResponse:
    """Answer AlterConfig: set and delete configs, all of an entity or none. A deleted config has its default again."""
    results = [
        wire.EntityErrorCode(
            entity_type=item.entity_type, entity_name=item.entity_name, error_code=_altered(item, context)
        )
        for item in request.entities
    ]
    await context.visible()
    return wire.AlterConfigResponse(entities=tuple(results))


def _altered(item: wire.AlteredEntity, context: RequestContext) -> int:
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
    operations = [Operation(key, SET, value) for key, value in added.items()]
    operations += [Operation(key, DELETE, None) for key in item.deleted_configs]
    code = altered(ConfigChange(known, tuple(operations)), context).code
    # A failed validation is INVALID_CONFIG for a topic, and INVALID_REQUEST for a broker, which checks its own configs.
    wrong_broker = known.type == BROKER and code == ErrorCode.invalid_request
    return INVALID_ENTITY_CONFIG if code == ErrorCode.invalid_config or wrong_broker else code


def _alter_quotas(known: QuotaEntity, added: dict[str, str], deleted: tuple[str, ...], context: RequestContext) -> int:
    """Set and delete quotas, and return the error code; 0 for success. An invalid value changes nothing. An empty value
    is invalid, since the request lists deletions separately.
    """
    try:
        values = {key: parsed_quota(key, added.get(key, "")) for key in (*added, *deleted)}
    except ValueError:
        return INVALID_ENTITY_CONFIG
    if not all(added.values()):
        return INVALID_ENTITY_CONFIG
    context.state.alter_quota(known, values)
    return ErrorCode.none

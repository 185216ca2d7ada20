"""KIP-248: ListQuotas v1, DescribeQuotas v1 and AlterQuotas v0, in the proposal's own formats.

Quotas are texts with flags. A user's SCRAM credentials are listed with its quotas, as read-only and sensitive.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.quotas import check_quota
from console.embedded.refusals import CLUSTER_REFUSED
from console.embedded.state import View
from console.model.quota import (
    CLIENT_ID,
    CLIENT_KEYS,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    QuotaEntity,
)
from console.wire.proposals.kip248_quotas import (
    DEFAULT_NAME,
    AlteredQuotas,
    AlteredQuotasResult,
    AlterQuotasRequest,
    AlterQuotasResponse,
    ConfigEntry,
    DescribedConfig,
    DescribedQuotas,
    DescribeQuotasRequest,
    DescribeQuotasResponse,
    ListQuotasRequest,
    ListQuotasResponse,
    QuotaConfigResource,
    QuotaResult,
    ResourceType,
    WantedQuotas,
)

_PARTS = {ResourceType.USER: USER, ResourceType.CLIENT: CLIENT_ID}


def entity_of(parent: QuotaConfigResource, child: QuotaConfigResource) -> QuotaEntity:
    """Return the entity of a resource and its child: a user, a client, or a user's client.

    Raises ValueError for another pair.
    """
    if child.type == ResourceType.UNKNOWN and child.name is None:
        resources = [parent]
    elif (parent.type, child.type) == (ResourceType.USER, ResourceType.CLIENT):
        resources = [parent, child]
    else:
        raise ValueError("Only a user can be a parent, and only a client its child")
    return QuotaEntity.of(dict(_part(resource) for resource in resources))


def _part(resource: QuotaConfigResource) -> tuple[str, str | None]:
    part = _PARTS.get(resource.type)  # type: ignore[call-overload]
    if part is None:
        raise ValueError(f"Resource type {resource.type} has no quotas")
    if not resource.name:
        raise ValueError(f"A {part} must be named, the default one as {DEFAULT_NAME}")
    return part, None if resource.name == DEFAULT_NAME else resource.name


def entity_names(resource: QuotaConfigResource, entities: Iterable[QuotaEntity]) -> tuple[str, ...]:
    """Return the names of one type, or a user's clients. A client has no children.

    Users are listed if only one of their clients has quotas. Raises ValueError for a type without quotas.
    """
    type_ = _PARTS.get(resource.type)  # type: ignore[call-overload]
    if type_ is None:
        raise ValueError(f"Resource type {resource.type} has no quotas")
    found: set[str | None] = set()
    if resource.name is None:
        found.update(e.name_of(type_) for e in entities if e.has(type_) and (type_ == USER or not e.has(USER)))
    elif type_ == USER:
        _, user = _part(resource)
        found.update(
            e.name_of(CLIENT_ID) for e in entities if e.has(USER) and e.has(CLIENT_ID) and e.name_of(USER) == user
        )
    return tuple(sorted(DEFAULT_NAME if name is None else name for name in found))


_UNLIMITED: Mapping[str, float] = {
    PRODUCER_BYTE_RATE: 2.0**63,
    CONSUMER_BYTE_RATE: 2.0**63,
    REQUEST_PERCENTAGE: 2.0**31 - 1,
    CONTROLLER_MUTATION_RATE: 2.0**31 - 1,
}
"""QuotaConfig's defaults, which mean no limit."""
_WHOLE = frozenset({PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE})
_LARGEST = 2**63 - 1
_MECHANISMS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
READ_ONLY = frozenset(_MECHANISMS)


def described_quotas(entity: QuotaEntity, view: View, wanted: tuple[str, ...] | None) -> tuple[ConfigEntry, ...]:
    """Return the entries of an entity, or those with the wanted keys. A key that is not set has its default."""
    entries = [_entry(entity, key, view) for key in CLIENT_KEYS]
    if entity.has(USER) and not entity.has(CLIENT_ID) and (user := entity.name_of(USER)) is not None:
        entries += [
            ConfigEntry(config_name=name, config_value="", read_only=True, is_default=False, is_sensitive=True)
            for name, number in _MECHANISMS.items()
            if any((key.user, key.mechanism) == (user, number) for key in view.scram)
        ]
    return tuple(entry for entry in entries if wanted is None or entry.config_name in wanted)


def _entry(entity: QuotaEntity, key: str, view: View) -> ConfigEntry:
    own = view.quotas.get(entity, {}).get(key)
    value = own if own is not None else _inherited(entity, key, view)
    return ConfigEntry(
        config_name=key,
        config_value=quota_text(key, value),
        read_only=False,
        is_default=own is None,
        is_sensitive=False,
    )


def _inherited(entity: QuotaEntity, key: str, view: View) -> float:
    """Return the value of a key that the entity does not set: the default entity's, else no limit (KIP-21)."""
    default = QuotaEntity.of(dict.fromkeys(entity.as_dict()))
    return view.quotas.get(default, {}).get(key, _UNLIMITED[key])


def quota_text(key: str, value: float) -> str:
    """Return a quota as text; byte rates without a fraction."""
    return str(min(int(value), _LARGEST)) if key in _WHOLE else repr(value)


def parsed_quota(key: str, value: str) -> float | None:
    """Parse a quota; None for an empty text, which restores the default.

    Raises ValueError for an invalid key or value, with the reason.
    """
    if key in READ_ONLY:
        raise ValueError(f"{key} is read-only")
    if not value:
        number = None
    else:
        try:
            number = float(value)
        except ValueError:
            raise ValueError(f"{value!r} is no number for {key}") from None
        if not math.isfinite(number):
            raise ValueError(f"Quota {key} must be a finite number")
    check_quota(key, 1.0 if number is None else number, CLIENT_KEYS)
    return number


async def list_quotas(request: ListQuotasRequest, context: RequestContext) -> ListQuotasResponse:
    """Answer ListQuotas: the names, with ``<default>`` for the default. Needs DESCRIBE on the cluster."""
    if not context.allowed("DESCRIBE"):
        return _answer(ErrorCode.cluster_authorization_failed, CLUSTER_REFUSED)
    try:
        return _answer(ErrorCode.none, None, entity_names(request.quota_config_resource, context.view.quotas))
    except ValueError as error:
        return _answer(ErrorCode.invalid_request, str(error))


def _answer(code: int, message: str | None, found: tuple[str, ...] = ()) -> ListQuotasResponse:
    return ListQuotasResponse(
        throttle_time_ms=0, error_code=code, error_message=message, quota_config_entity_names=found
    )


async def describe_quotas(request: DescribeQuotasRequest, context: RequestContext) -> DescribeQuotasResponse:
    """Answer DescribeQuotas: the quotas or the error of each resource. Needs DESCRIBE_CONFIGS on the cluster."""
    allowed = context.allowed("DESCRIBE_CONFIGS")
    return DescribeQuotasResponse(
        throttle_time_ms=0,
        resources=tuple(
            DescribedQuotas(
                quota_config_resource=wanted.quota_config_resource,
                child_quota_config_resource=wanted.child_quota_config_resource,
                configs=(
                    _config(wanted, context)
                    if allowed
                    else _described_error(ErrorCode.cluster_authorization_failed, CLUSTER_REFUSED),
                ),
            )
            for wanted in request.resources
        ),
    )


def _config(wanted: WantedQuotas, context: RequestContext) -> DescribedConfig:
    try:
        entity = entity_of(wanted.quota_config_resource, wanted.child_quota_config_resource)
    except ValueError as error:
        return _described_error(ErrorCode.invalid_request, str(error))
    entries = described_quotas(entity, context.view, wanted.config_names)
    return DescribedConfig(error_code=ErrorCode.none, error_message=None, config_entries=entries)


def _described_error(code: int, message: str) -> DescribedConfig:
    return DescribedConfig(error_code=code, error_message=message, config_entries=())


async def alter_quotas(request: AlterQuotasRequest, context: RequestContext) -> AlterQuotasResponse:
    """Answer AlterQuotas: set each valid key, and wait until all live brokers have it. Needs ALTER_CONFIGS on the
    cluster."""
    allowed = context.allowed("ALTER_CONFIGS")
    results = tuple(
        AlteredQuotasResult(
            quota_config_resource=item.quota_config_resource,
            child_quota_config_resource=item.child_quota_config_resource,
            configs=_altered(item, context, request.validate_only)
            if allowed
            else _all_failed(item, ErrorCode.cluster_authorization_failed, CLUSTER_REFUSED),
        )
        for item in request.resources
    )
    if not request.validate_only:
        await context.visible()
    return AlterQuotasResponse(throttle_time_ms=0, resources=results)


def _altered(item: AlteredQuotas, context: RequestContext, validate_only: bool) -> tuple[QuotaResult, ...]:
    try:
        entity = entity_of(item.quota_config_resource, item.child_quota_config_resource)
    except ValueError as error:
        return _all_failed(item, ErrorCode.invalid_request, str(error))
    changes: dict[str, float | None] = {}
    results: list[QuotaResult] = []
    for config in item.configs:
        try:
            # Each key by itself: one that is invalid does not keep the others from being set.
            changes[config.config_name] = parsed_quota(config.config_name, config.config_value)
            results.append(QuotaResult(error_code=ErrorCode.none, error_message=None, config_name=config.config_name))
        except ValueError as error:
            results.append(
                QuotaResult(
                    error_code=ErrorCode.invalid_request, error_message=str(error), config_name=config.config_name
                )
            )
    if changes and not validate_only:
        context.state.alter_quota(entity, changes)
    return tuple(results)


def _all_failed(item: AlteredQuotas, code: int, message: str) -> tuple[QuotaResult, ...]:
    return tuple(
        QuotaResult(error_code=code, error_message=message, config_name=config.config_name) for config in item.configs
    )

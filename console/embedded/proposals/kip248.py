"""ListQuotas v1, DescribeQuotas v1 and AlterQuotas v0, in KIP-248's own formats.

A quota is a text with flags. A user's SCRAM credentials are listed among the user's quotas, marked as read-only and
sensitive.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.quotas import check_quota
from console.embedded.refusals import CLUSTER_REFUSED
from console.embedded.state import View
from console.model import quota
from console.wire.proposals import kip248_quotas

_PARTS = {kip248_quotas.ResourceType.USER: quota.USER, kip248_quotas.ResourceType.CLIENT: quota.CLIENT_ID}


def entity_of(parent: kip248_quotas.QuotaConfigResource, child: kip248_quotas.QuotaConfigResource) -> quota.QuotaEntity:
    """Return the quota entity of a resource and its child: a user, a client, or a user with a client.

    Raises ValueError for any other combination.
    """
    if child.type == kip248_quotas.ResourceType.UNKNOWN and child.name is None:
        resources = [parent]
    elif (parent.type, child.type) == (kip248_quotas.ResourceType.USER, kip248_quotas.ResourceType.CLIENT):
        resources = [parent, child]
    else:
        raise ValueError("Only a user can be a parent, and only a client its child")
    return quota.QuotaEntity.of(dict(_part(resource) for resource in resources))


def _part(resource: kip248_quotas.QuotaConfigResource) -> tuple[str, str | None]:
    part = _PARTS.get(resource.type)  # type: ignore[call-overload]
    if part is None:
        raise ValueError(f"Resource type {resource.type} has no quotas")
    if not resource.name:
        raise ValueError(f"A {part} must be named, the default one as {kip248_quotas.DEFAULT_NAME}")
    return part, None if resource.name == kip248_quotas.DEFAULT_NAME else resource.name


def entity_names(resource: kip248_quotas.QuotaConfigResource, entities: Iterable[quota.QuotaEntity]) -> tuple[str, ...]:
    """Return the names that a request for this resource lists. If the resource has no name: the names of all entities
    of its type. If it is a user with a name: the names of the user's clients. Empty for a client with a name, which
    has no children.

    A user is listed, too, if only its clients have quotas. Raises ValueError for a type without quotas.
    """
    type_ = _PARTS.get(resource.type)  # type: ignore[call-overload]
    if type_ is None:
        raise ValueError(f"Resource type {resource.type} has no quotas")
    found: set[str | None] = set()
    if resource.name is None:
        found.update(
            e.name_of(type_) for e in entities if e.has(type_) and (type_ == quota.USER or not e.has(quota.USER))
        )
    elif type_ == quota.USER:
        _, user = _part(resource)
        found.update(
            e.name_of(quota.CLIENT_ID)
            for e in entities
            if e.has(quota.USER) and e.has(quota.CLIENT_ID) and e.name_of(quota.USER) == user
        )
    return tuple(sorted(kip248_quotas.DEFAULT_NAME if name is None else name for name in found))


_UNLIMITED: Mapping[str, float] = {
    quota.PRODUCER_BYTE_RATE: 2.0**63,
    quota.CONSUMER_BYTE_RATE: 2.0**63,
    quota.REQUEST_PERCENTAGE: 2.0**31 - 1,
    quota.CONTROLLER_MUTATION_RATE: 2.0**31 - 1,
}
"""Quota key -> its default in Kafka's QuotaConfig, which means that there is no limit."""
_WHOLE = frozenset({quota.PRODUCER_BYTE_RATE, quota.CONSUMER_BYTE_RATE})
_LARGEST = 2**63 - 1
_MECHANISMS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
READ_ONLY = frozenset(_MECHANISMS)


def described_quotas(
    entity: quota.QuotaEntity, view: View, wanted: tuple[str, ...] | None
) -> tuple[kip248_quotas.ConfigEntry, ...]:
    """Return the quotas of an entity; a key that is not set has its default. wanted: the keys to return; None for
    all.
    """
    entries = [_entry(entity, key, view) for key in quota.CLIENT_KEYS]
    if entity.has(quota.USER) and not entity.has(quota.CLIENT_ID) and (user := entity.name_of(quota.USER)) is not None:
        entries += [
            kip248_quotas.ConfigEntry(
                config_name=name, config_value="", read_only=True, is_default=False, is_sensitive=True
            )
            for name, number in _MECHANISMS.items()
            if any((key.user, key.mechanism) == (user, number) for key in view.scram)
        ]
    return tuple(entry for entry in entries if wanted is None or entry.config_name in wanted)


def _entry(entity: quota.QuotaEntity, key: str, view: View) -> kip248_quotas.ConfigEntry:
    own = view.quotas.get(entity, {}).get(key)
    value = own if own is not None else _inherited(entity, key, view)
    return kip248_quotas.ConfigEntry(
        config_name=key,
        config_value=quota_text(key, value),
        read_only=False,
        is_default=own is None,
        is_sensitive=False,
    )


def _inherited(entity: quota.QuotaEntity, key: str, view: View) -> float:
    """Return the value of a key that the entity itself does not set: that of the default entity, otherwise no limit
    (KIP-21).
    """
    default = quota.QuotaEntity.of(dict.fromkeys(entity.as_dict()))
    return view.quotas.get(default, {}).get(key, _UNLIMITED[key])


def quota_text(key: str, value: float) -> str:
    """Return a quota as text. Byte rates have no fraction."""
    return str(min(int(value), _LARGEST)) if key in _WHOLE else repr(value)


def parsed_quota(key: str, value: str) -> float | None:
    """Parse the value of a quota; return None for an empty text, which restores the default.

    Raises ValueError with the reason for an invalid key or value.
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
    check_quota(key, 1.0 if number is None else number, quota.CLIENT_KEYS)
    return number


async def list_quotas(
    request: kip248_quotas.ListQuotasRequest, context: RequestContext
) -> kip248_quotas.ListQuotasResponse:
    """Answer ListQuotas: the names that `entity_names` returns, with ``<default>`` for the default entity.
    INVALID_REQUEST for a type without quotas. Needs DESCRIBE on the cluster.
    """
    if not context.allowed("DESCRIBE"):
        return _answer(ErrorCode.cluster_authorization_failed, CLUSTER_REFUSED)
    try:
        return _answer(ErrorCode.none, None, entity_names(request.quota_config_resource, context.view.quotas))
    except ValueError as error:
        return _answer(ErrorCode.invalid_request, str(error))


def _answer(code: int, message: str | None, found: tuple[str, ...] = ()) -> kip248_quotas.ListQuotasResponse:
    return kip248_quotas.ListQuotasResponse(
        throttle_time_ms=0, error_code=code, error_message=message, quota_config_entity_names=found
    )


async def describe_quotas(
    request: kip248_quotas.DescribeQuotasRequest, context: RequestContext
) -> kip248_quotas.DescribeQuotasResponse:
    """Answer DescribeQuotas: the quotas or the error of each resource. Needs DESCRIBE_CONFIGS on the cluster."""
    allowed = context.allowed("DESCRIBE_CONFIGS")
    return kip248_quotas.DescribeQuotasResponse(
        throttle_time_ms=0,
        resources=tuple(
            kip248_quotas.DescribedQuotas(
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


def _config(wanted: kip248_quotas.WantedQuotas, context: RequestContext) -> kip248_quotas.DescribedConfig:
    try:
        entity = entity_of(wanted.quota_config_resource, wanted.child_quota_config_resource)
    except ValueError as error:
        return _described_error(ErrorCode.invalid_request, str(error))
    entries = described_quotas(entity, context.view, wanted.config_names)
    return kip248_quotas.DescribedConfig(error_code=ErrorCode.none, error_message=None, config_entries=entries)


def _described_error(code: int, message: str) -> kip248_quotas.DescribedConfig:
    return kip248_quotas.DescribedConfig(error_code=code, error_message=message, config_entries=())


async def alter_quotas(
    request: kip248_quotas.AlterQuotasRequest, context: RequestContext
) -> kip248_quotas.AlterQuotasResponse:
    """Answer AlterQuotas: check each key, and, unless the request only validates, set the valid ones and wait until all
    live brokers have them. Needs ALTER_CONFIGS on the cluster.
    """
    allowed = context.allowed("ALTER_CONFIGS")
    results = tuple(
        kip248_quotas.AlteredQuotasResult(
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
    return kip248_quotas.AlterQuotasResponse(throttle_time_ms=0, resources=results)


def _altered(
    item: kip248_quotas.AlteredQuotas, context: RequestContext, validate_only: bool
) -> tuple[kip248_quotas.QuotaResult, ...]:
    try:
        entity = entity_of(item.quota_config_resource, item.child_quota_config_resource)
    except ValueError as error:
        return _all_failed(item, ErrorCode.invalid_request, str(error))
    changes: dict[str, float | None] = {}
    results: list[kip248_quotas.QuotaResult] = []
    for config in item.configs:
        try:
            # Each key is independent: valid keys are set even if another key is invalid.
            changes[config.config_name] = parsed_quota(config.config_name, config.config_value)
            results.append(
                kip248_quotas.QuotaResult(error_code=ErrorCode.none, error_message=None, config_name=config.config_name)
            )
        except ValueError as error:
            results.append(
                kip248_quotas.QuotaResult(
                    error_code=ErrorCode.invalid_request, error_message=str(error), config_name=config.config_name
                )
            )
    if changes and not validate_only:
        context.state.alter_quota(entity, changes)
    return tuple(results)


def _all_failed(item: kip248_quotas.AlteredQuotas, code: int, message: str) -> tuple[kip248_quotas.QuotaResult, ...]:
    return tuple(
        kip248_quotas.QuotaResult(error_code=code, error_message=message, config_name=config.config_name)
        for config in item.configs
    )

"""AlterQuotas v0 (KIP-248)."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.proposals.common import REFUSED
from console.embedded.proposals.quota_resources import entity_of
from console.embedded.proposals.quota_values import parsed
from console.wire.proposals.kip248_quotas import (
    AlteredQuotas,
    AlteredQuotasResult,
    AlterQuotasRequest,
    AlterQuotasResponse,
    QuotaResult,
)


async def handle(request: AlterQuotasRequest, context: RequestContext) -> AlterQuotasResponse:
    """Sets each key that can be set, and answers when all live brokers know. Needs ALTER_CONFIGS on the cluster."""
    allowed = context.allowed("ALTER_CONFIGS")
    results = tuple(
        AlteredQuotasResult(
            quota_config_resource=item.quota_config_resource,
            child_quota_config_resource=item.child_quota_config_resource,
            configs=_altered(item, context, request.validate_only)
            if allowed
            else _all(item, ErrorCode.cluster_authorization_failed, REFUSED),
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
        return _all(item, ErrorCode.invalid_request, str(error))
    changes: dict[str, float | None] = {}
    results: list[QuotaResult] = []
    for config in item.configs:
        try:
            changes[config.config_name] = parsed(config.config_name, config.config_value)
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


def _all(item: AlteredQuotas, code: int, message: str) -> tuple[QuotaResult, ...]:
    return tuple(
        QuotaResult(error_code=code, error_message=message, config_name=config.config_name) for config in item.configs
    )

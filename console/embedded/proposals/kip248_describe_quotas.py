"""DescribeQuotas v1 (KIP-248)."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.proposals.common import REFUSED
from console.embedded.proposals.quota_resources import entity_of
from console.embedded.proposals.quota_values import described
from console.wire.proposals.kip248_quotas import (
    DescribedConfig,
    DescribedQuotas,
    DescribeQuotasRequest,
    DescribeQuotasResponse,
    WantedQuotas,
)


async def handle(request: DescribeQuotasRequest, context: RequestContext) -> DescribeQuotasResponse:
    """The quotas of each resource, or its error. Needs DESCRIBE_CONFIGS on the cluster."""
    allowed = context.allowed("DESCRIBE_CONFIGS")
    return DescribeQuotasResponse(
        throttle_time_ms=0,
        resources=tuple(
            DescribedQuotas(
                quota_config_resource=wanted.quota_config_resource,
                child_quota_config_resource=wanted.child_quota_config_resource,
                configs=(
                    _config(wanted, context) if allowed else _error(ErrorCode.cluster_authorization_failed, REFUSED),
                ),
            )
            for wanted in request.resources
        ),
    )


def _config(wanted: WantedQuotas, context: RequestContext) -> DescribedConfig:
    try:
        entity = entity_of(wanted.quota_config_resource, wanted.child_quota_config_resource)
    except ValueError as error:
        return _error(ErrorCode.invalid_request, str(error))
    entries = described(entity, context.view, wanted.config_names)
    return DescribedConfig(error_code=ErrorCode.none, error_message=None, config_entries=entries)


def _error(code: int, message: str) -> DescribedConfig:
    return DescribedConfig(error_code=code, error_message=message, config_entries=())

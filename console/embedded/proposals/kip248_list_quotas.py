"""ListQuotas v1 (KIP-248)."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.proposals.common import REFUSED
from console.embedded.proposals.quota_resources import names
from console.wire.proposals.kip248_quotas import ListQuotasRequest, ListQuotasResponse


async def handle(request: ListQuotasRequest, context: RequestContext) -> ListQuotasResponse:
    """Names, the default as ``<default>``. Needs DESCRIBE on the cluster."""
    if not context.allowed("DESCRIBE"):
        return _answer(ErrorCode.cluster_authorization_failed, REFUSED)
    try:
        return _answer(ErrorCode.none, None, names(request.quota_config_resource, context.view.quotas))
    except ValueError as error:
        return _answer(ErrorCode.invalid_request, str(error))


def _answer(code: int, message: str | None, found: tuple[str, ...] = ()) -> ListQuotasResponse:
    return ListQuotasResponse(
        throttle_time_ms=0, error_code=code, error_message=message, quota_config_entity_names=found
    )

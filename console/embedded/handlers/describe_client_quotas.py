"""DescribeClientQuotas: the limits of the entities that a filter finds (KIP-546; ClientQuotasImage.describe)."""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.handlers.common import NO_TIME
from console.embedded.quotas.encoding import encoded_entries
from console.embedded.quotas.filters import BadFilter, Component, parsed
from console.embedded.server.long_answers import long_answer
from console.embedded.state.quota_table import candidates


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-1. Needs DESCRIBE_CONFIGS on the cluster."""
    if not context.allowed("DESCRIBE_CONFIGS"):
        return _answer(context, ErrorCode.cluster_authorization_failed, None, None)
    components = [Component(item.entity_type, item.match_type, item.match) for item in request.components]
    release = context.cluster.release
    try:
        wanted = parsed(components, request.strict, release)
    except BadFilter as bad:
        return _answer(context, bad.code, bad.message, None)
    found = ((entity, values) for entity, values in candidates(context.view.quotas, wanted) if wanted.finds(entity))
    return await long_answer(
        context.schema.DescribeClientQuotasResponse,
        _answer(context, 0, "", ()),
        encoded_entries(context.version, found, client_first=release.kraft),
    )


def _answer(context: RequestContext, code: int, message: str | None, entries: tuple[()] | None) -> Any:
    return context.schema.DescribeClientQuotasResponse(
        throttle_time=NO_TIME, error_code=code, error_message=message, entries=entries
    )

"""DescribeClientQuotas v2: many filters in one request; strict is for all of them."""

from __future__ import annotations

from console.embedded.context import RequestContext
from console.embedded.proposals.common import CLUSTER_AUTHORIZATION_FAILED, NONE, REFUSED
from console.embedded.quotas.filters import BadFilter, Component, parsed
from console.embedded.state.quota_table import candidates
from console.wire.proposals import batched_quotas as wire


async def handle(
    request: wire.DescribeClientQuotasRequest, context: RequestContext
) -> wire.DescribeClientQuotasResponse:
    """A result, or an error, for each filter, in their order. Needs DESCRIBE_CONFIGS on the cluster."""
    return wire.DescribeClientQuotasResponse(
        throttle_time_ms=0, filter_results=tuple(_result(part, request.strict, context) for part in request.filters)
    )


def _result(
    part: wire.DescribeClientQuotasFilter, strict: bool, context: RequestContext
) -> wire.DescribeClientQuotasFilterResult:
    if not context.allowed("DESCRIBE_CONFIGS"):
        return _error(CLUSTER_AUTHORIZATION_FAILED, REFUSED)
    components = [Component(c.entity_type, c.match_type, c.match) for c in part.components]
    try:
        wanted = parsed(components, strict, context.cluster.release)
    except BadFilter as error:
        return _error(error.code, error.message)
    entries = tuple(
        wire.EntryData(
            entity=tuple(wire.EntityData(entity_type=p.type, entity_name=p.name) for p in entity.parts),
            values=tuple(wire.ValueData(key=key, value=value) for key, value in values.items()),
        )
        for entity, values in candidates(context.view.quotas, wanted)
        if wanted.finds(entity)
    )
    return wire.DescribeClientQuotasFilterResult(error_code=NONE, error_message=None, entries=entries)


def _error(code: int, message: str | None) -> wire.DescribeClientQuotasFilterResult:
    return wire.DescribeClientQuotasFilterResult(error_code=code, error_message=message, entries=None)

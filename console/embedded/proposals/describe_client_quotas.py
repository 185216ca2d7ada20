"""DescribeClientQuotas v2: many filters in one request; strict is for all of them."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.proposals.common import REFUSED
from console.embedded.quotas.encoding import FLEXIBLE_FROM, encoded_entries
from console.embedded.quotas.filters import BadFilter, Component, parsed
from console.embedded.server.long_answers import long_answer, long_part
from console.embedded.state.quota_table import candidates
from console.wire.frames import EncodedBody, encode_body
from console.wire.proposals import batched_describes as wire


async def handle(request: wire.DescribeClientQuotasRequest, context: RequestContext) -> EncodedBody:
    """A result, or an error, for each filter, in their order. Needs DESCRIBE_CONFIGS on the cluster."""
    results = [await _result(part, request.strict, context) for part in request.filters]
    empty = wire.DescribeClientQuotasResponse(throttle_time_ms=0, filter_results=())
    return await long_answer(wire.DescribeClientQuotasResponse, empty, results)


async def _result(part: wire.DescribeClientQuotasFilter, strict: bool, context: RequestContext) -> bytes:
    if not context.allowed("DESCRIBE_CONFIGS"):
        return _error(ErrorCode.cluster_authorization_failed, REFUSED)
    components = [Component(c.entity_type, c.match_type, c.match) for c in part.components]
    try:
        wanted = parsed(components, strict, context.cluster.release)
    except BadFilter as error:
        return _error(error.code, error.message)
    found = ((entity, values) for entity, values in candidates(context.view.quotas, wanted) if wanted.finds(entity))
    entries = encoded_entries(FLEXIBLE_FROM, found, client_first=False)
    return await long_part(wire.DescribeClientQuotasFilterResult, _told(ErrorCode.none, None, ()), entries)


def _error(code: int, message: str | None) -> bytes:
    return encode_body(wire.DescribeClientQuotasFilterResult, _told(code, message, None))


def _told(code: int, message: str | None, entries: tuple[()] | None) -> wire.DescribeClientQuotasFilterResult:
    return wire.DescribeClientQuotasFilterResult(error_code=code, error_message=message, entries=entries)

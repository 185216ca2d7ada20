"""Batched describe requests: DescribeAcls v4 and DescribeClientQuotas v2, with many filters in one request."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.acls import filter_of, is_unknown_entry, is_unknown_pattern, matching_acls
from console.embedded.answers import each_encoded, long_answer, long_part
from console.embedded.context import RequestContext
from console.embedded.handlers.acls import acl_resource, by_pattern
from console.embedded.handlers.client_quotas import FLEXIBLE_FROM, encoded_entries
from console.embedded.quotas import BadFilter, Component, parsed_filter, quota_candidates
from console.embedded.refusals import (
    CLUSTER_REFUSED,
    DESCRIBE_WITHOUT_AUTHORIZER,
    UNKNOWN_ENTRY_FILTER,
    UNKNOWN_PATTERN_FILTER,
)
from console.wire.frames import EncodedBody, encode_body
from console.wire.proposals import batched_describes as wire


async def describe_acls(request: wire.DescribeAclsRequest, context: RequestContext) -> EncodedBody:
    """Answer DescribeAcls v4: a result or an error for each filter, in order. Needs DESCRIBE on the cluster."""
    results = [await _acls_result(wanted, context) for wanted in request.filters]
    empty = wire.DescribeAclsResponse(throttle_time_ms=0, filter_results=())
    return await long_answer(wire.DescribeAclsResponse, empty, results)


async def _acls_result(wanted: wire.DescribeAclsFilter, context: RequestContext) -> bytes:
    if not context.allowed("DESCRIBE"):
        return _acls_error(ErrorCode.cluster_authorization_failed, CLUSTER_REFUSED)
    if context.cluster.authorizer is None:
        return _acls_error(ErrorCode.security_disabled, DESCRIBE_WITHOUT_AUTHORIZER)
    asked = filter_of(wanted)
    if is_unknown_pattern(asked):
        return _acls_error(ErrorCode.invalid_request, UNKNOWN_PATTERN_FILTER)
    if is_unknown_entry(asked):
        return _acls_error(ErrorCode.invalid_request, UNKNOWN_ENTRY_FILTER)
    groups = await by_pattern(matching_acls(asked, context.view.acls))
    resources = each_encoded(wire.DescribeAclsResource, (acl_resource(wire, on, acls) for on, acls in groups.items()))
    return await long_part(wire.DescribeAclsFilterResult, _empty_acls_result(ErrorCode.none, None), resources)


def _acls_error(code: int, message: str) -> bytes:
    return encode_body(wire.DescribeAclsFilterResult, _empty_acls_result(code, message))


def _empty_acls_result(code: int, message: str | None) -> wire.DescribeAclsFilterResult:
    return wire.DescribeAclsFilterResult(error_code=code, error_message=message, resources=())


async def describe_client_quotas(request: wire.DescribeClientQuotasRequest, context: RequestContext) -> EncodedBody:
    """Answer DescribeClientQuotas v2: a result or an error for each filter, in order. Needs DESCRIBE_CONFIGS on the
    cluster.

    strict applies to all filters.
    """
    results = [await _quotas_result(part, request.strict, context) for part in request.filters]
    empty = wire.DescribeClientQuotasResponse(throttle_time_ms=0, filter_results=())
    return await long_answer(wire.DescribeClientQuotasResponse, empty, results)


async def _quotas_result(part: wire.DescribeClientQuotasFilter, strict: bool, context: RequestContext) -> bytes:
    if not context.allowed("DESCRIBE_CONFIGS"):
        return _quotas_error(ErrorCode.cluster_authorization_failed, CLUSTER_REFUSED)
    components = [Component(c.entity_type, c.match_type, c.match) for c in part.components]
    try:
        wanted = parsed_filter(components, strict)
    except BadFilter as error:
        return _quotas_error(error.code, error.message)
    found = (
        (entity, values) for entity, values in quota_candidates(context.view.quotas, wanted) if wanted.finds(entity)
    )
    entries = encoded_entries(FLEXIBLE_FROM, found, client_first=False)
    return await long_part(
        wire.DescribeClientQuotasFilterResult, _empty_quotas_result(ErrorCode.none, None, ()), entries
    )


def _quotas_error(code: int, message: str | None) -> bytes:
    return encode_body(wire.DescribeClientQuotasFilterResult, _empty_quotas_result(code, message, None))


def _empty_quotas_result(
    code: int, message: str | None, entries: tuple[()] | None
) -> wire.DescribeClientQuotasFilterResult:
    return wire.DescribeClientQuotasFilterResult(error_code=code, error_message=message, entries=entries)

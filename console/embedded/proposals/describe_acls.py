"""DescribeAcls v4: many filters in one request."""

from __future__ import annotations

from collections.abc import Iterable

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.proposals.common import REFUSED
from console.embedded.rights.acl_filters import filter_of, found, is_unknown_entry, is_unknown_pattern
from console.embedded.rights.acl_groups import by_pattern
from console.embedded.rights.messages import (
    DESCRIBE_WITHOUT_AUTHORIZER,
    UNKNOWN_ENTRY_FILTER,
    UNKNOWN_PATTERN_FILTER,
)
from console.embedded.server.long_answers import each_encoded, long_answer, long_part
from console.embedded.state.acl_table import Pattern
from console.model.acl import Acl
from console.wire.frames import EncodedBody, encode_body
from console.wire.proposals import batched_describes as wire


async def handle(request: wire.DescribeAclsRequest, context: RequestContext) -> EncodedBody:
    """A result, or an error, for each filter, in their order. Needs DESCRIBE on the cluster."""
    results = [await _result(wanted, context) for wanted in request.filters]
    empty = wire.DescribeAclsResponse(throttle_time_ms=0, filter_results=())
    return await long_answer(wire.DescribeAclsResponse, empty, results)


async def _result(wanted: wire.DescribeAclsFilter, context: RequestContext) -> bytes:
    if not context.allowed("DESCRIBE"):
        return _told(ErrorCode.cluster_authorization_failed, REFUSED)
    if context.cluster.authorizer is None:
        return _told(ErrorCode.security_disabled, DESCRIBE_WITHOUT_AUTHORIZER)
    asked = filter_of(wanted)
    if is_unknown_pattern(asked):
        return _told(ErrorCode.invalid_request, UNKNOWN_PATTERN_FILTER)
    if is_unknown_entry(asked):
        return _told(ErrorCode.invalid_request, UNKNOWN_ENTRY_FILTER)
    groups = await by_pattern(found(asked, context.view.acls))
    resources = each_encoded(wire.DescribeAclsResource, (_resource(on, acls) for on, acls in groups.items()))
    return await long_part(wire.DescribeAclsFilterResult, _result_of(ErrorCode.none, None), resources)


def _told(code: int, message: str) -> bytes:
    return encode_body(wire.DescribeAclsFilterResult, _result_of(code, message))


def _result_of(code: int, message: str | None) -> wire.DescribeAclsFilterResult:
    return wire.DescribeAclsFilterResult(error_code=code, error_message=message, resources=())


def _resource(on: Pattern, acls: Iterable[Acl]) -> wire.DescribeAclsResource:
    return wire.DescribeAclsResource(
        resource_type=on.resource_type,
        resource_name=on.name,
        pattern_type=on.pattern_type,
        acls=tuple(
            wire.AclDescription(
                principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission
            )
            for acl in acls
        ),
    )

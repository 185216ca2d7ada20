"""DescribeAcls v4: many filters in one request."""

from __future__ import annotations

from collections.abc import Iterable

from console.embedded.context import RequestContext
from console.embedded.proposals.common import (
    CLUSTER_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    NONE,
    REFUSED,
    SECURITY_DISABLED,
)
from console.embedded.rights.acl_filters import filter_of, found, is_unknown_entry, is_unknown_pattern
from console.embedded.rights.messages import (
    DESCRIBE_WITHOUT_AUTHORIZER,
    UNKNOWN_ENTRY_FILTER,
    UNKNOWN_PATTERN_FILTER,
)
from console.embedded.state.acl_table import Pattern, pattern_of
from console.model.acl import Acl
from console.wire.proposals import batched_acls as wire


async def handle(request: wire.DescribeAclsRequest, context: RequestContext) -> wire.DescribeAclsResponse:
    """A result, or an error, for each filter, in their order. Needs DESCRIBE on the cluster."""
    return wire.DescribeAclsResponse(
        throttle_time_ms=0, filter_results=tuple(_result(wanted, context) for wanted in request.filters)
    )


def _result(wanted: wire.DescribeAclsFilter, context: RequestContext) -> wire.DescribeAclsFilterResult:
    if not context.allowed("DESCRIBE"):
        return _error(CLUSTER_AUTHORIZATION_FAILED, REFUSED)
    if context.cluster.authorizer is None:
        return _error(SECURITY_DISABLED, DESCRIBE_WITHOUT_AUTHORIZER)
    asked = filter_of(wanted)
    if is_unknown_pattern(asked):
        return _error(INVALID_REQUEST, UNKNOWN_PATTERN_FILTER)
    if is_unknown_entry(asked):
        return _error(INVALID_REQUEST, UNKNOWN_ENTRY_FILTER)
    resources = _resources(found(asked, context.view.acls))
    return wire.DescribeAclsFilterResult(error_code=NONE, error_message=None, resources=resources)


def _error(code: int, message: str) -> wire.DescribeAclsFilterResult:
    return wire.DescribeAclsFilterResult(error_code=code, error_message=message, resources=())


def _resources(acls: Iterable[Acl]) -> tuple[wire.DescribeAclsResource, ...]:
    found_on: dict[Pattern, list[wire.AclDescription]] = {}
    for acl in acls:
        found_on.setdefault(pattern_of(acl), []).append(
            wire.AclDescription(
                principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission
            )
        )
    return tuple(
        wire.DescribeAclsResource(
            resource_type=on.resource_type, resource_name=on.name, pattern_type=on.pattern_type, acls=tuple(told)
        )
        for on, told in found_on.items()
    )

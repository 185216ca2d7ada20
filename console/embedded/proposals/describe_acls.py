"""DescribeAcls v4: many filters in one request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from console.embedded.context import RequestContext
from console.embedded.proposals.acl_filters import invalid, matches
from console.embedded.proposals.common import (
    CLUSTER_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    NONE,
    REFUSED,
    SECURITY_DISABLED,
)
from console.model.acl import Acl, AclFilter
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.wire.proposals import batched_acls as wire

_NO_AUTHORIZER: Final = "No Authorizer is configured on the broker"


async def handle(request: wire.DescribeAclsRequest, context: RequestContext) -> wire.DescribeAclsResponse:
    """A result, or an error, for each filter, in their order. Needs DESCRIBE on the cluster."""
    return wire.DescribeAclsResponse(
        throttle_time_ms=0, filter_results=tuple(_result(wanted, context) for wanted in request.filters)
    )


def _result(wanted: wire.DescribeAclsFilter, context: RequestContext) -> wire.DescribeAclsFilterResult:
    if not context.allowed("DESCRIBE"):
        return _error(CLUSTER_AUTHORIZATION_FAILED, REFUSED)
    if context.cluster.authorizer is None:
        return _error(SECURITY_DISABLED, _NO_AUTHORIZER)
    wanted_filter = _filter(wanted)
    problem = invalid(wanted_filter)
    if problem:
        return _error(INVALID_REQUEST, problem)
    found = _resources(acl for acl in context.view.acls if matches(wanted_filter, acl))
    return wire.DescribeAclsFilterResult(error_code=NONE, error_message=None, resources=found)


def _error(code: int, message: str) -> wire.DescribeAclsFilterResult:
    return wire.DescribeAclsFilterResult(error_code=code, error_message=message, resources=())


def _filter(wanted: wire.DescribeAclsFilter) -> AclFilter:
    return AclFilter(
        AclResourceType(wanted.resource_type_filter),
        wanted.resource_name_filter,
        PatternType(wanted.pattern_type_filter),
        wanted.principal_filter,
        wanted.host_filter,
        AclOperation(wanted.operation),
        Permission(wanted.permission_type),
    )


def _resources(acls: Iterable[Acl]) -> tuple[wire.DescribeAclsResource, ...]:
    found: dict[tuple[int, str, int], list[wire.AclDescription]] = {}
    for acl in acls:
        found.setdefault((acl.resource_type, acl.resource_name, acl.pattern_type), []).append(
            wire.AclDescription(
                principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission
            )
        )
    return tuple(
        wire.DescribeAclsResource(resource_type=type_, resource_name=name, pattern_type=pattern, acls=tuple(acls))
        for (type_, name, pattern), acls in found.items()
    )

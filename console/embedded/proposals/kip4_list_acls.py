"""ListAcls v0 (KIP-4)."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.rights.acl_filters import LITERAL
from console.embedded.rights.acl_filters import found as find
from console.model.acl import Acl, AclFilter
from console.model.codes import AclResourceType, Permission
from console.wire.proposals import kip4 as wire

_ALLOW = Permission.parse("ALLOW")


async def handle(request: wire.ListAclsRequest, context: RequestContext) -> wire.ListAclsResponse:
    """The ACLs of a principal, or of all, at a resource, or at all.

    Who may not do all on the cluster sees the Allow entries of its own. The format has no pattern types, so ACLs of
    prefixes are left out: they would read as ACLs of a name.
    """
    if context.cluster.authorizer is None:
        return wire.ListAclsResponse(responses=(), error_code=ErrorCode.security_disabled)
    may_see_all = context.allowed("ALL")
    if not may_see_all and request.principal != context.principal:
        return wire.ListAclsResponse(responses=(), error_code=ErrorCode.cluster_authorization_failed)
    found: dict[tuple[int, str], list[wire.Acl]] = {}
    for acl in sorted(find(_filter(request), context.view.acls)):
        if may_see_all or acl.permission == _ALLOW:
            found.setdefault((acl.resource_type, acl.resource_name), []).append(_told(acl))
    return wire.ListAclsResponse(
        responses=tuple(
            wire.ResourceAcls(resource=wire.Resource(resource_type=type_, resource_name=name), acls=tuple(acls))
            for (type_, name), acls in found.items()
        ),
        error_code=ErrorCode.none,
    )


def _filter(request: wire.ListAclsRequest) -> AclFilter:
    resource = request.resource
    if resource.resource_type == wire.ResourceType.ALL:
        return AclFilter(pattern_type=LITERAL, principal=request.principal)
    return AclFilter(AclResourceType(resource.resource_type), resource.resource_name, LITERAL, request.principal)


def _told(acl: Acl) -> wire.Acl:
    return wire.Acl(
        acl_principal=acl.principal,
        acl_permission_type=int(acl.permission),
        acl_host=acl.host,
        acl_operation=int(acl.operation),
    )

"""AlterAcls v0 (KIP-4)."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.proposals.common import is_misrouted, repeated
from console.embedded.rights.acl_filters import LITERAL
from console.model.acl import CLUSTER_NAME, Acl
from console.model.codes import AclOperation, AclResourceType, Permission
from console.wire.proposals import kip4 as wire

_TYPES = frozenset(wire.ResourceType) - {wire.ResourceType.ALL}
_OPERATIONS = frozenset(wire.Operation)
_PERMISSIONS = frozenset(wire.PermissionType)


async def handle(request: wire.AlterAclsRequest, context: RequestContext) -> wire.AlterAclsResponse:
    """Deletes what is to be deleted, adds then what is to be added, and gives a result for each action.

    A resource that is there twice is answered once, and nothing of it is done. Deleting what is not there, and adding
    what is, succeed.
    """
    refusal = _refusal(context)
    twice = repeated(request.requests, lambda item: _key(item.resource))
    resources = {_key(item.resource): item for item in reversed(request.requests)}
    codes: dict[tuple[int, str], list[int]] = {}
    for key, item in resources.items():
        whole = refusal or (ErrorCode.invalid_request if key in twice else ErrorCode.none)
        codes[key] = [whole or _action_refusal(item.resource, action) for action in item.actions]
    for wanted, apply in (
        (wire.Action.DELETE, context.state.remove_acl),
        (wire.Action.ADD, context.state.add_acl),
    ):
        for key, item in resources.items():
            for action, code in zip(item.actions, codes[key], strict=True):
                if not code and action.action == wanted:
                    apply(_binding(item.resource, action.acl))
    await context.visible()
    return wire.AlterAclsResponse(
        responses=tuple(
            wire.ResourceResults(
                resource=resources[key].resource,
                results=tuple(
                    wire.AclActionResult(action=action.action, acl=action.acl, error_code=code)
                    for action, code in zip(resources[key].actions, codes[key], strict=True)
                ),
            )
            for key in dict.fromkeys(_key(item.resource) for item in request.requests)
        )
    )


def _key(resource: wire.Resource) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def _refusal(context: RequestContext) -> int:
    """The error of the whole request, 0 for none."""
    if is_misrouted(context):
        return ErrorCode.not_controller
    if context.cluster.authorizer is None:
        return ErrorCode.security_disabled
    return ErrorCode.none if context.allowed("ALL") else ErrorCode.cluster_authorization_failed


def _action_refusal(resource: wire.Resource, action: wire.AclAction) -> int:
    type_, _, name = action.acl.acl_principal.partition(":")
    is_cluster = resource.resource_type == wire.ResourceType.CLUSTER
    valid = (
        action.action in (wire.Action.DELETE, wire.Action.ADD)
        and resource.resource_type in _TYPES
        and resource.resource_name
        and (not is_cluster or resource.resource_name == CLUSTER_NAME)
        and action.acl.acl_operation in _OPERATIONS
        and action.acl.acl_permission_type in _PERMISSIONS
        and type_
        and name
        and action.acl.acl_host
    )
    return ErrorCode.none if valid else ErrorCode.invalid_request


def _binding(resource: wire.Resource, acl: wire.Acl) -> Acl:
    return Acl(
        AclResourceType(resource.resource_type),
        resource.resource_name,
        LITERAL,
        acl.acl_principal,
        acl.acl_host,
        AclOperation(acl.acl_operation),
        Permission(acl.acl_permission_type),
    )

"""Access control lists (KIP-140, KIP-290)."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from console.admin.bulk import collector_off
from console.admin.error_codes import failure
from console.admin.errors import BrokerError
from console.admin.link import Link
from console.model.acl import Acl, AclFilter
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission

_EVERYTHING = AclFilter()


async def describe_acls(link: Link, filter: AclFilter = _EVERYTHING) -> tuple[Acl, ...]:
    """All bindings that the filter finds, sorted.

    Raises BrokerError: SECURITY_DISABLED where the brokers have no authorizer, CLUSTER_AUTHORIZATION_FAILED where the
    principal may not DESCRIBE the cluster; and other AdminErrors.
    """

    def ask(kio: ModuleType) -> Any:
        return kio.DescribeAclsRequest(
            resource_type_filter=filter.resource_type,
            resource_name_filter=filter.resource_name,
            pattern_type_filter=filter.pattern_type,
            principal_filter=filter.principal,
            host_filter=filter.host,
            operation=filter.operation,
            permission_type=filter.permission,
        )

    response = await link.call("describe_acls", ask)
    if response.error_code:
        raise BrokerError(failure(response.error_code, response.error_message))
    with collector_off():
        return acls(response)


def acls(response: Any) -> tuple[Acl, ...]:
    """From a DescribeAcls response, sorted. Equal principals and hosts are one object."""
    texts: dict[str, str] = {}
    once = texts.setdefault
    found = [
        Acl(
            AclResourceType(resource.resource_type),
            resource.resource_name,
            PatternType(resource.pattern_type),
            once(acl.principal, acl.principal),
            once(acl.host, acl.host),
            AclOperation(acl.operation),
            Permission(acl.permission_type),
        )
        for resource in response.resources
        for acl in resource.acls
    ]
    return tuple(sorted(found))

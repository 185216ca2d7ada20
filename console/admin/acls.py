"""Access control lists (KIP-140, KIP-290)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from console.admin.bulk import collector_off
from console.admin.error_codes import failure
from console.admin.errors import BadAnswer, BrokerError, Unsupported
from console.admin.link import Link
from console.model.acl import Acl, AclFilter
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.failure import Failure

_EVERYTHING = AclFilter()
BATCHED = 4
"""The version of DescribeAcls that takes many filters: a proposal's, which no released Kafka has."""


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


async def describe_acls_of(link: Link, filters: Sequence[AclFilter]) -> list[tuple[Acl, ...] | Failure]:
    """What each filter finds, sorted, or why it can't be told, in the order of the filters.

    One request where the broker speaks DescribeAcls of version 4; else one for each filter, all under way at once.
    Raises AdminError where the cluster is out of reach.
    """
    if len(filters) > 1 and await link.proposes("describe_acls", BATCHED):
        try:
            return await _batched(link, filters)
        except Unsupported:
            pass  # another broker answers by now, and it does not

    async def one(filter: AclFilter) -> tuple[Acl, ...] | Failure:
        try:
            return await describe_acls(link, filter)
        except BrokerError as error:
            return error.failure

    return await asyncio.gather(*map(one, filters))


async def _batched(link: Link, filters: Sequence[AclFilter]) -> list[tuple[Acl, ...] | Failure]:
    def ask(schema: ModuleType) -> Any:
        return schema.DescribeAclsRequest(
            filters=tuple(
                schema.DescribeAclsFilter(
                    resource_type_filter=filter.resource_type,
                    resource_name_filter=filter.resource_name,
                    pattern_type_filter=filter.pattern_type,
                    principal_filter=filter.principal,
                    host_filter=filter.host,
                    operation=filter.operation,
                    permission_type=filter.permission,
                )
                for filter in filters
            )
        )

    response = await link.call("describe_acls", ask, proposed=BATCHED)
    if len(response.filter_results) != len(filters):
        raise BadAnswer(Failure("BAD_ANSWER", f"{len(response.filter_results)} results for {len(filters)} filters", ""))
    return [
        failure(result.error_code, result.error_message) if result.error_code else acls(result)
        for result in response.filter_results
    ]


def acls(response: Any) -> tuple[Acl, ...]:
    """From a DescribeAcls response, or a filter's part of one, sorted. Equal principals and hosts are one object."""
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

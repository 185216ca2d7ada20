"""ACLs (AclBinding) and filters over them (AclBindingFilter)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from console.model.codes import AclOperation, AclResourceType, PatternType, Permission


class Acl(NamedTuple):
    """One binding. `principal` is ``Type:name``; `host` is an address or ``*``."""

    resource_type: AclResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: AclOperation
    permission: Permission


CLUSTER_NAME = "kafka-cluster"
"""The only resource name that an ACL on the cluster can have."""


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Which bindings to read; the defaults match all (DescribeAclsRequest: null matches any)."""

    resource_type: AclResourceType = field(default_factory=lambda: AclResourceType(1))
    resource_name: str | None = None
    pattern_type: PatternType = field(default_factory=lambda: PatternType(1))
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = field(default_factory=lambda: AclOperation(1))
    permission: Permission = field(default_factory=lambda: Permission(1))


def filter_for(acl: Acl) -> AclFilter:
    """The filter that finds exactly this binding and no other."""
    return AclFilter(
        acl.resource_type,
        acl.resource_name,
        acl.pattern_type,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission,
    )

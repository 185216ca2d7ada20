"""Which ACLs a filter finds (AclBindingFilter, ResourcePatternFilter)."""

from __future__ import annotations

from console.model.acl import Acl, AclFilter
from console.model.codes import PatternType

_ANY = 1
_MATCH = PatternType.parse("MATCH")
_LITERAL = PatternType.parse("LITERAL")
_PREFIXED = PatternType.parse("PREFIXED")


def invalid(wanted: AclFilter) -> str:
    """Why a filter is none: a number that this cluster has no name for. Empty for one that is."""
    unknown = [
        part
        for part in (wanted.resource_type, wanted.pattern_type, wanted.operation, wanted.permission)
        if not part.known
    ]
    return f"The AclBindingFilter must not contain UNKNOWN elements: {unknown}" if unknown else ""


def matches(wanted: AclFilter, acl: Acl) -> bool:
    """Whether the filter finds the ACL; null and ANY find any."""
    return (
        wanted.resource_type in (_ANY, acl.resource_type)
        and wanted.principal in (None, acl.principal)
        and wanted.host in (None, acl.host)
        and wanted.operation in (_ANY, acl.operation)
        and wanted.permission in (_ANY, acl.permission)
        and _pattern(wanted, acl)
    )


def _pattern(wanted: AclFilter, acl: Acl) -> bool:
    name = wanted.resource_name
    if wanted.pattern_type not in (_ANY, _MATCH, acl.pattern_type):
        return False
    if name is None or acl.resource_name == name:
        return True
    if wanted.pattern_type != _MATCH:
        return False
    if acl.pattern_type == _LITERAL:
        return acl.resource_name == "*"
    return acl.pattern_type == _PREFIXED and name.startswith(acl.resource_name)

"""Which ACLs a filter finds (AclBindingFilter, ResourcePatternFilter)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from console.embedded.state.acl_table import Pattern, acls_of, acls_on
from console.embedded.state.table import frozen
from console.model.acl import Acl, AclFilter
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission

ANY = 1
MATCH = PatternType.parse("MATCH")
LITERAL = PatternType.parse("LITERAL")
PREFIXED = PatternType.parse("PREFIXED")
WILDCARD = "*"


def filter_of(wanted: Any) -> AclFilter:
    """The filter that DescribeAcls, or an item of DeleteAcls, asks with: all name its parts alike."""
    return AclFilter(
        AclResourceType(wanted.resource_type_filter),
        wanted.resource_name_filter,
        PatternType(wanted.pattern_type_filter),
        wanted.principal_filter,
        wanted.host_filter,
        AclOperation(wanted.operation),
        Permission(wanted.permission_type),
    )


def is_unknown_pattern(wanted: AclFilter) -> bool:
    """Whether it asks for a type of resource or pattern that has no name."""
    return not (wanted.resource_type.known and wanted.pattern_type.known)


def is_unknown_entry(wanted: AclFilter) -> bool:
    """Whether it asks for an operation or a permission that has no name."""
    return not (wanted.operation.known and wanted.permission.known)


def found(wanted: AclFilter, acls: Mapping[Acl, UUID]) -> Iterator[Acl]:
    """The ACLs of a view's table that the filter finds, in no order. One by one: there may be 100,000, and others may
    change the table meanwhile."""
    return (acl for acl in _candidates(wanted, acls) if matches(wanted, acl))


def _candidates(wanted: AclFilter, acls: Mapping[Acl, UUID]) -> Iterable[Acl]:
    if wanted.resource_name is not None:
        return (acl for pattern in _patterns(wanted, wanted.resource_name) for acl in acls_on(acls, pattern))
    if wanted.principal is not None:
        return acls_of(acls, wanted.principal)
    return frozen(acls)


def _patterns(wanted: AclFilter, name: str) -> Iterator[Pattern]:
    """All patterns that the filter could find."""
    for number in AclResourceType.NAMES:
        if number == ANY or wanted.resource_type not in (ANY, number):
            continue
        type_ = AclResourceType(number)
        if wanted.pattern_type in (ANY, MATCH, LITERAL):
            yield Pattern(type_, LITERAL, name)
        if wanted.pattern_type in (ANY, PREFIXED):
            yield Pattern(type_, PREFIXED, name)
        if wanted.pattern_type == MATCH:
            yield from covering(type_, name)


def covering(type_: AclResourceType, name: str) -> Iterator[Pattern]:
    """The patterns that hold for a name, beside the name itself (ResourcePatternFilter's MATCH)."""
    if name != WILDCARD:
        yield Pattern(type_, LITERAL, WILDCARD)
    for length in range(1, len(name) + 1):
        yield Pattern(type_, PREFIXED, name[:length])


def matches(wanted: AclFilter, acl: Acl) -> bool:
    """Whether the filter finds the ACL; null and ANY find any."""
    return (
        wanted.resource_type in (ANY, acl.resource_type)
        and wanted.principal in (None, acl.principal)
        and wanted.host in (None, acl.host)
        and wanted.operation in (ANY, acl.operation)
        and wanted.permission in (ANY, acl.permission)
        and _pattern(wanted, acl)
    )


def _pattern(wanted: AclFilter, acl: Acl) -> bool:
    name = wanted.resource_name
    if wanted.pattern_type not in (ANY, MATCH, acl.pattern_type):
        return False
    if name is None or acl.resource_name == name:
        return True
    if wanted.pattern_type != MATCH:
        return False
    if acl.pattern_type == LITERAL:
        return acl.resource_name == WILDCARD
    return acl.pattern_type == PREFIXED and name.startswith(acl.resource_name)

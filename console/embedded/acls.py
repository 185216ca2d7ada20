"""The table of ACLs with its indexes, and its filters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from console.embedded.large_tables import LargeAcls
from console.embedded.tables import IndexedTable, frozen, keys_in
from console.model import authorizer
from console.model.acl import Acl, AclFilter
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission


class AclTable(IndexedTable[Acl, UUID]):
    """The ACLs with their ids, indexed by principal and by resource pattern."""

    __slots__ = ()
    source: LargeAcls | None

    def __init__(self, name: str) -> None:
        super().__init__(name, lambda acl: (acl.principal, authorizer.pattern_of(acl)))

    def of_principal(self, principal: str) -> list[Acl]:
        """Return the ACLs of a principal."""
        made = self.source.of_principal(principal) if self.source is not None else ()
        return list(self.having(principal, made))

    def on(self, pattern: authorizer.Pattern) -> list[Acl]:
        """Return the ACLs whose resource pattern is exactly this one."""
        made = self.source.on(pattern) if self.source is not None else ()
        return list(self.having(pattern, made))


def acls_of(acls: Mapping[Acl, UUID], principal: str) -> Iterable[Acl]:
    """Return the ACLs of a principal, from the ACL table of a broker's view of the state."""
    return keys_in(acls, lambda table: table.of_principal(principal), lambda acl: acl.principal == principal)


def acls_on(acls: Mapping[Acl, UUID], pattern: authorizer.Pattern) -> Iterable[Acl]:
    """Return the ACLs whose resource pattern is exactly this one, from the ACL table of a broker's view of the
    state.
    """
    return keys_in(acls, lambda table: table.on(pattern), lambda acl: authorizer.pattern_of(acl) == pattern)


ANY = 1
MATCH = PatternType.parse("MATCH")


def filter_of(wanted: Any) -> AclFilter:
    """Return the filter in a DescribeAcls request, or in an item of a DeleteAcls request, whose fields have the same
    names.
    """
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
    """Return whether the filter's resource type or pattern type is a number that Kafka does not define."""
    return not (wanted.resource_type.known and wanted.pattern_type.known)


def is_unknown_entry(wanted: AclFilter) -> bool:
    """Return whether the filter's operation or permission type is a number that Kafka does not define."""
    return not (wanted.operation.known and wanted.permission.known)


def matching_acls(wanted: AclFilter, acls: Mapping[Acl, UUID]) -> Iterator[Acl]:
    """Yield the ACLs in a view's table that match the filter, in any order. The table may change during the
    iteration.
    """
    return (acl for acl in _candidates(wanted, acls) if matches(wanted, acl))


def _candidates(wanted: AclFilter, acls: Mapping[Acl, UUID]) -> Iterable[Acl]:
    # Search by the resource first, if the filter names one: a name matches few ACLs, while a principal may have
    # thousands.
    if wanted.resource_name is not None:
        return (acl for pattern in _patterns(wanted, wanted.resource_name) for acl in acls_on(acls, pattern))
    if wanted.principal is not None:
        return acls_of(acls, wanted.principal)
    return frozen(acls)


def _patterns(wanted: AclFilter, name: str) -> Iterator[authorizer.Pattern]:
    """Yield all resource patterns that the filter can match. name: the resource name in the filter."""
    for number in AclResourceType.NAMES:
        if number == ANY or wanted.resource_type not in (ANY, number):
            continue
        type_ = AclResourceType(number)
        if wanted.pattern_type in (ANY, MATCH, authorizer.LITERAL):
            yield authorizer.Pattern(type_, authorizer.LITERAL, name)
        if wanted.pattern_type in (ANY, authorizer.PREFIXED):
            yield authorizer.Pattern(type_, authorizer.PREFIXED, name)
        if wanted.pattern_type == MATCH:
            yield from authorizer.covering(type_, name)


def matches(wanted: AclFilter, acl: Acl) -> bool:
    """Return whether an ACL matches the filter (AclBindingFilter). A null field, or ANY, matches everything."""
    return (
        wanted.resource_type in (ANY, acl.resource_type)
        and wanted.principal in (None, acl.principal)
        and wanted.host in (None, acl.host)
        and wanted.operation in (ANY, acl.operation)
        and wanted.permission in (ANY, acl.permission)
        and _matches_pattern(wanted, acl)
    )


def _matches_pattern(wanted: AclFilter, acl: Acl) -> bool:
    name = wanted.resource_name
    if wanted.pattern_type not in (ANY, MATCH, acl.pattern_type):
        return False
    if name is None or acl.resource_name == name:
        return True
    if wanted.pattern_type != MATCH:
        return False
    if acl.pattern_type == authorizer.LITERAL:
        return acl.resource_name == authorizer.WILDCARD
    return acl.pattern_type == authorizer.PREFIXED and name.startswith(acl.resource_name)

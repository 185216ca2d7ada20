"""Who may do what, by the ACLs (org.apache.kafka.metadata.authorizer.StandardAuthorizer)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from console.embedded.rights.acl_filters import LITERAL, PREFIXED, WILDCARD, covering
from console.embedded.state.acl_table import AclTable, Pattern, acls_of, acls_on
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, Permission

if TYPE_CHECKING:
    from console.embedded.state.tables import View

EVERYBODY = "User:*"
_DENY, _ALLOW = Permission.parse("DENY"), Permission.parse("ALLOW")
_ALL = AclOperation.parse("ALL")
_IMPLIED = {
    AclOperation.parse("DESCRIBE"): frozenset(map(AclOperation.parse, ("READ", "WRITE", "DELETE", "ALTER"))),
    AclOperation.parse("DESCRIBE_CONFIGS"): frozenset({AclOperation.parse("ALTER_CONFIGS")}),
}
"""What one may do because one may do something else; denying that denies nothing more."""
_PRINCIPALS = 1000
"""How many principals' ACLs are kept at hand."""


class StandardAuthorizer:
    """Looks at the ACLs. super_users: principals that may do everything; open_by_default: what nobody has an ACL for
    is open to all (allow.everyone.if.no.acl.found)."""

    def __init__(self, super_users: Iterable[str], *, open_by_default: bool = False) -> None:
        self._super_users = frozenset(super_users)
        self._open_by_default = open_by_default
        self._known: dict[str, tuple[tuple[bool, int], Permissions]] = {}

    def allows(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, name: str, view: View
    ) -> bool:
        """Whether the principal may do it from this address. Whatever denies wins."""
        if principal in self._super_users:
            return True
        decision = self._permissions(principal, view).decision(host, operation, resource, name)
        if decision is None:
            return self._open_by_default and not _is_on_anything(view, resource, name)
        return decision

    def allows_somewhere(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, view: View
    ) -> bool:
        """Whether there could be a resource of this type that the principal may do it to (authorizeByResourceType)."""
        if self.allows(principal, host, operation, resource, "hardcode", view):  # as Kafka asks first
            return True
        return self._permissions(principal, view).allow_somewhere(host, operation, resource)

    def _permissions(self, principal: str, view: View) -> Permissions:
        acls = view.acls
        version = (True, acls.version) if isinstance(acls, AclTable) else (False, view.offset)
        known = self._known.get(principal)
        if known is not None and known[0] == version:
            return known[1]
        permissions = Permissions((*acls_of(acls, principal), *acls_of(acls, EVERYBODY)))
        if len(self._known) >= _PRINCIPALS:
            self._known.clear()
        self._known[principal] = version, permissions
        return permissions


class Permissions:
    """One principal's ACLs, at hand by what they are on."""

    def __init__(self, acls: Iterable[Acl]) -> None:
        self._acls: dict[Pattern, list[Acl]] = {}
        for acl in acls:
            pattern = Pattern(acl.resource_type, acl.pattern_type, acl.resource_name)
            self._acls.setdefault(pattern, []).append(acl)
        lengths: dict[AclResourceType, set[int]] = {}
        for pattern in self._acls:
            if pattern.pattern_type == PREFIXED:
                lengths.setdefault(pattern.resource_type, set()).add(len(pattern.name))
        self._prefix_lengths = {type_: sorted(found) for type_, found in lengths.items()}

    def decision(self, host: str, operation: AclOperation, type_: AclResourceType, name: str) -> bool | None:
        """Allowed or denied; None where no ACL says either."""
        allowed = None
        for acl in self._on(type_, name):
            if acl.host not in (WILDCARD, host):
                continue
            if acl.permission == _DENY:
                if acl.operation in (_ALL, operation):
                    return False
            elif acl.operation in (_ALL, operation) or acl.operation in _IMPLIED.get(operation, ()):
                allowed = True
        return allowed

    def _on(self, type_: AclResourceType, name: str) -> Iterator[Acl]:
        yield from self._acls.get(Pattern(type_, LITERAL, name), ())
        if name != WILDCARD:
            yield from self._acls.get(Pattern(type_, LITERAL, WILDCARD), ())
        for length in self._prefix_lengths.get(type_, ()):
            if length <= len(name):
                yield from self._acls.get(Pattern(type_, PREFIXED, name[:length]), ())

    def allow_somewhere(self, host: str, operation: AclOperation, type_: AclResourceType) -> bool:
        """Whether something is allowed that nothing denies."""
        denied = set(self._that(_DENY, host, operation, type_))
        if Pattern(type_, LITERAL, WILDCARD) in denied:
            return False
        return any(not denied.intersection(_wider(allowed)) for allowed in self._that(_ALLOW, host, operation, type_))

    def _that(
        self, permission: Permission, host: str, operation: AclOperation, type_: AclResourceType
    ) -> Iterator[Pattern]:
        for pattern, acls in self._acls.items():
            if pattern.resource_type == type_ and any(
                acl.permission == permission and acl.host in (WILDCARD, host) and acl.operation in (_ALL, operation)
                for acl in acls
            ):
                yield pattern


def _wider(pattern: Pattern) -> Iterator[Pattern]:
    """Itself, and every prefix that covers it."""
    yield pattern
    if pattern.name != WILDCARD or pattern.pattern_type == PREFIXED:
        for length in range(1, len(pattern.name) + 1):
            yield Pattern(pattern.resource_type, PREFIXED, pattern.name[:length])


def _is_on_anything(view: View, type_: AclResourceType, name: str) -> bool:
    """Whether anybody has an ACL that is about this resource."""
    patterns = (Pattern(type_, LITERAL, name), *covering(type_, name))
    return any(acls_on(view.acls, pattern) for pattern in patterns)

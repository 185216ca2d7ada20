"""ACLs: the table, filters over it, and the authorizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable
from uuid import UUID

from console.embedded.tables import PastTable, Source, Table, frozen
from console.model.acl import Acl, AclFilter
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission

K = TypeVar("K")


class Pattern(NamedTuple):
    """What an ACL applies to (ResourcePattern)."""

    resource_type: AclResourceType
    pattern_type: PatternType
    name: str


def pattern_of(acl: Acl) -> Pattern:
    """What this ACL applies to."""
    return Pattern(acl.resource_type, acl.pattern_type, acl.resource_name)


@runtime_checkable
class IndexedAcls(Protocol):
    """A source that has indexes of its own."""

    def of_principal(self, principal: str) -> Iterator[Acl]:
        """The ACLs of a principal (``User:alice``)."""
        ...

    def on(self, pattern: Pattern) -> Iterator[Acl]:
        """The ACLs with exactly this pattern."""
        ...


class AclTable(Table[Acl, UUID]):
    """The ACLs, indexed by principal and by pattern: there may be 100,000. version: changes with each change."""

    __slots__ = ("_by_pattern", "_by_principal", "version")

    def __init__(self, name: str, source: Source[Acl, UUID] | None = None) -> None:
        super().__init__(name, source)
        self.version = 0
        self._by_principal: dict[str, dict[Acl, None]] = {}
        self._by_pattern: dict[Pattern, dict[Acl, None]] = {}

    def put(self, key: Acl, value: UUID) -> None:
        """Add an ACL."""
        super().put(key, value)
        self.version += 1
        self._by_principal.setdefault(key.principal, {})[key] = None
        self._by_pattern.setdefault(pattern_of(key), {})[key] = None

    def remove(self, key: Acl) -> None:
        """Delete an ACL."""
        super().remove(key)
        self.version += 1
        _forget(self._by_principal, key.principal, key)
        _forget(self._by_pattern, pattern_of(key), key)

    def of_principal(self, principal: str) -> list[Acl]:
        """The ACLs of a principal."""
        made: Iterable[Acl] = ()
        if isinstance(self.source, IndexedAcls):
            made = self.source.of_principal(principal)
        elif self.source is not None:
            made = (acl for acl in self.source if acl.principal == principal)
        return self._with_own(made, self._by_principal.get(principal, {}))

    def on(self, pattern: Pattern) -> list[Acl]:
        """The ACLs with exactly this pattern."""
        made: Iterable[Acl] = ()
        if isinstance(self.source, IndexedAcls):
            made = self.source.on(pattern)
        elif self.source is not None:
            made = (acl for acl in self.source if pattern_of(acl) == pattern)
        return self._with_own(made, self._by_pattern.get(pattern, {}))

    def _with_own(self, made: Iterable[Acl], own: Mapping[Acl, None]) -> list[Acl]:
        return [*(acl for acl in made if acl not in own and acl in self), *own]


def _forget(index: dict[K, dict[Acl, None]], key: K, acl: Acl) -> None:
    found = index.get(key)
    if found is not None:
        found.pop(acl, None)
        if not found:
            del index[key]


def acls_of(acls: Mapping[Acl, UUID], principal: str) -> list[Acl]:
    """The ACLs of a principal in a view's table."""
    return _chosen(acls, lambda table: table.of_principal(principal), lambda acl: acl.principal == principal)


def acls_on(acls: Mapping[Acl, UUID], pattern: Pattern) -> list[Acl]:
    """The ACLs with exactly this pattern in a view's table."""
    return _chosen(acls, lambda table: table.on(pattern), lambda acl: pattern_of(acl) == pattern)


def _chosen(
    acls: Mapping[Acl, UUID], find: Callable[[AclTable], list[Acl]], is_wanted: Callable[[Acl], bool]
) -> list[Acl]:
    if isinstance(acls, AclTable):
        return find(acls)
    if isinstance(acls, PastTable) and isinstance(acls.now, AclTable):
        still = [acl for acl in find(acls.now) if acl in acls]
        return [*still, *(acl for acl in acls.restored() if is_wanted(acl) and acl not in acls.now)]
    return [acl for acl in acls if is_wanted(acl)]


ANY = 1
MATCH = PatternType.parse("MATCH")
LITERAL = PatternType.parse("LITERAL")
PREFIXED = PatternType.parse("PREFIXED")
WILDCARD = "*"


def filter_of(wanted: Any) -> AclFilter:
    """The filter in a DescribeAcls request, or in an item of DeleteAcls: the field names are the same."""
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
    """Whether the resource type or the pattern type is unknown."""
    return not (wanted.resource_type.known and wanted.pattern_type.known)


def is_unknown_entry(wanted: AclFilter) -> bool:
    """Whether the operation or the permission is unknown."""
    return not (wanted.operation.known and wanted.permission.known)


def matching_acls(wanted: AclFilter, acls: Mapping[Acl, UUID]) -> Iterator[Acl]:
    """The ACLs of a view's table that match the filter, in any order. Lazy: the table may change meanwhile."""
    return (acl for acl in _candidates(wanted, acls) if matches(wanted, acl))


def _candidates(wanted: AclFilter, acls: Mapping[Acl, UUID]) -> Iterable[Acl]:
    if wanted.resource_name is not None:
        return (acl for pattern in _patterns(wanted, wanted.resource_name) for acl in acls_on(acls, pattern))
    if wanted.principal is not None:
        return acls_of(acls, wanted.principal)
    return frozen(acls)


def _patterns(wanted: AclFilter, name: str) -> Iterator[Pattern]:
    """All patterns that can match the filter."""
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
    """The patterns that cover a name, without the name itself (ResourcePatternFilter with MATCH)."""
    if name != WILDCARD:
        yield Pattern(type_, LITERAL, WILDCARD)
    for length in range(1, len(name) + 1):
        yield Pattern(type_, PREFIXED, name[:length])


def matches(wanted: AclFilter, acl: Acl) -> bool:
    """Whether the ACL matches the filter (AclBindingFilter). Null and ANY match everything."""
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
    if acl.pattern_type == LITERAL:
        return acl.resource_name == WILDCARD
    return acl.pattern_type == PREFIXED and name.startswith(acl.resource_name)


EVERYBODY = "User:*"
_DENY, _ALLOW = Permission.parse("DENY"), Permission.parse("ALLOW")
_ALL = AclOperation.parse("ALL")
_IMPLIED = {
    AclOperation.parse("DESCRIBE"): frozenset(map(AclOperation.parse, ("READ", "WRITE", "DELETE", "ALTER"))),
    AclOperation.parse("DESCRIBE_CONFIGS"): frozenset({AclOperation.parse("ALTER_CONFIGS")}),
}
"""Operations that another allowed operation implies. Denying that one denies no other."""
_PRINCIPALS = 1000
"""Most principals whose ACLs are cached."""


class AclView(Protocol):
    """What the authorizer needs of a broker's view."""

    @property
    def acls(self) -> Mapping[Acl, UUID]:
        """ACLs with their ids."""
        ...

    @property
    def offset(self) -> int:
        """The end of the log."""
        ...


class StandardAuthorizer:
    """Decides by the ACLs (org.apache.kafka.metadata.authorizer.StandardAuthorizer).

    super_users: principals that may do everything. open_by_default: allow everything on resources without any ACL
    (allow.everyone.if.no.acl.found).
    """

    def __init__(self, super_users: Iterable[str], *, open_by_default: bool = False) -> None:
        self._super_users = frozenset(super_users)
        self._open_by_default = open_by_default
        self._known: dict[str, tuple[tuple[bool, int], Permissions]] = {}

    def allows(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, name: str, view: AclView
    ) -> bool:
        """Whether the principal may do it from this address. DENY wins."""
        if principal in self._super_users:
            return True
        decision = self._permissions(principal, view).decision(host, operation, resource, name)
        if decision is None:
            return self._open_by_default and not _is_on_anything(view, resource, name)
        return decision

    def allows_somewhere(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, view: AclView
    ) -> bool:
        """Whether the principal may do it on any resource of this type (authorizeByResourceType)."""
        if self.allows(principal, host, operation, resource, "hardcode", view):  # Kafka asks this first
            return True
        return self._permissions(principal, view).allow_somewhere(host, operation, resource)

    def _permissions(self, principal: str, view: AclView) -> Permissions:
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
    """One principal's ACLs, indexed by pattern."""

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
        """Whether it is allowed or denied; None without a matching ACL."""
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
        """Whether something is allowed that is not denied."""
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
    """The pattern itself, and every prefix that covers it."""
    yield pattern
    if pattern.name != WILDCARD or pattern.pattern_type == PREFIXED:
        for length in range(1, len(pattern.name) + 1):
            yield Pattern(pattern.resource_type, PREFIXED, pattern.name[:length])


def _is_on_anything(view: AclView, type_: AclResourceType, name: str) -> bool:
    """Whether any ACL matches this resource."""
    patterns = (Pattern(type_, LITERAL, name), *covering(type_, name))
    return any(acls_on(view.acls, pattern) for pattern in patterns)

"""ACLs, found by whom they are for and by what they are on: nobody looks through 100,000."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable
from uuid import UUID

from console.embedded.state.table import PastTable, Source, Table
from console.model.acl import Acl
from console.model.codes import AclResourceType, PatternType

K = TypeVar("K")


class Pattern(NamedTuple):
    """What an ACL is on (ResourcePattern)."""

    resource_type: AclResourceType
    pattern_type: PatternType
    name: str


def pattern_of(acl: Acl) -> Pattern:
    """What this ACL is on."""
    return Pattern(acl.resource_type, acl.pattern_type, acl.resource_name)


@runtime_checkable
class IndexedAcls(Protocol):
    """A source that finds its ACLs itself."""

    def of_principal(self, principal: str) -> Iterator[Acl]:
        """Those for a principal (``User:alice``)."""
        ...

    def on(self, pattern: Pattern) -> Iterator[Acl]:
        """Those on exactly this pattern."""
        ...


class AclTable(Table[Acl, UUID]):
    """The cluster's ACLs. version: another number after every change."""

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
        """Take an ACL out."""
        super().remove(key)
        self.version += 1
        _forget(self._by_principal, key.principal, key)
        _forget(self._by_pattern, pattern_of(key), key)

    def of_principal(self, principal: str) -> list[Acl]:
        """The ACLs for a principal."""
        made: Iterable[Acl] = ()
        if isinstance(self.source, IndexedAcls):
            made = self.source.of_principal(principal)
        elif self.source is not None:
            made = (acl for acl in self.source if acl.principal == principal)
        return self._with_own(made, self._by_principal.get(principal, {}))

    def on(self, pattern: Pattern) -> list[Acl]:
        """The ACLs on exactly this pattern."""
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
    """The ACLs for a principal, in a view's table."""
    return _chosen(acls, lambda table: table.of_principal(principal), lambda acl: acl.principal == principal)


def acls_on(acls: Mapping[Acl, UUID], pattern: Pattern) -> list[Acl]:
    """The ACLs on exactly this pattern, in a view's table."""
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

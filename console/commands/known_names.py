"""What a snapshot knows the names of, ready for completion; made anew only where the snapshot changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from console.commands.name_index import NameIndex
from console.model.acl import Acl
from console.model.codes import CLIENT_METRICS, GROUP, AclResourceType
from console.model.quota import CLIENT_ID, IP, USER
from console.model.snapshot import Snapshot

MOST = 100_000
"""Quota entities and ACLs that are looked through for names."""

_FEW = 1_000
"""Names that are put into an index one by one; with more it is made anew."""


class KnownNames:
    """Indexes of names over the latest snapshot. Each is made when it is first asked for, and kept while the part of
    the snapshot that it was made from stays the same object."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[tuple[Any, ...], NameIndex]] = {}
        self._topics: tuple[Mapping[str, Any], NameIndex] = ({}, NameIndex())

    def topics(self, snapshot: Snapshot) -> NameIndex:
        """Topics; changed by the difference only."""
        before, index = self._topics
        now = snapshot.topics
        if now is before:
            return index
        if len(now) != len(before) or not all(map(before.__contains__, now)):
            gone, new = before.keys() - now.keys(), now.keys() - before.keys()
            index = NameIndex(now) if len(gone) + len(new) > _FEW else index.changed(gone, new)
        self._topics = (now, index)
        return index

    def groups(self, snapshot: Snapshot) -> NameIndex:
        """Groups that there are, and those that have configs."""

        def names() -> Iterable[str]:
            return {*snapshot.groups, *_configured(snapshot, GROUP)}

        return self._index("groups", (snapshot.groups, snapshot.configs), names)

    def metrics(self, snapshot: Snapshot) -> NameIndex:
        """Client metrics subscriptions."""
        return self._index("metrics", (snapshot.configs,), lambda: _configured(snapshot, CLIENT_METRICS))

    def users(self, snapshot: Snapshot) -> NameIndex:
        """Users with quotas, SCRAM credentials or ACLs."""

        def names() -> Iterable[str]:
            principals = (acl.principal for acl in islice(snapshot.acls, MOST))
            of_acls = {name.removeprefix("User:") for name in principals if name.startswith("User:")} - {"*"}
            return {*_parts(snapshot, USER), *snapshot.scram, *of_acls}

        return self._index("users", (snapshot.quotas, snapshot.scram, snapshot.acls), names)

    def clients(self, snapshot: Snapshot) -> NameIndex:
        """Client ids with quotas."""
        return self._index("clients", (snapshot.quotas,), lambda: _parts(snapshot, CLIENT_ID))

    def ips(self, snapshot: Snapshot) -> NameIndex:
        """Addresses with quotas."""
        return self._index("ips", (snapshot.quotas,), lambda: _parts(snapshot, IP))

    def principals(self, snapshot: Snapshot) -> NameIndex:
        """Principals of ACLs, and users as principals."""

        def names() -> Iterable[str]:
            users = (f"User:{name}" for name in self.users(snapshot).names())
            return {*(acl.principal for acl in islice(snapshot.acls, MOST)), *users}

        return self._index("principals", (snapshot.quotas, snapshot.scram, snapshot.acls), names)

    def acl_names(self, snapshot: Snapshot, type_: AclResourceType) -> NameIndex:
        """Names that ACLs on this type of resource have."""
        return self._of_acls(snapshot, f"acl {type_}", lambda acl: acl.resource_name, type_)

    def hosts(self, snapshot: Snapshot) -> NameIndex:
        """Hosts of ACLs."""
        return self._of_acls(snapshot, "hosts", lambda acl: acl.host, None)

    def _of_acls(
        self, snapshot: Snapshot, name: str, part: Callable[[Acl], str], type_: AclResourceType | None
    ) -> NameIndex:
        def names() -> Iterable[str]:
            return {part(acl) for acl in islice(snapshot.acls, MOST) if type_ in (None, acl.resource_type)}

        return self._index(name, (snapshot.acls,), names)

    def _index(self, name: str, made_from: tuple[Any, ...], names: Callable[[], Iterable[str]]) -> NameIndex:
        before = self._made.get(name)
        if before is None or any(old is not new for old, new in zip(before[0], made_from, strict=True)):
            before = self._made[name] = (made_from, NameIndex(names()))
        return before[1]


def _parts(snapshot: Snapshot, type_: str) -> set[str]:
    entities = islice(snapshot.quotas, MOST)
    return {part.name for entity in entities for part in entity.parts if part.type == type_ and part.name is not None}


def _configured(snapshot: Snapshot, type_: int) -> set[str]:
    return {resource.name for resource in snapshot.configs if resource.type == type_}

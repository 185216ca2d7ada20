"""The names in a snapshot, indexed for completion: searches by prefix and by substring are fast with 100,000 names."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import accumulate, islice
from typing import Any

from console.model.acl import Acl
from console.model.codes import GROUP, AclResourceType
from console.model.derived import Derived
from console.model.entity_types import EntityType, Lister
from console.model.quota import CLIENT_ID, IP, USER
from console.model.snapshot import Snapshot


class NameIndex:
    """A set of names in alphabetical order, ignoring case."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = sorted(names, key=str.casefold)
        self._folded = [name.casefold() for name in self._names]
        self._text: str | None = None
        self._starts: list[int] = []

    def names(self) -> list[str]:
        """Return all names in order."""
        return self._names

    def changed(self, gone: Set[str], new: Set[str]) -> NameIndex:
        """Return an index without the names in `gone` and with those in `new`. Only the new names are sorted,
        not all.
        """
        other = NameIndex()
        other._names = [name for name in self._names if name not in gone] if gone else self._names.copy()
        other._folded = [name.casefold() for name in other._names] if gone else self._folded.copy()
        for name in new:
            place = bisect_left(other._folded, name.casefold())
            other._names.insert(place, name)
            other._folded.insert(place, name.casefold())
        return other

    def find(self, typed: str, limit: int) -> list[str]:
        """Return at most `limit` names: first those that begin with the typed text, then those that contain it."""
        folded = typed.casefold()
        first = bisect_left(self._folded, folded)
        beginning = []
        for place in range(first, min(first + limit, len(self._names))):
            if not self._folded[place].startswith(folded):
                break
            beginning.append(self._names[place])
        if len(beginning) == limit or not folded:
            return beginning
        return beginning + list(islice(self._holding(folded), limit - len(beginning)))

    def make_ready(self) -> None:
        """Build the text that `find` searches now, so that the first call of `find` does not have to."""
        self._all_text()

    def _holding(self, folded: str) -> Iterator[str]:
        # A line end separates the names, so a text that contains one would match across two names.
        if "\n" in folded:
            return
        text = self._all_text()
        at = text.find(folded)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            if not self._folded[number].startswith(folded):
                yield self._names[number]
            at = text.find(folded, self._starts[number] + len(self._folded[number]))

    def _all_text(self) -> str:
        """Return all names as one text, a line each: a search in one text is faster than 100,000 searches."""
        if self._text is None:
            self._text = "\n".join(self._folded)
            self._starts = list(accumulate((len(name) + 1 for name in self._folded[:-1]), initial=0))
        return self._text


MOST = 100_000
"""Maximum number of quota entities, and of ACLs, from which names are collected."""

_FEW = 1_000
"""Maximum number of names that are inserted into an index one by one; for more names the index is built again."""


class KnownNames:
    """The indexes of the names in a snapshot. Each is built at the first use, and used again while the part of the
    snapshot from which it was built is the same object.
    """

    def __init__(self) -> None:
        self._made: dict[str, Derived[NameIndex]] = {}
        self._topics: tuple[Mapping[str, Any], NameIndex] = ({}, NameIndex())

    def topics(self, snapshot: Snapshot) -> NameIndex:
        """Return the index of the topics' names. If at most `_FEW` (1,000) names differ from those at the previous
        call, the index of that call is changed; otherwise a new one is built.
        """
        before, index = self._topics
        now = snapshot.topics
        if now is before:
            return index
        # Update the index: few topics are added or removed between two polls, and sorting 100,000 names again would
        # delay a key press.
        if len(now) != len(before) or not all(map(before.__contains__, now)):
            gone, new = before.keys() - now.keys(), now.keys() - before.keys()
            index = NameIndex(now) if len(gone) + len(new) > _FEW else index.changed(gone, new)
        self._topics = (now, index)
        return index

    def groups(self, snapshot: Snapshot) -> NameIndex:
        """Return the index of the groups' names, including groups that only have configs."""

        def names() -> Iterable[str]:
            return {*snapshot.groups, *_configured(snapshot, GROUP)}

        return self._index("groups", (snapshot.groups, snapshot.configs), names)

    def resources(self, snapshot: Snapshot, type_: EntityType) -> NameIndex:
        """Return the index of the names of resources of a type; they are taken from the snapshot's configs."""
        if type_.lister is Lister.CONNECT_CLUSTERS:
            return self._index(type_.word, (snapshot.connect,), lambda: snapshot.connect)
        return self._index(type_.word, (snapshot.configs,), lambda: _configured(snapshot, type_.number))

    def users(self, snapshot: Snapshot) -> NameIndex:
        """Return the index of the users that have quotas, SCRAM credentials or ACLs; at most `MOST` quotas and ACLs are
        searched.
        """

        def names() -> Iterable[str]:
            # Include users that appear only in ACLs.
            principals = (acl.principal for acl in islice(snapshot.acls, MOST))
            of_acls = {name.removeprefix("User:") for name in principals if name.startswith("User:")} - {"*"}
            return {*_parts(snapshot, USER), *snapshot.scram, *of_acls}

        return self._index("users", (snapshot.quotas, snapshot.scram, snapshot.acls), names)

    def clients(self, snapshot: Snapshot) -> NameIndex:
        """Return the index of the client ids with quotas."""
        return self._index("clients", (snapshot.quotas,), lambda: _parts(snapshot, CLIENT_ID))

    def ips(self, snapshot: Snapshot) -> NameIndex:
        """Return the index of the addresses with quotas."""
        return self._index("ips", (snapshot.quotas,), lambda: _parts(snapshot, IP))

    def principals(self, snapshot: Snapshot) -> NameIndex:
        """Return the index of the principals of the first `MOST` ACLs, and of all users as ``User:NAME``."""

        def names() -> Iterable[str]:
            users = (f"User:{name}" for name in self.users(snapshot).names())
            return {*(acl.principal for acl in islice(snapshot.acls, MOST)), *users}

        return self._index("principals", (snapshot.quotas, snapshot.scram, snapshot.acls), names)

    def acl_names(self, snapshot: Snapshot, type_: AclResourceType) -> NameIndex:
        """Return the index of the resource names in ACLs on this type of resource."""
        return self._of_acls(snapshot, f"acl {type_}", lambda acl: acl.resource_name, type_)

    def hosts(self, snapshot: Snapshot) -> NameIndex:
        """Return the index of the hosts of ACLs."""
        return self._of_acls(snapshot, "hosts", lambda acl: acl.host, None)

    def _of_acls(
        self, snapshot: Snapshot, name: str, part: Callable[[Acl], str], type_: AclResourceType | None
    ) -> NameIndex:
        def names() -> Iterable[str]:
            return {part(acl) for acl in islice(snapshot.acls, MOST) if type_ in (None, acl.resource_type)}

        return self._index(name, (snapshot.acls,), names)

    def _index(self, name: str, made_from: tuple[Any, ...], names: Callable[[], Iterable[str]]) -> NameIndex:
        return self._made.setdefault(name, Derived(NameIndex())).of(made_from, lambda: NameIndex(names()))


def _parts(snapshot: Snapshot, type_: str) -> set[str]:
    entities = islice(snapshot.quotas, MOST)
    return {part.name for entity in entities for part in entity.parts if part.type == type_ and part.name is not None}


def _configured(snapshot: Snapshot, type_: int | None) -> set[str]:
    return {resource.name for resource in snapshot.configs if resource.type == type_}

"""Tables: mappings that only the state writes to, over a source that makes its values when they are asked for."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Any, Final, Generic, Protocol, TypeVar

K = TypeVar("K")
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


class Absent:
    """Stands for "no value" where None could be one."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()


class Source(Protocol[K, V_co]):
    """What a table holds before anything was changed: a function of the key, so that it takes no memory."""

    def find(self, key: K) -> V_co | None:
        """The value of a key, None for a key that it does not have."""
        ...

    def __iter__(self) -> Iterator[K]:
        """All keys, always in the same order."""
        ...

    def items(self) -> Iterator[tuple[K, V_co]]:
        """All keys with their values, in the same order."""
        ...

    def __len__(self) -> int: ...


class Table(Mapping[K, V], Generic[K, V]):
    """A table of the state. Only ClusterState calls `put` and `remove`."""

    __slots__ = ("_gone", "_own", "name", "source")

    def __init__(self, name: str, source: Source[K, V] | None = None) -> None:
        self.name = name
        self.source = source
        self._own: dict[K, V] = {}
        self._gone: set[K] = set()

    def find(self, key: K) -> V | Absent:
        """The value, or ABSENT."""
        value = self._own.get(key, ABSENT)
        if value is ABSENT and self.source is not None and key not in self._gone:
            made = self.source.find(key)
            return ABSENT if made is None else made
        return value

    def put(self, key: K, value: V) -> None:
        """Set a key's value."""
        self._own[key] = value
        self._gone.discard(key)

    def remove(self, key: K) -> None:
        """Take a key out; nothing happens where there is none."""
        self._own.pop(key, None)
        if self.source is not None and self.source.find(key) is not None:
            self._gone.add(key)

    def items(self) -> ItemsView[K, V]:
        """Keys with their values, each value made once."""
        return self._own.items() if self.source is None else _Items(self)

    def values(self) -> ValuesView[V]:
        """The values, each made once."""
        return self._own.values() if self.source is None else _Values(self)

    @property
    def own(self) -> Mapping[K, V]:
        """What was put, beside the source."""
        return self._own

    @property
    def gone(self) -> frozenset[K]:
        """The source's keys that were removed."""
        return frozenset(self._gone)

    def __getitem__(self, key: K) -> V:
        value = self.find(key)
        if isinstance(value, Absent):
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        return self.find(key) is not ABSENT  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[K]:
        if self.source is None:
            return iter(self._own)
        return self._merged()

    def frozen(self) -> Table[K, V]:
        """The same, as it is now: for who goes through it while others may change it."""
        result = Table(self.name, self.source)
        result._own, result._gone = dict(self._own), set(self._gone)
        return result

    def pairs(self) -> Iterator[tuple[K, V]]:
        """Keys with their values, each of the source's made once."""
        if self.source is None:
            yield from self._own.items()
            return
        own, gone = self._own, self._gone
        changed = bool(own or gone)
        for key, value in self.source.items():
            if not changed:
                yield key, value
            elif key not in gone:
                yield key, own.get(key, value)
        for key, value in own.items():
            if self.source.find(key) is None:
                yield key, value

    def _merged(self) -> Iterator[K]:
        assert self.source is not None
        for key in self.source:
            if key not in self._gone:
                yield key
        for key in self._own:
            if self.source.find(key) is None:
                yield key

    def __len__(self) -> int:
        if self.source is None:
            return len(self._own)
        fresh = sum(1 for key in self._own if self.source.find(key) is None)
        return len(self.source) - len(self._gone) + fresh


class _Items(ItemsView[K, V]):
    """The pairs of a table with a source."""

    _mapping: Table[K, V]

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return self._mapping.pairs()


class _Values(ValuesView[V]):
    """The values of a table with a source."""

    _mapping: Table[Any, V]

    def __iter__(self) -> Iterator[V]:
        return (value for _, value in self._mapping.pairs())


class PastTable(Mapping[K, V], Generic[K, V]):
    """A table as it was before some changes. undone: for each key that they touched, its value before them."""

    __slots__ = ("_now", "_undone")

    def __init__(self, now: Table[K, V], undone: Mapping[K, V | Absent]) -> None:
        self._now = now
        self._undone = undone

    @property
    def now(self) -> Table[K, V]:
        """The table as it is."""
        return self._now

    def restored(self) -> Iterator[K]:
        """The keys that it had before those changes, of those that they touched."""
        return (key for key, value in self._undone.items() if not isinstance(value, Absent))

    def frozen(self) -> PastTable[K, V]:
        """The same, whatever becomes of the table."""
        return PastTable(self._now.frozen(), self._undone)

    def __getitem__(self, key: K) -> V:
        value = self._undone.get(key)
        if value is None:
            return self._now[key]
        if isinstance(value, Absent):
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        value = self._undone.get(key)  # type: ignore[arg-type]
        return key in self._now if value is None else value is not ABSENT

    def __iter__(self) -> Iterator[K]:
        for key in self._now:
            if self._undone.get(key) is not ABSENT:
                yield key
        for key, value in self._undone.items():
            if value is not ABSENT and key not in self._now:
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)


def frozen(mapping: Mapping[K, V]) -> Mapping[K, V]:
    """A table of a view as it is now: for who goes through it while others may change it."""
    return mapping.frozen() if isinstance(mapping, Table | PastTable) else dict(mapping)

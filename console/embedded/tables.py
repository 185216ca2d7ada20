"""Tables that only ClusterState changes, their values, and the log of their changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from msgspec import Struct

K = TypeVar("K")
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


class Absent:
    """Marker of a missing value, for tables that could hold None."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()


class Source(Protocol[K, V_co]):
    """Initial content of a table, computed from the key, so it takes no memory."""

    def find(self, key: K) -> V_co | None:
        """Return the value of a key; None if the key is unknown."""

    def __iter__(self) -> Iterator[K]:
        """Iterate over all keys, always in the same order."""

    def items(self) -> Iterator[tuple[K, V_co]]:
        """Return all keys with their values, in the order of `__iter__`."""

    def __len__(self) -> int: ...


class Table(Mapping[K, V], Generic[K, V]):
    """A mapping on top of an optional source. Only ClusterState calls `put` and `remove`."""

    __slots__ = ("_gone", "_own", "name", "source")

    def __init__(self, name: str, source: Source[K, V] | None = None) -> None:
        self.name = name
        self.source = source
        self._own: dict[K, V] = {}
        self._gone: set[K] = set()

    def find(self, key: K) -> V | Absent:
        """Return the value of a key; ABSENT if the key is missing."""
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
        """Remove a key. Do nothing if the key is missing."""
        self._own.pop(key, None)
        if self.source is not None and self.source.find(key) is not None:
            self._gone.add(key)

    def items(self) -> ItemsView[K, V]:
        """Return keys with their values. Each value of the source is computed once."""
        return self._own.items() if self.source is None else _Items(self)

    def values(self) -> ValuesView[V]:
        """Return the values. Each value of the source is computed once."""
        return self._own.values() if self.source is None else _Values(self)

    @property
    def own(self) -> Mapping[K, V]:
        """The entries set by `put`, without those of the source."""
        return self._own

    @property
    def gone(self) -> frozenset[K]:
        """The removed keys of the source."""
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
        """Return a copy that later changes do not affect, for iterating while others write."""
        result = Table(self.name, self.source)
        result._own, result._gone = dict(self._own), set(self._gone)
        return result

    def pairs(self) -> Iterator[tuple[K, V]]:
        """Yield keys with their values. Each value of the source is computed once."""
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
        # Count an entry of the table only if the source has no entry with its key, as the source's entries are already
        # counted.
        fresh = sum(1 for key in self._own if self.source.find(key) is None)
        return len(self.source) - len(self._gone) + fresh


class _Items(ItemsView[K, V]):
    """The items of a table with a source."""

    _mapping: Table[K, V]

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return self._mapping.pairs()


class _Values(ValuesView[V]):
    """The values of a table with a source."""

    _mapping: Table[Any, V]

    def __iter__(self) -> Iterator[V]:
        return (value for _, value in self._mapping.pairs())


class PastTable(Mapping[K, V], Generic[K, V]):
    """A table as it was before some changes. undone: changed key -> its value before them."""

    __slots__ = ("_now", "_undone")

    def __init__(self, now: Table[K, V], undone: Mapping[K, V | Absent]) -> None:
        self._now = now
        self._undone = undone

    @property
    def now(self) -> Table[K, V]:
        """The table as it is now."""
        return self._now

    def restored(self) -> Iterator[K]:
        """Return the changed keys that existed before the changes."""
        return (key for key, value in self._undone.items() if not isinstance(value, Absent))

    def frozen(self) -> PastTable[K, V]:
        """Return a copy that later changes of the table do not affect."""
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


class IndexedTable(Table[K, V]):
    """A table with an index from the parts of a key to its keys, for up to a million keys. version: grows with each
    change."""

    __slots__ = ("_by_part", "_parts_of", "version")

    def __init__(self, name: str, parts_of: Callable[[K], Iterable[Hashable]]) -> None:
        super().__init__(name)
        self.version = 0
        self._parts_of = parts_of
        self._by_part: dict[Hashable, dict[K, None]] = {}

    def put(self, key: K, value: V) -> None:
        """Set a key's value."""
        super().put(key, value)
        self.version += 1
        for part in self._parts_of(key):
            self._by_part.setdefault(part, {})[key] = None

    def remove(self, key: K) -> None:
        """Remove a key. Do nothing if the key is missing."""
        super().remove(key)
        self.version += 1
        for part in self._parts_of(key):
            found = self._by_part.get(part, {})
            found.pop(key, None)
            if not found:
                self._by_part.pop(part, None)

    def having(self, part: Hashable, made: Iterable[K]) -> Iterator[K]:
        """Yield the keys with a part, lazily: the table may change during the iteration. made: keys of the source."""
        own = dict(self._by_part.get(part, {}))
        yield from (key for key in made if key not in own and key in self)
        yield from own


def keys_in(mapping: Mapping[K, V], find: Callable[[Any], Iterable[K]], is_wanted: Callable[[K], bool]) -> Iterable[K]:
    """Return the wanted keys of a view's table. find: index lookup for an `IndexedTable`."""
    if isinstance(mapping, IndexedTable):
        return find(mapping)
    if isinstance(mapping, PastTable) and isinstance(mapping.now, IndexedTable):
        # The past view lacks keys that were added since, and still has keys that were removed since.
        still = [key for key in find(mapping.now) if key in mapping]
        return [*still, *(key for key in mapping.restored() if is_wanted(key) and key not in mapping.now)]
    return [key for key in mapping if is_wanted(key)]


def frozen(mapping: Mapping[K, V]) -> Mapping[K, V]:
    """Return a copy of a view's table that later changes do not affect, for iterating while others write."""
    return mapping.frozen() if isinstance(mapping, Table | PastTable) else dict(mapping)


NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class BrokerNode:
    """A registered broker, alive or not."""

    id: int
    host: str = "127.0.0.1"
    port: int = 0
    """The port; 0 until the broker listens."""
    rack: str | None = None
    alive: bool = True
    """Whether the broker is alive, that is, not fenced."""
    epoch: int = 0
    """The epoch of the broker's registration."""
    log_dirs: tuple[str, ...] = ("/tmp/kac-embedded/logs",)  # noqa: S108 - a name in answers, never opened


@dataclass(frozen=True, slots=True)
class ControllerNode:
    """A controller that is not a broker."""

    id: int
    host: str = "127.0.0.1"
    port: int = 0
    """The port; 0 until the controller listens."""
    alive: bool = True
    """Whether the controller's process runs."""
    behind: int = 0
    """The number of records that the controller's log lacks."""
    behind_since: float = 0.0
    """The time since which the controller lags, Unix time."""


class Partition(NamedTuple):
    """A partition as the controller stores it (PartitionRegistration). The first replica is the preferred leader."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    """The replicas that a reassignment under way adds; `replicas` already contains them."""
    removing: tuple[int, ...] = ()
    """The replicas that a reassignment under way removes; `replicas` contains them until the reassignment is
    complete."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the controller stores it."""

    name: str
    id: UUID
    partitions: tuple[Partition, ...]
    """The partitions, indexed by their number."""
    internal: bool = False


def unified(name: str) -> str:
    """Return the name of a topic in metrics, which two topics must not share (Topic.unifyCollisionChars)."""
    return name.replace(".", "_")


class TopicTable(Table[str, Topic]):
    """The topics, indexed by id and by names that differ only in ``.`` and ``_``."""

    __slots__ = ("_alike", "_names")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._names: dict[UUID, str] = {}
        self._alike: dict[str, dict[str, None]] = {}

    def put(self, key: str, value: Topic) -> None:
        """Create or replace a topic."""
        super().put(key, value)
        self._names[value.id] = key
        # Names without ``.`` and ``_`` collide only with themselves, so they need no index.
        if "_" in unified(key):
            self._alike.setdefault(unified(key), {})[key] = None

    def remove(self, key: str) -> None:
        """Delete a topic."""
        if (topic := self._own.get(key)) is not None:
            self._names.pop(topic.id, None)
        super().remove(key)
        alike = self._alike.get(unified(key), {})
        alike.pop(key, None)
        if not alike:
            self._alike.pop(unified(key), None)

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the name of the topic with this id; None if the id is unknown."""
        name = self._names.get(topic_id)
        if name is None:
            by_id: Callable[[UUID], str | None] | None = getattr(self.source, "name_of", None)
            name = by_id(topic_id) if by_id is not None else None
        topic = self.get(name) if name is not None else None
        # A topic that was deleted and created again has another id, but the index may still have the old one.
        return name if topic is not None and topic.id == topic_id else None

    def like(self, name: str) -> str | None:
        """Return a topic whose name differs only in ``.`` and ``_``; None if no such topic exists."""
        found = next(iter(self._alike.get(unified(name), ())), None)
        by_name: Callable[[str], str | None] | None = getattr(self.source, "name_like", None)
        if found is None and by_name is not None:
            found = by_name(name)
        return found if found is not None and found in self else None


class ScramKey(NamedTuple):
    """The key of a SCRAM credential."""

    user: str
    mechanism: int
    """Kafka's number of the mechanism: 1 for SCRAM-SHA-256, 2 for SCRAM-SHA-512."""


@dataclass(frozen=True, slots=True, repr=False)
class ScramCredential:
    """The data that a broker stores for a password (RFC 5802). Its repr hides the keys."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"


RETENTION = 15 * 60.0
"""Seconds for which the log keeps a change (needed for KIP-21's change notifications)."""
MAX_ENTRIES = 200_000


class Change(Struct, frozen=True):
    """A change of one key of a table, as an entry of the log."""

    offset: int
    at: float
    """The time of the change, Unix seconds."""
    table: str
    key: Hashable
    before: Any
    """The value of the key before the change; ABSENT if it had none."""
    after: Any
    """The value of the key after the change; ABSENT if it has none."""


class ChangeLog:
    """The metadata log: changes by offset, from 1 on. It drops old entries; `end` never decreases."""

    def __init__(self, end: int = 0) -> None:
        self._entries: deque[Change] = deque()
        self.end = end

    def append(self, change: Change) -> None:
        """Append the change with the next offset, and drop expired entries."""
        self.end = change.offset
        self._entries.append(change)
        # Brokers lag by seconds, so this log is long enough for each view of the past.
        while len(self._entries) > MAX_ENTRIES or self._entries[0].at < change.at - RETENTION:
            self._entries.popleft()

    def after(self, offset: int) -> Iterator[Change]:
        """Return the changes with a higher offset, oldest first."""
        return reversed(list(self._newer(offset)))

    def _newer(self, offset: int) -> Iterator[Change]:
        for change in reversed(self._entries):
            if change.offset <= offset:
                return
            yield change

    def applied_at(self, moment: float) -> int:
        """Return the highest offset written at or before a time, in Unix seconds."""
        for change in reversed(self._entries):
            if change.at <= moment:
                return change.offset
        # All remaining entries are newer, so the broker is at the offset before the first of them.
        return self._entries[0].offset - 1 if self._entries else self.end

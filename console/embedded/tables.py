"""The tables of the cluster's state, which only ClusterState changes; the values in them; and the log of their
changes.
"""

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
    """The type of `ABSENT`, which stands for a missing value, because None may be a value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()


class Source(Protocol[K, V_co]):
    """The initial content of a table, which is computed when it is needed and takes no memory."""

    def find(self, key: K) -> V_co | None:
        """Return the value of a key; None if the source does not have the key."""

    def __iter__(self) -> Iterator[K]:
        """Yield all keys, always in the same order."""

    def items(self) -> Iterator[tuple[K, V_co]]:
        """Yield all keys with their values, in the order of `__iter__`."""

    def __len__(self) -> int: ...


class Table(Mapping[K, V], Generic[K, V]):
    """A table: the entries of an optional source, with changes. Only ClusterState calls `put` and `remove`."""

    __slots__ = ("_gone", "_own", "name", "source")

    def __init__(self, name: str, source: Source[K, V] | None = None) -> None:
        self.name = name
        self.source = source
        self._own: dict[K, V] = {}
        self._gone: set[K] = set()

    def find(self, key: K) -> V | Absent:
        """Return the value of a key; ABSENT if the table does not have the key."""
        value = self._own.get(key, ABSENT)
        if value is ABSENT and self.source is not None and key not in self._gone:
            made = self.source.find(key)
            return ABSENT if made is None else made
        return value

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self._own[key] = value
        self._gone.discard(key)

    def remove(self, key: K) -> None:
        """Remove a key; do nothing if the table does not have it."""
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
        """The entries that were set by `put`; entries of the source are not among them."""
        return self._own

    @property
    def gone(self) -> frozenset[K]:
        """The keys of the source that were removed."""
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
        """Return a copy that does not change, to iterate over while the table may change."""
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
    """A table as it was before some changes. undone: key that was changed since -> its value at that time."""

    __slots__ = ("_now", "_undone")

    def __init__(self, now: Table[K, V], undone: Mapping[K, V | Absent]) -> None:
        self._now = now
        self._undone = undone

    @property
    def now(self) -> Table[K, V]:
        """The table as it is now, from which this one differs by `undone`."""
        return self._now

    def restored(self) -> Iterator[K]:
        """Yield the changed keys that existed at that time."""
        return (key for key, value in self._undone.items() if not isinstance(value, Absent))

    def frozen(self) -> PastTable[K, V]:
        """Return a copy that does not change, to iterate over while the table may change."""
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
    """A table for up to a million keys with an index from each part of a key, such as a principal, to the keys that
    have the part. version: a number that grows with each change.
    """

    __slots__ = ("_by_part", "_parts_of", "version")

    def __init__(self, name: str, parts_of: Callable[[K], Iterable[Hashable]]) -> None:
        super().__init__(name)
        self.version = 0
        self._parts_of = parts_of
        self._by_part: dict[Hashable, dict[K, None]] = {}

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        super().put(key, value)
        self.version += 1
        for part in self._parts_of(key):
            self._by_part.setdefault(part, {})[key] = None

    def remove(self, key: K) -> None:
        """Remove a key; do nothing if the table does not have it."""
        super().remove(key)
        self.version += 1
        for part in self._parts_of(key):
            found = self._by_part.get(part, {})
            found.pop(key, None)
            if not found:
                self._by_part.pop(part, None)

    def having(self, part: Hashable, made: Iterable[K]) -> Iterator[K]:
        """Yield the keys that the index lists under `part`, a component of keys. The table may change during the
        iteration.

        Args:
            made: the keys of the table's source that have the component.
        """
        own = dict(self._by_part.get(part, {}))
        yield from (key for key in made if key not in own and key in self)
        yield from own


def keys_in(mapping: Mapping[K, V], find: Callable[[Any], Iterable[K]], is_wanted: Callable[[K], bool]) -> Iterable[K]:
    """Return the wanted keys of a view's table: by the index if it is an `IndexedTable`, otherwise by a test of each
    key.

    Args:
        find: function that looks the keys up in the index.
        is_wanted: function that tests a key.
    """
    if isinstance(mapping, IndexedTable):
        return find(mapping)
    if isinstance(mapping, PastTable) and isinstance(mapping.now, IndexedTable):
        # The past view lacks keys that were added since, and still has keys that were removed since.
        still = [key for key in find(mapping.now) if key in mapping]
        return [*still, *(key for key in mapping.restored() if is_wanted(key) and key not in mapping.now)]
    return [key for key in mapping if is_wanted(key)]


def frozen(mapping: Mapping[K, V]) -> Mapping[K, V]:
    """Return a copy of a view's table that does not change, to iterate over while the table may change."""
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
    """Whether the broker is not fenced."""
    epoch: int = 0
    """The epoch of the broker's registration."""
    log_dirs: tuple[str, ...] = ("/tmp/kac-embedded/logs",)  # noqa: S108 - a name in answers, never opened


@dataclass(frozen=True, slots=True)
class ControllerNode:
    """A separate controller, which is not a broker."""

    id: int
    host: str = "127.0.0.1"
    port: int = 0
    """The port; 0 until the controller listens."""
    alive: bool = True
    """Whether the controller's process runs."""
    behind: int = 0
    """The number of records by which the controller's log is shorter than the leader's."""
    behind_since: float = 0.0
    """The time since which its log is shorter than the leader's, in seconds since 1970."""


class Partition(NamedTuple):
    """A partition as the controller stores it (PartitionRegistration). Replicas are broker ids; the first is the
    preferred leader.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    """The replicas that a reassignment in progress adds; `replicas` has them already."""
    removing: tuple[int, ...] = ()
    """The replicas that a reassignment in progress removes; `replicas` has them until it is complete."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the controller stores it."""

    name: str
    id: UUID
    partitions: tuple[Partition, ...]
    """The partitions, in the order of their numbers from 0."""
    internal: bool = False


def unified(name: str) -> str:
    """Return the name that a topic has in metrics, which must be unique among all topics
    (Topic.unifyCollisionChars).
    """
    return name.replace(".", "_")


class TopicTable(Table[str, Topic]):
    """The topics by name, with indexes by id and by the name in metrics (`unified`)."""

    __slots__ = ("_alike", "_names")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._names: dict[UUID, str] = {}
        self._alike: dict[str, dict[str, None]] = {}

    def put(self, key: str, value: Topic) -> None:
        """Create or replace a topic. key: its name."""
        super().put(key, value)
        self._names[value.id] = key
        # Names without ``.`` and ``_`` collide only with themselves, so they need no index.
        if "_" in unified(key):
            self._alike.setdefault(unified(key), {})[key] = None

    def remove(self, key: str) -> None:
        """Delete a topic; do nothing if there is none. key: its name."""
        if (topic := self._own.get(key)) is not None:
            self._names.pop(topic.id, None)
        super().remove(key)
        alike = self._alike.get(unified(key), {})
        alike.pop(key, None)
        if not alike:
            self._alike.pop(unified(key), None)

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the name of the topic with this id; None if there is none."""
        name = self._names.get(topic_id)
        if name is None:
            by_id: Callable[[UUID], str | None] | None = getattr(self.source, "name_of", None)
            name = by_id(topic_id) if by_id is not None else None
        topic = self.get(name) if name is not None else None
        # A topic that was deleted and created again has another id, but the index may still have the old one.
        return name if topic is not None and topic.id == topic_id else None

    def like(self, name: str) -> str | None:
        """Return the name of an existing topic that equals this name, or differs from it only in ``.`` and ``_``; None
        if no topic does.
        """
        found = next(iter(self._alike.get(unified(name), ())), None)
        by_name: Callable[[str], str | None] | None = getattr(self.source, "name_like", None)
        if found is None and by_name is not None:
            found = by_name(name)
        return found if found is not None and found in self else None


class ScramKey(NamedTuple):
    """The key of a SCRAM credential: a user and a mechanism."""

    user: str
    mechanism: int
    """Kafka's number of the mechanism: 1 for SCRAM-SHA-256, 2 for SCRAM-SHA-512."""


@dataclass(frozen=True, slots=True, repr=False)
class ScramCredential:
    """The data that a broker stores for a password in SCRAM (RFC 5802). Its repr hides the keys."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"


RETENTION = 15 * 60.0
"""Seconds for which a change stays in the change log; KIP-21's notifications need it."""
MAX_ENTRIES = 200_000


class Change(Struct, frozen=True):
    """A change of one key in a table: an entry of the change log."""

    offset: int
    at: float
    """The time of the change, in seconds since 1970."""
    table: str
    key: Hashable
    before: Any
    """The value of the key before the change; ABSENT if the key did not exist."""
    after: Any
    """The value of the key after the change; ABSENT if it was removed."""


class ChangeLog:
    """The change log: the changes by their offsets, which begin with 1. Old changes are dropped, but `end` never
    decreases.
    """

    def __init__(self, end: int = 0) -> None:
        self._entries: deque[Change] = deque()
        self.end = end

    def append(self, change: Change) -> None:
        """Append a change, which gets the next offset, and drop changes older than `RETENTION`."""
        self.end = change.offset
        self._entries.append(change)
        # Brokers lag by seconds, so this log is long enough for each view of the past.
        while len(self._entries) > MAX_ENTRIES or self._entries[0].at < change.at - RETENTION:
            self._entries.popleft()

    def after(self, offset: int) -> Iterator[Change]:
        """Yield the changes with a higher offset than this one, in order."""
        return reversed(list(self._newer(offset)))

    def _newer(self, offset: int) -> Iterator[Change]:
        for change in reversed(self._entries):
            if change.offset <= offset:
                return
            yield change

    def applied_at(self, moment: float) -> int:
        """Return the offset of the last change at or before a time, in seconds since 1970."""
        for change in reversed(self._entries):
            if change.at <= moment:
                return change.offset
        # All remaining entries are newer, so the broker is at the offset before the first of them.
        return self._entries[0].offset - 1 if self._entries else self.end

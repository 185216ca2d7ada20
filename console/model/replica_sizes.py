"""What replicas hold on disk, in columns: three brokers with 100,000 topics tell of 900,000."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, overload


class ReplicaSize(NamedTuple):
    """What one replica holds on disk: bytes, and records behind (offset lag)."""

    topic: str
    partition: int
    size: int
    offset_lag: int
    is_future: bool


class ReplicaSizes(Sequence[ReplicaSize]):
    """An immutable sequence of them in 25 bytes each, a fifth of what they take as objects."""

    __slots__ = ("_futures", "_lags", "_names", "_partitions", "_places", "_sizes")

    def __init__(self, replicas: Iterable[ReplicaSize] = ()) -> None:
        places: dict[str, int] = {}
        # A place among the names, a partition, two of Kafka's int64, a flag.
        self._places, self._partitions = array("I"), array("i")
        self._sizes, self._lags, self._futures = array("q"), array("q"), bytearray()
        for topic, partition, size, lag, is_future in replicas:
            self._places.append(places.setdefault(topic, len(places)))
            self._partitions.append(partition)
            self._sizes.append(size)
            self._lags.append(lag)
            self._futures.append(is_future)
        self._names = tuple(places)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> ReplicaSize: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ReplicaSize]: ...

    def __getitem__(self, index: int | slice) -> ReplicaSize | Sequence[ReplicaSize]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        return ReplicaSize(
            self._names[self._places[index]],
            self._partitions[index],
            self._sizes[index],
            self._lags[index],
            bool(self._futures[index]),
        )

    def __iter__(self) -> Iterator[ReplicaSize]:
        topics = map(self._names.__getitem__, self._places)
        return map(ReplicaSize, topics, self._partitions, self._sizes, self._lags, map(bool, self._futures))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReplicaSizes) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    def __hash__(self) -> int:
        return hash((self._names, bytes(self._sizes)))

    def __repr__(self) -> str:
        return f"ReplicaSizes({list(self)!r})"

    def by_topic(self) -> Mapping[str, int]:
        """Bytes by topic."""
        totals = [0] * len(self._names)
        for place, size in zip(self._places, self._sizes, strict=True):
            totals[place] += size
        return dict(zip(self._names, totals, strict=True))

    @property
    def moving(self) -> bool:
        """Whether one of them is being copied from another directory (a future replica)."""
        return 1 in self._futures

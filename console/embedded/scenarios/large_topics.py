"""100,000 topics and their overrides, each made when it is asked for: functions of a number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from console.embedded.scenarios.filling import DAY, HOUR
from console.embedded.state.liveness import without
from console.embedded.state.placement import new_partition, striped
from console.embedded.state.topic_index import unified
from console.embedded.state.values import Partition, Topic
from console.model.codes import TOPIC
from console.model.config import ConfigResource

if TYPE_CHECKING:
    from console.embedded.state.cluster_state import ClusterState

PARTITIONS = 3
_REPLICATION = 3
_TEAMS = (
    "checkout", "logistics", "identity", "platform", "search", "pricing", "billing", "catalog", "fraud", "ads",
    "mobile", "partners", "support", "warehouse", "mail", "media", "maps", "reports", "iot", "labs",
)  # fmt: skip
_KINDS = ("events", "commands", "changes", "audit", "retry", "dead-letter", "metrics", "snapshots")
_NAME = re.compile(r"[a-z]+\.[a-z-]+\.(\d{6})")
_IDS = 0x6B61632D6C617267_4000000000000000
"""The ids count up from here, so that a topic is found by its id too."""

_SETS: tuple[Mapping[str, str], ...] = (
    {"retention.ms": str(HOUR)},
    {"retention.ms": str(DAY)},
    {"retention.ms": str(30 * DAY), "min.insync.replicas": "2"},
    {"cleanup.policy": "compact", "min.insync.replicas": "2"},
    {"cleanup.policy": "compact,delete", "retention.ms": str(7 * DAY), "segment.ms": str(DAY)},
    {"compression.type": "zstd", "retention.bytes": str(2**33)},
    {"max.message.bytes": "10485760"},
    {"retention.ms": "-1", "retention.bytes": "-1", "compression.type": "lz4"},
    {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"},
    {"segment.bytes": "67108864", "retention.ms": str(6 * HOUR), "message.timestamp.type": "LogAppendTime"},
)
_PLAIN_OF_TEN = 6
"""Topics of ten that have no overrides."""


class LargeTopics:
    """The topics. Their partitions go by the brokers that are alive now."""

    def __init__(self, state: ClusterState, size: int) -> None:
        self._state = state
        self._size = size
        self._brokers = tuple(sorted(state.brokers))
        self._laid: tuple[tuple[int, ...], tuple[tuple[Partition, ...], ...]] | None = None

    def name_at(self, index: int) -> str:
        """The name of the topic with this number."""
        return f"{_TEAMS[index % len(_TEAMS)]}.{_KINDS[index // len(_TEAMS) % len(_KINDS)]}.{index:06}"

    def index_of(self, name: str) -> int | None:
        """The number of the topic with this name."""
        match = _NAME.fullmatch(name)
        index = int(match[1]) if match else self._size
        return index if index < self._size and self.name_at(index) == name else None

    def name_of(self, topic_id: UUID) -> str | None:
        """The name of the topic with this id."""
        index = topic_id.int - _IDS
        return self.name_at(index) if 0 <= index < self._size else None

    def name_like(self, name: str) -> str | None:
        """The topic whose name differs from this one in ``.`` and ``_`` at most."""
        digits = name[-6:]
        if not (digits.isascii() and digits.isdigit()) or int(digits) >= self._size:
            return None
        found = self.name_at(int(digits))
        return found if unified(found) == unified(name) else None

    def find(self, key: str) -> Topic | None:
        """The topic of this name."""
        index = self.index_of(key)
        return None if index is None else self._made(index, key, self._places())

    def _made(self, index: int, name: str, places: tuple[tuple[Partition, ...], ...]) -> Topic:
        return Topic(name, UUID(int=_IDS + index), places[index % len(places)])

    def items(self) -> Iterator[tuple[str, Topic]]:
        """All topics in their order, by name."""
        places = self._places()
        for index in range(self._size):
            name = self.name_at(index)
            yield name, self._made(index, name, places)

    def __iter__(self) -> Iterator[str]:
        return map(self.name_at, range(self._size))

    def __len__(self) -> int:
        return self._size

    def _places(self) -> tuple[tuple[Partition, ...], ...]:
        """The partitions that topics have, by their number modulo the brokers'; equal ones are one object."""
        alive = self._state.alive()
        if self._laid is None or self._laid[0] != alive:
            self._laid = (alive, tuple(self._place(start, alive) for start in range(len(self._brokers))))
        return self._laid[1]

    def _place(self, start: int, alive: tuple[int, ...]) -> tuple[Partition, ...]:
        replication = min(_REPLICATION, len(self._brokers))
        partitions = [
            new_partition(replicas, self._brokers)
            for replicas in striped(self._brokers, PARTITIONS, replication, start)
        ]
        for broker in self._brokers:
            if broker not in alive:
                partitions = [without(partition, broker, frozenset(alive)) for partition in partitions]
        return tuple(partitions)


class LargeConfigs:
    """The overrides of these topics: a few sets, again and again, each of them one object."""

    def __init__(self, topics: LargeTopics) -> None:
        self._topics = topics

    def _of(self, index: int) -> Mapping[str, str] | None:
        return None if index % 10 < _PLAIN_OF_TEN else _SETS[index // 10 % len(_SETS)]

    def find(self, key: ConfigResource) -> Mapping[str, str] | None:
        """The overrides of a topic."""
        index = self._topics.index_of(key.name) if key.type == TOPIC else None
        return None if index is None else self._of(index)

    def items(self) -> Iterator[tuple[ConfigResource, Mapping[str, str]]]:
        """The topics that have overrides, with them."""
        for index in range(len(self._topics)):
            overrides = self._of(index)
            if overrides is not None:
                yield ConfigResource(TOPIC, self._topics.name_at(index)), overrides

    def __iter__(self) -> Iterator[ConfigResource]:
        return (resource for resource, _ in self.items())

    def __len__(self) -> int:
        whole, rest = divmod(len(self._topics), 10)
        return whole * (10 - _PLAIN_OF_TEN) + max(rest - _PLAIN_OF_TEN, 0)

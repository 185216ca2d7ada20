"""A cluster of the largest size: 100,000 topics, 1,000,000 quota entities and 100,000 ACLs, which are computed when
they are needed, and 10,000 groups, which are stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from uuid import UUID

from console.embedded.context import Cluster
from console.embedded.group_coordinator import CONSUMERS, ensure_topic
from console.embedded.groups import Committed, Group
from console.embedded.large_tables import EACH, LargeAcls, LargeQuotas
from console.embedded.newer_groups import NEWER_FROM, NewerGroup, NewerMember
from console.embedded.partition_log import PartitionLog
from console.embedded.replicas import left_isr, new_partition, striped
from console.embedded.scenarios import seed as scenarios_seed
from console.embedded.state import ClusterState
from console.embedded.tables import Partition, Topic, unified
from console.model.codes import TOPIC
from console.model.config import CLUSTER_DEFAULT, ConfigResource

PARTITIONS = 3
_REPLICATION = 3
_TEAMS = (
    "checkout", "logistics", "identity", "platform", "search", "pricing", "billing", "catalog", "fraud", "ads",
    "mobile", "partners", "support", "warehouse", "mail", "media", "maps", "reports", "iot", "labs",
)  # fmt: skip
_KINDS = ("events", "commands", "changes", "audit", "retry", "dead-letter", "metrics", "snapshots")
_NAME = re.compile(r"\A[a-z]+\.[a-z-]+\.(\d{6})")
_TOPIC_IDS = 0x6B61632D6C617267_4000000000000000
"""The number of the first topic's id. The ids of further topics follow, so that a topic's number can be computed from
its id.
"""

_SETS: tuple[Mapping[str, str], ...] = (
    {"retention.ms": str(scenarios_seed.HOUR)},
    {"retention.ms": str(scenarios_seed.DAY)},
    {"retention.ms": str(30 * scenarios_seed.DAY), "min.insync.replicas": "2"},
    {"cleanup.policy": "compact", "min.insync.replicas": "2"},
    {
        "cleanup.policy": "compact,delete",
        "retention.ms": str(7 * scenarios_seed.DAY),
        "segment.ms": str(scenarios_seed.DAY),
    },
    {"compression.type": "zstd", "retention.bytes": str(2**33)},
    {"max.message.bytes": "10485760"},
    {"retention.ms": "-1", "retention.bytes": "-1", "compression.type": "lz4"},
    {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"},
    {
        "segment.bytes": "67108864",
        "retention.ms": str(6 * scenarios_seed.HOUR),
        "message.timestamp.type": "LogAppendTime",
    },
)
_PLAIN_OF_TEN = 6
"""Number of topics without overrides among ten."""


class LargeTopics:
    """A source of the topics. Their partitions depend on the live brokers."""

    def __init__(self, state: ClusterState, size: int) -> None:
        self._state = state
        self._size = size
        self._brokers = tuple(sorted(state.brokers))
        self._laid: tuple[tuple[int, ...], tuple[tuple[Partition, ...], ...]] | None = None

    def name_at(self, index: int) -> str:
        """Return the name of the topic with this number, from 0."""
        return f"{_TEAMS[index % len(_TEAMS)]}.{_KINDS[index // len(_TEAMS) % len(_KINDS)]}.{index:06}"

    def index_of(self, name: str) -> int | None:
        """Return the number, from 0, of the topic with this name; None if there is none."""
        match = _NAME.fullmatch(name)
        index = int(match[1]) if match else self._size
        return index if index < self._size and self.name_at(index) == name else None

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the name of the topic with this id; None if there is none."""
        index = topic_id.int - _TOPIC_IDS
        return self.name_at(index) if 0 <= index < self._size else None

    def name_like(self, name: str) -> str | None:
        """Return the name of the topic that differs from this name only in ``.`` and ``_``; None if there is none."""
        digits = name[-6:]
        if not (digits.isascii() and digits.isdigit()) or int(digits) >= self._size:
            return None
        found = self.name_at(int(digits))
        return found if unified(found) == unified(name) else None

    def find(self, key: str) -> Topic | None:
        """Return the topic with this name; None if there is none."""
        index = self.index_of(key)
        return None if index is None else self._made(index, key, self._places())

    def _made(self, index: int, name: str, places: tuple[tuple[Partition, ...], ...]) -> Topic:
        return Topic(name, UUID(int=_TOPIC_IDS + index), places[index % len(places)])

    def items(self) -> Iterator[tuple[str, Topic]]:
        """Yield name -> topic for all topics, sorted by name."""
        places = self._places()
        for index in range(self._size):
            name = self.name_at(index)
            yield name, self._made(index, name, places)

    def __iter__(self) -> Iterator[str]:
        return map(self.name_at, range(self._size))

    def __len__(self) -> int:
        return self._size

    def _places(self) -> tuple[tuple[Partition, ...], ...]:
        """Return the partitions that a topic may have, by the topic's number modulo the number of brokers. Equal
        partitions share one object.
        """
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
                partitions = [left_isr(partition, broker, frozenset(alive)) for partition in partitions]
        return tuple(partitions)


class LargeConfigs:
    """A source of the topics' overrides: a few combinations, each of which is one shared object."""

    def __init__(self, topics: LargeTopics) -> None:
        self._topics = topics

    def _of(self, index: int) -> Mapping[str, str] | None:
        return None if index % 10 < _PLAIN_OF_TEN else _SETS[index // 10 % len(_SETS)]

    def find(self, key: ConfigResource) -> Mapping[str, str] | None:
        """Return the overrides of a topic; None if it has no overrides."""
        index = self._topics.index_of(key.name) if key.type == TOPIC else None
        return None if index is None else self._of(index)

    def items(self) -> Iterator[tuple[ConfigResource, Mapping[str, str]]]:
        """Yield the topics with overrides, and their overrides."""
        for index in range(len(self._topics)):
            overrides = self._of(index)
            if overrides is not None:
                yield ConfigResource(TOPIC, self._topics.name_at(index)), overrides

    def __iter__(self) -> Iterator[ConfigResource]:
        return (resource for resource, _ in self.items())

    def __len__(self) -> int:
        whole, rest = divmod(len(self._topics), 10)
        return whole * (10 - _PLAIN_OF_TEN) + max(rest - _PLAIN_OF_TEN, 0)


TOPICS = 100_000
QUOTA_ENTITIES = 1_000_000
ACLS = 100_000


GROUPS = 10_000
PARTITIONS_EACH = 4
"""Number of partitions that each group reads; all groups together read 40,000."""
_MEMBERS = 2
_LAGGING_EVERY = 20
"""One of this many groups has a lag; the others read topics without records."""


def add_groups(cluster: Cluster) -> None:
    """Add the groups: of the consumer protocol, or classic ones before 4.0. Equal values share one object."""
    state, now = cluster.state, cluster.clock.time()
    is_newer = cluster.release.number >= NEWER_FROM
    nothing = Committed(0, at=now)
    name_of = LargeTopics(state, TOPICS).name_at
    for number in range(GROUPS):
        first = number * PARTITIONS_EACH
        places = [(name_of(at // PARTITIONS), at % PARTITIONS) for at in range(first, first + PARTITIONS_EACH)]
        lags = number % _LAGGING_EVERY == 0
        group = Group(f"group-{number:06}", protocol_type=CONSUMERS, written=True)
        group.offsets = dict.fromkeys(places, Committed(number % 7_000, at=now) if lags else nothing)
        for place in places if lags else ():
            state.logs[place] = log = PartitionLog()
            log.end = 7_000
        if is_newer:
            group.newer = NewerGroup("consumer", "Stable", 2, 2, tuple(_members(group.id, places)), "uniform")
        state.groups[group.id] = group


def _members(group: str, places: list[tuple[str, int]]) -> Iterator[NewerMember]:
    for turn in range(_MEMBERS):
        share: dict[str, tuple[int, ...]] = {}
        for topic, partition in places[turn::_MEMBERS]:
            share[topic] = (*share.get(topic, ()), partition)
        client = f"{group}-{turn}"
        yield NewerMember(f"{client}-member", client, "/10.0.6.7", 2, tuple(share), share, share)


def sources(state: ClusterState) -> None:
    """Set the sources from which the tables of topics, configs, quotas and ACLs are computed."""
    tables = state.tables
    topics = LargeTopics(state, TOPICS)
    tables.topics.source = topics
    tables.configs.source = LargeConfigs(topics)
    tables.quotas.source = LargeQuotas(QUOTA_ENTITIES // EACH)
    tables.acls.source = LargeAcls(ACLS)


def seed(cluster: Cluster) -> None:
    """Store the topic of group offsets, the cluster's default configs, the default quotas and the groups."""
    state = cluster.state
    ensure_topic(state)
    state.alter_config(CLUSTER_DEFAULT, {"log.retention.ms": str(3 * scenarios_seed.DAY)})
    scenarios_seed.quota(
        state, {"user": None}, producer_byte_rate=10 * scenarios_seed.MIB, consumer_byte_rate=20 * scenarios_seed.MIB
    )
    scenarios_seed.quota(state, {"client-id": None}, request_percentage=100.0)
    add_groups(cluster)


SCENARIO = scenarios_seed.Scenario(seed, sources, scenarios_seed.change_as_others)

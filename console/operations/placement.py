"""Where replicas are and where they can be, for the planner, from a snapshot. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from console.model.cluster import Broker, LogDir, Partition, Reassignment, destination
from console.model.config import min_isr
from console.model.parts import Part
from console.model.snapshot import Snapshot, TopicPartition, held_sizes, replica_sizes
from console.plan.kinds.moves import moves_in

PARTS = frozenset({Part.CLUSTER, Part.TOPICS, Part.REASSIGNMENTS, Part.LOG_DIRS})
"""The parts of a snapshot that a placement needs. It also needs the configs of all topics, for min.insync.replicas."""


class Host(Struct, frozen=True):
    """A broker, in the role of a place for replicas."""

    id: int
    rack: str | None = None
    """The rack of the broker; None if it has none."""
    takes: bool = True
    """Whether the broker is alive and one of its log directories accepts new replicas."""
    free: int = -1
    """The usable bytes of the directories that accept new replicas, less the bytes that running moves still have to
    copy; -1 if unknown.
    """


class Placed(Struct, frozen=True):
    """A partition, its replicas in order, and their size."""

    topic: str
    number: int
    replicas: tuple[int, ...]
    """The brokers of the replicas in order; for a moving partition, those after the move."""
    size: int = 0
    """The bytes of the largest replica with a known size; 0 if no size is known."""
    leader: int = -1
    """The broker that leads the partition; -1 if it has no leader."""
    isr: tuple[int, ...] = ()
    min_isr: int = 1
    """The value of min.insync.replicas; 1 if unknown."""
    moving: bool = False
    """Whether a reassignment of the partition is running."""
    observers: tuple[int, ...] = ()
    """The replicas that are outside the ISR by design (observers)."""


class Placement(Struct, frozen=True):
    """All brokers, and all partitions with their replicas."""

    hosts: Mapping[int, Host]
    partitions: tuple[Placed, ...]
    log_dirs: Mapping[int, tuple[LogDir, ...]] = field(default_factory=dict)
    """Broker -> its log directories; brokers whose directories could not be read are missing."""

    def rack(self, broker: int) -> str:
        """Return the rack of a broker. For an unknown broker, or one without a rack, return a name that no other
        broker has.
        """
        host = self.hosts.get(broker)
        return f"rack {host.rack}" if host is not None and host.rack is not None else f"broker {broker}"

    def racks(self, replicas: Iterable[int]) -> int:
        """Return the number of different racks in which these brokers are."""
        return len({self.rack(each) for each in replicas})


def placement_of(snapshot: Snapshot) -> Placement:
    """Return the placement from a snapshot in which `PARTS` were read. A broker with unknown log directories counts as
    accepting new replicas, with unknown free bytes.
    """
    moves = moves_in(snapshot)
    sizes = replica_sizes(snapshot)
    owed = _owed(snapshot, moves, sizes)
    wanted = {name: min_isr(snapshot.configs, name) or 1 for name in snapshot.topics}
    return Placement(
        {
            broker.id: _host(broker, snapshot.log_dirs.get(broker.id, ()), owed[broker.id])
            for broker in snapshot.cluster.brokers
        },
        tuple(
            _placed(name, each, sizes.get((name, each.number), 0), wanted[name], moves.get((name, each.number)))
            for name, topic in snapshot.topics.items()
            for each in topic.partitions
        ),
        read_log_dirs(snapshot),
    )


def read_log_dirs(snapshot: Snapshot) -> Mapping[int, tuple[LogDir, ...]]:
    """Return broker -> its log directories, for the brokers that responded to the last request for them."""
    # A snapshot keeps the results of earlier reads, so the sizes of a broker that does not answer may be long out of
    # date.
    silent = {each.entity for each in snapshot.failures if each.part == Part.LOG_DIRS}
    return {broker: dirs for broker, dirs in snapshot.log_dirs.items() if f"broker {broker}" not in silent}


def _owed(
    snapshot: Snapshot, moves: Mapping[TopicPartition, Reassignment], sizes: Mapping[TopicPartition, int]
) -> Counter[int]:
    """Return broker -> the bytes that it still has to copy for running moves."""
    owed = Counter[int]()
    held = held_sizes(snapshot, moves.keys()) if moves else {}
    for place, move in moves.items():
        for broker in move.adding:
            owed[broker] += sizes.get(place, 0) - held.get(place, {}).get(broker, 0)
    return owed


def _host(broker: Broker, dirs: tuple[LogDir, ...], owed: int) -> Host:
    # A broker puts no new replica into an offline or cordoned directory, so do not count the free bytes there.
    usable = [each for each in dirs if each.failure is None and not each.cordoned]
    known = [each.usable_bytes for each in usable if each.usable_bytes >= 0]
    free = max(0, sum(known) - max(0, owed)) if known and len(known) == len(usable) else -1
    return Host(broker.id, broker.rack, not broker.fenced and bool(usable or not dirs), free)


def _placed(topic: str, partition: Partition, size: int, wanted: int, move: Reassignment | None) -> Placed:
    # Start from the destination of a running move, so that no move begins twice.
    replicas = partition.replicas if move is None else destination(move)
    moving = move is not None
    return Placed(
        topic, partition.number, replicas, size, partition.leader, partition.isr, wanted, moving, partition.observers
    )


def replica_counts(partitions: Iterable[Placed]) -> Counter[int]:
    """Return the number of replicas that each broker holds."""
    return Counter(replica for each in partitions for replica in each.replicas)

"""Elections of leaders, computed from the known state of a partition: the replica that would lead, and the number of
records that would be lost.

The rules are the controller's (PartitionChangeBuilder.electPreferredLeader, electAnyLeader; Kafka 3.9 to 4.3). Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from console.model.cluster import Partition, ReplicaLogs, Topic

NOBODY = -1
_UNKNOWN = ReplicaLogs()


def preferred(partition: Partition) -> int:
    """Return the id of the preferred leader, which is the first replica; -1 if there are no replicas."""
    return partition.replicas[0] if partition.replicas else NOBODY


def why_not_preferred(partition: Partition) -> str:
    """Return the reason why the preferred replica can't be elected now; ``""`` if it can be elected, or leads
    already.
    """
    first = preferred(partition)
    if first == NOBODY or first in partition.offline:
        return "is down"
    return "" if first in partition.isr else "is not in the ISR"


def needs_preferred(partition: Partition) -> bool:
    """Return whether the partition has a preferred replica that does not lead it."""
    return preferred(partition) not in (NOBODY, partition.leader)


def leaders_by_broker(topics: Iterable[Topic]) -> Counter[int]:
    """Return broker -> the number of partitions that it leads; partitions without a leader are not counted."""
    return Counter(each.leader for topic in topics for each in topic.partitions if each.leader >= 0)


def by_leader(topics: Mapping[str, Topic], places: Iterable[tuple[str, int]]) -> dict[int, list[tuple[str, int]]]:
    """Return broker -> the partitions among `places` that it leads; partitions without a leader are left out. topics:
    by name.
    """
    leaders: dict[int, list[tuple[str, int]]] = {}
    known: dict[str, dict[int, int]] = {}
    for name, number in places:
        # Index the partitions once for each topic: searching them for each place would be quadratic.
        if name not in known:
            topic = topics.get(name)
            known[name] = {} if topic is None else {each.number: each.leader for each in topic.partitions}
        if (leader := known[name].get(number, -1)) >= 0:
            leaders.setdefault(leader, []).append((name, number))
    return leaders


class UncleanElection(Struct, frozen=True):
    """The effect of an unclean election of a partition: the next leader, and the number of records that are lost."""

    leader: int
    """The present leader; -1 if there is none."""
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elected: int = NOBODY
    """The replica that becomes the leader; -1 if no replica is alive."""
    clean: bool = False
    """Whether the elected replica has all committed records."""
    first: int = -1
    """The log end offset of the elected replica: records from this offset on are lost. -1 if unknown."""
    least: int = 0
    """The minimum number of lost records: offsets from `first` on that are known to exist elsewhere; 0 if unknown."""
    most: int | None = None
    """The maximum number of lost records; None if unknown, because a replica that may have further records can't be
    described.
    """


def unclean_election(partition: Partition, logs: ReplicaLogs | None, seen_end: int = -1) -> UncleanElection:
    """Return the effect of an unclean election of a partition.

    Args:
        logs: the state of its replicas; None if it was not read.
        seen_end: the highest offset that is known from another source to have been in the log, such as the end that a
            leader reported or an offset that a group committed; -1 if there is none.
    """
    known = logs or _UNKNOWN
    elected, clean = _elected(partition, known)
    found = UncleanElection(partition.leader, partition.replicas, partition.isr, elected, clean)
    first = known.ends.get(elected, -1)
    if clean:
        return replace(found, first=first, least=0, most=0)
    if elected == NOBODY or first < 0:
        return found
    least = max(0, max((*known.ends.values(), seen_end)) - first)
    asked = all(replica in known.ends for replica in may_have_more(partition, known))
    return replace(found, first=first, least=least, most=least if asked else None)


def may_have_more(partition: Partition, logs: ReplicaLogs | None) -> tuple[int, ...]:
    """Return the replicas that may have records which other replicas lack: the ISR and the eligible leader replicas; if
    both are empty, the last known leaders; if these are unknown, all replicas.
    """
    known = logs or _UNKNOWN
    found = dict.fromkeys((*partition.isr, *(known.eligible or ())))
    return tuple(found or dict.fromkeys(known.last_known or ()) or partition.replicas)


def _elected(partition: Partition, logs: ReplicaLogs) -> tuple[int, bool]:
    """Return the replica that the controller elects, -1 if no replica is alive, and whether the election loses no
    records.
    """
    alive = [replica for replica in partition.replicas if replica not in partition.offline]
    # Without ELR, the ISR is never empty: its last member stays in it when the broker goes down
    # (ReplicationControlManager).
    valid = partition.isr or logs.eligible or ()
    for replica in alive:
        if replica in valid:
            return replica, True
    # Without ISR and ELR, the controller prefers a single last known leader to other live replicas (KIP-966).
    last = logs.last_known or ()
    if not valid and len(last) == 1 and last[0] in alive:
        return last[0], False
    return (alive[0] if alive else NOBODY), False

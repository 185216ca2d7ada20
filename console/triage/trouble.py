"""Finds the rows of the panes that show a problem, from the symptoms of one poll, so that panes agree with the verdict.
Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from console.model.codes import BROKER
from console.model.config import ConfigPlace, ConfigResource, topic_resource
from console.model.drift_rules import is_of_each_broker
from console.model.snapshot import Snapshot
from console.plan.stale_throttles import stale_throttles
from console.triage import symptoms

PartitionPlace = tuple[str, int]
FEWEST_PEERS = 3
"""Minimum number of brokers for one of them to be odd if it differs from all others: of two brokers, either may be."""


class Troubles(Struct, frozen=True):
    """The entities that have a symptom, by the kind of row in the panes. `whole_topics` are topics that themselves have
    one.
    """

    brokers: frozenset[int] = frozenset()
    topics: frozenset[str] = frozenset()
    partitions: frozenset[PartitionPlace] = frozenset()
    """The partitions that have a symptom. Those of `whole_topics` are not listed: see `has_partition`."""
    whole_topics: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    group_partitions: frozenset[tuple[str, str, int]] = frozenset()
    """(group, topic, partition number) for each partition on which a group has a symptom."""
    configs: Mapping[ConfigResource, frozenset[str]] = field(default_factory=dict)
    """Entity -> its odd config keys: those in which a broker differs from all others, leftover throttles, and
    min.insync.replicas above the replication factor.
    """

    def has_partition(self, topic: str, number: int) -> bool:
        """Return whether a partition has a symptom, or its topic as a whole has one."""
        return (topic, number) in self.partitions or topic in self.whole_topics


def troubles(poll: symptoms.Poll) -> Troubles:
    """Return the entities that have a symptom, by the kind of row in the panes. Moves, and groups that may commit
    later, don't count.
    """
    brokers: set[int] = set()
    topics: set[str] = set()
    partitions: set[PartitionPlace] = set()
    whole: set[str] = set()
    groups: set[str] = set()
    of_groups: set[tuple[str, str, int]] = set()
    for each in symptoms.symptoms(poll):
        subject = each.subject
        if each.name in (symptoms.MOVING, symptoms.COMMITS_LATER):
            continue  # these are normal work, not a problem
        # A lagging group marks no topic and no broker: the partition itself is well.
        if subject.group is not None:
            groups.add(subject.group)
            if subject.topic is not None and subject.partition is not None:
                of_groups.add((subject.group, subject.topic, subject.partition))
            continue
        if subject.broker is not None:
            brokers.add(subject.broker)
        elif each.name != symptoms.LEADERLESS:  # its brokers are all replicas
            brokers.update(each.brokers)
        if subject.topic is not None:
            topics.add(subject.topic)
            if subject.partition is not None:
                partitions.add((subject.topic, subject.partition))
            else:
                whole.add(subject.topic)
    return Troubles(
        frozenset(brokers),
        frozenset(topics),
        frozenset(partitions),
        frozenset(whole),
        frozenset(groups),
        frozenset(of_groups),
        _odd_configs(poll, whole),
    )


def _odd_configs(poll: symptoms.Poll, impossible: Iterable[str]) -> dict[ConfigResource, frozenset[str]]:
    """Return entity -> its odd config keys. Throttles that operations of this host set are left out.

    Args:
        impossible: the names of topics whose min.insync.replicas is above their replication factor.
    """
    places = {
        *((each.edit.target, each.edit.key) for each in stale_throttles(poll.snapshot)),
        *((topic_resource(topic), "min.insync.replicas") for topic in impossible),
        *_outliers(poll.snapshot),
    }
    odd: dict[ConfigResource, set[str]] = {}
    for resource, key in places - poll.own_throttles:
        odd.setdefault(resource, set()).add(key)
    return {resource: frozenset(keys) for resource, keys in odd.items()}


def _outliers(snapshot: Snapshot) -> Iterator[ConfigPlace]:
    """Yield the config keys in which one broker differs from all others, each with the broker's resource. At least 3
    brokers (`FEWEST_PEERS`) must have a value, and all others must have the same one. Keys that differ between
    brokers by their nature are left out.
    """
    brokers = {r: s for r, s in snapshot.configs.items() if r.type == BROKER and r.name}
    if len(brokers) < FEWEST_PEERS:
        return
    values: dict[str, dict[ConfigResource, str | None]] = {}
    for resource, entries in brokers.items():
        for entry in entries:
            if not entry.hidden:
                values.setdefault(entry.name, {})[resource] = entry.value
    for key, held in values.items():
        counts = Counter(held.values())
        # Skip keys such as broker.id and listeners, which differ by nature.
        if len(counts) != 2 or len(held) < FEWEST_PEERS or min(counts.values()) > 1 or is_of_each_broker(key):
            continue
        odd = min(counts, key=lambda value: counts[value])
        yield next(resource for resource, value in held.items() if value == odd), key

"""Rows of the topics table, and the partitions of one topic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from console.model.cluster import LogDir, Partition, Topic
from console.model.codes import TOPIC
from console.model.config import ConfigResource, topic_resource
from console.model.numbers import long_number
from console.model.snapshot import Snapshot
from console.plan.amounts import size
from console.plan.edits import CreateTopic, DeleteTopic, GrowTopic
from console.plan.plan import Plan
from console.present.names import NOTHING
from console.present.text import Cell, Line, clean


class TopicMarks(NamedTuple):
    """What the plan does to topics: names to be created, deleted, grown (to), and those with config edits."""

    created: Mapping[str, int]
    deleted: frozenset[str]
    grown: Mapping[str, int]
    edited: frozenset[str]


def topic_marks(plan: Plan) -> TopicMarks:
    """What a plan does to topics."""
    created: dict[str, int] = {}
    grown: dict[str, int] = {}
    deleted: set[str] = set()
    edited: set[str] = set()
    for staged in plan.staged:
        match staged.edit:
            case CreateTopic(topic=topic):
                created[topic.name] = len(topic.assignments) or topic.partitions
            case DeleteTopic(name=name):
                deleted.add(name)
            case GrowTopic(name=name, partitions=count):
                grown[name] = count
            case edit:
                target = edit.target
                if isinstance(target, ConfigResource) and target.type == TOPIC:
                    edited.add(target.name)
    return TopicMarks(created, frozenset(deleted), grown, frozenset(edited))


class TopicFacts(NamedTuple):
    """What stands beside a topic's own data in its row: overrides (None: not read), bytes on disk, last seen change."""

    overrides: int | None = None
    size: int = -1
    changed: datetime | None = None


def override_count(snapshot: Snapshot, name: str) -> int | None:
    """How many configs a topic sets itself; None where they have not been read."""
    # A plain tuple is equal to the resource, and made in half the time: sorting asks for 100,000.
    entries = snapshot.configs.get((TOPIC, name))  # type: ignore[call-overload]
    return None if entries is None else entries.count_overrides(_ANY_TOPIC)


_ANY_TOPIC = topic_resource("")


def unread_count(snapshot: Snapshot) -> int:
    """How many topics there are whose configs have not been read: those of topics that are gone are not kept."""
    return max(0, len(snapshot.topics) - sum(resource.type == TOPIC for resource in snapshot.configs))


def topic_sizes(log_dirs: Mapping[int, tuple[LogDir, ...]]) -> dict[str, int]:
    """Bytes on disk of each topic, all its replicas together."""
    sizes: dict[str, int] = {}
    for dirs in log_dirs.values():
        for log_dir in dirs:
            for name, held in log_dir.sizes.items():
                sizes[name] = sizes.get(name, 0) + held
    return sizes


def clock(at: datetime | None) -> str:
    """The local time of day, absolute: it never needs to be drawn again."""
    return "" if at is None else at.astimezone().strftime("%H:%M:%S")


def state_letter(topic: Topic) -> Cell:
    """``!`` for a topic with partitions that are offline or under-replicated."""
    return ("!", "failed") if topic.offline or topic.under_replicated else ""


def plan_letter(name: str, marks: TopicMarks) -> Cell:
    """``+`` to be created, ``-`` to be deleted, ``*`` with other staged edits."""
    if name in marks.deleted:
        return ("-", "danger")
    if name in marks.created:
        return ("+", "pending")
    return ("*", "pending") if name in marks.edited or name in marks.grown else ""


def topic_cells(topic: Topic, facts: TopicFacts, marks: TopicMarks) -> list[Cell]:
    """Letters, name, partitions, replication, under-replicated, offline, overrides, size, changed; zeros left blank."""
    grown = marks.grown.get(topic.name)
    parts = str(len(topic.partitions))
    urp, off = topic.under_replicated, topic.offline
    return [
        state_letter(topic),
        plan_letter(topic.name, marks),
        (clean(topic.name), "danger" if topic.name in marks.deleted else ""),
        (f"{parts}→{grown}", "pending") if grown else parts,
        str(topic.replication),
        (str(urp), "failed") if urp else "",
        (str(off), "failed") if off else "",
        "·" if facts.overrides is None else (str(facts.overrides), "override") if facts.overrides else "",
        size(facts.size) if facts.size >= 0 else "",
        (clock(facts.changed), "changed") if facts.changed else "",
    ]


def created_topic(name: str, partitions: int) -> Topic:
    """A row's worth of a topic that is staged to be created."""
    return Topic(name, tuple(Partition(number, -1, (), ()) for number in range(max(partitions, 0))))


SORTS: Mapping[str, Callable[[Topic], Any]] = {
    "name": attrgetter("name"),
    "parts": lambda topic: (-len(topic.partitions), topic.name),
    "rf": lambda topic: (-topic.replication, topic.name),
    "urp": lambda topic: (-topic.under_replicated, topic.name),
    "off": lambda topic: (-topic.offline, topic.name),
}


def min_isr(snapshot: Snapshot, name: str) -> int | None:
    """A topic's min.insync.replicas, None where its configs were not read."""
    entries = snapshot.configs.get(topic_resource(name))
    entry = entries.get("min.insync.replicas") if entries else None
    return long_number(entry.value) if entry is not None else None


def trouble(topic: Topic, min_isr: int | None) -> Line:
    """A line on what is wrong with a topic, empty where nothing is."""
    if topic.offline:
        return [
            (f"{clean(topic.name)}: {topic.offline} of {len(topic.partitions)} partitions have no leader", "failed")
        ]
    below = [p for p in topic.partitions if min_isr is not None and len(p.isr) < min_isr]
    if below:
        leaders = sorted({p.leader for p in below})
        return [
            (f"{clean(topic.name)}: ISR below min.insync.replicas ({min_isr}) on {_partitions(len(below))}", "failed"),
            (f"; leaders on {_ids(leaders)}", ""),
        ]
    if topic.under_replicated:
        missing = sorted({r for p in topic.partitions for r in p.replicas if r not in p.isr})
        return [
            (f"{clean(topic.name)}: {_partitions(topic.under_replicated)} under-replicated", "failed"),
            (f"; missing from the ISR: {_ids(missing)}", ""),
        ]
    return []


def _partitions(count: int) -> str:
    return f"{count} partition" + ("" if count == 1 else "s")


def _ids(ids: Collection[int]) -> str:
    return ", ".join(str(i) for i in ids) or NOTHING


def partition_cells(partition: Partition) -> list[Cell]:
    """Letter, number, leader, replicas, ISR, offline replicas, what is wrong."""
    isr = (",".join(map(str, partition.isr)), "failed" if partition.under_replicated else "")
    preferred = bool(partition.replicas) and partition.leader == partition.replicas[0]
    wrong: Cell = ""
    if partition.leader < 0:
        wrong = ("no leader", "failed")
    elif partition.under_replicated:
        missing = [r for r in partition.replicas if r not in partition.isr]
        wrong = (f"missing {_ids(missing)}", "failed")
    elif not preferred:
        wrong = (f"preferred {partition.replicas[0]}", "muted")
    return [
        ("!", "failed") if partition.leader < 0 or partition.under_replicated else "",
        str(partition.number),
        (NOTHING, "failed") if partition.leader < 0 else str(partition.leader),
        ",".join(map(str, partition.replicas)),
        isr,
        ",".join(map(str, partition.offline)),
        (clean(partition.error), "failed") if partition.error else wrong,
    ]

"""Goals for the placement of replicas. A goal lists no replicas: each step is planned from a new snapshot. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from console.model.dead_letters import Redrive
from console.model.numbers import commas, natural_number, plural


class Drain(Struct, frozen=True, tag="drain"):
    """The goal that no replica is on these brokers."""

    brokers: tuple[int, ...]

    def __str__(self) -> str:
        return f"drain {commas(self.brokers)}"


class Replace(Struct, frozen=True, tag="replace"):
    """The goal that another broker has each replica of a broker, at the same position in the replica list."""

    broker: int
    by: int

    def __str__(self) -> str:
        return f"replace {self.broker} by {self.by}"


class Balance(Struct, frozen=True, tag="balance"):
    """The goal that any two brokers that take replicas have equal numbers, or differ by one, as far as racks allow."""

    def __str__(self) -> str:
        return "balance"


class MoveTopic(Struct, frozen=True, tag="topic"):
    """The goal that all replicas of a topic are on these brokers."""

    topic: str
    brokers: tuple[int, ...]

    def __str__(self) -> str:
        return f"topic {self.topic} to {commas(self.brokers)}"


class Replicate(Struct, frozen=True, tag="replication"):
    """The goal that each partition of a topic has this many replicas."""

    topic: str
    replicas: int

    def __str__(self) -> str:
        return f"replication {self.topic} {self.replicas}"


class DrainDir(Struct, frozen=True, tag="drain-dir"):
    """The goal that no replica is in a log directory of a broker, but in its other directories."""

    broker: int
    path: str

    def __str__(self) -> str:
        return f"drain {self.broker} dir {self.path}"


class MoveIntoDir(Struct, frozen=True, tag="dir"):
    """The goal that a broker's replicas of a topic are in one of its log directories."""

    topic: str
    broker: int
    path: str
    partition: int | None = None
    """The number of the only partition to move; None for all partitions of the topic."""

    def __str__(self) -> str:
        one = f" partition {self.partition}" if self.partition is not None else ""
        return f"topic {self.topic}{one} broker {self.broker} to dir {self.path}"


class Restore(Struct, frozen=True, tag="back"):
    """The goal that the partitions that an operation moved have their former replicas again, in their order, or that
    the replicas it moved are in their former directories.
    """

    operation: int
    replicas: tuple[tuple[str, int, tuple[int, ...]], ...] = ()
    """Topic, partition and replicas of each partition."""
    dirs: tuple[tuple[str, int, int, str], ...] = ()
    """Topic, partition, broker and directory of each replica."""

    def __str__(self) -> str:
        return f"back {self.operation}"


class Reassign(Struct, frozen=True, tag="reassign"):
    """The goal that each partition of a list has these replicas, in their order, and that each replica of another list
    is in its directory: the form of a file for kafka-reassign-partitions.
    """

    replicas: tuple[tuple[str, int, tuple[int, ...]], ...]
    """Topic, partition and replicas of each partition."""
    dirs: tuple[tuple[str, int, int, str], ...] = ()
    """Topic, partition, broker and directory of each replica."""

    def __str__(self) -> str:
        topics = sorted({topic for topic, _, _ in self.replicas})
        more = f" and {plural(len(topics) - 1, 'other topic')}" if len(topics) > 1 else ""
        return f"reassign {plural(len(self.replicas), 'partition')} of {topics[0] if topics else 'no topic'}{more}"


Worded = Drain | Replace | Balance | MoveTopic | Replicate | DrainDir | MoveIntoDir | Restore
"""Goals with a form in the language; a `Reassign` comes from a file instead."""
Goal = Worded | Reassign | Redrive


def brokers_of(goal: Goal) -> frozenset[int]:
    """Return the ids of the brokers that a goal names; none for `Restore`, and for goals that name no brokers."""
    match goal:
        case Drain(brokers=brokers) | MoveTopic(brokers=brokers):
            return frozenset(brokers)
        case Replace(broker=broker, by=by):
            return frozenset({broker, by})
        case DrainDir(broker=broker) | MoveIntoDir(broker=broker):
            return frozenset({broker})
        case Reassign(replicas=wanted, dirs=dirs):
            listed = {broker for _, _, brokers in wanted for broker in brokers}
            return frozenset(listed | {broker for _, _, broker, _ in dirs})
        case _:
            return frozenset()


def within_a_broker(goal: Goal) -> bool:
    """Return whether the goal only concerns directories of brokers: no replica leaves its broker."""
    return isinstance(goal, DrainDir | MoveIntoDir) or (isinstance(goal, Restore) and bool(goal.dirs))


FORMS = (
    "drain ID[,ID…]",
    "replace ID by ID",
    "balance",
    "topic NAME to ID[,ID…]",
    "replication NAME N",
    "drain ID dir PATH",
    "topic NAME [partition N] broker ID to dir PATH",
    "back OPERATION",
)
"""The forms in which an operator can write goals."""


def goal_of(words: Sequence[str]) -> Worded:
    """Parse the words of a goal, in one of `FORMS`. A `Restore` has no replicas yet: the journal has them.

    Raises:
        ValueError: they match no form. The message is for the operator.
    """
    match words:
        case ["drain", brokers]:
            return Drain(_brokers(brokers))
        case ["replace", broker, "by", other]:
            return Replace(_broker(broker), _broker(other))
        case ["balance"]:
            return Balance()
        case ["topic", name, "to", brokers] if name:
            return MoveTopic(name, _brokers(brokers))
        case ["replication", name, number] if name:
            return Replicate(name, _broker(number))
        case ["drain", broker, "dir", path] if path:
            return DrainDir(_broker(broker), path)
        case ["topic", name, "broker", broker, "to", "dir", path] if name and path:
            return MoveIntoDir(name, _broker(broker), path)
        case ["topic", name, "partition", number, "broker", broker, "to", "dir", path] if name and path:
            return MoveIntoDir(name, _broker(broker), path, _broker(number))
        case ["back", number]:
            return Restore(natural_number(number))
        case _:
            raise ValueError(f"expected {', '.join(FORMS[:-1])} or {FORMS[-1]}")


def _broker(text: str) -> int:
    number = natural_number(text)
    # Refuse larger numbers, which exceed Kafka's INT32: otherwise the encoder of the request would fail later.
    if number >= 2**31:
        raise ValueError("broker ids, partitions and numbers of replicas are below 2147483648")
    return number


def _brokers(text: str) -> tuple[int, ...]:
    found = tuple(map(_broker, text.split(",")))
    # A repeated broker is probably a mistake, and would leave one broker fewer than intended.
    if len(set(found)) < len(found):
        raise ValueError("a broker is named twice")
    return found

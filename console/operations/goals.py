"""Goals of operations on the placement of replicas. Most goals list no replicas: each step is planned from a new
snapshot. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from console.model.dead_letters import Redrive
from console.model.numbers import commas, natural_number, plural


class Drain(Struct, frozen=True, tag="drain"):
    """The goal that these brokers have no replicas."""

    brokers: tuple[int, ...]

    def __str__(self) -> str:
        return f"drain {commas(self.brokers)}"


class Replace(Struct, frozen=True, tag="replace"):
    """The goal that the broker `by` has every replica that `broker` has now, each at the same position in its
    partition's list of replicas.
    """

    broker: int
    by: int

    def __str__(self) -> str:
        return f"replace {self.broker} by {self.by}"


class Balance(Struct, frozen=True, tag="balance"):
    """The goal that all brokers that take new replicas have almost the same number of replicas: the numbers differ
    by at most one, as far as racks allow it.
    """

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
    """The goal that a log directory of a broker has no replicas; they move to the broker's other directories."""

    broker: int
    path: str

    def __str__(self) -> str:
        return f"drain {self.broker} dir {self.path}"


class MoveIntoDir(Struct, frozen=True, tag="dir"):
    """The goal that a broker has its replicas of a topic in one of its log directories."""

    topic: str
    broker: int
    path: str
    partition: int | None = None
    """The number of the only partition to move; None for all partitions of the topic."""

    def __str__(self) -> str:
        one = f" partition {self.partition}" if self.partition is not None else ""
        return f"topic {self.topic}{one} broker {self.broker} to dir {self.path}"


class Restore(Struct, frozen=True, tag="back"):
    """The goal that undoes an operation: partitions that it moved have their former replicas again, in the former
    order, and replicas that it moved between directories are in their former directories.
    """

    operation: int
    replicas: tuple[tuple[str, int, tuple[int, ...]], ...] = ()
    """(topic, partition number, former replicas)."""
    dirs: tuple[tuple[str, int, int, str], ...] = ()
    """(topic, partition number, broker, former directory) of replicas."""

    def __str__(self) -> str:
        return f"back {self.operation}"


class Reassign(Struct, frozen=True, tag="reassign"):
    """The goal that partitions have the listed replicas, in this order, and that replicas are in the listed
    directories; it comes from a file for kafka-reassign-partitions.
    """

    replicas: tuple[tuple[str, int, tuple[int, ...]], ...]
    """(topic, partition number, replicas)."""
    dirs: tuple[tuple[str, int, int, str], ...] = ()
    """(topic, partition number, broker, directory) of replicas."""

    def __str__(self) -> str:
        topics = sorted({topic for topic, _, _ in self.replicas})
        more = f" and {plural(len(topics) - 1, 'other topic')}" if len(topics) > 1 else ""
        return f"reassign {plural(len(self.replicas), 'partition')} of {topics[0] if topics else 'no topic'}{more}"


Worded = Drain | Replace | Balance | MoveTopic | Replicate | DrainDir | MoveIntoDir | Restore
"""The goals that a statement of kac's language can express; a `Reassign` comes from a file."""
Goal = Worded | Reassign | Redrive


def brokers_of(goal: Goal) -> frozenset[int]:
    """Return the ids of the brokers that a goal names; empty for `Restore`, and for goals that name no brokers."""
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
    """Return whether a goal is only about directories, so that every replica stays on its broker."""
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
"""The forms in which operators write goals."""


def goal_of(words: Sequence[str]) -> Worded:
    """Parse the words of a goal in one of `FORMS`. A parsed `Restore` has no replicas yet; they come from the journal.

    Raises:
        ValueError: the words match no form. The message is for the operator.
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

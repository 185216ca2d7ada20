"""What an operator wants of the placement of replicas. A goal has no lists of replicas: each step is planned from a new
snapshot. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from console.model.numbers import commas, natural_number, plural


class Drain(Struct, frozen=True, tag="drain"):
    """No replica is left on these brokers."""

    brokers: tuple[int, ...]

    def __str__(self) -> str:
        return f"drain {commas(self.brokers)}"


class Replace(Struct, frozen=True, tag="replace"):
    """Another broker has each replica of a broker, at the same position in the partition's replica list."""

    broker: int
    by: int

    def __str__(self) -> str:
        return f"replace {self.broker} by {self.by}"


class Balance(Struct, frozen=True, tag="balance"):
    """Any two brokers that take replicas hold as many, or one more or less, as far as racks allow."""

    def __str__(self) -> str:
        return "balance"


class MoveTopic(Struct, frozen=True, tag="topic"):
    """All replicas of a topic are on these brokers."""

    topic: str
    brokers: tuple[int, ...]

    def __str__(self) -> str:
        return f"topic {self.topic} to {commas(self.brokers)}"


class Replicate(Struct, frozen=True, tag="replication"):
    """Each partition of a topic has this many replicas."""

    topic: str
    replicas: int

    def __str__(self) -> str:
        return f"replication {self.topic} {self.replicas}"


class DrainDir(Struct, frozen=True, tag="drain-dir"):
    """No replica is left in a log directory of a broker: its other directories have them."""

    broker: int
    path: str

    def __str__(self) -> str:
        return f"drain {self.broker} dir {self.path}"


class MoveIntoDir(Struct, frozen=True, tag="dir"):
    """A broker's replicas of a topic are in one of its log directories. partition: of this one alone; None for all."""

    topic: str
    broker: int
    path: str
    partition: int | None = None

    def __str__(self) -> str:
        one = f" partition {self.partition}" if self.partition is not None else ""
        return f"topic {self.topic}{one} broker {self.broker} to dir {self.path}"


class Restore(Struct, frozen=True, tag="back"):
    """Each partition that an operation moved has the replicas that it had before, in their order, or each replica is
    in its former directory. replicas: (topic, partition, replicas). dirs: (topic, partition, broker, directory)."""

    operation: int
    replicas: tuple[tuple[str, int, tuple[int, ...]], ...] = ()
    dirs: tuple[tuple[str, int, int, str], ...] = ()

    def __str__(self) -> str:
        return f"back {self.operation}"


class Reassign(Struct, frozen=True, tag="reassign"):
    """Each partition of a list has these replicas, in their order, and each replica of another list is in its
    directory: what a file of kafka-reassign-partitions says. replicas, dirs: as of `Restore`.
    """

    replicas: tuple[tuple[str, int, tuple[int, ...]], ...]
    dirs: tuple[tuple[str, int, int, str], ...] = ()

    def __str__(self) -> str:
        topics = sorted({topic for topic, _, _ in self.replicas})
        more = f" and {plural(len(topics) - 1, 'other topic')}" if len(topics) > 1 else ""
        return f"reassign {plural(len(self.replicas), 'partition')} of {topics[0] if topics else 'no topic'}{more}"


Worded = Drain | Replace | Balance | MoveTopic | Replicate | DrainDir | MoveIntoDir | Restore
"""Goals that have words in the language; a list of replicas comes from a file."""
Goal = Worded | Reassign


def brokers_of(goal: Goal) -> frozenset[int]:
    """Return the ids of brokers that a goal names."""
    match goal:
        case Drain(brokers=brokers) | MoveTopic(brokers=brokers):
            return frozenset(brokers)
        case Replace(broker=broker, by=by):
            return frozenset({broker, by})
        case DrainDir(broker=broker) | MoveIntoDir(broker=broker):
            return frozenset({broker})
        case Reassign(replicas=wanted):
            return frozenset(broker for _, _, brokers in wanted for broker in brokers)
        case _:
            return frozenset()


def within_a_broker(goal: Goal) -> bool:
    """Return whether the goal concerns directories of brokers alone: no replica leaves its broker."""
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
"""The written forms of goals."""


def goal_of(words: Sequence[str]) -> Worded:
    """Parse the words of a goal, in one of `FORMS`. The way back comes without its replicas, which the journal has.

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
    # Beyond INT32 no request can carry it: better refused here than by an encoder.
    if number >= 2**31:
        raise ValueError("broker ids, partitions and numbers of replicas are below 2147483648")
    return number


def _brokers(text: str) -> tuple[int, ...]:
    found = tuple(map(_broker, text.split(",")))
    # A slip of the pen would otherwise leave one broker fewer than was meant.
    if len(set(found)) < len(found):
        raise ValueError("a broker is named twice")
    return found

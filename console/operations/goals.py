"""What an operator wants of the placement of replicas. A goal is kept, and planned again from each look. Pure."""

from __future__ import annotations

from msgspec import Struct


class Drain(Struct, frozen=True, tag="drain"):
    """No replica is left on these brokers."""

    brokers: tuple[int, ...]

    def __str__(self) -> str:
        return f"drain {_commas(self.brokers)}"


class Replace(Struct, frozen=True, tag="replace"):
    """Another broker has each replica of a broker, in the same place of the order."""

    broker: int
    by: int

    def __str__(self) -> str:
        return f"replace {self.broker} by {self.by}"


class Balance(Struct, frozen=True, tag="balance"):
    """The numbers of replicas of any two brokers that take some differ by one at most, as far as racks allow."""

    def __str__(self) -> str:
        return "balance"


class MoveTopic(Struct, frozen=True, tag="topic"):
    """All replicas of a topic are on these brokers."""

    topic: str
    brokers: tuple[int, ...]

    def __str__(self) -> str:
        return f"topic {self.topic} to {_commas(self.brokers)}"


class Replicate(Struct, frozen=True, tag="replication"):
    """Each partition of a topic has so many replicas."""

    topic: str
    replicas: int

    def __str__(self) -> str:
        return f"replication {self.topic} {self.replicas}"


Goal = Drain | Replace | Balance | MoveTopic | Replicate


def _commas(brokers: tuple[int, ...]) -> str:
    return ",".join(map(str, brokers))

"""A proposal of the planner for a goal: moves of replicas, and the partitions that can't move now. Pure values."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct


class Relocation(NamedTuple):
    """The move of a partition to other brokers: its replicas before and after."""

    topic: str
    number: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    size: int = 0
    """The bytes that each new replica has to copy; 0 if unknown."""

    @property
    def added(self) -> tuple[int, ...]:
        """The brokers that get a new replica."""
        return tuple(each for each in self.after if each not in self.before)

    @property
    def bytes(self) -> int:
        """The bytes that all new replicas together have to copy."""
        return self.size * len(self.added)


class DirMove(NamedTuple):
    """A move of a broker's replica from one of its log directories to another."""

    topic: str
    number: int
    broker: int
    before: str
    after: str
    size: int = 0
    """The bytes to copy; 0 if unknown."""
    replicas: tuple[int, ...] = ()
    """The brokers of all replicas of the partition."""

    @property
    def place(self) -> tuple[str, int, int]:
        """(topic, partition number, broker) of the replica."""
        return self.topic, self.number, self.broker


class Held(NamedTuple):
    """A partition that contradicts the goal and can't be moved now."""

    topic: str
    number: int
    why: str
    """The condition that must be met before the partition can be moved, as text."""


class Proposal(Struct, frozen=True):
    """The moves that are needed for a goal at present, between brokers and between directories. The goal is reached if
    all fields are empty.
    """

    moves: tuple[Relocation, ...] = ()
    held: tuple[Held, ...] = ()
    """The partitions that can't be moved now."""
    dirs: tuple[DirMove, ...] = ()
    waits: tuple[str, ...] = ()
    """The reasons why further moves can't be planned yet, one line each."""

    @property
    def reached(self) -> bool:
        """Whether the goal is reached."""
        return not self.moves and not self.dirs and not self.held and not self.waits

    @property
    def bytes(self) -> int:
        """The bytes that all moves copy."""
        return sum(each.bytes for each in self.moves) + sum(each.size for each in self.dirs)


class UnknownPlace(ValueError):
    """Raised if a goal names a broker, log directory or topic that the cluster does not have; the text names it."""

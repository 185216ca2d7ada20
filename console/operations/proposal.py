"""A planner's proposal for a goal: the moves of replicas, and the partitions that have to wait. Pure values."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct


class Relocation(NamedTuple):
    """A partition's replicas before and after."""

    topic: str
    number: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    size: int = 0
    """The bytes that each new replica copies."""

    @property
    def added(self) -> tuple[int, ...]:
        """The brokers that get a replica."""
        return tuple(each for each in self.after if each not in self.before)

    @property
    def bytes(self) -> int:
        """Bytes to copy."""
        return self.size * len(self.added)


class DirMove(NamedTuple):
    """A move of a broker's replica from one of its log directories to another."""

    topic: str
    number: int
    broker: int
    before: str
    after: str
    size: int = 0
    """The number of bytes to copy."""
    replicas: tuple[int, ...] = ()
    """All replicas of the partition."""

    @property
    def place(self) -> tuple[str, int, int]:
        """Topic, partition, broker."""
        return self.topic, self.number, self.broker


class Held(NamedTuple):
    """A partition of the goal that can't be moved now."""

    topic: str
    number: int
    why: str
    """The condition that has to be met before the partition can be moved."""


class Proposal(Struct, frozen=True):
    """The present moves for a goal, between brokers and between directories of a broker. The goal is reached when all
    fields are empty.
    """

    moves: tuple[Relocation, ...] = ()
    held: tuple[Held, ...] = ()
    """The partitions that have to wait."""
    dirs: tuple[DirMove, ...] = ()
    waits: tuple[str, ...] = ()
    """The reasons why no more moves can be planned yet, a line each."""

    @property
    def reached(self) -> bool:
        """Whether the goal is reached."""
        return not self.moves and not self.dirs and not self.held and not self.waits

    @property
    def bytes(self) -> int:
        """Bytes to copy."""
        return sum(each.bytes for each in self.moves) + sum(each.size for each in self.dirs)


class UnknownPlace(ValueError):
    """Raised if a goal names a broker, log directory or topic that the cluster does not have; the text names it."""

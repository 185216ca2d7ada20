"""What a planner proposes for a goal: which replicas move where, and what has to wait. Pure values."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct


class Relocation(NamedTuple):
    """A partition's replicas before and after. size: bytes that each new replica copies."""

    topic: str
    number: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    size: int = 0

    @property
    def added(self) -> tuple[int, ...]:
        """The brokers that get a replica."""
        return tuple(each for each in self.after if each not in self.before)

    @property
    def bytes(self) -> int:
        """Bytes to copy."""
        return self.size * len(self.added)


class DirMove(NamedTuple):
    """A broker's replica in one of its log directories before, and in another after. size: bytes that it copies.
    replicas: of the partition."""

    topic: str
    number: int
    broker: int
    before: str
    after: str
    size: int = 0
    replicas: tuple[int, ...] = ()

    @property
    def place(self) -> tuple[str, int, int]:
        """Topic, partition, broker."""
        return self.topic, self.number, self.broker


class Held(NamedTuple):
    """A partition that the goal concerns and that can't be moved now. why: what has to happen first."""

    topic: str
    number: int
    why: str


class Proposal(Struct, frozen=True):
    """The moves for a goal as things are now, between brokers and between directories of a broker. held: partitions
    that have to wait. waits: why more can't be planned yet, a line each. The goal is reached when all are empty.
    """

    moves: tuple[Relocation, ...] = ()
    held: tuple[Held, ...] = ()
    dirs: tuple[DirMove, ...] = ()
    waits: tuple[str, ...] = ()

    @property
    def reached(self) -> bool:
        """Whether nothing is left to do."""
        return not self.moves and not self.dirs and not self.held and not self.waits

    @property
    def bytes(self) -> int:
        """Bytes to copy."""
        return sum(each.bytes for each in self.moves) + sum(each.size for each in self.dirs)


class UnknownPlace(ValueError):
    """A goal names a broker, a log directory or a topic that the cluster does not have; the text says which."""

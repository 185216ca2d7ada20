"""What a fault does to a request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.embedded.state.cluster_state import ClusterState


@dataclass(frozen=True, slots=True)
class Fail:
    """Answer with an error, for everything in the request, and do nothing of it. code: any number."""

    code: int
    message: str | None = None


@dataclass(frozen=True, slots=True)
class FailSome:
    """Fail some items of a batch, and do the others. every: each item whose number, from 1 on, it divides. names: those
    with one of these names instead."""

    code: int
    message: str | None = None
    every: int = 2
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Delay:
    """Wait before anything is done."""

    seconds: float


class Moment(Enum):
    """When a connection is cut: before the request took effect or after."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Cut:
    """End the connection in place of an answer."""

    moment: Moment


@dataclass(frozen=True, slots=True)
class HalfFrame:
    """Do it, send the first half of the answer, and end the connection."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """Do it, and answer with bytes that mean nothing: in the place of the body, or of the whole frame, its length
    included."""

    whole_frame: bool = False


@dataclass(frozen=True, slots=True)
class Throttle:
    """Do it, tell of a throttle time in the answer where its version can, and take no more requests of this connection
    until it is over (KIP-219)."""

    seconds: float


@dataclass(frozen=True, slots=True)
class MoveController:
    """Make another broker the controller first: this one, or the next that is alive."""

    to: int | None = None


@dataclass(frozen=True, slots=True)
class BrokerDown:
    """Take a broker down first, and bring it back after a while; None is the one that was asked."""

    broker: int | None = None
    seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """Somebody else changes the cluster first."""

    change: Callable[[ClusterState], object]


Effect = Fail | FailSome | Delay | Cut | HalfFrame | Garbage | Throttle | MoveController | BrokerDown | Meanwhile

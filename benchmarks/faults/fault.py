"""What a fault is: a record that says how it is made and undone, and which causes it is. Written from what the fault
is, never from what triage says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from benchmarks.faults.laboratory import Laboratory

Begin = Callable[[], Awaitable[None]]
"""Makes the fault, in a cluster that is prepared for it."""


class Name(Struct, frozen=True):
    """A cause with its subject, as in the JSON of `kac triage`.

    A subject fits where it has these fields with these values; ``dir`` is ``spare`` for the spare log directory.
    """

    cause: str
    subject: Mapping[str, Any] = field(default_factory=dict)

    def fits(self, cause: str, subject: Mapping[str, Any]) -> bool:
        """Whether a cause that was named is this one."""
        return cause == self.cause and all(subject.get(key) == value for key, value in self.subject.items())

    def __str__(self) -> str:
        return " ".join([self.cause, *(f"{key} {value}" for key, value in self.subject.items())])


class Beside(Struct, frozen=True):
    """A cause that may be named beside, and why it is true. Others are false alarms."""

    name: Name
    why: str


class Fault(Struct, frozen=True, kw_only=True):
    """A fault.

    make: prepares the cluster and gives what begins the fault; leaving it undoes the fault. named: the causes that have
    to be named. within: seconds from its beginning. takes: what it needs for itself: two faults that take the same
    can't be made at once. stands: it is made before the console is opened, as what is left over is. alone: no other
    fault can be made with it. user: as whom the console looks, ``""`` for a super user. request_logs: whether it reads
    the brokers' request logs too.
    """

    name: str
    how: str
    make: Callable[[Laboratory], AbstractAsyncContextManager[Begin]]
    named: tuple[Name, ...]
    beside: tuple[Beside, ...] = ()
    within: float = 45.0
    takes: frozenset[str] = frozenset()
    stands: bool = False
    alone: bool = False
    user: str = ""
    request_logs: bool = False


def cause(name: str, **subject: Any) -> Name:
    """A name in short."""
    return Name(name, subject)


def beside(why: str, name: str, **subject: Any) -> Beside:
    """A cause that may be named beside."""
    return Beside(Name(name, subject), why)

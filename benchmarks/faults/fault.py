"""Defines a fault: how it is made and undone, and the causes that triage has to name. The causes follow from the nature
of the fault, never from triage's answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from benchmarks.faults.laboratory import Laboratory

Begin = Callable[[], Awaitable[None]]
"""Makes the fault in the cluster that `Fault.make` has prepared for it."""


class Name(Struct, frozen=True):
    """A cause with its subject, as in the JSON of `kac triage`.

    A subject matches if it has these fields with these values; ``dir`` is ``spare`` for the spare log directory.
    """

    cause: str
    subject: Mapping[str, Any] = field(default_factory=dict)

    def fits(self, cause: str, subject: Mapping[str, Any]) -> bool:
        """Return whether a cause and subject that triage named match this one."""
        return cause == self.cause and all(subject.get(key) == value for key, value in self.subject.items())

    def __str__(self) -> str:
        return " ".join([self.cause, *(f"{key} {value}" for key, value in self.subject.items())])


class Beside(Struct, frozen=True):
    """A further cause that triage may name for a fault, and the reason why it is true. All other causes are false
    alarms.
    """

    name: Name
    why: str


class Fault(Struct, frozen=True, kw_only=True):
    """A fault that the laboratory can make.

    make: prepares the cluster, and yields a function that makes the fault; its end undoes the fault. named: the causes
    that triage has to name. beside: further causes that it may name. within: seconds from the making of the fault until
    triage has to have named the causes. takes: resources that the fault needs for itself: faults with a common resource
    can't be made at once. stands: whether the fault is made before the console is opened. alone: whether no other fault
    can be made at the same time. user: the console's user, ``""`` for a super user. request_logs: whether the console
    also reads the brokers' request logs.
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
    """Return a cause with its subject."""
    return Name(name, subject)


def beside(why: str, name: str, **subject: Any) -> Beside:
    """Return a further cause that triage may name, with the reason."""
    return Beside(Name(name, subject), why)

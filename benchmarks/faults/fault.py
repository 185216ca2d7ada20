"""The record of a fault: how it is made and undone, and the causes that triage has to name. The causes follow from the
nature of the fault, never from triage's answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from benchmarks.faults.laboratory import Laboratory

Begin = Callable[[], Awaitable[None]]
"""Makes the fault in a cluster that is prepared for it."""


class Name(Struct, frozen=True):
    """A cause with its subject, as in the JSON of `kac triage`.

    A subject fits if it has these fields with these values; ``dir`` is ``spare`` for the spare log directory.
    """

    cause: str
    subject: Mapping[str, Any] = field(default_factory=dict)

    def fits(self, cause: str, subject: Mapping[str, Any]) -> bool:
        """Return whether a cause that triage named is this one."""
        return cause == self.cause and all(subject.get(key) == value for key, value in self.subject.items())

    def __str__(self) -> str:
        return " ".join([self.cause, *(f"{key} {value}" for key, value in self.subject.items())])


class Beside(Struct, frozen=True):
    """A further cause that triage may name, and the reason why it is true. All other causes are false alarms."""

    name: Name
    why: str


class Fault(Struct, frozen=True, kw_only=True):
    """A fault.

    make: prepares the cluster, and yields a function that begins the fault; its end undoes the fault. named: the causes
    that triage has to name. beside: further causes that it may name. within: seconds from the fault's beginning until
    triage has to have named the causes. takes: resources that the fault uses alone: faults with a common resource can't
    be made at once. stands: whether the fault is made before the console is opened, as leftovers are. alone: whether no
    other fault can be made with it. user: the console's user, ``""`` for a super user. request_logs: whether the
    console also reads the brokers' request logs.
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
    """Return a further cause that may be named."""
    return Beside(Name(name, subject), why)

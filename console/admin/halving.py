"""Batched reads of which one member spoils the answer for all: halves are asked until it is found alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from console.admin.errors import BadAnswer, BrokerError, Unsupported, not_answered
from console.model.failure import Failure

K = TypeVar("K")
V = TypeVar("V")

Ask = Callable[[Sequence[K]], Awaitable[Mapping[K, V | Failure]]]
"""Sends one request for some members and returns what each has of it."""


class Halving:
    """What halving has found out during one read. Where all members fail by themselves, as without a right, halves say
    no more than the whole did: after so many answers in a row without a value no batch is halved for that error."""

    def __init__(self, name: Callable[[Any], str] = str) -> None:
        """name: of a member, for people."""
        self._name = name
        self._hopeless: set[str] = set()
        self._fruitless = 0

    async def read(self, members: Sequence[K], ask: Ask[K, V]) -> dict[K, V | Failure]:
        """Each member with its value or its failure. `ask` may raise BrokerError and BadAnswer, which fail all its
        members alike; what else it raises is raised."""
        found = await self._asked(members, ask)
        why = _alike(found)
        if why is None or len(members) < 2 or why in self._hopeless:
            return found
        self._fruitless = 0
        return await self._halved(members, found, why, ask, _patience(len(members)))

    async def _halved(
        self, members: Sequence[K], whole: dict[K, V | Failure], why: str, ask: Ask[K, V], patience: int
    ) -> dict[K, V | Failure]:
        middle = len(members) // 2
        found = dict(whole)
        for half in (members[:middle], members[middle:]):
            if why in self._hopeless:
                break
            part = await self._asked(half, ask)
            again = _alike(part)
            if again is None:
                self._fruitless = 0
            else:
                self._fruitless += 1
                if self._fruitless > patience:
                    self._hopeless.add(why)
                elif len(half) > 1:
                    part = await self._halved(half, part, why, ask, patience)
            found |= part
        return found

    async def _asked(self, members: Sequence[K], ask: Ask[K, V]) -> dict[K, V | Failure]:
        """One request; a member that its answer leaves out has a failure that says so."""
        try:
            found = await ask(members)
        except Unsupported:
            raise
        except (BrokerError, BadAnswer) as error:
            return dict.fromkeys(members, error.failure)
        return {each: found[each] if each in found else not_answered(self._name(each)) for each in members}


def _alike(found: Mapping[K, V | Failure]) -> str | None:
    """The name of the error that all members have, None if one has a value, or another error."""
    names = {each.name if isinstance(each, Failure) else None for each in found.values()}
    return names.pop() if len(names) == 1 else None


def _patience(count: int) -> int:
    """Answers in a row without a value that one spoiler can bring about, twice: the way down to it, and its end."""
    return 2 * count.bit_length() + 2

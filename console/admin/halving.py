"""Batched reads in which one member may fail the answer for all: halves are requested until that member is alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from console.admin.errors import BadAnswer, BrokerError, Unsupported, not_answered
from console.model.failure import Failure

K = TypeVar("K")
V = TypeVar("V")

Ask = Callable[[Sequence[K]], Awaitable[Mapping[K, V | Failure]]]
"""Sends one request for some members and returns the value or failure of each."""


class Halving:
    """The state of halving during one read. If every member fails by itself, for example for lack of a right, halves
    fail like the whole: after a number of consecutive answers without a value, batches with that error are no longer
    halved.
    """

    def __init__(self, name: Callable[[Any], str] = str) -> None:
        """Make the state. name: function that returns a member's display name."""
        self._name = name
        self._hopeless: set[str] = set()
        self._fruitless = 0

    async def read(self, members: Sequence[K], ask: Ask[K, V]) -> dict[K, V | Failure]:
        """Return each member with its value or its failure. `ask` may raise BrokerError and BadAnswer, which are the
        failure of all its members; other errors propagate.
        """
        found = await self._asked(members, ask)
        for why, spoiled in _spoiled(found):
            if why not in self._hopeless:
                self._fruitless = 0
                found |= await self._halved(spoiled, found, why, ask, _patience(len(spoiled)))
        return found

    async def _halved(
        self, members: Sequence[K], whole: Mapping[K, V | Failure], why: str, ask: Ask[K, V], patience: int
    ) -> dict[K, V | Failure]:
        middle = len(members) // 2
        found = {each: whole[each] for each in members}
        for half in (members[:middle], members[middle:]):
            if why in self._hopeless:
                break
            part = await self._asked(half, ask)
            if not all(isinstance(each, Failure) for each in part.values()):
                self._fruitless = 0
            else:
                self._fruitless += 1
                if self._fruitless > patience:
                    self._hopeless.add(why)
                else:
                    for again, spoiled in _spoiled(part):
                        part |= await self._halved(spoiled, part, again, ask, patience)
            found |= part
        return found

    async def _asked(self, members: Sequence[K], ask: Ask[K, V]) -> dict[K, V | Failure]:
        """Ask about some members in one request. Return the value or the failure of each; a member that the answer
        leaves out has a failure that says so.
        """
        try:
            found = await ask(members)
        except Unsupported:
            raise
        except (BrokerError, BadAnswer) as error:
            return dict.fromkeys(members, error.failure)
        return {each: found[each] if each in found else not_answered(self._name(each)) for each in members}


def parted(found: Mapping[K, V | Failure]) -> tuple[dict[K, V], dict[K, Failure]]:
    """Return the members with a value, and those with a failure."""
    return (
        {member: each for member, each in found.items() if not isinstance(each, Failure)},
        {member: each for member, each in found.items() if isinstance(each, Failure)},
    )


async def each_of(
    filters: Sequence[K], ask: Callable[[Sequence[K]], Awaitable[Sequence[V | Failure]]]
) -> list[V | Failure]:
    """Return the matches of each filter of a batch, or its failure, in order. ask: a function that sends one request
    for some of the filters.
    """

    async def some(places: Sequence[int]) -> Mapping[int, V | Failure]:
        return dict(zip(places, await ask([filters[place] for place in places]), strict=True))

    found = await Halving().read(range(len(filters)), some)
    return [found[place] for place in range(len(filters))]


def _spoiled(found: Mapping[K, V | Failure]) -> list[tuple[str, list[K]]]:
    """Return each error that several members have, with these members; empty if any member has a value. One of these
    members may cause the error of the others. Some may have their own error, which a server checks first, such as a
    missing right.
    """
    groups: dict[str, list[K]] = {}
    for member, each in found.items():
        if not isinstance(each, Failure):
            return []
        groups.setdefault(each.name, []).append(member)
    return sorted(((why, some) for why, some in groups.items() if len(some) > 1), key=lambda each: len(each[1]))


def _patience(count: int) -> int:
    """Return twice the number of consecutive answers without a value that one failing member can cause: one for each
    halving, and one for the member alone. count: the number of members.
    """
    return 2 * count.bit_length() + 2

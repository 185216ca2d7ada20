"""Batched reads in which one item may make the whole request fail: the batch is halved repeatedly until that item is
alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from console.admin.errors import BadAnswer, BrokerError, Unsupported, not_answered
from console.model.failure import Failure

K = TypeVar("K")
V = TypeVar("V")

Ask = Callable[[Sequence[K]], Awaitable[Mapping[K, V | Failure]]]
"""Function that sends one request for some items and returns item -> its value or its failure."""


class Halving:
    """The state of halving during one read.

    If every item fails for itself, for example because a right is missing, halving is useless. So after a number of
    responses in a row without any value, batches that fail with the same error are no longer halved.
    """

    def __init__(self, name: Callable[[Any], str] = str) -> None:
        """Begin a read. name: function that returns an item's display name."""
        self._name = name
        self._hopeless: set[str] = set()
        self._fruitless = 0

    async def read(self, members: Sequence[K], ask: Ask[K, V]) -> dict[K, V | Failure]:
        """Return item -> its value or its failure. If `ask` raises BrokerError or BadAnswer, this is the failure of all
        items in the request; other errors of `ask` are raised.
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
        """Send one request for some items. Return item -> its value or its failure; an item that the response omits has
        a failure that says so.
        """
        try:
            found = await ask(members)
        except Unsupported:
            raise
        except (BrokerError, BadAnswer) as error:
            return dict.fromkeys(members, error.failure)
        return {each: found[each] if each in found else not_answered(self._name(each)) for each in members}


def parted(found: Mapping[K, V | Failure]) -> tuple[dict[K, V], dict[K, Failure]]:
    """Split the results of items. Return item -> value for the items with a value, and item -> failure for the
    others.
    """
    return (
        {member: each for member, each in found.items() if not isinstance(each, Failure)},
        {member: each for member, each in found.items() if isinstance(each, Failure)},
    )


async def each_of(
    filters: Sequence[K], ask: Callable[[Sequence[K]], Awaitable[Sequence[V | Failure]]]
) -> list[V | Failure]:
    """Return, for each filter in order, the matches or the failure. ask: function that sends one request for some of
    the filters; it returns the results in order.
    """

    async def some(places: Sequence[int]) -> Mapping[int, V | Failure]:
        return dict(zip(places, await ask([filters[place] for place in places]), strict=True))

    found = await Halving().read(range(len(filters)), some)
    return [found[place] for place in range(len(filters))]


def _spoiled(found: Mapping[K, V | Failure]) -> list[tuple[str, list[K]]]:
    """Return each error that several items share, with these items, because one of them may have caused the error of
    all. There may be several such errors: a server checks some conditions of each item, such as rights, before
    those of the whole request. Return an empty list if any item has a value.
    """
    groups: dict[str, list[K]] = {}
    for member, each in found.items():
        if not isinstance(each, Failure):
            return []
        groups.setdefault(each.name, []).append(member)
    return sorted(((why, some) for why, some in groups.items() if len(some) > 1), key=lambda each: len(each[1]))


def _patience(count: int) -> int:
    """Return the number of responses in a row without a value after which halving ends. It is twice the number that a
    single failing item can cause: one for each halving, and one for the item alone. count: the number of items.
    """
    return 2 * count.bit_length() + 2

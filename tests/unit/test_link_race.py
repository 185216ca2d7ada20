"""Tests of connecting to several addresses at once: which one wins, when each attempt begins, and how the others
end.
"""

import asyncio

import pytest

from console.admin.connections import first_to_open
from tests.support.patience import PATIENCE

HANGS = "hangs"


class Field:
    """Addresses, each with the result of connecting to it: an error, `HANGS`, or an open connection."""

    def __init__(self, **fates: object) -> None:
        self.fates = fates
        self.tried: list[str] = []
        self.discarded: list[object] = []
        self.hanging = 0
        self.all_hang = asyncio.Event()

    async def open_one(self, address: str) -> object:
        self.tried.append(address)
        fate = self.fates[address]
        if fate is HANGS:
            self.hanging += 1
            if self.hanging == len(self.fates):
                self.all_hang.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.hanging -= 1
        if isinstance(fate, Exception):
            raise fate
        return fate

    async def discard(self, opened: object) -> None:
        self.discarded.append(opened)

    async def race(self, *addresses: str, stagger: float = 0.001) -> object:
        return await first_to_open(
            addresses, self.open_one, self.discard, final=lambda e: isinstance(e, PermissionError), stagger=stagger
        )


async def test_the_first_is_enough() -> None:
    field = Field(a="A", b="B")
    assert await field.race("a", "b", stagger=60) == "A"
    assert field.tried == ["a"]


async def test_the_next_is_tried_at_a_failure_or_after_the_stagger() -> None:
    field = Field(a=OSError("refused"), b=OSError("refused"), c="C")
    async with asyncio.timeout(PATIENCE):
        assert await field.race("a", "b", "c", stagger=2 * PATIENCE) == "C"
    assert field.tried == ["a", "b", "c"]
    field = Field(a=HANGS, b=HANGS, c="C")
    assert await field.race("a", "b", "c") == "C"
    assert field.hanging == 0
    field = Field(a=HANGS, b=OSError("refused"), c="C")
    async with asyncio.timeout(PATIENCE):
        assert await field.race("a", "b", "c", stagger=0.05) == "C"


async def test_when_none_is_reached_each_says_why_in_order() -> None:
    errors = [OSError("1"), OSError("2")]
    assert await Field(a=errors[0], b=errors[1]).race("a", "b") == errors
    refused = PermissionError("wrong password")  # a final failure ends the race
    field = Field(a=refused, b="B")
    assert await field.race("a", "b") == [refused]
    assert field.tried == ["a"]
    assert await Field().race() == []


async def test_of_two_that_open_at_the_same_time_one_is_not_kept() -> None:
    both_tried = asyncio.Event()
    cancelled: list[str] = []

    class Both(Field):
        async def open_one(self, address: str) -> object:
            self.tried.append(address)
            if len(self.tried) == 2:
                both_tried.set()
            try:
                await both_tried.wait()
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                cancelled.append(self.fates[address])  # type: ignore[arg-type]
                raise
            return self.fates[address]

    field = Both(a="A", b="B")
    winner = await field.race("a", "b")
    assert {winner, *field.discarded, *cancelled} == {"A", "B"}
    assert len(field.discarded) + len(cancelled) == 1


async def test_who_gives_up_cancels_all() -> None:
    field = Field(a=HANGS, b=HANGS)
    race = asyncio.create_task(field.race("a", "b"))
    await field.all_hang.wait()
    race.cancel()
    with pytest.raises(asyncio.CancelledError):
        await race
    assert field.hanging == 0

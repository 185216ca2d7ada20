"""Tests that an asyncio task does not keep a coroutine's result, because Python may make a repr of the task and so of
its whole result.
"""

import asyncio

import pytest

from console import event_loop


class Large:
    reprs = 0

    def __repr__(self) -> str:
        Large.reprs += 1
        return "as long as a cluster"


async def read() -> Large:
    await asyncio.sleep(0)
    return Large()


def test_no_repr_is_made_of_a_result() -> None:
    Large.reprs = 0
    assert isinstance(event_loop.run(read()), Large)
    assert Large.reprs == 0


def test_an_error_is_the_coroutines_own() -> None:
    async def fails() -> None:
        raise KeyError("why")

    with pytest.raises(KeyError, match="why"):
        event_loop.run(fails())

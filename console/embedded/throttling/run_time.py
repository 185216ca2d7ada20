"""How long a coroutine really runs, without the time in which it waits."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from functools import partial
from time import perf_counter
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Timed(Generic[T]):
    """To be awaited in the coroutine's place. seconds: how long it ran so far."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self.seconds = 0.0

    def __await__(self) -> Generator[Any, Any, T]:
        step: Callable[[], Any] = partial(self._coroutine.send, None)
        while True:
            begun = perf_counter()
            try:
                waits_for = step()
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self.seconds += perf_counter() - begun
            try:
                given = yield waits_for
            except BaseException as error:  # noqa: BLE001 - what is thrown in belongs to the coroutine
                step = partial(self._coroutine.throw, error)
            else:
                step = partial(self._coroutine.send, given)

"""Caches for the last results of pure functions: unchanged parts of two polls are not computed again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import wraps
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K", bound=Hashable)


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with its last result cached: a call with the very same objects, or equal sets, returns the
    cached result. Only for frozen values.
    """
    return remembered_by(None)(function)


def remembered_by(count: int | None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator like `remembered` that compares only the first arguments: the others may be newer than the
    result. None: all of them.

    One call is stored as a whole, so that any thread finds arguments and result that belong together.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        last: list[tuple[tuple[object, ...], R]] = []

        @wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            known, compared = last[:1], args[:count]
            if known and len(known[0][0]) == len(compared) and all(map(_is_same, known[0][0], compared)):
                return known[0][1]
            result = function(*args, **kwargs)
            last[:] = [(compared, result)]
            return result

        return wrapped

    return decorated


def _is_same(one: object, other: object) -> bool:
    # Identity, because comparing snapshots of 100,000 partitions costs more than most functions; sets are small and new
    # in each poll.
    return one is other or (type(one) is frozenset and one == other)


class RememberedEach(Generic[K, R]):
    """A pure function of one part of a whole, such as one group: it is not called again for a part with equal
    arguments. Unchanged parts are the same objects from poll to poll, so equality is mostly identity.
    """

    def __init__(self, function: Callable[..., R]) -> None:
        self._function = function
        self._known: dict[K, tuple[tuple[object, ...], R]] = {}

    def of(self, parts: Iterable[tuple[K, tuple[object, ...]]]) -> list[R]:
        """Return the results for all present parts. parts: each as its name and the function's arguments. Results are
        cached for the next call; those of parts that are gone are dropped.
        """
        known = self._known
        now: dict[K, tuple[tuple[object, ...], R]] = {}
        for name, args in parts:
            was = known.get(name)
            now[name] = was if was is not None and was[0] == args else (args, self._function(*args))
        self._known = now
        return [result for _, result in now.values()]

"""Caches for the last results of pure functions: unchanged parts of two polls are not computed again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import compress
from operator import is_not
from typing import Generic, NamedTuple, ParamSpec, TypeVar

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
    # Compare by identity, because comparing snapshots of 100,000 partitions costs more than most functions. Sets are
    # small, and new objects in each poll.
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


Table = Mapping[K, object] | frozenset[K]
"""An argument that has an entry for each part: a mapping by the part's name, None without an entry; or a set, whether
the name is in it."""


class RememberedAmong(Generic[K, R]):
    """As `RememberedEach`, for parts whose arguments are in tables. Only names whose entry changed since the last call
    are examined, so that of 10,000 groups those that were not read again cost nothing.
    """

    def __init__(self, function: Callable[..., R]) -> None:
        self._function = function
        self._last: _Call[K, R] | None = None

    def of(self, names: Mapping[K, object], *tables: Table[K], common: Sequence[object] = ()) -> Mapping[K, R]:
        """Return name -> the function's result.

        Args:
            names: the present parts, each with the function's first argument.
            tables: each has the function's next argument of every part.
            common: the function's last arguments, the same for every part.

        Returns:
            In the order of the names; the same object as in the last call if no result was computed again.
        """
        now = (names, *tables)
        last = self._last
        if last is None or tuple(common) != last.common:
            look = _lookups(now)
            results = {name: self._function(*[get(name) for get in look], *common) for name in names}
        else:
            results = self._updated(last, now, common)
        self._last = _Call(now, tuple(common), results)
        return results

    def _updated(self, last: _Call[K, R], now: tuple[Table[K], ...], common: Sequence[object]) -> dict[K, R]:
        touched = set().union(*map(_differing, last.tables, now))
        known, names = last.results, now[0]
        look, look_before = _lookups(now), _lookups(last.tables)
        changed = {}
        for name in touched:
            if name not in names:
                continue
            arguments = [get(name) for get in look]
            if name not in known or arguments != [get(name) for get in look_before]:
                changed[name] = self._function(*arguments, *common)
        if [*names] != [*known]:
            return {name: changed[name] if name in changed else known[name] for name in names}
        return known | changed if changed else known


class _Call(NamedTuple, Generic[K, R]):
    """A call of a remembered function, with its results."""

    tables: tuple[Table[K], ...]
    common: tuple[object, ...]
    results: dict[K, R]


def _lookups(tables: Iterable[Table[K]]) -> Sequence[Callable[[K], object]]:
    """Return for each table the function that returns a part's entry."""
    return [each.__contains__ if isinstance(each, frozenset) else each.get for each in tables]


def _differing(old: Table[K], new: Table[K]) -> Iterable[K]:
    """Return the names whose entry is another object, or is in only one of the tables."""
    if old is new:
        return ()
    if isinstance(old, frozenset) and isinstance(new, frozenset):
        return old ^ new
    assert isinstance(old, Mapping)
    assert isinstance(new, Mapping)
    others = compress(new, map(is_not, map(old.get, new), new.values()))
    return [*others, *(old.keys() - new.keys())]

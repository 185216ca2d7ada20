"""Caches the last results of pure functions, so that parts that did not change between two polls are not computed
again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import compress
from operator import is_, is_not
from typing import Generic, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K", bound=Hashable)


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that caches the last result of `function`: a call with the very same objects as arguments, or
    with equal sets, returns the cached result. Only for arguments and results that are never changed.
    """
    return remembered_by(None)(function)


def remembered_by(count: int | None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that works as `remembered` but compares only the first `count` arguments, None for all. The
    result may then be older than the other arguments.

    Arguments and result of a call are stored as one object, so that any thread finds a pair that belongs together.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        last: list[tuple[tuple[object, ...], R]] = []

        @wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            known, compared = last[:1], args[:count]
            if known and _are_same(known[0][0], compared):
                return known[0][1]
            result = function(*args, **kwargs)
            last[:] = [(compared, result)]
            return result

        return wrapped

    return decorated


def _are_same(before: Sequence[object], now: Sequence[object]) -> bool:
    # Mostly all are the same objects, and `is_` finds that without a call of a Python function for each.
    return len(before) == len(now) and (all(map(is_, before, now)) or all(map(_is_same, before, now)))


def _is_same(one: object, other: object) -> bool:
    # Compare by identity, because comparing snapshots of 100,000 partitions costs more than most functions. Sets are
    # small, and new objects in each poll.
    return one is other or (type(one) is frozenset and one == other)


class RememberedEach(Generic[K, R]):
    """Calls a pure function for each part of a whole, such as each group, and caches the results: the function is not
    called again for a part with equal arguments. Parts that did not change are the same objects from poll to poll,
    so the comparison mostly ends at identity.
    """

    def __init__(self, function: Callable[..., R]) -> None:
        self._function = function
        self._known: dict[K, tuple[tuple[object, ...], R]] = {}

    def of(self, parts: Iterable[tuple[K, tuple[object, ...]]]) -> list[R]:
        """Return the results for all present parts, in the order of `parts`. Results are kept for the next call; those
        of parts that are gone are dropped.

        Args:
            parts: each part as its name and the function's arguments.
        """
        known = self._known
        now: dict[K, tuple[tuple[object, ...], R]] = {}
        for name, args in parts:
            was = known.get(name)
            now[name] = was if was is not None and was[0] == args else (args, self._function(*args))
        self._known = now
        return [result for _, result in now.values()]


Table = Mapping[K, object] | frozenset[K]
"""One argument of the function for all parts: a mapping from a part's name to its argument, None for parts without an
entry; or a set, where the argument is whether the name is in it.
"""


class RememberedAmong(Generic[K, R]):
    """Works as `RememberedEach`, for parts whose arguments are in tables. It examines only names whose entry in a table
    changed since the last call, so that of 10,000 groups those that were not read again cost nothing.
    """

    def __init__(self, function: Callable[..., R]) -> None:
        self._function = function
        self._last: _Call[K, R] | None = None

    def of(self, names: Mapping[K, object], *tables: Table[K], common: Sequence[object] = ()) -> Mapping[K, R]:
        """Return name -> the function's result, in the order of `names`. The same object as in the last call if no
        result was computed again.

        Args:
            names: name of each present part -> the function's first argument.
            tables: the function's next arguments, one table for each.
            common: the function's last arguments, the same for all parts. If one changes, all results are computed
                again.
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
        if names is not last.tables[0] and [*names] != [*known]:
            return {name: changed[name] if name in changed else known[name] for name in names}
        return known | changed if changed else known


class _Call(NamedTuple, Generic[K, R]):
    """The tables and results of the last call."""

    tables: tuple[Table[K], ...]
    common: tuple[object, ...]
    results: dict[K, R]


def _lookups(tables: Iterable[Table[K]]) -> Sequence[Callable[[K], object]]:
    """Return for each table a function from a part's name to its entry."""
    return [each.__contains__ if isinstance(each, frozenset) else each.get for each in tables]


def _differing(old: Table[K], new: Table[K]) -> Iterable[K]:
    """Return the names whose entries in the two tables are different objects, and those that only one table has."""
    if old is new:
        return ()
    if isinstance(old, frozenset) and isinstance(new, frozenset):
        return old ^ new
    assert isinstance(old, Mapping)
    assert isinstance(new, Mapping)
    others = compress(new, map(is_not, map(old.get, new), new.values()))
    return [*others, *(old.keys() - new.keys())]

"""The last result of a pure function, for the very same values: what did not change is not worked out again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """The function; called again with the very same objects, it returns what it returned. For frozen values alone.

    One call is kept, whole, so that any thread finds arguments and result that belong together.
    """
    last: list[tuple[tuple[object, ...], R]] = []

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        known = last[:1]
        if known and len(known[0][0]) == len(args) and all(a is b for a, b in zip(known[0][0], args, strict=True)):
            return known[0][1]
        result = function(*args, **kwargs)
        last[:] = [(args, result)]
        return result

    return wrapped

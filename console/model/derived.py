"""Derived values, which are computed again only if their inputs changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Generic, TypeVar

T = TypeVar("T")


def same(some: Sequence[object], others: Sequence[object]) -> bool:
    """Return whether two sequences hold the same objects.

    Identity decides, not equality: a snapshot may be large, and the parts that a read did not change are the same
    objects.
    """
    return len(some) == len(others) and all(map(is_, some, others))


class Derived(Generic[T]):
    """A cached value that is computed again when one of its inputs is another object than before."""

    def __init__(self, first: T) -> None:
        """Create the cache. first: the cached value before the first call of `of`."""
        self._value = first
        self._made_of: tuple[object, ...] = ()

    def of(self, parts: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return ``make()`` for these inputs, or the previous result if all inputs are the same objects as in the
        previous call.
        """
        if not same(parts, self._made_of):
            self._value, self._made_of = make(), parts
        return self._value

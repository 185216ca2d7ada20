"""Values that are made of others, and made again only where these changed."""

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
    """A value that is made again when one of the objects that it is made of is another one."""

    def __init__(self, first: T) -> None:
        """Create it. first: the value before anything is known that it could be made of."""
        self._value = first
        self._made_of: tuple[object, ...] = ()

    def of(self, parts: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return the value of these parts: the one that was made last, if they are the same objects."""
        if not same(parts, self._made_of):
            self._value, self._made_of = make(), parts
        return self._value

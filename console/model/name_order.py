"""The names of a mapping in order, remembered: to sort 100,000 again for each read of a few holds up keys."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

_KEPT = 4
_known: list[tuple[Mapping[str, object], Sequence[str]]] = []
"""Mappings that never change, each with its names in order: the newest of the topics, of the groups, and so on."""


def in_order(named: Mapping[str, object]) -> Sequence[str]:
    """Return the keys of a mapping in order. Of one that differs in a few keys from one before, only these are put in
    place.

    Args:
        named: never changes from here on. The same object, or one with the same keys, has the same sequence.
    """
    known = list(_known)  # another thread may add to it
    for before, names in known:
        if before is named:
            return names
    before, names = next(((each, order) for each, order in known if _overlap(order, named)), ({}, ()))
    kept = [*filter(named.__contains__, names)]
    if len(kept) < len(named):
        ordered: Sequence[str] = sorted([*kept, *(name for name in named if name not in before)])
    else:
        ordered = kept if len(kept) < len(names) else names
    _known[:] = [(named, ordered), *((each, order) for each, order in known if each is not before)][:_KEPT]
    return ordered


def next_names(names: Sequence[str], last: str, most: int) -> list[str]:
    """Return the names after one, which need not be there, and then the first ones: so many at most, each once.

    Args:
        names: in order.
    """
    first = bisect_right(names, last)
    return [*names[first : first + most], *names[: min(first, max(0, first + most - len(names)))]]


def _overlap(names: Sequence[str], named: Mapping[str, object]) -> bool:
    """Return whether a mapping is likely to have most of these names."""
    return bool(names) and sum(names[len(names) * part // 8] in named for part in range(8)) > 4

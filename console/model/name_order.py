"""A cache of sorted names: sorting 100,000 names for each read of a few would delay key presses."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

_KEPT = 4
_known: list[tuple[Mapping[str, object], Sequence[str]]] = []
"""Mappings that do not change, each with its sorted names, the most recently used first."""


def in_order(named: Mapping[str, object]) -> Sequence[str]:
    """Return the keys of a mapping, sorted. If the mapping has most keys of a cached one, only the other keys have to
    be sorted into the cached order.

    Args:
        named: a mapping that does not change after the call. The same object, or one with the same keys, yields the
            same sequence object.
    """
    known = list(_known)  # copy it, as another thread may change it
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
    """Return at most `most` names, each once: first the names after `last`, then those from the beginning.

    Args:
        names: sorted names.
        last: a text in the order of the names; it need not be one of them.
    """
    first = bisect_right(names, last)
    return [*names[first : first + most], *names[: min(first, max(0, first + most - len(names)))]]


def _overlap(names: Sequence[str], named: Mapping[str, object]) -> bool:
    """Return whether a mapping probably has most of these names as keys, by a sample of eight names."""
    return bool(names) and sum(names[len(names) * part // 8] in named for part in range(8)) > 4

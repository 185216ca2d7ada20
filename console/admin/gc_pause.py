"""Pauses of Python's garbage collector during bulk decodes.

Creating 132,000 live objects takes three times as long with the collector on: it walks them again and again and finds
nothing, since plain data has no cycles.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 10_000
"""New objects of a pause from which on it always freezes: the collector walks fewer in a millisecond, and each freeze
brings a full collection nearer."""
FULL_COLLECTION_EVERY = 32
"""Freezes between two full collections, since frozen garbage cycles are never freed."""
OBJECTS_EACH = 5_000
"""Frozen objects for each freeze between two full collections, if these are more: a collection of two million objects
takes a second, in which no key is handled."""

_lock = threading.Lock()
_depth = 0
_was_enabled = False
_known = 0
_freezes = 0
_due = FULL_COLLECTION_EVERY


@contextmanager
def gc_paused() -> Iterator[None]:
    """Disable garbage collection inside the block, in all threads. If the block made many objects, all live ones are
    frozen afterwards, so that the collector does not walk them again. The first pauses of a process freeze as well:
    most of its modules are imported by then.

    May be nested, may overlap in several threads, and may be held over an ``await``: the last exit enables it.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _depth, _was_enabled, _known
    with _lock:
        if _depth == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
            _known = gc.get_count()[0]
        _depth += 1


def _leave() -> None:
    global _depth
    with _lock:
        _depth -= 1
        if _depth:
            return
        # The collector counts what was made since it last ran, less what is gone.
        if gc.get_count()[0] - _known >= MANY or _freezes < FULL_COLLECTION_EVERY - 1:
            _freeze()
        if _was_enabled:
            gc.enable()


def _freeze() -> None:
    global _freezes, _due
    _freezes += 1
    if _freezes >= _due:
        # Counting frozen objects takes milliseconds: they are in a linked list.
        _due = max(FULL_COLLECTION_EVERY, gc.get_freeze_count() // OBJECTS_EACH)
        if _freezes >= _due:
            _freezes, _due = 0, FULL_COLLECTION_EVERY
            gc.unfreeze()
            gc.collect()
    gc.freeze()

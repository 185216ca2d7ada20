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
"""Number of new objects since the last freeze above which a pause freezes: the collector walks fewer objects in a
millisecond, and each freeze brings a full collection nearer."""
FIRST = 32
"""Number of pauses from the beginning of the process that freeze in any case, and make no full collection due: most of
the process's modules are imported by then."""
FULL_COLLECTION_EVERY = 32
"""Number of freezes between two full collections, which are needed because frozen garbage cycles are never freed."""
OBJECTS_EACH = 5_000
"""Number of live objects for each freeze between two full collections, if that gives more freezes: a collection of two
million objects takes a second, in which no key is handled."""

_lock = threading.Lock()
_depth = 0
_was_enabled = False
_at_begin = 0
_collections = 0
_made = 0
_first = FIRST
_freezes = 0
_due = FULL_COLLECTION_EVERY


@contextmanager
def gc_paused() -> Iterator[None]:
    """Disable garbage collection inside the ``with`` block, in all threads. If many objects were made by its end, all
    live ones are frozen, so that the collector does not walk them again.

    May be nested, may overlap in several threads, and may be held over an ``await``: the last exit enables it again, if
    it was enabled before the first entry.
    """
    _enter()
    try:
        yield
    finally:
        # Collect outside the lock: a finalizer may begin a pause.
        if _leave():
            _collect_frozen()


def _enter() -> None:
    global _depth, _was_enabled, _at_begin
    with _lock:
        if _depth == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
            _at_begin = gc.get_count()[0]
        _depth += 1


def _leave() -> bool:
    """End a pause. Return whether a full collection is due."""
    global _depth, _first, _made, _freezes
    with _lock:
        _depth -= 1
        if _depth:
            return False
        _count()
        if _made >= MANY:
            _made = 0
            _freezes += 1
            gc.freeze()
        elif _first:
            _first -= 1
            gc.freeze()
        if _was_enabled:
            gc.enable()
        return _freezes >= _due


def _count() -> None:
    """Count the objects that were made since the last pause, less those that are gone."""
    global _collections, _made
    before, _collections = _collections, sum(each["collections"] for each in gc.get_stats())
    # The collector runs each time this many objects (the threshold) were made; its count is the number made since.
    _made += (_collections - before) * gc.get_threshold()[0] + max(0, gc.get_count()[0] - _at_begin)


def _collect_frozen() -> None:
    """Collect garbage among the frozen objects as well, and freeze those that are left.

    Their number determines when the next collection is due, and is counted only here. Between two collections the
    number would include garbage, and much garbage would put off the collection that frees it.
    """
    global _freezes, _due
    _freezes = 0
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    _due = max(FULL_COLLECTION_EVERY, gc.get_freeze_count() // OBJECTS_EACH)

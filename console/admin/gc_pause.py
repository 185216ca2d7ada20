"""Pauses of Python's garbage collector while large responses are decoded.

Creating 132,000 objects that stay alive takes three times as long with the collector: it visits them repeatedly and
finds no garbage, since plain data has no cycles.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 10_000
"""Number of new objects from which on the end of a pause freezes all objects (`gc.freeze`), so that the collector no
longer visits them. Fewer objects are not worth a freeze: the collector visits them within a millisecond, and each
freeze brings the next full collection nearer.
"""
FIRST = 32
"""Number of pauses at the start of the process that freeze all objects in any case, and do not count towards a full
collection: most modules of the process are imported during them.
"""
FULL_COLLECTION_EVERY = 32
"""Number of freezes between two full collections. Full collections are needed because nothing else frees garbage
cycles that are frozen.
"""
OBJECTS_EACH = 5_000
"""Number of live objects for each freeze between two full collections: with two million objects, a full collection
is due after 400 freezes. `FULL_COLLECTION_EVERY` is the minimum. Full collections become rarer in this way
because one of two million objects takes a second, in which no key press is handled.
"""

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
    """Disable garbage collection in all threads while the ``with`` block runs. If many objects were created in it,
    freeze all live objects at its end, so that the collector does not visit them again.

    Blocks may be nested, may overlap in several threads, and may contain an ``await``. The end of the last block
    enables collection again, if it was enabled before the first.
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
    """End a block of `gc_paused`. At the end of the last block, freeze all objects if many were created, or if it is
    one of the first pauses (`FIRST`), and enable collection again. Return whether a full collection is due.
    """
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
    """Add the approximate number of objects that were created since the last call, and are still alive, to `_made`,
    which decides whether a pause freezes all objects.
    """
    global _collections, _made
    before, _collections = _collections, sum(each["collections"] for each in gc.get_stats())
    # The collector runs each time this many objects (the threshold) were made; its count is the number made since.
    _made += (_collections - before) * gc.get_threshold()[0] + max(0, gc.get_count()[0] - _at_begin)


def _collect_frozen() -> None:
    """Run a full collection that includes frozen objects, and freeze what is left.

    The number of objects left determines when the next full collection is due. It is counted only here: between
    collections it would include garbage, and much garbage would delay the collection that frees it.
    """
    global _freezes, _due
    _freezes = 0
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    _due = max(FULL_COLLECTION_EVERY, gc.get_freeze_count() // OBJECTS_EACH)

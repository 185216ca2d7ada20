"""Python's cyclic collector, out of the way of bulk decodes.

Making 132,000 live objects takes three times as long with the collector on: it walks them again and again and finds
nothing, since plain data has no cycles.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

FULL_COLLECTION_EVERY = 32
"""Freezing keeps cycles that are garbage by then for ever, so now and then everything is collected once."""
OBJECTS_EACH = 5_000
"""With more than so many frozen objects for each time it is done the less often: two million take a second, in which
no key is answered."""

_lock = threading.Lock()
_depth = 0
_was_enabled = False
_freezes = 0
_due = FULL_COLLECTION_EVERY


@contextmanager
def gc_paused() -> Iterator[None]:
    """No cyclic collection within, in any thread; afterwards what lives is frozen: not walked again.

    May be nested, may overlap in several threads and may be held over an ``await``: the last to leave turns it on.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _depth, _was_enabled
    with _lock:
        if _depth == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _depth += 1


def _leave() -> None:
    global _depth, _freezes, _due
    with _lock:
        _depth -= 1
        if _depth:
            return
        _freezes += 1
        if _freezes >= _due:
            # Counting what is frozen takes milliseconds itself: it is a list.
            _due = max(FULL_COLLECTION_EVERY, gc.get_freeze_count() // OBJECTS_EACH)
            if _freezes >= _due:
                _freezes, _due = 0, FULL_COLLECTION_EVERY
                gc.unfreeze()
                gc.collect()
        gc.freeze()
        if _was_enabled:
            gc.enable()

"""Tests of how the cyclic garbage collector is paused while many objects are decoded, and how these are then frozen."""

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from console.admin import gc_pause as bulk
from console.admin.gc_pause import gc_paused
from tests.support.patience import PATIENCE


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()
    gc.freeze()


def test_the_collector_is_off_within_and_as_before_after() -> None:
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), gc_paused():
        _ = 1 / 0
    assert gc.isenabled()
    gc.disable()
    with gc_paused():
        pass
    assert not gc.isenabled()


def test_nested_only_the_outermost_turns_it_on() -> None:
    with gc_paused():
        with gc_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_threads_that_overlap_wait_for_the_last() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with gc_paused():
            inside.set()
            leave.wait(PATIENCE)

    thread = threading.Thread(target=other)
    with gc_paused():
        thread.start()
        assert inside.wait(PATIENCE)
    assert not gc.isenabled()
    leave.set()
    thread.join(PATIENCE)
    assert gc.isenabled()


def test_much_that_lives_is_not_walked_again() -> None:
    gc.unfreeze()
    with gc_paused():
        kept = [[number] for number in range(2 * bulk.MANY)]
    assert gc.get_freeze_count() > len(kept)


@pytest.fixture
def no_longer_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the garbage collector's counters as in a process that started long ago and has just frozen its objects."""
    with gc_paused():
        pass
    gc.unfreeze()
    monkeypatch.setattr(bulk, "_first", 0)
    monkeypatch.setattr(bulk, "_freezes", 0)
    monkeypatch.setattr(bulk, "_made", 0)


@pytest.mark.usefixtures("no_longer_new")
def test_a_few_objects_are_left_to_the_collector() -> None:
    with gc_paused():
        kept = [[number] for number in range(bulk.MANY // 2)]
        # Both lists together are enough for a freeze, but the first one is gone.
        del kept
        kept = [[number] for number in range(bulk.MANY // 2)]
    assert kept
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("no_longer_new")
@pytest.mark.parametrize("within", [True, False])
def test_what_a_few_pauses_made_together_is_frozen(within: bool) -> None:
    """After a few pauses in which many objects were made in total, these objects are frozen, including those made
    between the pauses.
    """
    kept: list[list[int]] = []
    frozen = []
    for _ in range(6):
        with gc_paused():
            if within:
                kept += [[number] for number in range(bulk.MANY // 3)]
        if not within:
            kept += [[number] for number in range(bulk.MANY // 3)]
        frozen.append(gc.get_freeze_count() > 0)
        gc.unfreeze()
    assert not frozen[0]
    assert any(frozen), frozen


def test_the_first_pauses_freeze_and_make_no_full_collection_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "_first", bulk.FIRST)
    monkeypatch.setattr(bulk, "_freezes", bulk.FULL_COLLECTION_EVERY - 1)
    monkeypatch.setattr(bulk, "_made", 0)
    monkeypatch.setattr(gc, "collect", lambda: pytest.fail("a full collection"))
    frozen = []
    for _ in range(bulk.FIRST + 2):
        gc.unfreeze()
        with gc_paused():
            pass
        frozen.append(gc.get_freeze_count() > 0)
    assert frozen == [True] * bulk.FIRST + [False] * 2


def test_cycles_that_were_frozen_as_garbage_are_collected_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Node:
        pass

    gone = threading.Event()

    class Cycle(Node):
        def __init__(self) -> None:
            self.self = self

        def __del__(self) -> None:
            gone.set()

    monkeypatch.setattr(bulk, "_freezes", 0)  # else earlier freezes might make this pause the one that collects
    monkeypatch.setattr(bulk, "_due", bulk.FULL_COLLECTION_EVERY)
    monkeypatch.setattr(bulk, "MANY", 0)
    with gc_paused():
        Cycle()
    gc.collect()
    assert not gone.is_set()  # frozen: an ordinary collection does not see it
    for _ in range(bulk.FULL_COLLECTION_EVERY):
        with gc_paused():
            pass
    assert gone.is_set()


def test_a_finalizer_may_begin_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    class Cycle:
        def __init__(self) -> None:
            self.self = self

        def __del__(self) -> None:
            with gc_paused():
                pass

    monkeypatch.setattr(bulk, "_freezes", bulk.FULL_COLLECTION_EVERY - 1)
    monkeypatch.setattr(bulk, "_due", bulk.FULL_COLLECTION_EVERY)
    monkeypatch.setattr(bulk, "MANY", 0)
    with gc_paused():
        Cycle()
    assert gc.isenabled()


GARBAGE = """
import gc
from console.admin import gc_pause as bulk

bulk.MANY = most = 0
gc.collect()
gc.freeze()
before = gc.get_freeze_count()
# A full collection is due as early as the live objects allow; by then there is more garbage than live objects.
bulk.OBJECTS_EACH = before // bulk.FULL_COLLECTION_EVERY
each = 2 * bulk.OBJECTS_EACH
for _ in range(3 * bulk.FULL_COLLECTION_EVERY):
    with bulk.gc_paused():
        for _ in range(each):
            cycle = []
            cycle.append(cycle)
    most = max(most, gc.get_freeze_count())
print((most - before) / (bulk.FULL_COLLECTION_EVERY * each))
"""


def test_much_frozen_garbage_does_not_put_off_its_collection() -> None:
    """Garbage that was frozen is collected as early as other garbage. The test makes it in a separate process with few
    live objects.
    """
    ran = subprocess.run([sys.executable, "-c", GARBAGE], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert 0.9 < float(ran.stdout) < 1.5


def test_the_more_is_kept_the_less_often_all_of_it_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[int] = []
    monkeypatch.setattr(bulk, "_freezes", 0)
    monkeypatch.setattr(bulk, "_due", bulk.FULL_COLLECTION_EVERY)
    monkeypatch.setattr(bulk, "MANY", 0)
    monkeypatch.setattr(bulk, "OBJECTS_EACH", 1)  # so that this process has many objects

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            collected.append(gc.get_freeze_count())

    gc.callbacks.append(note)
    try:
        for _ in range(3 * bulk.FULL_COLLECTION_EVERY):
            with gc_paused():
                pass
    finally:
        gc.callbacks.remove(note)
    # Only the first full collection, which counts the objects.
    assert len(collected) == 1

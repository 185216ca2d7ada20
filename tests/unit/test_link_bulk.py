"""The cyclic collector around bulk decodes."""

from __future__ import annotations

import gc
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


def test_off_within_on_after() -> None:
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_nested_only_the_outermost_turns_it_on() -> None:
    with gc_paused():
        with gc_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_after_an_error_it_is_on() -> None:
    with pytest.raises(ZeroDivisionError), gc_paused():
        _ = 1 / 0
    assert gc.isenabled()


def test_who_had_it_off_keeps_it_off() -> None:
    gc.disable()
    with gc_paused():
        pass
    assert not gc.isenabled()


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


@pytest.mark.parametrize("has_garbage", [False, True])
def test_a_few_objects_are_left_to_the_collector(has_garbage: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "_freezes", bulk.FULL_COLLECTION_EVERY - 1)
    gc.unfreeze()
    for _ in range(bulk.FULL_COLLECTION_EVERY):
        with gc_paused():
            kept = [[number] for number in range(bulk.MANY // 2)]
            if has_garbage:
                # As many as would count, if they had stayed.
                del kept
                kept = [[number] for number in range(bulk.MANY // 2)]
        assert gc.get_freeze_count() == 0


def test_the_first_pauses_freeze_and_make_no_full_collection_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "_freezes", 0)
    monkeypatch.setattr(bulk, "_due", bulk.FULL_COLLECTION_EVERY)
    monkeypatch.setattr(gc, "collect", lambda: pytest.fail("a full collection"))
    for _ in range(2 * bulk.FULL_COLLECTION_EVERY):
        with gc_paused():
            pass
    assert gc.get_freeze_count() > 0


def test_cycles_that_were_frozen_as_garbage_are_collected_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Node:
        pass

    gone = threading.Event()

    class Cycle(Node):
        def __init__(self) -> None:
            self.self = self

        def __del__(self) -> None:
            gone.set()

    monkeypatch.setattr(bulk, "_freezes", 0)  # others froze before, and this might be the time that collects
    monkeypatch.setattr(bulk, "_due", bulk.FULL_COLLECTION_EVERY)
    monkeypatch.setattr(bulk, "MANY", -bulk.MANY)
    with gc_paused():
        Cycle()
    gc.collect()
    assert not gone.is_set()  # frozen: an ordinary collection does not see it
    for _ in range(max(bulk.FULL_COLLECTION_EVERY, gc.get_freeze_count() // bulk.OBJECTS_EACH) + 1):
        with gc_paused():
            pass
    assert gone.is_set()


def test_the_more_is_kept_the_less_often_all_of_it_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[int] = []
    monkeypatch.setattr(bulk, "_freezes", 0)
    monkeypatch.setattr(bulk, "_due", bulk.FULL_COLLECTION_EVERY)
    monkeypatch.setattr(bulk, "MANY", -bulk.MANY)
    monkeypatch.setattr(bulk, "OBJECTS_EACH", 1)  # so that what this process has is much

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
    assert collected == []

"""Ctrl-C in places where Python would lose it."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from console.history.jobs.interrupts import heard

PATIENCE = 30.0


def raised_in(work: Callable[[], object]) -> None:
    """In good time after the work, of which nothing is kept."""

    def worked() -> None:
        work()
        threading.Event().wait(PATIENCE)

    with pytest.raises(KeyboardInterrupt):
        worked()


@pytest.fixture
def noted() -> Iterator[list[str]]:
    """What happened, in its order; and the handler afterwards is that of before."""
    before = signal.getsignal(signal.SIGINT)
    yield []
    assert signal.getsignal(signal.SIGINT) is before


def test_it_is_raised_where_it_comes() -> None:
    with heard(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_in_a_finalizer_it_waits(noted: list[str]) -> None:
    class Collected:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)
            noted.append("collected")

    with heard():
        raised_in(Collected)
        noted.append("raised")
    assert noted == ["collected", "raised"]


def test_in_logging_it_waits_until_the_lock_is_free(noted: list[str]) -> None:
    class Interrupting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            signal.raise_signal(signal.SIGINT)
            noted.append(record.getMessage())

    logger = logging.Logger("interrupted")
    logger.addHandler(Interrupting())
    with heard():
        raised_in(partial(logger.error, "written"))
        noted.append("raised")
    assert noted == ["written", "raised"]

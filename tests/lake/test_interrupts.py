"""Tests of Ctrl-C at moments at which Python itself would lose it."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from console.lake.spark import heard, interrupted, stopping

PATIENCE = 30.0


def raised_in(work: Callable[[], object]) -> None:
    """Call `work`, which sends an interrupt to this process. Check that KeyboardInterrupt is raised in it or within
    `PATIENCE` seconds after it.
    """

    def worked() -> None:
        work()
        threading.Event().wait(PATIENCE)

    with pytest.raises(KeyboardInterrupt):
        worked()


@pytest.fixture
def noted() -> Iterator[list[str]]:
    """Provide a list in which a test notes events in their order. After the test, check that the signal handler is the
    one from before.
    """
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


class Lost:
    """A Spark session whose connection to Java is broken: `stop` raises OSError."""

    def stop(self) -> None:
        raise OSError(107, "Transport endpoint is not connected")


@pytest.mark.parametrize("raised", [KeyboardInterrupt, ValueError])
def test_what_fails_after_an_interrupt_does_not_take_its_place(raised: type[BaseException]) -> None:
    with pytest.raises(raised), stopping(Lost()):  # type: ignore[arg-type]
        raise raised
    with pytest.raises(OSError, match="not connected"), stopping(Lost()):  # type: ignore[arg-type]
        pass


def test_an_error_that_an_interrupt_brought_about_is_known() -> None:
    def broken() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            Lost().stop()

    with pytest.raises(OSError, match="not connected") as lost:
        broken()
    assert interrupted(lost.value)
    assert not interrupted(OSError())
    assert not interrupted(None)

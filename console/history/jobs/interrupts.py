"""Ctrl-C while Spark works: raised where it is heard.

What is raised inside of a finalizer is lost, and what is raised inside of `logging` may leave its lock held for ever;
py4j logs in its finalizers. There the interrupt waits a moment, and comes again.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_stack
from types import FrameType

SECONDS_LATER = 0.02

_DEAF = frozenset({"__del__", "_garbage_collect_object"})
"""Names of functions that Python or py4j calls when something is collected."""


@contextmanager
def heard() -> Iterator[None]:
    """For the context an interrupt is raised as KeyboardInterrupt, in the main thread; then it does what it did before.

    `listen` again after something that takes the interrupt for itself.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        listen()
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def listen() -> None:
    """Take the interrupt; elsewhere than in the main thread nothing happens."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)


def interrupted(error: BaseException | None) -> bool:
    """Whether an interrupt was under way when the error was raised: it may have broken what failed then."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _interrupt(_: int, frame: FrameType | None) -> None:
    codes = (each.f_code for each, _ in walk_stack(frame))
    if not any(code.co_name in _DEAF or code.co_filename == logging.__file__ for code in codes):
        raise KeyboardInterrupt
    later = threading.Timer(SECONDS_LATER, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    later.daemon = True
    later.start()

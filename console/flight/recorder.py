"""A queue that takes answers from a client's thread and stores them in its own thread, so that the client never
waits for the record.
"""

from __future__ import annotations

import concurrent.futures
import logging
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar

from console.flight.answer import Answer

T = TypeVar("T")

PAUSE = 1.0
"""Seconds between rounds of storing: answers come in bursts, and storing must not delay a screen that starts."""
MOST_WAITING = 12 << 20
"""Default maximum size in bytes of the queued answers; further answers are lost."""

log = logging.getLogger(__name__)


class Sink(Protocol):
    """A protocol of the stores that a recorder writes answers to."""

    def add(self, answer: Answer) -> None:
        """Store an answer. Raises OSError."""

    def flush_changed(self) -> None:
        """Store the queued answers if any of them changed: no more come for now. Raises OSError."""

    def close(self) -> None:
        """Store the queued answers, and close the sink. Raises OSError."""


class Recorder:
    """A queue of answers for a sink, on a thread that `begin` starts; earlier answers wait for it.

    Attributes:
        lost: the number of answers that came faster than they could be stored.
        problem: the error after which nothing more is stored; None if there was no error.
    """

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        """Begin with an empty queue. most_waiting: limit for the bytes of queued answers."""
        self.lost = 0
        self._most_waiting = most_waiting
        self.problem: OSError | None = None
        # The queue has no limit of its own, so that the client's thread never waits: only the bytes are limited.
        self._waiting: queue.SimpleQueue[Answer | Callable[[Sink], None] | None] = queue.SimpleQueue()
        self._waiting_bytes = 0
        self._counting = threading.Lock()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None

    def take(self, answer: Answer) -> None:
        """Queue an answer; if too many bytes wait, drop and count it. Thread-safe; never blocks."""
        with self._counting:
            if self._waiting_bytes > self._most_waiting:
                self.lost += 1
                return
            self._waiting_bytes += len(answer.body)
            if self._waiting_bytes > self._most_waiting // 2:
                self._hurry.set()
        self._waiting.put(answer)

    def begin(self, make_sink: Callable[[], Sink]) -> None:
        """Start the thread. make_sink: called in it; it must not raise."""
        self._thread = threading.Thread(target=self._serve, args=(make_sink,), name="flight record", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[Any], T]) -> concurrent.futures.Future[T]:
        """Run a function with the sink that `begin` made, after the answers queued before are stored. Only after
        `begin`.
        """
        future: concurrent.futures.Future[T] = concurrent.futures.Future()

        def do(sink: Sink) -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work(sink))
                except Exception as error:  # noqa: BLE001 - the caller gets it
                    future.set_exception(error)

        self._waiting.put(do)
        self._hurry.set()
        return future

    def close(self) -> None:
        """Store the queued answers, and close the sink. Only after `begin`; may be called twice."""
        if self._thread is not None:
            self._waiting.put(None)
            self._hurry.set()
            self._thread.join()
            self._thread = None

    def _serve(self, make_sink: Callable[[], Sink]) -> None:
        item = self._waiting.get()
        self._hurry.wait(PAUSE)
        sink = make_sink()
        while item is not None:
            if isinstance(item, Answer):
                with self._counting:
                    self._waiting_bytes -= len(item.body)
                self._try(partial(sink.add, item))
            else:
                item(sink)
            del item  # do not hold the last answer until the next one comes
            try:
                item = self._waiting.get_nowait()
            except queue.Empty:
                self._try(sink.flush_changed)
                # Clear the event before the next item comes, as that item may set it to cut the pause short.
                self._hurry.clear()
                item = self._waiting.get()
                self._hurry.wait(PAUSE)
        try:
            sink.close()
        except OSError as error:
            self._fail(error)

    def _try(self, do: Callable[[], None]) -> None:
        """Call a function unless the sink has failed before: after a full disk nothing more is written."""
        if self.problem is None:
            try:
                do()
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.problem = self.problem or error
        log.warning("the flight record ends: %s", error)

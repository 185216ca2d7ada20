"""A queue that accepts answers on the client's thread and stores them on a thread of its own, so that the client never
waits for the storage.
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
"""Seconds between two rounds of storing. Answers come in bursts, and storing each at once would delay a starting
screen.
"""
MOST_WAITING = 12 << 20
"""Default maximum size in bytes of the queued answers; while the queue is full, further answers are lost."""

log = logging.getLogger(__name__)


class Sink(Protocol):
    """A store to which a recorder writes answers."""

    def add(self, answer: Answer) -> None:
        """Store an answer, perhaps not committed yet. Raises OSError."""

    def flush_changed(self) -> None:
        """Commit the answers if any of them is a changed one. The recorder calls it when its queue is empty. Raises
        OSError.
        """

    def close(self) -> None:
        """Commit all answers and close the sink. Raises OSError."""


class Recorder:
    """A queue of answers for a sink, which a thread empties once `begin` has started it.

    Attributes:
        lost: the number of answers that were dropped because the queue was full.
        problem: the error of the sink after which nothing more was stored; None without an error.
    """

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        """Begin with an empty queue. most_waiting: the maximum size of the queued answers in bytes."""
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
        """Queue an answer; drop it and count it in `lost` if the queue is full. Never blocks; any thread may call
        it.
        """
        with self._counting:
            if self._waiting_bytes > self._most_waiting:
                self.lost += 1
                return
            self._waiting_bytes += len(answer.body)
            if self._waiting_bytes > self._most_waiting // 2:
                self._hurry.set()
        self._waiting.put(answer)

    def begin(self, make_sink: Callable[[], Sink]) -> None:
        """Start the thread. make_sink: function that the thread calls to create the sink; it must not raise."""
        self._thread = threading.Thread(target=self._serve, args=(make_sink,), name="flight record", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[Any], T]) -> concurrent.futures.Future[T]:
        """Have the thread call a function with the sink, after it has stored the answers queued so far. Return the
        future of the function's result. Call it only after `begin`.
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
        """Wait until the thread has stored the queued answers and closed the sink. Call it only after `begin`; a second
        call does nothing.
        """
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
        """Call a function of the sink. If it raises OSError, keep the error in `problem` and make all further calls do
        nothing.
        """
        if self.problem is None:
            try:
                do()
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.problem = self.problem or error
        log.warning("the flight record ends: %s", error)

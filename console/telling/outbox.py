"""The queue of events for one receiver, and the thread that delivers them. The queue is limited, and a receiver that
does not answer delays nothing else.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import NamedTuple

from console.telling.message import Event
from console.telling.receivers import Deliver, NotDelivered

log = logging.getLogger(__name__)

MOST = 100
"""Maximum number of waiting events; if one more is added, the oldest is dropped."""
RESTS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""Seconds to wait after each failed attempt; the last value is used again and again."""
LONGEST = 15 * 60.0
"""Seconds after the first attempt to deliver an event; after that time kac stops trying and drops the event."""
LAST = 5.0
"""Seconds that `Outbox.close` grants for the delivery of the waiting events."""


class Counts(NamedTuple):
    """The numbers of delivered events, failed attempts and dropped events."""

    delivered: int = 0
    failed: int = 0
    dropped: int = 0


class Outbox:
    """The events for one receiver. `put` never blocks.

    Attributes:
        name: the name of the receiver.
        counts: the numbers of delivered and dropped events and of failed attempts, so far.
    """

    def __init__(
        self,
        name: str,
        deliver: Deliver,
        complain: Callable[[str], None],
        rests: Sequence[float] = RESTS,
        longest: float = LONGEST,
    ) -> None:
        """Start the thread that delivers events.

        Args:
            deliver: delivers one event, or raises NotDelivered.
            complain: prints a line for the operator; called from the thread.
            rests, longest: seconds, in place of `RESTS` and `LONGEST`.
        """
        self.name, self.counts = name, Counts()
        self._deliver, self._complain = deliver, complain
        self._rests, self._longest = rests, longest
        self._waiting: deque[Event] = deque()
        self._current: Event | None = None
        self._changed = threading.Condition()
        self._ends_at: float | None = None
        self._is_failing = False
        self._is_flooded, self._unsaid = False, 0
        # A daemon thread: the interpreter does not wait for it at exit, as a receiver may hang.
        self._thread = threading.Thread(target=self._run, name=f"notify {name}", daemon=True)
        self._thread.start()

    def put(self, event: Event) -> None:
        """Add an event. If already 100 events (`MOST`) wait, drop the oldest one."""
        with self._changed:
            dropped = self._waiting.popleft() if len(self._waiting) >= MOST else None
            self._waiting.append(event)
            self._changed.notify()
        if dropped is not None:
            # Report a flood of events in one line; the log has the others.
            self._drop(dropped, f"more than {MOST} wait", is_said=not self._is_flooded)
            self._is_flooded = True

    def close(self, seconds: float = LAST) -> None:
        """Deliver the waiting events, for at most `seconds`; drop and report the others."""
        with self._changed:
            self._ends_at = time.monotonic() + seconds
            self._changed.notify()
        self._thread.join(seconds)
        with self._changed:
            left = [*filter(None, (self._current,)), *self._waiting]
            self._current = None
            self._waiting.clear()
        for number, event in enumerate(left):
            self._drop(event, "kac ends", is_said=not number)
        self._say_unsaid()

    def _run(self) -> None:
        while (event := self._next()) is not None:
            try:
                self._tell(event)
            except Exception:  # deliver the next event, whatever is wrong with this one
                log.exception("telling %s", self.name)
                self._drop_current("something went wrong in kac itself")

    def _next(self) -> Event | None:
        """Wait for an event, and remove it from the queue; None after `close` if no event waits or the time is over."""
        with self._changed:
            self._current = None
            while not self._waiting:
                if self._ends_at is not None:
                    return None
                self._changed.wait()
            if self._is_over(0.0):
                return None
            self._current = self._waiting.popleft()
            return self._current

    def _tell(self, event: Event) -> None:
        """Deliver an event. If an attempt fails, try again until `longest` seconds have passed, then drop the event. A
        final error drops it at once.
        """
        began = time.monotonic()
        for rest in chain(self._rests, repeat(self._rests[-1])):
            try:
                self._deliver(event)
            except NotDelivered as error:
                self._count(failed=1)
                if error.is_final or time.monotonic() + rest - began > self._longest:
                    self._drop_current(str(error))
                    return
                self._say_failing(str(error))
            else:
                self._count(delivered=1)
                if self._is_failing:
                    self._is_failing = False
                    self._complain(f"{self.name} takes messages again")
                    self._say_unsaid()
                return
            if not self._rest(rest):
                self._drop_current("kac ends")
                return

    def _rest(self, seconds: float) -> bool:
        """Wait before the next attempt. Return False if kac will end before that attempt."""
        until = time.monotonic() + seconds
        with self._changed:
            while (left := until - time.monotonic()) > 0:
                if self._is_over(left):
                    return False
                self._changed.wait(left)
            return not self._is_over(0.0)

    def _is_over(self, seconds: float) -> bool:
        """Return whether the time that `close` granted ends within `seconds`; False before `close`."""
        return self._ends_at is not None and time.monotonic() + seconds >= self._ends_at

    def _say_failing(self, why: str) -> None:
        log.warning("notify %s: %s", self.name, why)
        if not self._is_failing:
            self._is_failing = True
            self._complain(f"{self.name} does not take messages: {why}; kac tries again")

    def _drop_current(self, why: str) -> None:
        """Drop the event that is being delivered, unless `close` has dropped it already."""
        with self._changed:
            event, self._current = self._current, None
        if event is not None:
            self._drop(event, why)

    def _drop(self, event: Event, why: str, *, is_said: bool = True) -> None:
        self._count(dropped=1)
        log.warning("notify %s: dropped %s: %s", self.name, event.text, why)
        if is_said:
            self._complain(f"{self.name} was not told: {event.text}: {why}")
        else:
            self._unsaid += 1

    def _say_unsaid(self) -> None:
        """Report the number of dropped events about which no line was printed; print nothing if there are none."""
        if self._unsaid:
            self._complain(f"{self.name} was not told of {self._unsaid} more: kac.log has them")
        self._is_flooded, self._unsaid = False, 0

    def _count(self, delivered: int = 0, failed: int = 0, dropped: int = 0) -> None:
        with self._changed:
            before = self.counts
            self.counts = Counts(before.delivered + delivered, before.failed + failed, before.dropped + dropped)

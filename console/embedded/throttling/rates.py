"""Rates over eleven windows of a second (org.apache.kafka.common.metrics.stats.Rate with quota.window.num=11)."""

from __future__ import annotations

from collections import deque

WINDOWS = 11
WINDOW = 1.0
"""Seconds."""
SPAN = (WINDOWS - 1) * WINDOW
"""Seconds that a rate is taken over at least."""


class Rate:
    """How much there was a second, of bytes or of whatever else."""

    def __init__(self) -> None:
        self._windows: deque[list[float]] = deque()
        """Start and sum of each, the newest last."""

    def record(self, amount: float, now: float) -> None:
        """Something happened; a negative amount takes it back."""
        if not self._windows or now - self._windows[-1][0] >= WINDOW:
            self._windows.append([now, 0.0])
        self._windows[-1][1] += amount
        self._forget(now)

    def _forget(self, now: float) -> None:
        while self._windows and now - self._windows[0][0] >= WINDOWS * WINDOW:
            self._windows.popleft()

    def measure(self, now: float) -> float:
        """The amount a second."""
        self._forget(now)
        return sum(amount for _, amount in self._windows) / self._elapsed(now)

    def _elapsed(self, now: float) -> float:
        """Seconds since the oldest window began, and never fewer than ten full windows (Rate.windowSize)."""
        passed = now - self._windows[0][0] if self._windows else 0.0
        full = passed // WINDOW
        return passed + max(SPAN - full * WINDOW, 0.0)

    def wait(self, limit: float, now: float) -> float:
        """Seconds until the rate is at a limit again, if nothing else happens (QuotaUtils.throttleTime). A limit of 0,
        which 2.8 takes, is reached once everything is forgotten."""
        rate = self.measure(now)
        if limit <= 0:
            return WINDOWS * WINDOW if rate > 0 else 0.0
        return (rate - limit) / limit * self._elapsed(now) if rate > limit else 0.0

    @property
    def last(self) -> float:
        """When it last counted something."""
        return self._windows[-1][0] if self._windows else 0.0

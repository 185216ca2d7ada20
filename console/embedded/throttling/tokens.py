"""A bucket of tokens (org.apache.kafka.common.metrics.stats.TokenBucket, KIP-599)."""

from __future__ import annotations

from console.embedded.throttling.rates import WINDOW, WINDOWS


class TokenBucket:
    """Fills by a quota a second up to eleven seconds' worth; what is taken may bring it below zero once."""

    def __init__(self, quota: float, now: float) -> None:
        self._quota = quota
        self._tokens = self._most
        self._at = now

    @property
    def _most(self) -> float:
        return self._quota * WINDOWS * WINDOW

    def fill(self, quota: float, now: float) -> float:
        """The tokens that there are now, under a quota that may be another one than before."""
        self._quota = quota
        self._tokens = min(self._most, self._tokens + quota * (now - self._at))
        self._at = now
        return self._tokens

    def take(self, amount: float) -> None:
        """Take as many, though there may be fewer."""
        self._tokens = min(self._most, self._tokens - amount)

    def wait(self) -> float:
        """Seconds until it is not below zero any more; with a quota of 0, which 2.8 takes, as long as it ever fills."""
        if self._tokens >= 0:
            return 0.0
        return -self._tokens / self._quota if self._quota > 0 else WINDOWS * WINDOW

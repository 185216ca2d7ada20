"""What went wrong with one entity, as plain data."""

from __future__ import annotations

from msgspec import Struct

WRONG_BROKER = "WRONG_BROKER"
"""The name of the failure of a request that another broker got than the one that was meant."""


class Failure(Struct, frozen=True):
    """An error of a broker or of the way to it: its name, its own words, and what an operator does about it.

    name: Kafka's error name (``UNKNOWN_TOPIC_OR_PARTITION``, ``UNKNOWN(999)``), or one of ours for what happens
    before a broker answers (``UNREACHABLE``, ``TIMED_OUT``, ``UNSUPPORTED``…).
    message: the broker's message, possibly empty. Untrusted text.
    remedy: plain words on what to do next, possibly empty.
    """

    name: str
    message: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.message else self.name

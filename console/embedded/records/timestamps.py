"""Which records are too old or too far ahead for their topic (LogValidator.validateTimestamp)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from console.embedded.records.batch import Batch, record_times

_FOREVER = 2**63 - 1
_SEPARATE_FROM = (3, 0)
"""Releases from here on have a limit for either side; before, one holds for both."""


class Limits(NamedTuple):
    """Milliseconds that a record's timestamp may be before and after the broker's time."""

    before: int
    after: int


def limits(release: tuple[int, int], config: Callable[[str], str]) -> Limits:
    """A topic's limits. config: what its keys are."""
    if release < _SEPARATE_FROM:
        both = int(config("message.timestamp.difference.max.ms"))
        return Limits(both, both)
    return Limits(int(config("message.timestamp.before.max.ms")), int(config("message.timestamp.after.max.ms")))


def out_of_range(batch: Batch, allowed: Limits, now: int) -> tuple[tuple[int, str], ...]:
    """Each record, by its place, that is out of range, and Kafka's words for it. now: milliseconds."""
    first, last = now - allowed.before, now + allowed.after
    if batch.max_timestamp <= last and allowed.before == _FOREVER:
        return ()
    return tuple(
        (
            place,
            f"Timestamp {moment} of message with offset {place} is out of range. "
            f"The timestamp should be within [{_java_long(first)}, {_java_long(last)}]",
        )
        for place, moment in enumerate(record_times(batch) or [batch.max_timestamp])
        if not first <= moment <= last
    )


def _java_long(number: int) -> int:
    """As Java's addition has it, which begins anew below where it is too large."""
    return (number + 2**63) % 2**64 - 2**63

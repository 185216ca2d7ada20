"""Follows over the polls how far the logs of partitions are copied to remote storage (KIP-405). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from console.model.cluster import TieredOffsets
from console.model.observed_logs import Place


class Tier(NamedTuple):
    """How far a partition's log has been copied to remote storage."""

    to: int
    """The offset of the last record in remote storage; -1 if there is none."""
    since: datetime
    """The time of the first poll that showed the offset `to`, UTC."""
    moved: bool = False
    """Whether kac saw the offset change at least once."""
    pause: float = 0.0
    """The longest time in seconds between two changes of the offset that kac saw."""


def tiers_after(
    known: Mapping[Place, Tier],
    before: Mapping[Place, TieredOffsets],
    now: Mapping[Place, TieredOffsets],
    at: datetime,
) -> Mapping[Place, Tier]:
    """Return partition -> its tier, as of this poll, for partitions whose brokers report it (Kafka 3.9 and later).

    Args:
        known: the result for the last poll.
        before, now: the offsets at the last poll and at this one.
        at: the time of this poll, UTC.
    """
    if now is before:
        return known
    return {
        place: _tier_after(known.get(place), each.tiered_to, at)
        for place, each in now.items()
        if each.tiered_to is not None
    }


def _tier_after(was: Tier | None, to: int, at: datetime) -> Tier:
    if was is None:
        return Tier(to, at)
    if was.to == to:
        return was
    took = (at - was.since).total_seconds() if was.moved else 0.0
    return Tier(to, at, moved=True, pause=max(was.pause, took))

"""The progress of the copies to remote storage (KIP-405), over polls. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from console.model.cluster import TieredOffsets
from console.model.observed_logs import Place


class Tier(NamedTuple):
    """The part of a partition's log that is in remote storage."""

    to: int
    """The offset of the last record there; -1 if it is empty."""
    since: datetime
    """The time of the first poll that showed this offset, UTC."""
    moved: bool = False
    """Whether a poll saw the offset rise."""
    pause: float = 0.0
    """The longest time in seconds between two polls that saw it rise."""


def tiers_after(
    known: Mapping[Place, Tier],
    before: Mapping[Place, TieredOffsets],
    now: Mapping[Place, TieredOffsets],
    at: datetime,
) -> Mapping[Place, Tier]:
    """Return the tiers after another poll, of partitions whose brokers report them (Kafka 3.9 and later).

    Args:
        before, now: the offsets of the former poll and of this one.
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

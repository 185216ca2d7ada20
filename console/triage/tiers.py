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
        place: was if (was := known.get(place)) is not None and was.to == each.tiered_to else Tier(each.tiered_to, at)
        for place, each in now.items()
        if each.tiered_to is not None
    }

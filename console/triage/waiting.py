"""Clients that wait for an open transaction: readers with read_committed stop at the last stable offset, and groups
whose offsets are behind it in the coordinator's topic don't get them. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from console.model.cluster import PartitionLag, Topic
from console.model.coordinators import OFFSETS, partition_of
from console.model.observed_logs import LogOffsets, Place
from console.model.transactions import OpenTransaction, Transaction
from console.triage.facts import Facts
from console.triage.readers import Reading
from console.triage.remembered import remembered

STANDS = 3.0
"""Seconds without a move of the last stable offset after which clients count as waiting."""


class Wait(NamedTuple):
    """A partition whose last stable offset does not move."""

    place: Place
    offsets: LogOffsets
    groups: tuple[str, ...]
    """The groups at that offset, or with offsets behind it."""
    holder: OpenTransaction | None
    """The transaction that begins at that offset."""
    known: Transaction | None
    """The state of the transaction at its coordinator; None if unknown."""


def is_held(row: PartitionLag, facts: Facts) -> bool:
    """Return whether a commit is at the last stable offset, with records behind it: a consumer with read_committed
    waits. The end marker of the transaction before also has an offset, which some clients leave uncommitted.
    """
    log = facts.logs.logs.get((row.topic, row.partition))
    return log is not None and log.last.waiting > 0 and row.committed in (log.last.stable, log.last.stable - 1)


def waits(facts: Facts, known: Mapping[str, Reading], topics: Mapping[str, Topic]) -> Mapping[Place, Wait]:
    """Return partition -> its wait, sorted by partition."""
    places = facts.logs.standing(STANDS)
    return _waits(places, facts, known, topics) if places else {}


@remembered
def _waits(
    places: tuple[Place, ...], facts: Facts, known: Mapping[str, Reading], topics: Mapping[str, Topic]
) -> Mapping[Place, Wait]:
    held = frozenset(places)
    groups: dict[Place, list[str]] = {}
    for reading in known.values():
        for row in reading.lag.partitions if reading.lag is not None else ():
            if row.lag > 0 and (row.topic, row.partition) in held and is_held(row, facts):
                groups.setdefault((row.topic, row.partition), []).append(reading.group.name)
    # Offsets that a group committed in a transaction can't be read until it ends (KIP-447): all groups of that
    # partition may wait.
    if (offsets := topics.get(OFFSETS)) is not None and any(topic == OFFSETS for topic, _ in places):
        for reading in known.values():
            place = OFFSETS, partition_of(reading.group.name, len(offsets.partitions))
            if place in held:
                groups.setdefault(place, []).append(reading.group.name)
    seen = facts.transactions
    found = {}
    for place in places:
        offset = facts.logs.logs[place].last
        open_ = sorted(seen.at(*place), key=lambda each: each.producer.start_offset)
        # The last stable offset is where the earliest open transaction begins: the others don't hold it yet.
        holder = open_[0] if open_ else None
        transaction = seen.by_producer.get(holder.producer.id) if holder is not None else None
        found[place] = Wait(place, offset, tuple(sorted(groups.get(place, ()))), holder, transaction)
    return found

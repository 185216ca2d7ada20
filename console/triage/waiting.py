"""Finds clients that wait for the end of an open transaction: readers with isolation.level=read_committed stop at the
last stable offset. Groups can't get their offsets if these are behind the last stable offset of the coordinator's
topic. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from console.model.cluster import PartitionLag, Topic
from console.model.coordinators import OFFSETS, partition_of
from console.model.lag_trend import LagTrend
from console.model.observed_logs import LogOffsets, ObservedLogs, Place
from console.model.transactions import OpenTransaction, Transaction
from console.triage.facts import Facts
from console.triage.readers import Reading
from console.triage.remembered import remembered

STANDS = 3.0
"""Seconds for which the last stable offset has to stand still for clients to count as waiting."""


class Wait(NamedTuple):
    """A partition whose last stable offset stands still although records follow it."""

    place: Place
    offsets: LogOffsets
    groups: tuple[str, ...]
    """The groups that wait at this offset. For the topic of the groups' coordinators: the groups whose offsets are in
    the partition.
    """
    holder: OpenTransaction | None
    """The transaction that begins at the last stable offset; None if no open transaction is known."""
    known: Transaction | None
    """The state of `holder` at its coordinator; None if it is unknown."""


def is_held(row: PartitionLag, facts: Facts) -> bool:
    """Return whether a group's commit is at the partition's last stable offset, with records behind it: then a consumer
    with read_committed waits there. One record before counts too, since the end marker of the former transaction has
    an offset that some clients do not commit.

    Args:
        row: the group's offset in the partition.
    """
    log = facts.logs.logs.get((row.topic, row.partition))
    return log is not None and log.last.waiting > 0 and row.committed in (log.last.stable, log.last.stable - 1)


SOME, LONGER = 10, 1.5
"""Minimum number of offsets that count as records, as markers of transactions have offsets too; and the minimum wait as
a multiple of the time between two reads, as a new short transaction at each read looks like one of that time."""


def ended_after(row: PartitionLag, logs: ObservedLogs) -> int:
    """Return the number of offsets from a group's commit to the last stable offset, all of whose transactions have
    ended; 0 if that are fewer than `SOME`, or if transactions there usually end within `STANDS`, as those of Kafka
    Streams do.
    """
    log = logs.logs.get((row.topic, row.partition))
    if log is None or log.held < max(STANDS, LONGER * log.every) or row.committed < 0:
        return 0
    ended = log.last.stable - row.committed
    return ended if ended >= SOME else 0


def held_groups(names: Iterable[str], trends: Mapping[str, LagTrend], logs: ObservedLogs) -> Mapping[str, float]:
    """Return group -> the seconds for which transactions usually hold records back in the partitions that it reads, the
    longest; groups without such partitions are missing.
    """
    usual = _usual_waits(logs)
    found = {}
    for name in names if usual else ():
        rows = trends[name].last.lag.partitions if name in trends else ()
        if seconds := max((usual.get((row.topic, row.partition), 0.0) for row in rows), default=0.0):
            found[name] = seconds
    return found


@remembered
def _usual_waits(logs: ObservedLogs) -> Mapping[Place, float]:
    return {place: log.held for place, log in logs.logs.items() if log.waits}


def waits(facts: Facts, known: Mapping[str, Reading], topics: Mapping[str, Topic]) -> Mapping[Place, Wait]:
    """Return partition -> the wait there, sorted by partition. Empty if no last stable offset stands still."""
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

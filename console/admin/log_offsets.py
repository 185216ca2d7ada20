"""Where logs begin, end and are stable, and their newest records: of very many partitions, from leaders that are known.

What a leader does not answer is missing: the next round asks again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeVar

from kio.schema.errors import ErrorCode

from console.admin.errors import AdminError, failure
from console.admin.halving import Halving
from console.admin.link import Link
from console.admin.partitions import (
    CONSUMER,
    EARLIEST,
    LATEST,
    PARTITIONS_AT_ONCE,
    Place,
    by_topic,
    place_text,
)
from console.admin.routing import broker
from console.model.failure import Failure
from console.model.log_course import LogOffsets, Newest

MAX_TIMESTAMP = -3
"""The special timestamp of ListOffsets for the record with the highest timestamp (KIP-734)."""
MAX_TIMESTAMP_SINCE = 7
"""The first version of ListOffsets with it, Kafka 3.0: older brokers take it for a time."""
ANSWER_SECONDS = 5.0
"""Seconds that a leader has for one request."""
REFUSED = (-1, -2)
"""What a partition has that its broker refuses by itself, as another one leads it: no error of the batch."""

T = TypeVar("T")


async def log_offsets(link: Link, led: Mapping[int, Sequence[Place]], *, stable: bool) -> dict[Place, LogOffsets]:
    """Return (topic, partition) -> its offsets, for the partitions that each broker leads. stable: ask for the last
    stable offsets too. Two or three requests to each leader for so many partitions as fit. Raises nothing but what
    cancels."""

    async def at_leader(leader: int, places: Sequence[Place]) -> dict[Place, LogOffsets]:
        # The stable one first: where it is behind, it was behind already before the end was read.
        held = await _asked(link, leader, places, LATEST, stable=True) if stable else {}
        starts = await _asked(link, leader, places, EARLIEST)
        ends = await _asked(link, leader, places, LATEST)
        return {
            place: LogOffsets(starts[place][1], held[place][1] if stable else end, end)
            for place, (_, end) in ends.items()
            if place in starts and (not stable or place in held)
        }

    return await _of_leaders(led, at_leader)


async def held_back(link: Link, led: Mapping[int, Sequence[Place]]) -> frozenset[Place]:
    """Return the partitions, of those that each broker leads, in which records wait for an open transaction."""

    async def at_leader(leader: int, places: Sequence[Place]) -> dict[Place, int]:
        # The stable ones first: where they are behind, they were behind already before the others were read.
        stable = await _asked(link, leader, places, LATEST, stable=True)
        ends = await _asked(link, leader, places, LATEST)
        return {place: end for place, (_, end) in ends.items() if place in stable and stable[place][1] < end}

    return frozenset(await _of_leaders(led, at_leader))


async def newest_records(link: Link, led: Mapping[int, Sequence[Place]]) -> dict[Place, Newest]:
    """Return (topic, partition) -> the record with the highest timestamp, for the partitions that each broker leads;
    empty ones are missing, as are all of a broker before Kafka 3.0."""

    async def at_leader(leader: int, places: Sequence[Place]) -> dict[Place, Newest]:
        version = await link.version("list_offsets", broker(leader))
        if version is None or version < MAX_TIMESTAMP_SINCE:
            return {}
        found = await _asked(link, leader, places, MAX_TIMESTAMP)
        return {place: Newest(*each) for place, each in found.items() if each[1] >= 0}

    return await _of_leaders(led, at_leader)


async def _of_leaders(
    led: Mapping[int, Sequence[Place]], ask: Callable[[int, Sequence[Place]], Awaitable[dict[Place, T]]]
) -> dict[Place, T]:
    async def answered(leader: int, places: Sequence[Place]) -> dict[Place, T]:
        found: dict[Place, T] = {}
        try:
            for start in range(0, len(places), PARTITIONS_AT_ONCE):
                found.update(await ask(leader, places[start : start + PARTITIONS_AT_ONCE]))
        except AdminError:
            return found
        return found

    parts = await asyncio.gather(*(answered(leader, places) for leader, places in led.items()))
    return {place: each for part in parts for place, each in part.items()}


async def _asked(
    link: Link, leader: int, places: Sequence[Place], timestamp: int, *, stable: bool = False
) -> dict[Place, tuple[int, int]]:
    """Return (topic, partition) -> (timestamp, offset), of those without an error. Raises AdminError."""

    async def ask(some: Sequence[Place]) -> Mapping[Place, tuple[int, int] | Failure]:
        return await _answered(link, leader, some, timestamp, stable)

    found = await Halving(place_text).read(places, ask)
    return {place: each for place, each in found.items() if not isinstance(each, Failure) and each != REFUSED}


async def _answered(
    link: Link, leader: int, places: Sequence[Place], timestamp: int, stable: bool
) -> dict[Place, tuple[int, int] | Failure]:
    """Read one answer: (timestamp, offset), `REFUSED`, or why there is none."""

    def build(kio: ModuleType) -> Any:
        from datetime import timedelta

        from console.wire.schemas import for_version

        topics = (
            kio.ListOffsetsTopic(
                name=name,
                partitions=tuple(
                    for_version(kio.ListOffsetsPartition, partition_index=number, timestamp=timestamp)
                    for number in numbers
                ),
            )
            for name, numbers in by_topic(places).items()
        )
        return for_version(
            kio.ListOffsetsRequest,
            replica_id=CONSUMER,
            isolation_level=int(stable),
            topics=tuple(topics),
            timeout=timedelta(seconds=ANSWER_SECONDS),
        )

    response = await link.call("list_offsets", build, to=broker(leader), timeout=ANSWER_SECONDS)
    return {
        (topic.name, part.partition_index): (part.timestamp, part.offset)
        if not part.error_code
        else failure(part.error_code)
        if part.error_code == ErrorCode.unknown_server_error
        else REFUSED
        for topic in response.topics
        for part in topic.partitions
    }

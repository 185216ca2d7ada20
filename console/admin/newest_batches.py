"""The newest batches of some partitions: their size, and whether their records have keys. Changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from console.admin.errors import AdminError
from console.admin.link import Link, broker
from console.admin.partitions import EARLIEST, LATEST, list_offsets
from console.admin.record_times import fetch_request
from console.model.cluster import Partition, Topic
from console.model.records import NewestBatches

PARTITIONS = 3
"""Partitions that are read of a topic: those with a leader, the first by number."""
OFFSETS, BYTES = 50, 64 << 10
"""Offsets before the end from which a read begins, and its bytes; brokers return at least one whole batch."""
SECONDS = 5.0
"""Longest time of the reads together."""


async def newest_batches(link: Link, topics: Iterable[Topic]) -> dict[str, NewestBatches]:
    """Return topic -> what its producers wrote lately. Empty topics are missing, and those that this principal may not
    read.
    """
    known = list(topics)
    try:
        async with asyncio.timeout(SECONDS):
            found = await asyncio.gather(*(_of_topic(link, topic) for topic in known))
    except (TimeoutError, AdminError):
        return {}
    return {topic.name: each for topic, each in zip(known, found, strict=True) if each.records}


async def _of_topic(link: Link, topic: Topic) -> NewestBatches:
    led = [each for each in topic.partitions if each.leader >= 0][:PARTITIONS]
    places = [(topic.name, each.number) for each in led]
    (starts, _), (ends, _) = await asyncio.gather(
        list_offsets(link, dict.fromkeys(places, EARLIEST)), list_offsets(link, dict.fromkeys(places, LATEST))
    )
    begin = {
        each: max(starts[each], ends[each] - OFFSETS) for each in places if starts.get(each, 0) < ends.get(each, 0)
    }
    parts = await asyncio.gather(
        *(
            _of_partition(link, topic, each, begin[topic.name, each.number])
            for each in led
            if (topic.name, each.number) in begin
        )
    )
    return _together(parts)


async def _of_partition(link: Link, topic: Topic, partition: Partition, offset: int) -> NewestBatches:
    wanted = {"partition": partition.number, "fetch_offset": offset, "partition_max_bytes": BYTES}
    asked = fetch_request([(topic, [wanted])], BYTES)
    response = await link.call("fetch", asked, to=broker(partition.leader), timeout=SECONDS)
    if getattr(response, "error_code", 0):
        return NewestBatches()
    parts = [part for each in response.responses for part in each.partitions if not part.error_code]
    # Other requests of the client continue while a large batch is decompressed.
    return _together(await asyncio.to_thread(lambda: [counted(part.records or b"", offset) for part in parts]))


def counted(data: bytes, offset: int) -> NewestBatches:
    """Return the largest batch in the bytes of a partition, and the records from an offset on, with and without keys.
    Control batches, and batches that can't be decoded, are left out.
    """
    from console.wire.record_batches import BatchDamage, OutOfTime, batches, records

    largest = count = keyless = 0
    for batch in batches(data):
        if batch.problem or batch.control or batch.last_offset < offset:
            continue
        largest = max(largest, batch.facts.size)
        try:
            for record in records(batch, "", 0, offset):
                count += 1
                keyless += record.key is None
        except (BatchDamage, OutOfTime):
            continue
    return NewestBatches(largest, count, keyless)


def _together(parts: Sequence[NewestBatches]) -> NewestBatches:
    return NewestBatches(
        max((each.largest for each in parts), default=0),
        sum(each.records for each in parts),
        sum(each.keyless for each in parts),
    )

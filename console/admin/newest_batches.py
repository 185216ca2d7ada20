"""Facts about the newest record batches in some partitions: their size, whether their records have keys, and which
schemas the records name. Changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from console.admin.errors import AdminError
from console.admin.link import Link, broker
from console.admin.partitions import EARLIEST, LATEST, list_offsets
from console.admin.record_times import fetch_request
from console.model import schema_samples as model_samples
from console.model.cluster import Partition, Topic
from console.model.records import NewestBatches, Record
from console.model.schemas import KEY_HEADER, VALUE_HEADER, SchemaKey, framed

if TYPE_CHECKING:
    from console.wire.record_batches import Batch

PARTITIONS = 3
"""Maximum number of partitions of a topic that are read: those with the lowest numbers that have a leader."""
OFFSETS, BYTES = 50, 64 << 10
"""Number of offsets before the end at which a read begins, and its maximum size in bytes; brokers return at least one
whole batch."""
SECONDS = 5.0
"""Maximum seconds for all reads together."""


T = TypeVar("T")


async def newest_batches(link: Link, topics: Iterable[Topic]) -> dict[str, NewestBatches]:
    """Return topic -> facts about its newest batches. Topics that are empty, or that the principal may not read, are
    missing. The result is empty if the reads take longer than `SECONDS`, or fail.
    """
    found = await _of_topics(link, topics, counted)
    return {topic: each for topic, parts in found.items() if (each := _together(parts)).records}


async def schema_samples(link: Link, topics: Iterable[Topic]) -> dict[str, model_samples.SchemaSample]:
    """Return topic -> the schemas that its newest records name. Topics that are empty, or that the principal may not
    read, are missing. The result is empty if the reads take longer than `SECONDS`, or fail.
    """
    found = await _of_topics(link, topics, sampled)
    return {topic: each for topic, parts in found.items() if (each := model_samples.together(parts)).records}


async def _of_topics(link: Link, topics: Iterable[Topic], count: Callable[[bytes, int], T]) -> dict[str, list[T]]:
    """Return topic -> the results of `count` for its partitions that could be read. The result is empty if the reads
    take longer than `SECONDS`, or one of them fails with an AdminError.

    Args:
        count: function of (bytes of a partition, offset at which to begin).
    """
    known = list(topics)
    try:
        async with asyncio.timeout(SECONDS):
            found = await asyncio.gather(*(_of_topic(link, topic, count) for topic in known))
    except (TimeoutError, AdminError):
        return {}
    return {topic.name: each for topic, each in zip(known, found, strict=True)}


async def _of_topic(link: Link, topic: Topic, count: Callable[[bytes, int], T]) -> list[T]:
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
            _of_partition(link, topic, each, begin[topic.name, each.number], count)
            for each in led
            if (topic.name, each.number) in begin
        )
    )
    return [each for part in parts for each in part]


async def _of_partition(
    link: Link, topic: Topic, partition: Partition, offset: int, count: Callable[[bytes, int], T]
) -> list[T]:
    wanted = {"partition": partition.number, "fetch_offset": offset, "partition_max_bytes": BYTES}
    asked = fetch_request([(topic, [wanted])], BYTES)
    response = await link.call("fetch", asked, to=broker(partition.leader), timeout=SECONDS)
    if getattr(response, "error_code", 0):
        return []
    parts = [part for each in response.responses for part in each.partitions if not part.error_code]
    # Count in a thread: other requests of the client continue while a large batch is decompressed.
    return await asyncio.to_thread(lambda: [count(part.records or b"", offset) for part in parts])


def counted(data: bytes, offset: int) -> NewestBatches:
    """Return the size of the largest batch, and how many records have a key and how many have none. Control batches,
    and batches that can't be decoded, are skipped.

    Args:
        data: the batches of a partition as fetched.
        offset: the offset of the first record that counts.
    """
    largest = count = keyless = 0
    for batch in _batches(data, offset):
        largest = max(largest, batch.facts.size)
        for record in _records(batch, offset):
            count += 1
            keyless += record.key is None
    return NewestBatches(largest, count, keyless)


def sampled(data: bytes, offset: int) -> model_samples.SchemaSample:
    """Return the schemas that the records of a partition name. The arguments are those of `counted`."""
    count = bare = 0
    named: dict[tuple[str, SchemaKey], int] = {}
    for batch in _batches(data, offset):
        for record in _records(batch, offset):
            count += 1
            for part, content, header in (
                (model_samples.KEY, record.key, KEY_HEADER),
                (model_samples.VALUE, record.value, VALUE_HEADER),
            ):
                found = framed(content, record.headers, header)
                if found is not None:
                    use = (part, found.key)
                    named[use] = named.get(use, 0) + 1
                elif part == model_samples.VALUE and content is not None:
                    bare += 1
    return model_samples.SchemaSample(count, bare, named)


def _batches(data: bytes, offset: int) -> Iterator[Batch]:
    from console.wire.record_batches import batches

    for batch in batches(data):
        if not (batch.problem or batch.control or batch.last_offset < offset):
            yield batch


def _records(batch: Batch, offset: int) -> Iterator[Record]:
    from console.wire.record_batches import BatchDamage, OutOfTime, records

    try:
        yield from records(batch, "", 0, offset)
    except (BatchDamage, OutOfTime):
        return


def _together(parts: Sequence[NewestBatches]) -> NewestBatches:
    return NewestBatches(
        max((each.largest for each in parts), default=0),
        sum(each.records for each in parts),
        sum(each.keyless for each in parts),
    )

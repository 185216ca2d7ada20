"""The timestamps of the records at given offsets, by a small Fetch for each; only the timestamp is kept.

The requests read as a consumer without a group does, with read_uncommitted, so that an open transaction hides nothing.
If an offset has no record any more, because of compaction or a transaction marker, the next record counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta

from kio.schema.errors import ErrorCode

from console.admin.errors import AdminError, error_name
from console.admin.link import Link, broker
from console.admin.topics import describe_topics
from console.model.cluster import Topic
from console.model.identity import uuid_of
from console.model.time_lag import Spot, Written
from console.wire.fields import Fields

AT_ONCE = 8
"""Number of concurrent Fetch requests."""
BYTES = 4 << 10
"""Maximum size in bytes to fetch from a partition. Brokers return at least one whole batch, whose size the topic
limits.
"""
ROUNDS = 4
"""Maximum number of Fetch requests for one offset, since the batches after it may have no records any more."""
GONE, NO_RECORD, NOT_DECODED, NO_LEADER = (
    "the record was deleted",
    "no record is there",
    "the batch can't be decoded",
    "the partition has no leader",
)


async def record_times(
    link: Link, asked: Iterable[Spot], topics: Mapping[str, Topic], within: float
) -> dict[Spot, Written]:
    """Return offset -> the timestamp of the first record at or after it. Changes nothing.

    Args:
        asked: the offsets to look up, each once.
        topics: name -> topic, as far as known; other topics are described first.
        within: the maximum seconds in total. Offsets without a response by then are missing in the result.

    Raises:
        AdminError: an unknown topic can't be described.
    """
    deadline = asyncio.get_running_loop().time() + within
    spots = tuple(asked)
    if unknown := sorted({spot.topic for spot in spots} - topics.keys()):
        topics = {**topics, **(await describe_topics(link, unknown, within=within)).topics}
    turn = asyncio.Semaphore(AT_ONCE)

    async def read(spot: Spot) -> Written | None:
        async with turn:
            return await _written(link, topics.get(spot.topic), spot, deadline)

    found = await asyncio.gather(*map(read, spots))
    return {spot: written for spot, written in zip(spots, found, strict=True) if written is not None}


async def _written(link: Link, topic: Topic | None, spot: Spot, deadline: float) -> Written | None:
    """Return the timestamp of the first record at or after an offset, or the reason why the partition does not show it.
    Return None if the leader can't be reached, or does not answer before the deadline.

    Args:
        topic: the topic; None if it does not exist.
        deadline: a time on the loop's clock.
    """
    leader = -1 if topic is None else next((p.leader for p in topic.partitions if p.number == spot.partition), -1)
    offset = at = spot.offset
    if topic is None or leader < 0:
        return Written(offset, why=NO_LEADER)
    for _ in range(ROUNDS):
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            return None
        try:
            answer = await _fetch(link, leader, topic, spot.partition, at, left)
        except AdminError:
            return None  # another part reports unreachable brokers
        if isinstance(answer, int):
            refused = answer == ErrorCode.topic_authorization_failed
            why = GONE if answer == ErrorCode.offset_out_of_range else f"Fetch: {error_name(answer)}"
            return Written(offset, why=why, refused=refused)
        # Decode in a thread: other requests of the client continue while a large batch is decompressed.
        found = await asyncio.to_thread(first_timestamp, answer, at)
        if isinstance(found, Written):
            return found._replace(offset=offset)
        if found == at:
            break
        at = found
    return Written(offset, why=NO_RECORD, until=at)


async def _fetch(link: Link, leader: int, topic: Topic, number: int, offset: int, within: float) -> bytes | int:
    """Fetch a partition's batches from an offset on; return ``b""`` if the response has none, or Kafka's error code.
    Raises AdminError. within: the maximum seconds.
    """
    wanted = {"partition": number, "fetch_offset": offset, "partition_max_bytes": BYTES}
    response = await link.call("fetch", fetch_request([(topic, [wanted])], BYTES), to=broker(leader), timeout=within)
    if code := getattr(response, "error_code", 0):
        return int(code)
    for part in (part for topic in response.responses for part in topic.partitions):
        if part.partition_index == number:
            return int(part.error_code) or part.records or b""
    return b""


def fetch_request(
    wanted: Iterable[tuple[Topic, list[Fields]]], most: int, *, committed: bool = False, wait: float = 0.0
) -> Fields:
    """Return the content of a Fetch request such as a consumer sends.

    Args:
        wanted: each topic with the fields of its partitions.
        most: the maximum size in bytes of the response.
        committed: whether to use read_committed, which leaves out open and aborted transactions.
        wait: the seconds for which the broker waits if there are no records.
    """
    return {
        "replica_id": -1,
        "max_wait": timedelta(seconds=wait),
        "min_bytes": int(wait > 0),
        "max_bytes": most,
        "isolation_level": int(committed),
        "topics": [
            {
                "topic": topic.name,
                "topic_id": None if topic.topic_id is None else uuid_of(topic.topic_id),
                "partitions": partitions,
            }
            for topic, partitions in wanted
        ],
        "forgotten_topics_data": (),
    }


def first_timestamp(data: bytes, offset: int) -> Written | int:
    """Return the timestamp of the first record at or after an offset, or the reason if a batch can't be decoded. If the
    batches have no such record, return the offset after them, as an int.
    """
    from console.wire.record_batches import BatchDamage, OutOfTime, batches, records

    end = offset
    for batch in batches(data):
        if batch.problem:
            return Written(offset, why=NOT_DECODED)
        if not batch.control and batch.last_offset >= offset:
            try:
                for record in records(batch, "", 0, offset):
                    return Written(offset, record.timestamp)
            except (BatchDamage, OutOfTime):
                return Written(offset, why=NOT_DECODED)
        end = max(end, batch.last_offset + 1)
    return end

"""The records that MirrorMaker 2 writes to the cluster to which it copies: the newest record of each key, and later the
records that arrive.

MirrorMaker's topics are compacted, but a segment of them may contain the records of a day. So the first read begins
`TAIL` offsets before the end, and each later read where the last one ended. Changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple
from weakref import WeakKeyDictionary

from kio.schema.errors import ErrorCode

from console.admin.errors import AdminError, error_name
from console.admin.link import Link, broker
from console.admin.partitions import EARLIEST, LATEST, offsets_of
from console.admin.record_times import fetch_request
from console.model import mirror
from console.model.cluster import Topic
from console.model.failure import Failure
from console.model.records import Record

TAIL, TAIL_OF_HEARTBEATS = 20_000, 1_000
"""Number of offsets before the end of a topic at which its first read begins; the second for the topic of
heartbeats."""
BYTES = 1 << 20
"""Maximum size in bytes of one Fetch response."""
AT_ONCE = 8
"""Number of topics that are read at the same time."""
MOST_TOPICS = 200
SECONDS = 5.0
"""Maximum seconds for all topics together; the next call continues where this one ended."""
PARTITION = 0
"""The number of the partition that is read: MirrorMaker's topics have only one, and MirrorMaker reads only this one."""


class _At(NamedTuple):
    """The records of one of MirrorMaker's topics that were read so far."""

    id: str | None
    """The id of the topic; None if the brokers have no topic ids."""
    next: int
    """The offset at which the next read begins."""
    kept: Mapping[mirror.Key, mirror.Kept]
    is_part: bool


_known: WeakKeyDictionary[Link, dict[str, _At]] = WeakKeyDictionary()
_NOTHING: Mapping[mirror.Key, mirror.Kept] = MappingProxyType({})


async def describe_mirrors(link: Link, topics: Iterable[Topic]) -> mirror.MirrorListing:
    """Return the newest records of MirrorMaker's topics, and the failures of topics that can't be read.

    Args:
        topics: the topics whose names show that they may be MirrorMaker's. Only the first `MOST_TOPICS` are read.

    Raises:
        AdminError: no broker answers.
    """
    asked = {each.name: each for each in [*topics][:MOST_TOPICS] if each.partitions}
    known = _known.setdefault(link, {})
    for name in known.keys() - asked.keys():
        del known[name]
    places = [(name, PARTITION) for name in asked]
    first, ends = await asyncio.gather(
        offsets_of(link, dict.fromkeys(places, EARLIEST), topics=asked),
        offsets_of(link, dict.fromkeys(places, LATEST), topics=asked),
    )
    deadline = asyncio.get_running_loop().time() + SECONDS
    turn = asyncio.Semaphore(AT_ONCE)
    failures: dict[str, Failure] = {}

    async def read(topic: Topic) -> None:
        start, end = first[topic.name, PARTITION], ends[topic.name, PARTITION]
        async with turn:
            if isinstance(start, Failure):
                failures[topic.name] = start
            elif isinstance(end, Failure):
                failures[topic.name] = end
            elif (why := await _follow(link, known, topic, (start, end), deadline)) is not None:
                failures[topic.name] = why

    await asyncio.gather(*map(read, asked.values()))
    return mirror.MirrorListing(
        {name: mirror.Followed(each.kept, each.is_part) for name, each in known.items()}, failures
    )


async def _follow(
    link: Link, known: dict[str, _At], topic: Topic, within: tuple[int, int], deadline: float
) -> Failure | None:
    """Read a topic up to its end, or until the deadline, and keep its records. Return the failure if a read fails or
    the end is not reached in time, otherwise None.

    Args:
        known: topic -> the records read so far, which this updates.
        within: the start and the end offset of the log.
        deadline: a time on the loop's clock.
    """
    start, end = within
    at = known.get(topic.name)
    if at is None or at.id != topic.topic_id or not start <= at.next <= end:
        # The topic was created again, or records are deleted faster than they are read.
        begin = max(start, end - (TAIL_OF_HEARTBEATS if topic.name.endswith(mirror.HEARTBEATS) else TAIL))
        at = _At(topic.topic_id, begin, _NOTHING, begin > start)
    known[topic.name] = at
    while at.next < end:
        if (left := deadline - asyncio.get_running_loop().time()) <= 0:
            what = f"topic {topic.name}: it was read up to offset {at.next:,} of {end:,} within {SECONDS:g} s"
            return Failure("TIMED_OUT", what, "The next read continues there.")
        try:
            answer = await _fetch(link, topic, at.next, left)
        except AdminError as error:
            return error.failure
        if isinstance(answer, Failure):
            return answer
        # Decode in a thread: other requests of the client continue while a large batch is decompressed.
        kept, after = await asyncio.to_thread(_after, topic.name, answer, at)
        if after <= at.next:
            break
        at = known[topic.name] = at._replace(kept=kept, next=after)
    return None


async def _fetch(link: Link, topic: Topic, offset: int, within: float) -> bytes | Failure:
    wanted = {"partition": PARTITION, "fetch_offset": offset, "partition_max_bytes": BYTES}
    leader = next((each.leader for each in topic.partitions if each.number == PARTITION), -1)
    response = await link.call("fetch", fetch_request([(topic, [wanted])], BYTES), to=broker(leader), timeout=within)
    codes = [getattr(response, "error_code", 0) or 0]
    data = b""
    for part in (part for each in response.responses for part in each.partitions):
        codes.append(part.error_code)
        data = part.records or b""
    code = next((each for each in codes if each), 0)
    if not code or code == ErrorCode.offset_out_of_range:  # deleted meanwhile: the next read begins again
        return data if not code else b""
    name = error_name(code)
    return Failure(
        name, f"topic {topic.name}: Fetch: {name}", "Its records show a flow of MirrorMaker: READ allows it."
    )


def _after(topic: str, data: bytes, at: _At) -> tuple[Mapping[mirror.Key, mirror.Kept], int]:
    """Decode a response and return key -> its newest record, with the records read before; and the offset after the
    batches of the response. A batch that can't be decoded is skipped.

    Args:
        data: the batches of the response.
        at: the records read before.
    """
    from console.wire.record_batches import BatchDamage, OutOfTime, batches, records

    after, found = at.next, list[Record]()
    for batch in batches(data):
        if batch.last_offset < at.next:
            continue
        after = max(after, batch.last_offset + 1)
        if batch.control or batch.problem:
            continue
        try:
            found += records(batch, topic, PARTITION, at.next)
        except (BatchDamage, OutOfTime):
            continue
    return mirror.with_records(at.kept, found), after

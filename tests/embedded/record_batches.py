"""Encoded record batches like a producer's, made by aiokafka, and the requests that produce and fetch them."""

from collections.abc import Sequence
from typing import Any

from aiokafka.record.default_records import DefaultRecordBatchBuilder  # type: ignore[import-untyped]

from tests.embedded.raw_client import RawClient
from tests.support.kafka_messages import Build, with_fields

NOBODY = (-1, -1, -1)
START = 1_700_000_000_000
"""The time at which the tests' clocks begin, ms since 1970."""


def batch(
    *values: bytes,
    times: Sequence[int] = (),
    key: bytes | None = b"k",
    codec: int = 0,
    producer: tuple[int, int, int] = NOBODY,
    transactional: bool = False,
) -> bytes:
    """Return an encoded batch with these values. times: the timestamp of each record, ms since 1970; empty for
    `START` and the milliseconds that follow it. producer: producer id, epoch and base sequence.
    """
    producer_id, epoch, sequence = producer
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=int(transactional),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        batch_size=10**9,
    )
    for place, value in enumerate(values):
        moment = times[place] if times else START + place
        assert builder.append(place, moment, key, value, []) is not None
    return bytes(builder.build())


async def produce(
    client: RawClient, data: bytes, topic: str = "orders", partition: int = 0, *, acks: int = -1, version: int = 9
) -> Any:
    """Produce one batch to a partition; return the partition's result in the response."""
    answer = await client.ask("produce", version, produce_request(data, topic, partition, acks))
    return answer.responses[0].partition_responses[0]


def produce_request(data: bytes, topic: Any, partition: int, acks: int) -> Build:
    """Return a function that makes a Produce request. topic: its name, or its id from version 13 on."""
    return with_fields(acks=acks, timeout=1, topic_data=[(topic, [(partition, data)])])


def fetch_request(
    offset: int,
    *,
    wait: float = 0.0,
    min_bytes: int = 1,
    most: int = 2**20,
    topic: Any = "orders",
    epoch: int = -1,
    **more: Any,
) -> Build:
    """Return a function that makes a Fetch request for partition 0, version 9 or newer. wait: maximum seconds. most:
    maximum bytes. topic: its name, or its id from version 13 on. epoch: current leader epoch; -1 for unknown.
    """
    wanted = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": most, "current_leader_epoch": epoch}
    return with_fields(
        replica_id=-1,
        max_wait=wait,
        min_bytes=min_bytes,
        max_bytes=most,
        topics=[(topic, [wanted])],
        forgotten_topics_data=[],
        **more,
    )


async def fetch(client: RawClient, offset: int, *, version: int = 12, **wanted: Any) -> Any:
    """Fetch from partition 0 at an offset; return the partition's result in the response. wanted: arguments of
    `fetch_request`.
    """
    answer = await client.ask("fetch", version, fetch_request(offset, **wanted))
    return answer.responses[0].partitions[0]


def values(records: bytes | None) -> list[bytes]:
    """Return the values of the records in fetched batches; empty for None."""
    from aiokafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

    found: list[bytes] = []
    memory = MemoryRecords(records or b"")
    while (one := memory.next_batch()) is not None:
        found += [bytes(record.value) for record in one]
    return found

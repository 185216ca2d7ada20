"""Record batches like a producer's, from aiokafka's builder, and the requests for them."""

from collections.abc import Sequence
from typing import Any

from aiokafka.record.default_records import DefaultRecordBatchBuilder  # type: ignore[import-untyped]

from tests.embedded.raw_client import RawClient
from tests.support.kafka_messages import Build, with_fields

NOBODY = (-1, -1, -1)
START = 1_700_000_000_000
"""The time at which the clocks of tests begin, milliseconds."""


def batch(
    *values: bytes,
    times: Sequence[int] = (),
    key: bytes | None = b"k",
    codec: int = 0,
    producer: tuple[int, int, int] = NOBODY,
    transactional: bool = False,
) -> bytes:
    """Return a batch with these values. times: the timestamp of each, milliseconds; producer: id, epoch and base
    sequence.
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
    """Produce one batch; return the partition's part of the answer."""
    answer = await client.ask("produce", version, produce_request(data, topic, partition, acks))
    return answer.responses[0].partition_responses[0]


def produce_request(data: bytes, topic: Any, partition: int, acks: int) -> Build:
    """Return a Produce request. topic: its name, or its id since version 13."""
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
    """Return a Fetch request for partition 0, version 9 or newer. topic: its name, or its id since version 13."""
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
    """Fetch from partition 0; return the partition's part of the answer."""
    answer = await client.ask("fetch", version, fetch_request(offset, **wanted))
    return answer.responses[0].partitions[0]


def values(records: bytes | None) -> list[bytes]:
    """Return the values of fetched records."""
    from aiokafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

    found: list[bytes] = []
    memory = MemoryRecords(records or b"")
    while (one := memory.next_batch()) is not None:
        found += [bytes(record.value) for record in one]
    return found

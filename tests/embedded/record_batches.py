"""Record batches as a producer makes them, with aiokafka's builder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiokafka.record.default_records import DefaultRecordBatchBuilder  # type: ignore[import-untyped]

from console.wire.fields import for_version
from tests.embedded.raw_client import RawClient

NOBODY = (-1, -1, -1)
START = 1_700_000_000_000
"""When clocks of tests begin, in milliseconds."""


def batch(
    *values: bytes,
    times: Sequence[int] = (),
    key: bytes | None = b"k",
    codec: int = 0,
    producer: tuple[int, int, int] = NOBODY,
    transactional: bool = False,
) -> bytes:
    """A batch of these values. times: milliseconds, of each; producer: its id, epoch and base sequence."""
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
    """Produce one batch; the partition's answer."""
    answer = await client.ask("produce", version, lambda m: produce_request(m, data, topic, partition, acks))
    return answer.responses[0].partition_responses[0]


def produce_request(m: Any, data: bytes, topic: str, partition: int, acks: int) -> Any:
    """A request of any version that has names."""
    from datetime import timedelta

    return m.ProduceRequest(
        acks=acks,
        timeout=timedelta(seconds=1),
        topic_data=(
            m.TopicProduceData(name=topic, partition_data=(m.PartitionProduceData(index=partition, records=data),)),
        ),
    )


def fetch_request(
    m: Any,
    offset: int,
    *,
    wait: float = 0.0,
    min_bytes: int = 1,
    most: int = 2**20,
    topic: Any = "orders",
    epoch: int = -1,
) -> Any:
    """A request of version 9 or more for partition 0 of a topic, which is named or, from version 13 on, has an id."""
    from datetime import timedelta

    named = {"topic": topic} if isinstance(topic, str) else {"topic_id": topic}
    return for_version(
        m.FetchRequest,
        replica_id=-1,
        max_wait=timedelta(seconds=wait),
        min_bytes=min_bytes,
        max_bytes=most,
        topics=(
            m.FetchTopic(
                **named,
                partitions=(
                    for_version(
                        m.FetchPartition,
                        partition=0,
                        fetch_offset=offset,
                        partition_max_bytes=most,
                        current_leader_epoch=epoch,
                    ),
                ),
            ),
        ),
        forgotten_topics_data=(),
    )


async def fetch(client: RawClient, offset: int, *, version: int = 12, **wanted: Any) -> Any:
    """Fetch from partition 0; the partition's answer."""
    answer = await client.ask("fetch", version, lambda m: fetch_request(m, offset, **wanted))
    return answer.responses[0].partitions[0]


def values(records: bytes | None) -> list[bytes]:
    """The values in what was fetched."""
    from aiokafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

    found: list[bytes] = []
    memory = MemoryRecords(records or b"")
    while (one := memory.next_batch()) is not None:
        found += [bytes(record.value) for record in one]
    return found

"""Dead letters as tools write them, and a consumer with read_committed that counts what was sent again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from console.admin.link import Link
from console.admin.partitions import LATEST, offsets_of
from console.admin.record_search import search
from console.model.changes import NewRecords, ProduceRecords
from console.model.new_records import NewRecord, batched
from console.model.records import First, Header, Record, Search
from console.model.secret import Contents
from tests.support.changing import outcomes

TIMEOUT = "java.net.SocketTimeoutException"


def spring(
    topic: str, partition: int = 0, offset: int = 0, exception: str = TIMEOUT, group: str = "billing"
) -> tuple[Header, ...]:
    """The headers of Spring Kafka's DeadLetterPublishingRecoverer."""
    return (
        (b"kafka_dlt-exception-fqcn", b"org.springframework.kafka.listener.ListenerExecutionFailedException"),
        (b"kafka_dlt-exception-cause-fqcn", exception.encode()),
        (b"kafka_dlt-exception-message", b"Listener failed; nested exception"),
        (b"kafka_dlt-original-topic", topic.encode()),
        (b"kafka_dlt-original-partition", partition.to_bytes(4)),
        (b"kafka_dlt-original-offset", offset.to_bytes(8)),
        (b"kafka_dlt-original-consumer-group", group.encode()),
    )


async def write(link: Link, topic: str, partition: int, records: Sequence[NewRecord]) -> None:
    """Write records to a partition."""
    for number, batch in enumerate(batched(records)):
        target = NewRecords(topic, partition, number)
        assert (await outcomes(link, ProduceRecords({target: Contents(batch)})))[target].ok


async def read(link: Link, *topics: str) -> list[Record]:
    """All records of topics that a consumer with read_committed gets."""
    found: list[Record] = []
    async for portion in search(link, Search(topics, start=First())):
        found += portion.records
        assert not portion.problems
    return found


async def counted(link: Link, *topics: str) -> Counter[bytes | None]:
    """How often each value is there."""
    return Counter(each.value for each in await read(link, *topics))


async def end_of(link: Link, topic: str, partition: int) -> int:
    """The end of a partition."""
    found = (await offsets_of(link, {(topic, partition): LATEST}))[topic, partition]
    assert isinstance(found, int)
    return found

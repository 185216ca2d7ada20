"""Headers of dead letters as other tools write them, and helpers that read records with read_committed."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from console.admin.link import Link
from console.admin.partitions import LATEST, offsets_of
from console.admin.record_search import search
from console.embedded import faults
from console.embedded.brokers import ThreadedCluster
from console.embedded.state import ClusterState
from console.model import changes, new_records, observed_logs, secret
from console.model.cluster import CommittedOffset, LogRange
from console.model.records import First, Header, Record, Search
from console.model.snapshot import Snapshot, with_log_ranges
from console.session.session import Session
from tests.support.changing import outcomes
from tests.support.patience import PATIENCE

TIMEOUT = "java.net.SocketTimeoutException"


def spring(
    topic: str, partition: int = 0, offset: int = 0, exception: str = TIMEOUT, group: str = "billing"
) -> tuple[Header, ...]:
    """Return the headers that Spring Kafka's DeadLetterPublishingRecoverer writes for a record of a topic, partition
    and offset. exception: its class name. group: the consumer group.
    """
    return (
        (b"kafka_dlt-exception-fqcn", b"org.springframework.kafka.listener.ListenerExecutionFailedException"),
        (b"kafka_dlt-exception-cause-fqcn", exception.encode()),
        (b"kafka_dlt-exception-message", b"Listener failed; nested exception"),
        (b"kafka_dlt-original-topic", topic.encode()),
        (b"kafka_dlt-original-partition", partition.to_bytes(4)),
        (b"kafka_dlt-original-offset", offset.to_bytes(8)),
        (b"kafka_dlt-original-consumer-group", group.encode()),
    )


def learnt_meanwhile(
    cluster: ThreadedCluster,
    session: Session,
    learn: Callable[[Snapshot], Snapshot],
    happens: Callable[[ClusterState], None] = lambda _: None,
) -> threading.Event:
    """Change the session's snapshot while the broker answers the next fetch request, as a periodic read would.

    Args:
        learn: returns the changed snapshot.
        happens: is called with the cluster's state right before the snapshot changes, to change that state.

    Returns:
        An event that is set once the snapshot has changed.
    """
    loop, has_read = asyncio.get_running_loop(), threading.Event()

    def read_on() -> None:
        session.learn(lambda known, _at: learn(known))
        has_read.set()

    def meanwhile(state: ClusterState) -> None:
        happens(state)
        loop.call_soon_threadsafe(read_on)
        assert has_read.wait(PATIENCE)

    fault = faults.Fault(faults.Meanwhile(meanwhile), api="fetch", times=1)
    cluster.call(lambda each: each.faults.add(fault))
    return has_read


def with_range(place: observed_logs.Place, found: LogRange) -> Callable[[Snapshot], Snapshot]:
    """Return a function that returns a snapshot with this log range (first and end offset) of a partition."""
    return lambda known: with_log_ranges(known, [place], {place: found})


def gone_on(group: str, place: observed_logs.Place, offset: int) -> Callable[[Snapshot], Snapshot]:
    """Return a function that returns a snapshot in which the group's committed offset of a partition is `offset`."""

    def learn(known: Snapshot) -> Snapshot:
        position = known.group_positions[group]
        went_on = replace(position, committed={**position.committed, place: CommittedOffset(offset)})
        return replace(known, group_positions={**known.group_positions, group: went_on})

    return learn


async def write(link: Link, topic: str, partition: int, records: Sequence[new_records.NewRecord]) -> None:
    for number, batch in enumerate(new_records.batched(records)):
        target = changes.NewRecords(topic, partition, number)
        assert (await outcomes(link, changes.ProduceRecords({target: secret.Contents(batch)})))[target].ok


async def read(link: Link, *topics: str) -> list[Record]:
    """Return all records of topics that a consumer with read_committed gets. Raises AssertionError if a partition can't
    be read.
    """
    found: list[Record] = []
    async for portion in search(link, Search(topics, start=First())):
        found += portion.records
        assert not portion.problems
    return found


async def counted(link: Link, *topics: str) -> Counter[bytes | None]:
    """Return value -> the number of records with this value that a consumer with read_committed gets; None for records
    without a value.
    """
    return Counter(each.value for each in await read(link, *topics))


async def end_of(link: Link, topic: str, partition: int) -> int:
    found = (await offsets_of(link, {(topic, partition): LATEST}))[topic, partition]
    assert isinstance(found, int)
    return found

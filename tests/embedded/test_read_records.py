"""Records of embedded clusters in trouble: damaged batches, hung and failing leaders, deleted offsets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]

from console.admin import records as reading
from console.admin.errors import BrokerError
from console.admin.link import LONG, Link, aside
from console.admin.records import read_records
from console.admin.settings import ConnectionSettings
from console.contexts.context import parse_bootstrap
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.faults import Delay, Fail, Fault
from console.embedded.spec import ClusterSpec
from console.model.records import First, FromOffset, OfGroup, Record, RecordsQuery
from console.present.records import kind
from tests.embedded.poisoned import poisoned
from tests.support.changing import make_topic
from tests.support.patience import PATIENCE


@pytest.fixture(scope="module")
def running() -> Iterator[ThreadedCluster]:
    """Ten records in partition 0 of orders, three in partition 1."""
    with poisoned() as cluster:
        yield cluster


@pytest.fixture
async def link(running: ThreadedCluster) -> AsyncIterator[Link]:
    """Connected to it; no fault is left behind."""
    made = Link(ConnectionSettings(parse_bootstrap(running.bootstrap)))
    yield made
    await made.close()
    running.call(lambda one: one.faults.clear())


def fault(running: ThreadedCluster, effect: Fail | Delay, times: int | None = None) -> None:
    """For Fetch, from now on, or so many times."""
    running.call(lambda one: one.faults.add(Fault(effect, api="fetch", times=times)))


def damage(one: EmbeddedCluster, place: int) -> None:
    """Change a byte of a batch's records."""
    log = one.state.logs["orders", 0]
    batch = log.batches[place]
    data = bytearray(batch.data)
    data[-3] ^= 0xFF
    log._batches[place] = replace(batch, data=bytes(data))


async def test_a_damaged_batch_is_a_line_between_the_records(running: ThreadedCluster, link: Link) -> None:
    running.call(lambda one: damage(one, 5))
    try:
        found = await read_records(link, RecordsQuery("orders", 0, First(), 100))
    finally:
        running.call(lambda one: damage(one, 5))
    assert [record.offset for record in found.records] == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert [str(line) for line in found.undecodable] == [
        "orders-0 offset 5: can't be decoded: its checksum is wrong",
    ]


async def test_a_leader_that_hangs_ends_the_read_in_time(
    running: ThreadedCluster, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_SECONDS", 0.3)
    fault(running, Delay(30))
    found = await read_records(link, RecordsQuery("orders"))
    assert (found.records, found.stopped) == ((), "time")


async def test_a_moving_leader_is_asked_again(running: ThreadedCluster, link: Link) -> None:
    fault(running, Fail(6), times=2)
    found = await read_records(link, RecordsQuery("orders", 0))
    assert len(found.records) == 10


async def test_an_error_that_stays_is_the_partitions(running: ThreadedCluster, link: Link) -> None:
    fault(running, Fail(6))
    with pytest.raises(BrokerError, match="NOT_LEADER_OR_FOLLOWER: orders-0"):
        await read_records(link, RecordsQuery("orders", 0))


async def test_a_missing_right_is_named(running: ThreadedCluster, link: Link) -> None:
    fault(running, Fail(29))
    with pytest.raises(BrokerError, match="may not be read") as refused:
        await read_records(link, RecordsQuery("orders", 0))
    assert refused.value.failure.name == "TOPIC_AUTHORIZATION_FAILED"
    assert "READ on TOPIC orders" in refused.value.failure.remedy


async def test_offsets_that_were_deleted_are_said(running: ThreadedCluster, link: Link) -> None:
    running.call(lambda one: one.state.logs["orders", 0].delete_before(2))
    found = await read_records(link, RecordsQuery("orders", 0, FromOffset(1), 3))
    assert [record.offset for record in found.records] == [2, 3, 4]
    assert found.notes == ("partition 0: offset 1 was deleted; the log begins at 2",)


async def test_two_reads_at_once_do_not_mix(link: Link) -> None:
    one, other = await asyncio.gather(
        read_records(link, RecordsQuery("orders", 0, FromOffset(3), 2)),
        read_records(link, RecordsQuery("orders", 1, First(), 9)),
    )
    assert {record.partition for record in one.records} == {0}
    assert {record.partition for record in other.records} == {1}


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_transactions_are_read_as_aiokafka_reads_them(running: ThreadedCluster, link: Link, codec: str) -> None:
    topic = f"in-transactions-{codec}"
    await make_topic(link, topic)
    producer = AIOKafkaProducer(
        bootstrap_servers=running.bootstrap, transactional_id=f"writer-{codec}", compression_type=codec
    )
    await producer.start()
    for outcome in ("commit", "abort", "commit", "abort"):
        await producer.begin_transaction()
        for place in range(3):
            await producer.send_and_wait(topic, f"{outcome} {place} ".encode() * 9)
        await (producer.commit_transaction() if outcome == "commit" else producer.abort_transaction())
    await producer.begin_transaction()
    await producer.send_and_wait(topic, b"open")
    place = TopicPartition(topic, 0)
    for isolation in ("read_committed", "read_uncommitted"):
        consumer = AIOKafkaConsumer(bootstrap_servers=running.bootstrap, isolation_level=isolation)
        await consumer.start()
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        found = await read_records(link, RecordsQuery(topic, 0, First(), 100, isolation == "read_committed"))
        theirs: list[tuple[int, bytes]] = []
        while len(theirs) < len(found.records):
            for batch in (await consumer.getmany(timeout_ms=500)).values():
                theirs += [(record.offset, record.value) for record in batch]
        await consumer.stop()
        assert [(record.offset, record.value) for record in found.records] == theirs
        assert len(theirs) == (6 if isolation == "read_committed" else 13)
        assert [note for note in found.notes if "holds back" in note] == (
            ["partition 0: an open transaction holds back offsets 16 to 16; uncommitted shows them"]
            if isolation == "read_committed"
            else []
        )
    await producer.abort_transaction()
    await producer.stop()


async def test_records_that_are_deleted_during_the_read_are_said(running: ThreadedCluster, link: Link) -> None:
    await make_topic(link, "shrinking", retention_ms="-1")
    producer = AIOKafkaProducer(bootstrap_servers=running.bootstrap)
    await producer.start()
    for place in range(10):
        await producer.send_and_wait("shrinking", b"%d" % place * 50_000)
    await producer.stop()

    def delete_meanwhile(record: Record) -> bool:
        if record.offset == 0:
            running.call(lambda one: one.state.logs["shrinking", 0].delete_before(6))
        return True

    found = await read_records(link, RecordsQuery("shrinking", 0, First(), 20), delete_meanwhile)
    assert [record.offset for record in found.records] == [0, 6, 7, 8, 9]
    assert found.notes == ("partition 0: offsets 1 to 5 were deleted meanwhile",)


async def test_the_stuck_group_of_the_demo_stands_on_a_record_that_is_not_json() -> None:
    with run_in_thread(ClusterSpec(scenario="groups")) as groups:
        link = Link(ConnectionSettings(parse_bootstrap(groups.bootstrap)))
        try:
            found = await read_records(link, RecordsQuery("logistics.shipments", 2, OfGroup("dispatch")))
        finally:
            await link.close()
    assert [kind(record.value) for record in found.records] == ["binary", "json", "json"]


async def test_records_are_decoded_and_looked_at_while_the_clients_loop_goes_on(
    running: ThreadedCluster, link: Link
) -> None:
    turned = threading.Event()

    def wanted(record: Record) -> bool:
        return turned.wait(PATIENCE)

    first = asyncio.ensure_future(read_records(link, RecordsQuery("orders", 0, First(), 5), wanted))
    asyncio.get_running_loop().call_later(0.05, turned.set)
    assert len((await first).records) == 5


@pytest.mark.parametrize("size", [LONG, 100 * LONG])
async def test_a_long_answer_is_decoded_while_the_clients_loop_goes_on(size: int) -> None:
    turned = threading.Event()
    decoding = asyncio.ensure_future(aside(size, lambda: turned.wait(PATIENCE)))
    asyncio.get_running_loop().call_soon(turned.set)
    assert await decoding

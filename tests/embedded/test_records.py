"""Tests of records over sockets: accepted and refused batches, retention, and fetches."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.partitions import partition_size
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from console.model.config import topic_resource
from tests.embedded import record_batches
from tests.embedded.raw_client import RawClient, framed
from tests.support.kafka_messages import with_fields
from tests.support.manual_clock import ManualClock

pytestmark = pytest.mark.filterwarnings("error")
TOPIC_ID_FROM = 13


@pytest.fixture
async def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def cluster(clock: ManualClock) -> AsyncIterator[EmbeddedCluster]:
    """Provide a cluster with three brokers; broker 1 leads the only partition of ``orders``."""
    running = EmbeddedCluster(ClusterSpec(static_configs={"log.retention.check.interval.ms": "1"}), clock)
    running.state.put_topic(new_topic("orders", [(1, 2)], running.state.alive()))
    async with running:
        yield running


@pytest.fixture
async def client(cluster: EmbeddedCluster) -> AsyncIterator[RawClient]:
    async with RawClient(cluster) as connected:
        yield connected


def now(clock: ManualClock) -> int:
    return int(clock.time() * 1000)


def config(cluster: EmbeddedCluster, **keys: str) -> None:
    cluster.state.alter_config(topic_resource("orders"), {key.replace("_", "."): value for key, value in keys.items()})


async def test_topics_by_id(cluster: EmbeddedCluster, client: RawClient, clock: ManualClock) -> None:
    topic_id = cluster.state.topics["orders"].id

    data = record_batches.batch(b"a", times=[now(clock)])
    answer = await client.ask("produce", 13, record_batches.produce_request(data, topic_id, 0, -1))
    assert (answer.responses[0].topic_id, answer.responses[0].partition_responses[0].error_code) == (topic_id, 0)
    for version in range(TOPIC_ID_FROM, 19):
        assert record_batches.values(
            (await record_batches.fetch(client, 0, version=version, topic=topic_id)).records
        ) == [b"a"]
    unknown = await record_batches.fetch(client, 0, version=18, topic=type(topic_id)(int=5))
    assert unknown.error_code == 100


async def test_limits_of_a_topic(cluster: EmbeddedCluster, client: RawClient) -> None:
    config(cluster, max_message_bytes="100")
    assert (await record_batches.produce(client, record_batches.batch(b"x" * 100))).error_code == 10
    config(cluster, max_message_bytes="200", min_insync_replicas="3")  # more than its replicas: all of them
    assert (await record_batches.produce(client, record_batches.batch(b"x" * 100))).error_code == 0
    await cluster.broker_down(2)
    assert (await record_batches.produce(client, record_batches.batch(b"x" * 100))).error_code == 19
    assert (await record_batches.produce(client, record_batches.batch(b"x" * 100), acks=1)).error_code == 0
    assert (await record_batches.produce(client, record_batches.batch(b"x" * 100), acks=2)).error_code == 21


async def test_who_does_not_lead_says_who_does(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster, broker=2) as other:
        answer = await other.ask(
            "produce", 12, record_batches.produce_request(record_batches.batch(b"a"), "orders", 0, -1)
        )
        (part,) = answer.responses[0].partition_responses
        assert (part.error_code, part.current_leader.leader_id) == (6, 1)
        assert [(node.node_id, node.port) for node in answer.node_endpoints] == [(1, cluster.addresses[1][1])]
        topic_id = cluster.state.topics["orders"].id
        answer = await other.ask("fetch", 17, record_batches.fetch_request(0, topic=topic_id))
        (part,) = answer.responses[0].partitions
        assert (part.error_code, part.current_leader.leader_id, len(answer.node_endpoints)) == (6, 1, 1)
        assert (await record_batches.produce(other, record_batches.batch(b"a"), "nothing")).error_code == 3
        assert (await record_batches.produce(other, record_batches.batch(b"a"), partition=7)).error_code == 3


async def test_an_old_leader_epoch_is_fenced(cluster: EmbeddedCluster, client: RawClient) -> None:
    await cluster.broker_down(1)
    await cluster.broker_up(1)
    async with RawClient(cluster, broker=2) as leader:
        epoch = cluster.state.topics["orders"].partitions[0].leader_epoch
        assert (await record_batches.fetch(leader, 0, epoch=epoch - 1)).error_code == 74
        assert (await record_batches.fetch(leader, 0, epoch=epoch + 1)).error_code == 75
        assert (await record_batches.fetch(leader, 0, epoch=epoch)).error_code == 0


async def test_nobody_waits_for_acks_of_0(cluster: EmbeddedCluster, client: RawClient) -> None:
    client.request("produce", 9, record_batches.produce_request(record_batches.batch(b"a"), "orders", 0, 0))
    assert (await record_batches.fetch(client, 0)).high_watermark == 1
    client.request("produce", 9, record_batches.produce_request(record_batches.batch(b"a"), "nothing", 0, 0))
    assert await client.rest() == b""


async def test_a_fetch_waits_for_records_and_no_longer(
    cluster: EmbeddedCluster, client: RawClient, clock: ManualClock
) -> None:
    client.request("fetch", 12, record_batches.fetch_request(0, wait=30, min_bytes=1))
    await clock.asleep()
    async with RawClient(cluster) as writer:
        await record_batches.produce(writer, record_batches.batch(b"a", times=[now(clock)]))
        assert (await record_batches.fetch(writer, 0)).high_watermark == 1
    assert b"\x00\x00\x00\x01" in await client.frame()
    client.request("fetch", 12, record_batches.fetch_request(1, wait=30, min_bytes=1))
    await clock.asleep()
    clock.advance(31)
    assert await client.frame()


async def test_a_fetch_that_waits_hears_of_another_leader(
    cluster: EmbeddedCluster, client: RawClient, clock: ManualClock
) -> None:
    client.request("fetch", 12, record_batches.fetch_request(0, wait=30))
    await clock.asleep()
    topic = cluster.state.topics["orders"]
    moved = topic.partitions[0]._replace(leader=2, leader_epoch=5)
    cluster.state.put_topic(replace(topic, partitions=(moved,)))
    assert b"\x00\x06" in await client.frame()


async def test_a_large_batch_comes_alone_and_limits_hold_for_the_rest(client: RawClient, clock: ManualClock) -> None:
    for _ in range(3):
        await record_batches.produce(client, record_batches.batch(b"x" * 1000, times=[now(clock)]))
    assert len(record_batches.values((await record_batches.fetch(client, 0, most=10)).records)) == 1
    assert len(record_batches.values((await record_batches.fetch(client, 0, most=2500)).records)) == 2


async def test_an_incremental_fetch_session_is_not_known(client: RawClient) -> None:
    answer = await client.ask("fetch", 12, record_batches.fetch_request(0, session_id=4, session_epoch=2))
    assert (answer.error_code, answer.session_id) == (70, 0)


async def offset_at(client: RawClient, timestamp: int, version: int = 8) -> tuple[int, int, int]:
    answer = await client.ask(
        "list_offsets",
        version,
        with_fields(
            replica_id=-1,
            isolation_level=0,
            topics=[{"name": "orders", "partitions": [{"partition_index": 0, "timestamp": timestamp}]}],
        ),
    )
    part = answer.topics[0].partitions[0]
    return part.error_code, part.timestamp, part.offset


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
async def test_places_in_a_log(client: RawClient, clock: ManualClock, codec: int) -> None:
    t = now(clock)
    assert await offset_at(client, 0) == (0, -1, -1)
    await record_batches.produce(client, record_batches.batch(b"a", b"b", b"c", times=[t, t + 20, t + 10], codec=codec))
    await record_batches.produce(client, record_batches.batch(b"d", times=[t + 15], codec=codec))
    assert await offset_at(client, -1) == (0, -1, 4)
    assert await offset_at(client, -2) == (0, -1, 0)
    assert await offset_at(client, -3) == (0, t + 20, 1)
    assert await offset_at(client, -3, version=6) == (35, -1, -1)
    assert await offset_at(client, t + 1) == (0, t + 20, 1)
    assert await offset_at(client, t + 21) == (0, -1, -1)


async def test_log_append_time(cluster: EmbeddedCluster, client: RawClient, clock: ManualClock) -> None:
    config(cluster, message_timestamp_type="LogAppendTime")
    answer = await record_batches.produce(client, record_batches.batch(b"a", times=[5]))
    assert answer.log_append_time.timestamp() == clock.time()
    got = await record_batches.fetch(client, 0)
    assert record_batches.values(got.records) == [b"a"]
    assert await offset_at(client, 0) == (0, now(clock), 0)


async def test_old_records_go_and_the_log_starts_later(
    cluster: EmbeddedCluster, client: RawClient, clock: ManualClock
) -> None:
    config(cluster, retention_ms="1000")
    await record_batches.produce(client, record_batches.batch(b"a", times=[now(clock)]))
    clock.advance(0.9)
    await record_batches.produce(client, record_batches.batch(b"b", times=[now(clock)]))
    clock.advance(0.2)
    got = await record_batches.fetch(client, 1)
    assert (got.log_start_offset, record_batches.values(got.records)) == (1, [b"b"])
    assert (await record_batches.fetch(client, 0)).error_code == 1
    assert await offset_at(client, -2) == (0, -1, 1)
    assert partition_size(cluster.state, "orders", 0) == len(record_batches.batch(b"b"))


async def test_too_many_records_go(cluster: EmbeddedCluster, client: RawClient, clock: ManualClock) -> None:
    size = len(record_batches.batch(b"x" * 1000))
    config(cluster, retention_bytes=str(3 * size))
    for _ in range(5):
        await record_batches.produce(client, record_batches.batch(b"x" * 1000, times=[now(clock)]))
    clock.advance(1)
    got = await record_batches.fetch(client, 2)
    assert (got.log_start_offset, got.high_watermark) == (2, 5)
    assert partition_size(cluster.state, "orders", 0) == 3 * size


async def test_retention_is_seen_to_now_and_then(clock: ManualClock) -> None:
    running = EmbeddedCluster(ClusterSpec(), clock)
    running.state.put_topic(new_topic("orders", [(1,)], running.state.alive()))
    async with running, RawClient(running) as client:
        config(running, retention_ms="1000")
        await record_batches.produce(client, record_batches.batch(b"a", times=[5]))
        clock.advance(299)
        assert record_batches.values((await record_batches.fetch(client, 0)).records) == [b"a"]
        clock.advance(1)
        assert (await record_batches.fetch(client, 0)).error_code == 1


async def test_a_deleted_topic_takes_its_records_along(cluster: EmbeddedCluster, client: RawClient) -> None:
    await record_batches.produce(client, record_batches.batch(b"a"), acks=1)
    cluster.state.remove_topic("orders")
    assert (await record_batches.fetch(client, 0)).error_code == 3
    cluster.state.put_topic(new_topic("orders", [(1,)], cluster.state.alive()))
    assert (await record_batches.fetch(client, 0)).high_watermark == 0


async def end_of_epoch(client: RawClient, epoch: int) -> tuple[int, int]:
    answer = await client.ask(
        "offset_for_leader_epoch", 4, with_fields(topics=[("orders", [{"partition": 0, "leader_epoch": epoch}])])
    )
    part = answer.topics[0].partitions[0]
    return part.leader_epoch, part.end_offset


async def test_where_leader_epochs_ended(cluster: EmbeddedCluster, client: RawClient, clock: ManualClock) -> None:
    for epoch in (0, 3, 5):
        topic = cluster.state.topics["orders"]
        moved = topic.partitions[0]._replace(leader_epoch=epoch)
        cluster.state.put_topic(replace(topic, partitions=(moved,)))
        await record_batches.produce(client, record_batches.batch(b"a", b"b", times=[now(clock)] * 2))
    assert [await end_of_epoch(client, epoch) for epoch in range(7)] == [
        (0, 2), (0, 2), (0, 2), (3, 4), (3, 4), (5, 6), (-1, -1),
    ]  # fmt: skip


async def test_producer_ids(cluster: EmbeddedCluster, client: RawClient) -> None:
    async def ask(transactional_id: str | None) -> Any:
        return await client.ask(
            "init_producer_id", 4, with_fields(transactional_id=transactional_id, transaction_timeout=1)
        )

    first, second = await ask(None), await ask(None)
    assert first.error_code == second.error_code == 0
    assert first.producer_id != second.producer_id
    assert (await ask("")).error_code == 42


async def test_internal_topics_are_for_brokers(cluster: EmbeddedCluster, client: RawClient) -> None:
    internal = new_topic("__consumer_offsets", [(1,)], cluster.state.alive(), internal=True)
    cluster.state.put_topic(internal)
    assert (await record_batches.produce(client, record_batches.batch(b"a"), "__consumer_offsets")).error_code == 17


async def test_bytes_that_are_no_batch_end_nothing(client: RawClient) -> None:
    for data in (b"\x00" * 61, b"\xff" * 100, record_batches.batch(b"a")[:-1], record_batches.batch(b"a") + b"\x00"):
        assert (await record_batches.produce(client, data)).error_code in (2, 87)
    client.send(framed(b""))

"""Tests of kafka-python, confluent-kafka (librdkafka) and aiokafka on an embedded cluster."""

from collections.abc import Iterator
from typing import Any

import pytest

from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.spec import RELEASE_NAMES, ClusterSpec
from console.model.quota import QuotaEntity
from tests.support.real_clusters import by_release

pytestmark = pytest.mark.slow

RECORDS = 60
VALUES = [b"value %d" % number for number in range(RECORDS)]
NO_DELAY = {"group.initial.rebalance.delay.ms": "0"}
PATIENCE = 300
CODECS = ("gzip", "snappy", "lz4", "zstd", "none")


@pytest.fixture(params=by_release(RELEASE_NAMES, "4.4"))
def cluster(request: pytest.FixtureRequest) -> Iterator[ThreadedCluster]:
    with run_in_thread(ClusterSpec(versions=request.param, static_configs=NO_DELAY)) as started:
        yield started


def librdkafka(cluster: ThreadedCluster) -> dict[str, Any]:
    """Return librdkafka's settings for the cluster, with its logs about connections off."""
    return {"bootstrap.servers": cluster.bootstrap, "log_level": 0}


def test_kafka_python_administers(cluster: ThreadedCluster) -> None:
    import kafka
    from kafka import admin as names
    from kafka.errors import TopicAlreadyExistsError

    client = kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    try:
        topic = names.NewTopic("orders", 3, 2, topic_configs={"retention.ms": "1000000"})
        client.create_topics([topic])
        with pytest.raises(TopicAlreadyExistsError):
            client.create_topics([topic])
        client.create_partitions({"orders": names.NewPartitions(5)})
        (described,) = client.describe_topics(["orders"])
        assert [len(part["replica_nodes"]) for part in described["partitions"]] == [2] * 5
        client.alter_configs([names.ConfigResource("TOPIC", "orders", {"max.message.bytes": "5000"})])
        configs = client.describe_configs([names.ConfigResource("TOPIC", "orders")])["topic"]["orders"]
        assert configs["max.message.bytes"]["value"] == "5000"
        rule = names.ACL(
            "User:alice",
            "*",
            names.ACLOperation.READ,
            names.ACLPermissionType.ALLOW,
            names.ResourcePattern(names.ResourceType.TOPIC, "orders"),
        )
        assert client.create_acls([rule])["failed"] == []
        everything = names.ACLFilter(
            "User:alice",
            None,
            names.ACLOperation.ANY,
            names.ACLPermissionType.ANY,
            names.ResourcePatternFilter(names.ResourceType.ANY, None, names.ACLResourcePatternType.ANY),
        )
        assert client.describe_acls(everything)[0] == [rule]
        assert client.delete_acls([everything])[0][1] == [rule]
        client.delete_topics(["orders"])
        assert "orders" not in client.list_topics()
    finally:
        client.close()


def test_kafka_python_writes_and_reads_in_a_group(cluster: ThreadedCluster) -> None:
    import kafka

    client = kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    client.create_topics([kafka.admin.NewTopic("orders", 3, 2)])
    producer = kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap, compression_type="gzip")
    sent = [producer.send("orders", value) for value in VALUES]
    assert all(each.get(PATIENCE).offset >= 0 for each in sent)
    producer.close()
    consumer = kafka.KafkaConsumer(
        "orders", bootstrap_servers=cluster.bootstrap, group_id="readers", auto_offset_reset="earliest"
    )
    seen: list[bytes] = []
    while len(seen) < RECORDS:
        polled = consumer.poll(timeout_ms=PATIENCE * 1000)
        assert polled
        seen += [record.value for records in polled.values() for record in records]
    assert sorted(seen) == sorted(VALUES)
    consumer.commit()
    places = list(consumer.assignment())
    assert {place: consumer.committed(place) for place in places} == consumer.end_offsets(places)
    assert [group["group_id"] for group in client.list_groups()] == ["readers"]
    assert client.describe_groups(["readers"])["readers"]["group_state"] == "Stable"
    consumer.close()
    assert client.delete_groups(["readers"]) == {"readers": "OK"}
    client.close()


def test_librdkafka_administers(cluster: ThreadedCluster) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka import admin as names

    client = names.AdminClient(librdkafka(cluster))
    topic = names.NewTopic("orders", num_partitions=3, replication_factor=2, config={"retention.ms": "1000000"})
    client.create_topics([topic])["orders"].result(PATIENCE)
    with pytest.raises(KafkaException, match="already exists"):
        client.create_topics([topic])["orders"].result(PATIENCE)
    client.create_partitions([names.NewPartitions("orders", 5)])["orders"].result(PATIENCE)
    assert len(client.list_topics("orders", timeout=PATIENCE).topics["orders"].partitions) == 5
    resource = names.ConfigResource(
        names.ConfigResource.Type.TOPIC,
        "orders",
        incremental_configs=[
            names.ConfigEntry("max.message.bytes", "5000", incremental_operation=names.AlterConfigOpType.SET)
        ],
    )
    client.incremental_alter_configs([resource])[resource].result(PATIENCE)
    described = client.describe_configs([resource])[resource].result(PATIENCE)
    assert (described["max.message.bytes"].value, described["retention.ms"].value) == ("5000", "1000000")
    rule = names.AclBinding(
        names.ResourceType.TOPIC,
        "orders",
        names.ResourcePatternType.LITERAL,
        "User:alice",
        "*",
        names.AclOperation.READ,
        names.AclPermissionType.ALLOW,
    )
    client.create_acls([rule])[rule].result(PATIENCE)
    everything = names.AclBindingFilter(
        names.ResourceType.ANY,
        None,
        names.ResourcePatternType.ANY,
        None,
        None,
        names.AclOperation.ANY,
        names.AclPermissionType.ANY,
    )
    assert client.describe_acls(everything).result(PATIENCE) == [rule]
    assert client.delete_acls([everything])[everything].result(PATIENCE) == [rule]
    client.delete_topics(["orders"])["orders"].result(PATIENCE)
    assert "orders" not in client.list_topics(timeout=PATIENCE).topics


def test_librdkafka_writes_and_reads_in_a_group(cluster: ThreadedCluster) -> None:
    import confluent_kafka
    from confluent_kafka.admin import AdminClient, NewTopic

    client = AdminClient(librdkafka(cluster))
    client.create_topics([NewTopic("orders", num_partitions=3, replication_factor=2)])["orders"].result(PATIENCE)
    failures: list[Any] = []
    for place, codec in enumerate(CODECS):
        producer = confluent_kafka.Producer(
            {**librdkafka(cluster), "compression.type": codec, "enable.idempotence": True}
        )
        for value in VALUES[place :: len(CODECS)]:
            producer.produce("orders", value, key=value, on_delivery=lambda error, _: failures.append(error))
        assert producer.flush(PATIENCE) == 0
    assert failures == [None] * RECORDS
    consumer = confluent_kafka.Consumer({**librdkafka(cluster), "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    seen = [consumer.poll(PATIENCE) for _ in range(RECORDS)]
    assert sorted(record.value() or b"" for record in seen if record is not None) == sorted(VALUES)
    consumer.commit(asynchronous=False)
    for committed in consumer.committed(consumer.assignment()):
        assert committed.offset == consumer.get_watermark_offsets(committed)[1] > 0
    described = client.describe_consumer_groups(["readers"])["readers"].result(PATIENCE)
    assert (described.state.name, len(described.members)) == ("STABLE", 1)
    consumer.close()
    client.delete_consumer_groups(["readers"])["readers"].result(PATIENCE)


async def test_aiokafka_administers_writes_and_reads(cluster: ThreadedCluster) -> None:
    import aiokafka
    from aiokafka import admin as names

    client = names.AIOKafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    await client.start()
    await client.create_topics([names.NewTopic("orders", 3, 2)])
    await client.create_partitions({"orders": names.NewPartitions(5)})
    resource = names.config_resource.ConfigResource(
        names.config_resource.ConfigResourceType.TOPIC, "orders", configs={"max.message.bytes": "50000"}
    )
    await client.alter_configs([resource])
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, enable_idempotence=True) as producer:
        for value in VALUES:
            await producer.send("orders", value)
    async with aiokafka.AIOKafkaConsumer(
        "orders", bootstrap_servers=cluster.bootstrap, group_id="readers", auto_offset_reset="earliest"
    ) as consumer:
        seen = [(await consumer.getone()).value for _ in range(RECORDS)]
        assert sorted(seen) == sorted(VALUES)
        await consumer.commit()
        offsets = await client.list_consumer_group_offsets("readers")
        ends = await consumer.end_offsets(consumer.assignment())
        assert {place: told.offset for place, told in offsets.items() if told.offset > 0} == {
            place: end for place, end in ends.items() if end
        }
    assert [group for group, _ in await client.list_consumer_groups()] == ["readers"]
    await client.delete_topics(["orders"])
    assert "orders" not in await client.list_topics()
    await client.close()


async def test_members_of_different_clients_share_a_group(cluster: ThreadedCluster) -> None:
    """librdkafka and aiokafka share the partitions of a topic; when one leaves, the other gets all of them."""
    import asyncio

    import aiokafka
    import confluent_kafka
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from confluent_kafka.admin import AdminClient, NewTopic

    client = AdminClient(librdkafka(cluster))
    topic = NewTopic("orders", num_partitions=4, replication_factor=1)
    client.create_topics([topic])["orders"].result(PATIENCE)
    options = {"group.id": "mixed", "partition.assignment.strategy": "range", "heartbeat.interval.ms": 200}
    one = confluent_kafka.Consumer({**librdkafka(cluster), **options, "auto.offset.reset": "earliest"})
    one.subscribe(["orders"])

    async def poll() -> None:
        while not done.is_set():
            await asyncio.to_thread(one.poll, 0.1)

    async def has(partitions: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(one.assignment()) != partitions:  # noqa: ASYNC110 - no event shows it
                await asyncio.sleep(0.02)

    done = asyncio.Event()
    polling = asyncio.create_task(poll())
    try:
        await has(4)
        async with aiokafka.AIOKafkaConsumer(
            "orders",
            bootstrap_servers=cluster.bootstrap,
            group_id="mixed",
            heartbeat_interval_ms=200,
            partition_assignment_strategy=(RangePartitionAssignor,),
        ) as two:
            await has(2)
            ours = {(place.topic, place.partition) for place in two.assignment()}
            assert len(ours) == 2
            assert ours.isdisjoint((place.topic, place.partition) for place in one.assignment())
        await has(4)
    finally:
        done.set()
        await polling
        await asyncio.to_thread(one.close)


def test_librdkafka_hears_of_a_quota_and_only_who_is_under_it(cluster: ThreadedCluster) -> None:
    import confluent_kafka
    from confluent_kafka.admin import AdminClient, NewTopic

    client = AdminClient(librdkafka(cluster))
    client.create_topics([NewTopic("orders", num_partitions=1, replication_factor=1)])["orders"].result(PATIENCE)
    loader = QuotaEntity.of({"client-id": "loader"})
    cluster.call(lambda running: running.state.alter_quota(loader, {"producer_byte_rate": 1000.0}))
    heard: dict[str, list[float]] = {"loader": [], "other": []}
    for client_id, waits in heard.items():
        producer = confluent_kafka.Producer(
            {
                **librdkafka(cluster),
                "client.id": client_id,
                "throttle_cb": lambda told, to=waits: to.append(told.throttle_time),
            }
        )
        producer.produce("orders", b"x" * 12_000)
        assert producer.flush(PATIENCE) == 0
        producer.poll(0)
    assert heard["other"] == []
    assert len(heard["loader"]) == 1
    assert 1 < heard["loader"][0] < 4

"""Records the frames that tests/wire/test_recorded_*.py replay, from real brokers.

``python -m tests.wire.record_frames`` starts a broker of each version, one after the other, and writes
``tests/wire/frames/VERSION.json.gz``. Every API that the product uses is there, with success and with errors. No
password is: the SCRAM credential is made of zero bytes.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kio.schema.errors import ErrorCode

from console.admin.link import Link, decode
from console.admin.settings import ConnectionSettings
from console.wire.aiokafka_request import Exchange
from console.wire.fields import for_version
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import jars, java, major
from tests.support.patience import PATIENCE
from tests.wire import recorded_requests
from tests.wire.recordings import VERSIONS, Recorded, Recording, write

CLASSIC_GROUP = "billing"
NEW_GROUP = "shipping"


class Recorder:
    """Sends the steps over a link and keeps what went over the wire under their names."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.kept: list[Recorded] = []
        self._step = ("", "")
        self.link = Link(ConnectionSettings(bootstrap=(address,)), record=self._record)

    def _record(self, exchange: Exchange) -> None:
        step, api = self._step
        self.kept.append(Recorded(step, api, exchange))

    async def ask(
        self, step: str, api: str, build: recorded_requests.Build, until: Callable[[Any], bool] = lambda _: True
    ) -> Any:
        """The answer to one request, which is kept under that name.

        until: ask again until this holds of the answer, and keep that exchange: in KRaft a broker takes a moment to see
        what the controller did.
        """
        self._step = (step, api)
        async with asyncio.timeout(PATIENCE):
            while not until(answer := await self.link.call(api, build, change=True)):
                self.kept.pop()
                await asyncio.sleep(0.05)
        return answer


async def record(cluster: KafkaCluster) -> Recording:
    """All steps, in order: each finds what those before it made."""
    address = cluster.addresses[0]
    recorder = Recorder(address)
    ask = recorder.ask
    try:
        await _the_cluster(ask)
        orders = await _topics(ask)
        await _configs(ask)
        await _quotas_acls_scram(ask)
        await _groups(ask, cluster)
        if major(cluster.version) >= 4:
            await _group_of_the_new_protocol(ask, cluster)
        await _transactions(ask, cluster, orders)
        await _records_deleted(ask, orders)
        await _features(ask)
        await _registrations(ask, cluster)
        await _moves_and_deletions(ask)
    finally:
        await recorder.link.close()
    return Recording(cluster.version, cluster.cluster_id, address[1], tuple(recorder.kept))


Ask = Callable[..., Awaitable[Any]]


async def _the_cluster(ask: Ask) -> None:
    await ask("versions", "api_versions", recorded_requests.api_versions)
    await ask("cluster", "describe_cluster", recorded_requests.describe_cluster)
    log = "__cluster_metadata"
    await ask(
        "quorum",
        "describe_quorum",
        lambda kio: kio.DescribeQuorumRequest(
            topics=(kio.TopicData(topic_name=log, partitions=(kio.PartitionData(partition_index=0),)),)
        ),
    )


async def _topics(ask: Ask) -> UUID:
    """The id of orders."""
    orders = {"orders": (3, 1, {"retention.ms": "86400000", "cleanup.policy": "compact,delete"})}
    await ask(
        "topics checked", "create_topics", recorded_requests.create_topics({"orders": (3, 9, {})}, validate_only=True)
    )
    await ask(
        "topics made",
        "create_topics",
        recorded_requests.create_topics(orders | {"audit.log": (1, 1, {}), "bad name!": (1, 1, {})}),
    )
    await ask("topic there already", "create_topics", recorded_requests.create_topics(orders))
    await ask("partitions", "create_partitions", recorded_requests.partitions_of)
    await ask(
        "all topics",
        "metadata",
        recorded_requests.metadata(None),
        until=lambda answer: sum(len(t.partitions) for t in answer.topics) == 7,
    )
    named = await ask("named topics", "metadata", recorded_requests.metadata(["orders", "missing"]))
    both = ("orders", "missing")
    await ask("partitions, first page", "describe_topic_partitions", recorded_requests.topic_partitions(*both, limit=2))
    await ask(
        "partitions, next page",
        "describe_topic_partitions",
        recorded_requests.topic_partitions(*both, limit=2, cursor=("orders", 2)),
    )
    (found,) = (topic.topic_id for topic in named.topics if topic.name == "orders")
    assert isinstance(found, UUID)
    return found


async def _configs(ask: Ask) -> None:
    changes = {
        (recorded_requests.TOPIC, "orders"): [
            ("min.insync.replicas", recorded_requests.SET, "1"),
            ("cleanup.policy", recorded_requests.SUBTRACT, "compact"),
        ],
        (recorded_requests.TOPIC, "missing"): [("retention.ms", recorded_requests.SET, "1")],
        (recorded_requests.BROKER, ""): [("log.cleaner.threads", recorded_requests.SET, "2")],
        (recorded_requests.BROKER, "1"): [("log.retention.ms", recorded_requests.SET, "5000000")],
        (recorded_requests.METRICS, "fleet"): [("interval.ms", recorded_requests.SET, "60000")],
    }
    await ask("configs altered", "incremental_alter_configs", recorded_requests.incremental(changes))
    wrong = {
        (recorded_requests.TOPIC, "orders"): [("no.such.key", recorded_requests.SET, "1")],
        (recorded_requests.TOPIC, "audit.log"): [("retention.ms", recorded_requests.SET, "soon")],
        (recorded_requests.BROKER, "1"): [("log.dirs", recorded_requests.SET, "/elsewhere")],
    }
    await ask("configs refused", "incremental_alter_configs", recorded_requests.incremental(wrong, validate_only=True))
    await ask(
        "configs replaced", "alter_configs", recorded_requests.legacy_alter("audit.log", {"retention.bytes": "1000"})
    )
    await ask(
        "topic configs",
        "describe_configs",
        recorded_requests.describe_configs(
            (recorded_requests.TOPIC, "orders"),
            (recorded_requests.TOPIC, "audit.log"),
            (recorded_requests.TOPIC, "missing"),
        ),
        until=lambda answer: (
            has_override(answer, 0, "min.insync.replicas") and has_override(answer, 1, "retention.bytes")
        ),
    )
    await ask(
        "broker configs",
        "describe_configs",
        recorded_requests.describe_configs((recorded_requests.BROKER, "1"), documentation=True),
        until=lambda answer: has_override(answer, 0, "log.retention.ms"),
    )
    await ask(
        "cluster default",
        "describe_configs",
        recorded_requests.describe_configs((recorded_requests.BROKER, "")),
        until=lambda answer: has_override(answer, 0, "log.cleaner.threads"),
    )
    await ask("wrong broker", "describe_configs", recorded_requests.describe_configs((recorded_requests.BROKER, "2")))
    await ask("loggers", "describe_configs", recorded_requests.describe_configs((recorded_requests.LOGGER, "1")))
    await ask(
        "client metrics",
        "describe_configs",
        recorded_requests.describe_configs((recorded_requests.METRICS, "fleet")),
        until=lambda answer: has_override(answer, 0, "interval.ms"),
    )
    await ask(
        "group configs", "describe_configs", recorded_requests.describe_configs((recorded_requests.GROUP, "somebody"))
    )
    await ask("config resources", "list_config_resources", lambda kio: kio.ListConfigResourcesRequest())


async def _quotas_acls_scram(ask: Ask) -> None:
    quotas: list[tuple[dict[str, str | None], dict[str, float | None]]] = [
        ({"user": "alice"}, {"producer_byte_rate": 1048576.0, "request_percentage": 12.5}),
        ({"user": "alice", "client-id": None}, {"consumer_byte_rate": 2048.0}),
        ({"user": None}, {"controller_mutation_rate": 0.5}),
        ({"client-id": "ü"}, {"producer_byte_rate": 1.0}),
        ({"ip": "10.1.2.3"}, {"connection_creation_rate": 7.0}),
        ({"user": "carol"}, {"no_such_key": 1.0}),
        ({"ip": "10.1.2.3", "user": "carol"}, {"producer_byte_rate": 1.0}),
    ]
    await ask("quotas checked", "alter_client_quotas", recorded_requests.alter_quotas(quotas[-2:], validate_only=True))
    await ask("quotas altered", "alter_client_quotas", recorded_requests.alter_quotas(quotas))
    await ask(
        "all quotas",
        "describe_client_quotas",
        recorded_requests.describe_quotas(),
        until=lambda answer: len(answer.entries) == 5,
    )
    await ask(
        "quotas of alice alone",
        "describe_client_quotas",
        recorded_requests.describe_quotas(("user", 0, "alice"), strict=True),
    )
    await ask("quotas of no type", "describe_client_quotas", recorded_requests.describe_quotas(("planet", 2, None)))
    await ask(
        "acls made",
        "create_acls",
        recorded_requests.create_acls(
            recorded_requests.ALICE_READS, recorded_requests.BOB_IS_DENIED, recorded_requests.NO_SUCH_CLUSTER
        ),
    )
    await ask(
        "all acls", "describe_acls", recorded_requests.describe_acls, until=lambda answer: len(answer.resources) == 2
    )
    await ask("acls deleted", "delete_acls", recorded_requests.delete_acls)
    await ask("token refused", "create_delegation_token", recorded_requests.create_token)
    await ask("scram altered", "alter_user_scram_credentials", recorded_requests.alter_scram)
    await ask(
        "all scram",
        "describe_user_scram_credentials",
        recorded_requests.describe_scram(),
        until=lambda answer: answer.results,
    )
    await ask("scram of two", "describe_user_scram_credentials", recorded_requests.describe_scram("alice", "nobody"))
    dirs = await ask(
        "log dirs",
        "describe_log_dirs",
        lambda kio: kio.DescribeLogDirsRequest(topics=None),
        until=lambda answer: sum(len(t.partitions) for t in answer.results[0].topics) == 7,
    )
    await ask(
        "log dirs altered",
        "alter_replica_log_dirs",
        recorded_requests.alter_dirs(dirs.results[0].log_dir, "/elsewhere"),
    )


async def _groups(ask: Ask, cluster: KafkaCluster) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap)
    await producer.start()
    for index in range(5):
        await producer.send_and_wait("orders", b"order", partition=0 if index else 1)
    await producer.stop()
    consumer = AIOKafkaConsumer(
        "orders", bootstrap_servers=cluster.bootstrap, group_id=CLASSIC_GROUP, client_id="biller",
        auto_offset_reset="earliest", enable_auto_commit=False,
    )  # fmt: skip
    await consumer.start()
    for _ in range(5):
        await consumer.getone()
    await consumer.commit()
    try:
        await ask(
            "coordinator",
            "find_coordinator",
            lambda kio: kio.FindCoordinatorRequest(key_type=0, coordinator_keys=(CLASSIC_GROUP,)),
        )
        await ask("groups", "list_groups", lambda kio: for_version(kio.ListGroupsRequest, states_filter=()))
        await ask(
            "group members",
            "describe_groups",
            lambda kio: kio.DescribeGroupsRequest(
                groups=(CLASSIC_GROUP, "missing"), include_authorized_operations=False
            ),
        )
        await ask(
            "not a new group",
            "consumer_group_describe",
            lambda kio: kio.ConsumerGroupDescribeRequest(
                group_ids=(CLASSIC_GROUP,), include_authorized_operations=False
            ),
        )
        await ask("committed", "offset_fetch", recorded_requests.offsets_of(CLASSIC_GROUP))
        await ask("latest", "list_offsets", recorded_requests.latest_offsets)
    finally:
        await consumer.stop()


async def _group_of_the_new_protocol(ask: Ask, cluster: KafkaCluster) -> None:
    """KIP-848: Java's console consumer is the one at hand that speaks it."""
    consumer = await asyncio.create_subprocess_exec(
        java(), "-cp", f"{jars(cluster.version)}/*", "org.apache.kafka.tools.consumer.ConsoleConsumer",
        "--bootstrap-server", cluster.bootstrap, "--topic", "orders", "--group", NEW_GROUP,
        "--consumer-property", "group.protocol=consumer", "--consumer-property", "client.id=shipper",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        await ask(
            "new group",
            "consumer_group_describe",
            lambda kio: kio.ConsumerGroupDescribeRequest(group_ids=(NEW_GROUP,), include_authorized_operations=False),
            until=lambda answer: answer.groups[0].group_state == "Stable" and assigned(answer.groups[0]) == 3,
        )
    finally:
        consumer.kill()
        await consumer.wait()


async def _transactions(ask: Ask, cluster: KafkaCluster, orders: UUID) -> None:
    """One that runs and is aborted, a transactional id without one, and a marker for a producer that is not there."""
    running = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id="till-1")
    idle = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id="till-2")
    await running.start()
    await idle.start()
    try:
        await running.begin_transaction()
        await running.send_and_wait("orders", b"paid", partition=0)
        await ask(
            "producers",
            "describe_producers",
            lambda kio: kio.DescribeProducersRequest(
                topics=tuple(kio.TopicRequest(name=name, partition_indexes=(0, 7)) for name in ("orders", "missing"))
            ),
        )
        await ask("transactions", "list_transactions", lambda kio: kio.ListTransactionsRequest())
        await ask(
            "transactions by id",
            "describe_transactions",
            lambda kio: kio.DescribeTransactionsRequest(transactional_ids=("till-1", "till-2", "missing")),
        )
        await running.abort_transaction()
    finally:
        await running.stop()
        await idle.stop()
    await ask(
        "records",
        "fetch",
        recorded_requests.fetch("orders", orders, {0: 0, 1: 0, 2: 99, 9: 0}),
        until=lambda answer: part_of(answer, 0).last_stable_offset == 6,
    )
    await ask("markers", "write_txn_markers", recorded_requests.abort_markers)


async def _records_deleted(ask: Ask, orders: UUID) -> None:
    """Partition 0's before offset 3, all of partition 1; more than partition 2 has is refused."""
    await ask(
        "records deleted",
        "delete_records",
        recorded_requests.delete_records({"orders": {0: 3, 1: -1, 2: 99, 9: 0}, "missing": {0: 0}}),
    )
    await ask("records left", "fetch", recorded_requests.fetch("orders", orders, {0: 3, 1: 0}))


async def _features(ask: Ask) -> None:
    """Checks alone: of a level that both releases may go back to, and of a feature that neither knows."""
    fine = ("group.version", 0, 2)
    await ask("features checked", "update_features", recorded_requests.check_features(fine))
    await ask("features refused", "update_features", recorded_requests.check_features(fine, ("nope", 2, 1)))
    await ask("versions after the checks", "api_versions", recorded_requests.api_versions)


async def _registrations(ask: Ask, cluster: KafkaCluster) -> None:
    """Of broker 2, which the controller knows and which never runs, and of one that nobody knows."""
    (controller,) = cluster.controller_addresses
    apart = Link(ConnectionSettings(bootstrap=(controller,)))
    try:
        versions = await apart.call_apart(controller, "api_versions", recorded_requests.api_versions, PATIENCE)
        register = recorded_requests.register_broker(2, cluster.cluster_id, versions.supported_features)
        connection = await apart.routes.connections.open_apart(controller)
        request = connection.prepare("broker_registration", connection.version("broker_registration") or 0, register)
        registered = decode(await connection.send(request))
        await connection.close()
        assert registered.error_code == 0, registered
    finally:
        await apart.close()
    if major(cluster.version) >= 4:
        await ask(
            "fenced broker",
            "describe_cluster",
            recorded_requests.describe_cluster,
            until=lambda answer: len(answer.brokers) == 2,
        )
    await ask("broker unregistered", "unregister_broker", recorded_requests.unregister_broker(2))
    await ask("unknown broker", "unregister_broker", recorded_requests.unregister_broker(77))
    if major(cluster.version) >= 4:
        await ask(
            "broker gone",
            "describe_cluster",
            recorded_requests.describe_cluster,
            until=lambda answer: len(answer.brokers) == 1,
        )


def part_of(answer: Any, number: int) -> Any:
    """The partition in a Fetch of one topic."""
    (topic,) = answer.responses
    (found,) = (part for part in topic.partitions if part.partition_index == number)
    return found


def is_throttled(answer: Any) -> bool:
    """Whether a topic was refused because of the quota."""
    return any(each.error_code == ErrorCode.throttling_quota_exceeded for each in answer.responses)


def has_override(answer: Any, index: int, key: str) -> bool:
    """Whether the key of that resource comes from a dynamic config."""
    return any(config.name == key and config.config_source in (1, 2, 3, 7) for config in answer.results[index].configs)


def assigned(group: Any) -> int:
    """How many partitions the group's members have."""
    return sum(len(topic.partitions) for member in group.members for topic in member.assignment.topic_partitions)


async def _moves_and_deletions(ask: Ask) -> None:
    await ask(
        "reassignments",
        "list_partition_reassignments",
        lambda kio: kio.ListPartitionReassignmentsRequest(topics=None, timeout=recorded_requests.LIMIT),
    )
    await ask("nothing to cancel", "alter_partition_reassignments", recorded_requests.cancel_reassignment)
    await ask("elections", "elect_leaders", recorded_requests.elect)
    # controller_mutation_rate of the default user is 0.5 a second since the quotas were altered.
    await ask(
        "topics deleted",
        "delete_topics",
        recorded_requests.delete_topics,
        until=lambda answer: not is_throttled(answer),
    )


def main() -> int:
    """Records every version."""
    for version in VERSIONS:
        with KafkaCluster(version, brokers=1) as cluster:
            recording = asyncio.run(record(cluster))
        path = write(recording)
        print(f"{path}: {len(recording.exchanges)} exchanges, {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A recorder of request and response frames of real brokers, which tests/wire/test_recorded_*.py read.

``python -m tests.wire.record_frames`` starts a broker of each version, one after the other, and writes
``tests/wire/frames/VERSION.json.gz``. The recording has every API that kac uses, with success and with errors. It
contains no password: the SCRAM credential consists of zero bytes.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kio.schema.errors import ErrorCode

from console.admin import link, producing, settings
from console.admin.producer import Numbers, Sending
from console.model.new_records import NewRecord
from console.model.secret import Contents
from console.wire.aiokafka_request import Exchange
from tests.support import acl_filters, kafka_cluster, kafka_jars, patience
from tests.support.kafka_messages import with_fields
from tests.wire.recordings import VERSIONS, Recorded, Recording, write

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, SUBTRACT = 0, 3
LIMIT = 10
"""The most seconds that a request may take."""
CLASSIC_GROUP = "billing"
NEW_GROUP = "shipping"


class Recorder:
    """Sends requests over a link, and keeps each exchange of request and response under the name of its step."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.kept: list[Recorded] = []
        self._step = ("", "")
        self.link = link.Link(settings.ConnectionSettings(bootstrap=(address,)), record=self._record)

    def _record(self, exchange: Exchange) -> None:
        step, api = self._step
        self.kept.append(Recorded(step, api, exchange))

    async def ask(self, step: str, api: str, *, until: Callable[[Any], bool] = lambda _: True, **fields: Any) -> Any:
        """Send a request, keep the exchange under the name `step`, and return the response.

        until: a condition on the response. Repeat the request until it is true, for at most `patience.PATIENCE`
        seconds, and keep only the last exchange: in KRaft a broker learns of a change a moment after the controller.
        """
        self._step = (step, api)
        async with asyncio.timeout(patience.PATIENCE):
            while not until(answer := await self.link.call(api, with_fields(**fields), change=True)):
                self.kept.pop()
                await asyncio.sleep(0.05)
        return answer


async def record(cluster: kafka_cluster.KafkaCluster) -> Recording:
    """Run all steps in order, each on the state of the cluster that the earlier ones left; return the recording."""
    address = cluster.addresses[0]
    recorder = Recorder(address)
    ask = recorder.ask
    try:
        await _the_cluster(ask)
        orders = await _topics(ask)
        await _configs(ask)
        await _quotas_acls_scram(ask)
        await _groups(ask, cluster)
        if kafka_jars.major(cluster.version) >= 4:
            await _group_of_the_new_protocol(ask, cluster)
        await _transactions(ask, cluster, orders)
        await _records_deleted(ask, orders)
        await _records_written(ask, orders)
        await _features(ask)
        await _registrations(ask, cluster)
        await _moves_and_deletions(ask)
    finally:
        await recorder.link.close()
    return Recording(cluster.version, cluster.cluster_id, address[1], tuple(recorder.kept))


Ask = Callable[..., Awaitable[Any]]
SOFTWARE = {"client_software_name": "kac", "client_software_version": "1"}
CLUSTER = {"include_cluster_authorized_operations": True, "include_fenced_brokers": True}
NAMED = {"allow_auto_topic_creation": False, "include_topic_authorized_operations": True}
DESCRIBED = {"include_synonyms": True, "include_documentation": False}
ORDERS = ("orders", 3, 1, [], [("retention.ms", "86400000"), ("cleanup.policy", "compact,delete")])
FETCHED = {
    "replica_id": -1,
    "max_wait": 0,
    "min_bytes": 0,
    "max_bytes": 1 << 16,
    "isolation_level": 1,
    "forgotten_topics_data": [],
}


async def _the_cluster(ask: Ask) -> None:
    await ask("versions", "api_versions", **SOFTWARE)
    await ask("cluster", "describe_cluster", **CLUSTER)
    await ask("quorum", "describe_quorum", topics=[("__cluster_metadata", [0])])


async def _topics(ask: Ask) -> UUID:
    """Record the creation of topics; return the id of the topic orders."""
    make = {"timeout": LIMIT, "validate_only": False}
    checked = ("orders", 3, 9, [], [])
    await ask("topics checked", "create_topics", topics=[checked], timeout=LIMIT, validate_only=True)
    others = [(name, 1, 1, [], []) for name in ("audit.log", "bad name!")]
    await ask("topics made", "create_topics", topics=[ORDERS, *others], **make)
    await ask("topic there already", "create_topics", topics=[ORDERS], **make)
    await ask("partitions", "create_partitions", topics=[("audit.log", 4, None), ("orders", 1, None)], **make)
    there = partial(ask, "all topics", "metadata", topics=None, **NAMED)
    await there(until=lambda answer: sum(len(t.partitions) for t in answer.topics) == 7)
    both = [{"name": name, "topic_id": None} for name in ("orders", "missing")]
    named = await ask("named topics", "metadata", topics=both, **NAMED)
    page = {"topics": ["orders", "missing"], "response_partition_limit": 2}
    await ask("partitions, first page", "describe_topic_partitions", **page, cursor=None)
    await ask("partitions, next page", "describe_topic_partitions", **page, cursor=("orders", 2))
    (found,) = (topic.topic_id for topic in named.topics if topic.name == "orders")
    assert isinstance(found, UUID)
    return found


async def _configs(ask: Ask) -> None:
    changes = [
        (TOPIC, "orders", [("min.insync.replicas", SET, "1"), ("cleanup.policy", SUBTRACT, "compact")]),
        (TOPIC, "missing", [("retention.ms", SET, "1")]),
        (BROKER, "", [("log.cleaner.threads", SET, "2")]),
        (BROKER, "1", [("log.retention.ms", SET, "5000000")]),
        (METRICS, "fleet", [("interval.ms", SET, "60000")]),
    ]
    await ask("configs altered", "incremental_alter_configs", resources=changes, validate_only=False)
    wrong = [
        (TOPIC, "orders", [("no.such.key", SET, "1")]),
        (TOPIC, "audit.log", [("retention.ms", SET, "soon")]),
        (BROKER, "1", [("log.dirs", SET, "/elsewhere")]),
    ]
    await ask("configs refused", "incremental_alter_configs", resources=wrong, validate_only=True)
    replaced = [(TOPIC, "audit.log", [("retention.bytes", "1000")])]
    await ask("configs replaced", "alter_configs", resources=replaced, validate_only=False)
    for step, resources, overrides in (
        (
            "topic configs",
            [(TOPIC, "orders"), (TOPIC, "audit.log"), (TOPIC, "missing")],
            ["min.insync.replicas", "retention.bytes"],
        ),
        ("broker configs", [(BROKER, "1")], ["log.retention.ms"]),
        ("cluster default", [(BROKER, "")], ["log.cleaner.threads"]),
        ("wrong broker", [(BROKER, "2")], []),
        ("loggers", [(LOGGER, "1")], []),
        ("client metrics", [(METRICS, "fleet")], ["interval.ms"]),
        ("group configs", [(GROUP, "somebody")], []),
    ):

        def has_all(answer: Any, keys: list[str] = overrides) -> bool:
            return all(has_override(answer, index, key) for index, key in enumerate(keys))

        wanted = [(*each, None) for each in resources]
        asked = {**DESCRIBED, "include_documentation": step == "broker configs"}
        await ask(step, "describe_configs", until=has_all, resources=wanted, **asked)
    await ask("config resources", "list_config_resources")


async def _quotas_acls_scram(ask: Ask) -> None:
    quotas = [
        ([("user", "alice")], {"producer_byte_rate": 1048576.0, "request_percentage": 12.5}),
        ([("user", "alice"), ("client-id", None)], {"consumer_byte_rate": 2048.0}),
        ([("user", None)], {"controller_mutation_rate": 0.5}),
        ([("client-id", "ü")], {"producer_byte_rate": 1.0}),
        ([("ip", "10.1.2.3")], {"connection_creation_rate": 7.0}),
        ([("user", "carol")], {"no_such_key": 1.0}),
        ([("ip", "10.1.2.3"), ("user", "carol")], {"producer_byte_rate": 1.0}),
    ]
    entries = [(entity, [(key, value, False) for key, value in limits.items()]) for entity, limits in quotas]
    await ask("quotas checked", "alter_client_quotas", entries=entries[-2:], validate_only=True)
    await ask("quotas altered", "alter_client_quotas", entries=entries, validate_only=False)
    five = partial(ask, "all quotas", "describe_client_quotas", components=[], strict=False)
    await five(until=lambda answer: len(answer.entries) == 5)
    for step, component in (
        ("quotas of alice alone", ("user", 0, "alice")),
        ("quotas of no type", ("planet", 2, None)),
    ):
        await ask(step, "describe_client_quotas", components=[component], strict=component[0] == "user")
    alice_reads = (TOPIC, "orders", 3, "User:alice", "*", 3, 3)
    bob_is_denied = (TOPIC, "ord", 4, "User:bob", "10.0.0.9", 4, 2)
    no_such_cluster = (4, "not-the-cluster", 3, "User:alice", "*", 8, 3)
    await ask("acls made", "create_acls", creations=[alice_reads, bob_is_denied, no_such_cluster])
    await ask("all acls", "describe_acls", until=lambda answer: len(answer.resources) == 2, **acl_filters.EVERY_ACL)
    await ask("acls deleted", "delete_acls", filters=[(TOPIC, "ord", 4, "User:bob", None, 1, 1)])
    nobody = {"owner_principal_type": None, "owner_principal_name": None}
    await ask("token refused", "create_delegation_token", **nobody, renewers=[], max_lifetime=3600)
    upserted = [(user, 1, iterations, bytes(16), bytes(32)) for user, iterations in (("alice", 4096), ("bob", 1))]
    await ask("scram altered", "alter_user_scram_credentials", deletions=[("nobody", 2)], upsertions=upserted)
    await ask("all scram", "describe_user_scram_credentials", until=lambda answer: answer.results, users=None)
    await ask("scram of two", "describe_user_scram_credentials", users=["alice", "nobody"])
    all_there = partial(ask, "log dirs", "describe_log_dirs", topics=None)
    dirs = await all_there(until=lambda answer: sum(len(t.partitions) for t in answer.results[0].topics) == 7)
    paths = dirs.results[0].log_dir, "/elsewhere"
    moved = [(path, [("orders", [number])]) for number, path in enumerate(paths)]
    await ask("log dirs altered", "alter_replica_log_dirs", dirs=moved)


async def _groups(ask: Ask, cluster: kafka_cluster.KafkaCluster) -> None:
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
    rights = {"include_authorized_operations": False}
    latest = [{"partition_index": index, "current_leader_epoch": -1, "timestamp": -1} for index in (0, 9)]
    listed = {"replica_id": -1, "isolation_level": 0, "timeout": LIMIT}
    all_offsets = {"group_id": CLASSIC_GROUP, "topics": None, "member_id": None, "member_epoch": -1}
    try:
        await ask("coordinator", "find_coordinator", key_type=0, coordinator_keys=[CLASSIC_GROUP])
        await ask("groups", "list_groups", states_filter=[])
        await ask("group members", "describe_groups", groups=[CLASSIC_GROUP, "missing"], **rights)
        await ask("not a new group", "consumer_group_describe", group_ids=[CLASSIC_GROUP], **rights)
        await ask("committed", "offset_fetch", groups=[all_offsets], require_stable=True)
        await ask("latest", "list_offsets", topics=[("orders", latest)], **listed)
    finally:
        await consumer.stop()


async def _group_of_the_new_protocol(ask: Ask, cluster: kafka_cluster.KafkaCluster) -> None:
    """Record reads of a group with the consumer protocol (KIP-848), whose member is Java's console consumer."""
    consumer = await asyncio.create_subprocess_exec(
        kafka_jars.java(), "-cp", f"{kafka_jars.jars(cluster.version)}/*",
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        "--bootstrap-server", cluster.bootstrap, "--topic", "orders", "--group", NEW_GROUP,
        "--consumer-property", "group.protocol=consumer", "--consumer-property", "client.id=shipper",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip

    def has_all(answer: Any) -> bool:
        return answer.groups[0].group_state == "Stable" and assigned(answer.groups[0]) == 3

    asked = {"group_ids": [NEW_GROUP], "include_authorized_operations": False}
    try:
        await ask("new group", "consumer_group_describe", until=has_all, **asked)
    finally:
        consumer.kill()
        await consumer.wait()


async def _transactions(ask: Ask, cluster: kafka_cluster.KafkaCluster, orders: UUID) -> None:
    """Record reads of a running transaction, which is then aborted, and of a transactional id without a transaction.
    Also record the writing of a marker for an unknown producer.
    """
    running = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id="till-1")
    idle = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id="till-2")
    await running.start()
    await idle.start()
    try:
        await running.begin_transaction()
        await running.send_and_wait("orders", b"paid", partition=0)
        await ask("producers", "describe_producers", topics=[("orders", [0, 7]), ("missing", [0, 7])])
        await ask("transactions", "list_transactions")
        ids = ["till-1", "till-2", "missing"]
        await ask("transactions by id", "describe_transactions", transactional_ids=ids)
        await running.abort_transaction()
    finally:
        await running.stop()
        await idle.stop()

    def is_stable(answer: Any) -> bool:
        return bool(part_of(answer, 0).last_stable_offset == 6)

    await ask("records", "fetch", until=is_stable, **_fetched(orders, {0: 0, 1: 0, 2: 99, 9: 0}))
    marker = {
        **{"producer_id": 999_999, "producer_epoch": 0, "transaction_result": False},
        **{"coordinator_epoch": 0, "transaction_version": 0},
        "topics": [("orders", [0]), ("missing", [0])],
    }
    await ask("markers", "write_txn_markers", markers=[marker])


def _fetched(orders: UUID, offsets: dict[int, int]) -> dict[str, Any]:
    """Return the fields of a Fetch request for committed records of the topic orders, without waiting for new ones.
    offsets: partition -> first offset.
    """
    wanted = [
        {"partition": number, "fetch_offset": offset, "partition_max_bytes": 1 << 16}
        for number, offset in offsets.items()
    ]
    return {**FETCHED, "topics": [{"topic": "orders", "topic_id": orders, "partitions": wanted}]}


async def _records_deleted(ask: Ask, orders: UUID) -> None:
    """Record deletions of the records before offset 3 in partition 0, of all records in partition 1, and one beyond the
    end of partition 2, which is refused.
    """
    before = [("orders", [(0, 3), (1, -1), (2, 99), (9, 0)]), ("missing", [(0, 0)])]
    await ask("records deleted", "delete_records", topics=before, timeout=LIMIT)
    await ask("records left", "fetch", **_fetched(orders, {0: 3, 1: 0}))


async def _records_written(ask: Ask, orders: UUID) -> None:
    """Record produce requests: a batch to partition 2, the same batch again, one with a gap in the sequence numbers,
    and one to a missing partition.
    """
    given = await ask(
        "producer id", "init_producer_id", transactional_id=None, transaction_timeout=timedelta(seconds=60)
    )

    async def write(step: str, partition: int, sequence: int) -> None:
        numbers = Numbers(given.producer_id, given.producer_epoch, sequence)
        batch = producing.batch_bytes(Sending(Contents((NewRecord(b"k", b"v"),)), numbers, timestamp=1_700_000_000_000))
        parts = [{"index": partition, "records": batch}]
        of_topic = {"name": "orders", "topic_id": orders, "partition_data": parts}
        await ask(
            step, "produce", transactional_id=None, acks=-1, timeout=timedelta(seconds=LIMIT), topic_data=[of_topic]
        )

    for step, partition, sequence in (
        ("written", 2, 0),
        ("written again", 2, 0),
        ("written behind a gap", 2, 9),
        ("written nowhere", 9, 0),
    ):
        await write(step, partition, sequence)


async def _features(ask: Ask) -> None:
    """Record validate-only changes of features: to a level that both releases allow as a downgrade, and of a feature
    that neither release has.
    """
    fine, check = ("group.version", 0, 2), {"timeout": LIMIT, "validate_only": True}
    await ask("features checked", "update_features", feature_updates=[fine], **check)
    await ask("features refused", "update_features", feature_updates=[fine, ("nope", 2, 1)], **check)
    await ask("versions after the checks", "api_versions", **SOFTWARE)


async def _registrations(ask: Ask, cluster: kafka_cluster.KafkaCluster) -> None:
    """Record the registration of broker 2, which never runs, and then the unregistrations of broker 2 and of an
    unknown broker.
    """
    (controller,) = cluster.controller_addresses
    apart = link.Link(settings.ConnectionSettings(bootstrap=(controller,)))
    try:
        versions = await apart.call_apart(controller, "api_versions", with_fields(**SOFTWARE), patience.PATIENCE)
        # A broker sends this request to the controller when it starts.
        register = with_fields(
            broker_id=2,
            cluster_id=cluster.cluster_id,
            incarnation_id=UUID(int=2),
            listeners=[("PLAINTEXT", "127.0.0.1", 9, 0)],
            features=[(each.name, each.min_version, each.max_version) for each in versions.supported_features],
            rack="rack-2",
            log_dirs=[UUID(int=1002)],
        )
        connection = await apart.routes.connections.open_apart(controller)
        request = connection.prepare("broker_registration", connection.version("broker_registration") or 0, register)
        registered = link.decode(await connection.send(request))
        await connection.close()
        assert registered.error_code == 0, registered
    finally:
        await apart.close()
    if kafka_jars.major(cluster.version) >= 4:
        await ask("fenced broker", "describe_cluster", until=lambda answer: len(answer.brokers) == 2, **CLUSTER)
    await ask("broker unregistered", "unregister_broker", broker_id=2)
    await ask("unknown broker", "unregister_broker", broker_id=77)
    if kafka_jars.major(cluster.version) >= 4:
        await ask("broker gone", "describe_cluster", until=lambda answer: len(answer.brokers) == 1, **CLUSTER)


async def _moves_and_deletions(ask: Ask) -> None:
    await ask("reassignments", "list_partition_reassignments", topics=None, timeout=LIMIT)
    nothing = [("orders", [(0, None)])]
    await ask("nothing to cancel", "alter_partition_reassignments", topics=nothing, timeout=LIMIT)
    await ask("elections", "elect_leaders", election_type=0, topic_partitions=[("orders", [0, 9])], timeout=LIMIT)
    names = ["audit.log", "missing"]
    # controller_mutation_rate of the default user has been 0.5 a second since the quotas were altered.
    deleted = partial(ask, "topics deleted", "delete_topics", until=lambda answer: not is_throttled(answer))
    await deleted(topics=[(name, None) for name in names], topic_names=names, timeout=LIMIT)


def part_of(answer: Any, number: int) -> Any:
    """Return partition `number` in the response to a Fetch of one topic."""
    (topic,) = answer.responses
    (found,) = (part for part in topic.partitions if part.partition_index == number)
    return found


def is_throttled(answer: Any) -> bool:
    """Return whether the response says that a quota refused one of the topics."""
    return any(each.error_code == ErrorCode.throttling_quota_exceeded for each in answer.responses)


def has_override(answer: Any, index: int, key: str) -> bool:
    """Return whether in the resource with this index in the response the key is set by a dynamic config."""
    return any(config.name == key and config.config_source in (1, 2, 3, 7) for config in answer.results[index].configs)


def assigned(group: Any) -> int:
    """Return the number of partitions that are assigned to all members of a group together."""
    return sum(len(topic.partitions) for member in group.members for topic in member.assignment.topic_partitions)


def main() -> int:
    """Record the frames of every version; return the exit code."""
    for version in VERSIONS:
        with kafka_cluster.KafkaCluster(version, brokers=1) as cluster:
            recording = asyncio.run(record(cluster))
        path = write(recording)
        print(f"{path}: {len(recording.exchanges)} exchanges, {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Tests of the request logs of real brokers: kac finds each change with its user in them, and counts each byte of
records once.
"""

import contextlib
import tempfile
import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition  # type: ignore[import-untyped]

from console.admin import changes
from console.admin.client import AdminClient
from console.lake.requests.lines import Damaged, Line, altered
from console.lake.requests.log_files import BrokerLog, Span, parts_of, plan
from console.model import changes as model_changes
from console.model import codes
from console.model.config import topic_resource
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from tests.lake.known_changes import client
from tests.lake.known_requests import all_rows, lines_of
from tests.support import worlds
from tests.support.kafka_cluster import KafkaCluster
from tests.support.request_log import Mark

pytestmark = [pytest.mark.broker, pytest.mark.slow]

NOT_CONTROLLER = 41
MESSAGES, VALUE_BYTES = 12, 3000
LIMIT = 3_000.0
"""The quota in bytes per second. The test sends a little more in the ten seconds of a broker's window."""
PASSWORD = "planted-4711"
Row = dict[str, Any]


@pytest.fixture(params=["plain_cluster", "kafka39"])
def cluster(request: pytest.FixtureRequest) -> KafkaCluster:
    """Provide a cluster of three brokers of 4.3, where clients send changes to the controller, or one of a single
    broker of 3.9, which logs both the request and the copy that it forwards.
    """
    found: KafkaCluster = request.getfixturevalue(request.param)
    return found


def behind(path: str, read: int) -> tuple[Span, ...]:
    """Return the spans of a log file after its first `read` bytes, as if these had been read before."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder, "request.log")
        before.write_bytes(Path(path).read_bytes()[:read])
        known = plan([str(before)], {}).progress
    return plan([path], known).spans


def lines(cluster: KafkaCluster, since: Mark) -> Iterator[list[Line | Damaged]]:
    """Yield, for each broker, the lines of its request log since a mark."""
    for broker in cluster.broker_ids:
        path = str(cluster.directory / f"broker-{broker}" / "request.log")
        log = BrokerLog(cluster.cluster_id, broker, behind(path, since[broker]))
        yield [line for part in parts_of([log]) for line in lines_of(part)]


def used(cluster: KafkaCluster, since: Mark, client_id: str) -> list[Row]:
    """Return a client's rows of the table `request_1s` since a mark. Raises AssertionError if a log has unreadable
    lines, or if fetches between brokers are counted.
    """
    made = []
    for broker in cluster.broker_ids:
        path = str(cluster.directory / f"broker-{broker}" / "request.log")
        log = BrokerLog(cluster.cluster_id, broker, behind(path, since[broker]))
        assert not all_rows([log], "quarantined")
        made += all_rows([log], "second")
    assert not [row for row in made if row["client_id"].startswith("broker-") and row["api"] == "FETCH"]
    return [row for row in made if row["client_id"] == client_id]


def steps(name: str) -> Iterator[tuple[model_changes.ChangeRequest, set[tuple[str, ...]]]]:
    """Yield changes of entities with this name, each with the rows that kac must find in the log: (type, key,
    attribute, op, value).
    """
    topic, user = topic_resource(name), QuotaEntity.of({"user": name, "client-id": None})
    acl = worlds.acl(f"User:{name}", "READ", "GROUP", name, pattern="PREFIXED", host="127.0.0.1")
    acl_key, acl_attr = f"GROUP:PREFIXED:{name}", f"ALLOW READ User:{name} from 127.0.0.1"
    scram = model_changes.ScramUser(name, codes.ScramMechanism.parse("SCRAM-SHA-256"))
    quota = f"user={name},client-id=<default>"
    yield (
        model_changes.CreateTopics((model_changes.NewTopic(name, 1, 1, configs={"retention.ms": "600000"}),)),
        {
            ("topic", name, ":partitions", "set", "1"),
            ("topic", name, ":replication", "set", "1"),
            ("topic", name, "retention.ms", "set", "600000"),
        },
    )
    yield (
        model_changes.AlterConfigs(
            {
                topic: (
                    model_changes.ConfigOp("retention.ms", codes.DELETE),
                    model_changes.ConfigOp("cleanup.policy", codes.APPEND, "compact"),
                )
            }
        ),
        {
            ("topic", name, "retention.ms", "delete", ""),
            ("topic", name, "cleanup.policy", "append", "compact"),
        },
    )
    yield model_changes.CreatePartitions({name: 3}, {name: 1}), {("topic", name, ":partitions", "set", "3")}
    yield (
        model_changes.AlterQuotas({user: {"producer_byte_rate": 4096.0}}),
        {("quota", quota, "producer_byte_rate", "set", "4096")},
    )
    yield (
        model_changes.AlterQuotas({user: {"producer_byte_rate": None}}),
        {("quota", quota, "producer_byte_rate", "delete", "")},
    )
    yield model_changes.CreateAcls((acl,)), {("acl", acl_key, acl_attr, "set", "set")}
    yield model_changes.DeleteAcls((acl,)), {("acl", acl_key, acl_attr, "delete", "")}
    yield (
        model_changes.AlterScram({scram: (8192, Secret(PASSWORD))}),
        {("scram", name, "SCRAM-SHA-256", "set", "iterations=8192")},
    )
    yield model_changes.AlterScram({}, (scram,)), {("scram", name, "SCRAM-SHA-256", "delete", "")}
    yield model_changes.DeleteTopics((name,)), {("topic", name, ":topic_id", "delete", "")}


def send(admin: AdminClient, *requests: model_changes.ChangeRequest) -> None:
    """Send these changes one after another. Raises AssertionError if one does not succeed."""
    for request in requests:
        for outcome in admin.submit(changes.send, request, validate_only=False).result(60):
            assert outcome.ok, outcome


def test_each_change_is_told_with_its_author_on_the_broker_and_on_the_controller(cluster: KafkaCluster) -> None:
    name, mark = f"logged-{uuid.uuid4().hex[:8]}", cluster.request_log.mark()
    expected: set[tuple[str, ...]] = set()
    with contextlib.closing(client(cluster, "admin")) as admin:
        for request, told in steps(name):
            send(admin, request)
            expected |= told
    cluster.request_log.wait_for(1, "DELETE_TOPICS", since=mark)
    found: dict[bool, set[tuple[str, ...]]] = {False: set(), True: set()}
    for rows in lines(cluster, mark):
        for row in rows:
            assert isinstance(row, Line), row
            ended = row.second + timedelta(milliseconds=row.millis)
            for change in altered(row.json.decode(), ended):
                assert PASSWORD not in str(change)
                start, _, _, client_id, host, principal, forwarded, validate_only, *what, _, error = change
                if name in what[1] and not validate_only:
                    assert (client_id, principal, error) == ("ops-admin", "User:admin", 0)
                    assert host == (None if forwarded else "127.0.0.1")
                    assert start <= ended
                    found[forwarded].add((*what[:4], what[4] or ""))
    assert found[False] == expected
    assert found[True] == expected


def test_every_byte_that_was_produced_and_fetched_is_counted_once(cluster: KafkaCluster) -> None:
    name, mark = f"counted-{uuid.uuid4().hex[:8]}", cluster.request_log.mark()
    quota = QuotaEntity.of({"user": "alice", "client-id": name})
    topic = model_changes.NewTopic(name, 1, len(cluster.broker_ids))
    address = ",".join(f"{host}:{port}" for host, port in cluster.login_addresses)
    login = {
        "bootstrap_servers": address,
        "client_id": name,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "alice",
        "sasl_plain_password": cluster.users["alice"],
    }
    with contextlib.closing(client(cluster, "admin")) as admin:
        send(
            admin,
            model_changes.CreateTopics((topic,)),
            model_changes.AlterQuotas({quota: {"producer_byte_rate": LIMIT}}),
        )
        with contextlib.closing(KafkaProducer(**login, acks="all", linger_ms=0)) as producer:
            for number in range(MESSAGES):
                producer.send(name, bytes([number]) * VALUE_BYTES).get(timeout=60)
        with contextlib.closing(
            KafkaConsumer(**login, auto_offset_reset="earliest", enable_auto_commit=False)
        ) as consumer:
            consumer.assign([TopicPartition(name, 0)])
            got = 0
            deadline = time.monotonic() + 60
            while got < MESSAGES and time.monotonic() < deadline:
                got += sum(len(records) for records in consumer.poll(timeout_ms=1000).values())
        assert got == MESSAGES
        # A broker stores the batches of a topic as they were sent.
        kept = {path.stat().st_size for path in cluster.directory.glob(f"broker-*/data-*/{name}-0/*.log")}
        produced = used_until(cluster, mark, name, "PRODUCE", MESSAGES)
        fetched = [row for row in used(cluster, mark, name) if row["api"] == "FETCH"]
        send(
            admin, model_changes.DeleteTopics((name,)), model_changes.AlterQuotas({quota: {"producer_byte_rate": None}})
        )
    assert len(kept) == 1
    (bytes_kept,) = kept
    assert bytes_kept > MESSAGES * VALUE_BYTES
    assert {row["principal"] for row in produced + fetched} == {"User:alice"}
    assert sum(row["requests"] for row in produced) == MESSAGES
    assert sum(row["bytes_in"] for row in produced) == bytes_kept
    assert sum(row["bytes_out"] for row in fetched) == bytes_kept
    assert sum(row["errors"] for row in produced + fetched) == 0
    assert sum(row["throttle_ms_sum"] for row in produced) > 0
    assert max(row["throttle_ms_max"] for row in produced) > 0


def used_until(cluster: KafkaCluster, since: Mark, client_id: str, api: str, requests: int) -> list[Row]:
    """Wait until the log has at least `requests` requests of a client to this API, and return the client's rows of it.
    A broker logs a request after it has sent the response.
    """
    cluster.request_log.wait_for(requests, api, since=since, client_id=client_id)
    return [row for row in used(cluster, since, client_id) if row["api"] == api]

"""Ending transactions on an embedded cluster: missing rights, lost answers, coordinators that are down, slow ones."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace as with_fields
from typing import Any

import pytest

from console.admin.link import Link
from console.admin.settings import ConnectionSettings, SaslSettings
from console.admin.transactions import MAX_PATTERNS, poll_transactions
from console.embedded import state_file
from console.embedded.brokers import EmbeddedCluster
from console.embedded.faults import Cut, Fault, Moment
from console.embedded.group_coordinator import TRANSACTION_TOPIC
from console.embedded.scenarios.seed import add_topic, allow
from console.embedded.scenarios.transactions import FORGOTTEN, HANGING, LATE, ORDERS, PAYMENTS, SHIPMENTS
from console.embedded.spec import ClusterSpec, SaslSpec, clusters_of
from console.embedded.tables import NO_LEADER
from console.model.acl import Acl
from console.model.changes import AbortTransaction, Outcome, ProducerTarget, Status
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.secret import Secret
from console.model.transactions import Standing, Transactions, verdict
from tests.support.changing import outcomes

PASSWORD = Secret("of alice")
DENIED = Acl(
    AclResourceType.parse("TRANSACTIONAL_ID"),
    "payments-",
    PatternType.parse("PREFIXED"),
    "User:alice",
    "*",
    AclOperation.parse("DESCRIBE"),
    Permission.parse("DENY"),
)
PLACES = [HANGING, (ORDERS, 5), (SHIPMENTS, 0), (PAYMENTS, 0), (PAYMENTS, 2)]


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    """The scenario, where alice may do nothing yet."""
    sasl = SaslSpec(plain={"alice": PASSWORD, "admin": PASSWORD})
    spec = ClusterSpec(sasl=sasl, super_users=frozenset({"User:admin"}))
    async with EmbeddedCluster(clusters_of("transactions", spec)["transactions"]) as running:
        yield running


def link_of(cluster: EmbeddedCluster, user: str = "admin") -> Link:
    sasl = SaslSettings("PLAIN", user, PASSWORD)
    return Link(
        ConnectionSettings(
            tuple(cluster.addresses.values()), "SASL_PLAINTEXT", sasl, lost_answer_timeout=0.2, request_timeout=20
        )
    )


@pytest.fixture
async def link(cluster: EmbeddedCluster) -> AsyncIterator[Link]:
    made = link_of(cluster)
    yield made
    await made.close()


async def polled(cluster: EmbeddedCluster, user: str) -> Transactions:
    link = link_of(cluster, user)
    try:
        return await poll_transactions(link, PLACES)
    finally:
        await link.close()


def standings(seen: Transactions) -> dict[int, Standing]:
    return {each.producer.id: verdict(each, seen).standing for each in seen.open}


def abort(seen: Transactions, producer: int) -> AbortTransaction:
    found = next(each for each in seen.open if each.producer.id == producer)
    target = ProducerTarget(*found.place, producer)
    epochs = found.producer.epoch, found.producer.coordinator_epoch
    return AbortTransaction(target, *epochs, found.producer.start_offset)


async def one(link: Link, request: AbortTransaction) -> Outcome:
    (outcome,) = (await outcomes(link, request)).values()
    return outcome


async def test_rights_are_tried_class_by_class(cluster: EmbeddedCluster) -> None:
    """Certain only once no id can be hidden: by any prefix, any name, or for want of reading the ACLs."""
    alice = "User:alice"
    for topic in (ORDERS, PAYMENTS, SHIPMENTS):
        allow(cluster.state, alice, "READ", "TOPIC", topic)
    seen = await polled(cluster, "alice")
    assert {gap.name for gap in seen.gaps} == {"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"}
    assert Standing.HANGS not in standings(seen).values()
    assert not seen.max_timeout_known
    assert seen.transactions == {}
    allow(cluster.state, alice, "DESCRIBE", "TOPIC", TRANSACTION_TOPIC)
    allow(cluster.state, alice, "DESCRIBE", "CLUSTER", "kafka-cluster")
    allow(cluster.state, alice, "DESCRIBE", "TRANSACTIONAL_ID", "orders-", "PREFIXED")
    seen = await polled(cluster, "alice")
    assert [gap.name for gap in seen.gaps] == ["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"]
    found = standings(seen)
    assert found[LATE] is Standing.HANGS, "its id is seen, so nothing is hidden of it"
    assert found[FORGOTTEN] is Standing.POSSIBLE
    allow(cluster.state, alice, "DESCRIBE", "TRANSACTIONAL_ID", "*")
    seen = await polled(cluster, "alice")
    assert seen.gaps == ()
    assert standings(seen)[FORGOTTEN] is Standing.HANGS
    cluster.state.add_acl(DENIED)
    seen = await polled(cluster, "alice")
    assert [gap.name for gap in seen.gaps] == ["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"]
    assert standings(seen)[FORGOTTEN] is Standing.POSSIBLE
    assert standings(await polled(cluster, "admin"))[FORGOTTEN] is Standing.HANGS, "a super user sees all"


async def test_too_many_names_to_try(cluster: EmbeddedCluster) -> None:
    for number in range(MAX_PATTERNS + 1):
        allow(cluster.state, "User:bob", "WRITE", "TRANSACTIONAL_ID", f"id-{number}")
    seen = await polled(cluster, "admin")
    assert [gap.name for gap in seen.gaps] == ["TOO_MANY"]
    assert standings(seen)[FORGOTTEN] is Standing.POSSIBLE


async def test_the_right_that_is_missing_is_named(cluster: EmbeddedCluster, link: Link) -> None:
    alice = "User:alice"
    for right, type_, name in (
        ("READ", "TOPIC", ORDERS),
        ("DESCRIBE", "TOPIC", TRANSACTION_TOPIC),
        ("DESCRIBE", "CLUSTER", "kafka-cluster"),
        ("DESCRIBE", "TRANSACTIONAL_ID", "*"),
    ):
        allow(cluster.state, alice, right, type_, name)
    request = abort(await polled(cluster, "admin"), LATE)
    hers = link_of(cluster, "alice")
    try:
        outcome = await one(hers, request)
        assert outcome.status is Status.FAILED
        assert outcome.failure is not None
        assert outcome.failure.name == "CLUSTER_AUTHORIZATION_FAILED"
        assert "ALTER or CLUSTER_ACTION on CLUSTER" in outcome.failure.remedy
        allow(cluster.state, alice, "CLUSTER_ACTION", "CLUSTER", "kafka-cluster")
        assert (await one(hers, request)).status is Status.APPLIED
    finally:
        await hers.close()


async def test_coordinators_that_are_down_hide_what_they_know(cluster: EmbeddedCluster) -> None:
    topic = cluster.state.topics[TRANSACTION_TOPIC]
    led = tuple(each._replace(leader=NO_LEADER) if each.leader == 1 else each for each in topic.partitions)
    cluster.state.put_topic(with_fields(topic, partitions=led))
    seen = await polled(cluster, "admin")
    assert [gap.name for gap in seen.gaps] == ["COORDINATOR_NOT_AVAILABLE"]
    assert standings(seen)[FORGOTTEN] is Standing.POSSIBLE


@pytest.mark.parametrize("moment", [Moment.BEFORE, Moment.AFTER])
async def test_a_lost_answer_is_looked_up(cluster: EmbeddedCluster, link: Link, moment: Moment) -> None:
    request = abort(await poll_transactions(link, PLACES), LATE)
    cluster.faults.add(Fault(Cut(moment), api="write_txn_markers", times=1))
    outcome = await one(link, request)
    assert outcome.status is (Status.APPLIED if moment is Moment.AFTER else Status.UNKNOWN)
    log = cluster.state.logs[HANGING]
    assert (log.stable == log.end) is (moment is Moment.AFTER)


async def test_an_overdue_one_is_slow_until_its_coordinator_ends_it(cluster: EmbeddedCluster, link: Link) -> None:
    known = cluster.state.transactions["payments-export"]
    now = int(cluster.clock.time() * 1000)
    known.timeout_ms, known.started = 60_000, now - 61_000
    seen = await poll_transactions(link, PLACES)
    assert standings(seen)[known.producer_id] is Standing.SLOW
    outcome = await one(link, abort(seen, known.producer_id))
    assert (outcome.status, outcome.failure and outcome.failure.name) == (Status.FAILED, "NOT_HANGING")
    known.started = now - 120_000
    seen = await poll_transactions(link, PLACES)
    assert known.producer_id not in standings(seen)
    assert known.state == "CompleteAbort"


async def test_open_transactions_outlive_a_restart(cluster: EmbeddedCluster) -> None:
    """What hung hangs, and what a coordinator will end is still its own."""
    log, before = cluster.state.logs[HANGING], standings(await polled(cluster, "admin"))
    content = json.loads(json.dumps(state_file.encode_unlogged(cluster.state)))
    cluster.state.transactions.clear()
    state_file.restore_unlogged(cluster.state, content)
    again = cluster.state.logs[HANGING]
    assert again is not log
    assert (again.stable, again.end) == (log.stable, log.end)
    assert standings(await polled(cluster, "admin")) == before
    assert set(before.values()) == {Standing.HANGS, Standing.YOUNG, Standing.HEALTHY}


async def test_a_transactional_client_and_a_reader_of_what_is_committed() -> None:
    """aiokafka's own, which know nothing of this cluster."""
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]

    async with EmbeddedCluster(ClusterSpec()) as running:
        add_topic(running.state, "paid", 1)
        brokers = ",".join(f"{host}:{port}" for host, port in running.addresses.values())
        producer = AIOKafkaProducer(bootstrap_servers=brokers, transactional_id="till-1")
        await producer.start()
        try:
            for value, commits in ((b"a", True), (b"b", False), (b"c", True)):
                await producer.begin_transaction()
                await producer.send_and_wait("paid", value)
                await (producer.commit_transaction() if commits else producer.abort_transaction())
            await producer.begin_transaction()
            await producer.send_and_wait("paid", b"open")
            assert await consumed(AIOKafkaConsumer, TopicPartition, brokers, "read_committed", 2) == [b"a", b"c"]
            everything = await consumed(AIOKafkaConsumer, TopicPartition, brokers, "read_uncommitted", 4)
            assert everything == [b"a", b"b", b"c", b"open"]
            await producer.abort_transaction()
        finally:
            await producer.stop()


async def consumed(consumer_class: Any, place: Any, brokers: str, isolation: str, count: int) -> list[bytes]:
    """What a consumer reads first, and that no more can be read then."""
    consumer = consumer_class(bootstrap_servers=brokers, isolation_level=isolation, auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([place("paid", 0)])
        found = [(await consumer.getone()).value for _ in range(count)]
        more = await consumer.getmany(timeout_ms=50)
        assert not any(more.values())
        return found
    finally:
        await consumer.stop()

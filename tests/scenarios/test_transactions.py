"""Tests of the ways to end transactions. On an embedded cluster: missing rights, lost answers, and coordinators that
are down or slow. On real brokers, 4.3 and 3.9, kac finds a hanging transaction, tells it from healthy ones, and ends
it; Kafka's own command agrees at each step.
"""

import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any

import pytest

from console.admin.link import Link, until_settled
from console.admin.settings import ConnectionSettings, SaslSettings
from console.admin.transactions import MAX_PATTERNS, describe_transactions, list_transactions, poll_transactions
from console.embedded import faults, group_coordinator, state_file, tables
from console.embedded.brokers import EmbeddedCluster
from console.embedded.scenarios import transactions
from console.embedded.scenarios.seed import add_topic, allow
from console.embedded.spec import ClusterSpec, SaslSpec, clusters_of
from console.model import acl, changes, codes
from console.model.secret import Secret
from console.model.transactions import OpenTransaction, Standing, Transactions, verdict
from tests.support import changing, kafka_commands, patience, worlds
from tests.support.kafka_cluster import KafkaCluster
from tests.support.transactional_client import TransactionalClient

PASSWORD = Secret("of alice")

DENIED = worlds.acl("User:alice", "DESCRIBE", "TRANSACTIONAL_ID", "payments-", pattern="PREFIXED", permission="DENY")

PLACES = [
    transactions.HANGING,
    (transactions.ORDERS, 5),
    (transactions.SHIPMENTS, 0),
    (transactions.PAYMENTS, 0),
    (transactions.PAYMENTS, 2),
]


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    """Provide an embedded cluster with the scenario of transactions, in which the user alice has no rights."""
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
async def admin_link(cluster: EmbeddedCluster) -> AsyncIterator[Link]:
    made = link_of(cluster)
    yield made
    await made.close()


async def polled(cluster: EmbeddedCluster, user: str) -> Transactions:
    admin_link = link_of(cluster, user)
    try:
        return await poll_transactions(admin_link, PLACES)
    finally:
        await admin_link.close()


def standings(seen: Transactions) -> dict[int, Standing]:
    return {each.producer.id: verdict(each, seen).standing for each in seen.open}


def abort(seen: Transactions, producer: int) -> changes.AbortTransaction:
    found = next(each for each in seen.open if each.producer.id == producer)
    target = changes.ProducerTarget(*found.place, producer)
    epochs = found.producer.epoch, found.producer.coordinator_epoch
    return changes.AbortTransaction(target, *epochs, found.producer.start_offset)


async def only(admin_link: Link, request: changes.AbortTransaction) -> changes.Outcome:
    (outcome,) = (await changing.outcomes(admin_link, request)).values()
    return outcome


async def test_rights_are_tried_class_by_class(cluster: EmbeddedCluster) -> None:
    """kac is certain that a transaction hangs only if no transactional id can be hidden from kac. An id may be
    hidden if an ACL denies a prefix or a name, or if kac can't read the ACLs.
    """
    alice = "User:alice"
    for topic in (transactions.ORDERS, transactions.PAYMENTS, transactions.SHIPMENTS):
        allow(cluster.state, alice, "READ", "TOPIC", topic)
    seen = await polled(cluster, "alice")
    assert {gap.name for gap in seen.gaps} == {"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"}
    assert Standing.HANGS not in standings(seen).values()
    assert seen.transactions == {}
    allow(cluster.state, alice, "DESCRIBE", "TOPIC", group_coordinator.TRANSACTION_TOPIC)
    allow(cluster.state, alice, "DESCRIBE", "CLUSTER", "kafka-cluster")
    allow(cluster.state, alice, "DESCRIBE", "TRANSACTIONAL_ID", "orders-", "PREFIXED")
    seen = await polled(cluster, "alice")
    assert [gap.name for gap in seen.gaps] == ["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"]
    found = standings(seen)
    assert found[transactions.LATE] is Standing.HANGS, "its id is seen, so nothing is hidden of it"
    assert found[transactions.FORGOTTEN] is Standing.POSSIBLE
    allow(cluster.state, alice, "DESCRIBE", "TRANSACTIONAL_ID", "*")
    seen = await polled(cluster, "alice")
    assert seen.gaps == ()
    assert standings(seen)[transactions.FORGOTTEN] is Standing.HANGS
    cluster.state.add_acl(DENIED)
    seen = await polled(cluster, "alice")
    assert [gap.name for gap in seen.gaps] == ["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"]
    assert standings(seen)[transactions.FORGOTTEN] is Standing.POSSIBLE
    assert standings(await polled(cluster, "admin"))[transactions.FORGOTTEN] is Standing.HANGS, "a super user sees all"


async def test_too_many_names_to_try(cluster: EmbeddedCluster) -> None:
    for number in range(MAX_PATTERNS + 1):
        allow(cluster.state, "User:bob", "WRITE", "TRANSACTIONAL_ID", f"id-{number}")
    seen = await polled(cluster, "admin")
    assert [gap.name for gap in seen.gaps] == ["TOO_MANY"]
    assert standings(seen)[transactions.FORGOTTEN] is Standing.POSSIBLE


async def test_the_right_that_is_missing_is_named(cluster: EmbeddedCluster, admin_link: Link) -> None:
    alice = "User:alice"
    for right, type_, name in (
        ("READ", "TOPIC", transactions.ORDERS),
        ("DESCRIBE", "TOPIC", group_coordinator.TRANSACTION_TOPIC),
        ("DESCRIBE", "CLUSTER", "kafka-cluster"),
        ("DESCRIBE", "TRANSACTIONAL_ID", "*"),
    ):
        allow(cluster.state, alice, right, type_, name)
    request = abort(await polled(cluster, "admin"), transactions.LATE)
    hers = link_of(cluster, "alice")
    try:
        outcome = await only(hers, request)
        assert outcome.status is changes.Status.FAILED
        assert outcome.failure is not None
        assert outcome.failure.name == "CLUSTER_AUTHORIZATION_FAILED"
        assert "ALTER or CLUSTER_ACTION on CLUSTER" in outcome.failure.remedy
        allow(cluster.state, alice, "CLUSTER_ACTION", "CLUSTER", "kafka-cluster")
        assert (await only(hers, request)).status is changes.Status.APPLIED
    finally:
        await hers.close()


async def test_coordinators_that_are_down_hide_what_they_know(cluster: EmbeddedCluster) -> None:
    topic = cluster.state.topics[group_coordinator.TRANSACTION_TOPIC]
    led = tuple(each._replace(leader=tables.NO_LEADER) if each.leader == 1 else each for each in topic.partitions)
    cluster.state.put_topic(with_fields(topic, partitions=led))
    seen = await polled(cluster, "admin")
    assert [gap.name for gap in seen.gaps] == ["COORDINATOR_NOT_AVAILABLE"]
    assert standings(seen)[transactions.FORGOTTEN] is Standing.POSSIBLE


@pytest.mark.parametrize("moment", [faults.Moment.BEFORE, faults.Moment.AFTER])
async def test_a_lost_answer_is_looked_up(cluster: EmbeddedCluster, admin_link: Link, moment: faults.Moment) -> None:
    request = abort(await poll_transactions(admin_link, PLACES), transactions.LATE)
    cluster.faults.add(faults.Fault(faults.Cut(moment), api="write_txn_markers", times=1))
    outcome = await only(admin_link, request)
    assert outcome.status is (changes.Status.APPLIED if moment is faults.Moment.AFTER else changes.Status.UNKNOWN)
    log = cluster.state.logs[transactions.HANGING]
    assert (log.stable == log.end) is (moment is faults.Moment.AFTER)


async def test_an_overdue_one_is_healthy_until_its_coordinator_ends_it_in_time(
    cluster: EmbeddedCluster, admin_link: Link
) -> None:
    known = cluster.state.transactions["payments-export"]
    now = int(cluster.clock.time() * 1000)
    known.timeout_ms, known.started = 60_000, now - 61_000
    seen = await poll_transactions(admin_link, PLACES)
    assert standings(seen)[known.producer_id] is Standing.HEALTHY
    outcome = await only(admin_link, abort(seen, known.producer_id))
    assert (outcome.status, outcome.failure and outcome.failure.name) == (changes.Status.FAILED, "NOT_HANGING")
    known.started = now - 120_000
    seen = await poll_transactions(admin_link, PLACES)
    assert known.producer_id not in standings(seen)
    assert known.state == "CompleteAbort"


async def test_open_transactions_outlive_a_restart(cluster: EmbeddedCluster) -> None:
    """After a restart of the embedded cluster, hanging transactions still hang, and open ones still have their
    coordinator.
    """
    log, before = cluster.state.logs[transactions.HANGING], standings(await polled(cluster, "admin"))
    content = json.loads(state_file.encode_state(cluster.state, None))
    cluster.state.transactions.clear()
    state_file.restore_state(cluster.state, content, Path("state"))
    again = cluster.state.logs[transactions.HANGING]
    assert again is not log
    assert (again.stable, again.end) == (log.stable, log.end)
    assert standings(await polled(cluster, "admin")) == before
    assert set(before.values()) == {Standing.HANGS, Standing.YOUNG, Standing.HEALTHY}


async def test_a_transactional_client_and_a_reader_of_what_is_committed() -> None:
    """aiokafka's own producer and consumer, unchanged, write and read transactions on the embedded cluster."""
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
    """Return the first `count` values that a consumer reads from paid/0. Raises AssertionError if it can read more."""
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


# -- on real brokers --------------------------------------------------------------------------------------------------


LONG_AGO = 20 * 60 * 1000
"""An age in milliseconds, above the default transaction.max.timeout.ms of brokers."""

ROOT = Path(__file__).parent.parent.parent

TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"

Kac = Callable[..., tuple[int, str, str]]

commands = worlds.running(kafka_commands.KafkaCommands, scope="module")


@pytest.fixture
def kac(kafka: KafkaCluster, tmp_path: Path) -> Kac:
    """Provide a function that runs `kac run` on the cluster and returns (exit code, standard output, standard
    error).
    """
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    return lambda script: worlds.process("run", "-b", kafka.bootstrap, "-e", script, **home)


@pytest.fixture
async def topic(link: Link, name: str) -> str:
    """Create a topic with three partitions, and provide its name."""
    assert await changing.applied(link, changes.CreateTopics((changes.NewTopic(name, 3, 1),)))
    return name


def client_of(kafka: KafkaCluster, transactional_id: str) -> TransactionalClient:
    return TransactionalClient(dict(zip(kafka.broker_ids, kafka.addresses, strict=True)), transactional_id)


def leave_hanging(client: TransactionalClient, topic: str, partition: int, *, at: int) -> int:
    """End a transaction, then write two more of its records, as late retries do, so that a transaction hangs. Return
    the offset of the first late record. at: the time of the records, Unix milliseconds.
    """
    client.add(topic, partition)
    client.write(topic, partition, b"committed", times=[at])
    client.end()
    return client.write(topic, partition, b"late", b"later", times=[at, at])


def one(seen: Transactions, topic: str, partition: int) -> OpenTransaction:
    (found,) = seen.at(topic, partition)
    return found


def now_ms() -> int:
    return round(time.time() * 1000)


async def test_a_hanging_transaction_is_found_and_ended(
    kafka: KafkaCluster, link: Link, topic: str, unverified: None, kac: Kac, commands: kafka_commands.KafkaCommands
) -> None:
    """kac ends a hanging transaction in one partition, but neither a slow, healthy one in a second partition nor a
    young one in a third.
    """
    old, places = now_ms() - LONG_AGO, [(topic, number) for number in range(3)]

    def found_by_kafka() -> list[tuple[str, ...]]:
        words = ("--bootstrap-server", kafka.bootstrap, "find-hanging", "--topic", topic)
        ran = commands.run(TRANSACTIONS, words)
        assert ran.code == 0, ran
        return [tuple(line.split()[:6]) for line in ran.out.splitlines()[1:]]

    with client_of(kafka, f"{topic}-a") as hanging, client_of(kafka, f"{topic}-b") as healthy:
        hanging.begin()
        healthy.begin()
        start = leave_hanging(hanging, topic, 0, at=old)
        healthy.add(topic, 1)
        healthy.write(topic, 1, b"healthy, and older than any transaction may be", times=[old])
        leave_hanging(hanging, topic, 2, at=now_ms())
        seen = await poll_transactions(link, places)
        assert (seen.gaps, seen.max_timeout_ms) == ((), 900_000)
        late = one(seen, topic, 0).producer
        assert (late.start_offset, seen.offsets[topic, 0].waiting) == (start, 2)
        verdicts = [verdict(one(seen, topic, number), seen) for number in range(3)]
        assert [each.standing for each in verdicts] == [Standing.HANGS, Standing.HEALTHY, Standing.YOUNG]
        assert [each.transactional_id for each in verdicts] == [f"{topic}-a", f"{topic}-b", f"{topic}-a"]
        row = (topic, "0", str(late.id), str(late.epoch), str(late.coordinator_epoch), str(start))
        assert found_by_kafka() == [row]

        for number, producer, why in ((1, healthy, "does not hang"), (2, hanging, "too young")):
            refused = f"abort transaction topic {topic} partition {number} producer {producer.producer_id}"
            code, out, _ = kac(f"{refused}; apply --yes")
            assert code == 1, out
            assert why in out
        asked = f"abort transaction topic {topic} partition 0 producer {hanging.producer_id}"
        code, _, complaints = kac(f"{asked}; apply --yes")
        assert code == 3
        assert f"--accept transaction-aborted={topic}/0" in complaints
        code, _, complaints = kac(f"{asked}; apply --yes --accept transaction-aborted")
        assert code == 3, "a name alone accepts nothing that has to be typed"
        assert one(await poll_transactions(link, places), topic, 0).producer == late
        code, out, complaints = kac(f"{asked}; apply --yes --accept transaction-aborted={topic}/0")
        assert (code, complaints) == (0, ""), out
        assert "applied" in out

        async def waiting() -> int:
            return (await poll_transactions(link, places)).offsets[topic, 0].waiting

        assert await until_settled(waiting, bool, within=30, attempts=100) == 0
        assert found_by_kafka() == []
        code, _, complaints = kac(f"{asked}; apply --yes")
        assert code == 0, "there is nothing to do"
        seen = await poll_transactions(link, places)
        assert verdict(one(seen, topic, 1), seen).standing is Standing.HEALTHY
        healthy.end()
        assert [*(await poll_transactions(link, places)).at(topic, 1)] == []


async def test_what_is_read_of_coordinators(kafka: KafkaCluster, link: Link, topic: str) -> None:
    id_ = f"{topic}-x"
    with client_of(kafka, id_) as client:
        client.begin()
        client.add(topic, 1, 2)
        before = now_ms()
        listed = await list_transactions(link)
        known = listed.transactions[id_]
        assert (known.state, known.producer_id) == ("Ongoing", client.producer_id)
        assert id_ not in (await list_transactions(link, longer_than_ms=3_600_000)).transactions
        described = await describe_transactions(link, [id_, f"{id_}-no"])
        found = described.transactions[id_]
        assert (found.producer_id, found.epoch, found.timeout_ms) == (client.producer_id, client.epoch, 600_000)
        assert found.partitions == frozenset({(topic, 1), (topic, 2)})
        assert 0 <= before - found.start_ms < patience.PATIENCE * 1000
        assert found.coordinator == listed.transactions[id_].coordinator
        assert described.failures[f"{id_}-no"].name == "TRANSACTIONAL_ID_NOT_FOUND"
        client.end()
        ended = (await describe_transactions(link, [id_])).transactions[id_]
        assert (ended.state, ended.partitions) == ("CompleteCommit", frozenset())


async def test_the_runbooks_command_ends_it_too(
    kafka: KafkaCluster, link: Link, topic: str, unverified: None, kac: Kac, commands: kafka_commands.KafkaCommands
) -> None:
    with client_of(kafka, f"{topic}-a") as client:
        client.begin()
        start = leave_hanging(client, topic, 0, at=now_ms() - LONG_AGO)
        script = f"abort transaction topic {topic} partition 0 producer {client.producer_id}; plan --runbook"
        _, out, _ = kac(script)
        words = f"kafka-transactions --bootstrap-server {kafka.bootstrap} abort --topic {topic} --partition 0"
        assert f"{words} --start-offset {start}" in " ".join(out.replace("\\\n", "").split())
        ran = commands.run(TRANSACTIONS, f"{words} --start-offset {start}".split()[1:])
        assert ran.code == 0, ran
        assert [*(await poll_transactions(link, [(topic, 0)])).open] == []


async def test_another_transaction_than_the_one_that_was_seen_is_not_ended(
    kafka: KafkaCluster, link: Link, topic: str, unverified: None
) -> None:
    with client_of(kafka, f"{topic}-a") as client:
        client.begin()
        start = leave_hanging(client, topic, 0, at=now_ms() - LONG_AGO)
        target = changes.ProducerTarget(topic, 0, client.producer_id)
        for wrong in (
            changes.AbortTransaction(target, client.epoch, -1, start - 1),
            changes.AbortTransaction(target, client.epoch - 1, -1, start),
            changes.AbortTransaction(changes.ProducerTarget(topic, 0, 2**40), client.epoch, -1, start),
        ):
            (outcome,) = (await changing.outcomes(link, wrong)).values()
            assert outcome.status in (changes.Status.FAILED, changes.Status.NOT_APPLIED)
            assert one(await poll_transactions(link, [(topic, 0)]), topic, 0).producer.start_offset == start


async def test_missing_rights_are_never_taken_for_nothing(
    kafka: KafkaCluster, link: Link, topic: str, unverified: None
) -> None:
    """kac does not offer to end a transaction that alice sees, because it may be healthy: brokers silently omit
    transactional ids that she may not describe.
    """
    allow, literal = codes.Permission.parse("ALLOW"), codes.PatternType.parse("LITERAL")

    def only_for(type_: str, resource: str, who: str, operation: str, pattern: codes.PatternType = literal) -> acl.Acl:
        return acl.Acl(
            codes.AclResourceType.parse(type_), resource, pattern, who, "*", codes.AclOperation.parse(operation), allow
        )

    secret = only_for("TRANSACTIONAL_ID", topic, "User:somebody", "DESCRIBE", codes.PatternType.parse("PREFIXED"))
    hidden = only_for("TOPIC", topic, "User:somebody", "READ")
    shown = only_for("TOPIC", topic, "User:alice", "DESCRIBE")
    sasl = SaslSettings("PLAIN", "alice", Secret(kafka.users["alice"]))
    logins = kafka.login_addresses
    alice = Link(ConnectionSettings(bootstrap=logins, security_protocol="SASL_PLAINTEXT", sasl=sasl))
    try:
        with client_of(kafka, f"{topic}-a") as client, client_of(kafka, f"{topic}-b") as healthy:
            client.begin()
            healthy.begin()
            leave_hanging(client, topic, 0, at=now_ms() - LONG_AGO)
            healthy.add(topic, 1)
            healthy.write(topic, 1, b"hers to end", times=[now_ms() - LONG_AGO])
            places = [(topic, 0), (topic, 1)]
            seen = await poll_transactions(alice, places)
            assert [verdict(each, seen).standing for each in seen.open] == [Standing.HANGS, Standing.HEALTHY]
            assert await changing.applied(link, changes.CreateAcls((secret,)))

            async def as_alice() -> Transactions:
                return await poll_transactions(alice, places)

            seen = await until_settled(as_alice, lambda poll: not poll.gaps, within=30, attempts=100)
            assert seen.gaps[0].name == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
            for each in seen.open:
                found = verdict(each, seen)
                assert found.standing is Standing.POSSIBLE, "of the healthy one she sees no more than of the other"
                assert "may not describe all transactional ids" in found.why
                assert "'*'" in found.remedy
            assert await changing.applied(link, changes.CreateAcls((hidden, shown)))
            seen = await until_settled(as_alice, lambda poll: not poll.failures, within=30, attempts=100)
            assert seen.failures[topic, 0].name == "TOPIC_AUTHORIZATION_FAILED"
            assert seen.offsets[topic, 0].waiting == 2, "that something waits is seen all the same"
            healthy.end()
    finally:
        await alice.close()
        assert await changing.applied(link, changes.DeleteAcls((secret, hidden, shown)))

"""Tests of `kac triage`: its output, files and exit codes on an embedded cluster. On real brokers, 4.3 and 3.9, it
names the causes of faults, and names nothing that is healthy.
"""

import asyncio
import json
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.cluster import describe_log_dirs
from console.admin.link import Link, until_settled
from console.admin.settings import ConnectionSettings, SaslSettings, Store, TlsSettings
from console.cli import main as cli
from console.contexts.context import parse_bootstrap
from console.embedded import partition_log, record_batch
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.handlers.replicas import elect
from console.embedded.replicas import new_topic, striped
from console.embedded.scenarios.seed import batch_of
from console.embedded.spec import ClusterSpec
from console.flight.anonymous import Anonymous
from console.flight.answer import HANDSHAKE
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.flight.pseudonyms import Pseudonyms
from console.model import changes, codes, config, parts, secret
from console.model.severity import Certainty
from console.plan.edits import RemoveAcl
from console.session import slow_polls
from console.session.replay import poll_ends
from console.triage import silence
from console.triage.diagnosis import Verdict
from console.triage.symptoms import Subject
from tests.scenarios.test_transactions import LONG_AGO, client_of, leave_hanging, now_ms
from tests.support import certificates, changing, paces, real_clusters, recorded_polls, worlds
from tests.support.kafka_cluster import KafkaCluster
from tests.support.triage_watch import bootstrap, found, watching

cluster = worlds.cluster(
    ClusterSpec(brokers=3),
    worlds.topic("orders", 6, 3),
    # Two brokers could not create it.
    worlds.topic("__consumer_offsets", [(1, 2)], internal=True),
)


def triage(cluster: ThreadedCluster, *arguments: str) -> int:
    return cli.run(["triage", "-b", cluster.bootstrap, "--for", "0s", *arguments])


def test_a_healthy_cluster(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert triage(cluster) == 0
    assert capsys.readouterr().out.startswith("healthy")


def test_a_broker_that_is_down(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cluster.run(lambda c: c.broker_down(3))
    metrics = tmp_path / "kac.prom"
    assert triage(cluster, "--output", "json", "--prometheus", str(metrics)) == 4
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["v"], verdict["healthy"], verdict["unexplained"]) == (1, False, [])
    (cause,) = verdict["causes"]
    assert (cause["cause"], cause["subject"], cause["certainty"]) == ("broker-down", {"broker": 3}, "certain")
    assert cause["explains"] == {"under-replicated": 6, "broker-gone": 1}
    assert cause["since"] is None
    assert {"fact", "source", "at"} == set(cause["evidence"][0])
    assert 'kac_triage_cause{cause="broker-down",subject="broker 3"' in metrics.read_text()
    assert triage(cluster, "--expect", "broker 3") == 0


def test_a_cluster_that_does_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as running:
        gone = running.bootstrap
    assert cli.run(["triage", "-b", gone, "--for", "0s"]) == 1
    assert gone.partition(":")[2] in capsys.readouterr().err


@pytest.mark.parametrize("expected", ["topic x", "broker", "broker x", "3"])
def test_what_can_not_be_expected(expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.run(["triage", "--expect", expected])
    assert ended.value.code == 2
    assert "broker" in capsys.readouterr().err or "whole number" in capsys.readouterr().err


async def test_the_scenario_of_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triage is certain that two transactions hang, and considers a third one, which is two minutes old and has no
    coordinator, likely to hang. It does not name the others, which are in progress.
    """
    paces.poll_often(monkeypatch, 0.2, parts.Part.LOGS, parts.Part.OPEN_TRANSACTIONS)
    monkeypatch.setattr(slow_polls, "STANDS", 0.2)
    with run_in_thread(ClusterSpec(scenario="transactions")) as cluster:
        async with watching(ConnectionSettings(bootstrap=parse_bootstrap(cluster.bootstrap))) as it:
            young = Subject(topic="checkout.orders", partition=5)
            await it.names("transaction-hanging", young)
            verdict = await it.poll()
            certain = {
                each.claim.subject: each.claim.certainty.value
                for each in verdict.causes
                if each.claim.cause == "transaction-hanging"
            }
            assert certain == {
                Subject(topic="checkout.orders", partition=3): "certain",
                young: "likely",
                Subject(topic="logistics.shipments", partition=0): "certain",
            }
            assert not verdict.unexplained


async def test_what_replicas_without_a_leader_may_do_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the last in-sync replica of a partition went down, the verdict says that only this replica may become the
    leader, and that an election of the other replica would be unclean.
    """
    paces.poll_often(monkeypatch, 0.2, parts.Part.REPLICA_LOGS)
    place = Subject(topic="orders", partition=0)
    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        cluster.call(lambda c: c.state.put_topic(new_topic("orders", [(1, 2)], [1, 2, 3])))
        async with watching(ConnectionSettings(bootstrap=parse_bootstrap(cluster.bootstrap))) as it:
            await it.poll()
            for broker in (2, 1):
                cluster.run(lambda c, broker=broker: c.broker_killed(broker))  # type: ignore[misc]
                await it.names("broker-down", Subject(broker=broker))
                cluster.call(lambda c, broker=broker: c.fence(broker))  # type: ignore[misc]
            await it.until(lambda _: it.replica_logs("orders", 0) is not None, "what replicas hold")
            logs = it.replica_logs("orders", 0)
            assert logs is not None
            assert (logs.eligible, logs.last_known) == ((1,), (1,))
            cluster.run(lambda c: c.broker_up(2))
            elected = cluster.call(lambda c: elect(c.state, 1, "orders", 0))
            assert not elected.code
            named = await it.names("unclean-election", place)
            assert named.claim.certainty.value == "certain"
            assert "1 could lead it, all down; broker 2 leads now" in named.claim.evidence[0].fact


async def test_a_broker_that_does_not_take_in_what_was_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a broker does not learn of a new leader, and still answers with the former one, the verdict names this broker
    and no other.
    """
    paces.poll_often(monkeypatch, 0.5, parts.Part.VIEWS)

    def decide(running: EmbeddedCluster) -> None:
        running.propagation.stopped(3)  # the broker is up, and applies no more metadata
        before = new_topic("orders", [(1, 2, 3)], [1, 2, 3])
        (partition,) = before.partitions
        decided = partition._replace(leader=2, leader_epoch=partition.leader_epoch + 1)
        running.state.put_topic(replace(running.state.topics["orders"], partitions=(decided,)))

    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        cluster.call(lambda c: c.state.put_topic(new_topic("orders", [(1, 2, 3)], [1, 2, 3])))
        async with watching(ConnectionSettings(bootstrap=parse_bootstrap(cluster.bootstrap)[:1])) as it:
            assert not (await it.poll_times(3)).causes
            cluster.call(decide)
            named = await it.names("metadata-behind", Subject(broker=3))
            assert "orders/0 is leader epoch 0, while others know epoch 1" in named.claim.evidence[0].fact
            assert [each.claim.subject for each in (await it.poll()).causes] == [Subject(broker=3)]


@pytest.mark.parametrize(("factor", "code"), [("3", 4), ("1", 0)])
def test_a_broker_that_can_not_make_the_topic_of_offsets(
    factor: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a cluster of one broker, triage reports that no group can work if the replication factor of __consumer_offsets
    is Kafka's default, 3. It reports nothing if the factor is 1.
    """
    spec = ClusterSpec(brokers=1, static_configs={"offsets.topic.replication.factor": factor})
    with run_in_thread(spec) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", striped([1], 3, 1), [1])))
        assert triage(running) == code
        assert ("no group can work" in capsys.readouterr().out) is (code == 4)


@pytest.mark.parametrize("kind", ["TRANSACTIONAL_ID", "TOPIC"])
def test_a_broker_that_can_not_make_the_topic_of_transactions(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Triage reports that __transaction_state can't be created if its replication factor is above the number of
    brokers. The cause is more severe if ACLs let a client begin a transaction.
    """
    factors = {f"{each}.replication.factor": "3" for each in ("transaction.state.log", "share.coordinator.state.topic")}
    spec = ClusterSpec(brokers=1, static_configs={"offsets.topic.replication.factor": "1", **factors})
    allowed = worlds.acl("User:pay", "WRITE", kind, "pay", pattern="PREFIXED")
    with run_in_thread(spec) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", striped([1], 3, 1), [1])))
        running.call(lambda c: c.state.add_acl(allowed))
        assert triage(running) == 4
        said = capsys.readouterr().out
        assert "no transaction can begin" in said
        assert ("and ACLs let some" in said) is (kind == "TRANSACTIONAL_ID")


async def test_a_right_that_was_taken_is_named_where_writing_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a new ACL stops a producer, triage names this ACL, from the ACLs and log ends that it reads; the proposed fix
    removes the ACL.
    """
    paces.poll_often(monkeypatch, 0.3, parts.Part.LOGS, parts.Part.ACLS)
    monkeypatch.setattr(silence, "QUIET", 2.0)
    denied = worlds.acl("User:writer", "WRITE", "TOPIC", "orders", permission="DENY")

    def write(running: EmbeddedCluster) -> None:
        log = running.state.logs.setdefault(("orders", 0), partition_log.PartitionLog())
        log.append(record_batch.read_batch(batch_of([b"one"], int(running.clock.time() * 1000), b"k"), 0), 0)

    with run_in_thread(ClusterSpec(brokers=3)) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", striped([1, 2, 3], 1, 3), [1, 2, 3])))
        running.call(worlds.topic("__consumer_offsets", [(1, 2)], internal=True))
        async with watching(ConnectionSettings(bootstrap=parse_bootstrap(running.bootstrap))) as it:

            def grows() -> bool:
                running.call(write)
                known = it.facts.logs.logs.get(("orders", 0))
                return known is not None and known.grew_at is not None and it.observations is not None

            await it.until(lambda _: grows() and "acls" in it.observations.last.snapshot.read_at, "a log that grows")  # type: ignore[union-attr]
            running.call(lambda c: c.state.add_acl(denied))
            named = await it.names("access-changed", Subject(topic="orders"))
            assert named.claim.title == "DENY WRITE for User:writer on topic orders was added, and " + (
                "nothing is written to orders since"
            )
            assert named.claim.next[0].edits == (RemoveAcl(denied),)


# -- on real brokers --------------------------------------------------------------------------------------------------


async def write(addresses: tuple[tuple[str, int], ...], topic: str, count: int, acks: int | str = "all") -> None:
    """Write `count` records one by one to a topic."""
    where = ",".join(f"{host}:{port}" for host, port in addresses)
    async with AIOKafkaProducer(bootstrap_servers=where, acks=acks) as producer:
        for number in range(count):
            await producer.send_and_wait(topic, f"{number}".encode(), partition=0)


async def test_transactions_that_hang_are_named_and_slow_ones_are_not(
    kafka: KafkaCluster, link: Link, name: str, unverified: None
) -> None:
    """Triage names two hanging transactions: one that is older than the maximum transaction timeout, and a new one
    without a coordinator. It does not name the transaction of a running client.
    """
    assert await changing.applied(link, changes.CreateTopics((changes.NewTopic(name, 3, 1),)))
    with client_of(kafka, f"{name}-a") as hanging, client_of(kafka, f"{name}-b") as healthy:
        hanging.begin()
        healthy.begin()
        leave_hanging(hanging, name, 0, at=now_ms() - LONG_AGO)
        leave_hanging(hanging, name, 2, at=now_ms())
        healthy.add(name, 1)
        healthy.write(name, 1, b"its coordinator will end it", times=[now_ms()])
        async with watching(bootstrap(kafka.addresses)) as it:
            began = time.monotonic()
            old = await it.names("transaction-hanging", Subject(topic=name, partition=0))
            young = await it.names("transaction-hanging", Subject(topic=name, partition=2))
            print(f"named after {time.monotonic() - began:.1f} s")
            assert (old.claim.certainty, young.claim.certainty) == (Certainty.CERTAIN, Certainty.LIKELY)
            assert old.explains == {"lso-stands-still": 1}
            command = f"abort transaction topic {name} partition 0 producer {hanging.producer_id}"
            assert [step.command for step in old.claim.next] == [command]
            verdict = await it.poll()
            assert found(verdict, "transaction-hanging", Subject(topic=name, partition=1)) is None
            healthy.end()


async def test_records_that_are_deleted_before_their_time_are_named(kafka: KafkaCluster, link: Link, name: str) -> None:
    """If a request deletes records of a topic with a retention of a week, triage names this topic, but no topic that
    lost no records.
    """
    assert await changing.applied(
        link, changes.CreateTopics((changes.NewTopic(name, 1, 1), changes.NewTopic(f"{name}-kept", 1, 1)))
    )
    for topic in (name, f"{name}-kept"):
        await write(kafka.addresses, topic, 20)
    async with watching(bootstrap(kafka.addresses)) as it:
        await it.until(lambda _: (name, 0) in it.facts.newest, "a newest record")
        made = changes.DeleteRecords({changes.LogTarget(name, 0): 20})
        assert await changing.applied(link, made)
        named = await it.names("records-deleted", Subject(topic=name))
        assert named.claim.certainty is Certainty.CERTAIN
        assert f"{name}/0 begins at 20, and began at 0" in named.claim.evidence[0].fact
        assert found(await it.poll(), "records-deleted", Subject(topic=f"{name}-kept")) is None


async def test_what_a_principal_may_not_see_is_said(kafka: KafkaCluster, link: Link) -> None:
    """The verdict for a user without rights lists the data that kac could not read, with the missing rights."""
    shown = worlds.acl("User:somebody", "DESCRIBE", "CLUSTER", "kafka-cluster")
    assert await changing.applied(link, changes.CreateAcls((shown,)))
    sasl = SaslSettings("PLAIN", "alice", secret.Secret(kafka.users["alice"]))
    settings = ConnectionSettings(bootstrap=kafka.login_addresses, security_protocol="SASL_PLAINTEXT", sasl=sasl)
    try:
        async with watching(settings) as it:

            def told(verdict: Verdict) -> bool:
                hidden = {each.what.partition(" ")[0].rstrip(":"): each.where for each in verdict.unknowable}
                return all("DESCRIBE" in hidden.get(part, "").upper() for part in ("log_dirs", "reassignments"))

            await it.until(told, "what can't be seen")
    finally:
        assert await changing.applied(link, changes.DeleteAcls((shown,)))


async def test_a_directory_that_takes_no_new_replicas_is_seen(plain_cluster: KafkaCluster) -> None:
    """kac shows that a log directory of Kafka 4.3 is cordoned, which means that it gets no new replicas."""
    with AdminClient(ConnectionSettings(bootstrap=plain_cluster.addresses)) as client:

        async def cordoned() -> list[bool]:
            return [each.cordoned for each in (await client.run(describe_log_dirs, [1])).dirs[1]]

        (path,) = (each.path for each in (await client.run(describe_log_dirs, [1])).dirs[1])
        assert await cordoned() == [False]
        mine = config.ConfigResource(codes.BROKER, "1")
        for op, wanted in ((codes.SET, path), [True]), ((codes.DELETE,), [False]):
            change = changes.AlterConfigs({mine: (changes.ConfigOp("cordoned.log.dirs", *op),)})
            assert all(each.ok for each in await client.run(send, change, validate_only=False))
            found = await until_settled(cordoned, lambda seen: seen[0] is (op[0] != codes.SET), within=30, attempts=100)  # noqa: B023
            assert found == wanted


@pytest.mark.broker
async def test_certificates_that_end_soon_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Triage names certificates that were valid for 70 minutes and will expire in 10, on each listener, also on one
    without connections.
    """
    monkeypatch.setattr(certificates, "_LIFETIME", timedelta(minutes=10))
    with KafkaCluster(security="secure", brokers=1) as cluster:
        settings = secure(cluster)
        async with watching(settings) as it:
            named = await it.names("certificate-expiring", Subject(broker=1, key="ssl.keystore.location"))
            assert named.claim.certainty is Certainty.CERTAIN
            listeners = (*cluster.addresses, *map(address, cluster.mtls_bootstrap.split(",")))

            def are_told(verdict: Verdict) -> bool:
                named = found(verdict, "certificate-expiring", Subject(broker=1, key="ssl.keystore.location"))
                told = [each.fact for each in named.claim.evidence] if named is not None else []
                return all(any(f"{host}:{port} " in fact for fact in told) for host, port in listeners)

            await it.until(are_told, "the certificates of both listeners")
        file = tmp_path / "tls.flight"
        live = await recorded_polls.watched("", file, 4, lambda _: None, settings)
        await asyncio.to_thread(_same_certificates, live, file)


def _same_certificates(live: list[Verdict], file: Path) -> None:
    """Check that a replay of a record names the same certificates as the live verdicts. Check that the anonymous copy
    of the record has no certificate and no address, and that its replay names as many certificates.
    """
    wanted = _expiring(live[-1])
    assert wanted
    reader = FlightReader(file)
    assert _expiring(recorded_polls.replayed(file, poll_ends(reader.times))[-1]) == wanted
    hidden = file.with_name("anonymous.flight")
    names = Pseudonyms()
    sink = Anonymous(FlightWriter(hidden, names.header(reader.header)), names)
    for answer in reader.answers():
        sink.add(answer)
    sink.close()
    handshakes = [answer for answer in FlightReader(hidden).answers() if answer.api_key == HANDSHAKE]
    assert handshakes
    assert not [answer for answer in handshakes if b"CN=" in answer.body or b"127.0.0.1" in answer.host.encode()]
    assert len(_expiring(recorded_polls.replayed(hidden, poll_ends(reader.times))[-1])) == len(wanted)


def _expiring(verdict: Verdict) -> set[Subject]:
    return {each.claim.subject for each in verdict.causes if each.claim.cause == "certificate-expiring"}


async def test_certificates_that_last_are_no_trouble(secure_cluster: KafkaCluster) -> None:
    async with watching(secure(secure_cluster)) as it:
        shown = len(secure_cluster.addresses) * 2
        await it.until(
            lambda _: it.observations is not None and len(it.observations.last.facts.certificates) >= shown,
            "certificates",
        )
        assert "certificate-expiring" not in {each.claim.cause for each in (await it.poll()).causes}


def secure(cluster: KafkaCluster) -> ConnectionSettings:
    """Return connection settings (SASL_SSL) of the cluster's super user."""
    return ConnectionSettings(
        bootstrap=cluster.addresses,
        security_protocol="SASL_SSL",
        sasl=SaslSettings("PLAIN", "admin", secret.Secret(cluster.users["admin"])),
        tls=TlsSettings(trust=Store("PEM", path=cluster.authority.pem)),
    )


def address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


@real_clusters.BOTH
async def test_a_leader_from_outside_of_the_isr_is_named(racked_cluster: KafkaCluster, name: str) -> None:
    """Triage names an unclean election: a follower is killed, the leader takes more records and is killed too, then the
    follower starts and becomes the leader without these records.
    """
    client = AdminClient(ConnectionSettings(bootstrap=racked_cluster.addresses[:1]))
    client.start()
    topic = changes.NewTopic(name, assignments=((2, 3),), configs={"min.insync.replicas": "1"})
    assert all(each.ok for each in await client.run(send, changes.CreateTopics((topic,)), validate_only=False))
    await write(racked_cluster.addresses, name, 20)
    async with watching(bootstrap(racked_cluster.addresses[:1])) as it:
        for broker in (3, 2):
            await asyncio.to_thread(racked_cluster.kill, broker)
            await it.names("broker-down", Subject(broker=broker))
            if broker == 3:
                await write(racked_cluster.addresses[:2], name, 10)
        place = Subject(topic=name, partition=0)
        await it.until(
            lambda _: it.observations is not None and ("leaderless", place) in it.observations.seen, "a leaderless one"
        )
        await it.until(lambda _: it.replica_logs(name, 0) is not None, "what its replicas hold")
        await asyncio.to_thread(racked_cluster.restart, 3)
        elect = changes.ElectLeaders((changes.PartitionTarget(name, 0),), unclean=True)
        # The controller refuses until it knows that the broker is up.
        await until_settled(
            lambda: client.run(send, elect, validate_only=False),
            lambda outcomes: not outcomes[0].ok,
            within=60,
            attempts=200,
        )
        named = await it.names("unclean-election", place)
        assert named.claim.certainty is Certainty.CERTAIN
        assert "broker 3 leads now" in named.claim.evidence[0].fact
        await asyncio.to_thread(racked_cluster.restart, 2)
    client.close()

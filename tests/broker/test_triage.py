"""What is named on real brokers, 4.3 and 3.9: from what happened on them, and nothing of what is well."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.cluster import describe_log_dirs
from console.admin.link import Link, until_settled
from console.admin.settings import ConnectionSettings, SaslSettings, Store, TlsSettings
from console.flight.anonymous import Anonymous, Pseudonyms
from console.flight.answer import HANDSHAKE
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.model.acl import Acl
from console.model.changes import (
    AlterConfigs,
    ConfigOp,
    CreateAcls,
    CreateTopics,
    DeleteAcls,
    DeleteRecords,
    ElectLeaders,
    LogTarget,
    NewTopic,
    PartitionTarget,
)
from console.model.codes import BROKER, DELETE, SET, AclOperation, AclResourceType, PatternType, Permission
from console.model.config import ConfigResource
from console.model.secret import Secret
from console.session.replay import poll_ends
from console.triage.cause import Certainty
from console.triage.diagnosis import Verdict
from console.triage.symptoms import Subject
from tests.broker.test_transactions import LONG_AGO, VERIFICATION, client_of, leave_hanging, now_ms
from tests.support import certificates
from tests.support.changing import applied
from tests.support.kafka_cluster import KafkaCluster
from tests.support.real_clusters import BOTH
from tests.support.recorded_polls import replayed, watched
from tests.support.triage_watch import bootstrap, found, watching


async def write(addresses: tuple[tuple[str, int], ...], topic: str, count: int, acks: int | str = "all") -> None:
    """So many records, one by one."""
    where = ",".join(f"{host}:{port}" for host, port in addresses)
    async with AIOKafkaProducer(bootstrap_servers=where, acks=acks) as producer:
        for number in range(count):
            await producer.send_and_wait(topic, f"{number}".encode(), partition=0)


@pytest.fixture
async def unverified(link: Link) -> AsyncIterator[None]:
    """Leaders take transactional records that no coordinator knows of."""
    everyone = ConfigResource(BROKER, "")
    await send(link, AlterConfigs({everyone: (ConfigOp(VERIFICATION, SET, "false"),)}), validate_only=False)
    yield
    await send(link, AlterConfigs({everyone: (ConfigOp(VERIFICATION, DELETE),)}), validate_only=False)


async def test_transactions_that_hang_are_named_and_slow_ones_are_not(
    kafka: KafkaCluster, link: Link, name: str, unverified: None
) -> None:
    """One is older than transactions may be, one is a moment old and no coordinator knows it, one is a client's."""
    assert await applied(link, CreateTopics((NewTopic(name, 3, 1),)))
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
    """By a request, of a topic that keeps them for a week; a topic that lost nothing is not named."""
    assert await applied(link, CreateTopics((NewTopic(name, 1, 1), NewTopic(f"{name}-kept", 1, 1))))
    for topic in (name, f"{name}-kept"):
        await write(kafka.addresses, topic, 20)
    async with watching(bootstrap(kafka.addresses)) as it:
        await it.until(lambda _: (name, 0) in it.facts.newest, "a newest record")
        made = DeleteRecords({LogTarget(name, 0): 20})
        assert await applied(link, made)
        named = await it.names("records-deleted", Subject(topic=name))
        assert named.claim.certainty is Certainty.CERTAIN
        assert f"{name}/0 begins at 20, and began at 0" in named.claim.evidence[0].fact
        assert found(await it.poll(), "records-deleted", Subject(topic=f"{name}-kept")) is None


async def test_what_a_principal_may_not_see_is_said(kafka: KafkaCluster, link: Link) -> None:
    """Somebody without rights: what could not be looked at is in the verdict, with what to ask for."""
    shown = Acl(
        AclResourceType.parse("CLUSTER"),
        "kafka-cluster",
        PatternType.parse("LITERAL"),
        "User:somebody",
        "*",
        AclOperation.parse("DESCRIBE"),
        Permission.parse("ALLOW"),
    )
    assert await applied(link, CreateAcls((shown,)))
    sasl = SaslSettings("PLAIN", "alice", Secret(kafka.users["alice"]))
    settings = ConnectionSettings(bootstrap=kafka.login_addresses, security_protocol="SASL_PLAINTEXT", sasl=sasl)
    try:
        async with watching(settings) as it:

            def told(verdict: Verdict) -> bool:
                hidden = {each.what.partition(" ")[0].rstrip(":"): each.where for each in verdict.unknowable}
                return all("DESCRIBE" in hidden.get(part, "").upper() for part in ("log_dirs", "reassignments"))

            await it.until(told, "what can't be seen")
    finally:
        assert await applied(link, DeleteAcls((shown,)))


async def test_a_directory_that_takes_no_new_replicas_is_seen(plain_cluster: KafkaCluster) -> None:
    """Kafka 4.3 describes it."""
    client = AdminClient(ConnectionSettings(bootstrap=plain_cluster.addresses))
    client.start()

    async def cordoned() -> list[bool]:
        return [each.cordoned for each in (await client.run(describe_log_dirs, [1])).dirs[1]]

    try:
        (path,) = (each.path for each in (await client.run(describe_log_dirs, [1])).dirs[1])
        assert await cordoned() == [False]
        mine = ConfigResource(BROKER, "1")
        for op, wanted in ((SET, path), [True]), ((DELETE,), [False]):
            change = AlterConfigs({mine: (ConfigOp("cordoned.log.dirs", *op),)})
            assert all(each.ok for each in await client.run(send, change, validate_only=False))
            found = await until_settled(cordoned, lambda seen: seen[0] is (op[0] != SET), within=30, attempts=100)  # noqa: B023
            assert found == wanted
    finally:
        client.close()


# -- certificates ------------------------------------------------------------------------------------------------------


async def test_certificates_that_end_soon_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of a life of 70 minutes with 10 left, of each listener: also of the one that nobody has connected to."""
    monkeypatch.setattr(certificates, "_LIFETIME", timedelta(minutes=10))
    with KafkaCluster(security="secure", brokers=1) as cluster:
        settings = secure(cluster)
        async with watching(settings) as it:
            for host, port in (*cluster.addresses, *map(address, cluster.mtls_bootstrap.split(","))):
                named = await it.names("certificate-expiring", Subject(broker=1, listener=f"{host}:{port}"))
                assert named.claim.certainty is Certainty.CERTAIN
                assert "CN=broker" in named.claim.evidence[0].fact
        file = tmp_path / "tls.flight"
        live = await watched("", file, 4, lambda _: None, settings)
        await asyncio.to_thread(_same_certificates, live, file)


def _same_certificates(live: list[Verdict], file: Path) -> None:
    """A replay of the record names them, and the record has no certificate, and no name if it is anonymous."""
    wanted = _expiring(live[-1])
    assert wanted
    reader = FlightReader(file)
    assert _expiring(replayed(file, poll_ends(reader.times))[-1]) == wanted
    hidden = file.with_name("anonymous.flight")
    names = Pseudonyms()
    sink = Anonymous(FlightWriter(hidden, names.header(reader.header)), names)
    for answer in reader.answers():
        sink.add(answer)
    sink.close()
    handshakes = [answer for answer in FlightReader(hidden).answers() if answer.api_key == HANDSHAKE]
    assert handshakes
    assert not [answer for answer in handshakes if b"CN=" in answer.body or b"127.0.0.1" in answer.host.encode()]
    assert len(_expiring(replayed(hidden, poll_ends(reader.times))[-1])) == len(wanted)


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
    """The settings of the super user."""
    return ConnectionSettings(
        bootstrap=cluster.addresses,
        security_protocol="SASL_SSL",
        sasl=SaslSettings("PLAIN", "admin", Secret(cluster.users["admin"])),
        tls=TlsSettings(trust=Store("PEM", path=cluster.authority.pem)),
    )


def address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


# -- elections ---------------------------------------------------------------------------------------------------------


@BOTH
async def test_a_leader_from_outside_of_the_isr_is_named(racked_cluster: KafkaCluster, name: str) -> None:
    """The follower goes, the leader writes on and goes too; the follower comes back and is made to lead."""
    client = AdminClient(ConnectionSettings(bootstrap=racked_cluster.addresses[:1]))
    client.start()
    topic = NewTopic(name, assignments=((2, 3),), configs={"min.insync.replicas": "1"})
    assert all(each.ok for each in await client.run(send, CreateTopics((topic,)), validate_only=False))
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
        elect = ElectLeaders((PartitionTarget(name, 0),), unclean=True)
        # Until the controller knows that the broker is back it refuses.
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

"""Causes that are settings and quotas, on real brokers, 4.3 and 3.9: what was changed and who is throttled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.changes import send
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.model import changes
from console.model.codes import DELETE, SET
from console.model.config import broker_resource, topic_resource
from console.model.quota import QuotaEntity
from console.model.severity import Certainty
from console.plan.edits import SetConfig, UnsetConfig
from console.triage.symptoms import UNDER_REPLICATED, Subject
from tests.support.changing import applied
from tests.support.kafka_cluster import KafkaCluster
from tests.support.triage_watch import bootstrap, found, watching

RATE = 10_000.0
"""Bytes a second that a client may write; a record has twice as many."""


async def write_on(kafka: KafkaCluster, topic: str, client: str, size: int, pause: float) -> None:
    """Write until the task ends."""
    where = ",".join(f"{host}:{port}" for host, port in kafka.addresses)
    async with AIOKafkaProducer(bootstrap_servers=where, client_id=client) as producer:
        while True:
            await producer.send_and_wait(topic, bytes(size), partition=0)
            await asyncio.sleep(pause)


@pytest.fixture
async def bounded(link: Link, name: str) -> AsyncIterator[str]:
    """A client id with a quota."""
    client = f"{name}-bounded"
    entity = QuotaEntity.of({"client-id": client})
    assert await applied(link, changes.AlterQuotas({entity: {"producer_byte_rate": RATE}}))
    yield client
    assert await applied(link, changes.AlterQuotas({entity: {"producer_byte_rate": None}}))


async def test_whom_brokers_throttle_is_certain_by_their_request_logs(
    kafka: KafkaCluster, link: Link, name: str, bounded: str
) -> None:
    """One client writes more than its quota allows, another one has none and is not named."""
    assert await applied(link, changes.CreateTopics((changes.NewTopic(name, 1, 1),)))
    writers = [
        asyncio.create_task(write_on(kafka, name, bounded, 2 * int(RATE), 0.0)),
        asyncio.create_task(write_on(kafka, name, f"{name}-free", 100, 0.1)),
    ]
    try:
        async with watching(bootstrap(kafka.addresses), kafka.request_log.files) as it:
            named = await it.names("quota-exceeded", Subject(entity=f"client-id {bounded}"))
            assert named.claim.certainty is Certainty.CERTAIN
            how, limit = named.claim.evidence
            assert "requests within 60 s, for up to" in how.fact
            assert limit.fact == f"producer_byte_rate of {QuotaEntity.of({'client-id': bounded})!r} is 10,000"
            assert found(await it.poll(), "quota-exceeded", Subject(entity=f"client-id {name}-free")) is None
    finally:
        for task in writers:
            task.cancel()
        await asyncio.gather(*writers, return_exceptions=True)


async def test_a_change_right_before_its_symptom_stands_beside_it(kafka: KafkaCluster, link: Link, name: str) -> None:
    """A min ISR above the replication is set while it is watched, of one topic by another client and of one by this
    host: both changes are named, with what takes them back, and who made the second. A topic of one replica takes
    writes, and is no trouble."""
    ours, alone = f"{name}-ours", f"{name}-alone"
    key = "min.insync.replicas"
    made = (
        changes.NewTopic(name, 1, 2),
        changes.NewTopic(ours, 1, 2),
        changes.NewTopic(alone, 1, 1, configs={key: "3"}),
    )
    assert await applied(link, changes.CreateTopics(made))
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, acks="all") as producer:
        await producer.send_and_wait(alone, b"one")
    async with watching(bootstrap(kafka.addresses), journal=True) as it:
        await it.until(lambda _: it.knows_configs_of(name) and it.knows_configs_of(ours), "the topics' configs")
        await it.poll_times(6)  # the journal is looked into for what changes from here on
        set_it = changes.AlterConfigs({topic_resource(name): (changes.ConfigOp(key, SET, "3"),)})
        await send(link, set_it, validate_only=False)
        where = ",".join(f"{host}:{port}" for host, port in kafka.addresses)
        command = f"set topic {ours} {key}=3; apply --yes --accept isr-above-replication"
        assert await asyncio.to_thread(cli.run, ["run", "-b", where, "-e", command]) == 0
        await it.reads_configs_of(name, ours)
        named = await it.names("changed-lately", Subject(topic=name, key=key))
        what, risk = named.claim.evidence
        assert risk.source == "the rule isr-above-replication of plans"
        assert what.fact.startswith(f"{key} was not set (1 applied), and is 3 since")
        assert found(await it.poll(), "min-isr-impossible", Subject(topic=name)) is not None
        assert found(await it.poll(), "min-isr-impossible", Subject(topic=alone)) is None
        await it.until(
            lambda v: (
                (one := found(v, "changed-lately", Subject(topic=ours, key=key))) is not None
                and len(one.claim.evidence) == 3
            ),
            "an author",
        )
        mine = await it.names("changed-lately", Subject(topic=ours, key=key))
        _, _, who = mine.claim.evidence
        assert who.source == "this host's journal"
        assert "set it: change 1, " in who.fact
        (step,) = mine.claim.next
        assert step.edits == (UnsetConfig(topic_resource(ours), key),)


FOLLOWER_RATE, FOLLOWERS = "follower.replication.throttled.rate", "follower.replication.throttled.replicas"
ODD, USUAL, SLOW = 3, str(10**9), "1"


@pytest.fixture
async def slow_follower(plain_cluster: KafkaCluster, name: str) -> AsyncIterator[str]:
    """A topic that one broker may not follow: all brokers have a rate, and only its is next to nothing. Followers that
    are in sync are never throttled (ReplicaFetcherThread), so it gets a replica of what is written all the time."""
    link = Link(ConnectionSettings(bootstrap=plain_cluster.addresses))
    rates = {broker_resource(each): SLOW if each == ODD else USUAL for each in plain_cluster.broker_ids}
    assert await applied(
        link, changes.CreateTopics((changes.NewTopic(name, assignments=((1, 2),), configs={FOLLOWERS: "*"}),))
    )
    writing = asyncio.create_task(write_on(plain_cluster, name, name, 20_000, 0.05))
    try:
        for each, rate in rates.items():  # each broker takes its own alone
            assert await applied(
                link, changes.AlterConfigs({each: (changes.ConfigOp(FOLLOWER_RATE, SET, rate),)}, int(each.name))
            )
        assert await applied(link, changes.AlterReassignments({changes.MoveTarget(name, 0): (1, 2, ODD)}))
        yield name
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        for each in rates:
            assert await applied(
                link, changes.AlterConfigs({each: (changes.ConfigOp(FOLLOWER_RATE, DELETE),)}, int(each.name))
            )
        assert await applied(link, changes.DeleteTopics((name,)))
        await link.close()


async def test_a_setting_that_one_broker_alone_has_stands_beside_its_trouble(
    plain_cluster: KafkaCluster, slow_follower: str
) -> None:
    """A follower may fetch next to nothing, and stays out of the ISR: its rate is named, and set as on the others."""
    async with watching(bootstrap(plain_cluster.addresses)) as it:
        named = await it.names("config-odd", Subject(broker=ODD, key=FOLLOWER_RATE))
        (what,) = named.claim.evidence
        assert what.fact == f"{FOLLOWER_RATE} is {SLOW} on broker {ODD}, {USUAL} on the others"
        assert named.claim.certainty is Certainty.POSSIBLE
        assert UNDER_REPLICATED in named.explains
        assert Subject(topic=slow_follower, partition=0) in named.examples
        (step,) = named.claim.next
        assert step.edits == (SetConfig(broker_resource(ODD), FOLLOWER_RATE, USUAL),)
        odd = {each.claim.subject.broker for each in (await it.poll()).causes if each.claim.cause == "config-odd"}
        assert odd == {ODD}

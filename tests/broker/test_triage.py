"""Tests of the causes that triage names on real brokers, from the alarm until the cluster is healthy, and of the rates
that polls show.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from aiokafka import (
    AIOKafkaConsumer,  # type: ignore[import-untyped]
    AIOKafkaProducer,  # type: ignore[import-untyped]
)

from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.admin.topics import describe_topics
from console.cli import main as cli
from console.contexts import Context
from console.contexts.context import NEVER
from console.model import changes, cluster, codes, config, quota, severity
from console.model.changes import AlterConfigs, ConfigOp, CreateTopics, NewTopic
from console.model.rates import SHORTEST, Rate, Rates, RateTotals
from console.plan.edits import SetConfig, UnsetConfig
from console.session.session import Session
from console.triage.symptoms import UNDER_REPLICATED, Subject
from tests.support import patience, worlds
from tests.support.changing import applied, make_topic
from tests.support.kafka_cluster import KafkaCluster
from tests.support.triage_watch import bootstrap, found, watching
from tests.tui.console_app import Driven, driven_on

RATE = 10_000.0
"""The quota of a client in bytes per second. A record has twice as many bytes."""


async def write_on(kafka: KafkaCluster, topic: str, client: str, size: int, pause: float) -> None:
    """Write a record of `size` bytes to partition 0 every `pause` seconds, until the task is cancelled. client: the
    client id.
    """
    where = ",".join(f"{host}:{port}" for host, port in kafka.addresses)
    async with AIOKafkaProducer(bootstrap_servers=where, client_id=client) as producer:
        while True:
            await producer.send_and_wait(topic, bytes(size), partition=0)
            await asyncio.sleep(pause)


@pytest.fixture
async def bounded(link: Link, name: str) -> AsyncIterator[str]:
    """Provide a client id with a quota of `RATE` bytes per second for its produce requests."""
    client = f"{name}-bounded"
    entity = quota.QuotaEntity.of({"client-id": client})
    assert await applied(link, changes.AlterQuotas({entity: {"producer_byte_rate": RATE}}))
    yield client
    assert await applied(link, changes.AlterQuotas({entity: {"producer_byte_rate": None}}))


async def test_whom_brokers_throttle_is_certain_by_their_request_logs(
    kafka: KafkaCluster, link: Link, name: str, bounded: str
) -> None:
    """If triage has the brokers' request logs, it is certain which client exceeds its quota, and does not name a client
    without a quota.
    """
    assert await applied(link, changes.CreateTopics((changes.NewTopic(name, 1, 1),)))
    writers = [
        asyncio.create_task(write_on(kafka, name, bounded, 2 * int(RATE), 0.0)),
        asyncio.create_task(write_on(kafka, name, f"{name}-free", 100, 0.1)),
    ]
    try:
        async with watching(bootstrap(kafka.addresses), kafka.request_log.files) as it:
            named = await it.names("quota-exceeded", Subject(entity=f"client-id {bounded}"))
            assert named.claim.certainty is severity.Certainty.CERTAIN
            how, limit = named.claim.evidence
            assert "requests within 60 s, for up to" in how.fact
            assert limit.fact == f"producer_byte_rate of {quota.QuotaEntity.of({'client-id': bounded})!r} is 10,000"
            assert found(await it.poll(), "quota-exceeded", Subject(entity=f"client-id {name}-free")) is None
    finally:
        for task in writers:
            task.cancel()
        await asyncio.gather(*writers, return_exceptions=True)


async def test_a_change_right_before_its_symptom_stands_beside_it(kafka: KafkaCluster, link: Link, name: str) -> None:
    """Another client and kac on this host each set a min ISR above the number of replicas while triage polls. Triage
    names both changes with their reverts, and the author of the second one. It names no cause for a topic with one
    replica, which still accepts records.
    """
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
        await it.poll_times(6)  # the verdict compares the journal with later changes only
        set_it = changes.AlterConfigs({config.topic_resource(name): (changes.ConfigOp(key, codes.SET, "3"),)})
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
        assert step.edits == (UnsetConfig(config.topic_resource(ours), key),)


FOLLOWER_RATE, FOLLOWERS = "follower.replication.throttled.rate", "follower.replication.throttled.replicas"
ODD, USUAL, SLOW = 3, str(10**9), "1"


@pytest.fixture
async def slow_follower(plain_cluster: KafkaCluster, name: str) -> AsyncIterator[str]:
    """Provide a topic that one broker replicates too slowly: all brokers have a replication throttle, and only that
    broker's rate is close to 0. It gets a new replica of a topic that is being written to, because brokers never
    throttle followers that are in sync (ReplicaFetcherThread).
    """
    link = Link(ConnectionSettings(bootstrap=plain_cluster.addresses))
    rates = {config.broker_resource(each): SLOW if each == ODD else USUAL for each in plain_cluster.broker_ids}
    assert await applied(
        link, changes.CreateTopics((changes.NewTopic(name, assignments=((1, 2),), configs={FOLLOWERS: "*"}),))
    )
    writing = asyncio.create_task(write_on(plain_cluster, name, name, 20_000, 0.05))
    try:
        for each, rate in rates.items():  # each broker accepts only its own config
            assert await applied(
                link, changes.AlterConfigs({each: (changes.ConfigOp(FOLLOWER_RATE, codes.SET, rate),)}, int(each.name))
            )
        assert await applied(link, changes.AlterReassignments({changes.MoveTarget(name, 0): (1, 2, ODD)}))
        yield name
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        for each in rates:
            assert await applied(
                link, changes.AlterConfigs({each: (changes.ConfigOp(FOLLOWER_RATE, codes.DELETE),)}, int(each.name))
            )
        assert await applied(link, changes.DeleteTopics((name,)))
        await link.close()


async def test_a_setting_that_one_broker_alone_has_stands_beside_its_trouble(
    plain_cluster: KafkaCluster, slow_follower: str
) -> None:
    """If a follower is out of the ISR and its broker alone has a very low throttle rate, triage names this rate as a
    possible cause, with a step that sets the rate of the other brokers.
    """
    async with watching(bootstrap(plain_cluster.addresses)) as it:
        named = await it.names("config-odd", Subject(broker=ODD, key=FOLLOWER_RATE))
        (what,) = named.claim.evidence
        assert what.fact == f"{FOLLOWER_RATE} is {SLOW} on broker {ODD}, {USUAL} on the others"
        assert named.claim.certainty is severity.Certainty.POSSIBLE
        assert UNDER_REPLICATED in named.explains
        assert Subject(topic=slow_follower, partition=0) in named.examples
        (step,) = named.claim.next
        assert step.edits == (SetConfig(config.broker_resource(ODD), FOLLOWER_RATE, USUAL),)
        odd = {each.claim.subject.broker for each in (await it.poll()).causes if each.claim.cause == "config-odd"}
        assert odd == {ODD}


# -- from the alarm to a healthy cluster on real brokers ---------------------------------------------------------------

THROTTLE = "leader.replication.throttled.rate"
MIN_ISR = "min.insync.replicas"
MOST_KEYS = 8


@pytest.fixture
async def troubled(own_cluster: KafkaCluster, name: str) -> AsyncIterator[str]:
    """Provide a topic on a cluster with three causes of trouble: this topic has a min ISR above its number of replicas,
    broker 2 has a throttle that nobody removed, and broker 3 leads no partition after a restart.
    """
    link = Link(ConnectionSettings(bootstrap=own_cluster.addresses))
    cards, orders = f"cards-{name}", f"orders-{name}"
    assert await applied(link, CreateTopics((NewTopic(cards, 2, 2), NewTopic(orders, 24, 3))))
    of_cards, of_broker = config.topic_resource(cards), config.broker_resource(2)
    for resource, key, value, broker in ((of_cards, MIN_ISR, "3", None), (of_broker, THROTTLE, "1048576", 2)):
        assert await applied(link, AlterConfigs({resource: (ConfigOp(key, codes.SET, value),)}, broker))
    await asyncio.to_thread(own_cluster.kill, 3)
    await asyncio.to_thread(own_cluster.restart, 3)

    async def is_in_sync() -> bool:
        return not (await describe_topics(link)).topics[orders].under_replicated

    # If the console sees the broker come back, it waits for the controller's own election instead.
    await patience.shortly(is_in_sync)
    yield cards
    for resource, key, broker in ((of_cards, MIN_ISR, None), (of_broker, THROTTLE, 2)):
        await applied(link, AlterConfigs({resource: (ConfigOp(key, codes.DELETE),)}, broker))
    await link.close()


async def walk(it: Driven, title: str) -> int:
    """Resolve the cause with this title by keys in the console, and return the number of pressed keys."""
    keys: list[str] = []

    async def press(*more: str) -> None:
        keys.extend(more)
        await it.press(*more)

    await it.shows(title)
    rows = [line for line in it.lines if {"HIGH", "WARN"} & set(line[:8].split())]
    place = next(number for number, line in enumerate(rows) if title in line)
    here = next((number for number, line in enumerate(rows) if line.startswith("▸")), 0)
    await press(*("j" if place > here else "k") * abs(place - here))
    await it.until(lambda: f"── {title}" in it.text)
    await press("F")
    moved = "the cursor is on another cause now"  # the former cause is gone
    await it.until(lambda: "Plan*" in it.text or moved in it.text)
    if "Plan*" not in it.text:
        await press("F")
        await it.until(lambda: "Plan*" in it.text)
    await press("7", "A")
    await it.shows("y checks the plan")
    await press("y")
    await it.shows("applied")
    await press("full_stop")
    await it.until(lambda: title not in it.text)
    return len(keys)


@pytest.mark.takes(60)
async def test_from_the_alarm_to_green(own_cluster: KafkaCluster, troubled: str) -> None:
    async with driven_on(own_cluster, start_pane="now") as it:
        titles = ("broker 2: a throttle is left over", f"{troubled}: min ISR 3, 2 replicas", "broker 3 does not lead")
        for title in titles:
            await it.shows(title)  # a row that appears later would move the others
        for title in titles:
            assert await walk(it, title) <= MOST_KEYS


# -- the rates in polls, of a producer with a known rate, on real brokers, 4.3 and 3.9 ---------------------------------

A_SECOND = 200
"""The number of records that the producer writes per second, to the whole topic."""
BYTES = 1_000
POLLS, MOST_POLLS = 12, 60


def topic_rate(rates: Rates, topic: cluster.Topic) -> Rate:
    """Return the rate of a topic, summed over its partitions, as a pane shows it."""
    return RateTotals().after(rates, {topic.name: topic}).topics.get(topic.name, Rate())


session = worlds.session("kafka", journal=False)


async def produce(kafka: KafkaCluster, topic: str) -> None:
    """Write `A_SECOND` records of `BYTES` bytes per second, each in a batch of its own, until the task is cancelled."""
    loop = asyncio.get_running_loop()
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, acks=1)
    await producer.start()
    try:
        # One broker may know a new topic before another does.
        while len(await producer.partitions_for(topic)) < 2:
            await producer.client.force_metadata_update()
        began, sent = loop.time(), 0
        while True:
            while sent < (loop.time() - began) * A_SECOND:
                await producer.send(topic, os.urandom(BYTES), partition=sent % 2)
                sent += 1
            await producer.flush()
            await asyncio.sleep(0.05)  # the producer's pace
    finally:
        await producer.stop()


@pytest.mark.takes(25)
async def test_a_producer_of_a_known_rate(kafka: KafkaCluster, link: Link, session: Session, name: str) -> None:
    await make_topic(link, name, partitions=2)
    await make_topic(link, f"{name}-idle", partitions=1)
    await session.read_cluster()
    producing = asyncio.create_task(produce(kafka, name))
    try:
        found = await _rate(session, name)
        idle = topic_rate(session.snapshot.rates, session.snapshot.topics[f"{name}-idle"])
    finally:
        producing.cancel()
        with suppress(asyncio.CancelledError):
            await producing
    assert found.records == pytest.approx(A_SECOND, rel=0.2)
    assert found.bytes == pytest.approx(A_SECOND * BYTES, rel=0.2)
    assert idle == Rate(0, 0)


async def _rate(session: Session, topic: str) -> Rate:
    """Poll at least `POLLS` and at most `MOST_POLLS` times, until the rate of a topic is known, and return it; after
    the last poll it may be unknown. Raises AssertionError if it is known after the first poll, which can't show a
    rate.
    """
    for number in range(MOST_POLLS):
        if number >= POLLS and topic_rate(session.snapshot.rates, session.snapshot.topics[topic]).bytes is not None:
            break
        await session.read_topics()
        await session.rates.read([(topic, 0), (topic, 1)])
        if not number:
            assert topic_rate(session.snapshot.rates, session.snapshot.topics[topic]) == Rate()
        await asyncio.sleep(2 * SHORTEST)  # the interval that the test is about
    return topic_rate(session.snapshot.rates, session.snapshot.topics[topic])


PAUSES = (4.0, 9.0)
"""Seconds between the pause of a consumer and each poll of its lag."""


@pytest.mark.takes(15)
async def test_the_lag_of_a_consumer_that_is_paused_for_known_times(kafka: KafkaCluster, link: Link, name: str) -> None:
    """The lag in seconds of a paused consumer differs by at most two seconds from the age of the last record that it
    received. This holds for the lag from polls alone, and for the lag from the record at the committed offset.
    """
    await make_topic(link, name, partitions=2)
    settings = worlds.settings(kafka)
    client = AdminClient(settings)
    client.start()
    watching = Session(client, Context("test", "test", settings, journal=False, records=NEVER))
    producing = asyncio.create_task(produce(kafka, name))
    consumer = AIOKafkaConsumer(
        name,
        bootstrap_servers=kafka.bootstrap,
        group_id=name,
        auto_offset_reset="earliest",
        metadata_max_age_ms=500,
    )
    await consumer.start()
    try:
        while len(consumer.assignment()) < 2:
            await consumer.getmany(timeout_ms=100)
        # The consumer reads and commits until the watcher sees no lag; then it is paused.
        began, paused = time.monotonic(), 0.0
        while time.monotonic() - began < 2 or not paused:
            found = await consumer.getmany(timeout_ms=200)
            await consumer.commit()
            await watching.poll_groups([name], times=100)
            paused = max([paused, *(each.timestamp / 1000 for records in found.values() for each in records)])
        consumer.pause(*consumer.assignment())
        for seconds in PAUSES:
            while time.time() - paused < seconds:
                await watching.poll_groups([name], times=100)
                await asyncio.sleep(0.5)  # the interval of the polls
            once = Session(client, Context("test", "test", settings, journal=False))
            await once.poll_groups([name], times=100)
            for session in (watching, once):
                trend = session.snapshot.lag_trends[name]
                behind = trend.longest_behind
                assert not behind.least
                assert behind.seconds == pytest.approx(trend.last.at - paused, abs=2.0)
        consumer.resume(*consumer.assignment())
        end = time.monotonic() + patience.PATIENCE
        while (watching.snapshot.lag_trends[name].longest_behind.seconds or 9) > 1 and time.monotonic() < end:
            await consumer.getmany(timeout_ms=200)
            await consumer.commit()
            await watching.poll_groups([name], times=100)
        assert (watching.snapshot.lag_trends[name].longest_behind.seconds or 0) <= 1
    finally:
        await consumer.stop()
        producing.cancel()
        with suppress(asyncio.CancelledError):
            await producing
        client.close()

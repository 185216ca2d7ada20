"""What polls show of a producer with a known rate, on real brokers, 4.3 and 3.9; and of a consumer that is paused."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.client import AdminClient
from console.admin.link import Link
from console.contexts import Context
from console.contexts.context import NEVER
from console.model.cluster import Topic
from console.model.rates import SHORTEST, Rate, Rates, RateTotals
from console.session.session import Session
from tests.support import worlds
from tests.support.changing import make_topic
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE

A_SECOND = 200
"""Records."""
BYTES = 1_000
POLLS, MOST_POLLS = 12, 60


def topic_rate(rates: Rates, topic: Topic) -> Rate:
    """The rate of a topic over all its partitions, as a pane shows it."""
    return RateTotals().after(rates, {topic.name: topic}).topics.get(topic.name, Rate())


session = worlds.session("kafka", journal=False)


async def produce(kafka: KafkaCluster, topic: str) -> None:
    """So many records a second of so many bytes, without a batch that would share a header, until cancelled."""
    loop = asyncio.get_running_loop()
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, acks=1)
    await producer.start()
    try:
        # A topic that was just made may be known to one broker and not to another.
        while len(await producer.partitions_for(topic)) < 2:
            await producer.client.force_metadata_update()
        began, sent = loop.time(), 0
        while True:
            while sent < (loop.time() - began) * A_SECOND:
                await producer.send(topic, os.urandom(BYTES), partition=sent % 2)
                sent += 1
            await producer.flush()
            await asyncio.sleep(0.05)  # the pace of the producer, not a wait for anything
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
    """What polls of a tick's distance show of a topic, once they cover some seconds; unknown after the first."""
    for number in range(MOST_POLLS):
        if number >= POLLS and topic_rate(session.snapshot.rates, session.snapshot.topics[topic]).bytes is not None:
            break
        await session.read_topics()
        await session.rates.read([(topic, 0), (topic, 1)])
        if not number:
            assert topic_rate(session.snapshot.rates, session.snapshot.topics[topic]) == Rate()
        await asyncio.sleep(2 * SHORTEST)  # the distance of the polls is what is tried
    return topic_rate(session.snapshot.rates, session.snapshot.topics[topic])


PAUSES = (4.0, 9.0)
"""Seconds after a consumer was paused at which its lag is polled."""


@pytest.mark.takes(15)
async def test_the_lag_of_a_consumer_that_is_paused_for_known_times(kafka: KafkaCluster, link: Link, name: str) -> None:
    """By polls alone, and by the record at the commit; wrong by 2 s at most, next to the last record that it had."""
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
        # It reads and commits, so that the watcher sees it with nothing to catch up on; then it stops for good.
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
                await asyncio.sleep(0.5)  # the distance of the polls
            once = Session(client, Context("test", "test", settings, journal=False))
            await once.poll_groups([name], times=100)
            for session in (watching, once):
                trend = session.snapshot.lag_trends[name]
                behind = trend.longest_behind
                assert not behind.least
                assert behind.seconds == pytest.approx(trend.last.at - paused, abs=2.0)
        consumer.resume(*consumer.assignment())
        end = time.monotonic() + PATIENCE
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

"""Tests of restarts under load on real brokers: triage reports no trouble during a rolling restart, and names a broker
that fails.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from benchmarks.nights.cluster import NightCluster
from benchmarks.nights.field import Field
from console.admin.settings import ConnectionSettings
from console.model.severity import Certainty, Severity
from console.triage.diagnosis import Verdict
from console.triage.symptoms import Subject
from tests.support.kafka_jars import KAFKA_4_3
from tests.support.real_clusters import or_skip
from tests.support.triage_watch import Watching, found, watching

pytestmark = [pytest.mark.broker, pytest.mark.slow]
VICTIM = 2
DONE = 25.0
"""Seconds after the last restart for which the test continues to poll: by then the effects of an election or a
rebalance are visible.
"""


@contextlib.asynccontextmanager
async def loaded(brokers: int = 3) -> AsyncIterator[Field]:
    """Yield a cluster of `brokers` brokers under load: a topic with a min ISR of two, a producer with acks=all, and a
    group of two members.
    """
    with or_skip():
        cluster = NightCluster(KAFKA_4_3, brokers, "plain", {})
    await asyncio.to_thread(cluster.__enter__)
    try:
        field = Field(cluster)
        await field.topic("orders", partitions=2 * brokers, configs={"min.insync.replicas": "2"})
        async with (
            field.producer("orders", rate=100, acks="all"),
            field.consumer("orders", "billing", name="first"),
            field.consumer("orders", "billing", name="second"),
        ):
            await field.reads("billing", "orders")
            await field.settled()
            yield field
        field.close()
    finally:
        await asyncio.to_thread(cluster.close)


async def watched_while(it: Watching, work: Callable[[], Awaitable[None]]) -> list[Verdict]:
    """Await `work`, and poll meanwhile and for `DONE` seconds after its end; return the verdicts."""

    async def done() -> None:
        await work()
        await asyncio.sleep(DONE)

    working = asyncio.ensure_future(done())
    verdicts = []
    while not working.done():
        verdicts.append(await it.poll_times(1))
    await working
    return verdicts


async def by_signal(field: Field, broker: int) -> None:
    """Restart a broker by SIGTERM, and wait until its replicas are in sync again."""
    await field.restart(broker)
    await field.settled()


async def by_a_tool(field: Field, broker: int) -> None:
    """Restart a broker as playbooks do: check with Kafka's own tools before and after it, then elect the preferred
    leaders.
    """

    async def in_sync() -> bool:
        return not (await field.tool("kafka-topics", "--describe", "--under-replicated-partitions")).strip()

    await field.until(in_sync, "no under-replicated partition")
    await field.restart(broker)
    await field.until(in_sync, "no under-replicated partition")
    await field.tool("kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions", check=False)
    await field.settled()


@pytest.mark.long  # a busy machine delays polls by seconds, and such polls can't tell a restart from a failure
@pytest.mark.takes(240)
@pytest.mark.parametrize("brokers", [3, 6])
@pytest.mark.parametrize("restarted_by", [by_signal, by_a_tool], ids=["signal", "tool"])
async def test_a_rolling_restart_is_no_trouble(
    brokers: int, restarted_by: Callable[[Field, int], Awaitable[None]]
) -> None:
    """While each broker in turn is restarted under load, triage reports no trouble."""
    async with loaded(brokers) as field, watching(ConnectionSettings(field.cluster.addresses)) as it:
        await it.poll_times(8)

        async def roll() -> None:
            for broker in field.cluster.broker_ids:
                await restarted_by(field, broker)

        verdicts = await watched_while(it, roll)
    troubles = [
        (each.at, [(one.claim.severity, one.claim.title) for one in each.causes], each.unexplained)
        for each in verdicts
        if not each.is_calm
    ]
    assert not troubles
    restarted = {
        one.claim.subject.broker for each in verdicts for one in each.causes if one.claim.cause == "broker-restarting"
    }
    assert restarted == set(field.cluster.broker_ids)


@pytest.mark.takes(60)
async def test_a_broker_that_fails_is_named_by_the_same_load() -> None:
    """Under the same load, triage names a killed broker as down and a paused one as unresponsive, both with severity
    critical, within seconds.
    """
    async with loaded() as field, watching(ConnectionSettings(field.cluster.addresses)) as it:
        await it.poll_times(4)
        await field.kill(VICTIM)
        down = await it.names("broker-down", Subject(broker=VICTIM))
        assert down.claim.severity is Severity.CRITICAL
        await it.until(is_fenced, "the session's end")
        await field.start(VICTIM)
        await field.settled()
        await it.until(lambda verdict: verdict.is_calm, "no trouble")
        async with field.hanging(VICTIM):
            await it.names("broker-unresponsive", Subject(broker=VICTIM))
            await it.until(is_silent, "3 seconds without an answer")
            await it.until(is_fenced, "the session's end")


def is_silent(verdict: Verdict) -> bool:
    """Return whether triage names the broker as unresponsive, with severity critical. A pause for garbage collection is
    too short to cause this.
    """
    named = found(verdict, "broker-unresponsive", Subject(broker=VICTIM))
    return named is not None and named.claim.severity is Severity.CRITICAL


def is_fenced(verdict: Verdict) -> bool:
    """Return whether triage is certain that the broker is down, which it is when the cluster has fenced the broker."""
    named = found(verdict, "broker-down", Subject(broker=VICTIM))
    return named is not None and named.claim.certainty is Certainty.CERTAIN

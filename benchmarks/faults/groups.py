"""Faults of groups and clients: functions that make them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.faults.fault import Begin, Fault, beside, cause
from benchmarks.faults.laboratory import Laboratory
from benchmarks.faults.load import Consumer, Producer, ended, running
from console.model.changes import AlterQuotas
from console.model.quota import QuotaEntity


@asynccontextmanager
async def _reading(
    lab: Laboratory, topic: str, rate: float = 40.0
) -> AsyncIterator[tuple[Consumer, asyncio.Task[None], Producer]]:
    """Run a producer of a topic, and a group of one member that keeps up, until the end of the block. Yield the member,
    its task and the producer.

    rate: records per second.
    """
    group = f"{topic}-readers"
    async with lab.topic(topic):
        producer, reader = lab.producer(topic, 2, rate), lab.consumer(topic, group)
        async with running(producer, reader) as (_, reading):
            await lab.committed(group, topic)
            yield reader, reading, producer
        await lab.drop_group(group)


@asynccontextmanager
async def _stopped(lab: Laboratory) -> AsyncIterator[Begin]:
    async with _reading(lab, "stopped") as (_, reading, _producer):
        yield lambda: ended(reading)


@asynccontextmanager
async def _stuck(lab: Laboratory) -> AsyncIterator[Begin]:
    async with _reading(lab, "poisoned") as (reader, _, _producer):

        async def begin() -> None:
            reader.stuck = {1}

        yield begin


@asynccontextmanager
async def _slow(lab: Laboratory) -> AsyncIterator[Begin]:
    async with _reading(lab, "heavy", rate=60.0) as (reader, _, _producer):

        async def begin() -> None:
            reader.pause = 0.5

        yield begin


@asynccontextmanager
async def _rebalancing(lab: Laboratory) -> AsyncIterator[Begin]:
    async with _reading(lab, "restless"):

        async def come_and_go() -> None:
            while True:
                member = lab.consumer("restless", "restless-readers")
                async with running(member):
                    await asyncio.sleep(2)

        task: asyncio.Task[None] | None = None

        async def begin() -> None:
            nonlocal task
            task = asyncio.create_task(come_and_go())

        try:
            yield begin
        finally:
            if task is not None:
                await ended(task)


@asynccontextmanager
async def _out_of_range(lab: Laboratory) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the fault: a running member commits an offset beyond the end
    of the log, as in a manual reset with a wrong number.
    """
    async with _reading(lab, "beyond") as (reader, _, _producer):
        yield lambda: reader.commit_wrong(0, 10**7)


@asynccontextmanager
async def _above_quota(lab: Laboratory) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the fault: a client's quota is set to half of the bytes that
    are written to a broker, so its group lags, and it is throttled.
    """
    entity = QuotaEntity.of({"client-id": "bounded-readers-reader"})
    async with _reading(lab, "bounded", rate=200.0):

        async def begin() -> None:
            await lab.send(AlterQuotas({entity: {"consumer_byte_rate": 5_000.0}}))

        try:
            yield begin
        finally:
            await lab.send(AlterQuotas({entity: {"consumer_byte_rate": None}}))


FAULTS = (
    Fault(
        name="consumer stopped",
        how="the only member of a group leaves, and records go on",
        make=_stopped,
        named=(cause("group-stopped", group="stopped-readers"),),
        takes=frozenset({"stopped"}),
    ),
    Fault(
        name="consumer stuck",
        how="a member gets on with one of its two partitions alone",
        make=_stuck,
        named=(cause("consumer-stuck", group="poisoned-readers", topic="poisoned", partition=1),),
        takes=frozenset({"poisoned"}),
        within=60,
    ),
    Fault(
        name="consumer slow",
        how="a member takes 0.5 s for ten records of 60 a second",
        make=_slow,
        named=(cause("consumer-slow", group="heavy-readers"),),
        takes=frozenset({"heavy"}),
    ),
    Fault(
        name="group rebalancing",
        how="a second member comes and goes every 2 s",
        make=_rebalancing,
        named=(cause("group-rebalancing", group="restless-readers"),),
        beside=(beside("it gets on with less than is written", "consumer-slow", group="restless-readers"),),
        takes=frozenset({"restless"}),
        within=60,
    ),
    Fault(
        name="offsets out of range",
        how="an offset far beyond the end of a partition is committed, and the member stands there",
        make=_out_of_range,
        named=(cause("offsets-out-of-range", group="beyond-readers", topic="beyond", partition=0),),
        takes=frozenset({"beyond"}),
    ),
    Fault(
        name="client above its quota",
        how="consumer_byte_rate of a group's client id is half of what is written to each broker",
        make=_above_quota,
        named=(cause("quota-exceeded", group="bounded-readers"),),
        beside=(beside("its group lags", "consumer-slow", group="bounded-readers"),),
        takes=frozenset({"bounded"}),
        within=60,
    ),
    Fault(
        name="client above its quota, by request logs",
        how="the same, and the console reads the brokers' request logs",
        make=_above_quota,
        named=(cause("quota-exceeded", entity="client-id bounded-readers-reader"),),
        beside=(beside("its group lags", "consumer-slow", group="bounded-readers"),),
        takes=frozenset({"bounded"}),
        within=60,
        alone=True,
        request_logs=True,
    ),
)

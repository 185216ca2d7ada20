"""Neighbours (healthy clusters that resemble a fault) of the faults of clients, on real brokers: quotas and rights.
Each function makes the healthy cluster, and yields the steps of its test; the step `switch` makes the fault.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from benchmarks.faults.fault import cause
from benchmarks.faults.laboratory import Laboratory
from benchmarks.faults.load import ended, running
from benchmarks.faults.neighbours.real import Eyes, RealNeighbour, Steps
from benchmarks.faults.rights import USER, acl
from console.model.acl import CLUSTER_NAME
from console.model.changes import AlterQuotas, CreateAcls, DeleteAcls
from console.model.quota import QuotaEntity

LIMIT = 5_000.0
"""The quota of each broker in bytes per second."""
LITTLE, MUCH = 60.0, 200.0
"""Records per second from two brokers: below the quota, and twice the quota."""
GUST = 25_000
"""Bytes of a burst: a little more than the quota allows, besides the usual records, within the eleven seconds over
which brokers average the rate.
"""


async def _limit(lab: Laboratory, client_id: str, limit: float | None) -> None:
    await lab.send(AlterQuotas({QuotaEntity.of({"client-id": client_id}): {"consumer_byte_rate": limit}}))


@asynccontextmanager
async def _limited(lab: Laboratory, topic: str, group: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Run a group with a quota that reads a topic with few records. Yield a function that makes the producer write more
    than the quota allows.
    """
    client_id = f"{group}-reader"
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(lab.topic(topic))
        stack.push_async_callback(_limit, lab, client_id, None)
        stack.push_async_callback(lab.drop_group, group)
        producer = lab.producer(topic, 2, LITTLE)
        await stack.enter_async_context(running(producer, lab.consumer(topic, group)))
        await lab.committed(group, topic)
        await _limit(lab, client_id, LIMIT)

        async def write_more() -> None:
            producer.rate = MUCH

        yield write_more


@asynccontextmanager
async def _at_its_limit(lab: Laboratory) -> AsyncIterator[Steps]:
    async with _limited(lab, "measured", "measured-readers") as write_more:
        yield Steps(switch=write_more)


@asynccontextmanager
async def _burst(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: one large record takes a reader above its quota for a
    moment. `switch` makes the fault: more is written than its quota allows.
    """
    topic = "gusts"
    async with _limited(lab, topic, "gust-readers") as write_more:

        async def gust() -> None:
            await lab.write(topic, 1, value=bytes(GUST))

        yield Steps(by=Eyes(request_logs=True), happens=gust, switch=write_more)


@asynccontextmanager
async def _few_rights(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: ACLs on all resources let the console's user describe
    everything, and do nothing else. `switch` makes the fault: this user may not describe the cluster.
    """
    cluster = acl("ALLOW", "CLUSTER", CLUSTER_NAME, "DESCRIBE")
    rights = (
        *(acl("ALLOW", kind, "*", "DESCRIBE") for kind in ("TOPIC", "GROUP", "TRANSACTIONAL_ID")),
        acl("ALLOW", "TOPIC", "*", "DESCRIBE_CONFIGS"),
        acl("ALLOW", "CLUSTER", CLUSTER_NAME, "DESCRIBE_CONFIGS"),
    )
    await lab.send(CreateAcls((cluster, *rights)))
    eyes, left = Eyes(lab.settings(USER)), {cluster, *rights}

    async def take_it() -> None:
        await lab.send(DeleteAcls((cluster,)))
        left.remove(cluster)

    try:
        yield Steps(by=eyes, switch=take_it, then=eyes)
    finally:
        await lab.send(DeleteAcls(tuple(left)))


@asynccontextmanager
async def _unused_right(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: a job on one topic ends, and at the same time an ACL
    denies its user another topic, to which no client writes. `switch` makes the fault: an ACL denies a topic to
    which a running job writes.
    """
    done, other, alive = "job", "invoices", "ledger-of-alice"
    denied = [acl("DENY", "TOPIC", topic, "WRITE") for topic in (other, alive)]
    async with AsyncExitStack() as stack:
        for topic in (done, other, alive):
            await stack.enter_async_context(lab.topic(topic))
        stack.push_async_callback(lab.send, DeleteAcls(tuple(denied)))
        jobs = [lab.producer(topic, 2, 40.0, user=USER) for topic in (done, alive)]
        job, _ = await stack.enter_async_context(running(*jobs))
        await lab.until(lambda: _is_written(lab, done, alive), "both are written to")

        async def done_and_denied() -> None:
            await asyncio.gather(ended(job), lab.send(CreateAcls((denied[0],))))

        async def taken() -> None:
            await lab.send(CreateAcls((denied[1],)))

        yield Steps(happens=done_and_denied, switch=taken)


async def _is_written(lab: Laboratory, *topics: str) -> bool:
    return all([await lab.end_of(topic) > 10 for topic in topics])


NEIGHBOURS = (
    # Keep this neighbour first: for a minute, the request logs would also show clients that others throttled.
    RealNeighbour(
        name="a burst that was throttled",
        make=_burst,
        ill=cause("quota-exceeded", entity="client-id gust-readers-reader"),
        seconds=25.0,
        within=90.0,
    ),
    RealNeighbour(
        name="a client that reads as much as it may",
        make=_at_its_limit,
        ill=cause("quota-exceeded", group="measured-readers"),
        seconds=30.0,
        within=120.0,
    ),
    RealNeighbour(
        name="a principal that may describe, and nothing else",
        make=_few_rights,
        ill=cause("access-denied", entity="this console: cluster"),
    ),
    RealNeighbour(
        name="a right that nobody used",
        make=_unused_right,
        ill=cause("access-changed", topic="ledger-of-alice"),
        seconds=30.0,
        within=120.0,
    ),
)

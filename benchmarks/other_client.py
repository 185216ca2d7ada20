"""Actions of another client on a cluster that the console watches: changes, reads, writes of records, and waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from benchmarks.faults.load import now_ms
from console.admin import changes as admin_changes
from console.admin.client import AdminClient
from console.admin.errors import AdminError
from console.admin.groups import group_positions
from console.admin.settings import ConnectionSettings
from console.admin.topics import describe_topics
from console.model import changes

AGAIN = 0.1
"""Seconds between two checks of a condition."""


def connected(settings: ConnectionSettings) -> AdminClient:
    """Return a started client with these settings."""
    client = AdminClient(settings)
    client.start()
    return client


async def send(client: AdminClient, change: changes.ChangeRequest) -> tuple[changes.Outcome, ...]:
    """Send a change request. Return the outcomes. Raises RuntimeError if one of them is a failure."""
    outcomes = await client.run(admin_changes.send, change, validate_only=False)
    refused = [outcome for outcome in outcomes if outcome.status is not changes.Status.APPLIED]
    if refused:
        raise RuntimeError(f"{type(change).__name__}: {refused[0]}")
    return outcomes


async def until(is_so: Callable[[], Awaitable[bool]], what: str, within: float) -> None:
    """Await `is_so` until it returns True; an AdminError counts as False. Raises TimeoutError after `within` seconds,
    with `what` and the last such error.
    """
    deadline = time.monotonic() + within
    last = ""
    while True:
        try:
            if await is_so():
                return
        except AdminError as error:
            last = f" ({error.failure})"
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not after {within:g} s{last}")
        await asyncio.sleep(AGAIN)


async def is_settled(client: AdminClient) -> bool:
    """Return whether every replica is in sync and every partition is led by its preferred replica. Elect preferred
    replicas that do not lead.
    """
    listing = await client.run(describe_topics)
    places = [(topic.name, each) for topic in listing.topics.values() for each in topic.partitions]
    if any(len(each.isr) < len(each.replicas) or each.leader < 0 for _, each in places):
        return False
    others = tuple(
        changes.PartitionTarget(name, each.number) for name, each in places if each.leader != each.replicas[0]
    )
    if others:
        await client.run(admin_changes.send, changes.ElectLeaders(others), validate_only=False)
    return not others


async def committed(client: AdminClient, group: str, topic: str) -> list[int]:
    """Return the offsets that a group has committed for the partitions of a topic."""
    found, _ = await client.run(group_positions, [group])
    positions = found[group].committed if group in found else {}
    return [each.offset for place, each in positions.items() if place[0] == topic]


async def write(
    bootstrap: str,
    topic: str,
    count: int,
    *,
    partition: int | None,
    key: bytes | None,
    value: bytes | None,
    timestamp_ms: int | None = None,
) -> None:
    """Write `count` records, and wait until they are acknowledged. Raises KafkaError if they are refused. partition:
    None to choose it by key. timestamp_ms: ms since 1970; None for now.
    """
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=20) as producer:
        sent = [
            await producer.send(topic, value, key=key, partition=partition, timestamp_ms=timestamp_ms or now_ms())
            for _ in range(count)
        ]
        await asyncio.gather(*sent)

"""Clients that put load on a cluster: producers, and consumers that keep up, stop, are slow, or come and go."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]
from aiokafka.errors import KafkaError  # type: ignore[import-untyped]

VALUE = b"v" * 100
_TICK = 0.25
_LEAVE = 12.0
"""Maximum seconds for a client to end; longer than the client's own timeouts."""


class Producer:
    """Writes records to the partitions of a topic in turn.

    rate: records per second; may be changed while it runs. value: of each record. options: of aiokafka's producer.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        partitions: int,
        rate: float,
        timestamps: Callable[[], int],
        **options: Any,
    ) -> None:
        self.rate = rate
        self.value = VALUE
        self._topic, self._partitions, self._timestamps = topic, partitions, timestamps
        self._client = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            client_id=f"writer-{topic}",
            linger_ms=20,
            request_timeout_ms=5_000,
            **options,
        )

    async def run(self) -> None:
        """Write until cancelled. Records whose broker is down are dropped without an error."""
        sent, began = 0.0, time.monotonic()
        try:
            await _started(self._client.start)
            while True:
                await asyncio.sleep(_TICK)
                due = int((time.monotonic() - began) * self.rate - sent)
                if due < 0 or due > 10 * self.rate:  # the rate was changed, or this process got no CPU time
                    began, sent = time.monotonic(), 0.0
                    continue
                for _ in range(due):
                    sent += 1
                    with contextlib.suppress(KafkaError, asyncio.TimeoutError):
                        # Wait only briefly: a record for a partition without a leader is dropped with its batch.
                        delivered = await asyncio.wait_for(
                            self._client.send(
                                self._topic,
                                self.value,
                                key=b"k",
                                partition=int(sent) % self._partitions,
                                timestamp_ms=self._timestamps(),
                            ),
                            _TICK,
                        )
                        delivered.add_done_callback(_forgotten)
        finally:
            with contextlib.suppress(KafkaError, asyncio.TimeoutError):
                await asyncio.wait_for(self._client.stop(), 5)


class Consumer:
    """A member of a group that reads a topic and commits every 2 s. options: of aiokafka's consumer.

    stuck: partitions that it does not read any more. pause: seconds of work for each ten records.
    """

    def __init__(self, bootstrap: str, topic: str, group: str, client_id: str | None = None, **options: Any) -> None:
        self.pause = 0.0
        self.stuck: set[int] = set()
        self._topic = topic
        self._client = AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            client_id=client_id or f"{group}-reader",
            group_id=group,
            auto_offset_reset="earliest",
            metadata_max_age_ms=5_000,
            request_timeout_ms=8_000,
            **{"auto_commit_interval_ms": 2_000, **options},
        )

    async def commit_wrong(self, partition: int, offset: int) -> None:
        """Commit an offset that is not in the log, move the position of the partition there, and stop fetching from
        it.
        """
        place = TopicPartition(self._topic, partition)
        self._client.pause(place)
        self._client.seek(place, offset)
        await self._client.commit({place: offset})

    async def run(self) -> None:
        """Read and commit until cancelled."""
        try:
            await _started(self._client.start)
            while True:
                places = [TopicPartition(self._topic, number) for number in self.stuck]
                held = [place for place in places if place in self._client.assignment()]
                if held:
                    self._client.pause(*held)
                with contextlib.suppress(KafkaError):
                    await self._client.getmany(timeout_ms=250, max_records=10 if self.pause else None)
                await asyncio.sleep(self.pause)
        finally:
            with contextlib.suppress(KafkaError, asyncio.TimeoutError):
                await asyncio.wait_for(self._client.stop(), 10)


def _forgotten(delivered: asyncio.Future[Any]) -> None:
    """Retrieve the exception of a record that was not delivered, so that asyncio does not log it."""
    if not delivered.cancelled():
        delivered.exception()


async def _started(start: Callable[[], Awaitable[Any]]) -> None:
    while True:
        try:
            await start()
        except KafkaError:
            await asyncio.sleep(_TICK)
        else:
            return


@contextlib.asynccontextmanager
async def running(*clients: Producer | Consumer) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Run clients until the end of the block, and yield their tasks. Cancelling a task ends its client."""
    tasks = [asyncio.create_task(client.run()) for client in clients]
    try:
        yield tasks
    finally:
        await ended(*tasks)


async def ended(*tasks: asyncio.Task[None]) -> None:
    """Cancel the tasks of clients and wait for their end; consumers leave their groups. The tasks are cancelled
    repeatedly, because a fetch that just gets its response may swallow a cancellation.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_LEAVE)


def now_ms() -> int:
    """Return the current time in ms since 1970."""
    return int(time.time() * 1000)

"""The laboratory: a cluster that is started once, faults that are made and undone on it, and the console's polls of
it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from benchmarks import other_client, watch
from benchmarks.faults.cluster import FaultCluster
from benchmarks.faults.fault import Begin, Fault, Name
from benchmarks.faults.load import VALUE, Consumer, Producer, now_ms, running
from benchmarks.faults.trial import Names, Trial
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.partitions import log_ranges
from console.admin.settings import ConnectionSettings, SaslSettings
from console.admin.topics import describe_topics
from console.model import changes
from console.model.cluster import CommittedOffset, LogRange, Partition
from console.model.codes import BROKER, DELETE, SET
from console.model.config import ConfigPlace, ConfigResource, topic_resource
from console.model.secret import Secret
from console.triage.diagnosis import Verdict
from console.triage.observations import Observations
from console.triage.symptoms import Subject

PATIENCE = 90.0
"""Maximum seconds of each wait for the cluster, such as until it is healthy again."""
WARM = 12.0
"""Seconds of polling before a fault begins."""
AFTER = 6.0
"""Seconds of polling after triage has named all causes; further causes named in this time also count."""
STEADY, READERS = "steady", "steady-readers"


class Laboratory:
    """A cluster with clients, on which faults are made one after another; an async context manager."""

    def __init__(self, version: str) -> None:
        self.cluster = FaultCluster(version)
        self.client = AdminClient(ConnectionSettings((("127.0.0.1", 1),)))
        self._configured: dict[ConfigResource, set[str]] = {}

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.cluster.__enter__)
        self.client = other_client.connected(self.settings())
        await self.create(STEADY, partitions=6)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.client.close)
        await asyncio.to_thread(self.cluster.__exit__)

    def settings(self, user: str = "") -> ConnectionSettings:
        """Return the settings for connecting as a user, ``""`` for the super user."""
        if not user:
            return ConnectionSettings(self.cluster.addresses, request_timeout=20.0)
        sasl = SaslSettings("PLAIN", user, Secret(self.cluster.users[user]))
        return ConnectionSettings(self.cluster.login_addresses, "SASL_PLAINTEXT", sasl, request_timeout=20.0)

    # -- parts of faults -----------------------------------------------------------------------------------------------

    async def send(self, change: changes.ChangeRequest) -> tuple[changes.Outcome, ...]:
        """Send a change request. Return the outcomes. Raises RuntimeError if one of them is a failure."""
        return await other_client.send(self.client, change)

    async def create(
        self,
        topic: str,
        partitions: int = 2,
        *,
        on: Sequence[Sequence[int]] = (),
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic. Raises RuntimeError if the cluster refuses it.

        Args:
            partitions: number of partitions with three replicas each, spread over brokers 1 to 3.
            on: the replicas (broker ids) of each partition; empty to use `partitions`.
            configs: the topic's config overrides; None for no overrides.
        """
        assignments = tuple(map(tuple, on)) or tuple(
            tuple((first + k) % 3 + 1 for k in range(3)) for first in range(partitions)
        )
        await self.send(
            changes.CreateTopics((changes.NewTopic(topic, assignments=assignments, configs=dict(configs or {})),))
        )

    @contextlib.asynccontextmanager
    async def topic(self, name: str, partitions: int = 2, **options: Any) -> AsyncIterator[str]:
        """Create a topic, yield its name, and delete it at the end of the block. options: as for `create`."""
        await self.create(name, partitions, **options)
        try:
            yield name
        finally:
            await self.drop(name)

    async def drop(self, topic: str) -> None:
        """Remove the configs that `configure` set for a topic, and delete it; otherwise a 4.3.0 broker that restarts
        later would apply the configs to a new topic of the same name. Repeat each request until the cluster has
        applied it.

        Raises TimeoutError after `PATIENCE` seconds.
        """
        resource = topic_resource(topic)
        if keys := self._configured.pop(resource, None):
            unset = changes.AlterConfigs({resource: tuple(changes.ConfigOp(key, DELETE) for key in sorted(keys))})
            await self.until(lambda: self._sent(unset), f"the configs of topic {topic} are unset")
        await self.until(lambda: self._sent(changes.DeleteTopics((topic,))), f"topic {topic} is deleted")

    async def drop_group(self, group: str) -> None:
        """Delete a group, once it has no members. Raises TimeoutError after `PATIENCE` seconds."""
        await self.until(lambda: self._sent(changes.DeleteGroups((group,))), f"group {group} is deleted")

    async def _sent(self, change: changes.ChangeRequest) -> bool:
        outcomes = await self.client.run(send, change, validate_only=False)
        gone = ("UNKNOWN_TOPIC_OR_PARTITION", "GROUP_ID_NOT_FOUND")
        return all(each.ok or (each.failure is not None and each.failure.name in gone) for each in outcomes)

    async def configure(self, resource: ConfigResource, configs: Mapping[str, str]) -> None:
        """Set configs of a resource, and remember their keys for `drop`. Raises RuntimeError if the cluster refuses
        them.
        """
        ops = tuple(changes.ConfigOp(key, SET, value) for key, value in configs.items())
        self._configured.setdefault(resource, set()).update(configs)
        await self.send(changes.AlterConfigs({resource: ops}, broker=_of_broker(resource)))

    async def unset(self, resource: ConfigResource, *keys: str) -> None:
        """Remove configs that the resource overrides."""
        ops = tuple(changes.ConfigOp(key, DELETE) for key in keys)
        await self.send(changes.AlterConfigs({resource: ops}, broker=_of_broker(resource)))

    async def elect(self, topic: str, *partitions: int) -> None:
        """Elect the preferred replicas of these partitions as their leaders."""
        await self.send(changes.ElectLeaders(tuple(changes.PartitionTarget(topic, each) for each in partitions)))

    async def move(self, topic: str, partition: int, replicas: tuple[int, ...] | None) -> None:
        """Begin a reassignment of a partition to these replicas (broker ids); None cancels a running reassignment."""
        await self.send(changes.AlterReassignments({changes.MoveTarget(topic, partition): replicas}))

    async def partitions(self, topic: str) -> tuple[Partition, ...]:
        """Return the current partitions of a topic."""
        listing = await self.client.run(describe_topics, [topic])
        return listing.topics[topic].partitions

    async def end_of(self, topic: str) -> int:
        """Return the end offset of a topic's partition 0."""
        return (await self.range_of(topic)).end

    async def range_of(self, topic: str) -> LogRange:
        """Return the start and end offset of a topic's partition 0."""
        found, _ = await self.client.run(log_ranges, [(topic, 0)])
        return found[topic, 0]

    async def commit(self, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Commit offsets for a group without members, as an admin tool does. offsets: (topic, partition) -> offset."""
        targets = {
            changes.GroupOffsetTarget(group, *place): CommittedOffset(offset) for place, offset in offsets.items()
        }
        await self.send(changes.CommitOffsets(group, targets))

    async def write(
        self, topic: str, count: int, *, partition: int = 0, value: bytes = VALUE, timestamp_ms: int | None = None
    ) -> None:
        """Write `count` records to a partition, and wait until the broker has acknowledged them. timestamp_ms: ms since
        1970; None for now.
        """
        await other_client.write(
            self.cluster.bootstrap, topic, count, partition=partition, key=b"k", value=value, timestamp_ms=timestamp_ms
        )

    async def committed(self, group: str, topic: str) -> None:
        """Wait until a group has committed an offset above 0 for a partition of the topic. Raises TimeoutError after
        `PATIENCE` seconds.
        """

        async def has_committed() -> bool:
            return await self.committed_sum(group, topic) > 0

        await self.until(has_committed, f"group {group} reads {topic}")

    async def committed_sum(self, group: str, topic: str) -> int:
        """Return the sum of a group's committed offsets for all partitions of a topic."""
        return sum(await other_client.committed(self.client, group, topic))

    @staticmethod
    def now_ms() -> int:
        """Return the current time in ms since 1970."""
        return now_ms()

    def producer(self, topic: str, partitions: int, rate: float, ahead_ms: int = 0, user: str = "") -> Producer:
        """Return a producer that is not running yet. rate: records per second. ahead_ms: ms added to the timestamps of
        its records. user: ``""`` for the super user.
        """
        options: dict[str, Any] = {}
        where = self.cluster.bootstrap
        if user:
            where = ",".join(f"{host}:{port}" for host, port in self.cluster.login_addresses)
            options = {"sasl_plain_username": user, "sasl_plain_password": self.cluster.users[user]}
            options |= {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}
        return Producer(where, topic, partitions, rate, lambda: now_ms() + ahead_ms, **options)

    def consumer(self, topic: str, group: str, client_id: str | None = None, **options: Any) -> Consumer:
        """Return a group's member that is not running yet. client_id: None for a default. options: of aiokafka's
        consumer.
        """
        return Consumer(self.cluster.bootstrap, topic, group, client_id, **options)

    async def kill(self, broker: int) -> None:
        """Kill a broker's process by SIGKILL."""
        await asyncio.to_thread(self.cluster.kill, broker)

    async def bring_up(self) -> None:
        """Start the brokers that are down, and wait until all see each other."""
        await asyncio.to_thread(self.cluster.bring_up)

    # -- a healthy cluster ---------------------------------------------------------------------------------------------

    async def until(self, is_so: Any, what: str) -> None:
        """Await `is_so` until it returns True. Raises TimeoutError, which names `what`, after `PATIENCE` seconds."""
        await other_client.until(is_so, what, PATIENCE)

    async def green(self) -> None:
        """Wait until every replica of every topic is in sync and every partition is led by its preferred replica."""
        await self.until(lambda: other_client.is_settled(self.client), "the cluster is well again")

    # -- trials --------------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def load(self) -> AsyncIterator[None]:
        """Run a producer of a topic and a group of two that reads it, until the end of the block."""
        clients: list[Producer | Consumer] = [
            self.producer(STEADY, 6, 60.0),
            *(self.consumer(STEADY, READERS) for _ in range(2)),
        ]
        async with running(*clients):
            before = await self.committed_sum(READERS, STEADY)

            async def moves() -> bool:
                return await self.committed_sum(READERS, STEADY) > before

            await self.until(moves, f"group {READERS} reads")
            yield

    async def trial(self, *faults: Fault, record: Path | None = None) -> Trial:
        """Make these faults at once on the healthy cluster, poll until triage has named all causes or the time of the
        faults is over, and undo the faults. Return the trial.

        record: the file for the brokers' responses to the console; None to record nothing.
        """
        await self.green()
        async with self.load(), contextlib.AsyncExitStack() as stack:
            begins = [(fault, await stack.enter_async_context(fault.make(self))) for fault in faults]
            try:
                return await self._watched(begins, record)
            finally:
                # Repair the network and the brokers first: undoing the other fault of a pair needs a quorum.
                self.cluster.relays.heal()
                await self.bring_up()

    async def _watched(self, begins: Sequence[tuple[Fault, Begin]], record: Path | None) -> Trial:
        """Make the faults that exist before the console opens (`Fault.stands`), open the console, poll for `WARM`
        seconds, make the other faults, and poll until all causes are named or the time is over. Return the trial.
        """
        faults = [fault for fault, _ in begins]
        wanted = [name for fault in faults for name in fault.named]
        within = max(fault.within for fault in faults)
        await asyncio.gather(*(begin() for fault, begin in begins if fault.stands))
        later = [begin for fault, begin in begins if not fault.stands]
        user = "".join(fault.user for fault in faults)
        logs = self.cluster.request_log.files if any(fault.request_logs for fault in faults) else ()
        async with Watch(self, record=record, settings=self.settings(user), request_logs=logs) as polls:
            if later:
                await polls.poll_for(WARM)
            polls.start()
            making = asyncio.gather(*(begin() for begin in later))
            try:
                await polls.poll_until(wanted, within, making)
                await polls.poll_for(AFTER)
            finally:
                await making
        return polls.trial(tuple(fault.name for fault in faults), self.cluster.version)


def _of_broker(resource: ConfigResource) -> int | None:
    """Return the id of the broker to which a change of this resource's configs must be sent; None if any broker can
    apply it.
    """
    return int(resource.name) if resource.type == BROKER and resource.name else None


class Watch(watch.Watch):
    """The console's polls of the laboratory's cluster, and the causes that triage names in them."""

    def __init__(
        self,
        lab: Laboratory,
        expected: Sequence[Subject] = (),
        record: Path | None = None,
        settings: ConnectionSettings | None = None,
        request_logs: Sequence[Path] = (),
        throttles: frozenset[ConfigPlace] = frozenset(),
    ) -> None:
        """Keep the arguments; connections and files are opened when the context manager is entered.

        Args:
            expected: subjects whose trouble is announced.
            record: a file for the brokers' responses; None to record nothing.
            settings: for connecting; None for the super user.
            request_logs: paths of the brokers' request logs that the console reads.
            throttles: throttles that the console's context declares as intended.
        """
        self._names = Names()
        self._clock: float | None = None
        self._began_ms = 0
        super().__init__(
            "faults",
            settings or lab.settings(),
            self._add,
            expected=expected,
            record=(record, lab.cluster.cluster_id, lab.cluster.version) if record is not None else None,
            request_logs=request_logs,
            throttles=throttles,
        )

    def _add(self, verdict: Verdict, _observations: Observations) -> None:
        if self._clock is not None:
            self._names.add(verdict, time.monotonic() - self._clock)

    def start(self) -> float:
        """Start collecting the causes that triage names, with their seconds from now on. Return the current time of the
        monotonic clock, in seconds.
        """
        self._names = Names()
        self._began_ms = now_ms()
        self._clock = time.monotonic()
        return self._clock

    async def poll_until(self, wanted: Iterable[Name], within: float, making: asyncio.Future[Any]) -> None:
        """Poll until `making` is done and triage has named all of these causes, or until `within` seconds have
        passed.
        """
        assert self._clock is not None
        wanted = tuple(wanted)
        while time.monotonic() - self._clock < within and not (making.done() and self.has_all(wanted)):
            await self.poll_again()

    def has_all(self, wanted: Iterable[Name]) -> bool:
        """Return whether triage has named each of these causes since `start`."""
        return all(any(name.fits(told.cause, told.subject) for told in self._names.told) for name in wanted)

    def trial(self, faults: tuple[str, ...], version: str) -> Trial:
        """Return the trial, with the causes that triage has named since `start`. faults: their names."""
        assert self._clock is not None
        return Trial(
            faults=faults,
            version=version,
            told=self._names.told,
            unexplained=self._names.unexplained,
            load=round(os.getloadavg()[0], 1),
            seconds=round(time.monotonic() - self._clock, 1),
            began_ms=self._began_ms,
            commit=watch.commit(),
        )

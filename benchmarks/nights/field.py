"""The means by which nights act on a cluster: brokers, the commands that Kafka ships, topics, and clients as separate
processes.

They act as another operator and other services would, so the console that watches has no information about them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from benchmarks import other_client
from benchmarks.nights import client as client_module
from benchmarks.nights.cluster import SCRAM, NightCluster
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.admin.topics import describe_topics
from console.model import changes
from console.model.cluster import Topic
from console.model.codes import ScramMechanism
from console.model.secret import Secret
from tests.support.patience import PATIENCE

Key = Literal["spread", "one"] | None
IN_ORDER = 10.0
"""Seconds that a process gets to end by itself after SIGTERM; then it is killed."""


class Client:
    """A client process of a night. Made by `Field.producer`, `Field.consumer` and `Field.program`, which also end the
    process.

    Attributes:
        output: the file with the client's errors as an object on each line, or with the output of a program.
    """

    def __init__(
        self, cluster: NightCluster, argv: Sequence[str], output: Path, order: Mapping[str, Any] | None
    ) -> None:
        self.output = output
        self._cluster, self._argv, self._order = cluster, argv, order
        self._environment: Mapping[str, str] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._is_paused = False

    @property
    def what(self) -> str:
        """The client's task as text of a few words, for messages."""
        if self._order is None:
            return " ".join(self._argv)[-40:]
        return f"{self._order['do']} {self._order['topic']} as {self._order['settings']['client.id']}"

    @property
    def pid(self) -> int:
        """The id of the client's process. Raises RuntimeError if it does not run."""
        return self._running().pid

    @property
    def is_running(self) -> bool:
        """Whether the client's process runs."""
        return self._process is not None and self._process.returncode is None

    async def start(self, environment: Mapping[str, str] | None = None) -> None:
        """Start the client, or start it again after `stop` or `kill`, with its newest settings. Raises RuntimeError if
        a producer or consumer ends before it is ready.
        """
        self._environment = environment or self._environment
        orders = self._order is not None
        with self.output.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE if orders else output,
                stderr=output,
                env=os.environ | dict(self._environment or {}),
                start_new_session=True,
            )
        self._cluster.end_at_last(self._process.pid)
        self._is_paused = False
        if orders:
            await self._write(self._order)
            assert self._process.stdout is not None
            if not await self._process.stdout.readline():
                raise RuntimeError(f"a client did not start: {self.output.read_text()[-2000:]}")

    async def tell(self, **settings: Any) -> None:
        """Change settings of a running client.

        Args:
            settings: of a producer: rate (records per second), key, value_bytes, partition, ahead_ms, hold (whether its
                transactions stay open); of a consumer: work_ms (milliseconds for each record), stuck_at (the offset
                from which on it can't process the records of a partition: one for all partitions, offsets by partition,
                "next", or None).

        Raises:
            RuntimeError: the client is a program.
            LookupError: the client has no setting of this name.
        """
        if self._order is None:
            raise RuntimeError("a program takes no settings")
        told = self._order["told"]
        if unknown := settings.keys() - told.keys():
            raise LookupError(f"not settings of it: {', '.join(sorted(unknown))}; it has {', '.join(told)}")
        told.update(settings)
        await self._write(settings)

    async def pause(self) -> None:
        """Stop the process (SIGSTOP)."""
        self._signal(signal.SIGSTOP)
        self._is_paused = True

    async def resume(self) -> None:
        """Continue the process (SIGCONT)."""
        self._signal(signal.SIGCONT)
        self._is_paused = False

    async def kill(self) -> None:
        """Kill the process by SIGKILL."""
        await self._end(0)

    async def stop(self) -> None:
        """End the process; a consumer leaves its group first."""
        await self._end(IN_ORDER)

    async def _end(self, within: float) -> None:
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            if within and not self._is_paused:
                assert process.stdin is not None
                process.stdin.close()
                if self._order is None:
                    self._signal(signal.SIGTERM)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), within)
            if process.returncode is None:
                self._signal(signal.SIGKILL)
        await process.wait()
        self._cluster.has_ended(process.pid)
        self._process = None

    def errors(self) -> list[dict[str, Any]]:
        """Return the objects in the client's output so far: errors, and partitions that it was assigned and that it
        lost.
        """
        return [json.loads(line) for line in self.output.read_text().splitlines() if line.startswith("{")]

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError("this client does not run")
        return self._process

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._running().pid, number)

    async def _write(self, told: Any) -> None:
        stdin = self._running().stdin
        assert stdin is not None
        stdin.write(json.dumps(told).encode() + b"\n")
        await stdin.drain()


class Field:
    """A night's cluster, and functions to act on it.

    Attributes:
        cluster: its brokers.
        version: of the brokers, such as ``4.3.0``.
        users: name -> password of the users with PLAIN; empty if the night has no logins.
    """

    def __init__(self, cluster: NightCluster) -> None:
        self.cluster = cluster
        self.version = cluster.version
        self.users: Mapping[str, str] = cluster.users
        self.clients: list[Client] = []
        self._scram: dict[str, str] = {}
        self._admin: AdminClient = other_client.connected(ConnectionSettings(cluster.addresses, request_timeout=20.0))
        self._output = cluster.directory / "clients"
        self._output.mkdir()

    # -- another operator's actions ------------------------------------------------------------------------------------

    async def tool(self, command: str, *arguments: str, check: bool = True) -> str:
        """Run one of Kafka's own commands, as another operator would.

        Args:
            command: such as ``kafka-configs``; ``--bootstrap-server`` is added.
            check: whether to raise if the command fails.

        Returns:
            The command's output.

        Raises:
            RuntimeError: the command failed; the text has its output.
            subprocess.TimeoutExpired: it did not end within `PATIENCE` seconds.
        """
        words = self.cluster.command(command, *arguments)
        done = await asyncio.to_thread(
            subprocess.run,
            words,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
        printed: str = done.stdout if check and not done.returncode else f"{done.stdout}{done.stderr}"
        if check and done.returncode:
            raise RuntimeError(f"{command} {' '.join(arguments)}: {printed.strip()}")
        return printed

    async def topic(
        self,
        name: str,
        partitions: int = 3,
        *,
        replicas: int = 3,
        on: Sequence[Sequence[int]] = (),
        configs: Mapping[str, str] = {},
    ) -> None:
        """Create a topic, and wait until its partitions have leaders. Raises TimeoutError after `PATIENCE` seconds.

        Args:
            partitions: the number of partitions, whose replicas are spread evenly.
            replicas: the number of replicas of each partition; if there are fewer brokers, one replica on each.
            on: the brokers of each partition, the preferred leader first; empty to use `partitions` and `replicas`.
            configs: the topic's config overrides.
        """
        brokers = self.cluster.broker_ids
        count = min(replicas, len(brokers))
        spread = [[brokers[(first + k) % len(brokers)] for k in range(count)] for first in range(partitions)]
        wanted = [list(each) for each in on] or spread
        made = changes.NewTopic(name, assignments=tuple(map(tuple, wanted)), configs=dict(configs))
        await self._send(changes.CreateTopics((made,)))

        async def is_led() -> bool:
            topic = (await self._topics()).get(name)
            return topic is not None and all(each.leader >= 0 for each in topic.partitions)

        await self.until(is_led, f"topic {name} has leaders", PATIENCE)

    async def delete_topic(self, name: str) -> None:
        """Delete a topic, and wait until no broker lists it. Raises TimeoutError after `PATIENCE` seconds."""
        await self._send(changes.DeleteTopics((name,)))

        async def is_gone() -> bool:
            return name not in await self._topics()

        await self.until(is_gone, f"topic {name} is gone", PATIENCE)

    async def writes(
        self,
        topic: str,
        count: int,
        *,
        partition: int | None = None,
        key: str | None = None,
        value: bytes | None = b"v" * 100,
        timestamp_ms: int | None = None,
    ) -> None:
        """Write `count` records, and wait until they are acknowledged. Raises KafkaError (aiokafka's) if they are not.
        partition: None to choose it by key. timestamp_ms: ms since 1970; None for now.
        """
        key_bytes = key.encode() if key is not None else None
        await other_client.write(
            self.cluster.bootstrap,
            topic,
            count,
            partition=partition,
            key=key_bytes,
            value=value,
            timestamp_ms=timestamp_ms,
        )

    async def scram(self, user: str, password: str = "") -> str:
        """Create a SCRAM-SHA-256 user, or set the user's password. Clients with ``user=`` of this name log in with it.

        Args:
            password: ``""`` for a random one.

        Returns:
            The password.

        Raises:
            RuntimeError: the night has no logins.
        """
        if not self.users:
            raise RuntimeError("this night has no logins: give it security='logins' or 'acls'")
        self._scram[user] = password or os.urandom(12).hex()
        credential = changes.ScramUser(user, ScramMechanism(1))
        await self._send(changes.AlterScram({credential: (4096, Secret(self._scram[user]))}))
        return self._scram[user]

    # -- clients -------------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def producer(
        self,
        topic: str,
        *,
        rate: float = 50.0,
        key: Key = "spread",
        value_bytes: int = 100,
        partition: int | None = None,
        name: str | None = None,
        user: str | None = None,
        ahead_ms: float = 0.0,
        **librdkafka: Any,
    ) -> AsyncIterator[Client]:
        """Run a process that writes to a topic, until the end of the block. Yield the process.

        Args:
            rate: records per second.
            key: "spread" for many different keys, "one" for one key, None for records without keys.
            value_bytes: size of each value in bytes.
            partition: the partition of all records; None to choose it by key, as Java's client does.
            name: the client id; None for ``TOPIC-writer``.
            user: the login, with SCRAM if `scram` created the user, else with PLAIN; None for the plain listener.
            ahead_ms: milliseconds by which timestamps are ahead of the clock.
            librdkafka: further settings of librdkafka, with ``_`` for dots, such as ``acks="1"``.
        """
        told = {
            "rate": rate,
            "key": key,
            "value_bytes": value_bytes,
            "partition": partition,
            "ahead_ms": ahead_ms,
            "hold": False,
        }
        settings = self._settings(name or f"{topic}-writer", user) | {"partitioner": "murmur2_random"}
        order = {"do": "produce", "topic": topic, "told": told, "settings": settings | _dotted(librdkafka)}
        async with self._client(order) as client:
            yield client

    @contextlib.asynccontextmanager
    async def consumer(
        self,
        topic: str,
        group: str,
        *,
        name: str | None = None,
        instance: str | None = None,
        work_ms: float = 0.0,
        user: str | None = None,
        protocol: Literal["classic", "consumer"] = "classic",
        batch: int = 1,
        **librdkafka: Any,
    ) -> AsyncIterator[Client]:
        """Run a process that reads a topic as a member of a group and commits processed records, until the end of the
        block. Yield the process.

        Args:
            name: the client id; None for ``GROUP-reader``.
            instance: its ``group.instance.id``; None for a dynamic member.
            work_ms: milliseconds of work for each record.
            user, librdkafka: as for `producer`.
            protocol: the group protocol.
            batch: maximum number of records between two polls; 500 in Java's client. They are committed once all are
                processed.
        """
        settings = self._settings(name or f"{group}-reader", user) | {
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.offset.store": False,
        }
        if instance is not None:
            settings["group.instance.id"] = instance
        told = {"work_ms": work_ms, "stuck_at": None}
        order = {"do": "consume", "topic": topic, "batch": batch, "told": told}
        async with self._client(order | {"settings": settings | _dotted(librdkafka)}) as client:
            yield client

    @contextlib.asynccontextmanager
    async def program(self, *argv: str, env: Mapping[str, str] | None = None) -> AsyncIterator[Client]:
        """Run another program until the end of the block, which ends it by SIGTERM. Yield the process; its `output` is
        the file with the program's output.
        """
        async with self._ended(Client(self.cluster, argv, self._next_output(), None)) as client:
            await client.start(env)
            yield client

    def java(self, command: str, *arguments: str) -> contextlib.AbstractAsyncContextManager[Client]:
        """Run one of Kafka's own Java clients, such as ``kafka-verifiable-consumer``, as `program` does."""
        return self.program(*self.cluster.command(command, *arguments))

    @contextlib.asynccontextmanager
    async def _client(self, order: dict[str, Any]) -> AsyncIterator[Client]:
        output = self._next_output()
        argv = (sys.executable, client_module.__file__)
        async with self._ended(Client(self.cluster, argv, output, order | {"output": str(output)})) as client:
            await client.start()
            yield client

    @contextlib.asynccontextmanager
    async def _ended(self, client: Client) -> AsyncIterator[Client]:
        self.clients.append(client)
        try:
            yield client
        finally:
            await client.stop()

    @contextlib.asynccontextmanager
    async def rounds(self) -> AsyncIterator[Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]]:
        """Yield a function that begins to run a coroutine, such as one that pauses a client again and again. The end of
        the block cancels those that still run.
        """
        running: list[asyncio.Task[None]] = []

        def begin(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
            running.append(asyncio.create_task(coroutine))
            return running[-1]

        try:
            yield begin
        finally:
            for each in running:
                each.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _next_output(self) -> Path:
        output = self._output / f"{len(self.clients) + 1}.jsonl"
        output.touch()
        return output

    def _settings(self, name: str, user: str | None) -> dict[str, Any]:
        if user is None:
            return {"bootstrap.servers": self.cluster.bootstrap, "client.id": name}
        scram = self._scram.get(user)
        return {
            "bootstrap.servers": self.cluster.login_bootstrap,
            "client.id": name,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": SCRAM if scram else "PLAIN",
            "sasl.username": user,
            "sasl.password": scram or self.users[user],
        }

    async def reads(self, group: str, topic: str) -> None:
        """Wait until a group has committed offsets of a topic. Raises TimeoutError after `PATIENCE` (120 s)."""

        async def has_committed() -> bool:
            return bool(await other_client.committed(self._admin, group, topic))

        await self.until(has_committed, f"group {group} reads topic {topic}", PATIENCE)

    # -- brokers -------------------------------------------------------------------------------------------------------

    async def stop(self, broker: int) -> None:
        """Shut a broker down with a controlled shutdown, and wait for its end."""
        await asyncio.to_thread(self.cluster.stop, broker)

    async def kill(self, broker: int) -> None:
        """Kill a broker by SIGKILL."""
        await asyncio.to_thread(self.cluster.kill, broker)

    async def restart(self, broker: int) -> None:
        """Shut a broker down with a controlled shutdown, start it, and wait until the other brokers see it."""
        await asyncio.to_thread(self.cluster.restart, broker)

    async def start(self, broker: int) -> None:
        """Start a broker that is down, and wait until the other brokers see it."""
        await asyncio.to_thread(self.cluster.restart, broker)

    @contextlib.asynccontextmanager
    async def hanging(self, broker: int) -> AsyncIterator[None]:
        """Stop all threads of a broker inside the block: it keeps its connections, but does nothing."""
        hanging = self.cluster.hanging(broker)
        await asyncio.to_thread(hanging.__enter__)
        try:
            yield
        finally:
            await asyncio.to_thread(hanging.__exit__, None, None, None)

    async def with_properties(
        self,
        broker: int,
        properties: Mapping[str, str | None] = {},
        **named: str | None,
    ) -> None:
        """Change the server.properties of a broker; the broker reads it at its next start.

        Args:
            properties: property -> its value; None removes the property.
            named: further properties, with ``_`` for dots.
        """
        self.cluster.change_properties(broker, dict(properties) | _dotted(named))

    set = with_properties

    # -- waiting -------------------------------------------------------------------------------------------------------

    async def settled(self) -> None:
        """Wait until every replica is in sync and every partition is led by its preferred replica; elect preferred
        leaders if necessary. Raises TimeoutError after `PATIENCE` (120 s).
        """

        await self.until(lambda: other_client.is_settled(self._admin), "the cluster is settled", PATIENCE)

    async def until(self, is_so: Callable[[], Awaitable[bool]], what: str, within: float = 60) -> None:
        """Await `is_so` until it returns True. Raises TimeoutError, which names `what`, after `within` seconds."""
        await other_client.until(is_so, what, within)

    async def _send(self, change: changes.ChangeRequest) -> None:
        await other_client.send(self._admin, change)

    async def _topics(self) -> Mapping[str, Topic]:
        return (await self._admin.run(describe_topics)).topics

    def close(self) -> None:
        """Close the connections of this object; the client processes end with their context managers."""
        self._admin.close()


def _dotted(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("_", "."): value for key, value in settings.items()}

"""The embedded cluster: brokers that listen on sockets of their own around one state."""

from __future__ import annotations

import asyncio
import logging
import resource
import struct
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

from console.embedded.acls import StandardAuthorizer
from console.embedded.clock import Clock, SystemClock
from console.embedded.config_alter import begin_configs
from console.embedded.config_changes import AlterConfigPolicy, Loggers
from console.embedded.context import Authorizer, CloseConnection, Session
from console.embedded.faults import Fault, Faults
from console.embedded.group_coordinator import forget_topics
from console.embedded.recording import Recording
from console.embedded.replicas import broker_back, broker_lost, resume_moves
from console.embedded.request_pipeline import Counters, Dispatcher, RequestPipeline, advertised
from console.embedded.sasl import ScramHash, credential_of, enabled_mechanisms
from console.embedded.spec import BROKER_LISTENER, SASL_LISTENER, ClusterSpec, release, scenario
from console.embedded.state import ClusterState, Propagation, View
from console.embedded.state_file import StateKeeper, read_state, restore_state
from console.embedded.tables import BrokerNode, ScramKey
from console.embedded.throttling import Throttling

# One client's connection: frames in, one at a time, and answers out in the same order.

log = logging.getLogger("console.embedded")

MAX_REQUEST = 100 * 1024 * 1024
"""Bytes (socket.request.max.bytes)."""
MAX_EARLY_REQUEST = 512 * 1024
"""Bytes of a request before authentication (sasl.server.max.receive.size)."""
LOGIN_SECONDS = 30.0
"""How long a client has for authentication."""
_SIZE = struct.Struct(">i")


async def serve(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    session: Session,
    dispatcher: Dispatcher,
    *,
    idle_seconds: float,
) -> None:
    """Answer requests until the client leaves or has to. While one is worked on, the next ones wait unread, as Kafka
    mutes a channel; so answers come in the order of their requests.

    idle_seconds: how long a whole request may take to come, and an answer to be read (connections.max.idle.ms).
    """
    login_by = asyncio.get_running_loop().time() + LOGIN_SECONDS
    try:
        while True:
            frame = await _frame(reader, session, login_by, idle_seconds)
            answer = await dispatcher.answer(session, frame)
            del frame
            if answer is not None:
                writer.write(answer)
                async with asyncio.timeout(idle_seconds):
                    await writer.drain()
            if session.mute:
                await dispatcher.clock.sleep(session.mute)
                session.mute = 0.0
            if session.ending:
                raise CloseConnection(session.ending)
    except asyncio.IncompleteReadError as end:
        if end.partial:
            log.info("%s left in the middle of a frame", session)
    except CloseConnection as reason:
        log.warning("closed the connection of %s: %s", session, reason)
    except (ConnectionError, TimeoutError) as error:
        log.info("lost the connection of %s: %s", session, error)
    finally:
        writer.close()


async def _frame(reader: asyncio.StreamReader, session: Session, login_by: float, idle_seconds: float) -> bytes:
    """The next request. Raises CloseConnection if it is too long or does not come in time."""
    most = MAX_REQUEST if session.authenticated else MAX_EARLY_REQUEST
    end = asyncio.get_running_loop().time() + idle_seconds
    try:
        async with asyncio.timeout_at(end if session.authenticated else min(end, login_by)):
            (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
            if not 0 <= size <= most:
                raise CloseConnection(f"a frame of {size} bytes is not between 0 and {most}")
            return await reader.readexactly(size)
    except TimeoutError as error:
        why = f"no request for {idle_seconds:g} s" if session.authenticated else "it did not authenticate in time"
        raise CloseConnection(why) from error


# One broker's socket: it listens, is taken down, and comes back at the same port.


class Listener:
    """A broker's listening socket and the connections that it took: `most` at once, further ones are closed unheard.

    idle_seconds: after which a connection without requests is closed.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        broker_id: int,
        host: str,
        port: int,
        *,
        authenticate: bool,
        most: int,
        idle_seconds: float,
    ) -> None:
        self.host = host
        self.port = port
        self._broker_id = broker_id
        self._dispatcher = dispatcher
        self._authenticate = authenticate
        self._most = most
        self._idle_seconds = idle_seconds
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._open)

    async def start(self) -> None:
        """Listen. Port 0 takes any free one, and keeps it. Raises OSError where the port is taken."""
        self._server = await asyncio.start_server(self._accepted, self.host, self.port, backlog=512)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and cut every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        tasks = list(self._open)
        for task in tasks:
            self._open[task].transport.abort()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = writer.get_extra_info("peername")[:2]
        session = Session(self._broker_id, host, port)
        if len(self._open) >= self._most:
            log.warning("closed the connection of %s: there are %d already", session, self._most)
            writer.transport.abort()
            return
        if self._authenticate:
            session.principal = None
        task = asyncio.get_running_loop().create_task(
            serve(reader, writer, session, self._dispatcher, idle_seconds=self._idle_seconds)
        )
        self._open[task] = writer
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._open.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a connection's task failed", "exception": task.exception(), "task": task}
            )


# The embedded cluster: brokers on sockets of their own around one state.

_IDLE_MS = 600_000
"""connections.max.idle.ms of Kafka."""
_MOST_CONNECTIONS, _FEWEST_CONNECTIONS = 2_000, 16
"""Of one broker."""


class EmbeddedCluster:
    """A cluster that runs on the event loop which starts it. An asynchronous context manager.

    state: everything it knows; counters: what was asked of it. All of it belongs to that loop.
    """

    def __init__(self, spec: ClusterSpec | None = None, clock: Clock | None = None) -> None:
        """Raises ValueError for a release or scenario that there is not, StateFileError for a file that is no state."""
        self.spec = spec or ClusterSpec()
        self.clock: Clock = clock or SystemClock()
        self.release = release(self.spec.versions)
        self.state = ClusterState(self.spec.cluster_id or _cluster_id(), self.release, self.clock)
        self.counters = Counters()
        self.faults = Faults()
        self.recording: Recording | None = None
        self.forwarding = self.release.kraft if self.spec.forwarding is None else self.spec.forwarding
        self.propagation = Propagation(self.state, self.spec.propagation_delay)
        self.advertised = advertised(self.release, proposals=self.spec.proposals)
        self.listener_name = SASL_LISTENER if self.spec.sasl else BROKER_LISTENER
        self.authorizer = self._authorizer()
        self.producer_ids = count(1000)
        self.throttling = Throttling()
        self.loggers = Loggers.of(self.release.name)
        self.reconfigured: set[int] = set()
        self.gate = RequestPipeline(self)
        self._listeners: dict[int, Listener] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        for broker_id in range(1, self.spec.brokers + 1):
            port = self.spec.port + broker_id - 1 if self.spec.port else 0
            self.state.put_broker(BrokerNode(broker_id, self.spec.host, port, self.spec.racks.get(broker_id)))
            self._listeners[broker_id] = Listener(
                Dispatcher(self, broker_id),
                broker_id,
                self.spec.host,
                port,
                authenticate=self.spec.sasl is not None,
                most=_most_connections(self.spec),
                idle_seconds=int(self.spec.static_configs.get("connections.max.idle.ms", _IDLE_MS)) / 1000,
            )
        self.state.move_controller(1)
        self.mechanisms = enabled_mechanisms(self.spec.sasl)
        for user, password in (self.spec.sasl.scram if self.spec.sasl else {}).items():
            for mechanism in ScramHash:
                self.state.put_scram(ScramKey(user, mechanism), credential_of(password.reveal(), mechanism))
        for name, level in self.release.finalized.items():
            self.state.set_feature(name, level)
        forget_topics(self)
        self._scenario = scenario(self.spec.scenario) if self.spec.scenario else None
        self._keeper: StateKeeper | None = None
        self._policy: AlterConfigPolicy | None = None
        self._furnish()

    def _authorizer(self) -> Authorizer | None:
        if not self.spec.authorizer:
            return None
        configs = self.spec.static_configs
        named = filter(None, configs.get("super.users", "").split(";"))
        return StandardAuthorizer(
            self.spec.super_users.union(named),
            open_by_default=configs.get("allow.everyone.if.no.acl.found", "false").lower() == "true",
        )

    def _furnish(self) -> None:
        """Put in what the state file holds, else what the scenario begins with."""
        path = self.spec.state_file
        kept = read_state(path, self.spec.scenario) if path else None
        if self._scenario is not None and self._scenario.lay is not None:
            self._scenario.lay(self)
        begin_configs(self)
        if path and kept is not None:
            restore_state(self.state, kept, path)
        elif self._scenario is not None:
            self._scenario.fill(self)

    async def start(self) -> None:
        """Listen on every broker's socket. Raises OSError where one can't be had, and StateFileError; then none is
        left open."""
        if self.spec.alter_config_policy is not None:
            self._policy = self.spec.alter_config_policy
            self._policy.configure(self.spec.static_configs)
        try:
            for broker_id, listener in self._listeners.items():
                await listener.start()
                self._listens(broker_id)
            if self.spec.state_file:
                self._keeper = StateKeeper(self.state, self.spec.state_file, self.spec.scenario)
                self._keeper.write()
                self.run(self._keeper.run())
        except BaseException:
            await self.stop()
            raise
        resume_moves(self)
        if self.spec.live and self._scenario is not None and self._scenario.live is not None:
            self.run(self._scenario.live(self))

    def _listens(self, broker_id: int) -> None:
        broker = self.state.brokers[broker_id]
        port = self._listeners[broker_id].port
        if broker.port != port:
            self.state.put_broker(replace(broker, port=port))

    async def stop(self) -> None:
        """Close every socket and connection, and write the state. Raises StateFileError."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for listener in self._listeners.values():
            await listener.stop()
        policy, self._policy = self._policy, None
        if policy is not None:
            policy.close()
        if self._keeper is not None:
            keeper, self._keeper = self._keeper, None
            keeper.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def bootstrap(self) -> str:
        """``host:port,…`` of all brokers; once started."""
        return ",".join(f"{listener.host}:{listener.port}" for listener in self._listeners.values())

    @property
    def addresses(self) -> dict[int, tuple[str, int]]:
        """Host and port of each broker, by id."""
        return {broker_id: (listener.host, listener.port) for broker_id, listener in self._listeners.items()}

    @property
    def auto_create_topics(self) -> bool:
        """Whether brokers make topics that are asked for (auto.create.topics.enable)."""
        return self.spec.static_configs.get("auto.create.topics.enable", "true") == "true"

    @property
    def topic_defaults(self) -> tuple[int, int]:
        """Partitions and replicas of a topic that names none (num.partitions, default.replication.factor)."""
        configs = self.spec.static_configs
        return int(configs.get("num.partitions", "1")), int(configs.get("default.replication.factor", "1"))

    def view_of(self, broker_id: int) -> View:
        """What a broker knows now."""
        return self.propagation.view(broker_id)

    async def visible(self, offset: int, within: float | None = None) -> bool:
        """Wait until all live brokers know the log up to an offset; False where `within` seconds are not enough."""
        return await self.propagation.visible(offset, within)

    async def broker_down(self, broker_id: int) -> None:
        """A broker crashes: its connections end, and others lead in its place. Nothing happens if it is down."""
        if not self.state.brokers[broker_id].alive:
            return
        self.propagation.stopped(broker_id)
        self.loggers.forget(broker_id)
        self.reconfigured.discard(broker_id)
        broker_lost(self.state, broker_id)
        await self._listeners[broker_id].stop()

    async def broker_up(self, broker_id: int) -> None:
        """A broker that was down comes back at its port, with what it missed."""
        if self.state.brokers[broker_id].alive:
            return
        await self._listeners[broker_id].start()
        broker_back(self.state, broker_id)
        self.propagation.resumed(broker_id)

    def down_for(self, broker_id: int, seconds: float) -> None:
        """Take a broker down now, and bring it back later."""

        async def down_and_up() -> None:
            await self.broker_down(broker_id)
            await self.clock.sleep(seconds)
            await self.broker_up(broker_id)

        self.run(down_and_up())

    def run(self, coroutine: Coroutine[None, None, None]) -> None:
        """Have something done beside, until it ends or the cluster does."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def settled(self) -> None:
        """Wait until everything that is done beside has ended."""
        await asyncio.gather(*self._tasks)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("something beside the requests failed", exc_info=error)


def _most_connections(spec: ClusterSpec) -> int:
    """How many connections a broker takes (max.connections): its part of the files that the process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MOST_CONNECTIONS * spec.brokers if soft == resource.RLIM_INFINITY else soft // 2
    allowed = max(files // spec.brokers, _FEWEST_CONNECTIONS)
    return min(allowed, int(spec.static_configs.get("max.connections", _MOST_CONNECTIONS)))


def _cluster_id() -> str:
    """22 characters, as Kafka's random ids are (Uuid.toString)."""
    return urlsafe_b64encode(uuid4().bytes).rstrip(b"=").decode()


# A cluster in a thread of its own, for whoever has no event loop, or needs it for itself.

T = TypeVar("T")


class ThreadedCluster:
    """A running cluster in another thread. bootstrap: its addresses."""

    def __init__(self, cluster: EmbeddedCluster, loop: asyncio.AbstractEventLoop) -> None:
        self._cluster = cluster
        self._loop = loop
        self.bootstrap = cluster.bootstrap

    def call(self, function: Callable[[EmbeddedCluster], T], timeout: float = 30.0) -> T:
        """What the function gives for the cluster, called on its loop: the only way to look at it or change it."""

        async def called() -> T:
            return function(self._cluster)

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result(timeout)

    def run(self, function: Callable[[EmbeddedCluster], Coroutine[Any, Any, T]], timeout: float = 30.0) -> T:
        """The same with a coroutine."""
        return asyncio.run_coroutine_threadsafe(function(self._cluster), self._loop).result(timeout)


@contextmanager
def run_in_thread(spec: ClusterSpec | None = None, faults: Iterable[Fault] = ()) -> Iterator[ThreadedCluster]:
    """Start a cluster, with faults, in a thread and stop it at the end. Raises what its start raises."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="embedded cluster", daemon=True)
    thread.start()
    try:
        cluster = asyncio.run_coroutine_threadsafe(_started_cluster(spec, faults), loop).result()
        try:
            yield ThreadedCluster(cluster, loop)
        finally:
            asyncio.run_coroutine_threadsafe(cluster.stop(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _started_cluster(spec: ClusterSpec | None, faults: Iterable[Fault]) -> EmbeddedCluster:
    cluster = EmbeddedCluster(spec)
    for fault in faults:
        cluster.faults.add(fault)
    await cluster.start()
    return cluster

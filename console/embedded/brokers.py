"""The embedded cluster: brokers, and controllers if these are separate, each with a socket of its own and all with one
shared state.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import struct
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

from console.embedded import replicas
from console.embedded.clock import Clock
from console.embedded.config_alter import begin_configs
from console.embedded.connect.listening import ListeningWorkers
from console.embedded.context import CloseConnection, Cluster, Session
from console.embedded.faults import Fault, Faults
from console.embedded.group_coordinator import drop_offsets_of_deleted_topics
from console.embedded.registry_listening import ListeningRegistry
from console.embedded.replica_dirs import resume_copies
from console.embedded.request_pipeline import Counters, Dispatcher, RequestPipeline, advertised, of_controllers
from console.embedded.sasl import ScramHash, credential_of
from console.embedded.scenarios.schemas import demo_registry
from console.embedded.scenarios.seed import Scenario
from console.embedded.sockets import Sockets
from console.embedded.spec import FIRST_CONTROLLER, AlterConfigPolicy, ClusterSpec, release, scenario_module
from console.embedded.state_file import StateKeeper, read_state, restore_state
from console.embedded.tables import ABSENT, BrokerNode, Change, ControllerNode, ScramKey
from console.embedded.voters import controller_back, controller_lost, elect
from console.model.quorum import KRAFT_VERSION

log = logging.getLogger("console.embedded")

MAX_REQUEST = 100 * 1024 * 1024
"""Maximum size in bytes of a request (socket.request.max.bytes)."""
MAX_EARLY_REQUEST = 512 * 1024
"""Maximum size in bytes of a request before the client has authenticated (sasl.server.max.receive.size)."""
LOGIN_SECONDS = 30.0
"""Maximum seconds from opening a connection to the end of its authentication."""
_SIZE = struct.Struct(">i")
_IDLE_MS = 600_000
"""The default of connections.max.idle.ms, in milliseconds."""
_SESSION_MS = 9_000
"""The default of broker.session.timeout.ms."""
_MOST_CONNECTIONS, _FEWEST_CONNECTIONS = 2_000, 16
"""The largest and the smallest limit for the number of connections to a broker."""

T = TypeVar("T")


async def serve(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    session: Session,
    dispatcher: Dispatcher,
    *,
    awake: asyncio.Event,
    idle_seconds: float,
) -> None:
    """Answer the requests of a connection in order, until it ends.

    The next request is read only after the response to the previous one, as Kafka mutes the channel meanwhile.

    Args:
        awake: an event that is not set while the node hangs: it then handles no request and sends no response.
        idle_seconds: the maximum seconds to receive a whole request, and to send a response (connections.max.idle.ms).
    """
    login_by = asyncio.get_running_loop().time() + LOGIN_SECONDS
    try:
        while True:
            frame = await _frame(reader, session, login_by, idle_seconds)
            await awake.wait()
            answer = await dispatcher.answer(session, frame)
            await awake.wait()
            # Free the request, which may have many megabytes, before its response waits for a slow client.
            del frame
            if answer is not None:
                writer.write(answer)
                async with asyncio.timeout(idle_seconds):
                    await writer.drain()
            # Kafka responds to a throttled client at once, and then mutes its channel (KIP-219).
            if session.mute:
                await dispatcher.clock.sleep(session.mute)
                session.mute = 0.0
            if session.ending:
                raise CloseConnection(session.ending)
    except asyncio.IncompleteReadError as end:
        if end.partial:
            log.info("%s closed the connection within a frame", session)
    except CloseConnection as reason:
        log.warning("closed the connection of %s: %s", session, reason)
    except (ConnectionError, TimeoutError) as error:
        log.info("lost the connection of %s: %s", session, error)
    finally:
        writer.close()


async def _frame(reader: asyncio.StreamReader, session: Session, login_by: float, idle_seconds: float) -> bytes:
    """Read the next request. Raises CloseConnection if it has more than `MAX_REQUEST` bytes (`MAX_EARLY_REQUEST` before
    authentication), or is not complete in time.

    Args:
        login_by: the time by which the client must have authenticated, on the loop's clock.
        idle_seconds: the maximum seconds until the request is complete.
    """
    # Limit early requests: an unauthenticated client must not make the broker reserve as much memory as an
    # authenticated one.
    most = MAX_REQUEST if session.authenticated else MAX_EARLY_REQUEST
    end = asyncio.get_running_loop().time() + idle_seconds
    try:
        async with asyncio.timeout_at(end if session.authenticated else min(end, login_by)):
            (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
            if not 0 <= size <= most:
                raise CloseConnection(f"a frame of {size} bytes is not between 0 and {most}")
            return await reader.readexactly(size)
    except TimeoutError as error:
        why = f"no request for {idle_seconds:g} s" if session.authenticated else "not authenticated in time"
        raise CloseConnection(why) from error


async def _listening(listener: Listener, brokers: int) -> None:
    """Start a listener. Raises OSError; if the process has no file descriptors left, the error says how many a
    cluster of `brokers` brokers needs.
    """
    try:
        await listener.start()
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        may = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        text = f"{brokers} brokers need a file each, and one for each connection: ulimit -n is {may:,}; raise it"
        raise OSError(error.errno, text) from error


class Listener(Sockets):
    """The listening socket of a node, and its open connections.

    Attributes:
        idle_seconds: the seconds without a request after which the node closes a connection.
        awake: an event that is not set while the node hangs.
    """

    backlog = 512

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
        super().__init__(host, port)
        # Like Kafka with max.connections, close further connections, so that file descriptors are left for the process
        # itself.
        self.most = most
        self._broker_id = broker_id
        self._dispatcher = dispatcher
        self._authenticate = authenticate
        self._idle_seconds = idle_seconds
        self.awake = asyncio.Event()
        self.awake.set()

    def _session(self, writer: asyncio.StreamWriter) -> Session:
        return Session(self._broker_id, *writer.get_extra_info("peername")[:2])

    def refused(self, writer: asyncio.StreamWriter) -> None:
        """Log that a connection was closed because there are too many."""
        log.warning("closed the connection of %s: %d are open already", self._session(writer), self.most)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection until it ends."""
        session = self._session(writer)
        if self._authenticate:
            session.principal = None
        await serve(reader, writer, session, self._dispatcher, awake=self.awake, idle_seconds=self._idle_seconds)


class EmbeddedCluster(Cluster):
    """A cluster whose nodes listen on sockets. It runs on the event loop that starts it, and is an asynchronous context
    manager.

    Attributes:
        counters: the number and size of the requests so far.
        faults: the declared faults.
        connect: the workers of Kafka Connect; None without Connect.
        registry: the schema registry; None without one.
    """

    def __init__(self, spec: ClusterSpec | None = None, clock: Clock | None = None) -> None:
        """Create a cluster without listening.

        Args:
            spec: the specification of the cluster; None for the default one.
            clock: the clock of everything in the cluster, which tests may advance by hand; None for this host's clock.

        Raises:
            ValueError: the release or the scenario is unknown.
            StateFileError: the state file is unreadable.
        """
        spec = spec or ClusterSpec()
        profile = spec.profile
        if profile is not None:
            spec = replace(spec, versions=profile.release, proposals=False)
            released = advertised(release(profile.release), proposals=False, only=profile.apis)
            apis = released | dict(profile.unserved)
        else:
            released = advertised(release(spec.versions), proposals=False)
            apis = advertised(release(spec.versions), proposals=True) if spec.proposals else released
        at_controllers = of_controllers(released)
        super().__init__(spec, clock or Clock(), spec.cluster_id or _cluster_id(), apis, at_controllers)
        self.counters = Counters()
        self.faults = Faults()
        self.pipeline = RequestPipeline(self, self.faults, self.counters, profile)
        self._listeners: dict[int, Listener] = {}
        for broker_id in range(1, spec.brokers + 1):
            port = spec.port + broker_id - 1 if spec.port else 0
            self.state.put_broker(_node(spec, broker_id, port))
            self._listeners[broker_id] = self._listener(broker_id, port)
        for place in range(spec.controllers + spec.observers):
            node, port = FIRST_CONTROLLER + place, spec.port + spec.brokers + place if spec.port else 0
            self.state.controllers[node] = ControllerNode(node, spec.host, port)
            self._listeners[node] = self._listener(node, port)
            if place >= spec.controllers:
                self.state.no_voters.add(node)
        if spec.controllers:
            elect(self.state)
        else:
            self.state.move_controller(1)
        for user, password in (spec.sasl.scram if spec.sasl else {}).items():
            for mechanism in ScramHash:
                self.state.put("scram", ScramKey(user, mechanism), credential_of(password.reveal(), mechanism))
        for name, level in self.release.finalized.items():
            self.state.set_feature(name, level)
        if spec.controllers:
            self.state.set_feature(KRAFT_VERSION, 1)
        drop_offsets_of_deleted_topics(self.state)
        self._scenario = scenario(spec.scenario) if spec.scenario else None
        self._keeper: StateKeeper | None = None
        self._policy: AlterConfigPolicy | None = None
        self.connect = ListeningWorkers(self, spec.connect) if spec.connect else None
        self.registry = ListeningRegistry(demo_registry()) if spec.schemas else None
        self.connect_urls: tuple[str, ...] = ()
        """The URLs of Connect's workers once they listen; empty before that, and without Connect."""
        self.schemas_url = ""
        """The URL of the schema registry once it listens; ``""`` before that, and without a registry."""
        self._seed()

    def _listener(self, node: int, port: int) -> Listener:
        spec = self.spec
        return Listener(
            Dispatcher(self, self.pipeline, node),
            node,
            spec.host,
            port,
            authenticate=spec.sasl is not None,
            most=_most_connections(spec),
            idle_seconds=int(spec.static_configs.get("connections.max.idle.ms", _IDLE_MS)) / 1000,
        )

    def _seed(self) -> None:
        """Fill the state from the state file; if there is none, from the scenario."""
        path = self.spec.state_file
        kept = read_state(path, self.spec.scenario) if path else None
        if self._scenario is not None and self._scenario.sources is not None:
            self._scenario.sources(self.state)
        # Set the initial configs before the stored state, which overrides them with those of the last run, and before
        # the scenario, which relies on them.
        begin_configs(self)
        if path and kept is not None:
            restore_state(self.state, kept, path)
            elect(self.state)
        elif self._scenario is not None:
            self._scenario.seed(self)

    async def start(self) -> None:
        """Listen on the socket of every node, except the nodes that are down at the beginning of the scenario.

        Raises:
            OSError: a port is in use, or the limit of open files is too low; the message says how many are needed. No
                socket stays open.
            StateFileError: the state file is unreadable. No socket stays open.
        """
        if self.spec.alter_config_policy is not None:
            self._policy = self.spec.alter_config_policy
            self._policy.configure(self.spec.static_configs)
        try:
            for node, listener in self._listeners.items():
                await _listening(listener, len(self._listeners))
                self._register_port(node, listener.port)
            for node in self.state.stopped_at:
                await self._listeners[node].stop()
            if self.connect is not None:
                await self.connect.start()
                self.connect_urls = self.connect.urls
            if self.registry is not None:
                await self.registry.start()
                self.schemas_url = self.registry.url
            if self.spec.state_file:
                self._keeper = StateKeeper(self.state, self.spec.state_file, self.spec.scenario)
                self._keeper.write()
                self.run(self._keeper.run())
        except BaseException:
            await self.stop()
            raise
        # Subscribe only now: while the state is filled, no listener is open that a change of the state could stop.
        self.state.subscribe(self._changed)
        replicas.resume_moves(self)
        resume_copies(self)
        if self.spec.live and self._scenario is not None and self._scenario.live is not None:
            self.run(self._scenario.live(self))

    def _register_port(self, node: int, port: int) -> None:
        if (controller := self.state.controllers.get(node)) is not None:
            self.state.controllers[node] = replace(controller, port=port)
            return
        broker = self.state.brokers[node]
        if broker.port != port:
            self.state.put_broker(replace(broker, port=port))

    async def stop(self) -> None:
        """Close all sockets and connections, and write the state file. Raises StateFileError if it can't be written."""
        await self.cancel_tasks()
        for listener in self._listeners.values():
            await listener.stop()
        if self.connect is not None:
            await self.connect.stop()
        if self.registry is not None:
            await self.registry.stop()
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
        """The addresses of all brokers that were started, as ``host:port,…``."""
        return ",".join(f"{host}:{port}" for host, port in self.addresses.values())

    @property
    def bootstrap_controllers(self) -> str:
        """The addresses of all controllers that were started, as ``host:port,…``; ``""`` if no controllers are
        separate.
        """
        return ",".join(f"{each.host}:{each.port}" for each in self.state.controllers.values())

    async def controller_down(self, node: int) -> None:
        """Crash a separate controller. If it was the leader of the quorum, another voter is elected; if the live voters
        are no majority, there is no leader. Do nothing if it is down already.
        """
        if self.state.controllers[node].alive:
            self.propagation.stopped(node)
            self.loggers.forget(node)
            controller_lost(self.state, node)
            await self._listeners[node].stop()

    async def controller_up(self, node: int) -> None:
        """Restart a separate controller on its former port. Do nothing if it is not down."""
        if not self.state.controllers[node].alive:
            await self._listeners[node].start()
            controller_back(self.state, node)
            self.propagation.resumed(node)

    async def broker_down(self, broker_id: int) -> None:
        """Shut a broker down cleanly, as SIGTERM does: other replicas become leaders, the broker is fenced, and its
        connections are closed. Do nothing if it is down already.
        """
        if not self._is_up(broker_id):
            return
        replicas.hand_over(self.state, broker_id)
        self._stopped(broker_id)
        replicas.broker_lost(self.state, broker_id)
        await self._listeners[broker_id].stop()

    async def broker_killed(self, broker_id: int) -> None:
        """Crash a broker, as SIGKILL does: its connections are closed, and it is fenced when its session ends. Do
        nothing if it is down already.
        """
        if self._is_up(broker_id):
            self._stopped(broker_id)
            self._falls_silent(broker_id)
            await self._listeners[broker_id].stop()

    def broker_hangs(self, broker_id: int) -> None:
        """Freeze a broker, as SIGSTOP does: it keeps its port and connections but answers nothing, and is fenced when
        its session ends. `broker_up` lets it continue. Do nothing if it is down.
        """
        if self._is_up(broker_id):
            self.propagation.stopped(broker_id)
            self._listeners[broker_id].awake.clear()
            self._falls_silent(broker_id)

    def _stopped(self, broker_id: int) -> None:
        # Record the stop before the state changes: the broker itself never learns that the controller fenced it.
        self.propagation.stopped(broker_id)
        self.loggers.forget(broker_id)

    def _falls_silent(self, broker_id: int) -> None:
        """Record that a broker sends no more heartbeats, and fence it when its session ends."""
        replicas.process_ended(self.state, broker_id)
        self.run(self._session_ends(broker_id, self.state.stopped_at[broker_id]))

    async def _session_ends(self, broker_id: int, since: float) -> None:
        await self._session_over(since)
        if self.state.stopped_at.get(broker_id) == since:
            self.fence(broker_id)

    async def _session_over(self, since: float) -> None:
        """Wait until the session of a broker ends: ``broker.session.timeout.ms`` after its last heartbeat. since: the
        time of that heartbeat, in seconds of the cluster's clock.
        """
        session = int(self.spec.static_configs.get("broker.session.timeout.ms", _SESSION_MS)) / 1000
        await self.clock.sleep(max(since + session - self.clock.time(), 0.0))

    def fence(self, broker_id: int) -> None:
        """Fence a live broker, so that other replicas become leaders."""
        if (broker := self.state.brokers.get(broker_id)) is not None and broker.alive:
            replicas.broker_lost(self.state, broker_id)

    async def broker_up(self, broker_id: int) -> None:
        """Restart a broker that is down on its former port, or let a frozen broker continue. Do nothing if it is
        running.

        If the broker's last session has not ended, wait until it ends (DuplicateBrokerRegistrationException). A broker
        that was unregistered registers again.
        """
        if self._is_up(broker_id):
            return
        listener = self._listeners[broker_id]
        if not listener.awake.is_set():
            self._goes_on(broker_id)
            return
        if broker_id in self.state.brokers and self.state.brokers[broker_id].alive:
            await self._session_over(self.state.stopped_at[broker_id])
            self.fence(broker_id)
        # Start the listener before the state changes: clients that read that the broker is up must be able to connect.
        await listener.start()
        if broker_id not in self.state.brokers:
            self.state.put_broker(replace(_node(self.spec, broker_id, listener.port), alive=False))
        replicas.broker_back(self.state, broker_id)
        self.propagation.resumed(broker_id)

    def _goes_on(self, broker_id: int) -> None:
        """Record that a frozen broker answers again; if it was fenced meanwhile, its next heartbeat unfences it."""
        if self.state.brokers[broker_id].alive:
            replicas.process_resumed(self.state, broker_id)
        else:
            replicas.broker_back(self.state, broker_id)
        self.propagation.resumed(broker_id)
        self._listeners[broker_id].awake.set()

    def _is_up(self, broker_id: int) -> bool:
        broker = self.state.brokers.get(broker_id)
        return broker is not None and broker.alive and broker_id not in self.state.stopped_at

    def _changed(self, change: Change) -> None:
        """Stop a broker when a change of the state unregisters it (see `handlers.unregister_broker`)."""
        if change.table == "brokers" and change.after is ABSENT and isinstance(change.key, int):
            self.propagation.stopped(change.key)
            self._listeners[change.key].awake.set()
            self.run(self._listeners[change.key].stop())


def _node(spec: ClusterSpec, broker_id: int, port: int) -> BrokerNode:
    """Return the model of a broker, with the log directories in its config file."""
    node = BrokerNode(broker_id, spec.host, port, spec.racks.get(broker_id))
    dirs = spec.static_configs.get("log.dirs")
    return node if dirs is None else replace(node, log_dirs=tuple(dirs.split(",")))


def scenario(name: str) -> Scenario:
    """Return the scenario with this name. Raises ValueError for an unknown name."""
    found: Scenario = import_module(f"console.embedded.scenarios.{scenario_module(name)}").SCENARIO
    return found


def _most_connections(spec: ClusterSpec) -> int:
    """Return the maximum number of connections of a broker: its share of the process's limit of open files, or
    max.connections if that is lower.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    nodes = spec.brokers + spec.controllers + spec.observers
    files = _MOST_CONNECTIONS * nodes if soft == resource.RLIM_INFINITY else soft // 2
    allowed = max(files // nodes, _FEWEST_CONNECTIONS)
    return min(allowed, int(spec.static_configs.get("max.connections", _MOST_CONNECTIONS)))


def _cluster_id() -> str:
    """Return a random cluster id of 22 characters, in the form of Kafka's Uuid.toString."""
    return urlsafe_b64encode(uuid4().bytes).rstrip(b"=").decode()


class ThreadedCluster:
    """A cluster that runs on an event loop in another thread.

    Attributes:
        bootstrap: the addresses of the brokers, as ``host:port,…``.
        bootstrap_controllers: the addresses of separate controllers; ``""`` if there are none.
        connect_urls: the URLs of Connect's workers; empty without Connect.
        schemas_url: the URL of the schema registry; ``""`` without one.
    """

    def __init__(self, cluster: EmbeddedCluster, loop: asyncio.AbstractEventLoop) -> None:
        self._cluster = cluster
        self._loop = loop
        self.bootstrap = cluster.bootstrap
        self.bootstrap_controllers = cluster.bootstrap_controllers
        self.connect_urls = cluster.connect_urls
        self.schemas_url = cluster.schemas_url

    def call(self, function: Callable[[EmbeddedCluster], T], timeout: float = 30.0) -> T:
        """Call a function with the cluster in the cluster's thread, and return its result. Other threads must read or
        change the cluster only in this way.

        Args:
            timeout: the maximum seconds to wait for the result.
        """

        async def called() -> T:
            return function(self._cluster)

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result(timeout)

    def run(self, function: Callable[[EmbeddedCluster], Coroutine[Any, Any, T]], timeout: float = 30.0) -> T:
        """Call a coroutine function with the cluster, run the coroutine in the cluster's thread, and return its result.
        timeout: the maximum seconds to wait.
        """
        return asyncio.run_coroutine_threadsafe(function(self._cluster), self._loop).result(timeout)


@contextmanager
def run_in_thread(spec: ClusterSpec | None = None, faults: Iterable[Fault] = ()) -> Iterator[ThreadedCluster]:
    """Start a cluster in a thread of its own for the ``with`` block, and stop it afterwards. Raises the errors of
    `EmbeddedCluster.start`.
    """
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

"""Requests to one cluster: the choice of broker, connection and version; retries; and the search for brokers that do
not answer.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from enum import Enum, auto
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import Struct

from console.admin import errors, link_errors
from console.admin.connections import CONCURRENCY, Connections, first_to_open
from console.admin.settings import Address, ConnectionSettings, show_address
from console.model.codes import BROKER
from console.model.identity import Node, same_cluster
from console.wire.fields import Asked, Fields

if TYPE_CHECKING:
    from console.admin.producer import Producing
    from console.flight.answer import Shown
    from console.flight.tap import Tap
    from console.wire.aiokafka_request import AiokafkaRequest, Exchange, RawResponse
    from console.wire.connection import Connection


T = TypeVar("T")


class Destination(Enum):
    """The kinds of destination of a request: any broker, the controller, or one broker."""

    ANY = auto()
    CONTROLLER = auto()
    BROKER = auto()


class Route(NamedTuple):
    """The destination of a request."""

    where: Destination
    broker_id: int = -1
    """The id of the broker; only for the destination BROKER."""
    reads_records: bool = False
    """Whether the request uses a separate connection, because its response may be large and would delay other requests.
    """


ANY = Route(Destination.ANY)
CONTROLLER = Route(Destination.CONTROLLER)


def broker(broker_id: int) -> Route:
    """Return the route to the broker with this id."""
    return Route(Destination.BROKER, broker_id)


def reading(broker_id: int) -> Route:
    """Return the route to the broker with this id for a search's Fetch requests."""
    return Route(Destination.BROKER, broker_id, reads_records=True)


FETCHES, LOOKS = 8, 2
"""Number of Fetch requests in flight, and of answers that threads search at the same time, in all searches of one
client."""


class Turns:
    """Limits on the concurrent work of a client's searches, so that many searches leave time for other requests.
    Searches wait in the order of their calls.
    """

    def __init__(self) -> None:
        self.fetches = asyncio.Semaphore(FETCHES)
        self.looks = asyncio.Semaphore(LOOKS)
        self.followers = 0
        """Number of searches that wait for new records. A broker serves the requests of a connection one after
        another."""


Ask = Callable[[str, Asked], Awaitable[Any]]
"""Function of (kio's name of the API, content of the request) that sends the request once and returns the decoded
response.
"""
Prepare = Callable[[str, int], object]
"""Function of (API, version) that prepares decoding, such as by imports."""

ELSEWHERE_SECONDS, WAYS = 1.0, 4
"""Seconds after which a request for the controller is sent to another broker as well, and the maximum number of brokers
tried: a broker that waits for a controller that hangs does not notice the newly elected one."""
LEADER_SECONDS = 5.0
"""Seconds without a response from the active controller after which kac asks the controllers again which one leads."""
ELECTION_SECONDS = 6.0
"""Seconds for which kac keeps asking the controllers for the leader, if the one that they name does not answer or they
name none. They elect another one within controller.quorum.fetch.timeout.ms plus
controller.quorum.election.timeout.ms, by default 2 s and 1 s.
"""
LONGEST_CHANGE = 3600.0
"""Maximum seconds for which a retired connection stays open because a change on it has no response yet."""


class Nodes(Struct, frozen=True):
    """The brokers (or controllers) of the cluster, from a Metadata or DescribeCluster response."""

    brokers: Mapping[int, tuple[str, int]]
    """Node id -> host and port."""
    controller_id: int = -1
    """The id of the controller; -1 if the response names none."""
    cluster_id: str | None = None
    """The id of the cluster; None if the response has none."""


class _Request(NamedTuple):
    """A request with its options, which have the meaning of the parameters of `Link.call`."""

    api: str
    asked: Asked
    to: Route
    deadline: float
    """The time at which the whole call ends, on the loop's clock."""
    change: bool
    proposed: int | None
    prepare: Prepare | None
    at_most: int | None = None


class _NamesNodes(NamedTuple):
    """An API whose response names the nodes, and the content of its request."""

    api: str
    asked: Asked


class Sender:
    """Sends a request once over one connection, and passes the result to the flight record.

    was_answered: whether any broker has ever answered.
    """

    def __init__(self, settings: ConnectionSettings, tap: Tap | None, pools: Sequence[Connections]) -> None:
        """Set the parameters.

        Args:
            tap: the recorder of responses; None to record nothing.
            pools: the pools of connections. A connection that does not answer in time is retired in each of them.
        """
        self._settings, self._tap, self._pools = settings, tap, pools
        self.was_answered = False
        self._throttled = 0
        self.throttled_ms = 0

    async def send(self, request: _Request, connection: Connection, encoded: AiokafkaRequest) -> RawResponse:
        """Send an encoded request and return the response, still encoded. Raises AdminError."""
        if self._tap is None:
            return await self._send(request, connection, encoded)
        from console.flight.tap import Sent

        sent = Sent((connection.host, connection.port), request.api, encoded.version, encoded.body)
        began = time.monotonic()
        try:
            answer = await self._send(request, connection, encoded)
        except errors.AdminError as error:
            self._tap.missed(sent, error, time.monotonic() - began)
            raise
        self._tap.answered(sent, answer.body, time.monotonic() - began)
        return answer

    async def _send(self, request: _Request, connection: Connection, encoded: AiokafkaRequest) -> RawResponse:
        api, change = request.api, request.change
        try:
            async with asyncio.timeout_at(request.deadline):
                answering = connection.send(encoded)
                if request.prepare is not None:
                    request.prepare(api, encoded.version)
                answer = await answering
        except TimeoutError as error:
            for connections in self._pools:
                connections.retire(connection)
            waits = not self._settings.controllers and api in FORWARDED and forwards_to_controller(connection.versions)
            problem = link_errors.timed_out(api, connection, change, asked=self._settings.asked, is_forwarded=waits)
            raise (errors.OutcomeUnknown(problem) if change else errors.RequestTimedOut(problem)) from error
        except Exception as error:
            too_long = link_errors.flood(api, connection, error, asked=self._settings.asked)
            if change and encoded.sent:
                raise errors.OutcomeUnknown(link_errors.lost(api, connection, change)) from error
            if too_long is not None:
                raise errors.BadAnswer(too_long) from error
            if not self.was_answered and self._settings.sasl is None:
                raise link_errors.TurnedAway(link_errors.turned_away(connection)) from error
            raise errors.Disconnected(link_errors.lost(api, connection, change)) from error
        self.was_answered = True
        self._throttled += answer.throttle_ms > 0
        self.throttled_ms += answer.throttle_ms
        return answer

    def count_throttled(self) -> int:
        """Return the number of responses since the last call in which brokers reported that they throttle kac."""
        count, self._throttled = self._throttled, 0
        return count

    async def ask(self, connection: Connection, api: str, asked: Asked) -> Any:
        """Send one request and return the decoded response, without a timeout of its own. Raises AdminError and
        TimeoutError.
        """
        version = connection.version(api)
        if version is None:
            raise errors.Unsupported(api, "", connection.versions)
        request = connection.prepare(api, version, asked)
        if request.may_change():
            raise errors.NotSendable(link_errors.no_check(request))
        began = time.monotonic()
        try:
            answer = await connection.send(request)
        except TimeoutError:
            raise
        except Exception as error:
            raise errors.Disconnected(link_errors.lost(api, connection, change=False)) from error
        if self._tap is not None:
            from console.flight.tap import Sent

            sent = Sent((connection.host, connection.port), api, version, request.body)
            self._tap.answered(sent, answer.body, time.monotonic() - began)
        return await aside(len(answer.body), partial(decode, answer))

    def not_connected(self, address: Address, error: errors.AdminError, took: float) -> errors.AdminError:
        """Note in the flight record that a connection failed. Return the error unchanged.

        Args:
            took: the seconds from the attempt to the failure.
        """
        if self._tap is not None:
            self._tap.not_connected(address, error, took)
        return error

    def keep_handshake(self, node: int, address: Address, listener: str, shown: Shown | None, took: float) -> None:
        """Note a TLS handshake in the flight record.

        Args:
            node: the node's id.
            shown: the certificate that the listener presented; None if it presented none.
            took: the seconds that the handshake took.
        """
        if self._tap is not None:
            self._tap.shook_hands(node, address, listener, shown, took)

    def keep_service(self, key: int, body: Callable[[], bytes], took: float) -> None:
        """Note the answer of an HTTP service in the flight record; do nothing without a record.

        Args:
            key: the service's pseudo API key.
            body: function that returns the answer's bytes.
            took: the seconds that the answer took.
        """
        if self._tap is not None:
            self._tap.service_answered(key, body(), took)

    def name_nodes(self, nodes: Nodes) -> None:
        """Pass the address of each node to the flight record."""
        if self._tap is not None:
            self._tap.name_nodes(nodes.brokers)


class Routes:
    """The nodes of a cluster, and the choice of the connection for each request.

    Attributes:
        connections: the connections for most requests.
        forwarding: separate connections for requests that brokers forward to the controller: while the controller
            hangs, all later requests on such a connection wait.
        reading: separate connections for responses with records, which may be large.
        known: the nodes in the last response that names them.
        cluster_id: the id of the first cluster that answered; no other cluster gets a change.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        pools: tuple[Connections, Connections, Connections],
        sender: Sender,
        read: Callable[[], Awaitable[Any]],
    ) -> None:
        """Set the parameters; no nodes are known yet.

        Args:
            pools: `connections`, `forwarding` and `reading`.
            read: function that sends the request for the nodes (`names_nodes`) and returns the response.
        """
        self._settings, self._sender, self._read = settings, sender, read
        self._pools = pools
        self.connections, self.forwarding, self.reading = pools
        self.known = Nodes({})
        self.cluster_id: str | None = None
        self._way = 0
        self._refreshing: asyncio.Task[Nodes] | None = None

    async def nodes(self) -> Nodes:
        """Return the known nodes; read them at the first call."""
        return self.known if self.known.brokers else await self.refresh()

    async def refresh(self) -> Nodes:
        """Read the nodes and the controller again, and return them. Concurrent callers share one request."""
        if self._refreshing is None:
            self._refreshing = asyncio.create_task(self._read_nodes(), name="refresh metadata")
            self._refreshing.add_done_callback(self._refreshed)
        return await asyncio.shield(self._refreshing)

    async def _read_nodes(self) -> Nodes:
        response = await self._read()
        if not response.brokers:
            raise errors.names_no_broker(names_nodes(self._settings).api, asked=self._settings.asked)
        if self._settings.controllers:
            found = {each.broker_id: (each.host, each.port) for each in response.brokers}
        else:
            found = {each.node_id: (each.host, each.port) for each in response.brokers}
        self.known = Nodes(found, response.controller_id, getattr(response, "cluster_id", None))
        self._sender.name_nodes(self.known)
        return self.known

    def _refreshed(self, task: asyncio.Task[Nodes]) -> None:
        self._refreshing = None
        if not task.cancelled():
            task.exception()  # mark the exception as retrieved: the waiting callers get it

    def pool(self, to: Route) -> Connections:
        """Return the pool of connections that a route uses."""
        return self.reading if to.reads_records else self.connections

    async def connection(self, to: Route, api: str = "") -> Connection:
        """Return the connection for a request; open it if necessary. Raises AdminError.

        Args:
            to: the destination.
            api: kio's name of the API; ``""`` if the caller only needs the destination's supported versions.
        """
        if self._settings.controllers:
            return await self._to_controller(to)
        if to.where is Destination.BROKER:
            connection = await self._to_broker(to.broker_id, self.pool(to))
            if api in FORWARDED and forwards_to_controller(connection.versions):
                connection = await self._to_broker(to.broker_id, self.forwarding)
            return connection
        addresses = self._addresses()
        connection = await self.connections.any_of(addresses)
        if api in FORWARDED and forwards_to_controller(connection.versions):
            turned = self._way % len(addresses)
            connection = await self.forwarding.any_of((*addresses[turned:], *addresses[:turned]))
        elif to.where is Destination.CONTROLLER and not forwards_to_controller(connection.versions):
            connection = await self._to_broker((await self.nodes()).controller_id, self.connections)
        return connection

    def _addresses(self) -> list[Address]:
        return list(dict.fromkeys((*self._settings.bootstrap, *self.known.brokers.values())))

    async def _to_controller(self, to: Route) -> Connection:
        """Return the connection for a client that is connected to controllers: to any of them, to the node that the
        route names, or to the active controller. Only the active controller changes the cluster's metadata, and
        the others do not forward requests to it.
        """
        if to.where is Destination.ANY:
            return await self.connections.any_of(self._addresses())
        id_ = to.broker_id if to.where is Destination.BROKER else (await self.nodes()).controller_id
        if id_ < 0:  # look again: an election may have ended since
            id_ = (await self.refresh()).controller_id
        return await self._to_broker(id_, self.connections)

    async def _to_broker(self, broker_id: int, connections: Connections) -> Connection:
        address = self.known.brokers.get(broker_id)
        if address is None:
            address = (nodes := await self.refresh()).brokers.get(broker_id)
            if address is None:
                raise link_errors.no_such_broker(broker_id, nodes.brokers, controllers=self._settings.controllers)
        cluster_id = self.cluster_id or self.known.cluster_id
        meant = Node(cluster_id, broker_id) if cluster_id else None
        try:
            try:
                return await connections.to(address, meant)
            except errors.WrongNode as error:
                address = await self._moved_to(broker_id, address, error)
            return await connections.to(address)
        except errors.Unreachable as error:
            at_controllers = self._settings.controllers
            raise link_errors.not_at_its_address(broker_id, error.failure, controllers=at_controllers) from error

    async def _moved_to(self, broker_id: int, address: Address, refusal: errors.WrongNode) -> Address:
        """Return the address of a node whose known address answered as another node: its new address; or the same
        address, if the node's configs prove that it is this node after all.

        Args:
            broker_id: the expected node.
            address: its known address.
            refusal: the peer's refusal, which is raised if nothing more can be found out.

        Raises:
            WrongNode: another node answers there.
            WrongCluster: a node of another cluster answers there.
        """
        now = (await self.refresh()).brokers.get(broker_id)
        if now is not None and now != address:
            return now
        try:
            async with asyncio.timeout(self._settings.request_timeout), self.apart(address) as ask:
                there = getattr(await ask(*names_nodes(self._settings)), "cluster_id", None)
                if not same_cluster(there, self.cluster_id or self.known.cluster_id):
                    raise errors.WrongCluster(
                        link_errors.of_another_cluster(address, there, self.cluster_id)
                    ) from refusal
                (described,) = (await ask("describe_configs", id_of_broker(broker_id))).results
        except errors.WrongCluster:
            raise
        except (errors.AdminError, TimeoutError, ValueError):
            raise refusal from None
        if not described.error_code:
            for connections in self._pools:
                connections.mean_no_node()
            return address
        another = link_errors.wrong_broker(broker_id, described.error_message, asked=self._settings.asked)
        raise refusal if another is None else errors.WrongNode(another)

    @asynccontextmanager
    async def apart(self, address: Address) -> AsyncIterator[Ask]:
        """Open a separate connection, for example to a node that Metadata does not name, for the ``async with`` block.

        Yield a function that sends one request once and returns its decoded response; it raises AdminError and
        TimeoutError. Raises AdminError if the connection can't be opened.
        """
        connection = await self.connections.open_apart(address)
        try:
            yield partial(self._sender.ask, connection)
        finally:
            await connection.close()

    def turn(self) -> None:
        """Send the next requests for the controller through another broker. The connections used so far stay open for
        changes that wait on them.
        """
        self.forwarding.retire_all(LONGEST_CHANGE)
        self._way += 1

    def retire(self, addresses: Iterable[Address] | None = None) -> None:
        """Retire the connections to these addresses, or all connections if None: later requests open new ones."""
        gone = None if addresses is None else tuple(addresses)
        for connections in self._pools:
            if gone is None:
                connections.retire_all()
            else:
                connections.retire_at(gone)

    async def close(self) -> None:
        """Close all connections."""
        if self._refreshing is not None:
            self._refreshing.cancel()
        for connections in self._pools:
            await connections.close()


class Link:
    """A client of one cluster, bound to its event loop. It connects at the first request.

    Its methods that send requests raise only AdminError, whose `failure` is a text for an operator; CancelledError; and
    the errors of a function in `asked`.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        record: Callable[[Exchange], None] | None = None,
        tap: Tap | None = None,
        connections: Connections | None = None,
    ) -> None:
        """Set the parameters; nothing is connected yet.

        Args:
            record: function called with each request and its response as bytes; None to record nothing.
            tap: the recorder for the flight record; None to record nothing.
            connections: the connections to use, such as those of a record; None to connect to the brokers in the
                settings.
        """
        self.settings = settings
        own = connections or Connections(settings, record, tap)
        pools = own, connections or own.beside(), connections or own.beside()
        self.turns = Turns()
        self.sender = Sender(settings, tap, pools)
        self.routes = Routes(settings, pools, self.sender, partial(self.call, *names_nodes(settings)))

    @cached_property
    def producing(self) -> Producing:
        """The client's idempotent producer, created at the first use."""
        from console.admin.producer import Producing

        return Producing()

    async def call(
        self,
        api: str,
        asked: Asked,
        *,
        to: Route = ANY,
        timeout: float | None = None,  # noqa: ASYNC109
        change: bool = False,
        proposed: int | None = None,
        at_most: int | None = None,
    ) -> Any:
        """Send a request and return the decoded response, in the highest version that both sides support. Error codes
        in it are plain integers.

        A change is never sent again if its bytes may have been sent. One exception: if each error in the response to a
        change sent to the CONTROLLER is NOT_CONTROLLER, the change was not applied, and is sent to the new controller.

        Args:
            api: kio's package name of the API ("describe_configs").
            asked: the content of the request.
            to: the destination.
            timeout: the maximum seconds for the call, with its retries; None for the settings' request timeout.
            change: whether the request may change something. If False, such a request is refused, unless its bytes mark
                it as validate-only.
            proposed: a version that a proposal defines, to be used instead (see `proposes`); None for a version of
                Kafka's.
            at_most: the highest version to use; None for no limit.

        Raises:
            OutcomeUnknown: the bytes of a change may have been sent, and no response came.
        """
        loop = asyncio.get_running_loop()
        deadline = self._deadline(timeout)
        waits = delays()
        for attempt in range(1, ATTEMPTS + 1):
            request = _Request(api, asked, to, deadline, change, proposed, _prepare_decoding, at_most)
            raw = await self._send(request)
            response = await aside(len(raw.body), partial(decode, raw))
            moved = to.where is Destination.CONTROLLER and refused_by_non_controller(response)
            wait = next(waits)
            if not moved or attempt == ATTEMPTS or loop.time() + wait > deadline:
                break
            await asyncio.sleep(wait)
            await self.refresh()
        return response

    async def ask_controller(self, api: str, asked: Asked) -> Any:
        """Send a read that brokers forward to the controller, and return its decoded response, as `call` does. After
        each `ELSEWHERE_SECONDS` (1 s) without a response, send it through one more broker, at most `WAYS` (4).

        A client that is connected to controllers sends it to the one that leads. If that one does not answer, the
        client asks the controllers again which one leads.
        """
        if self.settings.controllers:
            return await self._ask_leader(api, asked)

        async def ask(turn: int) -> Any:
            if turn:
                self.routes.turn()
            return await self.call(api, asked, to=CONTROLLER)

        async def discard(_answer: Any) -> None:
            """Ignore a further response: the first one counts."""

        found = await first_to_open(
            range(WAYS), ask, discard, final=lambda error: not _is_of_the_way(error), stagger=ELSEWHERE_SECONDS
        )
        if isinstance(found, list):
            raise found[-1]
        return found

    async def _ask_leader(self, api: str, asked: Asked) -> Any:
        """Send a request to the active controller as `call` does; if it does not answer, to the newly elected one."""
        loop, waits = asyncio.get_running_loop(), delays()
        deadline = loop.time() + ELECTION_SECONDS
        while True:
            try:
                return await self.call(api, asked, to=CONTROLLER, timeout=LEADER_SECONDS)
            except (errors.Unreachable, errors.Disconnected, errors.RequestTimedOut, errors.UnknownBroker):
                wait = next(waits)
                if loop.time() + wait > deadline:
                    raise
            await asyncio.sleep(wait)
            await self.refresh()

    async def call_raw(
        self,
        api: str,
        asked: Asked,
        *,
        to: Route = ANY,
        timeout: float | None = None,  # noqa: ASYNC109
        prepare: Prepare | None = None,
    ) -> RawResponse:
        """Send a request as `call` does, and return the response without decoding its body, for kac's own decoders. The
        request is not sent again after NOT_CONTROLLER.

        Args:
            timeout: the maximum seconds for the call, with its retries; None for the settings' request timeout.
            prepare: function called after the request was written, while the broker works on it; None to call nothing.
        """
        return await self._send(_Request(api, asked, to, self._deadline(timeout), False, None, prepare))

    async def call_apart(self, address: Address, api: str, asked: Asked, within: float) -> Any:
        """Send a request once over a separate connection to this address, such as a controller's, and return the
        decoded response. Raises AdminError.

        Args:
            within: the maximum seconds for connecting and for the response.
        """
        try:
            async with asyncio.timeout(within), self.routes.apart(address) as ask:
                return await ask(api, asked)
        except TimeoutError:
            problem = link_errors.no_answer([address], within, asked=self.settings.asked)
            raise self.sender.not_connected(address, problem, within) from None

    async def version(self, api: str, to: Route = ANY) -> int | None:
        """Return the version that `call` would use for this API and destination; None if the two sides have no version
        in common.
        """
        return (await self._reached(api, to)).version(api)

    async def advertised(self, to: Route = ANY) -> Mapping[int, tuple[int, int]]:
        """Return API key -> (lowest, highest version) that the destination supports."""
        return (await self._reached("api_versions", to)).versions

    async def proposes(self, api: str, version: int) -> bool:
        """Return whether the broker that any request goes to supports this version of an API as a proposal defines it
        (console.wire.proposals).
        """
        return (await self._reached(api, ANY)).proposes(api, version)

    async def require(self, api: str, min_version: int, needs: str, to: Route = ANY) -> int:
        """Return the version that `call` would use. Raises Unsupported if it is lower than `min_version`, or if the two
        sides have no version in common. needs: the first Kafka release with `min_version`, for the error.
        """
        connection = await self._reached(api, to)
        version = connection.version(api)
        if version is None or version < min_version:
            raise errors.Unsupported(api, needs, connection.versions, controllers=self.settings.controllers)
        return version

    async def nodes(self) -> Nodes:
        """Return the known nodes; read them at the first call."""
        return await self.routes.nodes()

    async def silence(self, within: float) -> Probed:
        """Send ApiVersions to all known brokers. Return the errors of those that do not answer within `within` seconds,
        and the seconds that each of the others took. After the first response, the others have less time; see
        `silent_nodes`.

        The requests are concurrent, each on a new connection. In a very large cluster, only the first `CONCURRENCY`
        (64) brokers are asked, which shows whether the cluster answers at all. Connections to brokers that don't answer
        are retired. Raises AdminError if the brokers are unknown, or if none answers.
        """
        try:
            async with asyncio.timeout(within):
                nodes = dict(sorted((await self.nodes()).brokers.items())[:CONCURRENCY])
        except TimeoutError:
            if reached := self.routes.connections.reached():
                self.reconnect()  # requests in flight on the old connections may never be answered
                raise link_errors.not_told(reached, within, names_nodes(self.settings).api) from None
            raise link_errors.no_answer(self.settings.bootstrap, within, asked=self.settings.asked) from None
        probed = await silent_nodes(
            nodes, self.routes.connections.try_anew, self.sender.not_connected, within, asked=self.settings.asked
        )
        self.routes.retire(nodes[id_] for id_ in probed.silent)
        if nodes and len(probed.silent) == len(nodes):
            # Prefer an error that says more than a timeout.
            raise min(probed.silent.values(), key=lambda why: isinstance(why, errors.RequestTimedOut))
        return probed

    def now_ms(self) -> int:
        """Return the time to which the cluster's answers belong, milliseconds since 1970: the present, or a record's
        time.
        """
        return self.routes.connections.now_ms()

    def reconnect(self) -> None:
        """Retire all connections: later requests open new ones."""
        self.routes.retire()

    async def refresh(self) -> Nodes:
        """Read the nodes and the controller again, and return them. Concurrent callers share one request."""
        return await self.routes.refresh()

    async def close(self) -> None:
        """Close all connections."""
        await self.routes.close()

    def _deadline(self, timeout: float | None) -> float:
        return asyncio.get_running_loop().time() + (self.settings.request_timeout if timeout is None else timeout)

    async def _send(self, request: _Request) -> RawResponse:
        """Send a request, and retry at most `ATTEMPTS` times within the deadline if a connection fails or is lost.
        Return the response, still encoded. Raises ReadOnly for a change by a read-only client, AuthenticationFailed
        if the listener closes the connection at the first request twice, and other AdminErrors.
        """
        if request.change and self.settings.read_only:
            raise errors.ReadOnly(request.api)
        loop = asyncio.get_running_loop()
        waits = delays()
        refusals = 0
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._attempt(request)
            except (errors.Unreachable, errors.Disconnected) as error:
                refusals += isinstance(error, link_errors.TurnedAway)
                if refusals > 1:
                    raise errors.AuthenticationFailed(error.failure) from error
                wait = next(waits)
                is_hopeless = isinstance(error, errors.Unreachable) and not self.sender.was_answered
                if attempt == ATTEMPTS or is_hopeless or loop.time() + wait > request.deadline:
                    raise
                await asyncio.sleep(wait)
                if request.to.where is not Destination.ANY and isinstance(error, errors.Unreachable):
                    await self.refresh()
        raise AssertionError("every attempt returns or raises")

    async def _attempt(self, request: _Request) -> RawResponse:
        async with AsyncExitStack() as held:
            if request.to.where is Destination.BROKER:
                await self._limit_concurrency(held, request.api, request.to, request.deadline)
            return await self._exchange(request)

    async def _reached(self, api: str, to: Route) -> Connection:
        """Return a connection to the destination, from which the caller reads the supported versions. No request of the
        API is sent.
        """
        async with AsyncExitStack() as held:
            if to.where is Destination.BROKER:
                await self._limit_concurrency(held, api, to, self._deadline(None))
            return await self.routes.connection(to)

    async def _limit_concurrency(self, held: AsyncExitStack, api: str, to: Route, deadline: float) -> None:
        """Wait until fewer than `CONCURRENCY` brokers have requests in flight, and count this request's broker until
        `held` is closed. Raises RequestTimedOut at the deadline.
        """
        try:
            async with asyncio.timeout_at(deadline):
                await held.enter_async_context(self.routes.pool(to).concurrency)
        except TimeoutError as error:
            asked, nodes = self.settings.asked, len(self.routes.known.brokers)
            raise errors.RequestTimedOut.of(
                f"{asked} {to.broker_id} was not asked for {api}: it is one of {nodes:,} {asked}s, of "
                f"which {CONCURRENCY} are asked at once, and those before it took all the time",
                f"Check that the cluster has so many {asked}s, and whether they answer.",
            ) from error

    async def _exchange(self, request: _Request) -> RawResponse:
        from console.wire.frames import Unencodable
        from console.wire.schemas import FIRST_RELEASE

        api, to = request.api, request.to
        began = time.monotonic()
        try:
            async with asyncio.timeout_at(request.deadline):
                connection = await self.routes.connection(to, api)
        except TimeoutError as error:
            named = f"{self.settings.asked} {to.broker_id}"
            where = named if to.where is Destination.BROKER else show_address(self.settings.bootstrap[0])
            message = f"no connection to {where} in time for {api}"
            problem = errors.RequestTimedOut.of(message, "Try again; check the network.")
            address = self.routes.known.brokers.get(to.broker_id, self.settings.bootstrap[0])
            raise self.sender.not_connected(address, problem, time.monotonic() - began) from error
        version = connection.version(api)
        if version is not None and request.at_most is not None:
            version = min(version, request.at_most)
        if request.proposed is not None:
            version = request.proposed if connection.proposes(api, request.proposed) else None
        if version is None:
            needs, newer = FIRST_RELEASE.get(api, ""), connection.newer(api)
            raise errors.Unsupported(api, needs, connection.versions, newer, controllers=self.settings.controllers)
        try:
            encoded = connection.prepare(api, version, request.asked)
        except Unencodable as error:
            raise errors.NotSendable.of(str(error), "Nothing was sent; correct the value.") from error
        if not request.change and encoded.may_change():
            raise errors.ReadOnly(api) if self.settings.read_only else errors.NotSendable(link_errors.no_check(encoded))
        if request.change and self.routes.cluster_id and connection.version(names_nodes(self.settings).api) is not None:
            await self._refuse_another_cluster(connection, request)
        return await self.sender.send(request, connection, encoded)

    async def _refuse_another_cluster(self, connection: Connection, request: _Request) -> None:
        """Check, right before a change is sent on a connection, that its peer belongs to the expected cluster. Raises
        AdminError.
        """
        api, asked = names_nodes(self.settings)
        try:
            async with asyncio.timeout_at(request.deadline):
                answer = await self.sender.ask(connection, api, asked)
        except TimeoutError as error:
            self.routes.connections.retire(connection)
            problem = link_errors.timed_out(api, connection, change=False, asked=self.settings.asked)
            raise errors.RequestTimedOut(problem) from error
        found = getattr(answer, "cluster_id", None)
        if not same_cluster(found, self.routes.cluster_id):
            address = (connection.host, connection.port)
            raise errors.WrongCluster(link_errors.of_another_cluster(address, found, self.routes.cluster_id))


def names_nodes(settings: ConnectionSettings) -> _NamesNodes:
    """Return the API and request whose response names the cluster and its nodes: the controllers if the settings have
    controllers' addresses, otherwise the brokers.
    """
    if settings.controllers:
        return _NamesNodes("describe_cluster", CONTROLLERS_OF_CLUSTER)
    return _NamesNodes("metadata", metadata())


def _is_of_the_way(error: BaseException) -> bool:
    """Return whether the error arose on the way to the controller, at the broker that forwards, so that another
    broker may still reach the controller.
    """
    return isinstance(error, errors.Unreachable | errors.Disconnected | errors.RequestTimedOut)


CONTROLLERS = 2
"""The endpoint type in a DescribeCluster request that means controllers (KIP-919); 1 means brokers."""


CONTROLLERS_OF_CLUSTER: Fields = {
    "include_cluster_authorized_operations": True,
    "endpoint_type": CONTROLLERS,
    "include_fenced_brokers": False,
}
"""The content of a DescribeCluster request for the cluster's controllers."""


def metadata(topics: Iterable[Fields] | None = (), *, rights: bool = False) -> Fields:
    """Return the content of a Metadata request that creates no topic.

    Args:
        topics: the wanted topics, by name or id; None for all; empty for none, only the brokers.
        rights: whether to request the principal's permitted operations on the cluster.
    """
    return {
        "topics": topics,
        "allow_auto_topic_creation": False,
        "include_cluster_authorized_operations": rights,
        "include_topic_authorized_operations": False,
    }


def id_of_broker(broker_id: int) -> Fields:
    """Return the content of a request that only the broker with this id answers: DescribeConfigs of that broker. Any
    other broker refuses it, with its own id in the message.
    """
    resource = {"resource_type": BROKER, "resource_name": str(broker_id), "configuration_keys": ("node.id",)}
    return {"resources": [resource], "include_synonyms": False, "include_documentation": False}


def import_partition_decoders(_api: str, _version: int) -> None:
    """Import the decoders of ListOffsets and DescribeLogDirs while the broker works on the request. Both arguments are
    ignored.
    """
    import console.wire.partition_decoders  # noqa: F401


def _prepare_decoding(api: str, version: int) -> None:
    from console.wire.frames import prepare_decoding
    from console.wire.schemas import response_type

    prepare_decoding(response_type(api, version))


def decode(raw: RawResponse) -> Any:
    """Decode a response; error codes in it are plain integers. Raises BadAnswer."""
    from console.wire.bounds_check import MalformedFrame
    from console.wire.frames import decode_body
    from console.wire.schemas import response_type

    try:
        return decode_body(response_type(raw.api, raw.version), raw.body)
    except MalformedFrame as error:
        raise errors.BadAnswer.of(f"the answer to {raw.api} can't be read: {error}", "Please report this.") from error


# Silent brokers: kac asks all concurrently, and the first answer shortens the time for the others.

OTHERS_SECONDS, OTHERS_TIMES = 2.5, 3
"""Bounds of the time that the other brokers have after the first answer: seconds, and a factor of the first broker's
time, since a slow line slows all logins."""


class Probed(NamedTuple):
    """The result of a probe of nodes."""

    silent: dict[int, errors.AdminError]
    """Node id -> the error, for nodes that did not answer in time."""
    took: dict[int, float]
    """Node id -> the seconds until it answered, with connecting and login."""


async def silent_nodes(
    nodes: Mapping[int, Address],
    ask: Callable[[Address], Awaitable[float]],
    failed: Callable[[Address, errors.AdminError, float], errors.AdminError],
    within: float,
    *,
    asked: str,
) -> Probed:
    """Probe nodes concurrently. Return the errors of those that do not answer within `within` seconds, and the seconds
    that each of the others took. Once a node has answered, the others have only `OTHERS_TIMES` (3) times its time
    left, at least `OTHERS_SECONDS` (2.5 s).

    Args:
        nodes: node id -> address.
        ask: function that sends a request to an address and returns the seconds until the response; raises AdminError.
        failed: function of (address, error, seconds) called for a node without a response in time; it returns the error
            to report.
        asked: the word for the nodes in messages: ``broker`` or ``controller``.
    """
    loop = asyncio.get_running_loop()
    began, limit = loop.time(), within
    limits: dict[int, asyncio.Timeout] = {}  # by id, as two nodes may advertise one address
    took: dict[int, float] = {}

    async def reason(id_: int, address: Address) -> errors.AdminError | None:
        nonlocal limit
        try:
            async with asyncio.timeout_at(began + limit) as limits[id_]:
                took[id_] = await ask(address)
        except TimeoutError:
            return failed(address, link_errors.no_answer([address], limit, asked=asked), limit)
        except errors.AdminError as error:
            return error
        finally:
            del limits[id_]
        sooner = max(OTHERS_SECONDS, OTHERS_TIMES * (loop.time() - began))
        if sooner < limit:
            limit = sooner
            for each in limits.values():
                each.reschedule(began + limit)
        return None

    reasons = await asyncio.gather(*(reason(id_, address) for id_, address in nodes.items()))
    return Probed({id_: why for id_, why in zip(nodes, reasons, strict=True) if why is not None}, took)


# Decoding outside the client's loop.

LONG = 1 << 20
"""Size in bytes of a response from which on it is decoded in another thread, so that the client's other requests
continue.
"""


async def aside(size: int, decoding: Callable[[], T]) -> T:
    """Call a decoding function and return its result; for a response of at least `LONG` bytes (1 MiB), call it in
    another thread. size: the size of the response in bytes.
    """
    return decoding() if size < LONG else await asyncio.to_thread(decoding)


# Routes and retries: exponential backoff with full jitter.


KRAFT_ONLY = (55, 64)
"""The keys of APIs that only brokers in KRaft mode have: DescribeQuorum and UnregisterBroker
(ApiMessageType.ListenerType).
"""


def forwards_to_controller(api_keys: Container[int]) -> bool:
    """Return whether a broker that supports these APIs forwards requests to the controller, as all brokers in KRaft
    mode do (KIP-590).
    """
    return any(key in api_keys for key in KRAFT_ONLY)


FORWARDED = frozenset(
    {
        "add_raft_voter",
        "alter_client_quotas",
        "alter_configs",
        "alter_partition_reassignments",
        "alter_user_scram_credentials",
        "create_acls",
        "create_delegation_token",
        "create_partitions",
        "create_topics",
        "delete_acls",
        "delete_topics",
        "describe_quorum",
        "elect_leaders",
        "expire_delegation_token",
        "incremental_alter_configs",
        "list_partition_reassignments",
        "remove_raft_voter",
        "renew_delegation_token",
        "unregister_broker",
        "update_features",
    }
)
"""APIs that brokers in KRaft mode forward to the active controller (KafkaApis.forwardToController). While the
controller hangs, such a request waits for half a minute, and so do all later requests on its connection, because a
broker answers the requests of a connection in order.
"""


def refused_by_non_controller(response: Any) -> bool:
    """Return whether a response refuses the whole request, or each item in it, with NOT_CONTROLLER, so that nothing was
    applied.

    The items are checked because Kafka 2.8 refuses an election by an error at each partition, with 0 as the top-level
    error code.
    """
    from kio.schema.errors import ErrorCode

    if getattr(response, "error_code", 0) == ErrorCode.not_controller:
        return True
    codes = list(_codes_of_items(response))
    return bool(codes) and all(code == ErrorCode.not_controller for code in codes)


def _codes_of_items(entity: Any) -> Iterator[int]:
    for name in type(entity).__dataclass_fields__:
        part = getattr(entity, name)
        if not isinstance(part, tuple) or not part or not hasattr(part[0], "__dataclass_fields__"):
            continue
        for item in part:
            if hasattr(item, "error_code"):
                yield item.error_code
            else:
                yield from _codes_of_items(item)


# The delays between retries, and repeated reads.

FIRST_DELAY = 0.1
LONGEST_DELAY = 2.0
ATTEMPTS = 5


def delays(
    first: float = FIRST_DELAY, longest: float = LONGEST_DELAY, jitter: Callable[[], float] = random.random
) -> Iterator[float]:
    """Yield the seconds to wait before each retry: a random time between 0 and a bound. The bound begins with `first`
    and doubles up to `longest`.
    """
    bound = first
    while True:
        yield bound * jitter()
        bound = min(bound * 2, longest)


async def until_settled(
    read: Callable[[], Awaitable[T]],
    unsettled: Callable[[T], bool],
    *,
    within: float,
    attempts: int = ATTEMPTS,
    waits: Iterator[float] | None = None,
) -> T:
    """Call `read` until `unsettled` returns False for its result. `unsettled` returns True, for example, for a
    retriable error code. Return the last result, even if it is still unsettled when the time or the attempts are
    used up. Use it for reads, and for changes that were refused; never for changes that may have been applied.

    Args:
        within: the maximum seconds; no retry begins later.
        attempts: the maximum number of calls of `read`.
        waits: the seconds before each retry; None for `delays`.
    """
    deadline = asyncio.get_running_loop().time() + within
    waits = waits or delays()
    answer = await read()
    for _ in range(attempts - 1):
        wait = next(waits)
        if not unsettled(answer) or asyncio.get_running_loop().time() + wait > deadline:
            break
        await asyncio.sleep(wait)
        answer = await read()
    return answer

"""One cluster's way to its brokers: which connection, which version, when to try again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from console.admin.connections import Connections
from console.admin.errors import (
    BadAnswer,
    Disconnected,
    OutcomeUnknown,
    RequestTimedOut,
    UnknownBroker,
    Unreachable,
    Unsupported,
)
from console.admin.retry import ATTEMPTS, delays
from console.admin.routing import ANY, Route, Where, forwards_to_controller
from console.admin.settings import ConnectionSettings
from console.model.failure import Failure

if TYPE_CHECKING:
    from console.wire.carried import Exchange, RawResponse
    from console.wire.connection import Connection

NOT_CONTROLLER = 41


@dataclass(frozen=True, slots=True)
class Nodes:
    """What Metadata told of the brokers: id -> (host, port), and the controller's id (-1: none)."""

    brokers: Mapping[int, tuple[str, int]]
    controller_id: int = -1


class Link:
    """Sends requests to one cluster. Bound to the event loop it is used on; connects when first needed.

    Every method that sends raises AdminError, whose `failure` says it in plain words, and nothing else but
    CancelledError and what `build` raises.
    """

    def __init__(self, settings: ConnectionSettings, record: Callable[[Exchange], None] | None = None) -> None:
        self.settings = settings
        self._connections = Connections(settings, record)
        self._nodes = Nodes({})
        self._refreshing: asyncio.Task[Nodes] | None = None
        self._was_connected = False

    async def call(
        self,
        api: str,
        build: Callable[[ModuleType], Any],
        *,
        to: Route = ANY,
        timeout: float | None = None,  # noqa: ASYNC109
        change: bool = False,
    ) -> Any:
        """The decoded response, of the highest version that both sides have; error codes are plain integers.

        api: kio's package name ("describe_configs"). build: makes the request from kio's module of that version.
        timeout: seconds for everything, tries included; None: the settings' request timeout.
        change: never sent twice once its bytes may have left: OutcomeUnknown then. A CONTROLLER call that is answered
        NOT_CONTROLLER throughout was applied by nobody and is sent again to the new one.
        """
        from console.wire.frames import MalformedFrame, decode_body
        from console.wire.schemas import response_type

        for last in (False, False, True):
            raw = await self.call_raw(api, build, to=to, timeout=timeout, change=change)
            try:
                response = decode_body(response_type(api, raw.version), raw.body)
            except MalformedFrame as error:
                raise BadAnswer(Failure("BAD_ANSWER", f"the answer to {api} can't be read: {error}", "")) from error
            if last or to.where is not Where.CONTROLLER or not refused_by_non_controller(response):
                break
            await self.refresh()
        return response

    async def call_raw(
        self,
        api: str,
        build: Callable[[ModuleType], Any],
        *,
        to: Route = ANY,
        timeout: float | None = None,  # noqa: ASYNC109
        change: bool = False,
    ) -> RawResponse:
        """As `call`, undecoded: the version and the body after the response header, for decoders of one's own."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self.settings.request_timeout if timeout is None else timeout)
        waits = delays()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._attempt(api, build, to, deadline, change)
            except (Unreachable, Disconnected) as error:
                wait = next(waits)
                if attempt == ATTEMPTS or not self._was_connected or loop.time() + wait > deadline:
                    raise
                await asyncio.sleep(wait)
                if to.where is not Where.ANY and isinstance(error, Unreachable):
                    await self.refresh()
        raise AssertionError("unreachable")

    async def version(self, api: str, to: Route = ANY) -> int | None:
        """The version that `call` would use with this destination, None where either side lacks the API."""
        return (await self._connection(to)).version(api)

    async def require(self, api: str, min_version: int, needs: str, to: Route = ANY) -> int:
        """The version in use, at least this one; raises Unsupported, naming the Kafka release that it needs."""
        version = await self.version(api, to)
        if version is None or version < min_version:
            raise Unsupported(api, needs)
        return version

    async def nodes(self) -> Nodes:
        """The brokers as last told, asked for if they never were."""
        return self._nodes if self._nodes.brokers else await self.refresh()

    async def refresh(self) -> Nodes:
        """Asks for the brokers and the controller again; callers at the same time share one request."""
        if self._refreshing is None:
            self._refreshing = asyncio.create_task(self._read_nodes(), name="refresh metadata")
            self._refreshing.add_done_callback(self._refreshed)
        return await asyncio.shield(self._refreshing)

    async def close(self) -> None:
        """Closes all connections."""
        if self._refreshing is not None:
            self._refreshing.cancel()
        await self._connections.close()

    async def _attempt(
        self, api: str, build: Callable[[ModuleType], Any], to: Route, deadline: float, change: bool
    ) -> RawResponse:
        connection = await self._connection(to)
        version = connection.version(api)
        if version is None:
            raise Unsupported(api, "")
        request = connection.prepare(api, version, build)
        where = f"{connection.host}:{connection.port}"
        try:
            async with asyncio.timeout_at(deadline):
                return await connection.send(request)
        except TimeoutError as error:
            self._connections.retire(connection)
            told = Failure("TIMED_OUT", f"{where} did not answer {api} in time", "")
            raise (OutcomeUnknown(told) if change else RequestTimedOut(told)) from error
        except Exception as error:
            told = Failure("DISCONNECTED", f"{where} closed the connection before it answered {api}", "")
            raise (OutcomeUnknown(told) if change and request.encoded else Disconnected(told)) from error

    async def _connection(self, to: Route) -> Connection:
        if to.where is Where.BROKER:
            connection: Connection = await self._to_broker(to.broker_id)
        else:
            known = self._nodes.brokers.values()
            connection = await self._connections.any_of(dict.fromkeys((*self.settings.bootstrap, *known)))
            if to.where is Where.CONTROLLER and not forwards_to_controller(frozenset(connection.versions)):
                connection = await self._to_broker((await self.nodes()).controller_id)
        self._was_connected = True
        return connection

    async def _to_broker(self, broker_id: int) -> Connection:
        nodes = await self.nodes()
        if broker_id not in nodes.brokers:
            nodes = await self.refresh()
        if broker_id not in nodes.brokers:
            known = ", ".join(map(str, sorted(nodes.brokers)))
            raise UnknownBroker(Failure("UNKNOWN_BROKER", f"no broker {broker_id} is alive; there are {known}", ""))
        connection: Connection = await self._connections.to(nodes.brokers[broker_id])
        return connection

    async def _read_nodes(self) -> Nodes:
        from console.wire.schemas import for_version

        def no_topics(kio: ModuleType) -> Any:
            return for_version(
                kio.MetadataRequest,
                topics=(),
                allow_auto_topic_creation=False,
                include_cluster_authorized_operations=False,
                include_topic_authorized_operations=False,
            )

        response = await self.call("metadata", no_topics)
        self._nodes = Nodes({b.node_id: (b.host, b.port) for b in response.brokers}, response.controller_id)
        return self._nodes

    def _refreshed(self, task: asyncio.Task[Nodes]) -> None:
        self._refreshing = None
        if not task.cancelled():
            task.exception()


def refused_by_non_controller(response: Any) -> bool:
    """Whether every error code in the response, at the top or one level down, is NOT_CONTROLLER, and there is one."""
    codes = [getattr(response, "error_code", 0)]
    for name in getattr(type(response), "__dataclass_fields__", ()):
        part = getattr(response, name)
        if isinstance(part, tuple):
            codes += [item.error_code for item in part if hasattr(item, "error_code")]
    told = [code for code in codes if code != 0]
    return bool(told) and all(code == NOT_CONTROLLER for code in told)

"""The arguments of handlers: the request's context, the client's session, and the cluster without its sockets."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from itertools import count
from types import ModuleType
from typing import Any, Protocol

from console.embedded import spec as embedded_spec
from console.embedded.authorizer import StandardAuthorizer
from console.embedded.clock import Clock
from console.embedded.config_changes import Loggers
from console.embedded.sasl import Exchange, enabled_mechanisms
from console.embedded.state import ClusterState, Propagation, View
from console.embedded.throttling import Requester, Throttling
from console.embedded.tokens import Token
from console.model.acl import CLUSTER_NAME
from console.model.codes import AclOperation, AclResourceType
from console.model.releases import takes_host_ranges
from console.wire.fields import filled
from console.wire.schemas import Messages

log = logging.getLogger("console.embedded")

CONTROLLER_LISTENER = "CONTROLLER"
NO_TIME = timedelta(0)

_FIRST_PRODUCER_ID = 1000
_operation = cache(AclOperation.parse)
_resource = cache(AclResourceType.parse)
_session_numbers = count(1)


class CloseConnection(Exception):
    """Raised to close the connection without a response, as Kafka does for a request that it can't read or refuses
    (Processor.close). The text is the log line."""


class Authorizer(Protocol):
    """An authorizer of operations of principals (org.apache.kafka.server.authorizer.Authorizer)."""

    def allows(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, name: str, view: View
    ) -> bool:
        """Return whether the ACLs of this view allow the operation.

        Args:
            principal: principal with its type, ``User:alice``.
            host: address of the client.
        """

    def allows_somewhere(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, view: View
    ) -> bool:
        """Return whether the ACLs allow the operation on any resource of this type, existing or not."""


@dataclass(slots=True, eq=False)
class Session:
    """A client's connection to a broker, with its login."""

    broker_id: int
    host: str
    port: int
    principal: str | None = embedded_spec.ANONYMOUS
    """The client's principal, ``User:name``; None until the client has authenticated."""
    token: Token | None = None
    """The delegation token that the client logged in with; None for other logins."""
    mechanism: str | None = None
    """The mechanism that the client chose with SaslHandshake; None before that."""
    exchange: Exchange | None = None
    """The SASL exchange under way; None without one."""
    raw_tokens: bool = False
    """Whether the next frame is a SASL token without a request header (SaslHandshake v0)."""
    ending: str = ""
    """The reason to close the connection after the current response; ``""`` to keep it open."""
    mute: float = 0.0
    """The seconds to wait before the next request is read."""
    software: tuple[str, str] = ("", "")
    """The client's name and version, from its ApiVersions request."""
    number: int = field(default_factory=lambda: next(_session_numbers))

    @property
    def authenticated(self) -> bool:
        """Whether the client may send any request."""
        return self.principal is not None

    def authenticate(self, view: View, token: bytes) -> bytes:
        """Process the client's next token, and return the broker's. If the exchange is complete, set the principal.

        Args:
            view: state with the SCRAM credentials.

        Raises:
            SaslFailure: authentication failed; the caller has to close the connection.
        """
        assert self.exchange is not None
        answer = self.exchange.step(view, token)
        if self.exchange.user is not None:
            self.principal = f"User:{self.exchange.user}"
            self.token = self.exchange.token
            self.exchange = None
        return answer

    def __str__(self) -> str:
        return f"{self.host}:{self.port} to broker {self.broker_id}"


class Cluster(ABC):
    """A cluster without its sockets, for handlers, scenarios and the request pipeline.

    Not thread-safe: use it on the event loop that starts the cluster.

    Attributes:
        spec: the specification of the cluster.
        state: the controller's state.
        propagation: the changes that each broker has applied.
        forwarding: whether brokers forward requests to the controller.
        advertised: API key -> versions in the ApiVersions response of brokers.
        at_controllers: the versions in the ApiVersions response of controllers that are not brokers.
        authorizer: the authorizer; None without ACLs.
        loggers: the log levels by broker.
        mechanisms: the enabled SASL mechanisms.
        copies: replica (topic, partition, broker) under copy -> its start in Unix time, and its duration in seconds.
    """

    def __init__(
        self,
        spec: embedded_spec.ClusterSpec,
        clock: Clock,
        cluster_id: str,
        advertised: Mapping[int, embedded_spec.Range],
        at_controllers: Mapping[int, embedded_spec.Range],
    ) -> None:
        """Create the state of an empty cluster. Raises ValueError for an unknown release."""
        self.spec = spec
        self.clock = clock
        self.release = embedded_spec.release(spec.versions)
        self.state = ClusterState(cluster_id, self.release, clock)
        self.propagation = Propagation(self.state, spec.propagation_delay)
        self.forwarding = spec.forwarding
        self.advertised = advertised
        self.at_controllers = at_controllers
        self.listener_name = embedded_spec.SASL_LISTENER if spec.sasl else embedded_spec.BROKER_LISTENER
        self.mechanisms = enabled_mechanisms(spec.sasl)
        self.authorizer = _authorizer(spec)
        self.throttling = Throttling()
        self.loggers = Loggers.of(self.release.name)
        self.producer_ids = count(_FIRST_PRODUCER_ID)
        self.copies: dict[tuple[str, int, int], tuple[float, float]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def addresses(self) -> dict[int, tuple[str, int]]:
        """Host and port of each broker, by id."""
        return {broker.id: (broker.host, broker.port) for broker in self.state.brokers.values()}

    def served_by(self, node: int) -> Mapping[int, embedded_spec.Range]:
        """Return API key -> versions served by a node, which is a broker or a controller."""
        return self.at_controllers if node in self.state.controllers else self.advertised

    def address_of(self, node: int) -> tuple[str, int]:
        """Return the host and the port of a node, which is a broker or a controller."""
        found = self.state.controllers.get(node) or self.state.brokers[node]
        return found.host, found.port

    @property
    def auto_create_topics(self) -> bool:
        """Whether a Metadata request creates missing topics (auto.create.topics.enable)."""
        return self.spec.static_configs.get("auto.create.topics.enable", "true") == "true"

    @property
    def topic_defaults(self) -> tuple[int, int]:
        """Default partitions and replicas of a topic (num.partitions, default.replication.factor)."""
        configs = self.spec.static_configs
        return int(configs.get("num.partitions", "1")), int(configs.get("default.replication.factor", "1"))

    def view_of(self, broker_id: int) -> View:
        """Return the current state as a broker knows it."""
        return self.propagation.view(broker_id)

    async def visible(self, offset: int, within: float | None = None) -> bool:
        """Wait until all live brokers have applied the log up to an offset.

        Args:
            within: timeout, seconds; None to wait without a limit.

        Returns:
            False if `within` was too short.
        """
        return await self.propagation.visible(offset, within)

    @abstractmethod
    async def broker_down(self, broker_id: int) -> None:
        """Stop a broker in order, as by SIGTERM: it hands its leaders over and is fenced; then its connections end. Do
        nothing if it is down."""

    @abstractmethod
    async def broker_killed(self, broker_id: int) -> None:
        """Crash a broker, as by SIGKILL: its connections end, and it is fenced once its session has ended. Do nothing
        if it is down."""

    @abstractmethod
    async def broker_up(self, broker_id: int) -> None:
        """Restart a broker that is down, on its old port. Do nothing if it is up. Before its last session has ended,
        the controller does not register it again."""

    def down_for(self, broker_id: int, seconds: float) -> None:
        """Crash a broker now, and restart it after this number of seconds."""

        async def down_and_up() -> None:
            await self.broker_killed(broker_id)
            await self.clock.sleep(seconds)
            await self.broker_up(broker_id)

        self.run(down_and_up())

    def run(self, coroutine: Coroutine[None, None, None]) -> None:
        """Run a coroutine as a background task, until it ends or the cluster stops."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def settled(self) -> None:
        """Wait until all background tasks have ended."""
        await asyncio.gather(*self._tasks)

    async def cancel_tasks(self) -> None:
        """Cancel all background tasks."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a background task failed", exc_info=error)


def _authorizer(spec: embedded_spec.ClusterSpec) -> Authorizer | None:
    if not spec.authorizer:
        return None
    configs = spec.static_configs
    named = filter(None, configs.get("super.users", "").split(";"))
    return StandardAuthorizer(
        spec.super_users.union(named),
        open_by_default=configs.get("allow.everyone.if.no.acl.found", "false").lower() == "true",
        ranges=takes_host_ranges([embedded_spec.release(spec.versions).supported]),
    )


@dataclass(frozen=True, slots=True)
class RequestContext:
    """A request's origin, and the objects that its handler may use."""

    broker_id: int
    """The id of the node that received the request, a broker or a controller."""
    principal: str
    """The client's principal, ``User:name``."""
    client_id: str
    client_host: str
    """The address of the client."""
    listener: str
    messages: Messages
    """The request's API and version, with the classes of its messages."""
    session: Session
    cluster: Cluster

    @property
    def version(self) -> int:
        """The version of the request and its response."""
        return self.messages.version

    @property
    def schema(self) -> ModuleType:
        """The module with the response of this version and its nested classes."""
        return self.messages.schema

    def answer(self, **fields: Any) -> Any:
        """Return the response with the fields that its version has; ignore the others."""
        return filled(self.messages.response, **fields)

    def part(self, name: str, /, **fields: Any) -> Any:
        """Return a nested class of the response with the fields that its version has; ignore the others."""
        return filled(getattr(self.messages.schema, name), **fields)

    @property
    def state(self) -> ClusterState:
        """The controller's state, for all changes."""
        return self.cluster.state

    @property
    def view(self) -> View:
        """The state as this node knows it, for responses to reads."""
        return self.cluster.view_of(self.broker_id)

    @property
    def at_controller(self) -> bool:
        """Whether the receiving node is a controller that is not a broker."""
        return self.broker_id in self.state.controllers

    @property
    def clock(self) -> Clock:
        """The cluster's clock."""
        return self.cluster.clock

    @property
    def requester(self) -> Requester:
        """The sender of the request, for quotas, with the broker's current view."""
        return Requester(self.broker_id, self.principal, self.client_id, self.view, self.clock)

    @property
    def unrestricted(self) -> bool:
        """Whether the principal may do everything: as a super user, or because the cluster has no authorizer."""
        cluster = self.cluster
        return cluster.authorizer is None or self.principal in cluster.spec.super_users

    def allowed(self, operation: str, resource: str = "CLUSTER", name: str = CLUSTER_NAME) -> bool:
        """Return whether the principal may do the operation; True without an authorizer.

        Args:
            operation: Kafka's name of the operation, ``ALTER_CONFIGS``.
            resource: Kafka's name of the resource type, ``TOPIC``.
        """
        authorizer = self.cluster.authorizer
        return authorizer is None or authorizer.allows(
            self.principal, self.client_host, _operation(operation), _resource(resource), name, self.view
        )

    def allowed_somewhere(self, operation: str, resource: str) -> bool:
        """Return whether the principal may do the operation on any resource of this type (KIP-679)."""
        authorizer = self.cluster.authorizer
        return authorizer is None or authorizer.allows_somewhere(
            self.principal, self.client_host, _operation(operation), _resource(resource), self.view
        )

    def operations(self, candidates: tuple[str, ...], resource: str = "CLUSTER", name: str = CLUSTER_NAME) -> int:
        """Return the allowed candidates as the bit field of ``…_authorized_operations`` (KIP-430)."""
        bits = 0
        for operation in candidates:
            if self.allowed(operation, resource, name):
                bits |= 1 << _operation(operation)
        return bits

    async def visible(self, within: float | None = None) -> bool:
        """Wait until all live brokers have applied all changes so far.

        Args:
            within: timeout, seconds; None to wait without a limit.

        Returns:
            False if `within` was too short.
        """
        return await self.cluster.visible(self.state.log.end, within)

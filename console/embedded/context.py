"""The objects that a handler gets: the context of the request, the client's session, and the cluster without its
sockets.
"""

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
    """Raised to close the connection without a response, as Kafka does for requests that it can't read or refuses
    (Processor.close). The exception's text is the line for the log.
    """


class Authorizer(Protocol):
    """An authorizer of operations (org.apache.kafka.server.authorizer.Authorizer)."""

    def allows(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, name: str, view: View
    ) -> bool:
        """Return whether the ACLs in this view of the state allow the operation on the resource.

        Args:
            principal: the principal with its type, such as ``User:alice``.
            host: the address of the client.
            view: the state as the node knows it.
        """

    def allows_somewhere(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, view: View
    ) -> bool:
        """Return whether the ACLs allow the operation on some resource of this type, which may not exist yet."""


@dataclass(slots=True, eq=False)
class Session:
    """The state of a client's connection to a node, with its login."""

    broker_id: int
    host: str
    port: int
    principal: str | None = embedded_spec.ANONYMOUS
    """The client's principal, such as ``User:name``; None until the client has authenticated."""
    token: Token | None = None
    """The delegation token with which the client logged in; None if it logged in otherwise."""
    mechanism: str | None = None
    """The mechanism that the client chose by SaslHandshake; None before that."""
    exchange: Exchange | None = None
    """The SASL exchange in progress; None without one."""
    raw_tokens: bool = False
    """Whether the next frame is a SASL token without a request header (SaslHandshake v0)."""
    ending: str = ""
    """The reason for which the connection is closed after the current response; ``""`` to keep it open."""
    mute: float = 0.0
    """The seconds for which the next request is not read, because the client is throttled."""
    number: int = field(default_factory=lambda: next(_session_numbers))

    @property
    def authenticated(self) -> bool:
        """Whether the client may send requests other than those of a login."""
        return self.principal is not None

    def authenticate(self, view: View, token: bytes) -> bytes:
        """Process the client's next SASL token and return the broker's. If the exchange is then complete, set the
        principal.

        Args:
            view: the state with the SCRAM credentials.

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
    """A cluster without its sockets, as handlers, scenarios and the request pipeline use it.

    Not thread-safe: use it only on the event loop on which the cluster was started.

    Attributes:
        spec: the specification of the cluster.
        state: the controller's state.
        propagation: which changes of the state each broker has applied.
        forwarding: whether brokers forward requests to the controller.
        advertised: API key -> the versions in the brokers' ApiVersions response.
        at_controllers: API key -> the versions in the ApiVersions response of separate controllers.
        authorizer: the authorizer; None if the cluster has no ACLs.
        loggers: the log levels of each broker.
        mechanisms: the enabled SASL mechanisms.
        copies: (topic, partition, broker) of a replica that is being copied -> the start in seconds since 1970, and the
            duration in seconds.
    """

    def __init__(
        self,
        spec: embedded_spec.ClusterSpec,
        clock: Clock,
        cluster_id: str,
        advertised: Mapping[int, embedded_spec.Range],
        at_controllers: Mapping[int, embedded_spec.Range],
    ) -> None:
        """Create an empty cluster. Raises ValueError for an unknown release. advertised, at_controllers: see the
        attributes.
        """
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
        """Broker id -> host and port."""
        return {broker.id: (broker.host, broker.port) for broker in self.state.brokers.values()}

    def served_by(self, node: int) -> Mapping[int, embedded_spec.Range]:
        """Return API key -> the versions that this broker or controller serves."""
        return self.at_controllers if node in self.state.controllers else self.advertised

    def address_of(self, node: int) -> tuple[str, int]:
        """Return the host and the port of this broker or controller."""
        found = self.state.controllers.get(node) or self.state.brokers[node]
        return found.host, found.port

    @property
    def auto_create_topics(self) -> bool:
        """Whether a Metadata request creates missing topics (auto.create.topics.enable)."""
        return self.spec.static_configs.get("auto.create.topics.enable", "true") == "true"

    @property
    def topic_defaults(self) -> tuple[int, int]:
        """The default number of partitions and replication factor of a topic (num.partitions,
        default.replication.factor).
        """
        configs = self.spec.static_configs
        return int(configs.get("num.partitions", "1")), int(configs.get("default.replication.factor", "1"))

    def view_of(self, broker_id: int) -> View:
        """Return the state as this broker knows it now."""
        return self.propagation.view(broker_id)

    async def visible(self, offset: int, within: float | None = None) -> bool:
        """Wait until all live brokers have applied the changes up to an offset of the change log.

        Args:
            within: the maximum seconds to wait; None for no limit.

        Returns:
            Whether they have applied them in time.
        """
        return await self.propagation.visible(offset, within)

    @abstractmethod
    async def broker_down(self, broker_id: int) -> None:
        """Shut a broker down cleanly, as SIGTERM does: other replicas become leaders, the broker is fenced, and its
        connections are closed. Do nothing if it is down already.
        """

    @abstractmethod
    async def broker_killed(self, broker_id: int) -> None:
        """Crash a broker, as SIGKILL does: its connections are closed, and it is fenced when its session ends. Do
        nothing if it is down already.
        """

    @abstractmethod
    async def broker_up(self, broker_id: int) -> None:
        """Restart a broker that is down on its former port; do nothing if it is running. If its last session has not
        ended, wait until it ends: the controller does not register it before.
        """

    def down_for(self, broker_id: int, seconds: float) -> None:
        """Crash a broker now, and restart it after `seconds`, in the background."""

        async def down_and_up() -> None:
            await self.broker_killed(broker_id)
            await self.clock.sleep(seconds)
            await self.broker_up(broker_id)

        self.run(down_and_up())

    def run(self, coroutine: Coroutine[None, None, None]) -> None:
        """Run a coroutine in the background until it ends or the cluster stops."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def settled(self) -> None:
        """Wait until all background tasks have ended by themselves."""
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
    """The origin of a request, and the objects that its handler may use."""

    broker_id: int
    """The id of the broker or controller that received the request."""
    principal: str
    """The client's principal, ``User:name``."""
    client_id: str
    client_host: str
    """The address of the client."""
    listener: str
    messages: Messages
    """The request's API and version, with the classes of its request and response."""
    session: Session
    cluster: Cluster

    @property
    def version(self) -> int:
        """The version of the request and its response."""
        return self.messages.version

    @property
    def schema(self) -> ModuleType:
        """The module that defines the response of this version and its structures."""
        return self.messages.schema

    def answer(self, **fields: Any) -> Any:
        """Make the response with these fields; fields that its version lacks are ignored."""
        return filled(self.messages.response, **fields)

    def part(self, name: str, /, **fields: Any) -> Any:
        """Make a structure of the response with these fields; fields that its version lacks are ignored. name: the
        class of the structure.
        """
        return filled(getattr(self.messages.schema, name), **fields)

    @property
    def state(self) -> ClusterState:
        """The controller's state, through which all changes go."""
        return self.cluster.state

    @property
    def view(self) -> View:
        """The state as the receiving node knows it, on which responses to reads are based."""
        return self.cluster.view_of(self.broker_id)

    @property
    def at_controller(self) -> bool:
        """Whether the receiving node is a separate controller, not a broker."""
        return self.broker_id in self.state.controllers

    @property
    def clock(self) -> Clock:
        """The cluster's clock."""
        return self.cluster.clock

    @property
    def requester(self) -> Requester:
        """The client and the receiving broker's view of the state, for quotas."""
        return Requester(self.broker_id, self.principal, self.client_id, self.view, self.clock)

    @property
    def unrestricted(self) -> bool:
        """Whether the principal may do everything, as a super user or because the cluster has no authorizer."""
        cluster = self.cluster
        return cluster.authorizer is None or self.principal in cluster.spec.super_users

    def allowed(self, operation: str, resource: str = "CLUSTER", name: str = CLUSTER_NAME) -> bool:
        """Return whether the principal may do the operation; True if the cluster has no authorizer.

        Args:
            operation: Kafka's name of the operation, such as ``ALTER_CONFIGS``.
            resource: Kafka's name of the resource type, such as ``TOPIC``.
            name: the name of the resource.
        """
        authorizer = self.cluster.authorizer
        return authorizer is None or authorizer.allows(
            self.principal, self.client_host, _operation(operation), _resource(resource), name, self.view
        )

    def allowed_somewhere(self, operation: str, resource: str) -> bool:
        """Return whether the principal may do the operation on some resource of this type (KIP-679)."""
        authorizer = self.cluster.authorizer
        return authorizer is None or authorizer.allows_somewhere(
            self.principal, self.client_host, _operation(operation), _resource(resource), self.view
        )

    def operations(self, candidates: tuple[str, ...], resource: str = "CLUSTER", name: str = CLUSTER_NAME) -> int:
        """Return the permitted ones of the candidates, as the bit field of ``…_authorized_operations`` (KIP-430)."""
        bits = 0
        for operation in candidates:
            if self.allowed(operation, resource, name):
                bits |= 1 << _operation(operation)
        return bits

    async def visible(self, within: float | None = None) -> bool:
        """Wait until all live brokers have applied all changes made so far.

        Args:
            within: the maximum seconds to wait; None for no limit.

        Returns:
            Whether they have applied them in time.
        """
        return await self.cluster.visible(self.state.log.end, within)

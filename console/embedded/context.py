"""What a handler knows: the request in hand, its connection, and the cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import count
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from console.model.acl import CLUSTER_NAME
from console.model.codes import AclOperation, AclResourceType

if TYPE_CHECKING:
    from console.embedded.brokers import EmbeddedCluster
    from console.embedded.clock import Clock
    from console.embedded.state import ClusterState, View


# Why a broker ends a connection.


class CloseConnection(Exception):
    """The connection is to end now, without an answer; the text is the line for the log.

    Raises nothing further: it is how Kafka treats requests that it can't read or won't have (Processor.close).
    """


# What a handler knows of the request in hand, beside its payload.

ANONYMOUS = "User:ANONYMOUS"
_operation = cache(AclOperation.parse)
_resource = cache(AclResourceType.parse)


class Authorizer(Protocol):
    """Who may do what (org.apache.kafka.server.authorizer.Authorizer)."""

    def allows(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, name: str, view: View
    ) -> bool:
        """Whether the ACLs of this view let the principal (``User:alice``) do it from this address."""
        ...

    def allows_somewhere(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, view: View
    ) -> bool:
        """Whether there could be a resource of this type that they let it do it to."""
        ...


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One request's surroundings.

    view: what the broker that was asked knows now; answers to reads come from it. state: the controller's truth, and
    the only way to change anything. schema: kio's module with the response of this version and its parts.
    principal: ``User:name``; client_host: the client's address.
    """

    broker_id: int
    principal: str
    client_id: str
    client_host: str
    listener: str
    version: int
    schema: ModuleType
    session: Session
    cluster: EmbeddedCluster

    @property
    def state(self) -> ClusterState:
        """The controller's state."""
        return self.cluster.state

    @property
    def view(self) -> View:
        """What this broker knows."""
        return self.cluster.view_of(self.broker_id)

    @property
    def clock(self) -> Clock:
        """The cluster's time."""
        return self.cluster.clock

    @property
    def unrestricted(self) -> bool:
        """Whether the principal may do everything: there is no authorizer, or it is a super user."""
        cluster = self.cluster
        return cluster.authorizer is None or self.principal in cluster.spec.super_users

    def allowed(self, operation: str, resource: str = "CLUSTER", name: str = CLUSTER_NAME) -> bool:
        """Whether the principal may do it; True without an authorizer. Kafka's names: ``ALTER_CONFIGS``."""
        authorizer = self.cluster.authorizer
        return authorizer is None or authorizer.allows(
            self.principal, self.client_host, _operation(operation), _resource(resource), name, self.view
        )

    def allowed_somewhere(self, operation: str, resource: str) -> bool:
        """Whether there could be a resource of this type that the principal may do it to (KIP-679)."""
        authorizer = self.cluster.authorizer
        return authorizer is None or authorizer.allows_somewhere(
            self.principal, self.client_host, _operation(operation), _resource(resource), self.view
        )

    def operations(self, candidates: tuple[str, ...], resource: str = "CLUSTER", name: str = CLUSTER_NAME) -> int:
        """The candidates that are allowed, as the bit field of ``…_authorized_operations`` (KIP-430)."""
        bits = 0
        for operation in candidates:
            if self.allowed(operation, resource, name):
                bits |= 1 << _operation(operation)
        return bits

    async def visible(self, within: float | None = None) -> bool:
        """Wait until all live brokers know all changes so far; False where `within` seconds are not enough."""
        return await self.cluster.visible(self.state.log.end, within)


# What a broker remembers of one connection.

_numbers = count(1)


@dataclass(slots=True, eq=False)
class Session:
    """One connection to one broker.

    principal: who it is, None until it has authenticated where that is needed. mechanism: what a handshake chose.
    exchange: the SASL exchange under way. raw_tokens: the next frame is a token without a header (SaslHandshake v0).
    ending: why the connection closes once the answer in hand is out, ``""`` while it stays.
    mute: seconds to take no more requests.
    software: name and version that the client gave in ApiVersions.
    """

    broker_id: int
    host: str
    port: int
    principal: str | None = ANONYMOUS
    mechanism: str | None = None
    exchange: Any = None
    raw_tokens: bool = False
    ending: str = ""
    mute: float = 0.0
    software: tuple[str, str] = ("", "")
    number: int = field(default_factory=lambda: next(_numbers))

    @property
    def authenticated(self) -> bool:
        """Whether it may send ordinary requests."""
        return self.principal is not None

    def __str__(self) -> str:
        return f"{self.host}:{self.port} to broker {self.broker_id}"

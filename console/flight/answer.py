"""One answer of a broker as bytes, and the header of a record."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

BOOTSTRAP = -1
"""The node of an answer if no known broker has its address."""
CONNECTED = 0
"""The version of ApiVersions under which a new connection is recorded, with an empty request: the answer has the
broker's API keys and versions, or the problem of the connection."""
HANDSHAKE = 1 << 15
"""Pseudo API key, above all of Kafka's, for a TLS handshake with a listener. The request is the listener's name in
UTF-8; the body is a `Shown`."""
CONNECT = HANDSHAKE + 1
"""Pseudo API key for a read of the context's Connect clusters, without a broker. The request is empty; the body is a
`connect_answer.Recorded`."""
SERVICES = {CONNECT: "Connect"}
"""Pseudo API key of a service next to the brokers -> the name of the service."""


class Shown(NamedTuple):
    """The content of a listener's certificate. In a record it is a JSON array."""

    subject: str
    """The distinguished name of the owner (RFC 4514)."""
    issuer: str
    """The distinguished name of the issuer (RFC 4514)."""
    begins_ms: int
    """The start of the certificate's validity, milliseconds since 1970, UTC."""
    ends_ms: int
    """The end of the certificate's validity, milliseconds since 1970, UTC."""


class Problem(NamedTuple):
    """The reason for a missing answer. The fields after `kind` are those of the error's `Failure`."""

    kind: str
    """The name of the error's class in `console.admin.errors`."""
    name: str
    message: str
    remedy: str


class Asked(NamedTuple):
    """A question and the broker that got it. Answers with equal values succeed one another."""

    node: int
    """The id of the broker; `BOOTSTRAP` if no known broker has the address."""
    host: str
    port: int
    api_key: int
    version: int
    request: bytes
    """The body of the request, without its header."""


class Answer(NamedTuple):
    """An answer, or the problem in its place. The fields from `node` to `request` are as in `Asked`."""

    at_ms: int
    """The time at which the answer arrived (or the client gave up), milliseconds since 1970, UTC; never before the time
    of the previous answer in the same part of a record."""
    took_ms: int
    """The milliseconds from the request to the answer."""
    node: int
    host: str
    port: int
    api_key: int
    version: int
    request: bytes
    body: bytes
    """The body of the response, without its header; empty if there is a problem."""
    problem: Problem | None = None

    @property
    def asked(self) -> Asked:
        """The question of the answer."""
        return Asked(self.node, self.host, self.port, self.api_key, self.version, self.request)


class Header(Struct, frozen=True):
    """The header of a part of a record."""

    cluster_id: str = ""
    context: str = ""
    """The context's display name; not an address."""
    began_ms: int = 0
    """The start of the part, milliseconds since 1970, UTC."""
    kac: str = ""
    """The version of kac that recorded the part."""
    anonymous: bool = False
    left_off: int = 0
    """The number of answers that were dropped for lack of room."""


class RecordError(ValueError):
    """A file is not a flight record, or is unreadable. The text has the reason, for an operator."""

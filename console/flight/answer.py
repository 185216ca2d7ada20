"""One response of a broker as bytes (an *answer*), the request that it belongs to (a *question*), and the header of a
flight record.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

BOOTSTRAP = -1
"""The node id of an answer from an address that belongs to no known broker, such as a bootstrap server."""
CONNECTED = 0
"""The version of ApiVersions under which a new connection is recorded, with an empty request. The answer's body has the
broker's API keys and versions; an answer with a problem means that the connection failed.
"""
HANDSHAKE = 1 << 15
"""A pseudo API key, above all of Kafka's, for a TLS handshake with a listener. The request is the listener's name in
UTF-8; the body is a `Shown` in JSON.
"""
CONNECT = HANDSHAKE + 1
"""A pseudo API key for a read of the context's Connect clusters, which involves no broker. The request is empty; the
body is a `connect_answer.Recorded` in JSON.
"""
SERVICES = {CONNECT: "Connect"}
"""Pseudo API key of an HTTP service next to the brokers -> the name of the service."""


class Shown(NamedTuple):
    """The content of a listener's certificate. In a record it is a JSON array of these fields."""

    subject: str
    """The distinguished name of the certificate's owner (RFC 4514)."""
    issuer: str
    """The distinguished name of the certificate's issuer (RFC 4514)."""
    begins_ms: int
    """The start of the certificate's validity, milliseconds since 1970, UTC."""
    ends_ms: int
    """The end of the certificate's validity, milliseconds since 1970, UTC."""


class Problem(NamedTuple):
    """The error that occurred instead of a response. The fields after `kind` are those of the error's `Failure`."""

    kind: str
    """The name of the error's class in `console.admin.errors`."""
    name: str
    message: str
    remedy: str


class Asked(NamedTuple):
    """A request, and the broker that received it: the question. A record keeps the answers to equal questions as one
    sequence.
    """

    node: int
    """The id of the broker; `BOOTSTRAP` if the address belongs to no known broker."""
    host: str
    port: int
    api_key: int
    version: int
    request: bytes
    """The body of the request, without its header."""


class Answer(NamedTuple):
    """A response, or the error that occurred instead. The fields from `node` to `request` mean the same as in
    `Asked`.
    """

    at_ms: int
    """The time at which the response arrived or the client gave up, milliseconds since 1970, UTC. It never decreases
    within one part (`Header`) of a record.
    """
    took_ms: int
    """The milliseconds from the request to the response or the error."""
    node: int
    host: str
    port: int
    api_key: int
    version: int
    request: bytes
    body: bytes
    """The body of the response, without its header; empty after an error."""
    problem: Problem | None = None

    @property
    def asked(self) -> Asked:
        """The request and the broker of this answer."""
        return Asked(self.node, self.host, self.port, self.api_key, self.version, self.request)


class Header(Struct, frozen=True):
    """The header of one part of a record: the answers of one run of kac. A file has several parts if later runs append
    to it.
    """

    cluster_id: str = ""
    context: str = ""
    """The display name of the context (the named cluster in kac's settings), which is not an address."""
    began_ms: int = 0
    """The start of the part, milliseconds since 1970, UTC."""
    kac: str = ""
    """The version of kac that recorded the part."""
    anonymous: bool = False
    left_off: int = 0
    """The number of answers that were not stored because the memory was full."""


class RecordError(ValueError):
    """A file is not a flight record, or is unreadable. The exception's text says why, for an operator."""

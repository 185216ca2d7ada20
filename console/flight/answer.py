"""One answer of a broker as bytes, and what a record says about itself."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

BOOTSTRAP = -1
"""The node of an address that is not known as a broker's."""
CONNECTED = 0
"""The version of ApiVersions as whose answer a new connection is recorded, with an empty request: the broker's API keys
and versions, or why there is no connection."""
HANDSHAKE = 1 << 15
"""In place of an API's key, above all of Kafka's: a TLS handshake with a listener. Its request is the listener's name,
UTF-8, its body a `Shown`."""


class Shown(NamedTuple):
    """What a listener's certificate says. subject, issuer: distinguished names (RFC 4514); begins_ms, ends_ms: when it
    is valid, milliseconds since 1970, UTC. In a record as a JSON array."""

    subject: str
    issuer: str
    begins_ms: int
    ends_ms: int


class Problem(NamedTuple):
    """Why there is no answer. kind: the class of `console.admin.errors`. The others are its `Failure`'s."""

    kind: str
    name: str
    message: str
    remedy: str


class Asked(NamedTuple):
    """What was asked, and of whom: answers to the same are each other's predecessors.

    node: broker id, `BOOTSTRAP` if the address is no known broker's. request: the body of the request, without header.
    """

    node: int
    host: str
    port: int
    api_key: int
    version: int
    request: bytes


class Answer(NamedTuple):
    """An answer, or that none came.

    at_ms: when it arrived (or was given up), milliseconds since 1970, UTC; never less than that of the answer before it
    in the same part of a record. took_ms: since the request was sent. node, host, port, api_key, version, request: as
    in `Asked`. body: the body of the response, without header; empty with a problem.
    """

    at_ms: int
    took_ms: int
    node: int
    host: str
    port: int
    api_key: int
    version: int
    request: bytes
    body: bytes
    problem: Problem | None = None

    @property
    def asked(self) -> Asked:
        """What it answers."""
        return Asked(self.node, self.host, self.port, self.api_key, self.version, self.request)


class Header(Struct, frozen=True):
    """What a part of a record says about itself."""

    cluster_id: str = ""
    context: str = ""
    """The name shown, not an address."""
    began_ms: int = 0
    """Milliseconds since 1970, UTC."""
    kac: str = ""
    """The version that recorded it."""
    anonymous: bool = False
    left_off: int = 0
    """Answers that are missing, since there was no room for them."""


class RecordError(ValueError):
    """A file is no flight record, or one that can't be read. The text says why, for an operator."""

"""A recorder of a client's traffic: it copies the responses of permitted APIs, and notes missing responses and
connections.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from console.flight import answer
from console.model.failure import Failure

RECORDED = frozenset(
    {
        "api_versions",
        "consumer_group_describe",
        "describe_acls",
        "describe_client_quotas",
        "describe_cluster",
        "describe_configs",
        "describe_groups",
        "describe_log_dirs",
        "describe_producers",
        "describe_quorum",
        "describe_share_group_offsets",
        "describe_topic_partitions",
        "describe_transactions",
        "describe_user_scram_credentials",
        "find_coordinator",
        "list_config_resources",
        "list_groups",
        "list_offsets",
        "list_partition_reassignments",
        "list_transactions",
        "metadata",
        "offset_fetch",
        "share_group_describe",
        "streams_group_describe",
    }
)
"""kio's names of the recorded APIs: reads whose responses have no record data, no password and no token. Brokers omit
the values of sensitive configs from DescribeConfigs responses (Kafka's ConfigHelper), and return only the mechanism
and the iterations of SCRAM credentials.
"""

MOST_OF_SERVICE = 8 << 20
"""Maximum size in bytes of an HTTP service's answer; a larger one is recorded as a problem."""

Address = tuple[str, int]


class Sent(NamedTuple):
    """A request that was sent to a broker."""

    address: Address
    api: str
    """kio's name of the API."""
    version: int
    request: bytes
    """The body of the request, without header."""


class Tap:
    """Converts the responses and errors that one client gets to `Answer` values. Not thread-safe: call it on the
    client's event loop.
    """

    def __init__(self, keep: Callable[[answer.Answer], None]) -> None:
        """Set the function that gets each answer. keep: called at once with each answer; it must not block."""
        self._keep = keep
        self._nodes: Mapping[Address, int] = {}
        # This clock continues when the system's clock is set back, and while the machine is suspended.
        self._zero_ms = time.time_ns() // 1_000_000 - _elapsed_ms()

    def name_nodes(self, brokers: Mapping[int, Address]) -> None:
        """Set broker id -> address, by which later answers get the ids of their brokers."""
        self._nodes = {address: node for node, address in brokers.items()}

    def answered(self, sent: Sent, body: bytes, took: float) -> None:
        """Record a response, unless its API is not in `RECORDED`.

        Args:
            body: the response body.
            took: the seconds since the request.
        """
        self._put(sent, body, took, None)

    def missed(self, sent: Sent, error: Exception, took: float) -> None:
        """Record a request that got no response, unless its API is not in `RECORDED`.

        Args:
            error: an AdminError.
            took: the seconds since the request.
        """
        self._put(sent, b"", took, problem_of(error))

    def connected(self, address: Address, versions: Mapping[int, tuple[int, int]], took: float) -> None:
        """Record a new connection to a broker.

        Args:
            versions: API key -> (lowest, highest version), from the ApiVersions response.
            took: the seconds that connecting took.
        """
        # Write the format of ApiVersions version 0, whatever version the client used, so that readers need only one
        # format.
        body = struct.pack(">hi", 0, len(versions))
        body += b"".join(struct.pack(">hhh", key, *between) for key, between in versions.items())
        self._put(Sent(address, "api_versions", answer.CONNECTED, b""), body, took, None)

    def not_connected(self, address: Address, error: Exception, took: float) -> None:
        """Record a failed or timed-out attempt to connect to a broker.

        Args:
            error: an AdminError.
            took: the seconds that the attempt took.
        """
        self._put(Sent(address, "api_versions", answer.CONNECTED, b""), b"", took, problem_of(error))

    def shook_hands(self, node: int, address: Address, listener: str, shown: answer.Shown | None, took: float) -> None:
        """Record a TLS handshake with a listener of a broker.

        Args:
            node: the broker's id.
            listener: the name of the listener; ``""`` if unknown.
            shown: the content of its certificate; None if the listener is unreachable or has no TLS.
            took: the seconds that the handshake took.
        """
        import msgspec

        body = msgspec.json.encode(shown) if shown is not None else b""
        problem = None if shown is not None else answer.Problem("Unreachable", "NO_CERTIFICATE", "", "")
        name = listener.encode("utf-8", "replace")
        at = self._zero_ms + _elapsed_ms()
        self._keep(answer.Answer(at, round(took * 1000), node, *address, answer.HANDSHAKE, 0, name, body, problem))

    def service_answered(self, key: int, body: bytes, took: float) -> None:
        """Record the answer of an HTTP service next to the brokers; if it has more than `MOST_OF_SERVICE` bytes, record
        a problem instead.

        Args:
            key: the pseudo API key of the service.
            took: the seconds since the request.
        """
        problem = None
        if len(body) > MOST_OF_SERVICE:
            text = f"{answer.SERVICES[key]}'s answer was not recorded: it has {len(body) >> 20} MiB"
            body, problem = b"", answer.Problem("BadAnswer", "TOO_LARGE", text, "")
        at = self._zero_ms + _elapsed_ms()
        self._keep(answer.Answer(at, round(took * 1000), answer.BOOTSTRAP, "", 0, key, 0, b"", body, problem))

    def _put(self, sent: Sent, body: bytes, took: float, problem: answer.Problem | None) -> None:
        from console.wire.schemas import api_key

        # APIs that are not listed were not examined: their responses may contain secrets.
        if sent.api in RECORDED:
            node, at = self._nodes.get(sent.address, answer.BOOTSTRAP), self._zero_ms + _elapsed_ms()
            key = api_key(sent.api)
            self._keep(
                answer.Answer(
                    at, round(took * 1000), node, *sent.address, key, sent.version, sent.request, body, problem
                )
            )


def problem_of(error: Exception) -> answer.Problem:
    """Convert an AdminError to the form of a record."""
    failure = getattr(error, "failure", None) or Failure(type(error).__name__, str(error))
    return answer.Problem(type(error).__name__, failure.name, failure.message, failure.remedy)


def _elapsed_ms() -> int:
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(clock) // 1_000_000

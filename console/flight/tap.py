"""Copies what a client was answered, and where it was not: the answers of an allow-list of APIs, and connections."""

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
"""kio's names of the APIs that are recorded: reads whose answers hold no record's bytes, credential or token. In their
answers to DescribeConfigs brokers leave out what is sensitive (ConfigHelper)."""

Address = tuple[str, int]


class Sent(NamedTuple):
    """A request. api: kio's name. request: its body, without header."""

    address: Address
    api: str
    version: int
    request: bytes


class Tap:
    """Makes an `Answer` of what one client is answered. For the thread of the client's loop."""

    def __init__(self, keep: Callable[[answer.Answer], None]) -> None:
        """Hand each answer to `keep` at once; it must not block."""
        self._keep = keep
        self._nodes: Mapping[Address, int] = {}
        # Time goes on where the clock of the system is set back, and through suspension.
        self._zero_ms = time.time_ns() // 1_000_000 - _elapsed_ms()

    def name_nodes(self, brokers: Mapping[int, Address]) -> None:
        """Set which broker has which address, for the answers that follow."""
        self._nodes = {address: node for node, address in brokers.items()}

    def answered(self, sent: Sent, body: bytes, took: float) -> None:
        """Record an answer. took: seconds since the request."""
        self._put(sent, body, took, None)

    def missed(self, sent: Sent, error: Exception, took: float) -> None:
        """Record that a request was not answered. error: an AdminError. took: seconds since the request."""
        self._put(sent, b"", took, problem_of(error))

    def connected(self, address: Address, versions: Mapping[int, tuple[int, int]], took: float) -> None:
        """Record a new connection. versions: API key -> (lowest, highest), from its exchange of ApiVersions. took:
        seconds."""
        # As ApiVersions has it in version 0, whatever version was spoken: one form for readers.
        body = struct.pack(">hi", 0, len(versions))
        body += b"".join(struct.pack(">hhh", key, *between) for key, between in versions.items())
        self._put(Sent(address, "api_versions", answer.CONNECTED, b""), body, took, None)

    def not_connected(self, address: Address, error: Exception, took: float) -> None:
        """Record that no connection could be opened, or not in time. error: an AdminError. took: seconds."""
        self._put(Sent(address, "api_versions", answer.CONNECTED, b""), b"", took, problem_of(error))

    def shook_hands(self, node: int, address: Address, listener: str, shown: answer.Shown | None, took: float) -> None:
        """Record a TLS handshake with a listener of a node. listener: its name, ``""`` if unknown. shown: what its
        certificate says, None where the listener can't be reached or has no TLS. took: seconds."""
        import msgspec

        body = msgspec.json.encode(shown) if shown is not None else b""
        problem = None if shown is not None else answer.Problem("Unreachable", "NO_CERTIFICATE", "", "")
        name = listener.encode("utf-8", "replace")
        at = self._zero_ms + _elapsed_ms()
        self._keep(answer.Answer(at, round(took * 1000), node, *address, answer.HANDSHAKE, 0, name, body, problem))

    def _put(self, sent: Sent, body: bytes, took: float, problem: answer.Problem | None) -> None:
        from console.wire.schemas import api_key

        # An API that is not listed was not examined: its answers may hold secrets.
        if sent.api in RECORDED:
            node, at = self._nodes.get(sent.address, answer.BOOTSTRAP), self._zero_ms + _elapsed_ms()
            key = api_key(sent.api)
            self._keep(
                answer.Answer(
                    at, round(took * 1000), node, *sent.address, key, sent.version, sent.request, body, problem
                )
            )


def problem_of(error: Exception) -> answer.Problem:
    """Return the problem of an AdminError, as it is recorded."""
    failure = getattr(error, "failure", None) or Failure(type(error).__name__, str(error))
    return answer.Problem(type(error).__name__, failure.name, failure.message, failure.remedy)


def _elapsed_ms() -> int:
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(clock) // 1_000_000

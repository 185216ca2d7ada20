"""Which clients brokers throttle, by their request logs (kafka.request.logger at DEBUG). Pure.

A line is untrusted text: what is no whole request of a client's is left out, and clients are counted up to a limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec
from msgspec import Struct, field

WINDOW = timedelta(seconds=60)
"""Before the newest line of a log: what clients did of late."""
MOST_CLIENTS = 1_000
"""Clients that are told apart in one second of a log, and in all."""
LONGEST_LINE = 1 << 20
LONGEST_NAME = 256
"""Characters that are kept of a client id or a principal."""

_MESSAGE = b"Completed request:"
_TIME = re.compile(rb"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[.,]\d{3}")


class Client(NamedTuple):
    """Whose requests are throttled together: a client id (``""`` for none), its principal, as ``User:alice``, and the
    API as logs name it: PRODUCE, FETCH."""

    client_id: str
    principal: str
    api: str


class Throttled(NamedTuple):
    """Requests of a client in a time: how many, how many of them were throttled, and the longest throttle, in
    milliseconds."""

    requests: int = 0
    throttled: int = 0
    most_ms: int = 0

    def __add__(self, other: object) -> Throttled:
        """Both times together."""
        if not isinstance(other, Throttled):
            return NotImplemented
        return Throttled(
            self.requests + other.requests, self.throttled + other.throttled, max(self.most_ms, other.most_ms)
        )


class Logged(NamedTuple):
    """A request of a client. at: the line's own time, which has no zone, in seconds."""

    at: int
    client: Client
    throttle_ms: int


class _Header(Struct, rename="camel"):
    request_api_key_name: str
    client_id: str | None = None


class _State(Struct, rename="camel"):
    replica_id: int = -1


class _Body(Struct, rename="camel"):
    replica_id: int = -1
    replica_state: _State = field(default_factory=_State)


class _Line(Struct, rename="camel"):
    request_header: _Header
    principal: str
    throttle_time_ms: float
    is_forwarded: bool = False
    request: _Body | None = None


_decoder = msgspec.json.Decoder(_Line)


def logged(line: bytes) -> Logged | None:
    """The request of a line; None for any other line, for copies that brokers forward, and for replicas' requests."""
    if len(line) > LONGEST_LINE:
        return None
    before, found, rest = line.partition(_MESSAGE)
    time = _TIME.search(before[-200:]) if found else None
    if time is None:
        return None
    try:
        at = datetime.fromisoformat(f"{time[1].decode()}T{time[2].decode()}").replace(tzinfo=UTC)
        request = _decoder.decode(rest[: rest.rfind(b"}") + 1])
        throttle_ms = int(request.throttle_time_ms)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return None
    body = request.request or _Body()
    if request.is_forwarded or max(body.replica_id, body.replica_state.replica_id) >= 0:
        return None
    header = request.request_header
    names = (header.client_id or "", request.principal, header.request_api_key_name)
    return Logged(int(at.timestamp()), Client(*(name[:LONGEST_NAME] for name in names)), max(0, throttle_ms))


class LogThrottles(Struct, frozen=True):
    """What one log says of late. seconds: a line's second -> client -> its requests, within `WINDOW` of the newest."""

    seconds: Mapping[int, Mapping[Client, Throttled]] = field(default_factory=dict)

    def after(self, lines: Iterable[bytes]) -> LogThrottles:
        """With more lines of the log."""
        seconds = {second: dict(clients) for second, clients in self.seconds.items()}
        for line in lines:
            found = logged(line)
            if found is None:
                continue
            clients = seconds.setdefault(found.at, {})
            if found.client in clients or len(clients) < MOST_CLIENTS:
                added = Throttled(1, int(found.throttle_ms > 0), found.throttle_ms)
                clients[found.client] = clients.get(found.client, Throttled()) + added
        newest = max(seconds, default=0)
        oldest = newest - WINDOW.total_seconds()
        return LogThrottles({second: clients for second, clients in seconds.items() if second > oldest})


def throttled_clients(logs: Iterable[LogThrottles]) -> Mapping[Client, Throttled]:
    """The clients that were throttled, over logs of several brokers; the most throttled first."""
    found: dict[Client, Throttled] = {}
    for log in logs:
        for clients in log.seconds.values():
            for client, each in clients.items():
                found[client] = found.get(client, Throttled()) + each
    held = [(client, each) for client, each in found.items() if each.throttled]
    held.sort(key=lambda each: (-each[1].throttled, -each[1].most_ms, each[0]))
    return dict(held[:MOST_CLIENTS])

"""Which clients brokers throttle, by the requests in their logs (kafka.request.logger at DEBUG). Pure.

Clients are counted up to a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple

from msgspec import Struct, field

WINDOW = timedelta(seconds=60)
"""Before the newest line of a log: what clients did of late."""
MOST_CLIENTS = 1_000
"""Clients that are told apart in one second of a log, and in all."""
LONGEST_NAME = 256
"""Characters that are kept of a client id or a principal."""


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
        """Return the counts of two times together."""
        if not isinstance(other, Throttled):
            return NotImplemented
        return Throttled(
            self.requests + other.requests, self.throttled + other.throttled, max(self.most_ms, other.most_ms)
        )


class Logged(NamedTuple):
    """A request of a client. at: the line's own time in seconds, as if it were UTC (the log has no zone)."""

    at: int
    client: Client
    throttle_ms: int


class LogThrottles(Struct, frozen=True):
    """What one log says of late. seconds: a line's second -> client -> its requests, within `WINDOW` of the newest."""

    seconds: Mapping[int, Mapping[Client, Throttled]] = field(default_factory=dict)

    def after(self, requests: Iterable[Logged]) -> LogThrottles:
        """Return the counts with more requests of the log; seconds that fall out of `WINDOW` are dropped."""
        seconds = {second: dict(clients) for second, clients in self.seconds.items()}
        for found in requests:
            clients = seconds.setdefault(found.at, {})
            if found.client in clients or len(clients) < MOST_CLIENTS:
                added = Throttled(1, int(found.throttle_ms > 0), found.throttle_ms)
                clients[found.client] = clients.get(found.client, Throttled()) + added
        newest = max(seconds, default=0)
        oldest = newest - WINDOW.total_seconds()
        return LogThrottles({second: clients for second, clients in seconds.items() if second > oldest})


def throttled_clients(logs: Iterable[LogThrottles]) -> Mapping[Client, Throttled]:
    """Return the clients that were throttled, over the logs of several brokers; the most throttled first."""
    found: dict[Client, Throttled] = {}
    for log in logs:
        for clients in log.seconds.values():
            for client, each in clients.items():
                found[client] = found.get(client, Throttled()) + each
    held = [(client, each) for client, each in found.items() if each.throttled]
    held.sort(key=lambda each: (-each[1].throttled, -each[1].most_ms, each[0]))
    return dict(held[:MOST_CLIENTS])

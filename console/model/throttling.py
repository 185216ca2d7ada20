"""The clients that brokers throttle, from the requests in the brokers' request logs (kafka.request.logger at DEBUG).
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple

from msgspec import Struct, field

WINDOW = timedelta(seconds=60)
"""Maximum time from a request in a log to the newest line of the log for the request to be counted."""
MOST_CLIENTS = 1_000
"""Maximum number of clients that are counted in one second of a log, and that are returned in total."""
LONGEST_NAME = 256
"""Maximum length in characters of a client id or a principal that is kept."""


class Client(NamedTuple):
    """A client in a request log: its client id (``""`` if it has none), its principal as ``User:alice``, and the API by
    its name in the log: PRODUCE, FETCH.
    """

    client_id: str
    principal: str
    api: str


class Throttled(NamedTuple):
    """The requests of a client in a period: their number, the number of throttled ones, and the longest throttle time
    in milliseconds.
    """

    requests: int = 0
    throttled: int = 0
    most_ms: int = 0

    def __add__(self, other: object) -> Throttled:
        """Return the counts of both periods together."""
        if not isinstance(other, Throttled):
            return NotImplemented
        return Throttled(
            self.requests + other.requests, self.throttled + other.throttled, max(self.most_ms, other.most_ms)
        )


class Logged(NamedTuple):
    """A request of a client in a broker's request log."""

    at: int
    """The time of the line in seconds since 1970; the log has no time zone, so the time is taken as UTC."""
    client: Client
    throttle_ms: int


class LogThrottles(Struct, frozen=True):
    """The requests in one log within `WINDOW` of its newest line."""

    seconds: Mapping[int, Mapping[Client, Throttled]] = field(default_factory=dict)
    """Second since 1970 -> client -> its requests in that second."""

    def after(self, requests: Iterable[Logged]) -> LogThrottles:
        """Return the counts with more requests of the log added. Seconds older than `WINDOW` are dropped, and clients
        beyond `MOST_CLIENTS` in a second are not counted.
        """
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
    """Return client -> its requests, over the logs of several brokers, for the clients that were throttled: at most
    `MOST_CLIENTS`, the most throttled first.
    """
    found: dict[Client, Throttled] = {}
    for log in logs:
        for clients in log.seconds.values():
            for client, each in clients.items():
                found[client] = found.get(client, Throttled()) + each
    held = [(client, each) for client, each in found.items() if each.throttled]
    held.sort(key=lambda each: (-each[1].throttled, -each[1].most_ms, each[0]))
    return dict(held[:MOST_CLIENTS])

"""How many requests and bytes there were, by API, broker and client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

MAX_CLIENTS = 1000
OTHERS = "…others"


class Key(NamedTuple):
    """What is counted apart. api: kio's name; client: the client id."""

    api: str
    broker: int
    client: str


class Count(NamedTuple):
    """Requests, and bytes with lengths and headers."""

    requests: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


class Counters:
    """Counts since the start or the last `reset`. Clients choose their ids, so the rarest beyond 1,000 are one."""

    def __init__(self) -> None:
        self._counts: dict[Key, Count] = {}
        self._clients: set[str] = set()

    def add(self, api: str, broker: int, client: str, bytes_in: int, bytes_out: int) -> None:
        """Count one request and its answer; bytes_out is 0 where there was none."""
        if client not in self._clients:
            if len(self._clients) < MAX_CLIENTS:
                self._clients.add(client)
            else:
                client = OTHERS
        key = Key(api, broker, client)
        was = self._counts.get(key, Count())
        self._counts[key] = Count(was.requests + 1, was.bytes_in + bytes_in, was.bytes_out + bytes_out)

    def total(self, api: str | None = None, broker: int | None = None, client: str | None = None) -> Count:
        """The sum over everything that matches; None matches all."""
        requests = bytes_in = bytes_out = 0
        for key, count in self._counts.items():
            if api in (None, key.api) and broker in (None, key.broker) and client in (None, key.client):
                requests += count.requests
                bytes_in += count.bytes_in
                bytes_out += count.bytes_out
        return Count(requests, bytes_in, bytes_out)

    def by_api(self, client: str | None = None) -> Counter[str]:
        """Requests by API, of one client or of all."""
        result: Counter[str] = Counter()
        for key, count in self._counts.items():
            if client in (None, key.client):
                result[key.api] += count.requests
        return result

    def __iter__(self) -> Iterator[tuple[Key, Count]]:
        return iter(tuple(self._counts.items()))

    def reset(self) -> None:
        """Start from nothing."""
        self._counts.clear()
        self._clients.clear()

"""The clusters of a contract test: an embedded cluster alone, or an embedded cluster together with a real one, or with
the real one's recorded answers. In the second form both must give the same answers.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import release, release_number, since
from console.model.secret import Secret
from console.wire.schemas import api_key
from tests.contract.answers import differences, plain
from tests.contract.client import Client, NoAnswer
from tests.contract.differences import ON_PURPOSE
from tests.support.kafka_messages import Build

ADMIN, ALICE = "admin", "alice"
MOST_SHOWN = 12
SETTLED = 60.0
"""The most seconds that tests wait until all real brokers describe a change. They usually need milliseconds."""
IDLE = 300.0
"""Seconds without a request after which tests open a new connection, because brokers close idle connections after 600
seconds (connections.max.idle.ms).
"""
_POLL = 0.005
_READS = re.compile("describe_|list_|metadata$|find_coordinator$|api_versions$")


@dataclass
class Server:
    """A cluster as its clients see it. addresses: broker id -> (host, port). users: user -> password."""

    addresses: Mapping[int, tuple[str, int]]
    users: Mapping[str, Secret]
    _clients: dict[tuple[int, str], Client] = field(default_factory=dict)
    _asked_at: dict[tuple[int, str], float] = field(default_factory=dict)

    @property
    def brokers(self) -> tuple[int, ...]:
        """Return the ids of all brokers."""
        return tuple(self.addresses)

    def ask(self, api: str, version: int, build: Build, broker: int, user: str) -> Any:
        """Return a broker's answer to a user as plain values; ``no answer`` if the broker sends none."""
        client = self._clients.get((broker, user))
        before, self._asked_at[broker, user] = self._asked_at.get((broker, user), 0.0), time.monotonic()
        if client is not None and time.monotonic() - before > IDLE:
            client.close()
            client = None
        if client is None:
            client = self._clients[broker, user] = Client(self.addresses[broker], (user, self.users[user]))
        try:
            answer = plain(client.ask(api, version, build))
            if answer.get("controller_id", -1) > 0:
                answer["controller_id"] = "any broker"
            return answer
        except NoAnswer:
            del self._clients[broker, user]
            return "no answer"

    def ask_once(self, api: str, version: int, build: Build, patience: float) -> Any:
        """Return broker 1's answer on a new connection as plain values. Raises NoAnswer if it sends none within
        `patience` seconds.
        """
        client = Client(self.addresses[1], (ADMIN, self.users[ADMIN]))
        try:
            return plain(client.ask(api, version, build, patience))
        finally:
            client.close()

    def exchange(self, frame: bytes) -> bytes:
        """Send bytes to broker 1 on a new connection, without a login. Return its response; empty if the broker closes
        the connection.
        """
        client = Client(self.addresses[1])
        try:
            return client.exchange(frame)
        except OSError:
            return b""
        finally:
            client.close()

    def close(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()


@dataclass
class Target:
    """The clusters of one release that a test compares. real: None if only the embedded cluster is tested."""

    release: str
    embedded: Server
    thread: ThreadedCluster
    real: Server | None = None
    _differing: str | None = None

    @property
    def brokers(self) -> tuple[int, ...]:
        """Return the ids of all brokers."""
        return self.embedded.brokers

    def sides(self) -> list[Target]:
        """Return a target for each cluster alone, so that a test can send requests to one of them, or clean up although
        the two differ.
        """
        return [replace(self, embedded=server, real=None) for server in self.servers]

    @property
    def servers(self) -> list[Server]:
        """Return the clusters that get the requests: the real one, if any, and the embedded one."""
        return [server for server in (self.real, self.embedded) if server is not None]

    def by_release(self, **values: Any) -> Any:
        """Return the value that applies to this release. Each keyword is the first release with its value, as ``v3_9=…,
        v4_0=…``.
        """
        return since({name.removeprefix("v").replace("_", "."): value for name, value in values.items()}, self.release)

    def has(self, api: str, version: int) -> bool:
        """Return whether brokers of this release serve this version of an API."""
        low, high = release(self.release).apis.get(api_key(api), (0, -1))
        return low <= version <= high

    def is_since(self, release: str) -> bool:
        """Return whether this target's release is `release` or newer."""
        return release_number(self.release) >= release_number(release)

    @contextmanager
    def differing(self, name: str) -> Iterator[bool]:
        """Within the block, expect that every answer of the embedded cluster differs from the real one's, for the
        reason that differences.py gives for `name`. Yield whether there is a real cluster, whose answers `ask` then
        returns.
        """
        assert name in ON_PURPOSE
        self._differing = name
        try:
            yield self.real is not None
        finally:
            self._differing = None

    def ask(self, api: str, version: int, build: Build, *, broker: int = 1, user: str = ADMIN) -> Any:
        """Send a request, and return the answer as plain values. If there is a real cluster, send it to both, return
        the real one's answer, and fail unless the embedded one gives the same answer.

        Args:
            broker: the id of the broker that gets the request.
        """
        if self.real is None:
            return self.embedded.ask(api, version, build, broker, user)
        real = self.real.ask(api, version, build, broker, user)
        embedded = self.embedded.ask(api, version, build, broker, user)
        deadline = time.monotonic() + SETTLED
        while real != embedded and self._may_settle(api, user) and time.monotonic() < deadline:
            time.sleep(_POLL)
            real = self.real.ask(api, version, build, broker, user)
        if self._differing:
            assert real != embedded, f"{self._differing}: the answers are the same, so differences.py is out of date"
        else:
            found = "\n  ".join(islice(differences(real, embedded), MOST_SHOWN))
            assert not found, f"Kafka {self.release} and the embedded cluster differ in {api} v{version}:\n  {found}"
        return real

    def _may_settle(self, api: str, user: str) -> bool:
        """Return whether answers that differ may become equal some milliseconds later: those of reads, which show a
        change with a delay, and those to users whose rights changed.
        """
        return not self._differing and (bool(_READS.match(api)) or user != ADMIN)

    def until_told(self, api: str, version: int, build: Build, seen: Callable[[Any], bool]) -> None:
        """Repeat a request to broker 1 of a real cluster until `seen` returns true for its answer. Record none of these
        answers. Without a live real cluster, do nothing.
        """
        if self.real is not None and self.real.addresses:
            real = self.real
            self.until(lambda: seen(Server.ask(real, api, version, build, 1, ADMIN)))

    def until(self, seen: Callable[[], bool]) -> None:
        """Wait until `seen` returns true, as a real cluster shows a change only after some time. Raises AssertionError
        after `SETTLED` seconds.
        """
        deadline = time.monotonic() + SETTLED
        while not seen():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(_POLL)

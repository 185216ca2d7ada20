"""When listeners are asked for their certificates: new ones at once, those that were not reached after a minute."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from console.admin.client import AdminClient
from console.contexts.context import Context
from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec
from console.model.certificates import Listener
from console.model.parts import Part
from console.session.session import Session
from console.session.slow_polls import CERTIFICATES_AGAIN, UNREACHED_AGAIN, SlowPolls
from console.session.snapshot_reader import Clock
from tests.support import worlds
from tests.support.certificates import Authority

T = TypeVar("T")


class Asked:
    """A client that keeps which listeners it was asked for."""

    def __init__(self, client: AdminClient) -> None:
        self._client = client
        self.listeners: list[list[int]] = []

    async def run(self, operation: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> T:
        """Run an operation."""
        if operation.__name__ == "shown_certificates":
            self.listeners.append([each.port for each in args[0]])
        return await self._client.run(operation, *args, **options)


class Hand:
    """A clock that is set by hand."""

    seconds = 0.0

    def clock(self) -> Clock:
        """As a session takes it."""
        return Clock(
            lambda: datetime.now(UTC) + timedelta(seconds=self.seconds), lambda: time.monotonic() + self.seconds
        )


async def test_a_listener_that_was_not_reached_is_asked_again_after_a_minute(tmp_path: Path) -> None:
    """One listener has TLS, one does not yet: the first is asked again after an hour only."""
    authority = Authority(tmp_path)
    secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    secure.load_cert_chain(str(authority.issue("broker", "127.0.0.1", left=timedelta(days=1)).pem))
    hand = Hand()
    with run_in_thread(ClusterSpec(brokers=2)) as cluster:
        settings = worlds.settings(cluster)
        with AdminClient(settings) as client:
            asked = Asked(client)
            context = Context("test", "tests", replace(settings, security_protocol="SSL"))
            session = Session(asked, context, clock=hand.clock())
            await session.read_cluster()
            plain, other = sorted(each.port for each in session.snapshot.cluster.brokers)
            polls = SlowPolls(session)
            read = polls.reads[Part.CERTIFICATES]

            await read()
            await read()
            assert [sorted(each) for each in asked.listeners] == [[plain, other]]
            assert polls.facts.certificates == ()

            hand.seconds += UNREACHED_AGAIN - 5
            await read()
            assert len(asked.listeners) == 1
            hand.seconds += 10
            await read()
            assert len(asked.listeners) == 2

        # The same with one that is reached: it answers with TLS on an address of its own.
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=secure)
        async with server:
            port = server.sockets[0].getsockname()[1]
            with AdminClient(settings) as client:
                asked = Asked(client)
                session = Session(asked, context, clock=hand.clock())
                await session.read_cluster()
                brokers = session.snapshot.cluster.brokers
                cluster_info = replace(
                    session.snapshot.cluster, brokers=(replace(brokers[0], host="127.0.0.1", port=port), brokers[1])
                )
                polls = SlowPolls(_Elsewhere(session, cluster_info))  # type: ignore[arg-type]
                read = polls.reads[Part.CERTIFICATES]
                await read()
                assert [each.listener for each in polls.facts.certificates] == [
                    Listener(brokers[0].id, "127.0.0.1", port)
                ]
                hand.seconds += UNREACHED_AGAIN + 5
                await read()
                assert asked.listeners[1:] == [[brokers[1].port]]
                assert len(polls.facts.certificates) == 1
                hand.seconds += CERTIFICATES_AGAIN
                await read()
                assert sorted(asked.listeners[2]) == sorted([port, brokers[1].port])


class _Elsewhere:
    """A session whose first broker is at another address."""

    def __init__(self, session: Session, cluster: Any) -> None:
        self._session, self._cluster = session, cluster

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    @property
    def snapshot(self) -> Any:
        """With the other address."""
        return replace(self._session.snapshot, cluster=self._cluster)

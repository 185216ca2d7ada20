"""The first reads of a session: the way to the first broker opens while the screen is loaded, and what is read there is
sent once the first frame is drawn.

Loading and decoding what brokers say takes the interpreter as long as the frame does. Between the two, connecting would
make the frame later and the rows no earlier; looking up a name and opening a socket take none of its time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from console.session.session import Session

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.contexts import Context

T = TypeVar("T")


class Prefetch:
    """A client with operations that are submitted together, before anything waits on their results.

    The first `run` of the same operation and arguments gets the prefetched result; every other call goes to the client.
    """

    def __init__(
        self, client: AdminClient, operations: Sequence[tuple[Callable[..., Awaitable[Any]], tuple[Any, ...]]]
    ) -> None:
        self._client = client
        self._operations = operations
        self._ahead: dict[tuple[Any, ...], Future[Any]] = {}

    def begin(self) -> None:
        """Submit the operations."""
        operations, self._operations = self._operations, ()
        self._ahead |= {(operation, *args): self._client.submit(operation, *args) for operation, args in operations}

    async def run(self, operation: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> T:
        """Run an operation of `console.admin`, or return its prefetched result."""
        ahead = self._ahead.pop((operation, *args), None) if self._ahead and not options else None
        return await asyncio.wrap_future(ahead or self._client.submit(operation, *args, **options))

    async def arrived(self, seconds: float) -> bool:
        """Wait for a number of seconds at most. Return whether all results are there, none of them an error."""
        ahead = list(self._ahead.values())
        if not ahead:
            return False
        loop, all_there = asyncio.get_running_loop(), asyncio.Event()

        def one_is_there(_: Future[Any]) -> None:
            if all(each.done() for each in ahead):
                with suppress(RuntimeError):  # the loop was closed while the result was on its way
                    loop.call_soon_threadsafe(all_there.set)

        for each in ahead:
            each.add_done_callback(one_is_there)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await all_there.wait()
        return all(each.done() and not each.cancelled() and each.exception() is None for each in ahead)


class SessionFactory:
    """Creates sessions, and closes the client of the one before. start: returns a running client for a context."""

    def __init__(self, start: Callable[[Context], AdminClient]) -> None:
        self._start = start
        self._client: AdminClient | None = None
        self._ahead: Prefetch | None = None

    def session(self, context: Context) -> Session:
        """Return a session whose brokers and topics are the first reads; `begin` sends them. Of controllers it is these
        and the quorum."""
        from console.admin import cluster, topics

        self.close()
        client = self._client = self._start(context)
        client.open_ahead()
        at_controllers = context.settings.controllers
        second = (cluster.describe_quorum, ()) if at_controllers else (topics.describe_topics, (None,))
        self._ahead = Prefetch(client, [(cluster.describe_cluster, ()), second])
        session = Session(self._ahead, context)
        session.recorder = client.recorder
        return session

    def begin(self) -> None:
        """Read brokers and topics for the session created last."""
        if self._ahead is not None:
            self._ahead.begin()

    async def arrived(self, seconds: float) -> bool:
        """Wait for a number of seconds at most. Return whether brokers and topics of the session created last were
        read.
        """
        return self._ahead is not None and await self._ahead.arrived(seconds)

    def close(self) -> None:
        """Close the client in use."""
        if self._client is not None:
            self._client.close()
            self._client = self._ahead = None

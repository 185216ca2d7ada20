"""The first reads of a session: the first broker is connected while the screen loads, and the first requests are sent
once the first frame is drawn.

Loading the decoders and decoding responses takes as much interpreter time as the frame. Doing that before would delay
the frame and bring the rows no earlier; a name lookup and opening a socket take no interpreter time.
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
    """A client with a few operations that are submitted early and together.

    The first `run` of one of these operations, with the same arguments, returns its prefetched result; every other call
    goes to the client.
    """

    def __init__(
        self, client: AdminClient, operations: Sequence[tuple[Callable[..., Awaitable[Any]], tuple[Any, ...]]]
    ) -> None:
        self._client = client
        self._operations = operations
        self._ahead: dict[tuple[Any, ...], Future[Any]] = {}

    def begin(self) -> None:
        """Submit the operations to the client; no-op at later calls."""
        operations, self._operations = self._operations, ()
        self._ahead |= {(operation, *args): self._client.submit(operation, *args) for operation, args in operations}

    async def run(self, operation: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> T:
        """Run an operation of `console.admin`, or return its prefetched result. Raises the operation's errors."""
        ahead = self._ahead.pop((operation, *args), None) if self._ahead and not options else None
        return await asyncio.wrap_future(ahead or self._client.submit(operation, *args, **options))

    async def arrived(self, seconds: float) -> bool:
        """Wait at most `seconds` seconds. Return whether all prefetched results have arrived without an error."""
        ahead = list(self._ahead.values())
        if not ahead:
            return False
        loop, all_there = asyncio.get_running_loop(), asyncio.Event()

        def one_is_there(_: Future[Any]) -> None:
            if all(each.done() for each in ahead):
                with suppress(RuntimeError):  # the loop may have been closed before the result arrived
                    loop.call_soon_threadsafe(all_there.set)

        for each in ahead:
            each.add_done_callback(one_is_there)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await all_there.wait()
        return all(each.done() and not each.cancelled() and each.exception() is None for each in ahead)


class SessionFactory:
    """Creates sessions, and closes the client of the previous one. start: starts and returns a client for a context."""

    def __init__(self, start: Callable[[Context], AdminClient]) -> None:
        self._start = start
        self._client: AdminClient | None = None
        self._ahead: Prefetch | None = None

    def session(self, context: Context) -> Session:
        """Return a session whose first reads are prefetched once `begin` is called: the cluster with all topics, or,
        for a context of controllers, the cluster with the quorum.
        """
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
        """Send the first reads of the latest session; no-op without a session."""
        if self._ahead is not None:
            self._ahead.begin()

    async def arrived(self, seconds: float) -> bool:
        """Wait at most `seconds` seconds. Return whether the first reads of the latest session have succeeded."""
        return self._ahead is not None and await self._ahead.arrived(seconds)

    def close(self) -> None:
        """Close the client of the latest session; no-op if there is none."""
        if self._client is not None:
            self._client.close()
            self._client = self._ahead = None

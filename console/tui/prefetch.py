"""Sessions whose first reads are sent at once, while the screen is still being built."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from console.session.session import Session

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.contexts import Context


# The first reads, sent while the screen is still being built.

T = TypeVar("T")


class Submitting(Protocol):
    """A client that takes operations from any thread (console.admin.client.AdminClient)."""

    def submit(self, operation: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> Future[T]:
        """Run ``operation(link, …)`` on the client's own loop."""
        ...


class Prefetch:
    """A client whose first answers are on their way before anybody has a loop to wait on.

    Each operation given is submitted at once; the first `run` of the same operation and arguments gets that answer,
    whatever comes later goes to the client.
    """

    def __init__(
        self, client: Submitting, operations: Sequence[tuple[Callable[..., Awaitable[Any]], tuple[Any, ...]]]
    ) -> None:
        self._client = client
        self._ahead: dict[tuple[Any, ...], Future[Any]] = {
            (operation, *args): client.submit(operation, *args) for operation, args in operations
        }

    async def run(self, operation: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> T:
        """Run an operation of `console.admin`, or take the answer that is already on its way."""
        ahead = self._ahead.pop((operation, *args), None) if self._ahead and not options else None
        return await asyncio.wrap_future(ahead or self._client.submit(operation, *args, **options))


# One session after another, each on a client of its own whose first reads are sent at once.


class SessionFactory:
    """Makes sessions; the client of the one before is closed. start: gives a running client for a context."""

    def __init__(self, start: Callable[[Context], AdminClient]) -> None:
        self._start = start
        self._client: AdminClient | None = None

    def session(self, context: Context) -> Session:
        """A session whose brokers and topics are being asked for."""
        from console.admin import cluster, topics

        self.close()
        client = self._client = self._start(context)
        ahead = Prefetch(client, [(cluster.describe_cluster, ()), (topics.describe_topics, (None,))])
        return Session(ahead, context)

    def close(self) -> None:
        """Close the client in use."""
        if self._client is not None:
            self._client.close()
            self._client = None

"""The first reads, sent while the screen is still being built."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Submitting(Protocol):
    """A client that takes operations from any thread (console.admin.client.AdminClient)."""

    def submit(self, operation: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> Future[T]:
        """Run ``operation(link, …)`` on the client's own loop."""
        ...


class HeadStart:
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

"""What a session needs of a client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Client(Protocol):
    """Runs operations of `console.admin`."""

    def run(self, operation: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> Awaitable[T]:
        """Run `operation(link, *args, **options)` on the client's loop. Cancelling cancels a read."""
        ...

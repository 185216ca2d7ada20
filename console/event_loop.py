"""The only way to run a coroutine from code without an event loop, and to wait in a coroutine for code that blocks."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in its own loop, and return its result. Raises the coroutine's exception.

    The task that asyncio runs returns nothing, because before Python 3.12 the end of the loop makes a repr of the
    signal handler, which includes the task's result: for a snapshot of 4,000 topics half a second of CPU time.
    """
    results: list[T] = []

    async def keep_result() -> None:
        results.append(await work)

    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(keep_result())
    return results[0]


class _Loop(asyncio.SelectorEventLoop):
    """Resolves host names in daemon threads. The exit of kac would wait for the threads of asyncio's own pool."""

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        """Resolve a host name, with the same arguments and result as asyncio. Raises OSError."""
        return await apart(lambda: socket.getaddrinfo(host, port, **options), "look up")


async def apart(work: Callable[[], T], name: str) -> T:
    """Return the result of a function that blocks, run in a daemon thread, for which the exit of the interpreter does
    not wait.

    Args:
        work: the function; its exception is raised in the caller.
        name: the name of the thread.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def give(settle: Callable[[], None]) -> None:
        if not done.done():
            settle()

    def run_it() -> None:
        try:
            settle = partial(done.set_result, work())
        except Exception as failed:  # noqa: BLE001 - the waiting coroutine gets it
            settle = partial(done.set_exception, failed)
        with suppress(RuntimeError):  # the loop may be closed
            loop.call_soon_threadsafe(give, settle)

    threading.Thread(target=run_it, name=name, daemon=True).start()
    return await done

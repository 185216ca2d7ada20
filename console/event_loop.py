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
    """Run a coroutine to its end in its own loop, and return its result.

    asyncio restores a signal's handler at the end. Before Python 3.12, `signal` then looks the handler up in an enum,
    fails, and makes the handler's repr for an error that it ignores; the handler holds the main task with its result.
    For a snapshot of 4,000 topics that takes half a second of CPU time, so the task that asyncio runs has no result.
    """
    results: list[T] = []

    async def keep_result() -> None:
        results.append(await work)

    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(keep_result())
    return results[0]


class _Loop(asyncio.SelectorEventLoop):
    """Looks up names in daemon threads: for those of asyncio's pool, the end of the loop and of kac would wait."""

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        """Resolve as asyncio does. Raises OSError."""
        return await apart(lambda: socket.getaddrinfo(host, port, **options), "look up")


async def apart(work: Callable[[], T], name: str) -> T:
    """Return the result of a function that blocks, run in a daemon thread: at exit the interpreter waits for the
    threads of asyncio's pool.

    Args:
        name: the name of the thread.

    Raises:
        Exception: the function's.
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

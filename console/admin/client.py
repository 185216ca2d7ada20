"""The client's own thread. Its event loop sends, waits and decodes, so that this work never blocks a caller's event
loop.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from console.admin.client_loop import ClientLoop
from console.admin.link import Link
from console.admin.settings import ConnectionSettings

if TYPE_CHECKING:
    from console.flight.recorder import Recorder
    from console.flight.tap import Tap

P = ParamSpec("P")
T = TypeVar("T")

CLOSE_SECONDS = 3.0
"""Maximum seconds for which `close` waits until connections have ended cleanly."""

log = logging.getLogger(__name__)


class AdminClient:
    """A client of one cluster, which runs in its own thread and connects at its first operation."""

    def __init__(
        self,
        settings: ConnectionSettings,
        tap: Tap | None = None,
        link: Link | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Create a client without starting its thread. If its `recorder` is set later, `close` closes the recorder,
        too.

        Args:
            tap: the recorder of responses, which is called on the client's thread; None to record nothing.
            link, loop: the link and the event loop to use, for the replay of a record; None to connect to brokers.
        """
        self.settings = settings
        self.recorder: Recorder | None = None
        self._loop = loop or ClientLoop(settings.route)
        self._link = link or Link(settings, tap=tap)
        self._thread = threading.Thread(target=self._serve, name="kac-client", daemon=True)
        self._operations: set[asyncio.Task[Any] | None] = set()
        self._closed = False

    def start(self) -> None:
        """Start the thread. Call it before the first operation."""
        self._thread.start()

    def open_ahead(self) -> None:
        """Begin to open a socket to the first address, which the first connection there will use. The network connects
        while the modules for the connection are still imported.
        """
        if isinstance(self._loop, ClientLoop):
            self._loop.call_soon_threadsafe(self._loop.open_ahead, *self.settings.bootstrap[0])

    def submit(
        self, operation: Callable[Concatenate[Link, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> concurrent.futures.Future[T]:
        """Run ``operation(link, …)`` on the client's loop and return the future of its result. Any thread may call
        this. Cancelling the future cancels the operation.

        Raises RuntimeError after `close`.
        """
        if self._closed:
            raise RuntimeError("the client is closed")

        async def run() -> T:
            task = asyncio.current_task()
            self._operations.add(task)
            try:
                return await operation(self._link, *args, **kwargs)
            finally:
                self._operations.discard(task)

        return asyncio.run_coroutine_threadsafe(run(), self._loop)

    async def run(
        self, operation: Callable[Concatenate[Link, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run ``operation(link, …)`` on the client's loop, and return its result to a caller on another loop. If the
        caller is cancelled, so is the operation.
        """
        return await asyncio.wrap_future(self.submit(operation, *args, **kwargs))

    @property
    def waits_in_vain(self) -> bool:
        """Whether the client is open and no broker has answered it yet."""
        return not self._closed and not self._link.sender.was_answered

    def close(self) -> None:
        """Cancel running operations, close the connections and end the thread. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self.recorder is not None:
            self.recorder.close()
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(CLOSE_SECONDS + 1)
        elif not self._loop.is_running():
            self._loop.close()

    def __enter__(self) -> AdminClient:
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _serve(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        loop.set_exception_handler(_log_unhandled)
        try:
            loop.run_forever()
            loop.run_until_complete(self._end())
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    async def _end(self) -> None:
        # End the operations first, as they would open connections again; then the connections; then the remaining
        # tasks. In this order no task is cancelled twice, which would interrupt its clean-up.
        await _cancelled({task for task in self._operations if task is not None})
        await asyncio.wait({asyncio.ensure_future(self._link.close())}, timeout=CLOSE_SECONDS)
        await _cancelled(asyncio.all_tasks() - {asyncio.current_task()})
        await asyncio.get_running_loop().shutdown_asyncgens()
        await asyncio.sleep(0)  # let transports end in their own callbacks


async def _cancelled(tasks: set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=CLOSE_SECONDS)


def _log_unhandled(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    log.error("in the client's thread: %s", context.get("message"), exc_info=context.get("exception"))

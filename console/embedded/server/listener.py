"""One broker's socket: it listens, is taken down, and comes back at the same port."""

from __future__ import annotations

import asyncio
import logging

from console.embedded.server.connection import serve
from console.embedded.server.dispatch import Dispatcher
from console.embedded.server.session import Session

log = logging.getLogger("console.embedded")


class Listener:
    """A broker's listening socket and the connections that it took: `most` at once, further ones are closed unheard.

    idle_seconds: after which a connection without requests is closed.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        broker_id: int,
        host: str,
        port: int,
        *,
        authenticate: bool,
        most: int,
        idle_seconds: float,
    ) -> None:
        self.host = host
        self.port = port
        self._broker_id = broker_id
        self._dispatcher = dispatcher
        self._authenticate = authenticate
        self._most = most
        self._idle_seconds = idle_seconds
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._open)

    async def start(self) -> None:
        """Listen. Port 0 takes any free one, and keeps it. Raises OSError where the port is taken."""
        self._server = await asyncio.start_server(self._accepted, self.host, self.port, backlog=512)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and cut every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        tasks = list(self._open)
        for task in tasks:
            self._open[task].transport.abort()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = writer.get_extra_info("peername")[:2]
        session = Session(self._broker_id, host, port)
        if len(self._open) >= self._most:
            log.warning("closed the connection of %s: there are %d already", session, self._most)
            writer.transport.abort()
            return
        if self._authenticate:
            session.principal = None
        task = asyncio.get_running_loop().create_task(
            serve(reader, writer, session, self._dispatcher, idle_seconds=self._idle_seconds)
        )
        self._open[task] = writer
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._open.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a connection's task failed", "exception": task.exception(), "task": task}
            )

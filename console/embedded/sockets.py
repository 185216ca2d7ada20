"""A listening socket with its open connections, whose number is limited."""

from __future__ import annotations

import asyncio
import errno
import os
import socket


class Sockets:
    """A listening socket and its open connections.

    Attributes:
        host, port: the address; port 0 until the first start for a free one.
    """

    most: int
    """Maximum number of open connections; further ones are closed without a response."""
    backlog = 100
    longest_line = 1 << 16
    """Maximum number of bytes that a reader buffers while it searches for the end of a line."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def connections(self) -> int:
        """Number of open connections."""
        return len(self._open)

    async def start(self) -> None:
        """Listen. A free port replaces port 0, and later starts use it again.

        Raises:
            OSError: the port is in use.
        """
        try:
            self._server = await asyncio.start_server(
                self._accepted, self.host, self.port, backlog=self.backlog, limit=self.longest_line
            )
        except OSError as error:
            if error.errno is None:
                _need_a_file()
            raise
        if not self._server.sockets:
            _need_a_file()
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and close every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        tasks = list(self._open)
        for task in tasks:
            self._open[task].transport.abort()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= self.most:
            self.refused(writer)
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self.serve(reader, writer))
        self._open[task] = writer
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._open.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a connection's task failed", "exception": task.exception(), "task": task}
            )

    def refused(self, writer: asyncio.StreamWriter) -> None:
        """Note that a connection was refused because of the limit."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection until it ends."""
        raise NotImplementedError


def _need_a_file() -> None:
    """Raise the OSError of a process that has no file descriptors left. asyncio skips a socket that it can't create: it
    listens on no socket, or (since Python 3.13) raises an error without a number."""
    socket.socket().close()

"""A listening socket and its open connections, of which there is a maximum."""

from __future__ import annotations

import asyncio
import errno
import os
import socket


class Sockets:
    """A listening socket and its open connections.

    Attributes:
        host, port: the address. A port of 0 means a free one, which replaces the 0 at the first start.
    """

    most: int
    """Maximum number of open connections; further ones are closed at once."""
    backlog = 100
    longest_line = 1 << 16
    """Maximum number of bytes in which a reader looks for the end of a line."""

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
        """Start to listen. A port of 0 is replaced by a free port, which later starts use again.

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
        """Stop listening, and close all connections."""
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
        """React to a connection that is closed because there are too many; by default do nothing."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection until it ends."""
        raise NotImplementedError


def _need_a_file() -> None:
    """Raise an OSError if the process has no file descriptors left. asyncio does not raise this error itself: it
    ignores a socket that it can't create, so that it listens on none, or (since Python 3.13) raises an error
    without an errno.
    """
    socket.socket().close()

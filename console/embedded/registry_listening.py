"""The embedded schema registry with a listening socket."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from console.embedded.connect.http_server import Asked, HttpServer, Reply
from console.embedded.registry import Registry
from console.embedded.spec import LOOPBACK
from console.model.numbers import json_text


class ListeningRegistry:
    """A registry that listens on a free port of the loopback interface."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._server = HttpServer(self._answer, 0)

    @property
    def url(self) -> str:
        """The URL of the registry."""
        return f"http://{LOOPBACK}:{self._server.port}"

    async def start(self) -> None:
        """Start to listen. Raises OSError if no port is free."""
        await self._server.start()

    async def stop(self) -> None:
        """Close all sockets and connections."""
        await self._server.stop()

    def _answer(self, asked: Asked) -> Reply:
        path = "/".join(quote(part, safe="") for part in asked.parts)
        body = b"" if asked.body is None else json_text(asked.body).encode()
        found = self.registry.answer(asked.method, f"/{path}?{urlencode(asked.query, doseq=True)}", body)
        return Reply(found.status, found.body)

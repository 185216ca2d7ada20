"""A small HTTP/1.1 server for JSON on the loopback interface, with limits on everything that a client may choose."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from console.embedded.connect.state import Refused
from console.embedded.sockets import Sockets
from console.embedded.spec import LOOPBACK
from console.model.foreign_json import json_of
from console.model.numbers import is_natural, json_text

log = logging.getLogger("console.embedded")

MOST_CONNECTIONS = 64
LONGEST_HEAD, LARGEST_BODY = 16 * 1024, 1024 * 1024
"""Maximum sizes in bytes of a request's head and body."""
IDLE_SECONDS = 30.0
_REASONS = {
    **{each.value: each.phrase for each in HTTPStatus},
    413: "Content Too Large",  # the names of RFC 9110, which Python has from 3.13 on
    422: "Unprocessable Content",
}
_LENGTH, _JSON = "content-length", "application/json"


class Asked(NamedTuple):
    """A parsed HTTP request."""

    method: str
    parts: tuple[str, ...]
    """The parts of the path between slashes, percent-decoded."""
    query: Mapping[str, list[str]]
    """Name of a query parameter -> its values."""
    body: Any = None
    """The parsed JSON of the body; None if there is no body."""


class Reply(NamedTuple):
    """An HTTP response."""

    status: int
    body: Any = None
    """The content of the body, which becomes JSON; None for a response without a body."""
    location: str = ""
    """The value of the Location header, that is the path of the created entity; ``""`` for no such header."""


class _Ended(Exception):
    """The connection can't be used any further. The exception's text is the line for the log."""


def plain_error(status: int) -> Refused:
    """Return the refusal of a request that is invalid as HTTP, with the text of real workers."""
    return Refused(status, f"HTTP {status} {_REASONS[status]}")


class HttpServer(Sockets):
    """A listening socket on the loopback interface. port: the port; 0 for a free one, until the server has started."""

    most = MOST_CONNECTIONS
    longest_line = LONGEST_HEAD

    def __init__(self, answer: Callable[[Asked], Reply], port: int) -> None:
        """Create a server without listening.

        Args:
            answer: function that returns the response to a request, or raises Refused.
            port: the port; 0 for a free one.
        """
        super().__init__(LOOPBACK, port)
        self._answer = answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection, one at a time, until it ends."""
        try:
            while True:
                async with asyncio.timeout(IDLE_SECONDS):
                    keeps_open = await self._exchange(reader, writer)
                if not keeps_open:
                    break
        except (_Ended, asyncio.IncompleteReadError, ConnectionError, TimeoutError) as end:
            log.debug("a connection of Connect's ended: %s", end)
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one request and write its response. Return whether the connection stays open. Raises _Ended."""
        method, target, headers = await _head(reader)
        try:
            data = await _body(reader, headers)
        except Refused as refused:
            # Close the connection: the rest of the body is not read, so no request can follow.
            await _write(writer, _refusal(refused), keeps_open=False)
            return False
        try:
            reply = self._answer(_asked(method, target, headers, data))
        except Refused as refused:
            reply = _refusal(refused)
        keeps_open = headers.get("connection", "").lower() != "close"
        await _write(writer, reply, keeps_open=keeps_open)
        return keeps_open


def _refusal(refused: Refused) -> Reply:
    return Reply(refused.status, {"error_code": refused.status, "message": refused.text})


async def _head(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str]]:
    """Read the request line and the headers. Return the method, the path with its query, and header name in lower case
    -> value. Raises _Ended.
    """
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.LimitOverrunError as long:
        raise _Ended("a head that is too long") from long
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise _Ended("no request of HTTP/1.1")
    pairs = (line.partition(":") for line in lines[1:] if line)
    return words[0], words[1], {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    """Read the body of a request, ``b""`` if it has none. Raises Refused if it is too large or chunked, or if its
    length is invalid.
    """
    if "transfer-encoding" in headers:
        raise plain_error(400)
    length = headers.get(_LENGTH, "0")
    if not is_natural(length):
        raise plain_error(400)
    if int(length) > LARGEST_BODY:
        raise plain_error(413)
    return await reader.readexactly(int(length))


def _asked(method: str, target: str, headers: Mapping[str, str], data: bytes) -> Asked:
    """Parse a request's path, query and body. Raises Refused."""
    try:
        split = urlsplit(target)
        parts = tuple(unquote(part, errors="strict") for part in split.path.strip("/").split("/"))
        query = parse_qs(split.query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        raise plain_error(400) from None
    asked = Asked(method, parts if parts != ("",) else (), query)
    if not data:
        return asked
    # Require JSON's content type: a browser sends some other types for any page without a preflight request, so a
    # foreign page could make changes here.
    if headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        raise plain_error(415)
    try:
        # Like real workers, take the last of duplicate members.
        return asked._replace(body=json_of(data, LARGEST_BODY, may_repeat=True))
    except ValueError as odd:
        # Real workers answer in the same way to a body that is not JSON.
        raise Refused(500, f"Unexpected text in the request: {odd}") from None


async def _write(writer: asyncio.StreamWriter, reply: Reply, *, keeps_open: bool) -> None:
    data = b"" if reply.body is None else json_text(reply.body, separators=(",", ":")).encode()
    head = [f"HTTP/1.1 {reply.status} {_REASONS[reply.status]}"]
    if reply.location:
        head.append(f"Location: {reply.location}")
    if data:
        head.append(f"Content-Type: {_JSON}")
    if reply.status != 204:
        head.append(f"Content-Length: {len(data)}")
    if not keeps_open:
        head.append("Connection: close")
    writer.write("\r\n".join((*head, "", "")).encode("latin-1", "replace") + data)
    await writer.drain()

"""HTTP requests to services next to the brokers: a schema registry, and Connect's workers. Each request has its own
connection.

Requests run on the client's event loop, so they use the same SSH host as the brokers' connections. Each response has a
limit of bytes and time. Redirects are not followed, and proxies in the environment are not used, so that credentials go
only to the configured host. The standard library parses responses; httpx and aiohttp open connections of their own,
which would bypass the SSH host.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
import ssl
from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from console.admin import delivery
from console.admin.settings import HttpSettings, TlsSettings
from console.model.failure import Failure
from console.model.foreign_json import json_as
from console.model.numbers import json_text
from console.sensitive import without_secrets

if TYPE_CHECKING:
    from console.admin.oauth import TokenProvider

SECONDS = 5.0
"""Default timeout in seconds of one request, including the time to connect."""
LARGEST_ANSWER = 2 << 20
"""Maximum size in bytes of a response."""
_INTERIM = re.compile(rb"HTTP/1\.[01] 1(?!01)\d\d(?=[ \r]).*?\r\n\r\n", re.DOTALL)
"""Matches an interim response, such as 100 Continue or 103 Early Hints. Status 101 is a final response."""


class RestFailed(Exception):
    """A request got no usable response.

    Args:
        why: the reason, in one line.
        was_sent: whether the request may have reached the service.
    """

    def __init__(self, why: str, *, was_sent: bool = False) -> None:
        super().__init__(why)
        self.was_sent = was_sent


class Answer(NamedTuple):
    """The status and the body of a response."""

    status: int
    body: bytes

    @property
    def said(self) -> str:
        """The message of an error response, without control characters, after ``: ``; ``""`` if it has none."""
        try:
            text = json_as(self.body, _Problem).message
        except ValueError:
            return ""
        return f": {''.join(each for each in text if each.isprintable())[:1000]}" if text else ""

    @property
    def is_ok(self) -> bool:
        """Whether the status says that the service carried out the request."""
        return 200 <= self.status < 300

    def refusal(self, who: str, hints: Mapping[int, str], otherwise: str) -> Failure:
        """Return the failure for an error response.

        Args:
            who: the service, as the subject of a sentence.
            hints: status -> the remedy.
            otherwise: the remedy for any other status.
        """
        text = without_secrets(f"{who} answers {self.status}{self.said}", delivery.DOTS)
        return Failure(f"HTTP_{self.status}", text, hints.get(self.status, otherwise))


class _Problem(Struct, frozen=True):
    """The error response of Confluent's and of Connect's API."""

    message: str = ""


class Service(NamedTuple):
    """The names and the media types of a kind of service."""

    who: str
    """The service as the subject of a sentence, such as ``the registry``."""
    kind: str
    """The kind of server that is expected at the address, for messages."""
    media: str = "application/json"
    """The media types that kac accepts in a response."""


class RestClient:
    """A client of the HTTP service at one address. Call it on the client's event loop."""

    def __init__(self, settings: HttpSettings, service: Service) -> None:
        self.settings = settings
        self.service = service
        self._tls: ssl.SSLContext | None = None
        self._tokens: TokenProvider | None = None

    async def exchange(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        largest: int = LARGEST_ANSWER,
        seconds: float | None = None,
        wants_body: bool = True,
    ) -> Answer:
        """Send a request once and return its response. If the service refuses a token that kac has fetched (401), the
        request changed nothing, so fetch another token and send the request once more.

        Args:
            path: the absolute path with its query, percent-encoded.
            body: the JSON to send; None for a request without a body.
            largest: the maximum size in bytes of the response.
            seconds: the timeout, including the time to connect; None for `SECONDS`.
            wants_body: whether to read the body; if False, read only the status and the headers.

        Raises:
            RestFailed: the service is unreachable or too slow; its response is too large, is not HTTP, or is a
                redirect; or no token can be fetched.
        """
        limit = SECONDS if seconds is None else seconds
        token = await self._token()
        answer = await self._timed(self._request(method, path, body, token), method, largest, limit, wants_body)
        if answer.status == 401 and self._tokens is not None:
            self._tokens.refused(token)
            again = await self._token()
            if again != token:
                token = again
                answer = await self._timed(self._request(method, path, body, token), method, largest, limit, wants_body)
        return answer if answer.status < 400 else self._without_login(answer, token)

    async def _token(self) -> str:
        """Return the token for a request: the configured one, or one that is fetched if necessary; ``""`` if the login
        uses none. Raises RestFailed.
        """
        if self.settings.token is not None:
            return self.settings.token.reveal()
        if self.settings.oauth is None:
            return ""
        from console.admin.errors import AdminError
        from console.admin.oauth import token_provider

        try:
            if self._tokens is None:
                self._tokens = token_provider(self.settings.oauth)
            return await self._tokens.token()
        except AdminError as error:
            raise RestFailed(f"{self.service.who} is not asked: {error.failure.message}") from None

    def _without_login(self, answer: Answer, token: str) -> Answer:
        """Return a response with the credentials of its request removed, since an error message may repeat them."""
        body = answer.body
        password = self.settings.password.reveal() if self.settings.password is not None else ""
        for secret in (token.strip(), password, _basic(self.settings)):
            for form in {secret, json_text(secret)[1:-1], json_text(secret, ensure_ascii=False)[1:-1]} - {""}:
                body = body.replace(form.encode(), delivery.DOTS.encode())
        return answer._replace(body=body)

    async def _timed(self, request: bytes, method: str, largest: int, limit: float, wants_body: bool) -> Answer:
        """Send an encoded request once, and return its response within `limit` seconds. Raises RestFailed."""
        who = self.service.who
        sent = [False]
        try:
            async with asyncio.timeout(limit):
                return await self._exchange(request, method, largest, sent, wants_body)
        except TimeoutError:
            raise RestFailed(f"{who} does not answer within {limit:g} s", was_sent=sent[0]) from None
        except ssl.SSLError as error:
            why = getattr(error, "verify_message", "") or (error.reason or "TLS fails").replace("_", " ").lower()
            raise RestFailed(f"{who} is not reached: {why}", was_sent=sent[0]) from None
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise RestFailed(f"{who} is not reached: {why}{_unused_proxy(self.settings)}", was_sent=sent[0]) from None

    async def _exchange(self, request: bytes, method: str, largest: int, sent: list[bool], wants_body: bool) -> Answer:
        from http.client import HTTPException, HTTPResponse

        settings, who = self.settings, self.service.who
        if settings.tls is not None and self._tls is None:
            self._tls = await asyncio.to_thread(self._tls_context)
        reader, writer = await asyncio.open_connection(settings.host, settings.port, ssl=self._tls)
        try:
            sent[0] = True
            writer.write(request)
            data, received = bytearray(), 0
            while chunk := await reader.read(64 << 10):
                data += chunk
                received += len(chunk)
                if received > largest:
                    raise RestFailed(f"{who} answers more than {largest >> 20} MiB", was_sent=True)
                while interim := _INTERIM.match(data):
                    del data[: interim.end()]
                if not wants_body and b"\r\n\r\n" in data:
                    break
        finally:
            writer.close()
        try:
            response = HTTPResponse(_Received(bytes(data)), method=method)  # type: ignore[arg-type]
            response.begin()
            if 300 <= response.status < 400:
                raise RestFailed(
                    f"{who} answers {response.status}: another address is not gone to; set url", was_sent=True
                )
            return Answer(response.status, response.read() if wants_body else b"")
        except (HTTPException, ValueError):
            raise RestFailed(
                f"{settings} is no {self.service.kind}: it does not answer as HTTP has it", was_sent=True
            ) from None

    def _request(self, method: str, path: str, body: bytes | None, token: str) -> bytes:
        settings = self.settings
        login = ""
        if settings.token is not None or settings.oauth is not None:
            login = f"Authorization: Bearer {self._header_safe(token)}\r\n"
        elif settings.password is not None:
            login = f"Authorization: Basic {_basic(settings)}\r\n"
        host = f"[{settings.host}]" if ":" in settings.host else settings.host.encode("idna").decode()
        more = "".join(f"{name}: {value.reveal()}\r\n" for name, value in settings.headers)
        content = "" if body is None else f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return (
            f"{method} {path} HTTP/1.1\r\nHost: {host}:{settings.port}\r\n{login}{more}"
            f"Accept: {self.service.media}\r\nAccept-Encoding: identity\r\n{content}"
            "User-Agent: kac\r\nConnection: close\r\n\r\n"
        ).encode("ascii") + (body or b"")

    def _header_safe(self, token: str) -> str:
        """Return a token, if it is valid in an HTTP header.

        Raises:
            RestFailed: it has characters that could end the header.
        """
        text = token.strip()
        if not text.isascii() or not text.isprintable() or " " in text:
            raise RestFailed(f"{self.service.who} is not asked: its token has characters that no token has")
        return text

    def _tls_context(self) -> ssl.SSLContext:
        from console.admin.errors import TlsFailed
        from console.admin.tls import client_context

        try:
            return client_context(self.settings.tls or TlsSettings())
        except TlsFailed as error:
            raise RestFailed(f"{self.service.who} is not reached: {error.failure.message}") from None


def _basic(settings: HttpSettings) -> str:
    """Return user and password in the form of Basic authentication; ``""`` without a password."""
    if settings.password is None:
        return ""
    return base64.b64encode(f"{settings.username}:{settings.password.reveal()}".encode()).decode()


class _Received(BytesIO):
    """The received bytes, in the form of the socket that http.client reads."""

    def makefile(self, *_: Any, **__: Any) -> BytesIO:
        """Return this object, which http.client reads like a file."""
        return self


def _unused_proxy(settings: HttpSettings) -> str:
    """Return a note that the environment names a proxy for this service, which kac does not use; ``""`` if it names
    none.
    """
    wanted = "http_proxy" if settings.tls is None else "https_proxy"
    name = next((each for each in (wanted, wanted.upper()) if os.environ.get(each)), None)
    return f" ({name} is not used: kac goes to no proxy but that of via)" if name else ""

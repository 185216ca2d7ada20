"""The embedded schema registry as an HTTP server, which sends wrong responses if a test asks for them."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from console.admin.settings import HttpSettings
from console.embedded.registry import Registry
from console.model.subjects import SchemaReference, SchemaSource
from tests.support.patience import PATIENCE

MEDIA = "application/vnd.schemaregistry.v1+json"


class Asked(NamedTuple):
    """A request: its path, its header Authorization, and its method."""

    path: str
    login: str
    method: str = "GET"


class Bad(NamedTuple):
    """A wrong response. size: bytes of its body, which is filled up with blanks. silent: whether to send no
    response.
    """

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b"{}"
    size: int = 0
    silent: bool = False


class RegistryServer:
    """A running schema registry.

    asked: all requests so far. bad: path -> the response to send instead. accepts: returns whether a login (the value
    of the header Authorization) may do everything. Other logins get 401, with the login repeated in the message.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[Asked] = []
        self.bad: dict[str, Bad] = {}
        self.state = Registry()
        self.released = threading.Event()
        self.accepts: Callable[[str], bool] = lambda login: True

    @property
    def url(self) -> str:
        """The registry's URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> HttpSettings:
        """kac's settings for the registry."""
        return HttpSettings("127.0.0.1", self.port)

    def register(
        self, subject: str, text: str, kind: str = "AVRO", references: Sequence[Mapping[str, Any]] = ()
    ) -> int:
        """Register a schema under a subject, and return its id; an equal schema keeps its id."""
        of = tuple(SchemaReference(each["name"], each["subject"], each["version"]) for each in references)
        return self.state.register(subject, SchemaSource(kind, text, of)).id


@contextmanager
def registry(tls: ssl.SSLContext | None = None) -> Iterator[RegistryServer]:
    """Run a schema registry until the end of the block. tls: a server's TLS context for https; None for http."""
    made: list[RegistryServer] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Send the embedded registry's response, or the one that `bad` has for the path; 401 if the login is not
            accepted.
            """
            (of,) = made
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            of.asked.append(Asked(self.path, self.headers.get("Authorization", ""), self.command))
            bad = of.bad.get(urlsplit(self.path).path)
            if not of.accepts(of.asked[-1].login):
                said = f"{of.asked[-1].login} is not welcome"
                self._send(401, json.dumps({"error_code": 401, "message": said}).encode(), {"Content-Type": MEDIA})
            elif bad is None:
                reply = of.state.answer(self.command, self.path, data)
                self._send(reply.status, json.dumps(reply.body).encode(), {"Content-Type": MEDIA})
            elif bad.silent:
                of.released.wait(PATIENCE)
                self.close_connection = True
            elif bad.size:
                self._send(bad.status, b"", bad.headers, bad.size)
            else:
                self._send(bad.status, bad.body, bad.headers)

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 the base class calls them so

        def _send(self, status: int, body: bytes, headers: Mapping[str, str], more: int = 0) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body) + more))
            self.end_headers()
            try:
                self.wfile.write(body)
                while more > 0:
                    more -= self.wfile.write(b" " * min(more, 1 << 20))
            except OSError:
                # The client has read enough and closed the connection.
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        # Each connection's thread does its handshake, so that a failed one stops no other.
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    made.append(RegistryServer(server.server_address[1]))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield made[0]
    finally:
        made[0].released.set()
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)

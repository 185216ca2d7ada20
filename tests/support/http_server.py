"""HTTP servers on loopback; a test gives the function that computes the answers."""

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Asked(NamedTuple):
    """A request that the server got. headers: name in lower case -> value."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Answer(NamedTuple):
    status: int
    body: bytes | str = b""
    headers: Mapping[str, str] = {}


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Run an HTTP server with a handler until the end of the block. Yield its URL without a slash at the end. tls: None
    for plain HTTP.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def answering(answer: Callable[[Asked], Answer], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Run an HTTP server that answers each request with the result of `answer`. Yield its URL without a slash at the
    end. tls: None for plain HTTP.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, told, more = answer(Asked(self.command, self.path, headers, body))
            data = told.encode() if isinstance(told, str) else told
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_PUT = do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - names of http.server's

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with serving(Handler, tls) as url:
        yield url


@contextmanager
def keeping(*statuses: int) -> Iterator[tuple[str, list[Asked]]]:
    """Run an HTTP server that keeps all requests. Yield its URL and the growing list of requests.

    statuses: HTTP status of the first answer, the second and so on; the last status is repeated.
    """
    kept: list[Asked] = []

    def answer(request: Asked) -> Answer:
        kept.append(request)
        return Answer(statuses[min(len(kept), len(statuses)) - 1])

    with answering(answer) as url:
        yield url, kept

"""A schema registry in this process: strict where Confluent's is, and as bad as a test wants it."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from uuid import UUID, uuid5

from console.admin.settings import HttpSettings
from tests.support.patience import PATIENCE

MEDIA = "application/vnd.schemaregistry.v1+json"


class Asked(NamedTuple):
    """A request: its path, and who it said it is from."""

    path: str
    login: str


class Bad(NamedTuple):
    """What is answered in place of a schema. size: bytes of the body, most of them blanks."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b"{}"
    size: int = 0
    silent: bool = False


class RegistryServer:
    """What the tests see of it. asked: all requests. bad: path -> what is answered there instead."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[Asked] = []
        self.bad: dict[str, Bad] = {}
        self.schemas: list[dict[str, Any]] = []
        self.versions: list[tuple[str, int, int]] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> HttpSettings:
        """How kac reaches it."""
        return HttpSettings("127.0.0.1", self.port)

    def register(
        self, subject: str, text: str, kind: str = "AVRO", references: Sequence[Mapping[str, Any]] = ()
    ) -> int:
        """Return the id of a schema under a subject, the one that it has already if it is the same."""
        schema: dict[str, Any] = {"schema": text}
        # As the API has it: neither is there for what is usual.
        schema |= {"schemaType": kind} if kind != "AVRO" else {}
        schema |= {"references": list(references)} if references else {}
        if schema not in self.schemas:
            self.schemas.append(schema)
        number = self.schemas.index(schema) + 1
        known = [version for name, version, its in self.versions if (name, its) == (subject, number)]
        if not known:
            count = sum(name == subject for name, _, _ in self.versions)
            self.versions.append((subject, count + 1, number))
        return number

    def guid(self, number: int) -> str:
        """Return the GUID of a schema."""
        return str(uuid5(UUID(int=0), str(number)))

    def answer(self, path: str) -> tuple[int, Any]:
        """Return status and body of a GET."""
        if path == "/schemas/types":
            return 200, ["JSON", "PROTOBUF", "AVRO"]
        match [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]:
            case ["schemas", "ids", number] if 0 < int(number) <= len(self.schemas):
                return 200, self.schemas[int(number) - 1]
            case ["schemas", "ids", number, "versions"]:
                return 200, [{"subject": n, "version": v} for n, v, its in self.versions if its == int(number)]
            case ["schemas", "guids", guid]:
                for place, schema in enumerate(self.schemas, start=1):
                    if self.guid(place) == guid:
                        return 200, {**schema, "guid": guid}
            case ["subjects", subject, "versions", version]:
                newest = max((its for name, its, _ in self.versions if name == subject), default=0)
                for name, its, place in self.versions:
                    if (name, its) == (subject, newest if version == "latest" else int(version)):
                        schema = {"subject": name, "version": its, "id": place, **self.schemas[place - 1]}
                        return 200, {**schema, "guid": self.guid(place)}
        return 404, {"error_code": 40403, "message": "Schema not found"}


@contextmanager
def registry(tls: ssl.SSLContext | None = None) -> Iterator[RegistryServer]:
    """Run one, until the end of the block. tls: of a server, for https."""
    made: list[RegistryServer] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Answer as `RegistryServer.answer`, or as badly as a test wants it."""
            (of,) = made
            of.asked.append(Asked(self.path, self.headers.get("Authorization", "")))
            bad = of.bad.get(urlsplit(self.path).path)
            if bad is None:
                status, body = of.answer(self.path)
                self._send(status, json.dumps(body).encode(), {"Content-Type": MEDIA})
            elif bad.silent:
                of.released.wait(PATIENCE)
                self.close_connection = True
            elif bad.size:
                self._send(bad.status, b"", bad.headers, bad.size)
            else:
                self._send(bad.status, bad.body, bad.headers)

        def do_POST(self) -> None:
            """Register a schema under a subject, or find the one that is there."""
            (of,) = made
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            _, _, rest = self.path.partition("/subjects/")
            subject = unquote(rest.partition("/")[0].partition("?")[0])
            kind, references = asked.get("schemaType", "AVRO"), asked.get("references") or ()
            number = of.register(subject, asked["schema"], kind, references)
            version = next(v for n, v, its in of.versions if (n, its) == (subject, number))
            body = {"id": number, "guid": of.guid(number), "subject": subject, "version": version, **asked}
            self._send(200, json.dumps(body).encode(), {"Content-Type": MEDIA})

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
                # Who asked has read enough.
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        # The handshake is each request's own: one that fails stops no other.
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

"""A worker of Kafka Connect in this process, as strict as a real one about what changes need, that keeps all bodies."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from console.admin.settings import ConnectSettings, HttpSettings
from tests.support.http_server import serving

SINK_CLASS, SOURCE_CLASS = "org.example.JdbcSink", "org.example.TableSource"
DEFINED: Mapping[str, list[dict[str, Any]]] = {
    SINK_CLASS: [
        {"name": "connector.class", "type": "STRING", "importance": "HIGH"},
        {"name": "tasks.max", "type": "INT", "default_value": "1", "importance": "HIGH"},
        {"name": "topics", "type": "LIST", "default_value": "", "importance": "HIGH"},
        {"name": "connection.url", "type": "STRING", "importance": "HIGH"},
        {"name": "door", "type": "PASSWORD", "importance": "HIGH", "documentation": "What it logs in with."},
        {"name": "batch.size", "type": "INT", "default_value": "3000", "importance": "LOW"},
    ],
    SOURCE_CLASS: [
        {"name": "connector.class", "type": "STRING", "importance": "HIGH"},
        {"name": "tasks.max", "type": "INT", "default_value": "1", "importance": "HIGH"},
        {"name": "door", "type": "PASSWORD", "importance": "HIGH"},
    ],
}
"""The keys that the plugins define. The name of ``door`` does not show that it is a password."""


class Sent(NamedTuple):
    """A request that may change something. body: its JSON, None without one."""

    method: str
    path: str
    body: Any


class ConnectServer:
    """What tests see of the worker. configs, states, offsets: of its connectors. masked: whether configs are returned
    with stars for the password. sent: all requests that are no GET."""

    def __init__(self, kafka_cluster_id: str, version: str) -> None:
        self.kafka_cluster_id = kafka_cluster_id
        self.version = version
        self.configs: dict[str, dict[str, str]] = {}
        self.states: dict[str, str] = {}
        self.failed: set[str] = set()
        self.offsets: dict[str, list[dict[str, Any]]] = {}
        self.sent: list[Sent] = []
        self.masked = False
        self.refused: set[str] = set()
        """Last words of paths that are refused."""
        self.lock = threading.RLock()

    def changes(self) -> list[Sent]:
        """The requests that change a connector: not the checks of a config."""
        return [each for each in self.sent if not each.path.endswith("/validate")]

    def put(self, name: str, config: Mapping[str, str], state: str = "RUNNING") -> None:
        """Make a connector."""
        self.configs[name] = {**config, "name": name}
        self.states[name] = state
        self.offsets.setdefault(name, [])

    # -- answers -------------------------------------------------------------------------------------------------------

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Return status and body."""
        with self.lock:
            if method != "GET":
                self.sent.append(Sent(method, path, body))
                if path.rpartition("/")[2] in self.refused:
                    return _failed(500, "It is refused.")
            return self._answer(method, [unquote(each) for each in urlsplit(path).path.strip("/").split("/")], body)

    def _answer(self, method: str, words: list[str], body: Any) -> tuple[int, Any]:
        match method, words:
            case "GET", [""]:
                return 200, {"version": self.version, "commit": "c", "kafka_cluster_id": self.kafka_cluster_id}
            case "GET", ["connectors"]:
                return 200, {name: {"info": self._info(name), "status": self._status(name)} for name in self.configs}
            case "GET", ["connector-plugins"]:
                kinds = {SINK_CLASS: "sink", SOURCE_CLASS: "source"}
                return 200, [{"class": name, "type": kind, "version": "1"} for name, kind in kinds.items()]
            case "GET", ["connector-plugins", name, "config"]:
                return (200, DEFINED[name]) if name in DEFINED else _failed(404, f"no plugin {name}")
            case "PUT", ["connector-plugins", name, "config", "validate"]:
                return self._validated(name, body)
            case "POST", ["connectors"]:
                return self._created(body)
            case _, ["connectors", name, *_] if name not in self.configs:
                return _failed(404, f"Connector {name} not found")
            case _, ["connectors", name, *rest]:
                return self._of_one(method, name, rest, body)
        return _failed(404, "HTTP 404 Not Found")

    def _created(self, body: Any) -> tuple[int, Any]:
        name, config = body["name"], body["config"]
        if name in self.configs:
            return _failed(409, f"Connector {name} already exists")
        if config.get("name", name) != name or config.get("connector.class") not in DEFINED:
            return _failed(400, "Connector config is invalid")
        assert all(isinstance(value, str) for value in config.values())
        self.put(name, config, body.get("initial_state", "RUNNING"))
        return 201, {"name": name, "config": self.configs[name], "tasks": [], "type": "sink"}

    def _of_one(self, method: str, name: str, rest: list[str], body: Any) -> tuple[int, Any]:
        match method, rest:
            case "GET", ["status"]:
                return 200, self._status(name)
            case "GET", ["config"]:
                return 200, self._info(name)["config"]
            case "GET", ["topics"]:
                return 200, {name: {"topics": []}}
            case "GET", ["offsets"]:
                return 200, {"offsets": self.offsets[name]}
            case "DELETE", []:
                del self.configs[name], self.states[name]
                return 204, None
            case "PATCH", ["config"] if tuple(map(int, self.version.split(".")[:2])) >= (3, 8):
                found = {**self.configs[name], **body}
                self.configs[name] = {key: value for key, value in found.items() if value is not None}
                return 200, self._info(name)
            case "PUT", ["config"]:
                self.configs[name] = {**body, "name": name}
                return 200, self._info(name)
            case "PUT", [("pause" | "resume" | "stop") as verb]:
                self.states[name] = {"pause": "PAUSED", "resume": "RUNNING", "stop": "STOPPED"}[verb]
                return 204 if verb == "stop" else 202, None
            case "POST", ["restart"] | ["tasks", _, "restart"]:
                self.failed.discard(name)
                return 204, None
            case (("PATCH" | "DELETE"), ["offsets"]):
                return self._moved(method, name, body)
        return _failed(405, "HTTP 405 Method Not Allowed")

    def _moved(self, method: str, name: str, body: Any) -> tuple[int, Any]:
        if self.states[name] != "STOPPED":
            return _failed(400, "Connectors must be in the STOPPED state before their offsets can be modified.")
        if method == "DELETE":
            self.offsets[name] = []
            return 200, {"message": "The offsets for this connector have been reset successfully"}
        found = {json.dumps(each["partition"], sort_keys=True): each for each in self.offsets[name]}
        for each in body["offsets"]:
            found[json.dumps(each["partition"], sort_keys=True)] = each
        self.offsets[name] = [each for each in found.values() if each["offset"] is not None]
        return 200, {"message": "The offsets for this connector have been altered successfully"}

    def _validated(self, name: str, body: Any) -> tuple[int, Any]:
        if name not in DEFINED:
            return _failed(404, f"no plugin {name}")
        wrong = [key for key in body if key == "batch.size" and not str(body[key]).isdecimal()]
        missing = [] if body.get("door") else ["door"]
        configs = [{"value": {"name": key, "errors": [f"Invalid value {body[key]}"]}} for key in wrong]
        configs += [{"value": {"name": key, "errors": ["Missing required configuration"]}} for key in missing]
        return 200, {"name": name, "error_count": len(configs), "configs": configs}

    def _info(self, name: str) -> dict[str, Any]:
        config = self.configs[name]
        shown = {key: "******" if self.masked and key == "door" else value for key, value in config.items()}
        return {"name": name, "config": shown, "type": self._kind(name)}

    def _kind(self, name: str) -> str:
        return "sink" if self.configs[name]["connector.class"] == SINK_CLASS else "source"

    def _status(self, name: str) -> dict[str, Any]:
        state, worker = self.states[name], "w:8083"
        task = {"id": 0, "state": "FAILED" if name in self.failed else state, "worker_id": worker}
        tasks = [] if state == "STOPPED" else [task]
        return {
            "name": name, "connector": {"state": state, "worker_id": worker}, "tasks": tasks, "type": self._kind(name)
        }  # fmt: skip


def _failed(status: int, message: str) -> tuple[int, Any]:
    return status, {"error_code": status, "message": message}


@contextmanager
def connect_server(kafka_cluster_id: str, version: str = "4.3.0") -> Iterator[tuple[ConnectServer, ConnectSettings]]:
    """Run a worker until the end of the block; yields it, and the settings of its cluster ``main``."""
    made = ConnectServer(kafka_cluster_id, version)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, body = made.answer(self.command, self.path, json.loads(data) if data else None)
            told = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _any  # noqa: N815 - names of http.server's

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with serving(Handler) as url:
        at = urlsplit(url)
        yield made, ConnectSettings("main", (HttpSettings(at.hostname or "", at.port or 80),))

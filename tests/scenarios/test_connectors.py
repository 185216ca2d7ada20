"""Tests of changes to Kafka Connect connectors, from the statement to the revert."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from console.admin.client import AdminClient
from console.admin.settings import ConnectSettings, HttpSettings
from console.cli import main as cli
from console.cli.mcp.command import reading_client
from console.cli.mcp.proposing import NotProposed, Proposals
from console.cli.mcp.queries import Queries
from console.contexts.configured import Given
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.connect.definitions import RELEASES_OF_CONNECT
from console.embedded.spec import ClusterSpec, ConnectSpec
from console.session.session import Session
from console.shell.line import Line
from console.shell.shell import Shell
from tests.support import changing, connect_cluster, http_server, real_clusters, staging, worlds

# ----------------------------------------------------------------------------------------------------------------------
# A worker of Kafka Connect in this process: it validates changes as a real one does, and keeps all requests

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
"""The config keys that the connector plugins define. The key ``door`` is a password, although its name does not show
it.
"""


class Sent(NamedTuple):
    """A request to the worker that may change something. body: its decoded JSON; None if the request has no body."""

    method: str
    path: str
    body: Any


class ConnectServer:
    """The state of the fake Connect worker.

    Attributes:
        configs, states, offsets: connector name -> its config, its state (as "RUNNING"), its offsets.
        masked: whether the worker returns asterisks in place of the password.
        sent: all requests except GET, in their order.
    """

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
        """The last words of paths; the worker refuses requests to these paths."""
        self.lock = threading.RLock()

    def changes(self) -> list[Sent]:
        """Return the received requests that change a connector, without GETs and validations of configs."""
        return [each for each in self.sent if not each.path.endswith("/validate")]

    def put(self, name: str, config: Mapping[str, str], state: str = "RUNNING") -> None:
        """Create a connector with this config and state, or replace it."""
        self.configs[name] = {**config, "name": name}
        self.states[name] = state
        self.offsets.setdefault(name, [])

    # -- answers -------------------------------------------------------------------------------------------------------

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Process a request; return the HTTP status and the body of the response."""
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
    """Run a fake Connect worker until the end of the block; yield it, and kac's settings for its Connect cluster,
    ``main``.
    """
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
            """Log nothing."""

    with http_server.serving(Handler) as url:
        at = urlsplit(url)
        yield made, ConnectSettings("main", (HttpSettings(at.hostname or "", at.port or 80),))


# ----------------------------------------------------------------------------------------------------------------------
# Changes to connectors by statements, files and plans. An unchanged secret goes back to the worker as the worker's own
# value or is left out of the request; kac stores no secret

SECRET, OTHER = "corr3ct-horse-b4ttery", "an0ther-one-of-thes3"
"""A secret that the worker has, and one that an operator gives."""
REFERENCE = "${file:/run/secrets/jdbc:door}"
SINK = {
    "connector.class": SINK_CLASS, "tasks.max": "2", "topics": "orders,returns", "door": SECRET, "batch.size": "100",
    "connection.url": f"jdbc:postgresql://db/x?user=kac&password={SECRET}", "store.password": SECRET,
}  # fmt: skip
"""A connector config with three secrets: the plugin defines the first as a password, the second has the form of one,
and the key of the third has the name of one.
"""
SECRET_KEYS = ("door", "connection.url", "store.password")
MASKS = ("******", "•••", "······", "[hidden]", "")

cluster = worlds.cluster(ClusterSpec(brokers=1), scope="module")


class Ran(NamedTuple):
    code: int
    out: str
    complaints: str

    @property
    def said(self) -> str:
        return self.out + self.complaints


class World(NamedTuple):
    """A context of kac with brokers and one Connect cluster, ``main``, in which the connector ``orders`` runs."""

    server: ConnectServer
    settings: ConnectSettings
    home: Path
    cluster: ThreadedCluster
    capsys: pytest.CaptureFixture[str]
    heard: list[str]

    def kac(self, *words: str) -> Ran:
        """Run a command of kac in this context; return what it printed and its exit code."""
        code = cli.run([words[0], "--context", "w", *words[1:]])
        ran = Ran(code, *self.capsys.readouterr())
        self.heard.append(ran.said)
        return ran

    def run(self, script: str) -> Ran:
        return self.kac("run", "-e", script)

    @property
    def context(self) -> Context:
        """Return this context in the form that a session needs."""
        settings = worlds.settings(self.cluster, connect=(self.settings,))
        return Context("w", "tests", settings)

    def written(self) -> str:
        """Return all text that kac wrote into files: the journal, plans, logs, exports."""
        mine = (each for each in self.home.rglob("*") if each.is_file() and each.parent.name != "given")
        return "".join(each.read_bytes().decode(errors="replace") for each in mine)

    def given(self, name: str, text: str) -> str:
        """Write a file with this text, as an operator does, and return its path."""
        folder = self.home / "given"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        return str(folder / name)


@pytest.fixture(params=["4.3.0", "3.7.1"])
def version(request: pytest.FixtureRequest) -> str:
    """Parametrize the tests with two releases of Connect: one that can change single keys by PATCH, and one that
    can't.
    """
    found: str = request.param
    return found


@pytest.fixture
def world(
    version: str, cluster: ThreadedCluster, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[World]:
    cluster_id = cluster.call(lambda each: each.state.cluster_id)
    with connect_server(cluster_id, version) as (server, settings):
        server.put("orders", SINK)
        folder = own_home / ".config" / "kac"
        folder.mkdir(parents=True, exist_ok=True)
        (worker,) = settings.workers
        (folder / "config.toml").write_text(
            f'[contexts.w]\n"bootstrap.servers" = "{cluster.bootstrap}"\n\n[contexts.w.connect.main]\n'
            f'url = ["http://{worker.host}:{worker.port}"]\n'
        )
        made = World(server, settings, own_home, cluster, capsys, [])
        yield made
        # No statement, file or plan may send a mask or show a secret.
        for each in server.sent:
            _no_mask_is_sent(each.body)
        for text in (made.written(), *made.heard):
            assert SECRET not in text
            assert OTHER not in text


def _no_mask_is_sent(body: Any) -> None:
    config = body.get("config", body) if isinstance(body, dict) else {}
    for key in SECRET_KEYS:
        if config.get(key) is not None:
            assert SECRET in config[key] or OTHER in config[key] or config[key] == REFERENCE, body


def _secrets_stay(server: ConnectServer) -> None:
    assert {key: server.configs["orders"].get(key) for key in SECRET_KEYS} == {key: SINK[key] for key in SECRET_KEYS}


# -- configs -----------------------------------------------------------------------------------------------------------


def test_keys_are_set_and_taken_back(world: World) -> None:
    told = world.run(
        "set connector main/orders batch.size=7 tasks.max=3; append connector main/orders topics=more; plan"
    )
    assert "the connector and its task restart for it" in told.out
    assert "it also reads more: from the first record, where group connect-orders has no offsets" in told.out
    done = world.run(
        "set connector main/orders batch.size=7; append connector main/orders topics=more;"
        "unset connector main/orders tasks.max;"
        "set connector main/orders transforms.x.type=Y; apply --yes"
    )
    assert done.code == 0, done
    after = world.server.configs["orders"]
    assert (after["batch.size"], after["topics"], after["transforms.x.type"]) == ("7", "orders,returns,more", "Y")
    assert "tasks.max" not in after
    _secrets_stay(world.server)
    (sent,) = world.server.changes()
    assert sent.method == ("PATCH" if world.server.version == "4.3.0" else "PUT")
    if sent.method == "PATCH":
        assert not set(sent.body) & set(SECRET_KEYS)
    assert world.run("revert 1; apply --yes").code == 0
    assert world.server.configs["orders"] == {**SINK, "name": "orders"}
    assert world.run("subtract connector main/orders topics=returns; apply --yes").code == 0
    assert world.server.configs["orders"]["topics"] == "orders"


def test_what_the_rules_refuse(world: World) -> None:
    for script, why in (
        ("set connector main/none a=b", "there is no connector main/none"),
        ("set connector main/order a=b", "Did you mean orders?"),
        ("set connector other/orders a=b", "the context has no Connect cluster other: it has main"),
        ("set connector main/orders name=b", "a connector keeps its name"),
        ("set connector main/orders batch.size=many", "batch.size"),
        ("append connector main/orders batch.size=3", "needs a list"),
        (f"set connector main/orders door={OTHER[:4]}", "door is sensitive: its value is never written out"),
        ("set connector main/orders connection.url=jdbc:x?password=abcdefgh", "never written out"),
        ("unset connector main/orders nothing", "is not set here"),
        ("create connector main/orders connector.class=X", "exists already"),
        ("create connector main/x a=b", "has no connector.class"),
        ("restart connector main/orders task 9", "has no task 9: it has 0"),
        ("resume connector main/orders", "is to run already"),
        ("delete connector main/none", "there is no connector main/none"),
        ("set connector main/orders a=b; delete connector main/orders", "the plan changes connector main/orders"),
        ("delete connector main/orders; pause connector main/orders", "the plan deletes connector main/orders"),
    ):
        assert why in world.run(script).said, script
    assert world.server.changes() == []


def test_the_worker_checks_before_anything_is_sent(world: World) -> None:
    done = world.run(f"create connector main/x connector.class={SINK_CLASS} topics=orders; apply --yes")
    assert done.code == 1
    assert "door: Missing required configuration" in done.said
    assert world.server.changes() == []


def test_a_change_of_another_client_stops_it(world: World) -> None:
    async def run() -> None:
        with AdminClient(world.context.settings) as client:
            session = Session(client, world.context, "tests")
            assert (await staging.staged(session, "set connector main/orders batch.size=7")).added
            world.server.configs["orders"]["batch.size"] = "8"
            report = await changing.apply_plan(session)
            (conflict,) = report.conflicts
            assert (conflict.was.value, conflict.theirs.value, conflict.mine.value) == ("100", "8", "7")
            session.discard()
            assert (await staging.staged(session, "delete connector main/orders")).added
            world.server.configs["orders"]["batch.size"] = "9"
            report = await changing.apply_plan(session)
            assert report.conflicts or report.risks

    asyncio.run(run())
    assert world.server.changes() == []


# -- creating, deleting and stopping connectors ------------------------------------------------------------------------


def test_a_connectors_life(world: World) -> None:
    secret = world.given("door", OTHER)
    make = f"create connector main/x connector.class={SINK_CLASS} topics=orders door=@{secret} paused"
    told = world.run(f"{make}; plan")
    assert "group connect-x has no offsets: it reads its topics from the beginning" in told.out
    assert "the workers of main rebalance: tasks of its other connector may move" in told.out
    assert world.run(f"{make}; apply --yes").code == 0
    config = {"connector.class": SINK_CLASS, "topics": "orders", "door": OTHER, "name": "x"}
    assert (world.server.configs["x"], world.server.states["x"]) == (config, "PAUSED")
    assert world.run("resume connector main/x; apply --yes").code == 0
    assert world.run("stop connector main/x; apply --yes").code == 0
    assert world.server.states["x"] == "STOPPED"
    assert world.run("revert 3; apply --yes").code == 0
    assert world.server.states["x"] == "RUNNING"
    world.server.failed.add("x")
    assert world.run("restart connector main/x failed; apply --yes").code == 0
    assert world.server.sent[-1].path == "/connectors/x/restart?includeTasks=true&onlyFailed=true"
    assert "a restart leaves nothing to take back" in world.run("revert 5").said
    held = world.run("delete connector main/x; apply --yes")
    assert held.code != 0
    assert "connector-deleted" in held.said
    done = world.run("delete connector main/x; apply --yes --accept connector-deleted=main/x")
    assert done.code == 0, done
    assert "x" not in world.server.configs
    back = world.run("revert 6; plan")
    assert "door is a secret, which is kept nowhere: it comes back stopped and without it" in back.said
    # The worker refuses a config without the secret, so kac sends nothing.
    assert world.run("revert 6; apply --yes").code == 1
    assert "x" not in world.server.configs


def test_a_creation_is_taken_back_unless_the_connector_is_another_since(world: World) -> None:
    make = f"create connector main/x connector.class={SOURCE_CLASS} door={REFERENCE!r}; apply --yes"
    assert world.run(make).code == 0
    world.server.configs["x"]["tasks.max"] = "9"
    accept = "apply --yes --accept connector-deleted=main/x"
    held = world.run(f"revert 1; {accept}")
    assert held.code != 0
    assert "x" in world.server.configs
    del world.server.configs["x"]["tasks.max"]
    assert world.run(f"revert 1; {accept}").code == 0
    assert "x" not in world.server.configs
    # It had no secret, so the revert restores it completely.
    assert world.run("revert 2; apply --yes").code == 0
    assert world.server.configs["x"] == {"connector.class": SOURCE_CLASS, "door": REFERENCE, "name": "x"}


def test_offsets_change_while_it_is_stopped(world: World) -> None:
    partition = {"kafka_topic": "orders", "kafka_partition": 0}
    world.server.offsets["orders"] = [{"partition": partition, "offset": {"kafka_offset": 70}}]
    to = json.dumps([{"partition": partition, "offset": {"kafka_offset": 20}}])
    told = world.run(f"reset connector main/orders offsets to '{to}'; plan")
    assert "up to 50 records are delivered again" in told.said
    held = world.run(f"reset connector main/orders offsets to '{to}'; apply --yes")
    assert held.code != 0
    assert world.server.changes() == []
    accept = "apply --yes --accept connector-offsets-changed"
    assert world.run(f"reset connector main/orders offsets to '{to}'; {accept}").code == 0
    assert [each.path for each in world.server.changes()] == ["/connectors/orders/stop", "/connectors/orders/offsets"]
    assert world.server.offsets["orders"][0]["offset"] == {"kafka_offset": 20}
    assert world.server.states["orders"] == "STOPPED"
    back = world.run(f"revert 1; {accept}")
    assert back.code == 0, back
    assert [each.path for each in world.server.changes()][2:] == [
        "/connectors/orders/offsets",
        "/connectors/orders/resume",
    ]
    assert world.server.offsets["orders"][0]["offset"] == {"kafka_offset": 70}
    assert world.run(f"reset connector main/orders offsets to none; {accept}").code == 0
    assert world.server.offsets["orders"] == []


def test_what_could_not_be_stopped_keeps_its_offsets(world: World) -> None:
    world.server.offsets["orders"] = [{"partition": {"a": 1}, "offset": {"b": 2}}]
    world.server.refused.add("stop")
    done = world.run("reset connector main/orders offsets to none; apply --yes --accept connector-offsets-changed")
    assert done.code == 1
    assert [each.path for each in world.server.changes()] == ["/connectors/orders/stop"]


# -- masks are never sent ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", MASKS)
def test_no_mask_replaces_a_secret(world: World, mask: str) -> None:
    masked = world.given("masked", mask)
    assert world.run(f"set connector main/orders door=@{masked}; apply --yes").code == 1
    config = {**SINK, "door": mask, "store.password": mask, "connection.url": mask, "batch.size": "7"}
    rest = world.given("orders.json", json.dumps({"name": "orders", "config": config}))
    properties = world.given("x.properties", "".join(f"{key}={value}\n" for key, value in config.items()))
    for file in (rest, properties):
        world.run(f"create connector main/x @{file}; apply --yes")
    named = world.given("named.properties", f"name=orders\n{Path(properties).read_text()}")
    for file, size in (rest, "7"), (named, "8"), (world.given("strimzi.yaml", _strimzi(config)), "9"):
        Path(file).write_text(Path(file).read_text().replace('"7"', f'"{size}"').replace("=7", f"={size}"))
        done = world.kac("apply", "-f", file, "--yes")
        assert world.server.configs["orders"]["batch.size"] == size, done
        _secrets_stay(world.server)
    assert "x" not in world.server.configs


def _strimzi(config: dict[str, str]) -> str:
    others = {key: value for key, value in config.items() if key not in ("connector.class", "tasks.max")}
    return json.dumps(
        {
            "apiVersion": "kafka.strimzi.io/v1",
            "kind": "KafkaConnector",
            "metadata": {"name": "orders", "labels": {"strimzi.io/cluster": "main"}},
            "spec": {"class": config["connector.class"], "tasksMax": int(config["tasks.max"]), "config": others},
        }
    )


def test_an_export_is_applied_again_without_a_change_of_secrets(world: World) -> None:
    file = world.home / "export.yaml"
    assert world.kac("export", "--output", str(file)).code == 0
    text = file.read_text()
    assert text.count("{secret: set}") == len(SECRET_KEYS)
    assert world.kac("diff", "-f", str(file), "--exit-code").code == 0
    given = world.given("wanted.yaml", text.replace('batch.size: "100"', 'batch.size: "101"'))
    assert world.kac("apply", "-f", given, "--yes").code == 0
    assert world.server.configs["orders"]["batch.size"] == "101"
    _secrets_stay(world.server)


def test_a_plan_file_and_a_proposal_hold_no_secret(world: World) -> None:
    secret = world.given("door", OTHER)
    plan = world.home / "made.plan"
    wanted = world.given("wanted.yaml", _wanted({**SINK, "batch.size": "55", "door": "{secret: set}"}))
    # The file contains two secrets in plain text, so kac writes no plan.
    refused = world.kac("plan", "-f", wanted, "--out", str(plan))
    assert not plan.exists()
    assert "secret" in refused.said
    hidden = {key: "{secret: set}" if key in SECRET_KEYS else value for key, value in SINK.items()}
    wanted = world.given("wanted.yaml", _wanted({**hidden, "batch.size": "55"}, state="paused"))
    assert world.kac("plan", "-f", wanted, "--out", str(plan)).code in (0, 3)
    assert world.kac("apply", "-f", str(plan), "--yes").code == 0
    assert (world.server.configs["orders"]["batch.size"], world.server.states["orders"]) == ("55", "PAUSED")
    _secrets_stay(world.server)

    async def propose(text: str) -> dict[str, Any]:
        with closing(reading_client(world.context)) as client:
            proposals = Proposals(Queries(client, world.context), world.home / "proposals", ("--context", "w"))
            return dict((await proposals.propose(text)).data)

    (world.home / "proposals").mkdir()
    made = asyncio.run(propose("set connector main/orders batch.size=56; resume connector main/orders"))
    world.heard.append(json.dumps(made, default=str))
    assert world.kac("apply", "-f", str(made["file"]), "--yes").code == 0
    assert (world.server.configs["orders"]["batch.size"], world.server.states["orders"]) == ("56", "RUNNING")
    for text in (f"set connector main/orders door=@{secret}", f"create connector main/y @{wanted}"):
        with pytest.raises(NotProposed):
            asyncio.run(propose(text))
    _secrets_stay(world.server)


def _wanted(config: dict[str, str], name: str = "main/orders", state: str = "running") -> str:
    lines = (f"      {key}: {value if value.startswith('{') else json.dumps(value)}" for key, value in config.items())
    return "\n".join(["version: 1", "connectors:", f"  {name}:", f"    state: {state}", "    config:", *lines, ""])


def shell_of(context: Context, client: AdminClient, keys: PipeInput) -> Shell:
    """Return a kac shell that reads its keys from `keys`."""
    return Shell(
        context,
        lambda chosen: Session(client, chosen, "shell"),
        Given([context]),
        lambda completer, toolbar: Line(completer, toolbar, input=keys, output=DummyOutput()),
    )


async def test_the_shell_asks_for_a_secret_and_keeps_none(world: World) -> None:
    context = world.context
    with AdminClient(context.settings) as client, create_pipe_input() as keys:
        shell = shell_of(context, client, keys)
        for line in ("set connector main/orders batch.size=9 door=?", OTHER, "apply --yes", "q"):
            keys.send_text(f"{line}\r")
        await shell.run()
    world.heard.append("".join(world.capsys.readouterr()))
    assert world.server.configs["orders"]["door"] == OTHER
    assert world.server.configs["orders"]["batch.size"] == "9"


async def test_a_revert_of_a_secret_asks_for_the_former_one(world: World) -> None:
    context = world.context
    with AdminClient(context.settings) as client, create_pipe_input() as keys:
        shell = shell_of(context, client, keys)
        change = ("set connector main/orders door=?", OTHER, "apply --yes")
        for line in (*change, "revert 1", "", "revert 1", SECRET, "apply --yes", "q"):
            keys.send_text(f"{line}\r")
        await shell.run()
    said = "".join(world.capsys.readouterr())
    world.heard.append(said)
    assert "the former value is sensitive and nowhere kept" in said
    assert world.server.configs["orders"] == {**SINK, "name": "orders"}


async def test_a_revert_asks_for_what_no_one_keeps(world: World) -> None:
    context = world.context
    with AdminClient(context.settings) as client, create_pipe_input() as keys:
        shell = shell_of(context, client, keys)
        world.server.put("x", {"connector.class": SOURCE_CLASS, "door": SECRET, "store.password": SECRET})
        delete = ("delete connector main/x", "apply --yes --accept connector-deleted=main/x")
        for line in (*delete, "revert 1", OTHER, "", "apply --yes", "q"):
            keys.send_text(f"{line}\r")
        await shell.run()
    world.heard.append("".join(world.capsys.readouterr()))
    assert world.server.configs["x"] == {"connector.class": SOURCE_CLASS, "door": OTHER, "name": "x"}
    assert world.server.states["x"] == "STOPPED"


def test_a_worker_that_masks_is_sent_no_mask(world: World) -> None:
    world.server.masked = True
    done = world.run("set connector main/orders batch.size=7; apply --yes")
    _secrets_stay(world.server)
    if world.server.version == "4.3.0":
        assert done.code == 0
    else:
        assert "the worker returns door masked" in done.said
        assert world.server.changes() == []


# -- loggers -----------------------------------------------------------------------------------------------------------

LOGGERS = """
set logger connect main org.apache.kafka.connect=WARN
apply --yes
set logger connect main org.apache.kafka.connect.runtime.WorkerSinkTask=DEBUG
apply --yes
revert 2
apply --yes
show logger connect main
"""
CLASS_LOGGER, PACKAGE_LOGGER = "org.apache.kafka.connect.runtime.WorkerSinkTask", "org.apache.kafka.connect"


def _context_with(home: Path, bootstrap: str, *urls: str) -> None:
    folder = home / ".config" / "kac"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(
        f'[contexts.w]\n"bootstrap.servers" = "{bootstrap}"\n\n[contexts.w.connect.main]\nurl = {json.dumps(urls)}\n'
    )


def _levels(url: str) -> dict[str, str]:
    return {name: each["level"] for name, each in connect_cluster.ask(url, "GET", "/admin/loggers").body.items()}


def _walked_loggers(bootstrap: str, urls: tuple[str, ...], home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Set log levels on all workers. A revert gives a logger the level of its parent logger again. If a parent
    logger is set later, kac warns that this also sets the loggers below it.
    """
    _context_with(home, bootstrap, *urls)
    code, told = cli.run(["run", "--context", "w", "-e", LOGGERS]), capsys.readouterr()
    assert code == 0, told
    assert any("set     WARN (logger connect)  DEBUG" in line for line in told.out.splitlines()), told.out
    for url in urls:
        levels = _levels(url)
        assert (levels[PACKAGE_LOGGER], levels[CLASS_LOGGER]) == ("WARN", "WARN")
    script = f"set logger connect main {PACKAGE_LOGGER}=INFO; plan; apply --yes"
    code, told = cli.run(["run", "--context", "w", "-e", script]), capsys.readouterr()
    assert code == 0, told
    lost = f"it also sets the loggers below it, and a revert does not give these back: {PACKAGE_LOGGER}."
    assert lost in told.out, f"{told.out}\n{told.err}"
    assert {_levels(url)[CLASS_LOGGER] for url in urls} == {"INFO"}


@pytest.mark.parametrize("release", ["4.3", "3.7", "each worker by itself"])
def test_loggers_on_embedded_workers(
    release: str, own_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if release not in RELEASES_OF_CONNECT:  # as with workers before Kafka 3.7, which are not embedded
        monkeypatch.setattr("console.admin.connect.CLUSTER_LOGGERS_SINCE", (99, 0))
        release = "3.7"
    with run_in_thread(ClusterSpec(brokers=1, connect=ConnectSpec(workers=2, release=release))) as running:
        _walked_loggers(running.bootstrap, tuple(running.connect_urls), own_home, capsys)


def test_loggers_that_can_not_be_set(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(ClusterSpec(brokers=1, connect=ConnectSpec(workers=2))) as running:
        first, second = running.connect_urls
        _context_with(own_home, running.bootstrap, first, second)
        for script, why in (
            ("set logger connect other a.b=DEBUG", "the context has no Connect cluster other: it has main"),
            ("set logger connect main a.b=LOUD", "unknown log level 'LOUD'"),
            ("unset logger connect main root", "Connect takes no logger's level away"),
            ("append logger connect main root=DEBUG", "needs a list, not a log level"),
        ):
            cli.run(["run", "--context", "w", "-e", script])
            told = capsys.readouterr()
            assert why in told.out + told.err, (script, told)
        # Another client sets the logger at one worker only: kac reports the different levels, and takes neither for the
        # former level of both.
        connect_cluster.ask(first, "PUT", "/admin/loggers/a.b", {"level": "TRACE"})
        script = "set logger connect main a.b=DEBUG; apply --yes; revert 1"
        assert cli.run(["run", "--context", "w", "-e", script]) == 1
        told = capsys.readouterr()
        reason = (told.out + told.err).partition("the workers had different levels: ")[2]
        at_first, at_second = (url.rpartition("/")[2] for url in (first, second))
        assert f"TRACE at {at_first}" in reason
        assert f"inherited at {at_second}" in reason
        assert {_levels(url)["a.b"] for url in (first, second)} == {"DEBUG"}


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.takes(60)
@pytest.mark.parametrize(
    "version", [pytest.param(each, marks=pytest.mark.long) for each in ("4.3.0", "3.9.1", "3.6.2")]
)
def test_loggers_on_real_workers(version: str, own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as brokers:
        with real_clusters.or_skip():
            made = connect_cluster.ConnectCluster(version, brokers.bootstrap, workers=2)
        with made as workers:
            _walked_loggers(workers.bootstrap, tuple(workers.urls), own_home, capsys)


# -- on embedded and on real workers -----------------------------------------------------------------------------------

WALK = """
create connector main/lines connector.class=org.apache.kafka.connect.file.FileStreamSinkConnector topics=t {more} paused
apply --yes
set connector main/lines tasks.max=2 batch.note=a,b
apply --yes
revert 2
apply --yes
resume connector main/lines
apply --yes
restart connector main/lines tasks
apply --yes
reset connector main/lines offsets to '{offsets}'
apply --yes --accept connector-offsets-changed
revert 6
apply --yes --accept connector-offsets-changed
delete connector main/lines
apply --yes --accept connector-deleted=main/lines
revert 8
apply --yes
"""


def _walked(bootstrap: str, url: str, home: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Change a connector in all supported ways, and restore it. Raises AssertionError if a step has another effect."""
    _context_with(home, bootstrap, url)
    offsets = json.dumps([{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 0}}])
    script = WALK.format(more=f"file={file}", offsets=offsets)
    topic = "create topic t partitions=1 replication=1; apply --yes"
    cli.run(["run", "--context", "w", "--no-journal", "-e", topic])  # the topic may exist
    code, told = cli.run(["run", "--context", "w", "-e", script]), capsys.readouterr()
    assert code == 0, told
    info = connect_cluster.ask(url, "GET", "/connectors/lines").body["config"]
    assert info == {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": "t",
        "file": str(file),
        "name": "lines",
    }


@pytest.mark.parametrize("release", ["4.3", "3.7"])
def test_the_walk_on_embedded_workers(
    release: str, own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_in_thread(ClusterSpec(brokers=1, connect=ConnectSpec(workers=1, release=release))) as running:
        (url,) = running.connect_urls
        _walked(running.bootstrap, url, own_home, tmp_path / "out", capsys)


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.takes(40)
@pytest.mark.parametrize("version", ["4.3.0", pytest.param("3.9.1", marks=pytest.mark.long)])
def test_the_walk_on_real_workers(version: str, own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as brokers:
        with real_clusters.or_skip():
            made = connect_cluster.ConnectCluster(version, brokers.bootstrap)
        with made as workers:
            _walked(workers.bootstrap, workers.urls[0], own_home, workers.folder / "out", capsys)

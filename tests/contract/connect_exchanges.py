"""Sequences of requests to a Connect worker for the contract tests. Each sequence (script) is independent of the
others.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.support.connect_cluster import Reply

TOPIC = "connect-contract"
"""A topic with one partition and without records."""
_FILES = "org.apache.kafka.connect.file.FileStream"
_TRANSFORMS = "org.apache.kafka.connect.transforms."


class Exchange(NamedTuple):
    """A request to a Connect worker.

    Args:
        until: returns whether a reply is the final one, so that the request is not repeated; None if the first reply is
            the final one.
        own_words: whether the message of the refusal comes from the worker's JSON parser, so that it is not compared.
    """

    method: str
    path: str
    body: Any = None
    until: Callable[[Reply], bool] | None = None
    own_words: bool = False


def source(name: str, /, **config: Any) -> dict[str, Any]:
    """Return the body of a request that creates a file source connector whose file does not exist."""
    own = {"connector.class": "FileStreamSource", "topic": TOPIC, "file": f"/tmp/none/{name}", **config}
    return {"name": name, "config": own}


def sink(name: str, /, **config: Any) -> dict[str, Any]:
    """Return the body of a request that creates a file sink connector with two tasks."""
    own = {"connector.class": "FileStreamSink", "topics": TOPIC, "tasks.max": "2", "file": f"/tmp/{name}", **config}
    return {"name": name, "config": own}


def created(body: Any, state: str = "RUNNING", tasks: int = 1) -> tuple[Exchange, ...]:
    """Return the exchanges that create a connector, and then read its status until the connector and all its tasks
    are in `state`. tasks: the number of its tasks.
    """
    return Exchange("POST", "/connectors", body), status(body["name"], state, *([state] * tasks))


def status(name: str, *states: str) -> Exchange:
    """Return the exchange that repeats reading a connector's status until the connector and its tasks have these
    states: first the connector's, then one for each task.
    """
    return Exchange("GET", f"/connectors/{name}/status", until=lambda reply: _states(reply.body) == list(states))


def shown(name: str, tasks: int) -> Exchange:
    """Return the exchange that repeats reading the connector until it has this number of tasks."""
    return Exchange("GET", f"/connectors/{name}", until=lambda reply: len(reply.body.get("tasks", ())) == tasks)


def gone(name: str) -> tuple[Exchange, ...]:
    """Return the exchanges that delete a connector, and repeat reading it until it does not exist."""
    path = f"/connectors/{name}"
    return Exchange("DELETE", path), Exchange("GET", path, until=lambda reply: reply.status == 404)


def _states(body: Any) -> list[str]:
    if "connector" not in body:
        return []
    return [body["connector"]["state"], *(each["state"] for each in body["tasks"])]


def validate(kind: str, /, **config: Any) -> Exchange:
    """Return the exchange that lets the plugin `kind` validate a config."""
    plugin = f"FileStream{kind}"
    return Exchange("PUT", f"/connector-plugins/{plugin}/config/validate", {"connector.class": plugin, **config})


def _offset(partition: Any, offset: Any) -> dict[str, Any]:
    return {"offsets": [{"partition": partition, "offset": offset}]}


def _position(offset: Any, key: str = "filename") -> dict[str, Any]:
    return _offset({key: "/tmp/none/positions"}, offset)


def _kafka(partition: Any, offset: Any, topic: str = TOPIC) -> dict[str, Any]:
    return _offset({"kafka_topic": topic, "kafka_partition": partition}, {"kafka_offset": offset})


def _failing(name: str) -> tuple[Exchange, ...]:
    """Return the exchanges that create a sink connector whose folder does not exist, and read its status until both
    tasks have failed.
    """
    body = sink(name, file="/no/such/folder/out")
    return Exchange("POST", "/connectors", body), status(name, "RUNNING", "FAILED", "FAILED")


_UNKNOWN = "/connectors/unknown"
_POSITIONS, _READS = "/connectors/positions", "/connectors/reads"

SCRIPTS: Mapping[str, tuple[Exchange, ...]] = {
    "the worker": (
        Exchange("GET", "/"),
        Exchange("GET", "/health"),
        Exchange("GET", "/nothing"),
        Exchange("POST", "/"),
        Exchange("DELETE", "/connectors"),
        Exchange("POST", "/connectors/a/status"),
    ),
    "unknown names": (
        *(Exchange("GET", f"{_UNKNOWN}{part}") for part in ("", "/config", "/status", "/tasks", "/topics", "/offsets")),
        *(Exchange("PUT", f"{_UNKNOWN}/{verb}") for verb in ("pause", "resume", "stop", "topics/reset")),
        Exchange("POST", f"{_UNKNOWN}/restart"),
        Exchange("POST", f"{_UNKNOWN}/restart?includeTasks=true"),
        Exchange("POST", f"{_UNKNOWN}/tasks/0/restart"),
        Exchange("GET", f"{_UNKNOWN}/tasks/0/status"),
        Exchange("PATCH", f"{_UNKNOWN}/config", {"a": "b"}),
        Exchange("PATCH", f"{_UNKNOWN}/offsets", _position({"position": 1})),
        Exchange("DELETE", f"{_UNKNOWN}/offsets"),
        Exchange("DELETE", _UNKNOWN),
    ),
    "bad bodies": (
        *(Exchange("POST", "/connectors", body, own_words=True) for body in (b"{bad", b"[]", b'"text"', b"{} x")),
        Exchange("POST", "/connectors", {"name": "x"}),
        Exchange("POST", "/connectors", {"config": {}}),
        Exchange("POST", "/connectors", {"name": "x", "config": {}}),
        Exchange("POST", "/connectors", {"name": "x", "config": {}, "odd": 1}, own_words=True),
        Exchange("POST", "/connectors", {**source("x"), "initial_state": "ODD"}, own_words=True),
        Exchange("POST", "/connectors", source("x", name="y")),
        Exchange("POST", "/connectors", {"name": "x", "config": {"connector.class": "no.Such"}}),
        Exchange("POST", "/connectors", {"name": "x", "config": {"connector.class": "FileStreamSource"}}),
        Exchange("POST", "/connectors", sink("x", **{"tasks.max": "0", "topics": ""})),
        Exchange("PUT", "/connectors/x/config", b"{bad", own_words=True),
        Exchange("PUT", "/connectors/x/config", {"a": {"b": 1}}, own_words=True),
        Exchange("PUT", "/connectors/x/config", {"name": "y"}),
        Exchange("PATCH", "/connectors/x/offsets", {}),
        Exchange("PATCH", "/connectors/x/offsets", {"offsets": []}),
        Exchange("PATCH", "/connectors/x/offsets", {"odd": 1}, own_words=True),
        Exchange("PATCH", "/connectors/x/offsets", {"offsets": [1]}, own_words=True),
    ),
    "a source": (
        *created(source("copies")),
        Exchange("POST", "/connectors", source("copies")),
        Exchange("GET", "/connectors"),
        Exchange("GET", "/connectors?expand=status&expand=info&expand=odd"),
        Exchange("GET", "/connectors?expand=odd"),
        shown("copies", 1),
        *(Exchange("GET", f"/connectors/copies/{part}") for part in ("config", "tasks", "topics", "offsets")),
        Exchange("GET", "/connectors/copies/tasks/0/status"),
        Exchange("GET", "/connectors/copies/tasks/7/status"),
        Exchange("PUT", "/connectors/copies/pause"),
        status("copies", "PAUSED", "PAUSED"),
        Exchange("POST", "/connectors/copies/restart"),
        Exchange("POST", "/connectors/copies/restart?includeTasks=true&onlyFailed=true"),
        Exchange("POST", "/connectors/copies/restart?onlyFailed=true"),
        Exchange("PUT", "/connectors/copies/resume"),
        status("copies", "RUNNING", "RUNNING"),
        Exchange("POST", "/connectors/copies/restart?includeTasks=true"),
        status("copies", "RUNNING", "RUNNING"),
        Exchange("POST", "/connectors/copies/tasks/0/restart"),
        Exchange("POST", "/connectors/copies/tasks/7/restart"),
        Exchange("POST", "/connectors/copies/tasks/odd/restart"),
        Exchange("PUT", "/connectors/copies/topics/reset"),
        *gone("copies"),
    ),
    "configs": (
        Exchange("PUT", "/connectors/changes/config", source("changes")["config"]),
        status("changes", "RUNNING", "RUNNING"),
        Exchange("PUT", "/connectors/changes/config", {**source("changes")["config"], "batch.size": "5"}),
        Exchange("GET", "/connectors/changes/config"),
        Exchange("PUT", "/connectors/changes/config", {**source("changes")["config"], "topic": ""}),
        Exchange("PUT", "/connectors/changes/config", source("changes", name="other")["config"]),
        Exchange("PATCH", "/connectors/changes/config", {"batch.size": None, "errors.tolerance": "all"}),
        Exchange("GET", "/connectors/changes/config"),
        Exchange("PATCH", "/connectors/changes/config", {"batch.size": 7, "errors.log.enable": True}),
        Exchange("GET", "/connectors/changes/config"),
        Exchange("PATCH", "/connectors/changes/config", {"topic": None}),
        Exchange("PATCH", "/connectors/changes/config", {"batch.size": "x"}),
        Exchange("PATCH", "/connectors/changes/config", {}),
        Exchange("PATCH", "/connectors/changes/config", {"batch.size": {"a": 1}}, own_words=True),
        Exchange("GET", "/connectors/changes/config"),
        *gone("changes"),
    ),
    "the offsets of a source": (
        *created(source("positions")),
        Exchange("GET", f"{_POSITIONS}/offsets"),
        Exchange("PATCH", f"{_POSITIONS}/offsets", _position({"position": 2})),
        Exchange("DELETE", f"{_POSITIONS}/offsets"),
        Exchange("PUT", f"{_POSITIONS}/stop"),
        status("positions", "STOPPED"),
        Exchange("PUT", f"{_POSITIONS}/stop"),
        shown("positions", 0),
        Exchange("GET", f"{_POSITIONS}/tasks"),
        Exchange("PATCH", f"{_POSITIONS}/offsets", _position({"position": 2})),
        Exchange("GET", f"{_POSITIONS}/offsets"),
        Exchange("PATCH", f"{_POSITIONS}/offsets", _position({"position": -2})),
        Exchange("PATCH", f"{_POSITIONS}/offsets", _position({"position": "z"})),
        Exchange("PATCH", f"{_POSITIONS}/offsets", _position({"odd": 2})),
        Exchange("PATCH", f"{_POSITIONS}/offsets", _position({"position": 2}, key="odd")),
        Exchange("GET", f"{_POSITIONS}/offsets"),
        Exchange("DELETE", f"{_POSITIONS}/offsets"),
        Exchange("GET", f"{_POSITIONS}/offsets"),
        Exchange("DELETE", f"{_POSITIONS}/offsets"),
        Exchange("POST", f"{_POSITIONS}/restart?includeTasks=true"),
        Exchange("PUT", f"{_POSITIONS}/pause"),
        status("positions", "PAUSED"),
        Exchange("PATCH", f"{_POSITIONS}/offsets", _position(None)),
        Exchange("PUT", f"{_POSITIONS}/resume"),
        status("positions", "RUNNING", "RUNNING"),
        *gone("positions"),
    ),
    "the offsets of a sink": (
        *created({**sink("reads"), "initial_state": "STOPPED"}, "STOPPED", 0),
        Exchange("GET", f"{_READS}/offsets"),
        Exchange("PATCH", f"{_READS}/offsets", _kafka(0, 0)),
        Exchange("GET", f"{_READS}/offsets"),
        Exchange("PATCH", f"{_READS}/offsets", _kafka("0", "0")),
        Exchange("PATCH", f"{_READS}/offsets", _kafka("z", 0)),
        Exchange("PATCH", f"{_READS}/offsets", _kafka(0, "z")),
        Exchange("PATCH", f"{_READS}/offsets", _kafka(None, 0)),
        Exchange("PATCH", f"{_READS}/offsets", _kafka(0, 0, topic="connect-contract-none")),
        Exchange("PATCH", f"{_READS}/offsets", _offset({"kafka_topic": TOPIC}, {"kafka_offset": 1})),
        Exchange("PATCH", f"{_READS}/offsets", _offset({"kafka_topic": TOPIC, "kafka_partition": 0}, {"odd": 1})),
        Exchange("PATCH", f"{_READS}/offsets", _offset(None, {"kafka_offset": 1})),
        Exchange("PATCH", f"{_READS}/offsets", _offset({"kafka_topic": TOPIC, "kafka_partition": 0}, None)),
        Exchange("GET", f"{_READS}/offsets"),
        Exchange("PATCH", f"{_READS}/offsets", _kafka(0, 0)),
        Exchange("DELETE", f"{_READS}/offsets"),
        Exchange("GET", f"{_READS}/offsets"),
        *gone("reads"),
    ),
    "states to begin with": (
        *created({**source("begins-paused"), "initial_state": "PAUSED"}, "PAUSED", 0),
        shown("begins-paused", 0),
        Exchange("PUT", "/connectors/begins-paused/resume"),
        status("begins-paused", "RUNNING", "RUNNING"),
        *gone("begins-paused"),
        *created({**source("begins-running"), "initial_state": "running"}),
        *gone("begins-running"),
    ),
    "a sink that fails": (
        *_failing("fails"),
        Exchange("GET", "/connectors/fails/tasks"),
        Exchange("PUT", "/connectors/fails/pause"),
        status("fails", "PAUSED", "FAILED", "FAILED"),
        Exchange("PUT", "/connectors/fails/stop"),
        status("fails", "STOPPED"),
        *gone("fails"),
    ),
    "a failed sink starts again": (
        *_failing("starts-again"),
        Exchange("POST", "/connectors/starts-again/restart?includeTasks=true&onlyFailed=true"),
        status("starts-again", "RUNNING", "FAILED", "FAILED"),
        *gone("starts-again"),
    ),
    "plugins": (
        Exchange("GET", "/connector-plugins"),
        Exchange("GET", "/connector-plugins?connectorsOnly=false"),
        *(
            Exchange("GET", f"/connector-plugins/{name}/config")
            for name in (
                f"{_FILES}SourceConnector",
                "FileStreamSink",
                f"{_TRANSFORMS}MaskField$Value",
                "JsonConverter",
                "org.apache.kafka.connect.storage.SimpleHeaderConverter",
                "no.Such",
            )
        ),
    ),
    "validation": (
        validate("Source"),
        validate("Sink"),
        validate("Source", name="n", topic="t", **{"batch.size": "1"}),
        validate("Sink", name="n", topics="t", **{"topics.regex": "t.*"}),
        validate("Sink", name="n", topics="a,,b", **{"errors.deadletterqueue.topic.name": "a", "tasks.max": " 2 "}),
        validate("Sink", name="", **{"topics.regex": "t.*", "errors.log.enable": "maybe", "tasks.max": "z"}),
        validate("Sink", name="cluster", topics="t"),
        validate(
            "Source",
            **{"name": "a\tb", "topic": "", "key.converter": "no.Such", "value.converter": "java.lang.String"},
            **{"tasks.max": "0", "errors.tolerance": "odd", "errors.retry.timeout": "z", "transforms": "a,a"},
            **{"predicates": "p", "transaction.boundary.interval.ms": "-1", "transaction.boundary": "connector"},
            **{"exactly.once.support": "required", "config.action.reload": "x", "offsets.storage.topic": " "},
            **{"odd.key": "1", "topic.creation.groups": "a,a"},
        ),
        validate("Source", name="n", topic=None, odd=None, **{"batch.size": None, "errors.tolerance": None}),
        validate(
            "Source",
            **{"name": "n", "topic": "t", "transforms": "m,x", "transforms.m.type": f"{_TRANSFORMS}MaskField$Value"},
            **{"transforms.x.type": "no.Such", "transforms.m.fields": "a", "transforms.m.negate": "true"},
        ),
        validate(
            "Sink",
            **{"name": "n", "topics": "t", "key.converter": "org.apache.kafka.connect.json.JsonConverter"},
            **{"key.converter.schemas.enable": "odd"},
        ),
        Exchange("PUT", "/connector-plugins/FileStreamSink/config/validate", {}),
        Exchange("PUT", "/connector-plugins/FileStreamSink/config/validate", {"connector.class": "FileStreamSource"}),
        Exchange("PUT", "/connector-plugins/Nothing/config/validate", {"connector.class": "Nothing"}),
        Exchange("PUT", "/connector-plugins/FileStreamSink/config/validate", b"[]", own_words=True),
    ),
    "loggers": (
        Exchange("GET", "/admin/loggers/no.such"),
        Exchange("PUT", "/admin/loggers/contract.a", {"level": "trace"}),
        Exchange("GET", "/admin/loggers/contract.a"),
        Exchange("PUT", "/admin/loggers/contract.a", {"level": "trace"}),
        Exchange("PUT", "/admin/loggers/contract.a", {"level": "odd"}),
        Exchange("PUT", "/admin/loggers/contract.a", {}),
        Exchange("PUT", "/admin/loggers/contract?scope=cluster", {"level": "WARN"}),
        Exchange("GET", "/admin/loggers/contract.a", until=lambda reply: reply.body.get("level") == "WARN"),
    ),
}
"""Name of a script -> its exchanges."""

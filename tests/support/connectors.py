"""Connect clusters, connectors and configs as values of kac's model, for tests without workers."""

from collections.abc import Iterable, Mapping

from hypothesis import strategies as st
from msgspec.structs import replace

from console.admin.connect import Definition, config_set
from console.model.config import ConfigResource, ConfigSet
from console.model.connect import (
    FAILED,
    PAUSED,
    RUNNING,
    SINK,
    STOPPED,
    UNASSIGNED,
    ConnectCluster,
    Connector,
    Plugin,
    Task,
    Worker,
    connector_resource,
)
from console.model.failure import Failure
from console.model.snapshot import Snapshot

W1, W2 = "http://w1:8083", "http://w2:8083"
TRACE = """org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask due to unrecoverable exception.
\tat org.apache.kafka.connect.runtime.WorkerSinkTask.deliverMessages(WorkerSinkTask.java:633)
Caused by: {reason}
\tat com.example.Writer.write(Writer.java:{line})
\t... 11 more
"""
"""A format string of a stack trace as Connect workers report it; ``{reason}`` is the exception, ``{line}`` a line
number.
"""
DENIED = "The connection attempt to db-7 failed"
REASON = f"java.sql.SQLException: {DENIED}"
_DEFINED = {"database.password": Definition("database.password", "PASSWORD")}


def trace(reason: str = REASON, line: int = 12) -> str:
    return TRACE.format(reason=reason, line=line)


def worker(address: str = W1, *, gone: bool = False, version: str = "4.3.0") -> Worker:
    failure = Failure("UNREACHABLE", "the Connect worker is not reached: Connection refused", "See that it runs.")
    return Worker(address, failure=failure) if gone else Worker(address, version, "abc", "c")


def task(number: int, state: str = RUNNING, on: str = "w1:8083", reason: str = REASON, line: int = 12) -> Task:
    return Task(number, state, on, trace(reason, line) if state == FAILED else "")


def connector(
    name: str = "orders-sink",
    tasks: Iterable[Task] = (),
    state: str = RUNNING,
    kind: str = SINK,
    on: str = "w1:8083",
    topics: Iterable[str] = ("orders",),
    reason: str = REASON,
) -> Connector:
    own = trace(reason) if state == FAILED else ""
    return Connector(name, kind, state, on, own, tuple(tasks) or (task(0), task(1, on="w2:8083")), tuple(topics))


def cluster(
    *connectors: Connector,
    name: str = "main",
    workers: Iterable[Worker] = (),
    plugins: Iterable[Plugin] = (),
) -> ConnectCluster:
    made = tuple(workers) or (worker(), worker(W2))
    return ConnectCluster(name, made, {each.name: each for each in connectors or (connector(),)}, tuple(plugins))


CONFIG: Mapping[str, str] = {
    "connector.class": "com.example.Sink",
    "topics": "orders",
    "tasks.max": "2",
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.name": "dlq",
}


def config(**changed: str) -> ConfigSet:
    """Return `CONFIG`, the config of a sink connector, with changed values. changed: underscores in a key stand for
    dots; ``""`` removes a key.
    """
    own = {**CONFIG, **{key.replace("_", "."): value for key, value in changed.items()}}
    return config_set({key: value for key, value in own.items() if value}, _DEFINED)


def with_connect(
    snapshot: Snapshot, *clusters: ConnectCluster, configs: Mapping[str, ConfigSet] | None = None
) -> Snapshot:
    """Return the snapshot with these Connect clusters instead of its own, and with the configs of their connectors.

    configs: ``cluster/connector`` -> its config; None, or a connector that is missing here, means `config()`.
    """
    known: dict[ConfigResource, ConfigSet] = {
        connector_resource(each.name, one): config() for each in clusters for one in each.connectors
    }
    known |= {connector_resource(*name.split("/")): each for name, each in (configs or {}).items()}
    return replace(snapshot, connect={each.name: each for each in clusters}, configs={**snapshot.configs, **known})


_STATES = st.sampled_from((RUNNING, FAILED, PAUSED, STOPPED, UNASSIGNED, "RESTARTING", ""))


@st.composite
def connect_clusters(draw: st.DrawFn) -> ConnectCluster:
    found = []
    for number in range(draw(st.integers(0, 4))):
        tasks = [
            task(n, state, on, reason)
            for n, (state, on, reason) in enumerate(
                draw(
                    st.lists(
                        st.tuples(
                            _STATES,
                            st.sampled_from(("w1:8083", "w2:8083", "")),
                            st.sampled_from((REASON, "x", "")),
                        ),
                        max_size=3,
                    )
                )
            )
        ]
        found.append(connector(f"c{number}", tasks, draw(_STATES), draw(st.sampled_from(("sink", "source")))))
    workers = [worker(each, gone=draw(st.booleans())) for each in (W1, W2)]
    return ConnectCluster("main", tuple(workers), {each.name: each for each in found})

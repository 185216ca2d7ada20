"""An embedded cluster with Connect: a paused source, a running sink, and a failed sink."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from console.admin.settings import ConnectSettings, HttpSettings
from console.embedded import brokers, partition_log, record_batch, spec
from console.embedded.scenarios.seed import add_topic, batch_of
from tests.support.connect_cluster import ask, until
from tests.support.free_ports import free_ports

SPEC = spec.ClusterSpec(brokers=1, connect=spec.ConnectSpec(workers=2, missing={1: ("/no/such",), 2: ("/no/such",)}))
SECRET = "sesame-open-4711"
FAILED = "NoSuchFileException: /no/such/folder/out"
CONNECTORS: Sequence[dict[str, Any]] = (
    {
        "name": "copies",
        "config": {"connector.class": "FileStreamSource", "topic": "lines", "file": "/tmp/none/copies"},
    },
    {
        "name": "archive",
        "config": {
            "connector.class": "FileStreamSink",
            "topics": "lines",
            "tasks.max": "2",
            "file": "/tmp/archive",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": "lines-dead",
            "db.password": SECRET,
        },
    },
    {
        "name": "broken",
        "config": {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "topics.regex": "li.*s",
            "tasks.max": "2",
            "file": "/no/such/folder/out",
        },
    },
)


def with_connectors(cluster: brokers.ThreadedCluster) -> None:
    """Create topics and connectors on an embedded cluster, and wait until they run, are paused or have failed as
    intended. Raises AssertionError if a worker refuses a connector, or a state does not come in time.
    """
    cluster.call(_add_topics)
    cluster.call(_write_lines)
    url = cluster.connect_urls[0]
    for body in CONNECTORS:
        assert ask(url, "POST", "/connectors", body).status == 201, body
    until(lambda: _states(url, "copies") == ["RUNNING"] * 2, "the task of the source")
    assert ask(url, "PUT", "/connectors/copies/pause").status == 202
    until(lambda: _states(url, "copies") == ["PAUSED"] * 2, "the pause")
    until(lambda: _states(url, "broken") == ["RUNNING", "FAILED", "FAILED"], "the failure of the sink")
    until(lambda: _states(url, "archive") == ["RUNNING"] * 3, "the tasks of the sink")


def _write_lines(cluster: brokers.EmbeddedCluster) -> None:
    log = cluster.state.logs.setdefault(("lines", 0), partition_log.PartitionLog())
    log.append(record_batch.read_batch(batch_of([b"one", b"two"], int(cluster.clock.time() * 1000), b"k"), 0), 0)


def _add_topics(cluster: brokers.EmbeddedCluster) -> None:
    for name in ("lines", "lines-dead", "orders"):
        add_topic(cluster.state, name, 1, 1)


def _states(url: str, name: str) -> list[str]:
    body = ask(url, "GET", f"/connectors/{name}/status").body
    return [body["connector"]["state"], *(each["state"] for each in body["tasks"])]


def connect_settings(cluster: brokers.ThreadedCluster, *others: str) -> tuple[ConnectSettings, ...]:
    """Return the settings of the embedded cluster's Connect cluster `main`, then of one that does not answer for each
    name in `others`.
    """
    ports = [int(url.rpartition(":")[2]) for url in cluster.connect_urls]
    workers = tuple(HttpSettings("127.0.0.1", port) for port in ports)
    gone = (ConnectSettings(name, (HttpSettings("127.0.0.1", free_ports(1)[0]),)) for name in others)
    return (ConnectSettings("main", workers), *gone)


def write_contexts(cluster: brokers.ThreadedCluster, file: Path, *others: str) -> None:
    """Write a configuration file with the contexts `dev`, which has Connect clusters, and `plain`, which has no
    Connect. others: as for `connect_settings`.
    """
    lines = ["[contexts.plain]", f'"bootstrap.servers" = "{cluster.bootstrap}"']
    lines += ["[contexts.dev]", f'"bootstrap.servers" = "{cluster.bootstrap}"']
    for each in connect_settings(cluster, *others):
        urls = ", ".join(f'"{worker}"' for worker in each.workers)
        lines += [f"[contexts.dev.connect.{each.name}]", f"url = [{urls}]"]
    file.write_text("\n".join(lines))

"""Real workers of Kafka Connect on loopback, from the jars of a release of Kafka.

``python -m tests.support.connect_cluster --version 4.3.0 --workers 2`` runs them with a broker until Ctrl-C.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from tests.support import compiled_java, kafka_jars, patience, reaper
from tests.support.free_ports import LOOPBACK, free_ports
from tests.support.kafka_cluster import ClusterStartError, KafkaCluster, run_in_foreground

LOGGING: Mapping[int, tuple[str, ...]] = {
    3: ("org.slf4j:slf4j-reload4j:1.7.36", "ch.qos.reload4j:reload4j:1.2.25"),
    4: ("org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",),
}
"""Major version of Kafka -> the Maven coordinates of the logging library of its programs."""
THROW_AWAY = Path(__file__).with_name("ThrowAwaySource.java")
"""Source code of a connector for tests: it has a password config, refuses one config value, and stops slowly."""
TOPICS = ("connect-configs", "connect-offsets", "connect-status")
_JARS = ("connect-runtime", "connect-json", "connect-transforms")
_WITHOUT_FILES = {"4.4.0"}
"""Kafka versions that were published without the artifact connect-file: their workers load the file connectors of 4.3,
by `_BRIDGE`.
"""
_BRIDGE = Path(__file__).with_name("AppInfoParser.java")
_CLOSE_CONFIGS = {"offset.flush.interval.ms": "500", "scheduled.rebalance.max.delay.ms": "1000"}
"""Configs that let workers flush and rebalance within a second instead of minutes."""
_POLL_SECONDS = 0.1
_MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"
_STRINGS = "org.apache.kafka.connect.storage.StringConverter"


class Reply(NamedTuple):
    """A worker's reply. body: the parsed JSON; the text if it is not JSON; None if the body is empty."""

    status: int
    body: Any


def connect_jars(version: str) -> Path:
    """Return the folder with the jars of Connect and of its connectors for files.

    Raises BrokersUnavailableError if they are not cached and can't be fetched.
    """
    # The first jar decides on the versions of shared dependencies.
    wanted = [f"org.apache.kafka:{each}:{version}" for each in _JARS]
    wanted.append(f"org.apache.kafka:connect-file:{kafka_jars.KAFKA_4_3 if version in _WITHOUT_FILES else version}")
    return kafka_jars.fetched(f"{version}-connect", (*wanted, *LOGGING[kafka_jars.major(version)]))


def class_path(version: str) -> str:
    """Return a worker's Java class path. Raises as `connect_jars` and `compiled`."""
    jars = connect_jars(version)
    return f"{jars}/*:{compiled_java.compiled(_BRIDGE, version, jars)}" if version in _WITHOUT_FILES else f"{jars}/*"


def throw_away_connector(version: str) -> Path:
    """Return the folder with the classes of `THROW_AWAY`. Raises as `compiled`."""
    return compiled_java.compiled(THROW_AWAY, version, connect_jars(version))


def started(path: str, folder: Path, main: str, properties: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a program of Connect. It writes its output into the file ``out`` of a folder.

    path: Java's class path. main: the main class. properties: content of its properties file.
    """
    file = folder / "own.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    options = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path)
    with (folder / "out").open("wb") as out:
        return subprocess.Popen(
            [kafka_jars.java(), *options, main, str(file)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def worker_properties(bootstrap: str, port: int, group: str) -> dict[str, str]:
    """Return the configs of a worker. group: the group.id that the workers of a Connect cluster share."""
    kept = ("config", "offset", "status")
    properties = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "listeners": f"http://{LOOPBACK}:{port}",
        "key.converter": _STRINGS,
        "value.converter": _STRINGS,
        "plugin.discovery": "only_scan",
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        **_CLOSE_CONFIGS,
    }
    properties |= {f"{each}.storage.replication.factor": "1" for each in kept}
    return properties | {f"{each}.storage.topic": topic for each, topic in zip(kept, TOPICS, strict=True)}


def ask(url: str, method: str, path: str, body: Any = None) -> Reply:
    """Send a request to a worker.

    Args:
        body: bytes are sent as they are, other values as JSON; None for no body.

    Raises:
        OSError: the worker does not answer.
    """
    at = urlsplit(url)
    connection = HTTPConnection(at.hostname or "", at.port or 80, timeout=patience.PATIENCE)
    try:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data, {"Content-Type": "application/json"} if data is not None else {})
        response = connection.getresponse()
        text = response.read()
    finally:
        connection.close()
    try:
        return Reply(response.status, json.loads(text) if text else None)
    except ValueError:
        return Reply(response.status, text.decode())


def until(holds: Callable[[], bool], what: str, seconds: float = patience.PATIENCE) -> None:
    """Call a condition until it returns True. Raises AssertionError, which names `what`, if it is still False after
    `seconds` seconds.
    """
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, f"not in time: {what}"
        time.sleep(_POLL_SECONDS)


class ConnectCluster:
    """The worker processes of one Connect cluster, as a context manager. All workers answer requests once it is
    entered.

    urls: URLs of the workers, in the order of their start. bootstrap: addresses of the brokers. folder: for files that
    connectors read or write; deleted at the end.
    """

    def __init__(
        self,
        version: str,
        bootstrap: str,
        *,
        workers: int = 1,
        group: str = "connect-cluster",
        classes: Path | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Choose the ports.

        Args:
            bootstrap: addresses of the brokers, real or embedded ones.
            group: group.id of the workers.
            classes: folder with more connectors, such as `throw_away_connector`; None for Kafka's connectors alone.
            properties: more configs of the workers; None for no more.

        Raises:
            BrokersUnavailableError: no Java, or the jars can't be fetched.
        """
        self._path = ":".join((class_path(version), *map(str, filter(None, [classes]))))
        kafka_jars.java()
        self._ports = free_ports(workers)
        more = dict(properties or {})
        self._properties = {port: worker_properties(bootstrap, port, group) | more for port in self._ports}
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self.bootstrap = bootstrap
        self.urls = tuple(f"http://{LOOPBACK}:{port}" for port in self._ports)
        self.folder = Path(tempfile.mkdtemp(prefix="kac-connect-"))
        self._reaper = reaper.Reaper(self.folder)

    def __enter__(self) -> Self:
        try:
            for place in range(len(self._ports)):
                self.start(place)
            for place, url in enumerate(self.urls):
                until(partial(self._is_up, place), f"the worker of {url} answers")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers, and remove the folder."""
        for process in self._running.values():
            process.kill()
            process.wait()
        self._reaper.close()

    def start(self, place: int) -> None:
        """Start the worker at an index of `urls`."""
        port = self._ports[place]
        folder = self.folder / f"worker-{port}"
        folder.mkdir(exist_ok=True)
        self._running[place] = started(self._path, folder, _MAIN, self._properties[port])
        self._reaper.watch(self._running[place].pid)

    def stop(self, place: int) -> None:
        """Stop the worker at an index of `urls` by SIGTERM, so that it leaves its group and other workers get its
        tasks.
        """
        process = self._running.pop(place)
        process.terminate()
        process.wait(patience.PATIENCE)
        self._reaper.forget(process.pid)

    def log(self, place: int) -> str:
        """Return the log text of the worker at an index of `urls` since its start."""
        return (self.folder / f"worker-{self._ports[place]}" / "out").read_text(errors="replace")

    def _is_up(self, place: int) -> bool:
        if self._running[place].poll() is not None:
            raise ClusterStartError(f"the worker of {self.urls[place]} ended:\n{self.log(place)[-2000:]}")
        try:
            # A worker looks up connectors once it has joined its group. Before, it answers with 409, 500, or 404 and an
            # HTML page.
            reply = ask(self.urls[place], "GET", "/connectors/none")
            return reply.status == 404 and isinstance(reply.body, dict)
        except OSError:
            return False


@contextmanager
def with_broker(version: str, **options: Any) -> Iterator[ConnectCluster]:
    """Run workers and one broker of the same Kafka version until the end of the block; yield the workers. options: as
    for `ConnectCluster`.
    """
    with KafkaCluster(version, brokers=1) as brokers, ConnectCluster(version, brokers.bootstrap, **options) as workers:
        yield workers


def main() -> int:
    """Run a broker and workers in the foreground until Ctrl-C or SIGTERM; print their addresses."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.connect_cluster", description=main.__doc__)
    parser.add_argument("--version", default=kafka_jars.KAFKA_4_3)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--group", default="connect-cluster")
    arguments = parser.parse_args()
    with ExitStack() as running:

        def addresses(brokers: KafkaCluster) -> Iterator[str]:
            yield brokers.bootstrap
            workers = ConnectCluster(
                arguments.version,
                brokers.bootstrap,
                workers=arguments.workers,
                group=arguments.group,
                classes=throw_away_connector(arguments.version),
            )
            yield from running.enter_context(workers).urls

        return run_in_foreground(partial(KafkaCluster, arguments.version, brokers=1), addresses)


if __name__ == "__main__":
    raise SystemExit(main())

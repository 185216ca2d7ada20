"""A real Kafka cluster on loopback: each process is a KRaft broker and controller. All processes end with the test
process.

``python -m tests.support.kafka_cluster --version 4.3.0 --brokers 3`` runs a cluster until Ctrl-C.
"""

import argparse
import hashlib
import os
import secrets
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Self, TypeVar

from tests.support import broker_probe, certificates, kafka_classes, kafka_jars, reaper
from tests.support.cached_folder import cache_home, cached_folder
from tests.support.free_ports import LOOPBACK, free_ports
from tests.support.kafka_storage import copy_storage, format_arguments, random_id, scram_options
from tests.support.patience import PATIENCE
from tests.support.request_log import RequestLog
from tests.support.server_properties import (
    QUIET,
    NodePorts,
    ServerTls,
    client_properties,
    log4j2_properties,
    log4j_properties,
    properties_of,
    properties_text,
    server_properties,
)

Security = Literal["plain", "secure"]

START_SECONDS = 180.0
_POLL_SECONDS = 0.05
JVM = ("-Xms64m", "-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData")
_TOOL_JVM = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_PORT_TAKEN = "Address already in use"


class ClusterStartError(RuntimeError):
    """A broker did not start; the message ends with the last lines of its log."""


class KafkaCluster:
    """Real brokers 1…n of one Kafka version; use as a context manager.

    security: ``plain`` is one PLAINTEXT listener on which every client is the super user ANONYMOUS. ``secure`` is
    SASL_SSL (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER with unsecured tokens) for the users admin (a super user)
    and alice, and SSL with client certificates (CN=admin is a super user, CN=alice is not).
    authorizer_log: whether authorizer.log also has allowed operations.
    logins: whether a plain cluster's brokers also have a SASL_PLAINTEXT listener, for admin, alice and bob with PLAIN.
    allow_everyone: whether resources without ACLs are open to all; by default only in plain clusters.
    properties: server properties for every broker. broker_properties: by broker id; they override `properties`.
    classes: a folder with kac's own classes, which the properties name. rotate_at: the size at which Kafka 4's request
    log is rotated, such as `50KB`.
    format_options: more arguments of `kafka-storage format`, such as ``--release-version``.
    controllers: the number of nodes, from the first on, that are also controllers; None for all. host: the name by
    which brokers are advertised, with {} for the id; they listen on loopback. quiet: whether idle brokers do without
    their periodic work (`QUIET`).
    Raises BrokersUnavailableError if Java or the jars are missing.
    """

    def __init__(
        self,
        version: str = kafka_jars.KAFKA_4_3,
        *,
        brokers: int = 3,
        security: Security = "plain",
        request_log: bool = False,
        authorizer_log: bool = False,
        logins: bool = False,
        allow_everyone: bool | None = None,
        properties: Mapping[str, str] | None = None,
        broker_properties: Mapping[int, Mapping[str, str]] | None = None,
        classes: Path | None = None,
        jvm_options: tuple[str, ...] = JVM,
        rotate_at: str | None = None,
        format_options: tuple[str, ...] = (),
        controllers: int | None = None,
        host: str = LOOPBACK,
        quiet: bool = True,
    ) -> None:
        self.version = version
        self.security = security
        self._java, self._own_classes = kafka_jars.java(), classes
        kafka_classes.class_path(version)  # fetch the jars before all other work
        self.cluster_id = random_id()
        self.broker_ids = tuple(range(1, brokers + 1))
        self.directory = Path(tempfile.mkdtemp(prefix="kac-kafka-"))
        self.request_log = RequestLog({node: self._folder(node) / "request.log" for node in self.broker_ids})
        self.users: dict[str, str] = {}
        self._ports: dict[int, NodePorts] = {}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        wanted = {"request": request_log, "authorizer": authorizer_log}
        self._logged = frozenset(name for name, is_wanted in wanted.items() if is_wanted)
        self._rotate_at = rotate_at
        self._format_options = format_options
        self._controllers = controllers
        self._host = host
        self._logins = logins
        self._allow_everyone = security == "plain" if allow_everyone is None else allow_everyone
        self._properties = (QUIET if quiet else {}) | dict(properties or {})
        self._broker_properties = dict(broker_properties or {})
        self._jvm_options = jvm_options
        self._tls: ServerTls | None = None
        self._identities: dict[str, certificates.Identity] = {}
        self._probe_tls: ssl.SSLContext | None = None
        self._reaper = reaper.Reaper(self.directory)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The ids of all nodes, in the order of their start."""
        return self.broker_ids

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """(host, port) of every broker's client listener, PLAINTEXT or SASL_SSL, by id."""
        return tuple((LOOPBACK, self._ports[node].client) for node in self.broker_ids)

    @property
    def controller_addresses(self) -> tuple[tuple[str, int], ...]:
        """(host, port) of every controller's listener, by id."""
        return tuple((LOOPBACK, self._ports[node].controller) for node in self.broker_ids[: self._controllers])

    @property
    def bootstrap(self) -> str:
        """The addresses as ``host:port,host:port``."""
        return ",".join(f"{host}:{port}" for host, port in self.addresses)

    @property
    def mtls_bootstrap(self) -> str:
        """``host:port,…`` of the listener with client certificates. Raises LookupError in a plain cluster."""
        return ",".join(f"{host}:{port}" for host, port in map(self._mtls_address, self.broker_ids))

    @property
    def login_addresses(self) -> tuple[tuple[str, int], ...]:
        """(host, port) of every broker's SASL_PLAINTEXT listener, by id; empty without `logins`."""
        ports = (self._ports[node].sasl for node in self.broker_ids)
        return tuple((LOOPBACK, port) for port in ports if port is not None)

    @property
    def authority(self) -> certificates.Authority:
        """The authority of the brokers' certificates. Raises LookupError in a plain cluster."""
        if self._tls is None:
            raise LookupError("a plain cluster has no certificates")
        return self._tls.authority

    def identity(self, name: str) -> certificates.Identity:
        """Return the client certificate of ``admin`` or ``alice``; only in a secure cluster."""
        return self._identities[name]

    def client_properties(self, user: str = "admin", mechanism: str = "SCRAM-SHA-256") -> Path:
        """Write the properties of a Java client for the broker's listener (as for ``--command-config``), and return the
        file's path. The file of a plain cluster is empty.
        """
        path = self.directory / f"{user}-{mechanism}.properties"
        path.touch(mode=0o600)
        if self._tls:
            path.write_text(client_properties(mechanism, user, self.users[user], self._tls.authority))
        return path

    def server_log(self, broker: int) -> str:
        """Return the text of a broker's server log so far, followed by its standard output and error."""
        files = (self._folder(broker) / name for name in ("server.log", "console.log"))
        return "".join(file.read_text(errors="replace") for file in files if file.exists())

    def start(self) -> None:
        """Format the storage, start every broker, and wait until each broker sees all others. Raises ClusterStartError
        if a broker ends or the wait takes too long.
        """
        self._make_secrets()
        for attempts_left in (2, 1, 0):
            self._choose_ports()
            self._prepare(self.node_ids)
            try:
                for node in self.node_ids:
                    self._launch(node)
                self.await_brokers(self.broker_ids, timeout=START_SECONDS)
            except ClusterStartError as failure:
                self._end_all()
                if _PORT_TAKEN not in str(failure) or not attempts_left:
                    raise
            else:
                return

    def close(self) -> None:
        """End every process and remove the folder; a second call does nothing."""
        self._end_all()
        self._reaper.close()

    def stop(self, broker: int, timeout: float = PATIENCE) -> None:
        """Shut a broker down by SIGTERM, a controlled shutdown, and wait until its process has ended. Raises
        subprocess.TimeoutExpired after `timeout` seconds.
        """
        self._processes[broker].send_signal(signal.SIGTERM)
        self._processes[broker].wait(timeout)
        self._forget(broker)

    def kill(self, broker: int) -> None:
        """Kill a broker by SIGKILL, so that it ends without a controlled shutdown."""
        self._processes[broker].kill()
        self._processes[broker].wait(PATIENCE)
        self._forget(broker)

    @contextmanager
    def hanging(self, broker: int) -> Iterator[None]:
        """Stop all threads of a broker inside the block: it keeps its connections, but does nothing. Raises
        AssertionError if they do not stop within `PATIENCE` seconds.
        """
        process = self._processes[broker]
        process.send_signal(signal.SIGSTOP)
        try:
            deadline = time.monotonic() + PATIENCE
            while not _is_stopped(process.pid):
                assert time.monotonic() < deadline, f"broker {broker} does not stop"
                os.sched_yield()
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    def restart(self, broker: int) -> None:
        """Start a broker on its former ports, after stopping it if it runs. Wait until all running brokers see it."""
        if broker in self._processes:
            self.stop(broker)
        self._launch(broker)
        self.await_brokers(self.running, timeout=START_SECONDS)

    def upgrade(self, broker: int, version: str) -> None:
        """Stop a broker and start it with another Kafka version, on the same storage and ports. Set the cluster's
        `version`.
        """
        self.stop(broker)
        self.version = version
        self._write_logging(self._folder(broker))
        self._launch(broker)
        self.await_brokers(self.running, timeout=START_SECONDS)

    def bring_up(self) -> None:
        """Start the brokers that are down, on their former ports, and wait until all brokers see each other."""
        for broker in [each for each, process in self._processes.items() if process.poll() is not None]:
            self._forget(broker)  # ended by itself, for example because it could not register in time
        down = set(self.broker_ids) - self._processes.keys()
        for broker in sorted(down):
            self._launch(broker)
        if down:
            self.await_brokers(self.broker_ids, timeout=START_SECONDS)

    @property
    def running(self) -> tuple[int, ...]:
        """Ids of the brokers that were started and not stopped."""
        return tuple(sorted(self._processes))

    @property
    def pids(self) -> dict[int, int]:
        """The process id of each running broker, by broker id."""
        return {broker: process.pid for broker, process in self._processes.items()}

    def await_brokers(self, expected: Collection[int], timeout: float = 30.0) -> None:
        """Wait until every running broker answers Metadata with exactly these ids. Raises ClusterStartError after
        `timeout` seconds, or if a node ends.
        """
        deadline = time.monotonic() + timeout
        wanted = frozenset(expected)
        for node in (each for each in self.running if each in self.broker_ids):
            seen: frozenset[int] | OSError = frozenset()
            while seen != wanted:
                # Check all nodes: this broker may wait for another one that ended because its port was taken.
                for each, process in self._processes.items():
                    if process.poll() is not None:
                        raise ClusterStartError(f"node {each} ended:\n{self._last_words(each)}")
                if time.monotonic() > deadline:
                    words = "\n".join(f"node {each}:\n{self._last_words(each)}" for each in self.running)
                    raise ClusterStartError(
                        f"broker {node} sees {seen!r}, not {sorted(wanted)}, after {timeout:g} s:\n{words}"
                    )
                time.sleep(_POLL_SECONDS)
                seen = self._sees(node)

    def run_tool(self, main_class: str, *arguments: str, timeout: float = PATIENCE) -> subprocess.CompletedProcess[str]:
        """Run a command class of Kafka (such as ``kafka.admin.ConfigCommand``) from the jars of the cluster's version.
        Return the ended process, whatever its exit code. timeout: seconds.
        """
        command = self.tool_command(main_class, *arguments)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)

    def tool_command(self, main_class: str, *arguments: str, version: str = "") -> list[str]:
        """Return the command line that runs a command class from the jars of a version; ``""`` for the brokers'
        version.
        """
        return [*self._command(_TOOL_JVM, version), main_class, *arguments]

    def end_at_last(self, pid: int) -> None:
        """Register a process that leads a session: if this test process dies, that process is killed together with the
        brokers.
        """
        self._reaper.watch(pid)

    def has_ended(self, pid: int) -> None:
        """Remove a registered process that has ended, because the system may give its id to another process."""
        self._reaper.forget(pid)

    def run_admin_tool(self, main_class: str, *arguments: str, timeout: float = PATIENCE) -> str:
        """Run a command class that takes ``--bootstrap-server``, as the super user. Return its standard output.
        timeout: seconds. Raises RuntimeError if it fails.
        """
        connect = ("--bootstrap-server", self.bootstrap, "--command-config", str(self.client_properties()))
        done = self.run_tool(main_class, *connect, *arguments, timeout=timeout)
        if done.returncode:
            raise RuntimeError(f"{main_class} {' '.join(arguments)}: {done.stdout.strip()} {done.stderr.strip()}")
        return done.stdout

    def _folder(self, node: int) -> Path:
        return self.directory / f"broker-{node}"

    def _mtls_address(self, node: int) -> tuple[str, int]:
        port = self._ports[node].mtls
        if port is None:
            raise LookupError("a plain cluster has no listener with client certificates")
        return LOOPBACK, port

    def _make_secrets(self) -> None:
        if self.security == "plain":
            self.users = {name: secrets.token_hex(12) for name in ("admin", "alice", "bob")} if self._logins else {}
            return
        authority = certificates.Authority(self.directory / "tls")
        self._identities = {name: authority.issue(name) for name in ("admin", "alice")}
        self.users = {name: secrets.token_hex(12) for name in self._identities}
        self._tls = ServerTls(authority, authority.issue("broker", *self._names()), self.users)
        self._probe_tls = authority.client_context(self._identities["admin"])

    def _names(self) -> list[str]:
        return list(dict.fromkeys((LOOPBACK, "localhost", *map(self._host.format, self.broker_ids))))

    def _choose_ports(self) -> None:
        free = iter(free_ports(4 * len(self.broker_ids)))
        self._ports = {
            node: NodePorts(
                next(free),
                next(free),
                next(free) if self._tls else None,
                next(free) if self._logins and not self._tls else None,
            )
            for node in self.broker_ids
        }

    def _server_properties(self, node: int, data: Path, extra: Mapping[str, str]) -> str:
        users = self.users if self._logins else {}
        return server_properties(
            node,
            self._ports,
            data,
            self._tls,
            users,
            allow_everyone=self._allow_everyone,
            extra=extra,
            controllers=self._controllers,
            host=self._host.format(node),
        )

    def _write_files(self, node: int) -> Path:
        """Write the files that a broker reads at its start. Return the path of its server.properties."""
        folder = self._folder(node)
        folder.mkdir(exist_ok=True)
        extra = self._properties | dict(self._broker_properties.get(node, {}))
        properties = folder / "server.properties"
        properties.touch(mode=0o600)
        properties.write_text(self._server_properties(node, folder / f"data-{uuid.uuid4().hex[:8]}", extra))
        self._write_logging(folder)
        return properties

    def _write_logging(self, folder: Path) -> None:
        if kafka_jars.major(self.version) >= 4:
            logging = log4j2_properties(folder, logged=self._logged, rotate_at=self._rotate_at)
        else:
            logging = log4j_properties(folder, logged=self._logged)
        (folder / "logging.properties").write_text(logging)

    def _prepare(self, nodes: Iterable[int]) -> None:
        """Write the configuration of these nodes, and format their storage."""
        for node in nodes:
            properties = self._write_files(node)
            copy_storage(self._storage(node), properties, self.cluster_id, node, self._directory_id(node))

    def _storage(self, node: int) -> Path:
        """Return a folder that Kafka's tool has formatted as storage of a node with the same roles; it may have another
        node's id. Storage without users and voters is shared by all clusters.
        """
        options = self._storage_options(node)
        where = cache_home() / "kafka-storage" if options == self._format_options else self.directory / "storage"
        written = properties_of(self._folder(node) / "server.properties")
        quorum = "static" if "controller.quorum.voters" in written else "dynamic"
        told = " ".join((str(kafka_jars.jars(self.version)), written["process.roles"], quorum, *options))
        name = f"{self.version}-{hashlib.sha256(told.encode()).hexdigest()[:8]}"
        return cached_folder(where / name, lambda folder: self._format(node, options, folder))

    def _format(self, node: int, options: Sequence[str], folder: Path) -> None:
        """Format a folder as a node's storage by Kafka's tool. Raises ClusterStartError if the tool fails."""
        written = properties_of(self._folder(node) / "server.properties")
        written.pop("metadata.log.dir", None)
        with tempfile.TemporaryDirectory(dir=self.directory) as scratch:
            file = Path(scratch, "server.properties")
            file.write_text(properties_text(written | {"log.dirs": str(folder)}))
            done = self.run_tool("kafka.tools.StorageTool", *format_arguments(self.cluster_id, file), *options)
        if done.returncode:
            raise ClusterStartError(f"formatting the storage of broker {node} failed:\n{done.stdout}{done.stderr}")

    def _storage_options(self, node: int) -> tuple[str, ...]:
        """Return a node's arguments of the formatting tool, without the node's id and the cluster's id."""
        return (*(scram_options(self.users) if self._tls else ()), *self._format_options)

    def _directory_id(self, node: int) -> str:
        """Return the id of a node's log directory."""
        return random_id()

    def _launch(self, node: int) -> None:
        folder = self._folder(node)
        self._processes[node] = self._run(folder, "kafka.Kafka", str(folder / "server.properties"))

    def _run(self, folder: Path, main_class: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a Java server of the cluster's version. Its output goes into the folder; it ends at the latest with
        this process.
        """
        option = "log4j2.configurationFile" if kafka_jars.major(self.version) >= 4 else "log4j.configuration"
        logging = f"-D{option}=file:{folder / 'logging.properties'}"
        command = [*self._command((*self._jvm_options, logging)), main_class, *arguments]
        with (folder / "console.log").open("ab") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        self._reaper.watch(process.pid)
        return process

    def _command(self, options: Iterable[str], version: str = "") -> list[str]:
        """Return the command line of Java with these options and a class path: the classes of a version (``""`` for the
        cluster's), then the folder `classes` if the cluster has one.
        """
        version = version or self.version
        path = kafka_classes.class_path(version)
        if self._own_classes is not None:
            path += f"{os.pathsep}{self._own_classes}"
        return [self._java, *options, *kafka_classes.archive_options(version, self._java), "-cp", path]

    def _forget(self, node: int) -> None:
        self._reaper.forget(self._processes.pop(node).pid)

    def _end_all(self) -> None:
        for process in self._processes.values():
            process.kill()
        for node in self.running:
            self.kill(node)

    def _sees(self, node: int) -> frozenset[int] | OSError:
        address = self._mtls_address(node) if self._tls else (LOOPBACK, self._ports[node].client)
        try:
            return broker_probe.live_brokers(address, self._probe_tls)
        except OSError as unreachable:
            return unreachable

    def _last_words(self, node: int) -> str:
        return "\n".join(self.server_log(node).splitlines()[-15:])


def _is_stopped(pid: int) -> bool:
    """Return whether every thread of a process is stopped (proc(5): state T)."""
    stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


C = TypeVar("C", bound=KafkaCluster)


def run_in_foreground(make: Callable[[], C], addresses: Callable[[C], Iterable[str]]) -> int:
    """Run a cluster until Ctrl-C or SIGTERM, and return the exit code: 0, or 1 if the cluster does not start.

    Args:
        make: returns the cluster; raises BrokersUnavailableError if Java or the jars are missing.
        addresses: returns the lines to print once the cluster runs; a line with the cluster's folder follows.
    """
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        with make() as cluster:
            for line in addresses(cluster):
                print(line, flush=True)
            print(f"folder {cluster.directory}", flush=True)
            ended.wait()
    except (kafka_jars.BrokersUnavailableError, ClusterStartError) as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


def main() -> int:
    """Run a cluster in the foreground until Ctrl-C or SIGTERM; print its addresses."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.kafka_cluster", description=main.__doc__)
    parser.add_argument("--version", default=kafka_jars.KAFKA_4_3)
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--security", choices=("plain", "secure"), default="plain")
    parser.add_argument("--host", default=LOOPBACK, help="by which brokers are advertised, with {} for the id")
    parser.add_argument("--request-log", action="store_true")
    parser.add_argument("--property", action="append", default=[], metavar="NAME=VALUE", help="of all brokers")
    parser.add_argument("--java-option", action="append", default=[], help="as --java-option=-Dname=value")
    arguments = parser.parse_args()

    def make() -> KafkaCluster:
        return KafkaCluster(
            arguments.version,
            brokers=arguments.brokers,
            security=arguments.security,
            request_log=arguments.request_log,
            host=arguments.host,
            properties=dict(each.split("=", 1) for each in arguments.property),
            jvm_options=(*JVM, *arguments.java_option),
        )

    def addresses(cluster: KafkaCluster) -> Iterator[str]:
        yield cluster.bootstrap
        if cluster.security == "secure":
            yield f"mTLS {cluster.mtls_bootstrap}"
            yield f"client properties {cluster.client_properties()}"

    return run_in_foreground(make, addresses)


if __name__ == "__main__":
    raise SystemExit(main())

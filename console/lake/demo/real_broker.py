"""Records a minute of a real broker, if Java and Kafka's jars are installed: one KRaft process on loopback, its
metadata log and request log, changes by two principals, and a producer above its quota. The broker ends with the
recording."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.errors import AdminError
from console.admin.settings import ConnectionSettings, SaslSettings
from console.contexts import Context
from console.lake.collect import PollResult, poll_context
from console.lake.demo.metadata_log import FOLDER
from console.lake.demo.story import Recorded
from console.lake.java import NoJava, find_java
from console.lake.spark_session import cache_folder
from console.model.changes import (
    AlterConfigs,
    AlterQuotas,
    ChangeRequest,
    ConfigOp,
    CreatePartitions,
    CreateTopics,
    NewTopic,
)
from console.model.codes import SET
from console.model.config import CLUSTER_DEFAULT, topic_resource
from console.model.failure import Failure
from console.model.quota import QuotaEntity
from console.model.secret import Secret

NAME = "recorded"
LIBRARIES = "KAFKA_HOME"
"""The environment variable of a Kafka's folder, with its jars in `libs`."""
START_SECONDS, STOP_SECONDS, PRODUCE_SECONDS = 60.0, 10.0, 12.0
TOPIC, BULK = "orders", "bulk-loader"
REQUEST_LOG = "kafka-request.log"
_LIMIT = 50_000.0
_LOOPBACK = "127.0.0.1"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_JVM = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC")
_LOGGING = """status = warn
appender.request.type = File
appender.request.name = request
appender.request.fileName = {requests}
appender.request.layout.type = PatternLayout
appender.request.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = off
logger.request.name = kafka.request.logger
logger.request.level = debug
logger.request.appenderRef.request.ref = request
"""


class NoBroker(Exception):
    """No real broker can be recorded; the text says why."""


class Kafka(NamedTuple):
    """What a broker is started with. java: the program. libraries: the folder of Kafka's jars."""

    java: Path
    libraries: Path


def find_kafka(environ: Mapping[str, str]) -> Kafka:
    """Finds a Java, and the jars of Kafka 4: those of `KAFKA_HOME`, else of the cache. Raises NoBroker."""
    cache = cache_folder(environ)
    home = environ.get(LIBRARIES)
    folders = [Path(home) / "libs"] if home else sorted((cache / "jars").glob("4.*"), reverse=True)
    found = next((folder for folder in folders if any(folder.glob("kafka_2.13-4.*.jar"))), None)
    if found is None:
        raise NoBroker(f"no Kafka 4: set {LIBRARIES} to one")
    try:
        return Kafka(find_java(environ, cache).program, found)
    except NoJava as missing:
        raise NoBroker(str(missing)) from None


def record_broker(kafka: Kafka, folder: Path) -> Recorded:
    """Starts a broker, changes and uses it, polls it before and after, ends it, and keeps its logs in a folder.

    Raises NoBroker if it does not start or is lost.
    """
    with tempfile.TemporaryDirectory(prefix="kac-demo-broker-") as scratch:
        broker = _Broker(kafka, Path(scratch))
        try:
            with broker.running():
                taken = asyncio.run(_live(broker))
            return _kept(broker, taken, folder / NAME)
        except (OSError, AdminError) as error:
            raise NoBroker(f"the broker can't be recorded: {error}") from error


class _Broker:
    """The files and the process of one broker."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.cluster_id = urlsafe_b64encode(secrets.token_bytes(16)).rstrip(b"=").decode()
        self.users = {name: secrets.token_hex(16) for name in ("alice", "ci")}
        self._kafka = kafka
        self.port, self._controller = _free_ports(2)

    def settings(self, user: str, client_id: str = "adminclient") -> ConnectionSettings:
        """How a user connects."""
        sasl = SaslSettings("PLAIN", user, Secret(self.users[user]))
        return ConnectionSettings(((_LOOPBACK, self.port),), "SASL_PLAINTEXT", sasl, client_id=client_id)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Runs the broker for the context. Raises NoBroker, OSError."""
        properties = self._write_files()
        format_ = ("format", "-t", self.cluster_id, "-c", str(properties))
        with (self.folder / "console.log").open("wb") as output:
            tool = self._java("kafka.tools.StorageTool", *format_)
            code = subprocess.run(tool, stdout=output, stderr=output, timeout=START_SECONDS, check=False).returncode  # noqa: S603
            if code:
                raise NoBroker(f"formatting its storage failed: {self._last_words()}")
            process = subprocess.Popen(  # noqa: S603 - the Java that was found
                self._java("kafka.Kafka", str(properties)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # so that Ctrl-C in the terminal is for us alone, who end it
            )
        try:
            self._await(process)
            yield
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _await(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise NoBroker(f"the broker ended at its start: {self._last_words()}")
            with suppress(OSError), socket.create_connection((_LOOPBACK, self.port), 1.0):
                return
            time.sleep(0.1)
        raise NoBroker(f"the broker did not start within {START_SECONDS:g} s")

    def _last_words(self) -> str:
        lines = (self.folder / "console.log").read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[-1][:200] if lines else "no output"

    def _java(self, main_class: str, *arguments: str) -> list[str]:
        logging = f"-Dlog4j2.configurationFile=file:{self.folder / 'log4j2.properties'}"
        classes = str(self._kafka.libraries / "*")
        return [str(self._kafka.java), *_JVM, logging, "-cp", classes, main_class, *arguments]

    def _write_files(self) -> Path:
        (self.folder / "log4j2.properties").write_text(
            _LOGGING.format(requests=self.folder / REQUEST_LOG), encoding="utf-8"
        )
        logins = " ".join(f'user_{name}="{password}"' for name, password in self.users.items())
        own = f'username="ci" password="{self.users["ci"]}"'
        clients, controller = f"{_LOOPBACK}:{self.port}", f"{_LOOPBACK}:{self._controller}"
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"SASL_PLAINTEXT://{clients},CONTROLLER://{controller}",
            "inter.broker.listener.name": "SASL_PLAINTEXT",
            "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{_LOGIN} {logins} {own};",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:ci;User:alice",
            "log.dirs": str(self.data),
            "log.cleaner.dedupe.buffer.size": str(4 * 1024 * 1024),
        }
        path = self.folder / "server.properties"
        path.touch(mode=0o600)
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")
        return path


def _changes() -> Iterator[tuple[str, ChangeRequest]]:
    """The changes, each with its user, in this order."""
    orders = topic_resource(TOPIC)
    yield "alice", CreateTopics((NewTopic(TOPIC, 2, 1, configs={"retention.ms": "3600000"}),))
    yield "ci", AlterConfigs({orders: (ConfigOp("retention.ms", SET, "7200000"),)})
    yield "alice", CreatePartitions({TOPIC: 4}, {TOPIC: 2})
    yield "ci", AlterConfigs({CLUSTER_DEFAULT: (ConfigOp("log.retention.ms", SET, "86400000"),)})
    yield "ci", AlterQuotas({QuotaEntity.of({"user": "alice", "client-id": BULK}): {"producer_byte_rate": _LIMIT}})


async def _live(broker: _Broker) -> tuple[PollResult, ...]:
    context = Context(NAME, "kac lake demo", broker.settings("ci", "kac"))
    before = await poll_context(context)
    for who, change in _changes():
        await send_changes(broker.settings(who, f"adminclient-{who}"), [change])
    await _produce(broker)
    after = await poll_context(context)
    for result in (before, after):
        if isinstance(result.seen, Failure):
            raise NoBroker(f"it could not be polled: {result.seen}")
    return before, after


async def send_changes(settings: ConnectionSettings, changes: Iterable[ChangeRequest]) -> None:
    """Sends changes, one after the other. Raises AdminError for the first that fails."""
    client = AdminClient(settings)
    client.start()
    try:
        for change in changes:
            for outcome in await client.run(send, change, validate_only=False):
                if outcome.failure is not None:
                    raise AdminError(outcome.failure)
    finally:
        await asyncio.to_thread(client.close)


async def _produce(broker: _Broker) -> None:
    """Produces as alice, above her limit, until the broker throttles her."""
    from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

    producer = AIOKafkaProducer(
        bootstrap_servers=f"{_LOOPBACK}:{broker.port}",
        client_id=BULK,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_plain_username="alice",
        sasl_plain_password=broker.users["alice"],
        max_request_size=200_000,
    )
    await producer.start()
    with suppress(TimeoutError):
        async with asyncio.timeout(PRODUCE_SECONDS):
            for _ in range(8):
                await producer.send_and_wait(TOPIC, secrets.token_bytes(90_000), partition=0)
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_SECONDS):
            await producer.stop()


def _kept(broker: _Broker, taken: tuple[PollResult, ...], folder: Path) -> Recorded:
    log = shutil.copytree(broker.data / FOLDER, folder / FOLDER)
    shutil.copyfile(broker.data / "meta.properties", folder / "meta.properties")
    requests = shutil.copyfile(broker.folder / REQUEST_LOG, folder / REQUEST_LOG)
    return Recorded(NAME, broker.cluster_id, taken, log, {1: requests})


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        return [held.enter_context(socket.create_server((_LOOPBACK, 0))).getsockname()[1] for _ in range(count)]

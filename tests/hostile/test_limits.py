"""Tests of limits: on counts that a peer claims, on data that it sends without end, and on waits for data that it
never sends; and limits that the process sets for itself.
"""

import asyncio
import gzip
import json
import os
import resource
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from crc32c import crc32c

from console.admin import configs, connections, errors
from console.admin.link import broker
from console.admin.settings import ConnectionSettings, SaslSettings
from console.embedded import brokers, record_batch, tables
from console.embedded import brokers as server_connection
from console.embedded import record_batch as batches
from console.embedded.spec import ClusterSpec, SaslSpec
from console.model.config import broker_resource
from console.model.secret import Secret
from console.wire import compression, connection, record_batches, schemas
from tests.embedded.raw_client import RawClient, framed, header
from tests.hostile.cluster import HostileCluster, hostile_cluster
from tests.hostile.consumer import HostileConsumer
from tests.hostile.inflated import ALLOWED
from tests.support import worlds
from tests.support.own_places import too_few_files
from tests.support.patience import PATIENCE

MEMORY = 12_000_000 * 1024
"""The limit of a process's address space in bytes, as by `ulimit -v 12000000`. Python and its libraries map a small
part of it.
"""


def run_kac(
    *argv: str, memory: int = MEMORY, timeout: float = 120.0, files: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `kac` with these arguments and limits, like `run_python`."""
    return run_python("-m", "console", *argv, memory=memory, timeout=timeout, files=files)


def run_python(
    *argv: str, memory: int = MEMORY, timeout: float = 120.0, files: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments and limits.

    memory: bytes of address space. timeout: seconds; raises subprocess.TimeoutExpired after them. files: the soft and
    hard limit of open files; None for no change.
    """

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    return subprocess.run(
        [sys.executable, *argv],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        preexec_fn=limit,  # nothing else runs in the child before exec
    )


def died_of_a_signal(result: subprocess.CompletedProcess[str] | subprocess.CompletedProcess[bytes]) -> bool:
    """Return whether the process was ended by a signal, for example by SIGABRT after native code could not allocate
    memory.
    """
    return result.returncode < 0 or result.returncode >= 128


# -- Claimed counts without data: kac reserves no memory for them ------------------------------------------------------

CLAIM = bytes.fromhex("0000 7fffffff")
"""The bytes of an assignment: its version, and a count of 2,147,483,647 topics, without any topic after it."""


def test_an_assignment_that_claims_two_billion_topics_is_no_assignment(hostile: HostileCluster) -> None:
    consumer = HostileConsumer(hostile.addresses[1], "victim", subscription=CLAIM, assignment=CLAIM)
    asyncio.run(consumer.join())
    result = run_kac("groups", "-b", hostile.bootstrap, "--describe", "--group", "victim")
    assert not died_of_a_signal(result), result.stderr
    assert result.returncode == 0
    assert "hostile" in result.stdout
    asyncio.run(consumer.leave())


def test_a_huge_count_of_synonyms_is_an_answer_that_can_not_be_read(hostile: HostileCluster) -> None:
    def claimed(asked: object, body: bytes) -> bytes:
        # v4: throttle time, one result, no error, null message, type, name "1", one entry: name, value, …, synonyms
        head = struct.pack(">i", 0) + b"\x02" + struct.pack(">h", 0) + b"\x00" + b"\x04" + b"\x021"
        return head + b"\x02" + b"\x02k\x02v\x00\x05\x00" + b"\xff\xff\xff\xff\x07"

    hostile.rewrite_body("describe_configs", claimed)
    result = run_kac("brokers", "-b", hostile.bootstrap, "--describe", "--broker", "1")
    assert not died_of_a_signal(result), result.stderr
    assert result.returncode == 1
    assert "the array synonyms has 2147483646 elements" in result.stdout


def test_a_padded_metadata_with_a_huge_count(hostile: HostileCluster) -> None:
    def claimed(asked: object, body: bytes) -> bytes:
        # v13: throttle time, a broker whose claimed racks are padding, and two billion topics after the controller
        return struct.pack(">i", 0) + b"\x01" + b"\x00" + struct.pack(">i", 1) + b"\xff\xff\xff\xff\x07" + bytes(70_000)

    hostile.rewrite_body("metadata", claimed)
    result = run_kac("topics", "-b", hostile.bootstrap, "--list")
    assert not died_of_a_signal(result), result.stderr
    assert result.returncode == 1
    assert "can't be read" in result.stderr + result.stdout


@pytest.mark.parametrize(
    ("kind", "every", "at_least"),
    [
        pytest.param("responses", 5, 60, marks=pytest.mark.slow),
        pytest.param("requests", 5, 60, marks=pytest.mark.slow),
        pytest.param("responses", 1, 300, marks=pytest.mark.long),
        pytest.param("requests", 1, 300, marks=pytest.mark.long),
        ("decoders", 1, 8),
        ("nested", 1, 6),
    ],
)
def test_no_count_in_any_message_reserves_what_did_not_come(kind: str, every: int, at_least: int) -> None:
    """A process with limited address space decodes or refuses messages with any count, and grows by at most a small
    multiple of a message.
    """
    result = run_python("-m", "tests.hostile.inflated", kind, str(every), timeout=12 * PATIENCE)
    assert result.returncode == 0, result.stderr[-2000:]
    messages, grown = map(int, result.stdout.split())
    assert messages >= at_least
    assert grown <= 64 * ALLOWED


# -- Limits that the process sets for itself before it runs a command --------------------------------------------------

_LIMITS = """
import resource, sys
import console.cli.main
from console.__main__ import OPEN_FILES, main

def limits(argv):
    print(*resource.getrlimit(resource.RLIMIT_CORE), *resource.getrlimit(resource.RLIMIT_NOFILE), OPEN_FILES)
    return 0

console.cli.main.run = limits
sys.exit(main())
"""


def limits(core: int, files: int) -> list[int]:
    """Start a command in a process with these limits for core dumps and open files; return the limits that the command
    then has.
    """

    def begin() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (core, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    done = subprocess.run([sys.executable, "-c", _LIMITS], check=True, capture_output=True, text=True, preexec_fn=begin)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_CORE)[1] == 0, reason="no core files may be had here")
def test_no_command_leaves_a_core_file() -> None:
    assert limits(core=resource.getrlimit(resource.RLIMIT_CORE)[1], files=256)[:2] == [0, 0]


def test_every_command_may_open_as_many_files_as_its_user() -> None:
    _, _, soft, hard, longest = limits(core=0, files=256)
    assert soft == (longest if hard == resource.RLIM_INFINITY else min(hard, longest))
    assert soft > 256


# -- Limits of an embedded cluster for clients: before a login, in time, in connections, after decompression -----------

LOGIN = SaslSpec(plain={"ops": Secret("x")})
VERSIONS = framed(header(18, 0))


async def test_before_authentication_no_long_request_is_taken() -> None:
    async with brokers.EmbeddedCluster(ClusterSpec(brokers=1, sasl=LOGIN)) as cluster:
        async with RawClient(cluster) as client:
            client.send(struct.pack(">i", brokers.MAX_EARLY_REQUEST + 1))
            assert await client.rest() == b""
        async with RawClient(cluster) as client:
            client.send(VERSIONS)
            assert await client.frame()


@pytest.mark.parametrize("begun", [b"", b"\x00", struct.pack(">i", 1000) + b"x"])
async def test_who_does_not_authenticate_in_time_has_to_leave(monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    monkeypatch.setattr(server_connection, "LOGIN_SECONDS", 0.1)
    async with brokers.EmbeddedCluster(ClusterSpec(brokers=1, sasl=LOGIN)) as cluster, RawClient(cluster) as client:
        client.send(VERSIONS + begun)
        await client.frame()
        assert await client.rest() == b""


@pytest.mark.parametrize("begun", [b"", b"\x00", struct.pack(">i", 1000) + b"x"])
async def test_an_idle_connection_and_one_that_never_ends_its_request_are_closed(begun: bytes) -> None:
    spec = ClusterSpec(brokers=1, static_configs={"connections.max.idle.ms": "100"})
    async with brokers.EmbeddedCluster(spec) as cluster, RawClient(cluster) as client:
        client.send(VERSIONS + begun)
        await client.frame()
        assert await client.rest() == b""


async def test_who_reads_no_answers_is_not_written_to_for_ever() -> None:
    spec = ClusterSpec(brokers=1, static_configs={"connections.max.idle.ms": "1000"})
    async with brokers.EmbeddedCluster(spec) as cluster:
        for number in range(2000):
            cluster.state.put_topic(tables.Topic(f"topic-{number:04}", uuid4(), (tables.Partition((1,), (1,), 1),)))
        async with RawClient(cluster) as client:
            client.send(VERSIONS)
            assert await client.frame()
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            client.send(100 * framed(header(3, 1) + struct.pack(">i", -1)))
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*cluster._listeners[1]._open)


async def test_a_broker_takes_so_many_connections_and_no_more() -> None:
    spec = ClusterSpec(brokers=1, static_configs={"max.connections": "3"})
    async with brokers.EmbeddedCluster(spec) as cluster:
        first, *others = [RawClient(cluster) for _ in range(3)]
        for client in (first, *others):
            await client.__aenter__()
            client.send(VERSIONS)
            assert await client.frame()
        async with RawClient(cluster) as late:
            assert await late.rest() == b""
        serving = set(cluster._listeners[1]._open)
        first.writer.close()
        await asyncio.wait(serving, return_when=asyncio.FIRST_COMPLETED)
        async with RawClient(cluster) as welcome:
            welcome.send(VERSIONS)
            assert await welcome.frame()
        for client in others:
            client.writer.close()


def packed(records: bytes) -> batches.Batch:
    """Return a batch with these bytes, compressed by gzip, which claims to have a million records."""
    head = bytearray(batches.HEADER_SIZE)
    head[16] = 2
    struct.pack_into(">i", head, 57, 1_000_000)
    made = batches.Batch(b"", 0, 999_999, 0, compression.Codec.GZIP, 7, 7, -1, -1, -1, 1_000_000)
    struct.pack_into(">h", head, 21, compression.Codec.GZIP)
    data = head + gzip.compress(records)
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return replace(made, data=bytes(data))


@pytest.mark.parametrize("size", [record_batches.MOST_UNPACKED + 1, 256 * 2**20])
def test_a_small_batch_that_unpacks_to_a_lot_is_not_unpacked(size: int) -> None:
    bomb = packed(bytes(size))
    assert len(bomb.data) < size // 500
    tracemalloc.start()
    try:
        assert list(record_batch.record_times(bomb)) == []
        assert record_batch.keyless_records(bomb) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * record_batches.MOST_UNPACKED


# -- Huge announced frames, and huge numbers of brokers ----------------------------------------------------------------

GIB = 2**30


class Flood:
    """A server that answers each request with an announced length, and then with zero bytes until the connection ends.

    Attributes:
        taken: the number of zero bytes that were sent.
    """

    def __init__(self, announced: int) -> None:
        self.announced = announced
        self.taken = 0
        self.done = asyncio.Event()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[tuple[str, int]]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        async with server:
            yield server.sockets[0].getsockname()[:2]

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readexactly(8)
            writer.write(struct.pack(">i", self.announced))
            piece = bytes(2**16)
            while self.taken < self.announced:
                writer.write(piece)
                await writer.drain()
                self.taken += len(piece)
        except ConnectionError:
            pass
        finally:
            writer.close()
            self.done.set()


@pytest.mark.parametrize("announced", [connection.MAX_EARLY_FRAME + 1, GIB + GIB // 2, 2**31 - 1, -1, 3])
async def test_nothing_is_taken_of_a_long_frame_from_somebody_unknown(announced: int) -> None:
    flood = Flood(announced)
    async with flood.serving() as address, worlds.linked(ConnectionSettings((address,))) as link:
        with pytest.raises(errors.NotKafkaBroker):
            await link.nodes()
        await flood.done.wait()
    assert flood.taken < 16 * 2**20  # the sizes of the socket buffers on both sides


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_long_frame_in_the_place_of_a_token_is_refused(mechanism: str) -> None:
    spec = SaslSpec(plain={"ops": Secret("x")}, scram={"ops": Secret("x")})
    with hostile_cluster(ClusterSpec(brokers=1, sasl=spec)) as cluster:
        cluster.frame("sasl_authenticate", struct.pack(">i", 2 * connection.MAX_EARLY_FRAME) + bytes(100))
        assert "authentication" in asyncio.run(refused(cluster, mechanism)).failure.message


async def refused(cluster: HostileCluster, mechanism: str) -> errors.AdminError:
    settings = ConnectionSettings(
        (cluster.addresses[1],), "SASL_PLAINTEXT", sasl=SaslSettings(mechanism, "ops", Secret("x"))
    )
    async with worlds.linked(settings) as link:
        with pytest.raises(errors.AdminError) as raised:
            await link.nodes()
        return raised.value


@pytest.mark.parametrize("announced", [connection.MAX_FRAME + 1, GIB + GIB // 2, 2**31 - 1])
def test_an_answer_that_is_too_long_is_refused_with_its_size(hostile: HostileCluster, announced: int) -> None:
    hostile.frame("describe_acls", struct.pack(">i", announced) + bytes(100))
    result = run_kac("acls", "-b", hostile.bootstrap, "--list", memory=3 * GIB)
    assert result.returncode == 1
    assert f"{announced:,} bytes" in result.stderr
    assert f"{connection.MAX_FRAME:,}" in result.stderr
    assert sum(asked.key == 29 for asked in hostile.asked) == 1  # not sent again


async def test_of_a_change_with_such_an_answer_the_outcome_is_unknown(hostile: HostileCluster) -> None:
    hostile.frame("create_topics", struct.pack(">i", connection.MAX_FRAME + 1))
    async with worlds.linked(ConnectionSettings((hostile.addresses[1],))) as link:
        with pytest.raises(errors.OutcomeUnknown):
            await link.call(
                "create_topics",
                lambda kio: kio.CreateTopicsRequest(topics=(), validate_only=False),
                change=True,
            )


BROKERS, FIRST = 400, 1000
FILES = connections.MAX_OPEN + 80
"""The limit of open files, which is below the number of brokers. Python and the terminal need some of them."""


@asynccontextmanager
async def many_brokers(cluster: HostileCluster, *, answer: bool) -> AsyncIterator[None]:
    """Within the block the cluster advertises `BROKERS` more brokers, each on a loopback address of its own. All of
    them answer, or, if `answer` is false, never answer.
    """
    host, port = cluster.addresses[1]
    hosts = [f"127.1.{number // 250}.{number % 250 + 1}" for number in range(BROKERS)]
    waiting = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if not answer:
                await waiting.wait()
                return
            from_broker, to_broker = await asyncio.open_connection(host, port)
            await asyncio.gather(copy(reader, to_broker), copy(from_broker, writer))
        except ConnectionError:
            pass
        finally:
            writer.close()

    def advertised(kio: Any, response: Any) -> Any:
        like = response.brokers[0]
        name = "node_id" if hasattr(like, "node_id") else "broker_id"
        more = tuple(
            replace(like, host=each, port=own, **{name: FIRST + place}) for place, (each, own) in enumerate(addresses)
        )
        return replace(response, brokers=(like, *more))

    def without_nodes(_kio: Any, response: Any) -> Any:
        """Return the ApiVersions response without the version that names a node. One broker answers for all advertised
        brokers, and must not refuse because a request is for another node; brokers before 4.4 do not.
        """
        key, before = schemas.api_key("api_versions"), connection.TELLS_NODES - 1
        keys = (replace(each, max_version=before) if each.api_key == key else each for each in response.api_keys)
        return replace(response, api_keys=tuple(keys))

    server = await asyncio.start_server(serve, hosts, 0)
    addresses = [socket.getsockname() for socket in server.sockets]
    async with server:
        cluster.rewrite("api_versions", without_nodes)
        cluster.rewrite("metadata", advertised)
        cluster.rewrite("describe_cluster", advertised)
        yield
        waiting.set()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(2**16):
        writer.write(data)
        await writer.drain()
    writer.close()


@pytest.mark.slow
async def test_more_brokers_than_files_are_asked_one_after_another(hostile: HostileCluster) -> None:
    async with many_brokers(hostile, answer=True):
        result = await asyncio.to_thread(run_kac, "snapshot", "-b", hostile.bootstrap, files=FILES)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    document = json.loads(result.stdout)
    assert len(document["brokers"]) == BROKERS + 1
    assert "Too many open files" not in result.stdout + result.stderr
    assert "not asked" not in result.stdout
    assert sum(asked.key == 32 for asked in hostile.asked) > BROKERS


async def test_brokers_that_hang_are_named_and_those_that_were_not_asked_too(hostile: HostileCluster) -> None:
    settings = ConnectionSettings((hostile.addresses[1],), request_timeout=3.0, connect_timeout=1.0)
    resources = [broker_resource(FIRST + place) for place in range(BROKERS)]
    async with many_brokers(hostile, answer=False), worlds.linked(settings) as link:
        listing = await configs.describe_configs(link, [broker_resource(1), *resources])
        assert len(link.routes.connections._open) <= connections.MAX_OPEN
    assert set(listing.sets) == {broker_resource(1)}
    assert set(listing.failures) == set(resources)
    unasked = [each for each in listing.failures.values() if "was not asked" in each.message]
    assert BROKERS - 4 * connections.CONCURRENCY <= len(unasked) < BROKERS
    assert f"one of {BROKERS + 1} brokers" in unasked[0].message


async def test_connections_make_room_for_each_other(hostile: HostileCluster) -> None:
    # This process has a listener for each address, and both ends of each connection and of the proxied one.
    if why := too_few_files(BROKERS + 4 * connections.MAX_OPEN + 100):
        pytest.skip(why)
    async with (
        many_brokers(hostile, answer=True),
        worlds.linked(ConnectionSettings((hostile.addresses[1],))) as link,
    ):
        await link.nodes()
        asked = [link.version("metadata", broker(FIRST + place)) for place in range(BROKERS)]
        assert None not in await asyncio.gather(*asked)
        assert len(link.routes.connections._open) <= connections.MAX_OPEN

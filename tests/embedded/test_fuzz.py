"""Tests of invalid frames and requests: the broker answers them or closes the connection, never crashes, and still
serves other clients.
"""

import asyncio
import datetime
import logging
import signal
import struct
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.embedded import brokers, context, request_pipeline, spec
from console.wire.frames import is_flexible
from console.wire.schemas import messages
from tests.embedded.raw_client import RawClient, framed, header
from tests.embedded.test_state import RUN
from tests.support.children import async_child
from tests.support.examples import examples
from tests.support.kafka_messages import with_fields
from tests.wire.samples import sample, written


@cache
def versions() -> list[tuple[int, int]]:
    """Return (API key, version) of each version of each API. Computed on demand, because it takes a second of CPU
    time.
    """
    return [
        (key, version)
        for key, (low, high) in request_pipeline.advertised(spec.release("4.4"), proposals=True).items()
        for version in range(low, high + 1)
        if messages(key, version)
    ]


@cache
def request_bytes(key: int, version: int) -> bytes:
    """Return the bytes of a request, header included, with sample values."""
    found = messages(key, version)
    assert found is not None
    tags = b"\x00" if is_flexible(found.request) else b""
    return header(key, version) + tags + written(found.request, sample(found.request, 1))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Draw a valid request with a few bytes changed, its end cut off, or bytes appended."""
    data = bytearray(request_bytes(*draw(st.sampled_from(versions()))))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(data) - 1))
        data[place] = draw(st.sampled_from((0, 1, 0x7F, 0x80, 0xFF)) | st.integers(0, 255))
    cut = draw(st.integers(0, len(data)) | st.just(len(data)))
    return bytes(data[:cut]) + draw(st.binary(max_size=8))


FRAMES = st.one_of(
    st.binary(max_size=64),
    st.builds(
        lambda key, version, rest: header(key, version) + rest,
        st.integers(-2, 100),
        st.integers(-2, 20),
        st.binary(max_size=100),
    ),
    mutated(),
    mutated(),
)


async def dispatched(dispatcher: request_pipeline.Dispatcher, frame: bytes) -> None:
    """Dispatch a frame. Raises AssertionError unless the result is an answer to it, no answer, or a closed
    connection.
    """
    try:
        async with asyncio.timeout(0.05):
            answer = await dispatcher.answer(context.Session(1, "127.0.0.1", 1), frame)
    except (context.CloseConnection, TimeoutError):  # a fetch or a join may wait
        return
    assert answer is None or answer[4:8] == frame[4:8]
    assert answer is None or struct.unpack(">i", answer[:4])[0] == len(answer) - 4


def fuzz(count: int) -> None:
    cluster = brokers.EmbeddedCluster(spec.ClusterSpec(scenario="quiet"))
    dispatcher = request_pipeline.Dispatcher(cluster, cluster.pipeline, 1)
    loop = asyncio.new_event_loop()

    @examples(count // 5, at_length=count, suppress_health_check=list(HealthCheck))
    @given(FRAMES)
    def run(frame: bytes) -> None:
        loop.run_until_complete(dispatched(dispatcher, frame))

    try:
        run()
    finally:
        loop.close()


def test_no_frame_makes_a_broker_fail(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "console.embedded")
    fuzz(3000)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_the_others_live_on() -> None:
    async def sent(cluster: brokers.EmbeddedCluster, frames: list[bytes], cut: int) -> None:
        async with RawClient(cluster) as other:
            for frame in frames:
                async with RawClient(cluster) as client:
                    data = framed(frame)
                    client.send(data[: max(len(data) - cut, 1)])
                    client.writer.write_eof()
            assert await other.ask("metadata", 1, with_fields(topics=[]))

    with asyncio.Runner() as runner:
        cluster = brokers.EmbeddedCluster()
        runner.run(cluster.start())

        @given(st.lists(FRAMES, min_size=1, max_size=20), st.integers(0, 40))
        @examples(25, at_length=100)
        def run(frames: list[bytes], cut: int) -> None:
            runner.run(sent(cluster, frames, cut))

        try:
            run()
        finally:
            runner.run(cluster.stop())


# -- Well-formed requests with arbitrary values ------------------------------------------------------------------------

PLAIN_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
TEXTS = st.one_of(
    st.sampled_from(
        [
            "checkout.orders", "checkout_orders", "new", "other", "..", "__consumer_offsets", "__cluster_metadata",
            "retention.ms", "cleanup.policy", "log.cleaner.threads", "min.insync.replicas", "compact", "-1", "1", "x",
            "user", "client-id", "ip", "alice", "User:alice", "kafka-cluster", "*", "127.0.0.1", "billing",
            "producer_byte_rate", "controller_mutation_rate", "range", "consumer", "metadata.version", "a" * 250,
        ]
    ),
    PLAIN_TEXT,
)  # fmt: skip
LOW = st.integers(-2, 5)


def integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.one_of(LOW, LOW, st.sampled_from([low, high, high - 1]), st.integers(low, high))


def milliseconds(low: int, high: int) -> st.SearchStrategy[datetime.timedelta]:
    return st.one_of(LOW, st.sampled_from([low, high])).map(lambda count: datetime.timedelta(milliseconds=count))


I8, I16, I32, I64 = (integers(-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int8": I8.filter(lambda n: -128 <= n <= 127),
    "int16": I16,
    "int32": I32,
    "int64": I64,
    "uint16": st.integers(0, 2**16 - 1),
    "float64": st.one_of(st.sampled_from([0.0, 1.0, 1024.0, -1.0]), st.floats()),
    "bool": st.booleans(),
    "string": TEXTS,
    "bytes": st.binary(max_size=20),
    "records": st.none() | st.binary(max_size=80),
    "uuid": st.none() | st.sampled_from([None]),
    "error_code": st.just(0),
    "timedelta_i32": milliseconds(-(2**31), 2**31 - 1),
    "timedelta_i64": milliseconds(-(2**40), 2**40),
}


@st.composite
def entity(draw: st.DrawFn, type_: Any) -> Any:
    """Draw an instance of a kio request class, or of one of its structures."""
    return type_(**{field.name: draw(_value(field.type, field.metadata)) for field in fields(type_)})


def _value(type_: Any, metadata: Any) -> st.SearchStrategy[Any]:
    if get_origin(type_) is UnionType:
        part = next(each for each in get_args(type_) if each is not type(None))
        return st.none() | _value(part, metadata)
    if get_origin(type_) is tuple:
        return st.lists(_value(get_args(type_)[0], metadata), max_size=3).map(tuple)
    if is_dataclass(type_):
        return entity(type_)
    return VALUES[metadata["kafka_type"]]


def requests(versions: str) -> Iterator[tuple[int, int]]:
    for key, (low, high) in request_pipeline.advertised(spec.release(versions), proposals=True).items():
        yield from ((key, version) for version in range(low, high + 1) if messages(key, version))


@pytest.mark.parametrize("versions", spec.RELEASE_NAMES)
def test_no_request_makes_a_broker_fail(versions: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "console.embedded")
    cluster = brokers.EmbeddedCluster(spec.ClusterSpec(scenario="quiet", versions=versions))
    dispatchers = [request_pipeline.Dispatcher(cluster, cluster.pipeline, broker) for broker in cluster.state.alive()]
    loop = asyncio.new_event_loop()
    kinds = sorted(requests(versions))

    @examples(60, at_length=250, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        key, version = data.draw(st.sampled_from(kinds))
        found = messages(key, version)
        assert found is not None
        request = data.draw(entity(found.request))
        tags = b"\x00" if is_flexible(found.request) else b""
        frame = header(key, version) + tags + written(found.request, request)
        loop.run_until_complete(dispatched(data.draw(st.sampled_from(dispatchers)), frame))
        failures = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
        assert failures == [], request

    try:
        run()
    finally:
        loop.close()


# -- Thousands of frames over sockets to a cluster in a separate process -----------------------------------------------

SETTLED = 5_000
"""Number of frames after which the process should need no new memory."""
AT_ONCE = 50
"""Number of connections, each with one frame at a time, because some requests make a broker wait."""
ALLOWED = 10 * 2**20
"""Bytes by which the process may grow after `SETTLED` frames."""
_PROBE = framed(header(18, 0))


class Victim:
    """A connection to the broker that is opened again when the broker closes it."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, frame: bytes) -> None:
        """Send a frame and then a probe request, and wait at most a second for the answer to the probe. If it does not
        come, or the broker closes the connection, close this side, too.
        """
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        writer.write(framed(frame) + _PROBE)
        try:
            async with asyncio.timeout(1.0):
                while True:
                    size = int.from_bytes(await reader.readexactly(4), "big")
                    if (await reader.readexactly(size)).startswith(_PROBE[8:12]):
                        return
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):  # closed, or waiting, as a fetch may
            writer.transport.abort()
            self._streams = None


@pytest.mark.slow
@pytest.mark.parametrize("count", [5_000, pytest.param(50_000, marks=pytest.mark.long)])
def test_frames_leave_no_trace(count: int) -> None:
    loop = asyncio.new_event_loop()

    async def begin() -> tuple[asyncio.subprocess.Process, str]:
        process = await async_child(
            sys.executable, "-c", RUN, "--still", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        return process, (await process.stdout.readline()).decode()

    process, line = loop.run_until_complete(begin())
    complaints = loop.create_task(process.communicate())
    host, _, port = line.split(",")[0].partition(":")
    victims = [Victim(host, int(port)) for _ in range(AT_ONCE)]
    sizes: list[int] = []
    sent = 0

    async def send(frames: list[bytes]) -> None:
        await asyncio.gather(*(victim.send(frame) for victim, frame in zip(victims, frames, strict=True)))

    @settings(max_examples=count // AT_ONCE, suppress_health_check=list(HealthCheck))
    @given(st.lists(FRAMES, min_size=AT_ONCE, max_size=AT_ONCE))
    def run(frames: list[bytes]) -> None:
        nonlocal sent
        loop.run_until_complete(send(frames))
        sent += AT_ONCE
        if sent in (SETTLED, count):
            sizes.append(resident(process.pid))

    try:
        run()
        sizes.append(resident(process.pid))
        assert process.returncode is None
        assert sent >= count
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = loop.run_until_complete(complaints)
        loop.close()
    assert b"Traceback" not in errors
    assert b" ERROR " not in errors
    assert sizes[-1] - sizes[0] <= ALLOWED, sizes


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} has ended")

"""Frames that nobody should send: the broker answers or closes, never fails, and the others live on."""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import Awaitable, Callable
from functools import cache

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from console.embedded.brokers import EmbeddedCluster
from console.embedded.context import CloseConnection, Session
from console.embedded.request_pipeline import Dispatcher, advertised
from console.embedded.spec import ClusterSpec, release
from console.wire.frames import is_flexible
from console.wire.schemas import messages
from tests.embedded.raw_client import RawClient, framed, header
from tests.support.examples import examples
from tests.support.kafka_messages import with_fields
from tests.wire.samples import sample, written


@cache
def versions() -> list[tuple[int, int]]:
    """Each key with its versions. A second of the processor: not for every process that collects tests."""
    return [
        (key, version)
        for key, (low, high) in advertised(release("4.4"), proposals=True).items()
        for version in range(low, high + 1)
        if messages(key, version)
    ]


@cache
def request_bytes(key: int, version: int) -> bytes:
    """A whole request, full of samples."""
    found = messages(key, version)
    assert found is not None
    tags = b"\x00" if is_flexible(found.request) else b""
    return header(key, version) + tags + written(found.request, sample(found.request, 1))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A request that is right but for a few bytes, or its end, or what stands behind it."""
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


async def dispatched(dispatcher: Dispatcher, frame: bytes) -> None:
    """One frame; what may come of it is an answer to it, none, or a close."""
    try:
        async with asyncio.timeout(0.05):
            answer = await dispatcher.answer(Session(1, "127.0.0.1", 1), frame)
    except (CloseConnection, TimeoutError):  # a fetch or a join may wait
        return
    assert answer is None or answer[4:8] == frame[4:8]
    assert answer is None or struct.unpack(">i", answer[:4])[0] == len(answer) - 4


def fuzz(count: int, seen: Callable[[int], Awaitable[None]] | None = None) -> None:
    cluster = EmbeddedCluster(ClusterSpec(scenario="quiet"))
    dispatcher = Dispatcher(cluster, cluster.pipeline, 1)
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
    async def sent(cluster: EmbeddedCluster, frames: list[bytes], cut: int) -> None:
        async with RawClient(cluster) as other:
            for frame in frames:
                async with RawClient(cluster) as client:
                    data = framed(frame)
                    client.send(data[: max(len(data) - cut, 1)])
                    client.writer.write_eof()
            assert await other.ask("metadata", 1, with_fields(topics=[]))

    with asyncio.Runner() as runner:
        cluster = EmbeddedCluster()
        runner.run(cluster.start())

        @given(st.lists(FRAMES, min_size=1, max_size=20), st.integers(0, 40))
        @examples(25, at_length=100)
        def run(frames: list[bytes], cut: int) -> None:
            runner.run(sent(cluster, frames, cut))

        try:
            run()
        finally:
            runner.run(cluster.stop())

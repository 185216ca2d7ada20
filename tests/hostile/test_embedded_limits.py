"""What an embedded cluster lets a client take: before it has authenticated, in time, in connections, unpacked."""

from __future__ import annotations

import asyncio
import gzip
import struct
import tracemalloc
from dataclasses import replace
from uuid import uuid4

import pytest
from crc32c import crc32c

from console.embedded import brokers as server_connection
from console.embedded import record_batch as batches
from console.embedded.brokers import MAX_EARLY_REQUEST, EmbeddedCluster
from console.embedded.record_batch import keyless_records, record_times
from console.embedded.spec import ClusterSpec, SaslSpec
from console.embedded.tables import Partition, Topic
from console.model.secret import Secret
from console.wire.compression import Codec
from console.wire.record_batches import MOST_UNPACKED
from tests.embedded.raw_client import RawClient, framed, header
from tests.support.patience import PATIENCE

LOGIN = SaslSpec(plain={"ops": Secret("x")})
VERSIONS = framed(header(18, 0))


async def test_before_authentication_no_long_request_is_taken() -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=1, sasl=LOGIN)) as cluster:
        async with RawClient(cluster) as client:
            client.send(struct.pack(">i", MAX_EARLY_REQUEST + 1))
            assert await client.rest() == b""
        async with RawClient(cluster) as client:
            client.send(VERSIONS)
            assert await client.frame()


@pytest.mark.parametrize("begun", [b"", b"\x00", struct.pack(">i", 1000) + b"x"])
async def test_who_does_not_authenticate_in_time_has_to_leave(monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    monkeypatch.setattr(server_connection, "LOGIN_SECONDS", 0.1)
    async with EmbeddedCluster(ClusterSpec(brokers=1, sasl=LOGIN)) as cluster, RawClient(cluster) as client:
        client.send(VERSIONS + begun)
        await client.frame()
        assert await client.rest() == b""


@pytest.mark.parametrize("begun", [b"", b"\x00", struct.pack(">i", 1000) + b"x"])
async def test_an_idle_connection_and_one_that_never_ends_its_request_are_closed(begun: bytes) -> None:
    spec = ClusterSpec(brokers=1, static_configs={"connections.max.idle.ms": "100"})
    async with EmbeddedCluster(spec) as cluster, RawClient(cluster) as client:
        client.send(VERSIONS + begun)
        await client.frame()
        assert await client.rest() == b""


async def test_who_reads_no_answers_is_not_written_to_for_ever() -> None:
    spec = ClusterSpec(brokers=1, static_configs={"connections.max.idle.ms": "1000"})
    async with EmbeddedCluster(spec) as cluster:
        for number in range(2000):
            cluster.state.put_topic(Topic(f"topic-{number:04}", uuid4(), (Partition((1,), (1,), 1),)))
        async with RawClient(cluster) as client:
            client.send(VERSIONS)
            assert await client.frame()
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            client.send(100 * framed(header(3, 1) + struct.pack(">i", -1)))
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*cluster._listeners[1]._open)


async def test_a_broker_takes_so_many_connections_and_no_more() -> None:
    spec = ClusterSpec(brokers=1, static_configs={"max.connections": "3"})
    async with EmbeddedCluster(spec) as cluster:
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
    """A batch that claims a million records, packed with gzip."""
    head = bytearray(batches.HEADER_SIZE)
    head[16] = 2
    struct.pack_into(">i", head, 57, 1_000_000)
    made = batches.Batch(b"", 0, 999_999, 0, Codec.GZIP, 7, 7, -1, -1, -1, 1_000_000)
    struct.pack_into(">h", head, 21, Codec.GZIP)
    data = head + gzip.compress(records)
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return replace(made, data=bytes(data))


@pytest.mark.parametrize("size", [MOST_UNPACKED + 1, 256 * 2**20])
def test_a_small_batch_that_unpacks_to_a_lot_is_not_unpacked(size: int) -> None:
    bomb = packed(bytes(size))
    assert len(bomb.data) < size // 500
    tracemalloc.start()
    try:
        assert list(record_times(bomb)) == []
        assert keyless_records(bomb) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * MOST_UNPACKED

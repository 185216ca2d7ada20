"""More than anybody can take: announced frames, and brokers without number."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from console.admin.configs import describe_configs
from console.admin.connections import CONCURRENCY, MAX_OPEN
from console.admin.errors import AdminError, NotKafkaBroker, OutcomeUnknown
from console.admin.link import broker
from console.admin.settings import ConnectionSettings, SaslSettings
from console.embedded.spec import ClusterSpec, SaslSpec
from console.model.config import broker_resource
from console.model.secret import Secret
from console.wire.connection import MAX_EARLY_FRAME, MAX_FRAME, TELLS_NODES
from console.wire.schemas import api_key
from tests.hostile.cluster import HostileCluster, hostile_cluster
from tests.hostile.limited import run_kac
from tests.support import worlds
from tests.support.own_places import too_few_files

GIB = 2**30


class Flood:
    """A peer that answers each request with an announced length and as many zeros as are taken; counts them."""

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


@pytest.mark.parametrize("announced", [MAX_EARLY_FRAME + 1, GIB + GIB // 2, 2**31 - 1, -1, 3])
async def test_nothing_is_taken_of_a_long_frame_from_somebody_unknown(announced: int) -> None:
    flood = Flood(announced)
    async with flood.serving() as address, worlds.linked(ConnectionSettings((address,))) as link:
        with pytest.raises(NotKafkaBroker):
            await link.nodes()
        await flood.done.wait()
    assert flood.taken < 16 * 2**20  # what sockets hold between the two


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_long_frame_in_the_place_of_a_token_is_refused(mechanism: str) -> None:
    spec = SaslSpec(plain={"ops": Secret("x")}, scram={"ops": Secret("x")})
    with hostile_cluster(ClusterSpec(brokers=1, sasl=spec)) as cluster:
        cluster.frame("sasl_authenticate", struct.pack(">i", 2 * MAX_EARLY_FRAME) + bytes(100))
        assert "authentication" in asyncio.run(refused(cluster, mechanism)).failure.message


async def refused(cluster: HostileCluster, mechanism: str) -> AdminError:
    settings = ConnectionSettings(
        (cluster.addresses[1],), "SASL_PLAINTEXT", sasl=SaslSettings(mechanism, "ops", Secret("x"))
    )
    async with worlds.linked(settings) as link:
        with pytest.raises(AdminError) as raised:
            await link.nodes()
        return raised.value


@pytest.mark.parametrize("announced", [MAX_FRAME + 1, GIB + GIB // 2, 2**31 - 1])
def test_an_answer_that_is_too_long_is_refused_with_its_size(hostile: HostileCluster, announced: int) -> None:
    hostile.frame("describe_acls", struct.pack(">i", announced) + bytes(100))
    result = run_kac("acls", "-b", hostile.bootstrap, "--list", memory=3 * GIB)
    assert result.returncode == 1
    assert f"{announced:,} bytes" in result.stderr
    assert f"{MAX_FRAME:,}" in result.stderr
    assert sum(asked.key == 29 for asked in hostile.asked) == 1  # not asked again


async def test_of_a_change_with_such_an_answer_the_outcome_is_unknown(hostile: HostileCluster) -> None:
    hostile.frame("create_topics", struct.pack(">i", MAX_FRAME + 1))
    async with worlds.linked(ConnectionSettings((hostile.addresses[1],))) as link:
        with pytest.raises(OutcomeUnknown):
            await link.call(
                "create_topics",
                lambda kio: kio.CreateTopicsRequest(topics=(), validate_only=False),
                change=True,
            )


BROKERS, FIRST = 400, 1000
FILES = MAX_OPEN + 80
"""Fewer than there are brokers; Python and the terminal need some too."""


@asynccontextmanager
async def many_brokers(cluster: HostileCluster, *, answer: bool) -> AsyncIterator[None]:
    """The cluster advertises BROKERS more brokers at loopback addresses of their own, which all answer, or hang."""
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
        """One broker answers for all of them, as before 4.4: it does not say that another one is meant."""
        key, before = api_key("api_versions"), TELLS_NODES - 1
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
        listing = await describe_configs(link, [broker_resource(1), *resources])
        assert len(link.routes.connections._open) <= MAX_OPEN
    assert set(listing.sets) == {broker_resource(1)}
    assert set(listing.failures) == set(resources)
    unasked = [each for each in listing.failures.values() if "was not asked" in each.message]
    assert BROKERS - 4 * CONCURRENCY <= len(unasked) < BROKERS
    assert f"one of {BROKERS + 1} brokers" in unasked[0].message


async def test_connections_make_room_for_each_other(hostile: HostileCluster) -> None:
    # Each address listens; both ends of each connection, and of the one behind it, are in this process.
    if why := too_few_files(BROKERS + 4 * MAX_OPEN + 100):
        pytest.skip(why)
    async with (
        many_brokers(hostile, answer=True),
        worlds.linked(ConnectionSettings((hostile.addresses[1],))) as link,
    ):
        await link.nodes()
        asked = [link.version("metadata", broker(FIRST + place)) for place in range(BROKERS)]
        assert None not in await asyncio.gather(*asked)
        assert len(link.routes.connections._open) <= MAX_OPEN

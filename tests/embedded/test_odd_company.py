"""Tests of unusual conditions: two consoles at once, brokers that answer byte by byte, APIs whose versions are all
newer than kac's, and broker ids that are used again.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from console.admin.errors import Unsupported
from console.admin.settings import ConnectionSettings
from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from console.model.config import broker_resource, topic_resource
from console.plan.edits import SetConfig
from console.plan.reconcile import ApplyOptions
from console.session.reading import read_everything
from console.session.session import Session
from tests.support import worlds
from tests.support.changing import apply_plan

ORDERS = topic_resource("orders")
KEY = "retention.ms"
API_VERSIONS, METADATA = 18, 3


@asynccontextmanager
async def session_on(*addresses: tuple[str, int]) -> AsyncIterator[Session]:
    with worlds.session_on(ConnectionSettings(addresses), "run") as session:
        yield session


cluster = worlds.embedded(ClusterSpec(brokers=2), worlds.topic("orders", ((1, 2),), brokers=(1, 2)))


@pytest.mark.parametrize("force", [False, True])
async def test_two_consoles_that_apply_at_once(cluster: EmbeddedCluster, force: bool) -> None:
    """If two consoles apply edits of the same key at once, each reports its own edit's outcome; the second one stops,
    or with `force` overwrites the other value.
    """
    addresses = tuple(cluster.addresses.values())
    async with session_on(*addresses) as one, session_on(*addresses) as other:
        for session, value in ((one, "1000000"), (other, "2000000")):
            await session.read_cluster()
            await session.read_topics(["orders"])
            await session.read_configs([ORDERS])
            session.stage([SetConfig(ORDERS, KEY, value)])
        options = ApplyOptions(force=force, risks=frozenset({"retention-tiny"}))
        reports = await asyncio.gather(apply_plan(one, options), apply_plan(other, options))
        there = cluster.state.configs[ORDERS][KEY]
        assert there in ("1000000", "2000000")
        numbers = [report.change for report in reports if report.change is not None]
        assert len(set(numbers)) == len(numbers)
        for report, value in zip(reports, ("1000000", "2000000"), strict=True):
            if not report.sent:
                assert report.conflicts
                assert value != there
        assert any(report.sent and report.ok for report in reports)


@asynccontextmanager
async def by_bytes(address: tuple[str, int]) -> AsyncIterator[tuple[str, int]]:
    """Run a relay that forwards a broker's answers byte by byte, and yield its address."""

    async def hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(most):
                writer.write(data)
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()

    async def serve(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        broker, to_broker = await asyncio.open_connection(*address)
        await asyncio.gather(hand_on(client, to_broker, 1), hand_on(broker, to_client, 1))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[:2]
    finally:
        server.close()


async def test_a_broker_that_answers_byte_by_byte_is_read_and_changed() -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=1)) as cluster:
        cluster.state.put_topic(new_topic("orders", ((1,),), (1,)))
        (address,) = cluster.addresses.values()
        async with by_bytes(address) as relay:
            # The broker advertises the relay, so all requests go through it.
            cluster.state.put_broker(replace(cluster.state.brokers[1], port=relay[1]))
            async with session_on(relay) as session:
                await session.read_cluster()
                await session.read_topics(["orders"])
                await session.read_configs([ORDERS])
                session.stage([SetConfig(ORDERS, KEY, "86400000")])
                assert (await apply_plan(session)).ok
        assert cluster.state.configs[ORDERS][KEY] == "86400000"


async def test_each_api_that_is_newer_than_kac_is_named_and_the_others_are_read(cluster: EmbeddedCluster) -> None:
    known = dict(cluster.advertised)
    for key in known:
        if key in (API_VERSIONS, METADATA):
            continue  # without these no request is possible: tests/unit/test_newer_brokers.py
        cluster.advertised = {**known, key: (900, 1000)}
        async with session_on(*cluster.addresses.values()) as session:
            try:
                await read_everything(session)
            except Unsupported:
                continue
            assert session.snapshot.topics or session.snapshot.failures, key
            for failed in session.snapshot.failures:
                assert failed.failure.name == "UNSUPPORTED", (key, failed)


async def test_all_apis_that_go_on_beyond_what_kac_knows_are_used_as_it_knows_them(cluster: EmbeddedCluster) -> None:
    cluster.advertised = {key: (low, high + 100) for key, (low, high) in cluster.advertised.items()}
    async with session_on(*cluster.addresses.values()) as session:
        await read_everything(session)
        assert session.snapshot.topics
        assert not session.snapshot.failures


async def test_a_broker_id_that_is_used_again_is_read_anew_before_it_is_changed(cluster: EmbeddedCluster) -> None:
    """If another broker, with another value, gets a broker's id, the edit that was staged for the former broker is not
    applied.
    """
    resource = broker_resource(2)
    async with session_on(*cluster.addresses.values()) as session:
        await session.read_cluster()
        await session.read_configs([resource])
        session.stage([SetConfig(resource, "log.cleaner.threads", "2")])
        await cluster.broker_down(2)
        cluster.state.alter_config(resource, {"log.cleaner.threads": "3"})
        await cluster.broker_up(2)
        report = await apply_plan(session)
        assert not report.sent
        assert report.conflicts
        assert cluster.state.configs[resource]["log.cleaner.threads"] == "3"

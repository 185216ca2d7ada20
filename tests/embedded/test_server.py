"""How a broker takes requests: in order, within limits, and what it does with those that it can't read."""

from __future__ import annotations

import asyncio
import logging
import struct

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from tests.embedded.raw_client import RawClient, framed, header
from tests.support.kafka_messages import with_fields
from tests.support.older_brokers import like

METADATA_OF_NONE = header(3, 1) + struct.pack(">i", 0)


async def test_an_unknown_version_of_api_versions_is_answered_in_version_0(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        for version in (99, -1):
            client.send(framed(header(18, version) + b"\x00"))
            assert await client.frame() == struct.pack(">ihihhh", 7, 35, 1, 18, 0, 5)
        client.send(framed(header(18, 0)))
        assert (await client.frame())[:6] == struct.pack(">ih", 7, 0)


async def test_a_version_of_api_versions_that_an_older_release_lacks_is_answered_in_version_0() -> None:
    async with EmbeddedCluster(like("2.8")) as old, RawClient(old) as client:
        client.send(framed(header(18, 4) + b"\x00\x02a\x02b\x00"))
        assert await client.frame() == struct.pack(">ihihhh", 7, 35, 1, 18, 0, 3)


async def test_produce_is_told_from_version_0_but_ends_the_connection_there(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        versions = await client.ask(
            "api_versions", 4, with_fields(client_software_name="a", client_software_version="b")
        )
        assert [(each.min_version, each.max_version) for each in versions.api_keys if each.api_key == 0] == [(0, 13)]
        client.send(framed(header(0, 2) + struct.pack(">hii", 1, 1000, 0)))
        assert await client.rest() == b""


async def test_api_versions_of_a_client_with_an_odd_name(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        client.send(framed(header(18, 3) + b"\x00\x03a!\x02b\x00"))
        assert await client.frame() == bytes.fromhex("00000007002a010000000000")


UNREADABLE = {
    "an unknown key": framed(header(999, 0)),
    "an API that is not served": framed(header(4, 0)),
    "a version that is too high": framed(header(3, 99) + b"\x00"),
    "a version below all": framed(header(19, 0) + struct.pack(">iii", 0, 0, 0)),
    "no header": framed(b"\x00\x03\x00\x01"),
    "no bytes": framed(b""),
    "a client id behind the end": framed(header(3, 1, client=b"\x7f\xff")),
    "a body that ends too early": framed(header(3, 1) + b"\x00"),
    "an array of two billion": framed(header(3, 1) + struct.pack(">i", 2**31 - 1)),
    "a length below zero": struct.pack(">i", -5) + b"xxx",
    "a length of two billion": struct.pack(">i", 2**31 - 1),
    "one byte more than is allowed": struct.pack(">i", 100 * 1024 * 1024 + 1),
    "a tag behind the end": framed(header(18, 3) + b"\x01\x00\x7f"),
}


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=UNREADABLE)
async def test_what_can_not_be_read_ends_its_connection_and_no_other(
    cluster: EmbeddedCluster, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "console.embedded")
    async with RawClient(cluster) as other, RawClient(cluster) as client:
        client.send(data)
        assert await client.rest() == b""
        other.send(framed(METADATA_OF_NONE))
        assert await other.frame()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "\n" not in caplog.messages[0]


async def test_names_of_unknown_bytes_are_names_with_replacement_characters(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        client.send(framed(header(3, 1) + struct.pack(">ih", 1, 3) + b"a\xff\xfe"))
        answer = await client.frame()
        assert b"\x00\x11\x00\x07a\xef\xbf\xbd\xef\xbf\xbd\x00" in answer  # INVALID_TOPIC_EXCEPTION


async def test_unknown_tags_are_passed_over(cluster: EmbeddedCluster) -> None:
    tags = b"\x01\x63\x02\xff\xff"
    async with RawClient(cluster) as client:
        client.send(framed(header(18, 3) + tags + b"\x02a\x02b" + tags))
        assert (await client.frame())[:6] == struct.pack(">ih", 7, 0)


async def test_bytes_behind_a_request_and_a_missing_client_id_are_taken(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        client.send(framed(METADATA_OF_NONE + b"zz"))
        client.send(framed(header(3, 1, client=b"\xff\xff") + struct.pack(">i", 0)))
        assert len(await client.frame()) == len(await client.frame()) > 30


async def test_answers_come_in_order_while_later_requests_wait(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        for correlation_id in range(50):
            client.send(framed(header(3, 1, correlation_id) + struct.pack(">i", 0)))
        assert [struct.unpack(">i", (await client.frame())[:4])[0] for _ in range(50)] == list(range(50))


async def test_a_request_in_pieces(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        for byte in framed(METADATA_OF_NONE):
            client.send(bytes([byte]))
            await client.writer.drain()
        assert await client.frame()


async def test_requests_are_counted_by_api_broker_and_client(cluster: EmbeddedCluster) -> None:
    request = framed(METADATA_OF_NONE)
    async with RawClient(cluster, broker=2) as client:
        client.send(request * 3)
        sizes = [len(await client.frame()) + 4 for _ in range(3)]
    assert cluster.counters.total("metadata", 2, "x") == (3, 3 * len(request), sum(sizes))
    assert cluster.counters.total("metadata", 1).requests == 0
    assert cluster.counters.by_api() == {"metadata": 3}


async def test_a_broker_that_is_down_refuses_and_comes_back_at_its_port(cluster: EmbeddedCluster) -> None:
    alive = cluster.state.alive()
    cluster.state.put_topic(new_topic("t", striped(alive, 1, 3), alive))
    async with RawClient(cluster, broker=1) as lost, RawClient(cluster, broker=2) as client:
        await cluster.broker_down(1)
        assert await lost.rest() == b""
        with pytest.raises(OSError, match="onnect"):
            await asyncio.open_connection(*cluster.addresses[1])
        answer = await client.ask("metadata", 12, with_fields(topics=None, include_topic_authorized_operations=False))
        assert [broker.node_id for broker in answer.brokers] == [2, 3]
        (partition,) = answer.topics[0].partitions
        assert (partition.leader_id, partition.replica_nodes) == (2, (1, 2, 3))
        assert (partition.isr_nodes, partition.offline_replicas) == ((2, 3), (1,))
        await cluster.broker_up(1)
        async with RawClient(cluster, broker=1) as back:
            back.send(framed(METADATA_OF_NONE))
            assert await back.frame()
    assert cluster.state.topics["t"].partitions[0].isr == (1, 2, 3)


async def test_metadata_v0_leaves_dead_replicas_out_and_says_so(cluster: EmbeddedCluster) -> None:
    alive = cluster.state.alive()
    cluster.state.put_topic(new_topic("t", striped(alive, 1, 2), alive))
    await cluster.broker_down(2)
    async with RawClient(cluster) as client:
        everything = await client.ask("metadata", 0, with_fields(topics=[]))
        (partition,) = everything.topics[0].partitions
        assert (partition.error_code, partition.replica_nodes) == (9, (1,))
        none = await client.ask("metadata", 1, with_fields(topics=[]))
        assert none.topics == ()
        later = await client.ask("metadata", 1, with_fields(topics=None))
        (partition,) = later.topics[0].partitions
        assert (partition.error_code, partition.replica_nodes) == (0, (1, 2))


async def test_a_change_reaches_other_brokers_after_the_propagation_delay() -> None:
    spec = ClusterSpec(propagation_delay=0.2)
    async with EmbeddedCluster(spec) as cluster, RawClient(cluster, 1) as first, RawClient(cluster, 2) as second:
        await cluster.visible(cluster.state.log.end)
        alive = cluster.state.alive()
        cluster.state.put_topic(new_topic("t", striped(alive, 1, 2), alive))

        async def names(client: RawClient) -> list[str]:
            answer = await client.ask("metadata", 1, with_fields(topics=None))
            return [topic.name for topic in answer.topics]

        assert (await names(first), await names(second)) == (["t"], [])
        assert not await cluster.visible(cluster.state.log.end, 0.001)
        assert await cluster.visible(cluster.state.log.end)
        assert await names(second) == ["t"]


async def test_without_forwarding_only_the_controller_changes_topics() -> None:
    async with EmbeddedCluster(ClusterSpec(forwarding=False)) as cluster, RawClient(cluster, 2) as client:
        told = await client.ask("metadata", 1, with_fields(topics=[]))
        assert told.controller_id == 1
        answer = await client.ask("update_features", 1, with_fields(feature_updates=[]))
        assert answer.error_code == 41
        cluster.state.move_controller(2)
        answer = await client.ask("update_features", 1, with_fields(feature_updates=[]))
        assert answer.error_code == 0

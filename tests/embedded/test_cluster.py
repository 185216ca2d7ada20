"""Tests of the embedded cluster over sockets: brokers, clients, log directories."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest
from aiokafka.admin import AIOKafkaAdminClient  # type: ignore[import-untyped]
from kio.schema.index import api_key_map

from console.admin.client import AdminClient
from console.admin.cluster import describe_cluster
from console.admin.settings import ConnectionSettings
from console.admin.topics import describe_topics
from console.embedded import handlers, partition_log, replicas, tables
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.request_pipeline import advertised, handled_apis, handler
from console.embedded.spec import RELEASE_NAMES, ClusterSpec, release
from console.model.config import topic_resource
from tests.embedded import test_topics
from tests.embedded.raw_client import RawClient
from tests.embedded.test_proposals import Rights
from tests.support.kafka_messages import with_fields
from tests.support.older_brokers import known_release, like
from tests.support.requests_of_kafka import readable_versions

UPGRADE, SAFE, UNSAFE = 1, 2, 3
ALL = "The update failed for all features since the following feature had an error: "
DOWN = (
    "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
)
REFUSING = "Refusing to perform the requested downgrade because it might delete metadata information."


def updates(*wanted: tuple[str, int, int], dry: bool = True) -> Any:
    named = [{"feature": name, "max_version_level": level, "upgrade_type": kind} for name, level, kind in wanted]
    return with_fields(feature_updates=named, validate_only=dry)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            ("nope", 1, UPGRADE),
            "Invalid update version 1 for feature nope. Local controller 1 does not support this feature.",
        ),
        (("nope", 0, UPGRADE), "Invalid update version 0 for feature nope. Feature nope not found."),
        (
            ("metadata.version", 99, UPGRADE),
            "Invalid update version 99 for feature metadata.version. Local controller 1 only supports versions 7-33",
        ),
        (("metadata.version", 15, UPGRADE), f"Invalid update version 15 for feature metadata.version. {DOWN}"),
        (("metadata.version", 15, SAFE), f"Unsupported metadata.version downgrade from 33 to 15. {REFUSING}"),
        (
            ("metadata.version", 29, UNSAFE),
            "Unsupported metadata.version downgrade from 33 to 29. "
            "Unsafe metadata downgrade is not supported in this version.",
        ),
        (
            ("kraft.version", -1, SAFE),
            "Invalid update version -1 for feature kraft.version. A feature version cannot be less than 0.",
        ),
        (
            ("share.version", 1, 9),
            "Invalid update version 1 for feature share.version. "
            "The controller does not support the given upgrade type.",
        ),
        (("share.version", 0, UPGRADE), f"Invalid update version 0 for feature share.version. {DOWN}"),
    ],
)
async def test_features_that_can_not_be_updated(
    cluster: EmbeddedCluster, wanted: tuple[str, int, int], message: str
) -> None:
    async with RawClient(cluster) as client:
        for version in (1, 2):
            answer = await client.ask("update_features", version, updates(wanted))
            assert (answer.error_code, answer.error_message) == (95, ALL + message)
            assert getattr(answer, "results", ()) == ()


async def test_features_in_3_9_have_a_result_each() -> None:
    async with EmbeddedCluster(ClusterSpec(versions="3.9")) as cluster, RawClient(cluster) as client:
        wanted = (("share.version", 0, SAFE), ("nope", 1, UPGRADE), ("metadata.version", 20, UNSAFE))
        answer = await client.ask("update_features", 1, updates(*wanted, dry=False))
        assert (answer.error_code, answer.error_message) == (0, "")
        unsupported = "Invalid update version 1 for feature nope. Local controller 1 does not support this feature."
        assert {result.feature: (result.error_code, result.error_message) for result in answer.results} == {
            "metadata.version": (0, None),
            "nope": (95, unsupported),
            "share.version": (0, None),
        }
        assert cluster.state.features == {"metadata.version": 21}


async def test_a_feature_is_updated_unless_it_is_only_to_be_validated(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        for dry in (True, False):
            answer = await client.ask("update_features", 1, updates(("share.version", 0, SAFE), dry=dry))
            assert [(result.error_code, result.error_message) for result in answer.results] == [(0, "NONE")]
            assert ("share.version" in cluster.state.features) is dry
        versions = await client.ask(
            "api_versions", 4, with_fields(client_software_name="x", client_software_version="1")
        )
        assert "share.version" not in {feature.name for feature in versions.finalized_features}
        assert versions.finalized_features_epoch == cluster.state.log.end


def quorum(name: str, index: int) -> Any:
    return with_fields(topics=[(name, [index])])


async def test_the_quorum(cluster: EmbeddedCluster) -> None:
    cluster.state.move_controller(2)
    async with RawClient(cluster) as client:
        answer = await client.ask("describe_quorum", 2, quorum("__cluster_metadata", 0))
        (partition,) = answer.topics[0].partitions
        assert (partition.error_code, partition.leader_id) == (0, 2)
        assert partition.high_watermark == cluster.state.log.end
        assert [voter.replica_id for voter in partition.current_voters] == [1, 2, 3]
        assert {voter.log_end_offset for voter in partition.current_voters} == {cluster.state.log.end}
        for name, index in (("nope", 0), ("__cluster_metadata", 1)):
            answer = await client.ask("describe_quorum", 2, quorum(name, index))
            (partition,) = answer.topics[0].partitions
            assert (partition.error_code, partition.error_message) == (
                3,
                "This server does not host this topic-partition.",
            )


def partitions_of(*names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Any:
    return with_fields(topics=names, response_partition_limit=limit, cursor=cursor)


async def test_pages_of_partitions() -> None:
    async with EmbeddedCluster(ClusterSpec(scenario="quiet")) as cluster, RawClient(cluster) as client:
        seen: list[tuple[str, int]] = []
        cursor = None
        while True:
            answer = await client.ask("describe_topic_partitions", 0, partitions_of(limit=7, cursor=cursor))
            page = [(topic.name, part.partition_index) for topic in answer.topics for part in topic.partitions]
            assert len(page) == 7 or answer.next_cursor is None
            seen += page
            if answer.next_cursor is None:
                break
            cursor = (answer.next_cursor.topic_name, answer.next_cursor.partition_index)
        topics = cluster.state.topics
        assert seen == [(name, part) for name in sorted(topics) for part in range(len(topics[name].partitions))]


async def test_pages_that_can_not_be_asked_for() -> None:
    async with EmbeddedCluster(ClusterSpec(scenario="quiet")) as cluster, RawClient(cluster) as client:
        answer = await client.ask("describe_topic_partitions", 0, partitions_of("nope", "bad name", "nope"))
        assert [(topic.name, topic.error_code) for topic in answer.topics] == [("bad name", 17), ("nope", 3)]
        assert {topic.topic_authorized_operations for topic in answer.topics} == {3576}
        for cursor in (("checkout.orders", -7), ("zzz", 0)):
            answer = await client.ask(
                "describe_topic_partitions", 0, partitions_of("checkout.orders", limit=2, cursor=cursor)
            )
            assert [(topic.name, topic.error_code) for topic in answer.topics] == [("checkout.orders", 42)]
        answer = await client.ask("describe_topic_partitions", 0, partitions_of("checkout.orders", limit=0))
        assert [len(topic.partitions) for topic in answer.topics] == [1]
        assert answer.next_cursor.partition_index == 1


async def test_the_names_of_what_has_configs() -> None:
    async with EmbeddedCluster(ClusterSpec(scenario="quiet")) as cluster, RawClient(cluster) as client:

        async def names(*types: int) -> tuple[int, list[tuple[int, str]]]:
            answer = await client.ask("list_config_resources", 1, with_fields(resource_types=types))
            return answer.error_code, [(each.resource_type, each.resource_name) for each in answer.config_resources]

        brokers = [(type_, str(broker)) for type_ in (8, 4) for broker in (1, 2, 3)]
        own = [(32, "billing"), (16, "producers")]
        assert await names(4, 8, 16, 32) == (0, own + brokers)
        assert await names() == (0, own + brokers + [(2, name) for name in cluster.state.topics])
        assert await names(16, 1) == (35, [])
        answer = await client.ask("list_config_resources", 0, with_fields())
        assert [each.resource_name for each in answer.config_resources] == ["producers"]


async def test_brokers_with_those_that_are_down(cluster: EmbeddedCluster) -> None:
    await cluster.broker_down(3)

    def asking(endpoint: int, fenced: bool) -> Any:
        return with_fields(
            include_cluster_authorized_operations=True, endpoint_type=endpoint, include_fenced_brokers=fenced
        )

    async with RawClient(cluster) as client:
        answer = await client.ask("describe_cluster", 2, asking(1, True))
        assert [(broker.broker_id, broker.is_fenced) for broker in answer.brokers] == [
            (1, False),
            (2, False),
            (3, True),
        ]
        assert answer.cluster_authorized_operations == 8096
        assert answer.controller_id in (1, 2)
        answer = await client.ask("describe_cluster", 2, asking(1, False))
        assert [broker.broker_id for broker in answer.brokers] == [1, 2]
        answer = await client.ask("describe_cluster", 2, asking(2, False))
        assert (answer.error_code, answer.error_message) == (
            114,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
        )
        answer = await client.ask("describe_cluster", 2, asking(7, False))
        assert (answer.error_code, answer.error_message) == (115, "Unsupported endpoint type 7")


async def test_the_coordinator_leads_the_groups_partition(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        answer = await client.ask(
            "find_coordinator", 4, with_fields(key_type=0, coordinator_keys=["billing", "my-group"])
        )
        topic: tables.Topic = cluster.state.topics["__consumer_offsets"]
        assert [found.node_id for found in answer.coordinators] == [topic.partitions[n].leader for n in (9, 12)]
        assert [found.port for found in answer.coordinators] == [
            cluster.addresses[found.node_id][1] for found in answer.coordinators
        ]
        old = await client.ask("find_coordinator", 3, with_fields(key="billing", key_type=0))
        assert (old.node_id, old.error_message) == (answer.coordinators[0].node_id, "NONE")
        wrong = await client.ask("find_coordinator", 3, with_fields(key="billing", key_type=7))
        assert (wrong.error_code, wrong.node_id, wrong.port) == (42, -1, -1)
        assert wrong.error_message.startswith("This most likely occurs because of a request being malformed")


async def test_topics_by_name_and_by_id(cluster: EmbeddedCluster) -> None:
    def asking(*topics: tuple[str | None, UUID | None], create: bool = False) -> Any:
        named = [{"name": name, "topic_id": topic_id} for name, topic_id in topics]
        return with_fields(topics=named, allow_auto_topic_creation=create, include_topic_authorized_operations=True)

    async with RawClient(cluster) as client:
        answer = await client.ask("metadata", 12, asking(("nope", None), ("a b", None), ("nope", None), ("", None)))
        assert [(topic.name, topic.error_code) for topic in answer.topics] == [("nope", 3), ("a b", 17), ("", 17)]
        assert {topic.topic_authorized_operations for topic in answer.topics} == {3576}
        assert "nope" not in cluster.state.topics
        answer = await client.ask("metadata", 12, asking(("nope", None), create=True))
        assert [topic.error_code for topic in answer.topics] == [3]
        made = cluster.state.topics["nope"]
        answer = await client.ask("metadata", 12, asking((None, made.id), (None, UUID(int=77))))
        assert [(topic.name, topic.error_code, topic.topic_id) for topic in answer.topics] == [
            ("nope", 0, made.id),
            (None, 100, UUID(int=77)),
        ]
        answer = await client.ask("metadata", 12, asking((None, None)))
        assert [(topic.name, topic.error_code) for topic in answer.topics] == [("", -1)]
        assert answer.brokers == ()


@pytest.mark.parametrize(("versions", "quorum_there"), [("2.8", False), ("3.9", True), ("4.4", True)])
async def test_what_a_release_advertises_is_in_its_bounds(versions: str, quorum_there: bool) -> None:
    async with EmbeddedCluster(like(versions, proposals=False)) as cluster, RawClient(cluster) as client:
        answer = await client.ask("api_versions", 0, with_fields())
        told = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        assert {3, 10, 18, 60} <= set(told)
        assert (55 in told) is quorum_there
        for key, (low, high) in told.items():
            first, last = known_release(versions).apis[key]
            readable = readable_versions(key)
            assert first <= low <= high == (last if readable is None else min(last, readable[1]))


# -- kac's clients and aiokafka's connect, and see brokers and topics --------------------------------------------------


def add_topic(cluster: EmbeddedCluster, name: str, partitions: int = 3, replication: int = 2) -> None:
    alive = cluster.state.alive()
    cluster.state.put_topic(replicas.new_topic(name, replicas.striped(alive, partitions, replication), alive))


async def test_aiokafka_lists_topics(cluster: EmbeddedCluster) -> None:
    add_topic(cluster, "orders")
    admin = AIOKafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    await admin.start()
    try:
        assert await admin.list_topics() == ["orders"]
        (described,) = await admin.describe_topics(["orders"])
        assert [sorted(partition["replicas"]) for partition in described["partitions"]] == [[1, 2], [2, 3], [1, 3]]
    finally:
        await admin.close()


@pytest.mark.parametrize("versions", ["2.8", "3.9", "4.4"])
async def test_our_own_client_reads_the_cluster(versions: str) -> None:
    with run_in_thread(like(versions, racks={1: "a", 2: "b", 3: "c"})) as cluster:
        cluster.call(lambda running: add_topic(running, "orders"))
        hosts = cluster.bootstrap.split(",")
        bootstrap = tuple((host, int(port)) for host, _, port in (text.partition(":") for text in hosts))
        with AdminClient(ConnectionSettings(bootstrap)) as client:
            info = await client.run(describe_cluster)
            assert [(broker.id, broker.rack) for broker in info.brokers] == [(1, "a"), (2, "b"), (3, "c")]
            assert info.cluster_id == cluster.call(lambda running: running.state.cluster_id)
            listing = await client.run(describe_topics)
            assert [len(topic.partitions) for topic in listing.topics.values()] == [3]
            assert listing.topics["orders"].partitions[0].isr == (1, 2)
            assert listing.failures == {}


# -- Answers of a broker of 2.8.2 that was not the controller ----------------------------------------------------------

WORDS = "This is not the correct controller for this cluster."


async def test_each_in_its_way() -> None:
    async with EmbeddedCluster(ClusterSpec(forwarding=False)) as cluster, RawClient(cluster, broker=2) as client:
        asked = test_topics.topic("a", 1, 1), test_topics.topic("b", 0, 1), test_topics.topic("a", 1, 1)
        assert await test_topics.create(client, *asked) == [(41, "")] * 3
        assert await test_topics.delete(client, "a", "b") == {"a": (41, None), "b": (41, None)}
        assert await test_topics.grow(client, ("a", 2, None), ("a", 3, None)) == [(41, None)]
        assert await test_topics.move(client, ("a", 2, [1]), version=0) == [(41, WORDS)]
        answer = await client.ask("list_partition_reassignments", 0, with_fields(topics=None))
        assert (answer.error_code, answer.error_message, answer.topics) == (41, WORDS, ())
        assert await test_topics.elect(client, 0, [("a", 2)]) == (0, {"a": [(2, 41, None)]})
        assert not cluster.state.topics


# -- DescribeLogDirs and DeleteRecords, compared with the answers of brokers of 4.3.0 and 3.9.1 ------------------------

ALIVE = (1, 2, 3)


def directories(topics: Mapping[str, Sequence[int]] | None) -> Any:
    return with_fields(topics=None if topics is None else [*topics.items()])


def shown(result: Any) -> dict[str, list[tuple[int, int]]]:
    return {
        topic.name: [(part.partition_index, part.partition_size) for part in topic.partitions]
        for topic in result.topics
    }


@pytest.mark.parametrize(("release", "versions"), [("4.4", range(1, 6)), ("3.9", range(1, 5))])
async def test_replicas_that_a_broker_has(release: str, versions: range) -> None:
    async with EmbeddedCluster(ClusterSpec(versions=release)) as cluster, RawClient(cluster) as client:
        for name in ("t", "u"):
            cluster.state.put_topic(replicas.new_topic(name, [(1, 2), (2, 3), (3, 1)], ALIVE))
        cluster.state.logs["t", 0] = partition_log.PartitionLog(older_bytes=77)
        for version in versions:
            for wanted, expected in (
                (None, {"t": [(0, 77), (2, 0)], "u": [(0, 0), (2, 0)]}),
                ({"t": [0, 1, 5], "nope": [0]}, {"t": [(0, 77)]}),
                ({}, {}),
            ):
                answer = await client.ask("describe_log_dirs", version, directories(wanted))
                (result,) = answer.results
                assert shown(result) == expected
                assert getattr(answer, "error_code", 0) == 0 == result.error_code
                assert (result.log_dir,) == cluster.state.brokers[1].log_dirs
                if version >= 4:
                    assert result.total_bytes >= result.usable_bytes > 0


async def test_a_scenario_has_sizes_that_stay() -> None:
    sizes = []
    for _ in range(2):
        async with EmbeddedCluster(ClusterSpec(scenario="quiet")) as cluster, RawClient(cluster) as client:
            answer = await client.ask("describe_log_dirs", 4, directories(None))
            (result,) = answer.results
            sizes.append({name: parts for name, parts in shown(result).items() if not name.startswith("__")})
            assert sum(size for parts in shown(result).values() for _, size in parts) <= result.total_bytes
    assert sizes[0] == sizes[1]
    found = [size for parts in sizes[0].values() for _, size in parts]
    assert len(set(found)) > len(found) / 2
    assert sorted(found)[len(found) // 10] >= 2**18


async def test_others_are_served_while_300_000_replicas_are_told() -> None:
    async with (
        EmbeddedCluster(ClusterSpec(scenario="large")) as cluster,
        RawClient(cluster) as client,
        RawClient(cluster) as other,
    ):
        client.request("describe_log_dirs", 4, directories(None))
        large = asyncio.ensure_future(client.frame())
        for _ in range(3):
            assert await other.ask("metadata", 1, with_fields(topics=[]))
            assert not large.done()
        assert len(await large) > 300_000 * 22
        name = next(iter(cluster.state.topics))
        answer = await client.ask("describe_log_dirs", 4, directories({name: [0, 1, 2]}))
        assert [len(parts) for parts in shown(answer.results[0]).values()] == [3]


async def deleted(client: RawClient, *wanted: tuple[str, int, int]) -> list[tuple[int, int]]:
    topics = [(name, [(part, offset)]) for name, part, offset in wanted]
    answer = await client.ask("delete_records", 2, with_fields(topics=topics, timeout=5))
    return [(part.error_code, part.low_watermark) for topic in answer.topics for part in topic.partitions]


async def test_records_that_can_not_be_deleted(cluster: EmbeddedCluster) -> None:
    state = cluster.state
    for name, internal in (("t", False), ("compacted", False), ("internal", True)):
        state.put_topic(replicas.new_topic(name, [(1, 2), (2, 3)], ALIVE, internal=internal))
    state.alter_config(topic_resource("compacted"), {"cleanup.policy": "compact"})
    async with RawClient(cluster) as client:
        asked = [("t", 0, 5), ("t", 0, -5), ("t", 1, -1), ("nope", 0, -1), ("t", 9, -1), ("compacted", 0, -1)]
        assert await deleted(client, *asked) == [(1, -1), (1, -1), (6, -1), (3, -1), (3, -1), (44, -1)]
        assert await deleted(client, ("internal", 0, -1), ("t", 0, -1), ("t", 0, 0)) == [(17, -1), (0, 0), (0, 0)]
        cluster.authorizer = Rights(("READ", "TOPIC", "t"))
        assert await deleted(client, ("t", 0, -1), ("nope", 0, -1)) == [(29, -1), (29, -1)]


# -- The docstrings of handlers name their APIs and versions, as the brokers of the releases advertise them ------------

PRODUCE = 0
"""Brokers advertise Produce from version 0 on, for old clients, and serve it from version 3 on (KIP-896)."""
KEYS = {name: key for key, name in api_key_map.items() if name in handled_apis()}


@pytest.mark.parametrize("name", sorted(KEYS))
def test_a_handler_begins_with_its_api(name: str) -> None:
    key = KEYS[name]
    of_releases = [found[key] for each in RELEASE_NAMES if key in (found := advertised(release(each), proposals=False))]
    lowest, highest = min(low for low, _ in of_releases), max(high for _, high in of_releases)
    doc = handler(name, proposed=False).__doc__ or ""
    header = re.match(r"(\w+) \((\d+)\), v(\d+)(?:-(\d+))?: ", doc)
    assert header is not None, doc.splitlines()[0]
    api, number, first, last = header.groups()
    assert (api.lower(), int(number)) == (name.replace("_", ""), key)
    assert (int(first), int(last or first)) == (3 if key == PRODUCE else lowest, highest)


def test_the_index_has_every_api_by_its_key() -> None:
    found = {
        name: int(key) for key, name in re.findall(r"\b(\d+) ([a-z_]+)\b", handlers.__doc__.partition("By key:")[2])
    }
    assert found == KEYS

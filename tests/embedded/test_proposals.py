"""Tests over sockets of API formats that were proposed in KIPs."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, fields
from types import UnionType
from typing import Any, get_args, get_origin

import pytest
from kio.schema.metadata.v0.request import MetadataRequest as MetadataRequestV0
from kio.schema.metadata.v1.request import MetadataRequest as MetadataRequestV1
from kio.serial import entity_reader

from console.embedded import answers, faults, replicas, state, tables
from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import ClusterSpec
from console.model.acl import Acl
from console.model.codes import BROKER, TOPIC, AclOperation, AclResourceType
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.wire import frames, schemas
from console.wire.proposals import batched_describes as batched
from console.wire.proposals import kip4, table
from console.wire.proposals import kip21_configs as kip21
from console.wire.proposals import kip133_configs as kip133
from console.wire.proposals import kip248_quotas as kip248
from tests.support import kafka_messages, manual_clock, patience, worlds
from tests.support.notifications import missed, notifications


async def ask(cluster: EmbeddedCluster, kind: type[Any], broker: int | None = None, **given: Any) -> Any:
    """Send a request with these fields to a broker, or for None to the controller; return the response. Raises
    AssertionError unless each byte of it is decoded.
    """
    request = kafka_messages.entity(kind, given)
    host, port = cluster.addresses[broker or cluster.state.controller_id]
    reader, writer = await asyncio.open_connection(host, port)
    try:
        frame = frames.encode_header(request, 7, "test") + frames.encode_payload(request)
        writer.write(len(frame).to_bytes(4, "big") + frame)
        answer = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    finally:
        writer.close()
        await writer.wait_closed()
    found: Any = schemas.messages(request.__api_key__, request.__version__)
    response: Any = frames.with_open_codes(found.response)
    correlation_id, body = frames.split_response(response, answer)
    assert correlation_id == 7
    entity, size = entity_reader(response)(bytes(body), 0)
    assert size == len(body)
    return entity


class WatchedClock(manual_clock.ManualClock):
    """A manual clock that sets an event when a task waits in `sleep`."""

    def __init__(self) -> None:
        super().__init__()
        self.slept = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Set the event, and wait until the clock has advanced by `seconds`."""
        self.slept.set()
        await super().sleep(seconds)


async def until(cluster: EmbeddedCluster, is_so: Callable[[], bool]) -> None:
    """Wait until a change of the cluster's state makes a condition true. Raises TimeoutError after `patience.PATIENCE`
    seconds.
    """
    settled = asyncio.Event()
    unsubscribe = cluster.state.subscribe(lambda _: settled.set() if is_so() else None)
    if not is_so():
        async with asyncio.timeout(patience.PATIENCE):
            await settled.wait()
    unsubscribe()


class Rights:
    """An authorizer that allows every principal the listed (operation, resource type, name), and nothing else."""

    def __init__(self, *allowed: tuple[str, str, str]) -> None:
        self.allowed = frozenset(allowed)

    def allows(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, name: str, view: state.View
    ) -> bool:
        """Return whether the operation on the resource is listed."""
        return (operation.name, resource.name, name) in self.allowed

    def allows_somewhere(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, view: state.View
    ) -> bool:
        """Return whether the operation is listed for any resource of the type."""
        return any((operation.name, resource.name) == listed[:2] for listed in self.allowed)


ON_CLUSTER = ("CLUSTER", "kafka-cluster")


# -- KIP-4's Metadata v0 and v1, over sockets --------------------------------------------------------------------------


def with_topics(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(replicas.new_topic("t", [(3, 1)], [1, 2, 3]))
    cluster.state.put_topic(replicas.new_topic("inside", [(1,)], [1, 2, 3], internal=True))


def names(response: Any) -> set[str]:
    return {topic.name for topic in response.topics}


async def test_an_empty_list_is_all_topics_in_v0_and_none_in_v1(cluster: EmbeddedCluster) -> None:
    with_topics(cluster)
    assert names(await ask(cluster, MetadataRequestV0, topics=[])) == {"t", "inside"}
    assert names(await ask(cluster, MetadataRequestV0, topics=["t"])) == {"t"}
    assert names(await ask(cluster, MetadataRequestV1, topics=[])) == set()
    assert names(await ask(cluster, MetadataRequestV1, topics=None)) == {"t", "inside"}


async def test_v1_tells_of_the_controller_of_racks_and_of_internal_topics() -> None:
    async with EmbeddedCluster(ClusterSpec(racks={2: "r"}, forwarding=False)) as cluster:
        with_topics(cluster)
        cluster.state.move_controller(2)
        response = await ask(cluster, MetadataRequestV1, 3, topics=None)
        assert response.controller_id == 2
        assert {broker.node_id: broker.rack for broker in response.brokers} == {1: None, 2: "r", 3: None}
        assert {topic.name: topic.is_internal for topic in response.topics} == {"t": False, "inside": True}


async def test_dead_replicas_are_left_out_in_v0_and_stay_in_v1(cluster: EmbeddedCluster) -> None:
    with_topics(cluster)
    await cluster.broker_down(3)
    old = await ask(cluster, MetadataRequestV0, topics=["t"])
    (partition,) = old.topics[0].partitions
    assert (partition.error_code, partition.replica_nodes, partition.leader_id) == (9, (1,), 1)
    new = await ask(cluster, MetadataRequestV1, topics=None)
    (partition,) = next(topic for topic in new.topics if topic.name == "t").partitions
    assert (partition.error_code, partition.replica_nodes) == (0, (3, 1))
    assert 3 not in {broker.node_id for broker in new.brokers}


# -- KIP-4's CreateTopics and DeleteTopics, over sockets ---------------------------------------------------------------


def topic(
    name: str,
    partitions: int = -1,
    replication: int = -1,
    assignments: dict[int, tuple[int, ...]] | None = None,
    configs: dict[str, str] | None = None,
) -> tuple[Any, ...]:
    return name, partitions, replication, (assignments or {}).items(), (configs or {}).items()


async def create(
    cluster: EmbeddedCluster, *topics: tuple[Any, ...], wait: int = 5000, broker: int | None = None
) -> dict[str, int]:
    return codes(await ask(cluster, kip4.CreateTopicsRequest, broker, create_topic_requests=topics, timeout=wait))


async def delete(cluster: EmbeddedCluster, *names: str, wait: int = 5000, broker: int | None = None) -> dict[str, int]:
    return codes(await ask(cluster, kip4.DeleteTopicsRequest, broker, topics=names, timeout=wait))


def codes(response: Any) -> dict[str, int]:
    results = {result.topic: result.error_code for result in response.topic_error_codes}
    assert len(results) == len(response.topic_error_codes)
    return results


async def test_partitions_and_replicas_are_placed(cluster: EmbeddedCluster) -> None:
    assert await create(cluster, topic("t", 4, 2, configs={"retention.ms": "1000"})) == {"t": 0}
    made = cluster.state.topics["t"]
    assert [len(set(partition.replicas)) for partition in made.partitions] == [2] * 4
    assert cluster.state.configs[ConfigResource(TOPIC, "t")] == {"retention.ms": "1000"}


async def test_the_first_replica_of_an_assignment_is_the_preferred_leader(cluster: EmbeddedCluster) -> None:
    assert await create(cluster, topic("t", assignments={1: (2, 3), 0: (3, 1)})) == {"t": 0}
    partitions = cluster.state.topics["t"].partitions
    assert [(partition.replicas, partition.leader) for partition in partitions] == [((3, 1), 3), ((2, 3), 2)]


@pytest.mark.parametrize(
    ("refused", "code"),
    [
        (topic("t", 1, 1, {0: (1,)}), 42),
        (topic("t", 1, -1, {0: (1,)}), 42),
        (topic("t"), 42),
        (topic("t", 0, 1), 37),
        (topic("t", 1, 0), 38),
        (topic("t", 1, 4), 38),
        (topic("t", assignments={0: (1, 1)}), 39),
        (topic("t", assignments={1: (1,)}), 39),
        (topic("t", assignments={0: (1,), 1: (1, 2)}), 39),
        (topic("t", assignments={0: (9,)}), 39),
        (topic("t", assignments={0: ()}), 39),
        (topic("t", 2**31 - 1, 1), 37),
        (topic("no spaces", 1, 1), 17),
        (topic("", 1, 1), 17),
        (topic("the_re", 1, 1), 17),
        (topic("t", 1, 1, configs={"nope": "1"}), 40),
        (topic("t", 1, 1, configs={"retention.ms": "x"}), 40),
        (topic("there", 1, 1), 36),
    ],
)
async def test_a_refused_topic_leaves_the_others_alone(
    cluster: EmbeddedCluster, refused: tuple[Any, ...], code: int
) -> None:
    for name in ("there", "the.re"):
        cluster.state.put_topic(replicas.new_topic(name, [(1,)], [1, 2, 3]))
    assert await create(cluster, refused, topic("good", 1, 1)) == {refused[0]: code, "good": 0}
    assert set(cluster.state.topics) == {"there", "the.re", "good"}


async def test_a_topic_twice_is_one_error_and_not_created(cluster: EmbeddedCluster) -> None:
    assert await create(cluster, topic("t", 1, 1), topic("u", 1, 1), topic("t", 2, 1)) == {"t": 42, "u": 0}
    assert set(cluster.state.topics) == {"u"}


@pytest.mark.parametrize("wait", [0, -1])
async def test_without_a_timeout_it_is_started_and_not_waited_for(cluster: EmbeddedCluster, wait: int) -> None:
    assert await create(cluster, topic("t", 1, 1), topic("u", 0, 1), wait=wait) == {"t": 7, "u": 37}
    assert set(cluster.state.topics) == {"t"}
    assert await delete(cluster, "t", "none", wait=wait) == {"t": 7, "none": 17}
    assert not cluster.state.topics


async def slow(delay: float, **more: Any) -> tuple[EmbeddedCluster, WatchedClock]:
    clock = WatchedClock()
    cluster = EmbeddedCluster(ClusterSpec(propagation_delay=delay, **more), clock)
    clock.advance(60)
    await cluster.start()
    return cluster, clock


async def test_the_answer_comes_when_all_live_brokers_know() -> None:
    cluster, clock = await slow(2.0)
    try:
        clock.advance(10)
        answer = asyncio.create_task(create(cluster, topic("t", 1, 1)))
        await clock.slept.wait()
        assert "t" not in cluster.view_of(2).topics
        clock.advance(1.9)
        assert not answer.done()
        clock.advance(0.2)
        assert await answer == {"t": 0}
        assert "t" in cluster.view_of(2).topics
    finally:
        await cluster.stop()


async def test_at_the_timeout_only_the_unfinished_are_told_of() -> None:
    cluster, clock = await slow(2.0)
    try:
        clock.advance(10)
        for name in ("early", "late"):
            cluster.state.put_topic(replicas.new_topic(name, [(1,)], [1, 2, 3]))
        clock.advance(10)
        first = asyncio.create_task(delete(cluster, "early", wait=5000))
        await clock.slept.wait()
        clock.advance(1.5)
        clock.slept.clear()
        second = asyncio.create_task(delete(cluster, "early", "late", "none", wait=1000))
        await clock.slept.wait()
        clock.advance(0.6)
        assert await first == {"early": 0}
        clock.advance(0.6)
        assert await second == {"early": 0, "late": 7, "none": 17}
        clock.advance(5)
        assert not cluster.view_of(2).topics
    finally:
        await cluster.stop()


async def test_a_topic_that_gets_no_leader_is_not_complete() -> None:
    async with EmbeddedCluster(ClusterSpec()) as cluster:
        await cluster.broker_down(3)
        answer = await create(cluster, topic("t", assignments={0: (3,)}), topic("u", 1, 1), wait=50)
        assert answer == {"t": 7, "u": 0}
        waiting = asyncio.create_task(create(cluster, topic("v", assignments={0: (3,)})))
        await until(cluster, lambda: "v" in cluster.state.topics)
        await cluster.broker_up(3)
        assert await waiting == {"v": 0}


async def test_a_name_twice_is_deleted_once(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(replicas.new_topic("t", [(1,)], [1, 2, 3]))
    assert await delete(cluster, "t", "t", "none") == {"t": 0, "none": 17}


async def test_other_brokers_forward(cluster: EmbeddedCluster) -> None:
    assert await create(cluster, topic("t", 1, 1), broker=2) == {"t": 0}
    assert await delete(cluster, "t", broker=3) == {"t": 0}


async def test_without_forwarding_only_the_controller_answers() -> None:
    async with EmbeddedCluster(ClusterSpec(forwarding=False)) as cluster:
        assert await create(cluster, topic("t", 1, 1), broker=2) == {"t": 41}
        assert await create(cluster, topic("t", 1, 1), broker=1) == {"t": 0}
        assert await delete(cluster, "t", broker=2) == {"t": 41}
        assert set(cluster.state.topics) == {"t"}


async def test_creating_needs_create_on_the_cluster(cluster: EmbeddedCluster) -> None:
    cluster.authorizer = Rights()
    assert await create(cluster, topic("t", 1, 1)) == {"t": 31}
    cluster.authorizer = Rights(("CREATE", *ON_CLUSTER))
    assert await create(cluster, topic("t", 1, 1)) == {"t": 0}


async def test_a_topic_that_may_not_be_described_is_as_if_not_there(cluster: EmbeddedCluster) -> None:
    for name in ("hidden", "seen", "mine"):
        cluster.state.put_topic(replicas.new_topic(name, [(1,)], [1, 2, 3]))
    cluster.authorizer = Rights(("DESCRIBE", "TOPIC", "seen"), ("DELETE", "TOPIC", "mine"))
    assert await delete(cluster, "hidden", "seen", "mine", "none") == {"hidden": 17, "seen": 29, "mine": 0, "none": 17}


# -- KIP-133's and KIP-21's config requests, over sockets --------------------------------------------------------------

USER = QuotaEntity.of({"user": "a"})
CLIENT = QuotaEntity.of({"client-id": "c"})
RATE = "producer_byte_rate"
UNLIMITED = "9223372036854775807"

Told = tuple[str, bool, bool, bool]


async def list_v0(cluster: EmbeddedCluster, *resources: tuple[int, str]) -> list[tuple[int, int, str]]:
    response = await ask(cluster, kip133.ListConfigsRequest, 1, resources=resources)
    assert response.error_code == 0
    return [(item.error_code, item.resource_type, item.resource_name) for item in response.entities]


async def list_one(
    cluster: EmbeddedCluster, type_: int, name: str, keys: tuple[str, ...] | None = None, broker: int = 1
) -> dict[str, Told]:
    (item,) = (await ask(cluster, kip133.ListConfigsRequestV1, broker, resources=[(type_, name, keys)])).entities
    assert item.error_code == 0
    return {c.config_name: (c.config_value, c.read_only, c.is_default, c.is_sensitive) for c in item.configs}


async def test_users_and_clients_are_listed_with_their_defaults(cluster: EmbeddedCluster) -> None:
    cluster.state.alter_quota(USER, {RATE: 5.0})
    cluster.state.put("scram", tables.ScramKey("a", 2), tables.ScramCredential(b"salt", 4096, b"stored", b"server"))
    assert await list_one(cluster, 7, "a", (RATE, "SCRAM-SHA-512")) == {
        RATE: ("5", False, False, False),
        "SCRAM-SHA-512": ("", True, False, True),
    }
    assert await list_one(cluster, 6, "c", (RATE,)) == {RATE: (UNLIMITED, False, True, False)}
    assert len(await list_one(cluster, 6, "c")) == 4


async def test_a_resource_twice_is_listed_once_and_a_wrong_one_leaves_the_others(cluster: EmbeddedCluster) -> None:
    answer = await list_v0(cluster, (7, "a"), (3, "g"), (7, "a"), (7, ""), (5, "9"), (6, "c"))
    assert answer == [(0, 7, "a"), (42, 3, "g"), (42, 7, ""), (42, 5, "9"), (0, 6, "c")]


async def test_listing_needs_read_configs_on_the_cluster(cluster: EmbeddedCluster) -> None:
    cluster.authorizer = Rights(("DESCRIBE", *ON_CLUSTER))
    response = await ask(cluster, kip133.ListConfigsRequest, resources=[])
    assert (response.error_code, response.entities) == (31, ())
    cluster.authorizer = Rights(("DESCRIBE_CONFIGS", *ON_CLUSTER))
    assert await list_v0(cluster, (7, "a")) == [(0, 7, "a")]


async def alter(
    cluster: EmbeddedCluster,
    *resources: tuple[int, str, dict[str, str]],
    validate_only: bool = False,
    broker: int = 2,
) -> list[tuple[str, int]]:
    wanted = [(type_, name, configs.items()) for type_, name, configs in resources]
    answer = await ask(cluster, kip133.AlterConfigsRequest, broker, resources=wanted, validate_only=validate_only)
    responses = answer.responses
    assert all(bool(item.error_code) == bool(item.error_message) for item in responses)
    return [(item.resource_name, item.error_code) for item in responses]


async def test_an_error_leaves_the_other_resources_alone(cluster: EmbeddedCluster) -> None:
    answer = await alter(
        cluster,
        (7, "a", {RATE: "5"}),
        (6, "c", {RATE: "-1"}),
        (6, "d", {"nonsense": "1"}),
        (7, "b", {"SCRAM-SHA-256": "x", RATE: "5"}),
        (1, "any", {}),
        (6, "", {RATE: "1"}),
        (5, "9", {"num.io.threads": "1"}),
    )
    assert answer == [("a", 0), ("c", 40), ("d", 40), ("b", 10_002), ("any", 42), ("", 42), ("9", 42)]
    assert dict(cluster.state.quotas) == {USER: {RATE: 5.0}}


async def test_overrides_are_replaced(cluster: EmbeddedCluster) -> None:
    cluster.state.alter_quota(USER, {RATE: 5.0})
    assert await alter(cluster, (7, "a", {"request_percentage": "50"})) == [("a", 0)]
    assert cluster.state.quotas[USER] == {"request_percentage": 50.0}


async def test_a_resource_twice_is_one_error(cluster: EmbeddedCluster) -> None:
    answer = await alter(cluster, (7, "a", {RATE: "5"}), (6, "c", {RATE: "5"}), (7, "a", {RATE: "6"}))
    assert answer == [("a", 42), ("c", 0)]
    assert dict(cluster.state.quotas) == {CLIENT: {RATE: 5.0}}


async def test_validating_alters_nothing(cluster: EmbeddedCluster) -> None:
    end = cluster.state.log.end
    answer = await alter(cluster, (7, "a", {RATE: "5"}), (6, "c", {RATE: "x"}), validate_only=True)
    assert answer == [("a", 0), ("c", 40)]
    assert cluster.state.log.end == end


async def test_altering_needs_write_configs_on_the_cluster(cluster: EmbeddedCluster) -> None:
    cluster.authorizer = Rights(("ALTER", *ON_CLUSTER))
    assert await alter(cluster, (7, "a", {RATE: "5"})) == [("a", 31)]
    cluster.authorizer = Rights(("ALTER_CONFIGS", *ON_CLUSTER))
    assert await alter(cluster, (7, "a", {RATE: "5"})) == [("a", 0)]


async def kip21_alter(
    cluster: EmbeddedCluster, type_: str, name: str, added: list[tuple[str, str]], deleted: tuple[str, ...] = ()
) -> int:
    (result,) = (await ask(cluster, kip21.AlterConfigRequest, 2, entities=[(type_, name, added, deleted)])).entities
    assert (result.entity_type, result.entity_name) == (type_, name)
    return int(result.error_code)


async def kip21_describe(cluster: EmbeddedCluster, type_: str, name: str) -> tuple[int, dict[str, str]]:
    (result,) = (await ask(cluster, kip21.DescribeConfigRequest, 3, entities=[(type_, name)])).entities
    return result.error_code, {entry.config_key: entry.config_value for entry in result.config_entries}


async def test_a_deleted_entry_has_its_default_again(cluster: EmbeddedCluster) -> None:
    cluster.state.alter_quota(QuotaEntity.of({"client-id": None}), {RATE: 9.0})
    assert await kip21_alter(cluster, "client", "c", [(RATE, "5")]) == 0
    assert (await kip21_describe(cluster, "client", "c"))[1][RATE] == "5"
    assert await kip21_alter(cluster, "client", "c", [("request_percentage", "50")], (RATE,)) == 0
    code, configs = await kip21_describe(cluster, "client", "c")
    assert (code, configs[RATE], configs["request_percentage"]) == (0, "9", "50.0")


@pytest.mark.parametrize(
    ("added", "deleted"),
    [
        ([("nonsense", "1")], ()),
        ([(RATE, "-1")], ()),
        ([(RATE, "")], ()),
        ([(RATE, "1")], ("nonsense",)),
        ([(RATE, "1")], (RATE,)),
        ([(RATE, "1"), (RATE, "2")], ()),
    ],
)
async def test_wrong_configs_leave_the_entity_alone(
    cluster: EmbeddedCluster, added: list[tuple[str, str]], deleted: tuple[str, ...]
) -> None:
    assert await kip21_alter(cluster, "client", "c", added, deleted) == 10_000
    assert not cluster.state.quotas


@pytest.mark.parametrize(
    ("type_", "name"), [("user", "a"), ("topic", "none"), ("broker", "9"), ("broker", "x"), ("client", ""), ("", "t")]
)
async def test_wrong_entities(cluster: EmbeddedCluster, type_: str, name: str) -> None:
    assert await kip21_alter(cluster, type_, name, [(RATE, "1")]) == 10_001
    assert await kip21_describe(cluster, type_, name) == (10_001, {})


async def test_kip21_needs_rights_on_the_cluster(cluster: EmbeddedCluster) -> None:
    cluster.authorizer = Rights()
    assert await kip21_alter(cluster, "client", "c", [(RATE, "1")]) == 31
    assert await kip21_describe(cluster, "client", "c") == (31, {})


async def test_topics_are_listed_and_altered(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(replicas.new_topic("t", [(1,)], [1, 2, 3]))
    cluster.authorizer = Rights(("DESCRIBE_CONFIGS", *ON_CLUSTER), ("ALTER_CONFIGS", *ON_CLUSTER))
    answer = await alter(cluster, (2, "t", {"retention.ms": "1000"}), (2, "none", {}), (2, "t2", {"nonsense": "1"}))
    assert answer[0] == ("t", 0)
    assert all(code for _, code in answer[1:])
    assert await list_one(cluster, 2, "t", ("retention.ms", "cleanup.policy")) == {
        "retention.ms": ("1000", False, False, False),
        "cleanup.policy": ("delete", False, True, False),
    }
    assert await kip21_alter(cluster, "topic", "t", [("cleanup.policy", "compact")], ("retention.ms",)) == 0
    assert cluster.state.configs[ConfigResource(TOPIC, "t")] == {"cleanup.policy": "compact"}
    assert await kip21_alter(cluster, "topic", "t", [("nonsense", "1")]) == 10_000


async def test_brokers_tell_read_only_configs_of_themselves_only() -> None:
    async with EmbeddedCluster(ClusterSpec(static_configs={"log.retention.ms": "7"})) as cluster:
        own, other = await list_one(cluster, 5, "2", broker=2), await list_one(cluster, 5, "1", broker=2)
        assert any(read_only for _, read_only, _, _ in own.values())
        assert not any(read_only for _, read_only, _, _ in other.values())
        assert own["log.retention.ms"] == ("7", False, False, False)
        fixed = next(key for key, told in own.items() if told[1])
        assert await alter(cluster, (5, "1", {fixed: "1"})) == [("1", 10_002)]


async def test_dynamic_goes_before_the_file_and_that_before_the_default() -> None:
    async with EmbeddedCluster(ClusterSpec(static_configs={"log.retention.ms": "7"})) as cluster:
        assert (await kip21_describe(cluster, "broker", "1"))[1]["log.retention.ms"] == "7"
        assert await kip21_alter(cluster, "broker", "1", [("log.retention.ms", "8")]) == 0
        assert (await kip21_describe(cluster, "broker", "1"))[1]["log.retention.ms"] == "8"
        assert await kip21_alter(cluster, "broker", "1", [], ("log.retention.ms",)) == 0
        assert (await kip21_describe(cluster, "broker", "1"))[1]["log.retention.ms"] == "7"
        assert await kip21_alter(cluster, "broker", "1", [("log.dirs", "/elsewhere")]) == 10_000


# -- KIP-21's change notifications: in order, with versions, read later, deleted after 15 minutes ----------------------

BARE = ClusterSpec(versions="3.9")
"""A cluster of a release that has no dynamic configs at the start; later releases have one."""


def change_all(cluster: EmbeddedCluster) -> None:
    cluster.state.alter_config(ConfigResource(TOPIC, "t"), {"retention.ms": "1"})
    cluster.state.alter_quota(QuotaEntity.of({"user": "u"}), {"producer_byte_rate": 1.0})
    cluster.state.alter_quota(CLIENT, {"producer_byte_rate": 1.0})
    cluster.state.alter_config(ConfigResource(BROKER, "1"), {"log.retention.ms": "1"})
    cluster.state.alter_config(ConfigResource(TOPIC, "t"), {"retention.ms": None})


ALL = [("topic", "t"), ("client", "c"), ("broker", "1"), ("topic", "t")]


def test_every_change_has_an_entry_in_order() -> None:
    cluster = EmbeddedCluster(BARE, manual_clock.ManualClock())
    change_all(cluster)
    found = list(notifications(cluster.state))
    assert [(entry.entity_type, entry.entity_name) for entry in found] == ALL
    assert [entry.sequence for entry in found] == sorted({entry.sequence for entry in found})
    assert {entry.version for entry in found} == {1}
    assert list(notifications(cluster.state, found[1].sequence)) == found[2:]


def test_entries_are_dropped_after_15_minutes() -> None:
    clock = manual_clock.ManualClock()
    cluster = EmbeddedCluster(BARE, clock)
    cluster.state.alter_quota(CLIENT, {"producer_byte_rate": 1.0})
    clock.advance(600)
    cluster.state.alter_config(ConfigResource(TOPIC, "t"), {"retention.ms": "1"})
    clock.advance(300)
    assert len(list(notifications(cluster.state))) == 2
    clock.advance(1)
    assert [entry.entity_name for entry in notifications(cluster.state)] == ["t"]
    clock.advance(600)
    assert not list(notifications(cluster.state))


async def test_a_broker_that_was_down_catches_up() -> None:
    async with EmbeddedCluster(ClusterSpec()) as cluster:
        await cluster.broker_down(3)
        stopped = cluster.propagation.applied(3)
        change_all(cluster)
        assert [(entry.entity_type, entry.entity_name) for entry in missed(cluster.state, stopped)] == ALL
        assert CLIENT not in cluster.view_of(3).quotas
        await cluster.broker_up(3)
        assert cluster.view_of(3).quotas[CLIENT] == {"producer_byte_rate": 1.0}
        assert missed(cluster.state, cluster.propagation.applied(3)) == ()


# -- KIP-4's ListAcls and AlterAcls, and DescribeAcls with many filters, over sockets ----------------------------------

ALL_ON_CLUSTER = ("ALL", *ON_CLUSTER)
ANONYMOUS = "User:ANONYMOUS"


@pytest.fixture
async def open_cluster() -> AsyncIterator[EmbeddedCluster]:
    """Provide a cluster with three brokers on which every principal may do everything on the resource Cluster."""
    async with EmbeddedCluster(ClusterSpec()) as running:
        running.authorizer = Rights(ALL_ON_CLUSTER)
        yield running


def binding(
    name: str, principal: str = "User:a", operation: str = "READ", permission: str = "ALLOW", pattern: str = "LITERAL"
) -> Acl:
    return worlds.acl(principal, operation, "TOPIC", name, pattern=pattern, permission=permission)


Resource = tuple[int, str]
WireAcl = tuple[str, int, str, int]


def acl(principal: str = "User:a", operation: int = 3, permission: int = 3, host: str = "*") -> WireAcl:
    return principal, permission, host, operation


def resource(name: str, type_: int = 2) -> Resource:
    return type_, name


async def listed(
    open_cluster: EmbeddedCluster, principal: str | None = None, at: Resource = (-1, ""), broker: int | None = None
) -> tuple[int, dict[str, list[tuple[str, int]]]]:
    response = await ask(open_cluster, kip4.ListAclsRequest, broker, principal=principal, resource=at)
    return response.error_code, {
        item.resource.resource_name: [(found.acl_principal, found.acl_permission_type) for found in item.acls]
        for item in response.responses
    }


async def test_lists_by_principal_and_by_resource(open_cluster: EmbeddedCluster) -> None:
    for known in (binding("t"), binding("t", "User:b"), binding("u", permission="DENY")):
        open_cluster.state.add_acl(known)
    assert await listed(open_cluster) == (0, {"t": [("User:a", 3), ("User:b", 3)], "u": [("User:a", 2)]})
    assert await listed(open_cluster, "User:b") == (0, {"t": [("User:b", 3)]})
    assert await listed(open_cluster, None, resource("u")) == (0, {"u": [("User:a", 2)]})


async def test_finding_nothing_is_no_error(open_cluster: EmbeddedCluster) -> None:
    open_cluster.state.add_acl(binding("t"))
    assert await listed(open_cluster, "User:nobody") == (0, {})
    assert await listed(open_cluster, None, resource("none")) == (0, {})


async def test_any_broker_lists(open_cluster: EmbeddedCluster) -> None:
    open_cluster.forwarding = False
    open_cluster.state.add_acl(binding("t"))
    assert await listed(open_cluster, broker=3) == (0, {"t": [("User:a", 3)]})


async def test_without_all_on_the_cluster_one_sees_its_own_allow_entries(open_cluster: EmbeddedCluster) -> None:
    open_cluster.authorizer = Rights()
    for known in (binding("t", ANONYMOUS), binding("t", ANONYMOUS, permission="DENY"), binding("t")):
        open_cluster.state.add_acl(known)
    assert await listed(open_cluster, ANONYMOUS) == (0, {"t": [(ANONYMOUS, 3)]})
    assert await listed(open_cluster, "User:a") == (31, {})
    assert await listed(open_cluster) == (31, {})


async def test_prefixes_are_not_told_as_names(open_cluster: EmbeddedCluster) -> None:
    open_cluster.state.add_acl(binding("t", pattern="PREFIXED"))
    assert await listed(open_cluster) == (0, {})


async def altered(
    open_cluster: EmbeddedCluster, *requests: tuple[Resource, list[tuple[int, WireAcl]]], broker: int | None = None
) -> list[tuple[str, list[tuple[int, int]]]]:
    """Send an AlterAcls request; return the name of each resource, with (action, error code) of each action. broker:
    None for the controller.
    """
    response = await ask(open_cluster, kip4.AlterAclsRequest, broker, requests=requests)
    return [
        (item.resource.resource_name, [(result.action, result.error_code) for result in item.results])
        for item in response.responses
    ]


async def test_deletions_go_before_additions_whatever_their_order(open_cluster: EmbeddedCluster) -> None:
    assert await altered(open_cluster, (resource("t"), [(1, acl()), (0, acl())])) == [("t", [(1, 0), (0, 0)])]
    assert set(open_cluster.state.acls) == {binding("t")}
    assert await altered(open_cluster, (resource("t"), [(0, acl()), (1, acl("User:b"))])) == [("t", [(0, 0), (1, 0)])]
    assert set(open_cluster.state.acls) == {binding("t", "User:b")}


async def test_a_resource_twice_is_refused_once_and_left_alone(open_cluster: EmbeddedCluster) -> None:
    answer = await altered(
        open_cluster,
        (resource("t"), [(1, acl())]),
        (resource("u"), [(1, acl())]),
        (resource("t"), [(1, acl("User:b"))]),
    )
    assert answer == [("t", [(1, 42)]), ("u", [(1, 0)])]
    assert set(open_cluster.state.acls) == {binding("u")}


@pytest.mark.parametrize(
    ("at", "action", "what"),
    [
        (resource("t"), 2, acl()),
        (resource("t", -1), 1, acl()),
        (resource(""), 1, acl()),
        (resource("other", 4), 1, acl()),
        (resource("t"), 1, acl(operation=1)),
        (resource("t"), 1, acl(permission=1)),
        (resource("t"), 1, acl(principal="alice")),
        (resource("t"), 1, acl(host="")),
    ],
)
async def test_a_bad_action_does_not_stop_the_others(
    open_cluster: EmbeddedCluster, at: Resource, action: int, what: WireAcl
) -> None:
    answer = await altered(open_cluster, (at, [(action, what)]), (resource("good"), [(1, acl())]))
    assert answer == [(at[1], [(action, 42)]), ("good", [(1, 0)])]
    assert set(open_cluster.state.acls) == {binding("good")}


async def test_altering_needs_all_on_the_cluster_and_an_authorizer(open_cluster: EmbeddedCluster) -> None:
    open_cluster.authorizer = Rights(("ALTER", *ON_CLUSTER))
    assert await altered(open_cluster, (resource("t"), [(1, acl())])) == [("t", [(1, 31)])]
    open_cluster.authorizer = None
    assert await altered(open_cluster, (resource("t"), [(1, acl())])) == [("t", [(1, 54)])]
    assert await listed(open_cluster) == (54, {})
    assert not open_cluster.state.acls


async def test_only_the_controller_alters_unless_brokers_forward(open_cluster: EmbeddedCluster) -> None:
    assert await altered(open_cluster, (resource("t"), [(1, acl())]), broker=2) == [("t", [(1, 0)])]
    open_cluster.forwarding = False
    assert await altered(open_cluster, (resource("u"), [(1, acl())]), broker=2) == [("u", [(1, 41)])]
    assert await altered(open_cluster, (resource("u"), [(1, acl())]), broker=1) == [("u", [(1, 0)])]


Filter = tuple[int, str | None, int, str | None, str | None, int, int]


def wanted(name: str | None = None, pattern: int = 1, principal: str | None = None, operation: int = 1) -> Filter:
    return 1, name, pattern, principal, None, operation, 1


async def described(open_cluster: EmbeddedCluster, *filters: Filter) -> list[tuple[int, list[str]]]:
    response = await ask(open_cluster, batched.DescribeAclsRequest, filters=filters)
    return [
        (result.error_code, sorted(found.resource_name for found in result.resources))
        for result in response.filter_results
    ]


async def test_each_filter_has_its_result_at_its_place(open_cluster: EmbeddedCluster) -> None:
    open_cluster.authorizer = Rights(("DESCRIBE", *ON_CLUSTER))
    for known in (binding("t"), binding("u", "User:b"), binding("or", pattern="PREFIXED"), binding("*")):
        open_cluster.state.add_acl(known)
    assert await described(
        open_cluster,
        wanted(principal="User:b"),
        wanted("none", principal="User:b"),
        wanted(operation=99),
        wanted("orders", pattern=2),
        wanted("orders", pattern=3),
        wanted("or", pattern=4),
        wanted("t", pattern=1),
    ) == [(0, ["u"]), (0, []), (42, []), (0, ["*", "or"]), (0, []), (0, ["or"]), (0, ["t"])]


async def test_each_filter_is_refused_without_rights(open_cluster: EmbeddedCluster) -> None:
    open_cluster.authorizer = Rights()
    assert await described(open_cluster, wanted(), wanted("t")) == [(31, []), (31, [])]
    open_cluster.authorizer = None
    assert await described(open_cluster, wanted()) == [(54, [])]
    assert await described(open_cluster) == []


# -- KIP-248's quota requests, and DescribeClientQuotas with many filters, over sockets --------------------------------

Whose = tuple[int, str | None]
"""The type and the name of a quota's entity; None for the default."""
NOBODY: Whose = (0, None)


def user(name: str | None) -> Whose:
    return 5, name


def client(name: str | None) -> Whose:
    return 6, name


def entity(**parts: str | None) -> QuotaEntity:
    return QuotaEntity.of({key.replace("_", "-"): name for key, name in parts.items()})


@pytest.fixture
def quotas(cluster: EmbeddedCluster) -> EmbeddedCluster:
    """Provide a cluster with all kinds of quotas."""
    for whose, rate in (
        (entity(user="a"), 1.0),
        (entity(user=None), 2.0),
        (entity(user="b", client_id="c"), 3.0),
        (entity(user="b", client_id=None), 4.0),
        (entity(client_id="d"), 5.0),
        (entity(ip="10.0.0.1"), 6.0),
    ):
        cluster.state.alter_quota(whose, {RATE: rate})
    return cluster


async def quota_names(cluster: EmbeddedCluster, resource: Whose) -> tuple[int, tuple[str, ...]]:
    response = await ask(cluster, kip248.ListQuotasRequest, 2, quota_config_resource=resource)
    assert (response.error_code == 0) == (response.error_message is None)
    return response.error_code, response.quota_config_entity_names


async def test_lists_all_of_a_type_or_the_children_of_one(quotas: EmbeddedCluster) -> None:
    assert await quota_names(quotas, user(None)) == (0, ("<default>", "a", "b"))
    assert await quota_names(quotas, client(None)) == (0, ("d",))
    assert await quota_names(quotas, user("b")) == (0, ("<default>", "c"))
    assert await quota_names(quotas, user("<default>")) == (0, ())
    assert await quota_names(quotas, client("d")) == (0, ())
    assert await quota_names(quotas, (4, None)) == (42, ())


async def test_listing_needs_describe_on_the_cluster(quotas: EmbeddedCluster) -> None:
    quotas.authorizer = Rights(("DESCRIBE_CONFIGS", *ON_CLUSTER))
    assert await quota_names(quotas, user(None)) == (31, ())
    quotas.authorizer = Rights(("DESCRIBE", *ON_CLUSTER))
    assert (await quota_names(quotas, client(None)))[0] == 0


async def describe(
    cluster: EmbeddedCluster, parent: Whose, child: Whose = NOBODY, keys: tuple[str, ...] | None = None
) -> tuple[int, list[tuple[str, str, bool, bool, bool]]]:
    (result,) = (await ask(cluster, kip248.DescribeQuotasRequest, 3, resources=[(parent, child, keys)])).resources
    told = (result.quota_config_resource, result.child_quota_config_resource)
    assert tuple((each.type, each.name) for each in told) == (parent, child)
    (config,) = result.configs
    return config.error_code, [
        (e.config_name, e.config_value, e.read_only, e.is_default, e.is_sensitive) for e in config.config_entries
    ]


async def test_null_names_are_all_keys(quotas: EmbeddedCluster) -> None:
    assert await describe(quotas, user("a")) == (
        0,
        [
            (RATE, "1", False, False, False),
            ("consumer_byte_rate", "9223372036854775807", False, True, False),
            ("request_percentage", "2147483647.0", False, True, False),
            ("controller_mutation_rate", "2147483647.0", False, True, False),
        ],
    )
    assert await describe(quotas, user("a"), keys=()) == (0, [])


@pytest.mark.parametrize(
    ("parent", "child", "value", "is_default"),
    [
        (user("<default>"), NOBODY, "2", False),
        (user("other"), NOBODY, "2", True),
        (user("b"), client("c"), "3", False),
        (user("b"), client("<default>"), "4", False),
        (client("d"), NOBODY, "5", False),
        (client("e"), NOBODY, "9223372036854775807", True),
    ],
)
async def test_a_value_is_the_entitys_own_or_its_default(
    quotas: EmbeddedCluster, parent: Whose, child: Whose, value: str, is_default: bool
) -> None:
    keys = (RATE, "no_such_key")
    assert await describe(quotas, parent, child, keys) == (0, [(RATE, value, False, is_default, False)])


@pytest.mark.parametrize(
    ("parent", "child"),
    [
        (user(None), NOBODY),
        (user(""), NOBODY),
        (client("c"), user("a")),
        (client("c"), client("d")),
        (user("a"), client(None)),
        ((2, "t"), NOBODY),
        (NOBODY, NOBODY),
    ],
)
async def test_what_has_no_quotas(quotas: EmbeddedCluster, parent: Whose, child: Whose) -> None:
    assert await describe(quotas, parent, child) == (42, [])


async def test_describing_needs_describe_configs_on_the_cluster(quotas: EmbeddedCluster) -> None:
    quotas.authorizer = Rights(("DESCRIBE", *ON_CLUSTER))
    assert await describe(quotas, user("a")) == (31, [])


async def alter_quotas(
    cluster: EmbeddedCluster,
    values: dict[str, str],
    parent: Whose,
    child: Whose = NOBODY,
    *,
    validate_only: bool = False,
) -> dict[str, int]:
    wanted = [(parent, child, values.items())]
    response = await ask(cluster, kip248.AlterQuotasRequest, 2, validate_only=validate_only, resources=wanted)
    (result,) = response.resources
    return {config.config_name: config.error_code for config in result.configs}


async def test_each_key_has_its_result_and_good_ones_are_set(quotas: EmbeddedCluster) -> None:
    answer = await alter_quotas(
        quotas,
        {RATE: "1024", "consumer_byte_rate": "1.5", "request_percentage": "12.5", "nonsense": "1"},
        user("b"),
        client("<default>"),
    )
    assert answer == {RATE: 0, "consumer_byte_rate": 42, "request_percentage": 0, "nonsense": 42}
    assert quotas.state.quotas[entity(user="b", client_id=None)] == {RATE: 1024.0, "request_percentage": 12.5}


@pytest.mark.parametrize("bad", ["0", "-1", "nan", "inf", "much"])
async def test_values_that_are_no_quotas(quotas: EmbeddedCluster, bad: str) -> None:
    assert await alter_quotas(quotas, {RATE: bad}, user("a")) == {RATE: 42}
    assert quotas.state.quotas[entity(user="a")] == {RATE: 1.0}


async def test_an_empty_value_puts_the_default_back(quotas: EmbeddedCluster) -> None:
    assert await alter_quotas(quotas, {RATE: ""}, user("a")) == {RATE: 0}
    assert await describe(quotas, user("a"), keys=(RATE,)) == (0, [(RATE, "2", False, True, False)])


async def test_validating_alters_no_quota(quotas: EmbeddedCluster) -> None:
    end = quotas.state.log.end
    answer = await alter_quotas(quotas, {RATE: "7", "request_percentage": "x"}, user("a"), validate_only=True)
    assert answer == {RATE: 0, "request_percentage": 42}
    assert quotas.state.log.end == end


async def test_credentials_are_read_only_and_never_told(quotas: EmbeddedCluster) -> None:
    quotas.state.put("scram", tables.ScramKey("a", 1), tables.ScramCredential(b"salt", 4096, b"stored", b"server"))
    assert await describe(quotas, user("a"), keys=("SCRAM-SHA-256", "SCRAM-SHA-512")) == (
        0,
        [("SCRAM-SHA-256", "", True, False, True)],
    )
    assert await alter_quotas(quotas, {"SCRAM-SHA-256": "x", RATE: "9"}, user("a")) == {"SCRAM-SHA-256": 42, RATE: 0}


async def test_altering_needs_alter_configs_on_the_cluster(quotas: EmbeddedCluster) -> None:
    quotas.authorizer = Rights(("ALTER", *ON_CLUSTER))
    assert await alter_quotas(quotas, {RATE: "7"}, user("a")) == {RATE: 31}
    quotas.authorizer = Rights(("ALTER_CONFIGS", *ON_CLUSTER))
    assert await alter_quotas(quotas, {RATE: "7"}, user("a")) == {RATE: 0}


Component = tuple[str, int, str | None]


async def quotas_of(
    cluster: EmbeddedCluster, strict: bool, *filters: tuple[Component, ...]
) -> list[tuple[int, set[QuotaEntity] | None]]:
    wanted = [(components,) for components in filters]
    answer = await ask(cluster, batched.DescribeClientQuotasRequest, strict=strict, filters=wanted)
    return [
        (
            result.error_code,
            result.entries
            if result.entries is None
            else {QuotaEntity.of({p.entity_type: p.entity_name for p in entry.entity}) for entry in result.entries},
        )
        for result in answer.filter_results
    ]


async def test_each_filter_of_quotas_has_its_result_at_its_place(quotas: EmbeddedCluster) -> None:
    assert await quotas_of(
        quotas, False, (("user", 0, "a"),), (("user", 0, "b"),), (("user", 7, None),), (("ip", 2, None),), ()
    ) == [
        (0, {entity(user="a")}),
        (0, {entity(user="b", client_id="c"), entity(user="b", client_id=None)}),
        (42, None),
        (0, {entity(ip="10.0.0.1")}),
        (0, set(quotas.state.quotas)),
    ]


async def test_strict_is_for_all_filters(quotas: EmbeddedCluster) -> None:
    both: tuple[Component, ...] = (("user", 0, "b"), ("client-id", 1, None))
    assert await quotas_of(quotas, True, (("user", 0, "b"),), both, (("user", 2, None),), ()) == [
        (0, set()),
        (0, {entity(user="b", client_id=None)}),
        (0, {entity(user="a"), entity(user=None)}),
        (0, set()),
    ]


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ((("", 0, "a"),), 42),
        ((("user", 0, "a"), ("user", 0, "b")), 42),
        ((("user", 0, None),), 42),
        ((("user", 1, "a"),), 42),
        ((("user", 0, "a"), ("ip", 2, None)), 42),
        ((("planet", 0, "a"),), 35),
    ],
)
async def test_filters_that_are_refused(quotas: EmbeddedCluster, components: tuple[Component, ...], code: int) -> None:
    assert await quotas_of(quotas, False, components, (("user", 0, "a"),)) == [(code, None), (0, {entity(user="a")})]


async def test_batched_quotas_need_describe_configs_on_the_cluster(quotas: EmbeddedCluster) -> None:
    quotas.authorizer = Rights(("DESCRIBE", *ON_CLUSTER))
    assert await quotas_of(quotas, False, (), ()) == [(31, None), (31, None)]


# -- Injected errors in the proposals' own formats: at each item of the request, as in Kafka's -------------------------

CODE, MESSAGE = 9999, "so it was declared"


def two_of_each(entity: Any) -> Any:
    """Return an instance of an entity's class with arbitrary values, and with two items in each array."""
    return entity(**{field.name: some(field.type) for field in fields(entity)})


def some(type_: Any) -> Any:
    if get_origin(type_) is UnionType:
        type_ = get_args(type_)[0]
    if get_origin(type_) is tuple:
        return tuple(some(get_args(type_)[0]) for _ in range(2))
    return {int: 3, str: "x", bool: True, float: 1.0}[type_] if type_ in (int, str, bool, float) else two_of_each(type_)


def codes_in(answer: Any) -> list[int]:
    if isinstance(answer, dict):
        own = [answer["error_code"]] if "error_code" in answer else []
        return own + [code for value in answer.values() for code in codes_in(value)]
    return [code for item in answer for code in codes_in(item)] if isinstance(answer, tuple) else []


@pytest.mark.parametrize(
    ("found", "errors"),
    [
        (
            found,
            {"kip4_list_acls": 1, "kip248_list_quotas": 1, "kip4_alter_acls": 4, "kip248_alter_quotas": 4}.get(
                found.api, 2
            ),
        )
        for found in table.PROPOSED.values()
    ],
    ids=lambda value: f"{value.api}-{value.version}" if isinstance(value, schemas.Messages) else "",
)
def test_every_item_has_the_error(found: schemas.Messages, errors: int) -> None:
    answer: Any = answers.error_answer(two_of_each(found.request), found, CODE, MESSAGE)
    told = frames.decode_body(found.response, frames.encode_body(found.response, answer))
    assert asdict(told) == asdict(answer)
    at_the_top = found.api == "kip133_list_configs"
    assert codes_in(asdict(told)) == [CODE] * (errors + at_the_top)


async def test_some_items_fail_and_the_others_are_done(cluster: EmbeddedCluster) -> None:
    cluster.faults.add(faults.parse_fault("api=kip4_alter_acls,fail-some=INVALID_REQUEST"))
    told = {name: code for name, [(_, code)] in await altered(cluster, *((resource(n), [(1, acl())]) for n in "abc"))}
    failed = {name for name, code in told.items() if code}
    assert failed
    assert {known.resource_name for known in cluster.state.acls} == {"a", "b", "c"} - failed
    assert {told[name] for name in failed} == {42}


async def test_a_declared_error_reaches_each_filter(cluster: EmbeddedCluster) -> None:
    cluster.faults.add(faults.parse_fault("api=DescribeAcls,error=CLUSTER_AUTHORIZATION_FAILED"))
    assert await described(cluster, wanted(), wanted()) == [(31, []), (31, [])]


async def test_names_and_resources_are_named_again(cluster: EmbeddedCluster) -> None:
    for api in ("kip4_delete_topics", "kip133_alter_configs", "kip248_describe_quotas"):
        cluster.faults.add(faults.parse_fault(f"api={api},error=INVALID_REQUEST"))
    assert await delete(cluster, "a", "b", wait=1) == {"a": 42, "b": 42}
    altered = await ask(cluster, kip133.AlterConfigsRequest, resources=[(2, "a", [])], validate_only=True)
    assert [(item.resource_name, item.error_code, item.error_message) for item in altered.responses] == [("a", 42, "")]
    assert await describe(cluster, user("a")) == (42, [])

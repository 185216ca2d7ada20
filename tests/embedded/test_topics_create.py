"""CreateTopics: what brokers of 4.3.0 and 3.9.1 answered to the same requests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic
from console.embedded.scenarios.large import TOPICS
from console.embedded.spec import ClusterSpec
from console.model.config import CLUSTER_DEFAULT, topic_resource
from console.model.quota import QuotaEntity
from tests.embedded.proposals_client import Rights
from tests.embedded.raw_client import RawClient
from tests.embedded.topic_requests import create, topic
from tests.support.kafka_messages import with_fields

DONE = (0, None)
LONG = "x" * 250


@pytest.fixture
async def any_release(any_release: EmbeddedCluster) -> EmbeddedCluster:
    """Each release, with a topic."""
    any_release.state.put_topic(new_topic("there", [(1,)], [1, 2, 3]))
    return any_release


def too_few(release: str, wanted: int) -> str:
    cordoned = " or some brokers have all their log directories cordoned" if release == "4.4" else ""
    return (
        f"Unable to replicate the partition {wanted} time(s): The target replication factor of {wanted} cannot be "
        f"reached because only 3 broker(s) are registered{cordoned}."
    )


ASSIGNED = "The manual partition assignment includes "
NO_PARTITIONS = "Number of partitions was set to an invalid non-positive value."
NO_REPLICATION = "Replication factor must be larger than 0, or -1 to use the default value."
CHARACTERS = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
REFUSED: list[tuple[Any, tuple[int, str]]] = [
    (topic("there", 0, 9), (36, "Topic 'there' already exists.")),
    (
        topic("", 1, 1),
        (17, "Topic name is invalid: the empty string is not allowed"),
    ),
    (
        topic("..", 1, 1),
        (17, "Topic name is invalid: '..' is not allowed"),
    ),
    (
        topic("a/b", 1, 1),
        (17, f"Topic name is invalid: 'a/b' {CHARACTERS}"),
    ),
    (
        topic(LONG, 1, 1),
        (17, f"Topic name is invalid: the length of '{LONG}' is longer than the max allowed length 249"),
    ),
    (topic("__cluster_metadata", 1, 1), (42, "Creation of internal topic __cluster_metadata is prohibited.")),
    (topic("t", 0, 1), (37, NO_PARTITIONS)),
    (topic("t", -2, 1), (37, NO_PARTITIONS)),
    (topic("t", 1, 0), (38, NO_REPLICATION)),
    (topic("t", 0, 0), (38, NO_REPLICATION)),
    (
        topic("t", 3, -1, [(0, [1])]),
        (42, "A manual partition assignment was specified, but numPartitions was not set to -1."),
    ),
    (
        topic("t", 3, 1, [(0, [1])]),
        (42, "A manual partition assignment was specified, but replication factor was not set to -1."),
    ),
    (
        topic("t", assignments=[(0, [1]), (2, [1])]),
        (39, "partitions should be a consecutive 0-based integer sequence"),
    ),
    (
        topic("t", assignments=[(0, [1, 1])]),
        (39, f"{ASSIGNED}the broker 1 more than once."),
    ),
    (
        topic("t", assignments=[(0, [1]), (1, [1, 2])]),
        (
            39,
            f"{ASSIGNED}a partition with 2 replica(s), but this is not consistent with previous partitions, which have "
            "1 replica(s).",
        ),
    ),
    (topic("t", assignments=[(0, [1, 9])]), (39, f"{ASSIGNED}broker 9, but no such broker is registered.")),
    (topic("t", assignments=[(0, [1, -2])]), (39, f"{ASSIGNED}broker -2, but no such broker is registered.")),
    (
        topic("t", assignments=[(0, [1]), (0, [2])]),
        (39, "Found multiple manual partition assignments for partition 0"),
    ),
    (
        topic("t", 1, 1, configs=[("nope", "1")]),
        (40, "Unknown topic config name: nope"),
    ),
    (
        topic("t", 1, 1, configs=[("retention.ms", "x")]),
        (40, "Invalid value x for configuration retention.ms: Not a number of type LONG"),
    ),
    (
        topic("t", 1, 1, configs=[("retention.ms", None), ("segment.bytes", None)]),
        (40, "Null value not supported for topic configs: retention.ms,segment.bytes"),
    ),
    (
        topic("a b", 0, 9, [(0, [9])], [("x", "y")]),
        (17, f"Topic name is invalid: 'a b' {CHARACTERS}"),
    ),
    (
        topic("t", assignments=[(0, [9])], configs=[("x", "y")]),
        (40, "Unknown topic config name: x"),
    ),
]


@pytest.mark.parametrize(("asked", "expected"), REFUSED)
async def test_what_is_refused(any_release: EmbeddedCluster, asked: Any, expected: tuple[int, str]) -> None:
    async with RawClient(any_release) as client:
        assert await create(client, asked, topic("good", 1, 1), dry=True) == [expected, DONE]
        assert set(any_release.state.topics) == {"there"}


async def test_more_replicas_than_brokers(any_release: EmbeddedCluster) -> None:
    async with RawClient(any_release) as client:
        assert await create(client, topic("t", 1, 4)) == [(38, too_few(any_release.release.name, 4))]


async def test_a_name_twice(any_release: EmbeddedCluster) -> None:
    async with RawClient(any_release) as client:
        errors = await create(client, topic("t", 1, 1), topic("u", 1, 1), topic("t", 2, 1))
    assert errors == [(42, "Duplicate topic name."), DONE]
    assert set(any_release.state.topics) == {"there", "u"}


async def test_names_that_only_dots_and_underscores_tell_apart(any_release: EmbeddedCluster) -> None:
    async with RawClient(any_release) as client:
        assert await create(client, topic("a.b", 1, 1)) == [DONE]
        assert await create(client, topic("a_b", 1, 1)) == [(17, "Topic 'a_b' collides with existing topic: a.b")]
        # The controller compares with what was there before the request.
        assert await create(client, topic("c.d", 1, 1), topic("c_d", 1, 1)) == [DONE, DONE]
        any_release.state.remove_topic("a.b")
        assert await create(client, topic("a_b", 1, 1)) == [DONE]


async def test_nothing_is_made_without_time(any_release: EmbeddedCluster) -> None:
    async with RawClient(any_release) as client:
        for wait in (0, -1):
            name = f"t{wait}"
            errors = await create(client, topic(name, 1, 1), topic("there", 1, 1), wait=wait)
            assert errors == [(7, None)] * 2
            assert name not in any_release.state.topics


async def test_counts_defaults_and_assignments(any_release: EmbeddedCluster) -> None:
    state = any_release.state
    async with RawClient(any_release) as client:
        asked = (topic("a", 4, 2), topic("b"), topic("c", assignments=[(1, [2, 3]), (0, [3, 1])]))
        assert await create(client, *asked) == [DONE] * 3
    assert [len(set(partition.replicas)) for partition in state.topics["a"].partitions] == [2] * 4
    assert {partition.leader for partition in state.topics["a"].partitions} == {1, 2, 3}
    assert [len(partition.replicas) for partition in state.topics["b"].partitions] == [1]
    assert [partition.replicas for partition in state.topics["c"].partitions] == [(3, 1), (2, 3)]


@pytest.mark.parametrize("version", [2, 3, 4, 5, 6, 7])
async def test_the_answer_tells_of_the_topic(any_release: EmbeddedCluster, version: int) -> None:
    any_release.state.alter_config(CLUSTER_DEFAULT, {"log.retention.ms": "5000"})
    configs = [("cleanup.policy", "compact , delete"), ("preallocate", "true")]
    async with RawClient(any_release) as client:
        asked = topic("t", 3, 2, configs=configs), topic("there", 1, 1)
        answer = await create(client, *asked, version=version, errors=False)
        made, refused = answer.topics
        assert (made.name, made.error_code, refused.error_code) == ("t", 0, 36)
        assert any_release.state.configs[topic_resource("t")] == dict(configs)
        if version < 5:
            return
        assert (made.num_partitions, made.replication_factor) == (3, 2)
        assert (refused.num_partitions, refused.replication_factor, refused.configs) == (-1, -1, ())
        count = {"3.9": 36, "4.0": 33, "4.4": 37}[any_release.release.name]
        told = {config.name: (config.value, config.config_source) for config in made.configs}
        assert len(told) == len(made.configs) == count
        assert told["cleanup.policy"] == ("compact , delete", 1)
        assert told["retention.ms"] == ("5000", 3)
        assert told["segment.bytes"] == ("1073741824", 5)
        if version >= 7:
            assert made.topic_id == any_release.state.topics["t"].id
            assert refused.topic_id is None


async def test_a_controller_writes_ten_thousand_records_at_most(cluster: EmbeddedCluster) -> None:
    many = (44, "Excessively large number of partitions per request.")
    large = (44, "Unable to perform excessively large batch operation.")
    async with RawClient(cluster) as client:
        assert await create(client, topic("big", 10_001, 1), topic("small", 1, 1)) == [many, many]
        assert await create(client, topic("a", 6000, 1), topic("b", 6000, 1), topic("c", 1, 1), dry=True) == [many] * 3
        assert await create(client, topic("big", 2**31 - 1, 1)) == [many]
        assert await create(client, topic("big", 10_000, 1), dry=True) == [large]
        assert await create(client, topic("big", 9999, 1), dry=True) == [DONE]
        assert await create(client, topic("big", 9999, 1, configs=[("retention.ms", "1")])) == [large]
    assert not cluster.state.topics


async def test_rights() -> None:
    async with EmbeddedCluster(ClusterSpec()) as cluster, RawClient(cluster) as client:
        mine = [("CREATE", "TOPIC", name) for name in ("new", "told")]
        cluster.authorizer = Rights(*mine, ("DESCRIBE_CONFIGS", "TOPIC", "told"))
        refused = (29, "Authorization failed.")
        answer = await create(client, *(topic(name, 1, 1) for name in ("new", "told", "no", "a b")), errors=False)
        assert [(each.error_code, each.error_message) for each in answer.topics] == [DONE, DONE, refused, refused]
        assert [each.topic_config_error_code for each in answer.topics] == [29, 0, 0, 0]
        assert [each.num_partitions for each in answer.topics] == [-1, 1, -1, -1]
        assert len(answer.topics[1].configs) > len(answer.topics[0].configs) == 0
        cluster.authorizer = Rights(("CREATE", "CLUSTER", "kafka-cluster"))
        assert await create(client, topic("no", 1, 1)) == [DONE]


async def test_brokers_that_are_down_hold_replicas_but_never_lead(any_release: EmbeddedCluster) -> None:
    await any_release.broker_down(3)
    async with RawClient(any_release) as client:
        errors = await create(client, topic("t", 6, 3), topic("u", assignments=[(0, [3])]), topic("v", 6, 2), wait=50)
    fenced = (
        "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled shutdown."
    )
    assert errors == [DONE, (39, fenced), DONE]
    partitions = any_release.state.topics["t"].partitions
    assert {partition.leader for partition in partitions} == {1, 2}
    assert all(3 not in partition.isr and partition.leader == partition.replicas[0] for partition in partitions)


async def test_who_creates_too_much_is_held_back() -> None:
    async with EmbeddedCluster(ClusterSpec()) as cluster, RawClient(cluster, client_id="eager") as client:
        cluster.state.alter_quota(QuotaEntity.of({"client-id": "eager"}), {"controller_mutation_rate": 1.0})
        assert await create(client, topic("a", 12, 1)) == [DONE]
        answer = await create(client, topic("b", 1, 1), topic("c", 0, 1), errors=False)
        assert [(each.error_code, each.error_message) for each in answer.topics] == [(89, None), (37, NO_PARTITIONS)]
        assert timedelta(seconds=0.5) < answer.throttle_time <= timedelta(seconds=1)
        assert set(cluster.state.topics) == {"a"}
    async with EmbeddedCluster(ClusterSpec()) as cluster, RawClient(cluster, client_id="old") as client:
        cluster.state.alter_quota(QuotaEntity.of({"client-id": "old"}), {"controller_mutation_rate": 100.0})
        answer = await create(client, topic("a", 1110, 1), version=5, errors=False)
        assert [each.error_code for each in answer.topics] == [0]
        assert timedelta(0) < answer.throttle_time <= timedelta(milliseconds=100)


async def test_metadata_creates_by_the_same_rules(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        cluster.state.put_topic(new_topic("a.b", [(1,)], [1, 2, 3]))
        answer = await client.ask(
            "metadata", 5, with_fields(topics=["new", "a_b", "no spaces"], allow_auto_topic_creation=True)
        )
        assert [each.error_code for each in answer.topics] == [3, 3, 17]
        assert set(cluster.state.topics) == {"a.b", "new"}


async def test_nobody_looks_at_100_000_topics_for_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async with EmbeddedCluster(ClusterSpec(scenario="large")) as cluster, RawClient(cluster) as client:
        source: Any = cluster.state.tables.topics.source

        def walked(*_: Any) -> Any:
            raise AssertionError("all topics were looked at")

        monkeypatch.setattr(type(source), "items", walked)
        monkeypatch.setattr(type(source), "__iter__", walked)
        taken = source.name_at(TOPICS - 1)
        dotted, collides = await create(client, topic(taken, 1, 1), topic(taken.replace(".", "_"), 1, 1))
        assert dotted == (36, f"Topic '{taken}' already exists.")
        assert collides == (17, f"Topic '{taken.replace('.', '_')}' collides with existing topic: {taken}")
        assert await create(client, topic("new.one", 3, 3)) == [DONE]

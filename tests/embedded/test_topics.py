"""Tests of topics over sockets, compared with the answers of brokers of 4.3.0 and 3.9.1 to the same requests."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.embedded import replicas
from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic
from console.embedded.scenarios import large
from console.embedded.scenarios.large import TOPICS
from console.embedded.spec import ClusterSpec
from console.embedded.tables import Partition
from console.model.config import CLUSTER_DEFAULT, topic_resource
from console.model.quota import QuotaEntity
from tests.embedded.raw_client import RawClient
from tests.embedded.test_proposals import Rights, until
from tests.support.kafka_messages import with_fields
from tests.support.manual_clock import ManualClock
from tests.support.patience import PATIENCE

Assignments = Sequence[tuple[int, Sequence[int]]]
Error = tuple[int, str | None]

WAIT = 5000
"""The timeout in requests, in milliseconds."""


def topic(
    name: str,
    partitions: int = -1,
    replication: int = -1,
    assignments: Assignments = (),
    configs: Sequence[tuple[str, str | None]] = (),
) -> Any:
    """Return a topic for a CreateTopics request; -1 for the brokers' default number of partitions or replicas."""
    return (name, partitions, replication, assignments, configs)


async def create(
    client: RawClient, *topics: Any, version: int = 7, dry: bool = False, wait: int = WAIT, errors: bool = True
) -> Any:
    """Send a CreateTopics request; return the topics' errors in the response's order, or with `errors` False the whole
    response. dry: validate only. wait: timeout in ms.
    """
    answer = await client.ask(
        "create_topics", version, with_fields(topics=topics, timeout=wait / 1000, validate_only=dry)
    )
    return [error_of(result) for result in answer.topics] if errors else answer


async def delete(client: RawClient, *wanted: str | UUID, version: int = 6, wait: int = WAIT) -> dict[Any, Error]:
    """Send a DeleteTopics request for names or ids; return name -> error, or id -> error if the response has no
    name.
    """
    states = [(None, each) if isinstance(each, UUID) else (each, None) for each in wanted]
    named = {"topic_names": wanted} if version < 6 else {"topics": states}
    answer = await client.ask("delete_topics", version, with_fields(timeout=wait / 1000, **named))
    results = {result.name or result.topic_id: error_of(result) for result in answer.responses}
    assert len(results) == len(answer.responses)
    return results


async def grow(
    client: RawClient,
    *wanted: tuple[str, int, Sequence[Sequence[int]] | None],
    version: int = 3,
    dry: bool = False,
    wait: int = WAIT,
) -> list[Error]:
    """Send a CreatePartitions request for (topic, new count, assignments); return the topics' errors. dry: validate
    only.
    """
    topics = [(name, count, given and [(brokers,) for brokers in given]) for name, count, given in wanted]
    answer = await client.ask(
        "create_partitions", version, with_fields(topics=topics, timeout=wait / 1000, validate_only=dry)
    )
    return [error_of(result) for result in answer.results]


async def move(
    client: RawClient,
    *moves: tuple[str, int, Sequence[int] | None],
    version: int = 1,
    wait: int = WAIT,
    any_replication: bool = True,
) -> list[Error]:
    """Send an AlterPartitionReassignments request for (topic, partition, replicas); None as replicas cancels. Return
    the errors of the partitions, or that of the whole request.
    """
    topics: dict[str, list[tuple[int, Sequence[int] | None]]] = {}
    for name, number, target in moves:
        topics.setdefault(name, []).append((number, target))
    answer = await client.ask(
        "alter_partition_reassignments",
        version,
        with_fields(timeout=wait / 1000, allow_replication_factor_change=any_replication, topics=[*topics.items()]),
    )
    if answer.error_code:
        return [error_of(answer)]
    return [error_of(part) for each in answer.responses for part in each.partitions]


async def moving(client: RawClient, wanted: Mapping[str, Sequence[int]] | None = None) -> dict[tuple[str, int], Any]:
    """List the reassignments. Return (topic, partition) -> replicas, added replicas, removed replicas. wanted: topic ->
    partitions; None for all.
    """
    topics = None if wanted is None else [*wanted.items()]
    answer = await client.ask("list_partition_reassignments", 0, with_fields(timeout=WAIT / 1000, topics=topics))
    assert answer.error_code == 0
    return {
        (each.name, part.partition_index): (part.replicas, part.adding_replicas, part.removing_replicas)
        for each in answer.topics
        for part in each.partitions
    }


async def elect(
    client: RawClient, kind: int, places: Sequence[tuple[str, int]] | None, version: int = 2, wait: int = WAIT
) -> tuple[int, dict[str, list[tuple[int, int, str | None]]]]:
    """Send an ElectLeaders request; return the error code of the whole request, and topic -> (partition, error code,
    message). kind: 0 preferred, 1 unclean. places: None for all partitions.
    """
    topics: dict[str, list[int]] = {}
    for name, number in places or ():
        topics.setdefault(name, []).append(number)
    wanted = None if places is None else [*topics.items()]
    answer = await client.ask(
        "elect_leaders", version, with_fields(election_type=kind, topic_partitions=wanted, timeout=wait / 1000)
    )
    return getattr(answer, "error_code", 0), {
        each.topic: [(part.partition_id, part.error_code, part.error_message) for part in each.partition_result]
        for each in answer.replica_election_results
    }


def error_of(result: Any) -> Error:
    """Return error code and message of a result; the message is None in versions without messages."""
    return result.error_code, getattr(result, "error_message", None)


# -- CreateTopics, compared with brokers of 4.3.0 and 3.9.1 ------------------------------------------------------------

DONE = (0, None)


@pytest.fixture
async def with_there(any_release: EmbeddedCluster) -> EmbeddedCluster:
    """Provide a cluster of each release in turn, with a topic `there`."""
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
    (topic("t", 0, 0), (38, NO_REPLICATION)),
    (
        topic("t", 3, -1, [(0, [1])]),
        (42, "A manual partition assignment was specified, but numPartitions was not set to -1."),
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
async def test_what_is_refused(with_there: EmbeddedCluster, asked: Any, expected: tuple[int, str]) -> None:
    async with RawClient(with_there) as client:
        assert await create(client, asked, topic("good", 1, 1), dry=True) == [expected, DONE]
        assert set(with_there.state.topics) == {"there"}


async def test_more_replicas_than_brokers(with_there: EmbeddedCluster) -> None:
    async with RawClient(with_there) as client:
        assert await create(client, topic("t", 1, 4)) == [(38, too_few(with_there.release.name, 4))]


async def test_a_name_twice(with_there: EmbeddedCluster) -> None:
    async with RawClient(with_there) as client:
        errors = await create(client, topic("t", 1, 1), topic("u", 1, 1), topic("t", 2, 1))
    assert errors == [(42, "Duplicate topic name."), DONE]
    assert set(with_there.state.topics) == {"there", "u"}


async def test_names_that_only_dots_and_underscores_tell_apart(with_there: EmbeddedCluster) -> None:
    async with RawClient(with_there) as client:
        assert await create(client, topic("a.b", 1, 1)) == [DONE]
        assert await create(client, topic("a_b", 1, 1)) == [(17, "Topic 'a_b' collides with existing topic: a.b")]
        # The controller compares only with the topics before the request.
        assert await create(client, topic("c.d", 1, 1), topic("c_d", 1, 1)) == [DONE, DONE]
        with_there.state.remove_topic("a.b")
        assert await create(client, topic("a_b", 1, 1)) == [DONE]


async def test_nothing_is_made_without_time(with_there: EmbeddedCluster) -> None:
    async with RawClient(with_there) as client:
        for wait in (0, -1):
            name = f"t{wait}"
            errors = await create(client, topic(name, 1, 1), topic("there", 1, 1), wait=wait)
            assert errors == [(7, None)] * 2
            assert name not in with_there.state.topics


async def test_counts_defaults_and_assignments(with_there: EmbeddedCluster) -> None:
    state = with_there.state
    async with RawClient(with_there) as client:
        asked = (topic("a", 4, 2), topic("b"), topic("c", assignments=[(1, [2, 3]), (0, [3, 1])]))
        assert await create(client, *asked) == [DONE] * 3
    assert [len(set(partition.replicas)) for partition in state.topics["a"].partitions] == [2] * 4
    assert {partition.leader for partition in state.topics["a"].partitions} == {1, 2, 3}
    assert [len(partition.replicas) for partition in state.topics["b"].partitions] == [1]
    assert [partition.replicas for partition in state.topics["c"].partitions] == [(3, 1), (2, 3)]


@pytest.mark.parametrize("version", [2, 3, 4, 5, 6, 7])
async def test_the_answer_tells_of_the_topic(with_there: EmbeddedCluster, version: int) -> None:
    with_there.state.alter_config(CLUSTER_DEFAULT, {"log.retention.ms": "5000"})
    configs = [("cleanup.policy", "compact , delete"), ("preallocate", "true")]
    async with RawClient(with_there) as client:
        asked = topic("t", 3, 2, configs=configs), topic("there", 1, 1)
        answer = await create(client, *asked, version=version, errors=False)
        made, refused = answer.topics
        assert (made.name, made.error_code, refused.error_code) == ("t", 0, 36)
        assert with_there.state.configs[topic_resource("t")] == dict(configs)
        if version < 5:
            return
        assert (made.num_partitions, made.replication_factor) == (3, 2)
        assert (refused.num_partitions, refused.replication_factor, refused.configs) == (-1, -1, ())
        count = {"3.9": 36, "4.0": 33, "4.4": 37}[with_there.release.name]
        told = {config.name: (config.value, config.config_source) for config in made.configs}
        assert len(told) == len(made.configs) == count
        assert told["cleanup.policy"] == ("compact , delete", 1)
        assert told["retention.ms"] == ("5000", 3)
        assert told["segment.bytes"] == ("1073741824", 5)
        if version >= 7:
            assert made.topic_id == with_there.state.topics["t"].id
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


async def test_rights_to_create() -> None:
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


async def test_brokers_that_are_down_hold_replicas_but_never_lead(with_there: EmbeddedCluster) -> None:
    await with_there.broker_down(3)
    async with RawClient(with_there) as client:
        errors = await create(client, topic("t", 6, 3), topic("u", assignments=[(0, [3])]), topic("v", 6, 2), wait=50)
    fenced = (
        "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled shutdown."
    )
    assert errors == [DONE, (39, fenced), DONE]
    partitions = with_there.state.topics["t"].partitions
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


# -- DeleteTopics, compared with brokers of 4.3.0 and 3.9.1 ------------------------------------------------------------

NOBODY = UUID(int=5)
UNKNOWN = (3, "This server does not host this topic-partition.")


@pytest.fixture
async def with_four(any_release: EmbeddedCluster) -> EmbeddedCluster:
    """Provide a cluster of each release in turn, with four topics."""
    for name in "abcd":
        any_release.state.put_topic(new_topic(name, [(1,)], [1, 2, 3]))
    return any_release


async def test_by_name_and_by_id(with_four: EmbeddedCluster) -> None:
    unknown_id = (100, "This server does not host this topic ID.")
    async with RawClient(with_four) as client:
        results = await delete(client, "a", with_four.state.topics["b"].id, "nope", "a b", NOBODY)
        assert results == {"a": DONE, "b": DONE, "nope": UNKNOWN, "a b": UNKNOWN, NOBODY: unknown_id}
        assert set(with_four.state.topics) == {"c", "d"}


@pytest.mark.parametrize("version", [1, 4, 5])
async def test_older_versions(with_four: EmbeddedCluster, version: int) -> None:
    async with RawClient(with_four) as client:
        results = await delete(client, "a", "nope", version=version)
        assert {name: code for name, (code, _) in results.items()} == {"a": 0, "nope": 3}
        assert "a" not in with_four.state.topics


async def test_what_is_named_twice_stays(with_four: EmbeddedCluster) -> None:
    state = with_four.state
    ids = {name: topic.id for name, topic in state.topics.items()}

    states = [("a", None), ("a", None), (None, ids["b"]), (None, ids["b"]), ("c", None), (None, ids["c"]), ("d", None)]
    async with RawClient(with_four) as client:
        answer = await client.ask("delete_topics", 6, with_fields(topics=states, timeout=5))
    results = [(each.name, each.topic_id, *error_of(each)) for each in answer.responses]
    assert sorted(results, key=str) == sorted(
        [
            ("a", None, 42, "Duplicate topic name."),
            (None, ids["b"], 42, "Duplicate topic id."),
            ("c", ids["c"], 42, "The provided topic name maps to an ID that was already supplied."),
            ("d", ids["d"], 0, None),
        ],
        key=str,
    )
    assert set(state.topics) == {"a", "b", "c"}


async def test_neither_name_nor_id(with_four: EmbeddedCluster) -> None:
    async with RawClient(with_four) as client:
        answer = await client.ask("delete_topics", 6, with_fields(topics=[(None, None)], timeout=5))
    (result,) = answer.responses
    assert error_of(result) == (42, "Neither topic name nor id were specified.")


async def test_nothing_is_deleted_without_time(with_four: EmbeddedCluster) -> None:
    async with RawClient(with_four) as client:
        results = await delete(client, "a", "nope", wait=0)
    assert results == {"a": (7, None), "nope": (7, None)}
    assert "a" in with_four.state.topics


async def test_rights_to_delete(with_four: EmbeddedCluster) -> None:
    ids = {name: topic.id for name, topic in with_four.state.topics.items()}
    with_four.authorizer = Rights(
        ("DESCRIBE", "TOPIC", "a"), ("DELETE", "TOPIC", "b"), ("DESCRIBE", "TOPIC", "b"), ("DESCRIBE", "TOPIC", "nope")
    )
    refused = (29, "Topic authorization failed.")
    async with RawClient(with_four) as client:
        results = await delete(client, "a", "b", "c", "hidden")
        assert results == {"a": refused, "b": DONE, "c": refused, "hidden": refused}
        # The answer has no name if the client may not describe the topic.
        assert await delete(client, ids["a"], ids["c"]) == {"a": refused, ids["c"]: refused}
        assert await delete(client, "nope") == {"nope": UNKNOWN}


@pytest.mark.parametrize(("version", "code"), [(2, 42), (6, 73)])
async def test_where_topics_are_not_deleted(version: int, code: int) -> None:
    spec = ClusterSpec(static_configs={"delete.topic.enable": "false"})
    async with EmbeddedCluster(spec) as cluster, RawClient(cluster) as client:
        cluster.state.put_topic(new_topic("a", [(1,)], [1, 2, 3]))
        results = await delete(client, "a", "nope", version=version)
        assert results == {"a": (code, None), "nope": (code, None)}
        assert "a" in cluster.state.topics


async def test_who_deletes_too_much_is_held_back(with_four: EmbeddedCluster) -> None:
    state = with_four.state
    state.put_topic(new_topic("wide", [(1,)] * 12, [1, 2, 3]))
    state.alter_quota(QuotaEntity.of({"client-id": "eager"}), {"controller_mutation_rate": 1.0})
    async with RawClient(with_four, client_id="eager") as client:
        assert await delete(client, "wide") == {"wide": DONE}
        assert await delete(client, "a") == {"a": (89, None)}
        assert "a" in state.topics


# -- CreatePartitions, compared with brokers of 4.3.0 and 3.9.1 --------------------------------------------------------

ALIVE = (1, 2, 3)
INCLUDES = "The manual partition assignment includes "


@pytest.fixture
async def with_t_and_u(any_release: EmbeddedCluster) -> EmbeddedCluster:
    """Provide a cluster of each release in turn, with the topics t and u."""
    any_release.state.put_topic(new_topic("t", [(1, 2), (2, 3), (3, 1)], ALIVE))
    any_release.state.put_topic(new_topic("u", [(1,)], ALIVE))
    return any_release


UNEVEN = "a partition with 1 replica(s), but this is not consistent with previous partitions, which have 2 replica(s)."


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("t", 3, None), (37, "Topic already has 3 partition(s).")),
        (
            ("t", 5, [[1, 2], [1]]),
            (39, INCLUDES + UNEVEN),
        ),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
async def test_growth_that_is_refused(
    with_t_and_u: EmbeddedCluster, asked: Any, expected: tuple[int, str], dry: bool
) -> None:
    before = dict(with_t_and_u.state.topics)
    async with RawClient(with_t_and_u) as client:
        assert await grow(client, asked, ("u", 2, None), dry=dry) == [expected, DONE]
    assert with_t_and_u.state.topics["t"] == before["t"]
    assert len(with_t_and_u.state.topics["u"].partitions) == (1 if dry else 2)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_partitions_are_added(with_t_and_u: EmbeddedCluster, version: int) -> None:
    before = with_t_and_u.state.topics["t"].partitions
    async with RawClient(with_t_and_u) as client:
        asked = ("t", 6, None), ("u", 3, [[3], [2]])
        assert await grow(client, *asked, version=version) == [DONE, DONE]
    grown = with_t_and_u.state.topics["t"].partitions
    assert grown[:3] == before
    assert all(len(partition.replicas) == 2 and partition.leader == partition.replicas[0] for partition in grown[3:])
    assert [partition.replicas for partition in with_t_and_u.state.topics["u"].partitions] == [(1,), (3,), (2,)]


async def test_a_topic_twice(with_t_and_u: EmbeddedCluster) -> None:
    async with RawClient(with_t_and_u) as client:
        results = await grow(client, ("t", 4, None), ("u", 2, None), ("t", 5, None))
    assert results == [(42, "Duplicate topic name."), DONE]
    assert len(with_t_and_u.state.topics["t"].partitions) == 3


async def test_nothing_grows_without_time(with_t_and_u: EmbeddedCluster) -> None:
    async with RawClient(with_t_and_u) as client:
        assert await grow(client, ("t", 4, None), wait=0) == [(7, None)]
        assert len(with_t_and_u.state.topics["t"].partitions) == 3
        assert await grow(client, ("t", 5, None), wait=0, dry=True) == [(7, None)]


async def test_rights_to_grow(with_t_and_u: EmbeddedCluster) -> None:
    with_t_and_u.authorizer = Rights(("ALTER", "TOPIC", "u"))
    refused = (29, None)
    async with RawClient(with_t_and_u) as client:
        asked = ("t", 4, None), ("nope", 4, None), ("u", 2, None)
        assert await grow(client, *asked) == [refused, refused, DONE]


async def test_too_many_are_an_unknown_error(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(new_topic("t", [(1,)], ALIVE))
    async with RawClient(cluster) as client:
        assert await grow(client, ("t", 10_001, None), dry=True) == [DONE]
        for count in (10_002, 2**31 - 1):
            assert await grow(client, ("t", count, None)) == [(-1, None)]
    assert len(cluster.state.topics["t"].partitions) == 1


async def test_while_it_moves(with_t_and_u: EmbeddedCluster) -> None:
    topic = with_t_and_u.state.topics["u"]
    moving = topic.partitions[0]._replace(replicas=(2, 1), adding=(2,), removing=(1,))
    with_t_and_u.state.put_topic(replace(topic, partitions=(moving,)))
    async with RawClient(with_t_and_u) as client:
        (result,) = await grow(client, ("u", 2, None))
    assert result == DONE
    assert len(with_t_and_u.state.topics["u"].partitions[1].replicas) == 2


# -- Reassignments and elections, compared with brokers of 4.3.0 and 3.9.1 ---------------------------------------------

PREFERRED, UNCLEAN = 0, 1
NOT_ELIGIBLE = "Eligible topic partition leaders are not available."


@pytest.fixture
async def with_t(any_release: EmbeddedCluster) -> EmbeddedCluster:
    """Provide a cluster of each release in turn, with the topic t of two partitions."""
    any_release.state.put_topic(replicas.new_topic("t", [(1, 2), (2, 3)], ALIVE))
    return any_release


def partition(cluster: EmbeddedCluster, number: int = 0) -> Partition:
    return cluster.state.topics["t"].partitions[number]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("t", 0, None), (85, None)),
        (
            ("t", 0, [1, 8, 9]),
            (39, f"{INCLUDES}broker 8, but no such broker is registered."),
        ),
        (
            ("nope", 0, None),
            (3, "Unable to find a topic named nope."),
        ),
    ],
)
async def test_moves_that_can_not_be(with_t: EmbeddedCluster, asked: Any, expected: tuple[int, str]) -> None:
    async with RawClient(with_t) as client:
        results = await move(client, asked, ("t", 1, [3, 2]), version=0)
        assert set(results) == {expected, DONE}
    assert partition(with_t).replicas == (1, 2)
    assert partition(with_t, 1).replicas == (3, 2)


async def test_a_move_is_seen_and_comes_to_its_end() -> None:
    clock = ManualClock()
    async with EmbeddedCluster(clock=clock) as cluster, RawClient(cluster) as client:
        cluster.state.put_topic(replicas.new_topic("t", [(1, 2), (2, 3)], ALIVE))
        assert await move(client, ("t", 0, [2, 3])) == [DONE]
        expected = {("t", 0): ((2, 3, 1), (3,), (1,))}
        assert await moving(client) == expected
        assert await moving(client, {"t": [0, 1, 9], "nope": [0]}) == expected
        assert await moving(client, {"t": [1]}) == {}
        assert await moving(client, {}) == {}
        assert (partition(cluster).leader, partition(cluster).isr) == (1, (1, 2))
        async with asyncio.timeout(PATIENCE):
            await clock.asleep()
        clock.advance(30.0)
        await cluster.settled()
        assert await moving(client) == {}
        done = partition(cluster)
        assert (done.replicas, done.isr, done.leader, done.leader_epoch) == ((2, 3), (2, 3), 2, 1)


async def test_large_partitions_take_longer() -> None:
    clock = ManualClock()
    async with EmbeddedCluster(ClusterSpec(scenario="quiet"), clock) as cluster, RawClient(cluster) as client:
        name = "checkout.payments"
        count = len(cluster.state.topics[name].partitions)
        moves = [(name, number, [1]) for number in range(count)]
        assert await move(client, *moves) == [DONE] * count
        assert await moving(client) == {}, "nothing is copied where replicas only go"
        moves = [(name, number, [1, 2, 3]) for number in range(count)]
        assert await move(client, *moves) == [DONE] * count
        left = []
        for _ in range(25):
            left.append(len(await moving(client)))
            clock.advance(1.0)
            await asyncio.sleep(0)
        await cluster.settled()
        assert left[0] == count
        assert left == sorted(left, reverse=True)
        assert len(set(left)) > 3
        assert await moving(client) == {}


async def test_what_only_goes_or_changes_places_is_done_at_once(with_t: EmbeddedCluster) -> None:
    async with RawClient(with_t) as client:
        assert await move(client, ("t", 0, [2, 1]), ("t", 1, [3]), version=0) == [DONE, DONE]
        assert await moving(client) == {}
    assert (partition(with_t).replicas, partition(with_t).leader) == ((2, 1), 1)
    assert (partition(with_t, 1).replicas, partition(with_t, 1).leader) == ((3,), 3)


async def test_a_move_waits_for_a_broker_that_is_down_and_can_be_changed_and_cancelled() -> None:
    async with EmbeddedCluster() as cluster, RawClient(cluster) as client:
        cluster.state.put_topic(replicas.new_topic("t", [(1, 2)], ALIVE))
        await cluster.broker_down(3)
        place = ("t", 0)
        # The expected lists are those of a cluster of 4.3.0.
        for target, shown in (
            ([1, 3], ((1, 3, 2), (3,), (2,))),
            ([3, 1, 2], ((3, 1, 2), (3,), (2,))),
            ([2, 3], ((2, 3, 1), (3,), (1,))),
        ):
            assert await move(client, (*place, target)) == [DONE]
            assert await moving(client) == {place: shown}
        changed = (38, "The replication factor is changed from 2 to 3")
        assert await move(client, (*place, [1, 2, 3]), any_replication=False) == [changed]
        assert await move(client, (*place, None)) == [DONE]
        assert await moving(client) == {}
        assert (partition(cluster).replicas, partition(cluster).isr, partition(cluster).leader) == ((2, 1), (1, 2), 1)
        assert await move(client, (*place, [3, 2])) == [DONE]
        assert (partition(cluster).adding, partition(cluster).removing) == ((3,), (1,))
        await cluster.broker_up(3)
        assert await moving(client) == {}
        assert partition(cluster).replicas == (3, 2)


async def test_a_move_goes_on_after_a_restart(tmp_path: Any) -> None:
    spec = ClusterSpec(state_file=tmp_path / "state")
    async with EmbeddedCluster(spec, ManualClock()) as cluster, RawClient(cluster) as client:
        cluster.state.put_topic(replicas.new_topic("t", [(1, 2)], ALIVE))
        assert await move(client, ("t", 0, [1, 3])) == [DONE]
    async with EmbeddedCluster(spec) as cluster:
        assert replicas.is_moving(partition(cluster))
        await until(cluster, lambda: partition(cluster).replicas == (1, 3))


async def test_moves_without_time(with_t: EmbeddedCluster) -> None:
    async with RawClient(with_t) as client:
        results = await move(client, ("t", 0, [2, 1]), version=0, wait=0)
    assert results == [(7, None)]


async def test_elections_that_are_not_needed_or_can_not_be(with_t: EmbeddedCluster) -> None:
    not_needed = (84, "Leader election not needed for topic partition.")
    no_partition, no_topic = "No such partition as t-9", "No such topic as nope"
    async with RawClient(with_t) as client:
        for version in (0, 1, 2):
            code, results = await elect(client, PREFERRED, [("t", 0), ("t", 9), ("nope", 0)], version)
            assert (code, results) == (0, {"t": [(0, *not_needed), (9, 3, no_partition)], "nope": [(0, 3, no_topic)]})
        assert await elect(client, UNCLEAN, [("t", 0)]) == (0, {"t": [(0, *not_needed)]})
        assert await elect(client, PREFERRED, None) == (0, {"t": []})
        assert await elect(client, 7, [("t", 0)]) == (42, {"t": [(0, 42, "Unknown election type 7")]})
        assert await elect(client, PREFERRED, [("t", 0)], wait=0) == (7, {"t": [(0, 7, None)]})


async def test_the_preferred_leader_is_elected(with_t: EmbeddedCluster) -> None:
    async with RawClient(with_t) as client:
        assert await move(client, ("t", 0, [2, 1]), version=0) == [DONE]
        assert partition(with_t).leader == 1
        assert await elect(client, PREFERRED, None) == (0, {"t": [(0, *DONE)]})
        assert (partition(with_t).leader, partition(with_t).leader_epoch) == (2, 1)


async def test_elections_where_the_leader_is_down(with_t: EmbeddedCluster) -> None:
    with_t.state.put_topic(replicas.new_topic("alone", [(3,)], ALIVE))
    with_t.state.put_topic(replicas.new_topic("led", [(3, 1)], ALIVE))
    await with_t.broker_down(3)
    preferred = "The preferred leader was not available."
    async with RawClient(with_t) as client:
        _, results = await elect(client, PREFERRED, [("alone", 0), ("led", 0)])
        assert results == {"alone": [(0, 80, preferred)], "led": [(0, 80, preferred)]}
        _, results = await elect(client, UNCLEAN, [("alone", 0)])
        assert results == {"alone": [(0, 83, NOT_ELIGIBLE)]}


async def test_an_unclean_election_takes_who_is_there(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(replicas.new_topic("t", [(3, 1)], ALIVE))
    await cluster.broker_down(1)
    await cluster.broker_down(3)
    await cluster.broker_up(1)
    assert (partition(cluster).leader, partition(cluster).isr) == (-1, (3,))
    async with RawClient(cluster) as client:
        _, results = await elect(client, UNCLEAN, [("t", 0)])
    assert results == {"t": [(0, *DONE)]}
    assert (partition(cluster).leader, partition(cluster).isr) == (1, (1,))


async def test_all_of_it_needs_rights_on_the_cluster(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(replicas.new_topic("t", [(1, 2)], ALIVE))
    cluster.authorizer = Rights(("ALTER", "TOPIC", "t"), ("DESCRIBE", "TOPIC", "t"))
    async with RawClient(cluster) as client:
        ((code, message),) = await move(client, ("t", 0, [2, 1]))
        assert code == 31
        assert message is not None
        assert message.endswith("needs ALTER permission.")
        assert await elect(client, PREFERRED, [("t", 0)]) == (31, {"t": [(0, 31, message)]})
        assert await elect(client, PREFERRED, None) == (31, {})
        answer = await client.ask("list_partition_reassignments", 0, with_fields(topics=None))
        assert (answer.error_code, answer.topics) == (31, ())
    assert partition(cluster).replicas == (1, 2)


REPLICAS = st.lists(st.integers(1, 6), min_size=1, max_size=4, unique=True).map(tuple)


@given(REPLICAS, st.lists(REPLICAS, min_size=1, max_size=4), st.sets(st.integers(1, 6)))
def test_what_has_caught_up_is_on_the_last_target(
    first: tuple[int, ...], targets: Sequence[tuple[int, ...]], down: set[int]
) -> None:
    alive = set(range(1, 7)) - down
    now = replicas.new_partition(first, sorted(alive))
    for target in targets:
        now = replicas.cancelled(now, alive) if replicas.is_moving(now) else now
        now = replicas.reassigned(now, target, alive)
        assert set(target) <= set(now.replicas)
    for replica in targets[-1]:
        now = replicas.caught_up(now, replica, alive)
    assert not replicas.is_moving(now)
    assert now.replicas == targets[-1]
    assert now.leader in (*now.isr, -1)
    assert set(now.isr) <= set(now.replicas)


@given(REPLICAS, REPLICAS)
def test_what_is_cancelled_is_back_on_what_it_was_on(first: tuple[int, ...], target: tuple[int, ...]) -> None:
    before = replicas.new_partition(first, range(1, 7))
    moved = replicas.reassigned(before, target, range(1, 7))
    if replicas.is_moving(moved):
        back = replicas.cancelled(moved, range(1, 7))
        assert set(back.replicas) == set(first)
        assert set(back.isr) == set(first)
        assert back.leader in first
    else:
        assert moved.replicas == target


async def test_a_throttle_of_replication_is_kept_to() -> None:
    clock = ManualClock()
    async with EmbeddedCluster(ClusterSpec(scenario="incident"), clock) as cluster, RawClient(cluster) as client:
        state = cluster.state
        throttled, free = "logistics.stock", "logistics.shipments"
        assert "follower.replication.throttled.replicas" in state.configs[topic_resource(throttled)]
        places = [(name, number) for name in (throttled, free) for number in range(3)]
        assert set(await move(client, *((*place, [1]) for place in places))) == {DONE}
        assert set(await move(client, *((*place, [1, 3]) for place in places))) == {DONE}
        async with asyncio.timeout(PATIENCE):
            await clock.asleep()
        clock.advance(30.0)
        await until(cluster, lambda: not any(map(replicas.is_moving, state.topics[free].partitions)))
        assert {name for name, _ in await moving(client)} == {throttled}


# -- Metadata of all topics equals that of the named ones, in all versions, and is fast for 100,000 --------------------


@pytest.mark.parametrize("version", range(14))
async def test_all_topics_are_the_topics_named(version: int) -> None:
    async with EmbeddedCluster(ClusterSpec(scenario="incident")) as cluster, RawClient(cluster) as client:
        await cluster.broker_down(3)
        names = list(cluster.state.topics)

        flags = {"include_cluster_authorized_operations": True, "include_topic_authorized_operations": False}
        everything = await client.ask("metadata", version, with_fields(topics=None if version else [], **flags))
        named = [{"name": name, "topic_id": None} for name in names]
        each = await client.ask("metadata", version, with_fields(topics=named, **flags))
        assert [topic.name for topic in everything.topics] == names
        assert everything.topics == each.topics
        assert everything.brokers == each.brokers
        operations = "cluster_authorized_operations"
        assert getattr(everything, operations, 0) == getattr(each, operations, 0)


async def test_the_large_cluster_has_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    async with EmbeddedCluster(ClusterSpec(scenario="large")) as cluster, RawClient(cluster) as client:
        state = cluster.state
        assert len(state.topics) == large.TOPICS + 1  # the other one is __consumer_offsets
        assert len(state.quotas) == large.QUOTA_ENTITIES + 2
        assert len(state.acls) == large.ACLS
        everything = await client.ask(
            "metadata", 12, with_fields(topics=None, include_topic_authorized_operations=False)
        )
        assert len(everything.topics) == len({topic.name for topic in everything.topics}) == large.TOPICS + 1
        assert all(len(topic.partitions) == 3 for topic in everything.topics if not topic.is_internal)
        last = everything.topics[large.TOPICS - 1]
        assert state.topics[last.name].id == last.topic_id
        assert state.topics.name_of(last.topic_id) == last.name
        await cluster.broker_down(2)
        after = state.topics[last.name]
        assert {partition.leader for partition in after.partitions} == {1, 3}


def test_each_source_finds_what_it_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("TOPICS", 1234), ("QUOTA_ENTITIES", 1000), ("ACLS", 777)):
        monkeypatch.setattr(large, name, size)
    state = EmbeddedCluster(ClusterSpec(scenario="large")).state
    for name in ("topics", "configs", "quotas", "acls"):
        table = state.tables.named(name)
        pairs = list(table.items())
        assert len(pairs) == len(table) == len(dict(pairs))
        assert [key for key, _ in pairs] == list(table)
        assert all(table[key] == value for key, value in pairs)
        assert list(table.values()) == [value for _, value in pairs]

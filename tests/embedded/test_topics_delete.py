"""DeleteTopics: what brokers of 4.3.0 and 3.9.1 answered to the same requests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from console.model.quota import QuotaEntity
from tests.embedded.proposals_client import Rights
from tests.embedded.raw_client import RawClient
from tests.embedded.topic_requests import delete, error_of

DONE = (0, None)
NOBODY = UUID(int=5)
UNKNOWN = (3, "This server does not host this topic-partition.")


@pytest.fixture
async def any_release(any_release: EmbeddedCluster) -> EmbeddedCluster:
    """Each release, with four topics."""
    for name in "abcd":
        any_release.state.put_topic(new_topic(name, [(1,)], [1, 2, 3]))
    return any_release


async def test_by_name_and_by_id(any_release: EmbeddedCluster) -> None:
    unknown_id = (100, "This server does not host this topic ID.")
    async with RawClient(any_release) as client:
        results = await delete(client, "a", any_release.state.topics["b"].id, "nope", "a b", NOBODY)
        assert results == {"a": DONE, "b": DONE, "nope": UNKNOWN, "a b": UNKNOWN, NOBODY: unknown_id}
        assert set(any_release.state.topics) == {"c", "d"}


@pytest.mark.parametrize("version", [1, 4, 5])
async def test_older_versions(any_release: EmbeddedCluster, version: int) -> None:
    async with RawClient(any_release) as client:
        results = await delete(client, "a", "nope", version=version)
        assert {name: code for name, (code, _) in results.items()} == {"a": 0, "nope": 3}
        assert "a" not in any_release.state.topics


async def test_what_is_named_twice_stays(any_release: EmbeddedCluster) -> None:
    state = any_release.state
    ids = {name: topic.id for name, topic in state.topics.items()}

    def build(kio: Any) -> Any:
        states = [("a", None), ("a", None), (None, ids["b"]), (None, ids["b"]), ("c", None), (None, ids["c"])]
        return kio.DeleteTopicsRequest(
            topics=tuple(kio.DeleteTopicState(name=name, topic_id=id_) for name, id_ in (*states, ("d", None))),
            timeout=timedelta(seconds=5),
        )

    async with RawClient(any_release) as client:
        answer = await client.ask("delete_topics", 6, build)
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


@pytest.mark.parametrize(
    ("name", "topic_id", "expected"),
    [
        ("a", NOBODY, (42, "You may not specify both topic name and topic id.")),
        (None, None, (42, "Neither topic name nor id were specified.")),
    ],
)
async def test_both_or_neither(
    any_release: EmbeddedCluster, name: str | None, topic_id: UUID | None, expected: Any
) -> None:
    def build(kio: Any) -> Any:
        state = kio.DeleteTopicState(name=name, topic_id=topic_id)
        return kio.DeleteTopicsRequest(topics=(state,), timeout=timedelta(seconds=5))

    async with RawClient(any_release) as client:
        (result,) = (await client.ask("delete_topics", 6, build)).responses
    assert error_of(result) == expected


async def test_without_time(any_release: EmbeddedCluster) -> None:
    async with RawClient(any_release) as client:
        results = await delete(client, "a", "nope", wait=0)
    assert results == {"a": (7, None), "nope": (7, None)}
    assert "a" in any_release.state.topics


async def test_rights(any_release: EmbeddedCluster) -> None:
    ids = {name: topic.id for name, topic in any_release.state.topics.items()}
    any_release.authorizer = Rights(
        ("DESCRIBE", "TOPIC", "a"), ("DELETE", "TOPIC", "b"), ("DESCRIBE", "TOPIC", "b"), ("DESCRIBE", "TOPIC", "nope")
    )
    refused = (29, "Topic authorization failed.")
    async with RawClient(any_release) as client:
        results = await delete(client, "a", "b", "c", "hidden")
        assert results == {"a": refused, "b": DONE, "c": refused, "hidden": refused}
        # The name of what may not even be described is not told.
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


async def test_who_deletes_too_much_is_held_back(any_release: EmbeddedCluster) -> None:
    state = any_release.state
    state.put_topic(new_topic("wide", [(1,)] * 12, [1, 2, 3]))
    state.alter_quota(QuotaEntity.of({"client-id": "eager"}), {"controller_mutation_rate": 1.0})
    async with RawClient(any_release, client_id="eager") as client:
        assert await delete(client, "wide") == {"wide": DONE}
        assert await delete(client, "a") == {"a": (89, None)}
        assert "a" in state.topics

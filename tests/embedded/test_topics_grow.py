"""CreatePartitions: what brokers of 4.3.0 and 3.9.1 answered to the same requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic
from tests.embedded.proposals_client import Rights
from tests.embedded.raw_client import RawClient
from tests.embedded.topic_requests import grow

DONE = (0, None)
ALIVE = (1, 2, 3)
INCLUDES = "The manual partition assignment includes "


@pytest.fixture
async def any_release(any_release: EmbeddedCluster) -> EmbeddedCluster:
    """Each release, with two topics."""
    any_release.state.put_topic(new_topic("t", [(1, 2), (2, 3), (3, 1)], ALIVE))
    any_release.state.put_topic(new_topic("u", [(1,)], ALIVE))
    return any_release


UNEVEN = "a partition with 1 replica(s), but this is not consistent with previous partitions, which have 2 replica(s)."


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("t", 3, None), (37, "Topic already has 3 partition(s).")),
        (
            ("t", -1, [[1, 2]]),
            (37, "The topic t currently has 3 partition(s); -1 would not be an increase."),
        ),
        (("nope", 4, None), (3, None)),
        (
            ("t", 5, [[1, 2]]),
            (39, "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."),
        ),
        (
            ("t", 5, [[1, 2], [1]]),
            (39, INCLUDES + UNEVEN),
        ),
        (
            ("t", 4, [[1, 9]]),
            (39, f"{INCLUDES}broker 9, but no such broker is registered."),
        ),
        (
            ("t", 4, [[1, 1]]),
            (39, f"{INCLUDES}the broker 1 more than once."),
        ),
        (
            ("t", 4, [[]]),
            (39, f"{INCLUDES}an empty replica list."),
        ),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
async def test_what_is_refused(any_release: EmbeddedCluster, asked: Any, expected: tuple[int, str], dry: bool) -> None:
    before = dict(any_release.state.topics)
    async with RawClient(any_release) as client:
        assert await grow(client, asked, ("u", 2, None), dry=dry) == [expected, DONE]
    assert any_release.state.topics["t"] == before["t"]
    assert len(any_release.state.topics["u"].partitions) == (1 if dry else 2)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_partitions_are_added(any_release: EmbeddedCluster, version: int) -> None:
    before = any_release.state.topics["t"].partitions
    async with RawClient(any_release) as client:
        asked = ("t", 6, None), ("u", 3, [[3], [2]])
        assert await grow(client, *asked, version=version) == [DONE, DONE]
    grown = any_release.state.topics["t"].partitions
    assert grown[:3] == before
    assert all(len(partition.replicas) == 2 and partition.leader == partition.replicas[0] for partition in grown[3:])
    assert [partition.replicas for partition in any_release.state.topics["u"].partitions] == [(1,), (3,), (2,)]


async def test_a_topic_twice(any_release: EmbeddedCluster) -> None:
    async with RawClient(any_release) as client:
        results = await grow(client, ("t", 4, None), ("u", 2, None), ("t", 5, None))
    assert results == [(42, "Duplicate topic name."), DONE]
    assert len(any_release.state.topics["t"].partitions) == 3


async def test_without_time(any_release: EmbeddedCluster) -> None:
    async with RawClient(any_release) as client:
        assert await grow(client, ("t", 4, None), wait=0) == [(7, None)]
        assert len(any_release.state.topics["t"].partitions) == 3
        assert await grow(client, ("t", 5, None), wait=0, dry=True) == [(7, None)]


async def test_rights(any_release: EmbeddedCluster) -> None:
    any_release.authorizer = Rights(("ALTER", "TOPIC", "u"))
    refused = (29, None)
    async with RawClient(any_release) as client:
        asked = ("t", 4, None), ("nope", 4, None), ("u", 2, None)
        assert await grow(client, *asked) == [refused, refused, DONE]


async def test_too_many_are_an_unknown_error(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(new_topic("t", [(1,)], ALIVE))
    async with RawClient(cluster) as client:
        assert await grow(client, ("t", 10_001, None), dry=True) == [DONE]
        for count in (10_002, 2**31 - 1):
            assert await grow(client, ("t", count, None)) == [(-1, None)]
    assert len(cluster.state.topics["t"].partitions) == 1


async def test_while_it_moves(any_release: EmbeddedCluster) -> None:
    topic = any_release.state.topics["u"]
    moving = topic.partitions[0]._replace(replicas=(2, 1), adding=(2,), removing=(1,))
    any_release.state.put_topic(replace(topic, partitions=(moving,)))
    async with RawClient(any_release) as client:
        (result,) = await grow(client, ("u", 2, None))
    assert result == DONE
    assert len(any_release.state.topics["u"].partitions[1].replicas) == 2

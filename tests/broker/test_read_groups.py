"""Tests of kac's reads of groups of every protocol, with their members and lag, from real brokers, 4.3 and 3.9."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin import groups
from console.admin.groups import find_coordinators
from console.admin.link import Link, broker
from console.model.cluster import PartitionLag, Subtopology
from tests.support import changing, kafka_messages, lags, worlds
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import settled


@pytest.fixture
async def consumed(kafka: KafkaCluster, link: Link, name: str) -> AsyncIterator[str]:
    """Provide the id of a group with one live member. It has committed offset 3 of 5 in partition 0, and none in
    partition 1.
    """
    await changing.make_topic(link, name, partitions=2)
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)
    await producer.start()
    for number in range(5):
        await producer.send_and_wait(name, str(number).encode(), partition=0)
    await producer.stop()
    consumer = AIOKafkaConsumer(
        name, bootstrap_servers=kafka.bootstrap, group_id=name, client_id="reader", enable_auto_commit=False
    )
    await consumer.start()
    (place,) = (place for place in consumer.assignment() if place.partition == 0)
    await consumer.commit({place: 3})
    yield name
    await consumer.stop()


async def test_groups(kafka: KafkaCluster, link: Link, consumed: str) -> None:
    listing = await groups.list_groups(link)
    listed = listing.groups[consumed]
    assert (listed.state, listed.type, listed.protocol, listed.members) == ("Stable", "classic", "consumer", None)
    assert not listing.failures
    assert consumed not in (await groups.list_groups(link, ["Empty"])).groups
    described = await groups.describe_groups(link, [consumed, "no-such-group"])
    group = described.groups[consumed]
    assert (group.state, group.coordinator) == ("Stable", listed.coordinator)
    assert group.members is not None
    (member,) = group.members
    assert (member.client_id, member.host) == ("reader", "/127.0.0.1")
    assert member.assignment == ((consumed, 0), (consumed, 1))
    assert described.failures["no-such-group"].name == "GROUP_ID_NOT_FOUND"
    lag = await lags.group_lag(link, consumed)
    assert lag.partitions == (
        PartitionLag(consumed, 0, committed=3, end=5, lag=2, member=member.member_id),
        PartitionLag(consumed, 1, committed=-1, end=0, lag=-1, member=member.member_id),
    )
    assert (lag.total, lag.failures) == (2, ())
    polls = await groups.poll_groups(link, ["no-such-group"])
    assert polls.lag_failures["no-such-group"].name == "GROUP_ID_NOT_FOUND"


def joining(protocol: str, group: str, topic: str = "") -> kafka_messages.Build:
    """Return a function that builds a member's first heartbeat to a consumer, share or streams group.

    topic: the topic that it subscribes to; "" for a topic with the group's name.
    """
    topic = topic or group
    member: dict[str, Any] = {"group_id": group, "member_id": f"{group}-member", "member_epoch": 0, "client_id": "x"}
    if protocol == "share":
        return kafka_messages.with_fields(**member, subscribed_topic_names=[topic])
    member["rebalance_timeout"] = 60
    if protocol == "consumer":
        return kafka_messages.with_fields(**member, subscribed_topic_names=[topic], topic_partitions=[])
    first, second = (f"{group}-by-card-repartition", f"{group}-scores-changelog")
    lists = ("source_topics", "source_topic_regex", "state_changelog_topics", "repartition_sink_topics")
    empty = dict.fromkeys((*lists, "repartition_source_topics", "copartition_groups"), ())
    writing = {"subtopology_id": "0", "source_topics": [topic], "repartition_sink_topics": [first]}
    reading: dict[str, Any] = {
        "subtopology_id": "1",
        "state_changelog_topics": [(second, 0, 1, [])],
        "repartition_source_topics": [(first, 2, 1, [])],
    }
    return kafka_messages.with_fields(
        **member,
        endpoint_information_epoch=0,
        topology=(1, [empty | writing, empty | reading]),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="p",
        client_tags=[],
        task_offsets=None,
        task_end_offsets=None,
    )


@pytest.mark.parametrize("protocol", ["consumer", "share", "streams"])
async def test_groups_of_the_newer_protocols(plain_cluster: KafkaCluster, name: str, protocol: str) -> None:
    """kac describes consumer, share and streams groups (KIP-848, KIP-932 and KIP-1071), for each of which brokers have
    a separate API.
    """
    async with worlds.linked(worlds.settings(plain_cluster)) as link:
        await changing.make_topic(link, name, partitions=2)
        (coordinator,) = (await find_coordinators(link, [name], is_change=True))[0].values()

        async def beat() -> Any:
            to = broker(coordinator)
            return await link.call(f"{protocol}_group_heartbeat", joining(protocol, name), to=to, change=True)

        response = await settled(beat, lambda answer: answer.error_code != 0)
        assert response.error_code == 0, response
        listed = (await groups.list_groups(link)).groups[name]
        assert listed.type == protocol
        described = await groups.describe_groups(link, [name])
        group = described.groups[name]
        assert (group.type, group.coordinator, described.failures) == (protocol, coordinator, {})
        assert group.members is not None
        (member,) = group.members
        assert (member.member_id, member.host) == (f"{name}-member", "/127.0.0.1")
        assert group.epoch > 0
        assert member.epoch > 0
        assert (member.target is None) is (protocol == "share")
        assert (member.tasks is None) is (protocol != "streams")
        assert member.protocol == ("" if protocol == "share" else protocol)
        assert member.topics == (() if protocol == "streams" else (name,)), "a topology names the topics of streams"
        between, store = f"{name}-by-card-repartition", f"{name}-scores-changelog"
        assert group.topology == (
            (Subtopology("0", (name,), (), (between,), ()), Subtopology("1", (), (between,), (), (store,)))
            if protocol == "streams"
            else None
        )
        assert (await groups.describe_groups(link, [name], {name: protocol})).groups[name].members is not None
        lag = await lags.group_lag(link, name)
        assert lag.failures == ()
        assert all(row.committed == -1 and row.lag == -1 for row in lag.partitions)

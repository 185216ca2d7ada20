"""A real broker keeps what a consumer writes and hands it out; the console reads it and lives."""

from __future__ import annotations

import pytest

from console.admin.groups import describe_groups
from console.admin.settings import ConnectionSettings
from console.embedded.group_coordinator import subscription
from tests.hostile.consumer import HostileConsumer
from tests.support import worlds
from tests.support.kafka_cluster import KafkaCluster

CLAIMS = {
    "two billion topics": bytes.fromhex("0000 7fffffff"),
    "a topic with two billion partitions": bytes.fromhex("0000 00000001 0001 61 7fffffff"),
    "a name longer than all": bytes.fromhex("0000 00000001 7fff"),
    "null": bytes.fromhex("0000 ffffffff"),
    "a version of its own": bytes.fromhex("7fff 7fffffff"),
    "padding": bytes.fromhex("0000 7fffffff") + bytes(100_000),
}


@pytest.mark.parametrize("claim", CLAIMS)
async def test_an_assignment_of_any_bytes_is_read_from_a_real_broker(kafka39: KafkaCluster, claim: str) -> None:
    host, _, port = kafka39.bootstrap.split(",")[0].rpartition(":")
    address = host, int(port)
    data = CLAIMS[claim]
    topics = subscription(("orders",))  # a broker never answers a join with a subscription that it can't read
    async with (
        HostileConsumer(address, f"hostile {claim}", subscription=topics, assignment=data) as mine,
        worlds.linked(ConnectionSettings((address,))) as link,
    ):
        listing = await describe_groups(link, [mine.group])
    members = listing.groups[mine.group].members
    assert members is not None
    (member,) = members
    assert member.client_id == "hostile"
    assert member.assignment == ()

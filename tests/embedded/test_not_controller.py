"""What a broker of 2.8.2 that was not the controller answered."""

from __future__ import annotations

from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import ClusterSpec
from tests.embedded import topic_requests
from tests.embedded.raw_client import RawClient
from tests.support.kafka_messages import with_fields

WORDS = "This is not the correct controller for this cluster."


async def test_each_in_its_way() -> None:
    async with EmbeddedCluster(ClusterSpec(forwarding=False)) as cluster, RawClient(cluster, broker=2) as client:
        asked = topic_requests.topic("a", 1, 1), topic_requests.topic("b", 0, 1), topic_requests.topic("a", 1, 1)
        assert await topic_requests.create(client, *asked) == [(41, "")] * 3
        assert await topic_requests.delete(client, "a", "b") == {"a": (41, None), "b": (41, None)}
        assert await topic_requests.grow(client, ("a", 2, None), ("a", 3, None)) == [(41, None)]
        assert await topic_requests.move(client, ("a", 2, [1]), version=0) == [(41, WORDS)]
        answer = await client.ask("list_partition_reassignments", 0, with_fields(topics=None))
        assert (answer.error_code, answer.error_message, answer.topics) == (41, WORDS, ())
        assert await topic_requests.elect(client, 0, [("a", 2)]) == (0, {"a": [(2, 41, None)]})
        assert not cluster.state.topics

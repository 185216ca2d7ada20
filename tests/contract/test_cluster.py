"""Tests of metadata, reassignments, elections and log directories."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.contract.target import Target
from tests.contract.verbs import FINE, Error, create_topics, delete_topics, error, metadata
from tests.support.kafka_messages import with_fields

MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)


def reassign(
    target: Target, topic: str, partition: int, replicas: Sequence[int] | None, **to: Any
) -> tuple[Error, list[Error]]:
    """Send AlterPartitionReassignments v0 for one partition. Return the error of the answer and those of its
    partitions. replicas: the new broker ids; None cancels a running reassignment.
    """
    asked = with_fields(topics=[(topic, [(partition, replicas)])])
    answer = target.ask("alter_partition_reassignments", 0, asked, **to)
    return error(answer), [error(each) for told in answer["responses"] for each in told["partitions"]]


def elect(target: Target, kind: int, *partitions: tuple[str, int], **to: Any) -> tuple[str, list[Error]]:
    """Send ElectLeaders v2. Return the name of the answer's error, and the error of each partition. kind: 0 preferred,
    1 unclean.
    """
    wanted = [(topic, [index]) for topic, index in partitions]
    answer = target.ask("elect_leaders", 2, with_fields(election_type=kind, topic_partitions=wanted), **to)
    told = [error(each) for result in answer["replica_election_results"] for each in result["partition_result"]]
    return answer["error_code"], told


def test_brokers_and_rights(target: Target) -> None:
    """The answer to Metadata may name any broker as the controller. It contains the operations that the caller is
    allowed, as a bit set (KIP-430).
    """
    controller = "any broker"
    answer = metadata(target, [], rights=True)
    assert (answer["controller_id"], answer["cluster_authorized_operations"]) == (controller, 8096)
    assert [broker["rack"] for broker in answer["brokers"]] == [f"rack-{broker}" for broker in target.brokers]
    cluster = target.ask("describe_cluster", 0, with_fields(include_cluster_authorized_operations=True))
    assert (cluster["controller_id"], cluster["cluster_authorized_operations"]) == (controller, 8096)
    assert [broker["broker_id"] for broker in cluster["brokers"]] == list(target.brokers)


def test_a_topic(target: Target, topic: str) -> None:
    (told_of,) = metadata(target, [topic], rights=True)["topics"]
    assert told_of == {
        "error_code": "NONE",
        "name": topic,
        "is_internal": False,
        "topic_authorized_operations": 3576,
        "partitions": [
            {
                "error_code": "NONE",
                "partition_index": 0,
                "leader_id": 1,
                "leader_epoch": 0,
                "replica_nodes": [1],
                "isr_nodes": [1],
                "offline_replicas": [],
            }
        ],
    }
    assert len(metadata(target, [topic, topic], rights=True)["topics"]) == 1
    missing, illegal, empty = (f"{topic}-no", "a b", "")
    answers = metadata(target, [missing, illegal, empty], rights=True)["topics"]
    codes = {each["name"]: each["error_code"] for each in answers}
    assert codes == {
        missing: "UNKNOWN_TOPIC_OR_PARTITION",
        illegal: "INVALID_TOPIC_EXCEPTION",
        empty: "INVALID_TOPIC_EXCEPTION",
    }


def test_coordinators(target: Target, name: str) -> None:
    answer = target.ask("find_coordinator", 3, with_fields(key=name, key_type=7))
    assert error(answer) == ("INVALID_REQUEST", MALFORMED)


def test_reassigning_where_it_is(target: Target, topic: str) -> None:
    assert reassign(target, topic, 0, [1]) == (FINE, [FINE])
    answer = target.ask("list_partition_reassignments", 0, with_fields(topics=None))
    assert (error(answer), answer["topics"]) == (FINE, [])


def test_what_can_not_be_reassigned(target: Target, topic: str) -> None:
    for name, partition, text in (
        (f"{topic}-no", 0, f"Unable to find a topic named {topic}-no."),
        (topic, 99, f"Unable to find partition {topic}:99."),
    ):
        assert reassign(target, name, partition, [1])[1] == [("UNKNOWN_TOPIC_OR_PARTITION", text)]
    unregistered = "The manual partition assignment includes broker {}, but no such broker is registered."
    for replicas, text in (
        ([], "The manual partition assignment includes an empty replica list."),
        ([1, 1], "The manual partition assignment includes the broker 1 more than once."),
        ([-1], unregistered.format(-1)),
        ([77], unregistered.format(77)),
    ):
        assert reassign(target, topic, 0, replicas)[1] == [("INVALID_REPLICA_ASSIGNMENT", text)]


def test_nothing_to_cancel(target: Target, topic: str) -> None:
    assert reassign(target, topic, 0, None)[1] == [("NO_REASSIGNMENT_IN_PROGRESS", None)]


@pytest.mark.parametrize("kind", [0, 1])
def test_leaders_that_lead_already(target: Target, topic: str, kind: int) -> None:
    needless = ("ELECTION_NOT_NEEDED", "Leader election not needed for topic partition.")
    assert elect(target, kind, (topic, 0)) == ("NONE", [needless])
    assert elect(target, kind) == ("NONE", [])


@pytest.mark.live
def test_another_replica_becomes_the_preferred_one_and_is_elected(target: Target, name: str) -> None:
    """A reassignment to the same replicas in another order moves no data. The leader remains the same until an election
    of the new preferred replica.
    """
    if len(target.brokers) < 2:
        return
    assert create_topics(target, {name: {0: [1, 2]}}) == {name: FINE}
    assert reassign(target, name, 0, [2, 1]) == (("NONE", None), [FINE])
    assert reassign(target, name, 0, None)[1] == [("NO_REASSIGNMENT_IN_PROGRESS", None)]
    assert elect(target, 0, (name, 0)) == ("NONE", [FINE])
    needless = ("ELECTION_NOT_NEEDED", "Leader election not needed for topic partition.")
    assert elect(target, 0, (name, 0)) == ("NONE", [needless])
    assert elect(target, 1, (name, 0)) == ("NONE", [needless])
    delete_topics(target, name)


def test_leaders_of_nothing(target: Target, topic: str) -> None:
    missing = f"{topic}-no"
    texts = (f"No such topic as {missing}", f"No such partition as {topic}-99")
    for partition, text in zip(((missing, 0), (topic, 99)), texts, strict=True):
        assert elect(target, 0, partition) == ("NONE", [("UNKNOWN_TOPIC_OR_PARTITION", text)])
    whole, (told_of,) = elect(target, 7, (topic, 0))
    assert (whole, told_of) == ("INVALID_REQUEST", ("INVALID_REQUEST", "Unknown election type 7"))


def test_log_directories(target: Target, topic: str) -> None:
    def described(name: str, partition: int) -> list[dict[str, Any]]:
        answer = target.ask("describe_log_dirs", 2, with_fields(topics=[(name, [partition])]))
        (directory,) = answer["results"]
        assert directory["error_code"] == "NONE"
        return [each for each in directory["topics"] if each["partitions"]]

    (told_of,) = described(topic, 0)
    assert told_of == {
        "name": topic,
        "partitions": [{"partition_index": 0, "partition_size": 0, "offset_lag": 0, "is_future_key": False}],
    }
    assert described(topic, 99) == described(f"{topic}-no", 0) == []


def test_config_resources(target: Target) -> None:
    """ListConfigResources version 0 lists the subscriptions to client metrics (KIP-1000)."""
    answer = target.ask("list_config_resources", 0, with_fields())
    assert (answer["error_code"], answer["config_resources"]) == ("NONE", [])

"""From responses to the model, for what the clusters of the broker tests don't have: observers, errors, old versions,
codes of newer brokers, and garbage."""

from __future__ import annotations

import struct
import threading
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace as Answer
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from console.admin import cluster
from console.admin.acls import acls, describe_acls
from console.admin.groups import _committed, _Position, classic_group, lags, listed_groups
from console.admin.partitions import reassignments
from console.admin.scram import scram_listing
from console.admin.topics import leaders, topic_listing
from console.model.cluster import CommittedOffset, PartitionLag, QuorumReplica, Reassignment, ReplicaSize
from console.wire.assignments import consumer_assignment, consumer_subscription

NO_THROTTLE = timedelta()


def schema(api: str, version: int) -> Any:
    """kio's module of a response; Any, since it types its numbers more narrowly than Python does."""
    return import_module(f"kio.schema.{api}.v{version}.response")


def test_observers_and_their_lag() -> None:
    kio = schema("describe_quorum", 2)

    def replica(id_: int, end: int, fetched: int) -> Any:
        return kio.ReplicaState(
            replica_id=id_,
            replica_directory_id=None,
            log_end_offset=end,
            last_fetch_timestamp=fetched,
            last_caught_up_timestamp=fetched,
        )

    partition = kio.PartitionData(
        partition_index=0,
        error_code=0,
        error_message=None,
        leader_id=2,
        leader_epoch=7,
        high_watermark=90,
        current_voters=(replica(3, 95, 5), replica(2, 100, 9)),
        observers=(replica(9, 40, 1), replica(8, -1, -1)),
    )
    topic = kio.TopicData(topic_name="__cluster_metadata", partitions=(partition,))
    found = cluster.quorum(kio.DescribeQuorumResponse(error_code=0, error_message=None, topics=(topic,), nodes=()))
    assert (found.leader_id, found.leader_epoch, found.high_watermark) == (2, 7, 90)
    assert found.voters == (QuorumReplica(2, 100, 0, 9, 9), QuorumReplica(3, 95, 5, 5, 5))
    assert found.observers == (QuorumReplica(8, -1, -1, -1, -1), QuorumReplica(9, 40, 60, 1, 1))


def test_the_oldest_quorum_answer_has_no_times() -> None:
    kio = schema("describe_quorum", 0)

    partition = kio.PartitionData(
        partition_index=0,
        error_code=0,
        leader_id=1,
        leader_epoch=1,
        high_watermark=5,
        current_voters=(kio.ReplicaState(replica_id=1, log_end_offset=5),),
        observers=(),
    )
    topic = kio.TopicData(topic_name="__cluster_metadata", partitions=(partition,))
    assert cluster.quorum(kio.DescribeQuorumResponse(error_code=0, topics=(topic,))).voters == (QuorumReplica(1, 5, 0),)


def test_operations_are_bits() -> None:
    assert cluster.operations(-(2**31)) is None
    assert cluster.operations(0) == frozenset()
    assert cluster.operations(1 << 8 | 1 << 11) == frozenset({"DESCRIBE", "ALTER_CONFIGS"})
    assert cluster.operations(1 << 30) == frozenset({"UNKNOWN(30)"})


def test_metadata_of_old_brokers() -> None:
    kio = schema("metadata", 1)

    broker = kio.MetadataResponseBroker(node_id=3, host="h", port=9092, rack=None)
    partition = kio.MetadataResponsePartition(
        error_code=0, partition_index=0, leader_id=3, replica_nodes=(3,), isr_nodes=(3,)
    )
    topic = kio.MetadataResponseTopic(error_code=0, name="t", is_internal=True, partitions=(partition,))
    response = kio.MetadataResponse(brokers=(broker,), controller_id=3, topics=(topic,))
    info = cluster.cluster_from_metadata(response)
    assert (info.cluster_id, info.controller_id, info.operations) == (None, 3, None)
    assert [(b.id, b.host, b.port, b.rack, b.fenced) for b in info.brokers] == [(3, "h", 9092, None, False)]
    found = topic_listing(response).topics["t"]
    assert (found.internal, found.topic_id, found.partitions[0].leader_epoch) == (True, None, -1)


def test_partitions_with_errors_are_kept_and_equal_ones_shared() -> None:
    kio = schema("metadata", 12)

    def partition(number: int, leader: int, code: int = 0) -> Any:
        return kio.MetadataResponsePartition(
            error_code=code,
            partition_index=number,
            leader_id=leader,
            leader_epoch=1,
            replica_nodes=(1, 2),
            isr_nodes=(1,) if leader < 0 else (1, 2),
            offline_replicas=(2,) if leader < 0 else (),
        )

    def topic(name: str | None, *partitions: Any, code: int = 0) -> Any:
        return kio.MetadataResponseTopic(
            error_code=code, name=name, topic_id=UUID(int=2**127 + 5), is_internal=False, partitions=partitions
        )

    response = Answer(
        topics=(
            topic("a", partition(2, 1), partition(0, -1, 5), partition(1, 1, 999)),
            topic("b", partition(2, 1)),
            topic("denied", code=29),
            topic(None, code=100),
            replace(topic("", code=17), topic_id=None),
            topic("odd", partition(0, 1), code=5),
        )
    )
    listing = topic_listing(response)
    a = listing.topics["a"]
    assert [(p.number, p.error) for p in a.partitions] == [(0, "LEADER_NOT_AVAILABLE"), (1, "UNKNOWN(999)"), (2, "")]
    assert (a.offline, a.under_replicated, a.partitions[0].offline) == (1, 1, (2,))
    assert a.topic_id == "gAAAAAAAAAAAAAAAAAAABQ"
    assert listing.topics["b"].partitions[0] is a.partitions[2]
    assert listing.topics.keys() == {"a", "b", "odd"}
    assert {name: failure.name for name, failure in listing.failures.items()} == {
        "denied": "TOPIC_AUTHORIZATION_FAILED",
        "gAAAAAAAAAAAAAAAAAAABQ": "UNKNOWN_TOPIC_ID",
        "": "INVALID_TOPIC_EXCEPTION",
    }
    assert leaders(a, None) == (2, 3)
    assert leaders(a, 5) == (2, 5)


def test_versions_of_brokers_without_features() -> None:
    kio = schema("api_versions", 2)

    keys = (
        kio.ApiVersion(api_key=44, min_version=0, max_version=0),
        kio.ApiVersion(api_key=999, min_version=1, max_version=2),
    )
    version = cluster.broker_version(kio.ApiVersionsResponse(error_code=0, api_keys=keys, throttle_time=NO_THROTTLE))
    assert (version.release, version.apis[999], version.finalized_features) == ("~2.3", (1, 2), {})


def test_codes_of_newer_brokers_keep_their_numbers() -> None:
    kio_acls = schema("describe_acls", 3)
    kio_scram = schema("describe_user_scram_credentials", 0)

    description = kio_acls.AclDescription(principal="User:u", host="*", operation=99, permission_type=98)
    resource = kio_acls.DescribeAclsResource(resource_type=97, resource_name="r", pattern_type=96, acls=(description,))
    response = kio_acls.DescribeAclsResponse(
        throttle_time=NO_THROTTLE, error_code=0, error_message=None, resources=(resource,)
    )
    (acl,) = acls(response)
    names = [code.name for code in (acl.resource_type, acl.pattern_type, acl.operation, acl.permission)]
    assert names == ["UNKNOWN(97)", "UNKNOWN(96)", "UNKNOWN(99)", "UNKNOWN(98)"]
    user = kio_scram.DescribeUserScramCredentialsResult(
        user="u",
        error_code=0,
        error_message=None,
        credential_infos=(kio_scram.CredentialInfo(mechanism=9, iterations=4096),),
    )
    found = scram_listing(Answer(results=(user,)))
    assert [str(credential.mechanism) for credential in found.users["u"]] == ["UNKNOWN(9)"]


def test_a_log_dir_that_is_offline_and_one_of_an_old_broker() -> None:
    kio = schema("describe_log_dirs", 1)

    replica = kio.DescribeLogDirsPartition(partition_index=1, partition_size=10, offset_lag=2, is_future_key=True)
    topic = kio.DescribeLogDirsTopic(name="t", partitions=(replica,))
    fine = kio.DescribeLogDirsResult(error_code=0, log_dir="/b", topics=(topic,))
    offline = kio.DescribeLogDirsResult(error_code=56, log_dir="/a", topics=())
    response = kio.DescribeLogDirsResponse(throttle_time=NO_THROTTLE, results=(fine, offline))
    first, second = cluster.log_dirs(cluster.dir_answers(response))
    assert (first.path, first.failure and first.failure.name) == ("/a", "KAFKA_STORAGE_ERROR")
    assert (second.path, second.failure, second.total_bytes, second.usable_bytes) == ("/b", None, -1, -1)
    assert list(second.replicas) == [("t", 1, 10, 2, True)]
    assert second.size == 10


def test_reassignments_are_sorted() -> None:
    def part(number: int) -> Answer:
        return Answer(partition_index=number, replicas=(1, 2), adding_replicas=(2,), removing_replicas=())

    response = Answer(topics=(Answer(name="b", partitions=(part(0),)), Answer(name="a", partitions=(part(1), part(0)))))
    assert reassignments(response) == (
        Reassignment("a", 0, (1, 2), (2,), ()),
        Reassignment("a", 1, (1, 2), (2,), ()),
        Reassignment("b", 0, (1, 2), (2,), ()),
    )


def test_groups_of_old_brokers_are_classic() -> None:
    kio = schema("list_groups", 3)

    group = kio.ListedGroup(group_id="g", protocol_type="connect")
    (found,) = listed_groups(kio.ListGroupsResponse(throttle_time=NO_THROTTLE, error_code=0, groups=(group,)), 4)
    assert (found.name, found.state, found.type, found.protocol, found.coordinator) == (
        "g",
        "",
        "classic",
        "connect",
        4,
    )


def assignment(version: int, topic: str, *partitions: int) -> bytes:
    """As the Java consumer writes it (ConsumerProtocolAssignment), with user data behind."""
    data = struct.pack(">hih", version, 1, len(topic)) + topic.encode()
    return data + struct.pack(f">i{len(partitions)}i", len(partitions), *partitions) + struct.pack(">i2s", 2, b"xx")


def test_assignments_of_every_version() -> None:
    for version in range(4):
        assert consumer_assignment(assignment(version, "t", 2, 0)) == (("t", 0), ("t", 2))
    assert consumer_assignment(b"") == ()


def subscription(version: int, *topics: str) -> bytes:
    """A member's subscription by hand, as its version has it: what versions append is left out of none."""
    names = b"".join(struct.pack(f">h{len(name)}s", len(name), name.encode()) for name in topics)
    later = struct.pack(">i", 0) + struct.pack(">i", -1) + struct.pack(">h", -1)
    return struct.pack(">hi", version, len(topics)) + names + struct.pack(">i", -1) + (later if version else b"")


def test_subscriptions_of_every_version() -> None:
    for version in range(4):
        assert consumer_subscription(subscription(version, "t", "a")) == ("a", "t")
    assert consumer_subscription(b"") == ()


@given(st.binary(max_size=40))
def test_whatever_a_client_calls_its_subscription_is_survived(data: bytes) -> None:
    assert isinstance(consumer_subscription(data), tuple)


@given(st.binary(max_size=40))
def test_whatever_a_client_calls_its_assignment_is_survived(data: bytes) -> None:
    assert isinstance(consumer_assignment(data), tuple)


def test_only_consumers_have_assignments() -> None:
    member = Answer(
        member_id="m",
        client_id="c",
        client_host="/h",
        member_metadata=subscription(0, "t", "a"),
        member_assignment=assignment(0, "t", 0),
        group_instance_id="i",
    )
    for protocol, data, expected, assignor in (
        ("consumer", "range", (("t", 0),), "range"),
        ("connect", "sessioned", (), ""),
    ):
        described = Answer(
            group_id="g", group_state="Stable", protocol_type=protocol, protocol_data=data, members=(member,)
        )
        group = classic_group(described, 1)
        assert group.members is not None
        assert (group.members[0].assignment, group.members[0].instance_id) == (expected, "i")
        assert group.members[0].topics == (("a", "t") if protocol == "consumer" else ())
        assert group.assignor == assignor


def test_lag_is_known_or_not() -> None:
    places = (("t", 0), ("t", 1), ("t", 2), ("t", 3))
    rows = lags(
        places, {("t", 0): 5, ("t", 1): 9, ("t", 3): 1}, {("t", 0): 8, ("t", 1): 7, ("t", 2): 4}, {("t", 0): "m"}
    )
    assert rows == (
        PartitionLag("t", 0, committed=5, end=8, lag=3, member="m"),
        PartitionLag("t", 1, committed=9, end=7, lag=0),
        PartitionLag("t", 2, committed=-1, end=4, lag=-1),
        PartitionLag("t", 3, committed=1, end=-1, lag=-1),
    )


def test_a_topic_that_many_groups_read_has_its_name_once() -> None:
    """Each answer spells it anew, and with 15,000 groups that read four partitions each it would be there 60,000
    times."""
    names = ("".join(("checkout", ".", "orders")) for _ in range(3))
    found = [_committed([_Position(name, 0, CommittedOffset(7))], {}) for name in names]
    assert len({id(topic) for each in found for topic, _ in each.offsets}) == 1


@given(
    st.dictionaries(
        st.sampled_from(["b", "a", "c"]),
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.booleans()), max_size=4),
        max_size=3,
    )
)
def test_replicas_of_a_directory_are_in_order(held: dict[str, list[tuple[int, int, bool]]]) -> None:
    """By topic, partition and size, however a broker sends them."""
    topics = tuple(
        Answer(
            name=name,
            partitions=tuple(
                Answer(partition_index=n, partition_size=size, offset_lag=0, is_future_key=future)
                for n, size, future in parts
            ),
        )
        for name, parts in held.items()
    )
    (found,) = cluster.log_dirs(
        cluster.dir_answers(Answer(results=(Answer(log_dir="/d", topics=topics, error_code=0),)))
    )
    assert [*found.replicas] == sorted(
        ReplicaSize(name, n, size, 0, future) for name, parts in held.items() for n, size, future in parts
    )
    assert found.sizes == {name: sum(size for _, size, _ in parts) for name, parts in held.items() if parts}


async def test_what_is_made_of_many_acls_holds_up_no_other_answer() -> None:
    threads: list[threading.Thread] = []

    class Watched:
        resource_type = resource_name = pattern_type = 3

        @property
        def acls(self) -> tuple[object, ...]:
            threads.append(threading.current_thread())
            return ()

    class Many(tuple[object, ...]):
        def __len__(self) -> int:
            return 100_000

    async def call(*_: object, **__: object) -> Answer:
        return Answer(error_code=0, resources=Many((Watched(),)))

    await describe_acls(Answer(call=call))
    assert threads
    assert threading.main_thread() not in threads

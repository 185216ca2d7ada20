"""Tests of the mapping from responses to the model, for responses that the clusters of the broker tests do not send:
observers, errors, old versions, codes of newer brokers, and invalid bytes.
"""

import struct
import threading
from importlib import import_module
from types import SimpleNamespace as Answer
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin import cluster
from console.admin.acls import acls, describe_acls
from console.admin.groups import _committed, _Position, classic_group, lags, listed_groups
from console.admin.partitions import reassignments
from console.admin.scram import scram_listing
from console.admin.topics import leaders, topic_listing
from console.model.cluster import CommittedOffset, PartitionLag, QuorumReplica, Reassignment, ReplicaSize
from console.wire.assignments import consumer_assignment, consumer_subscription, worker_position
from tests.support.kafka_messages import response

ID = UUID(int=2**127 + 5)


def made(api: str, version: int, **given: Any) -> Any:
    """Return a response of an API in a version with these fields. The arguments are Any, because kio types numbers more
    narrowly than Python.
    """
    return response(import_module(f"kio.schema.{api}.v{version}.response"), **given)


def test_observers_and_their_lag_and_no_times_in_the_oldest_answer() -> None:
    voters = [(3, None, 95, 5, 5), (2, None, 100, 9, 9)]
    observers = [(9, None, 40, 1, 1), (8, None, -1, -1, -1)]
    topic = ("__cluster_metadata", [(0, 0, None, 2, 7, 90, voters, observers)])
    found = cluster.quorum(made("describe_quorum", 2, error_code=0, error_message=None, topics=[topic], nodes=[]))
    assert (found.leader_id, found.leader_epoch, found.high_watermark) == (2, 7, 90)
    assert found.voters == (QuorumReplica(2, 100, 0, 9, 9), QuorumReplica(3, 95, 5, 5, 5))
    assert found.observers == (QuorumReplica(8, -1, -1, -1, -1), QuorumReplica(9, 40, 60, 1, 1))
    topic = ("__cluster_metadata", [(0, 0, 1, 1, 5, [(1, 5)], [])])
    assert cluster.quorum(made("describe_quorum", 0, error_code=0, topics=[topic])).voters == (QuorumReplica(1, 5, 0),)


def test_operations_are_bits() -> None:
    assert cluster.operations(-(2**31)) is None
    assert cluster.operations(0) == frozenset()
    assert cluster.operations(1 << 8 | 1 << 11) == frozenset({"DESCRIBE", "ALTER_CONFIGS"})
    assert cluster.operations(1 << 30) == frozenset({"UNKNOWN(30)"})


def test_metadata_and_groups_of_old_brokers() -> None:
    topic = (0, "t", True, [(0, 0, 3, [3], [3])])
    answer = made("metadata", 1, brokers=[(3, "h", 9092, None)], controller_id=3, topics=[topic])
    info = cluster.cluster_from_metadata(answer)
    assert (info.cluster_id, info.controller_id, info.operations) == (None, 3, None)
    assert [(b.id, b.host, b.port, b.rack, b.fenced) for b in info.brokers] == [(3, "h", 9092, None, False)]
    found = topic_listing(answer).topics["t"]
    assert (found.internal, found.topic_id, found.partitions[0].leader_epoch) == (True, None, -1)
    (found,) = listed_groups(made("list_groups", 3, throttle_time=0, error_code=0, groups=[("g", "connect")]), 4)
    assert (found.name, found.state, found.type, found.protocol, found.coordinator) == (
        "g",
        "",
        "classic",
        "connect",
        4,
    )


def test_partitions_with_errors_are_kept_and_equal_ones_shared() -> None:
    def partition(number: int, leader: int, code: int = 0) -> Any:
        isr, offline = ([1], [2]) if leader < 0 else ([1, 2], [])
        return (code, number, leader, 1, [1, 2], isr, offline)

    def topic(name: str | None, *partitions: Any, code: int = 0, id_: UUID | None = ID) -> Any:
        return {"error_code": code, "name": name, "topic_id": id_, "is_internal": False, "partitions": partitions}

    topics = [
        topic("a", partition(2, 1), partition(0, -1, 5), partition(1, 1, 999)),
        topic("b", partition(2, 1)),
        topic("denied", code=29),
        topic(None, code=100),
        topic("", code=17, id_=None),
        topic("odd", partition(0, 1), code=5),
    ]
    rest = {"throttle_time": 0, "brokers": [], "cluster_id": None, "controller_id": -1}
    answer = made("metadata", 12, topics=topics, **rest)
    listing = topic_listing(answer)
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
    keys = [(44, 0, 0), (999, 1, 2)]
    version = cluster.broker_version(made("api_versions", 2, error_code=0, api_keys=keys, throttle_time=0))
    assert (version.release, version.apis[999], version.finalized_features) == ("~2.3", (1, 2), {})


def test_codes_of_newer_brokers_keep_their_numbers() -> None:
    resource = (97, "r", 96, [("User:u", "*", 99, 98)])
    (acl,) = acls(made("describe_acls", 3, throttle_time=0, error_code=0, error_message=None, resources=[resource]))
    names = [code.name for code in (acl.resource_type, acl.pattern_type, acl.operation, acl.permission)]
    assert names == ["UNKNOWN(97)", "UNKNOWN(96)", "UNKNOWN(99)", "UNKNOWN(98)"]
    users = [("u", 0, None, [(9, 4096)])]
    fine = {"throttle_time": 0, "error_code": 0, "error_message": None}
    found = scram_listing(made("describe_user_scram_credentials", 0, **fine, results=users))
    assert [str(credential.mechanism) for credential in found.users["u"]] == ["UNKNOWN(9)"]


def test_a_log_dir_that_is_offline_and_one_of_an_old_broker() -> None:
    results = [(0, "/b", [("t", [(1, 10, 2, True)])]), (56, "/a", [])]
    answer = made("describe_log_dirs", 1, throttle_time=0, results=results)
    first, second = cluster.log_dirs(cluster.dir_answers(answer))
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


def assignment(version: int, topic: str, *partitions: int) -> bytes:
    """Return the bytes of an assignment as the Java consumer writes it (ConsumerProtocolAssignment), followed by user
    data.
    """
    data = struct.pack(">hih", version, 1, len(topic)) + topic.encode()
    return data + struct.pack(f">i{len(partitions)}i", len(partitions), *partitions) + struct.pack(">i2s", 2, b"xx")


def test_assignments_and_subscriptions_of_every_version() -> None:
    for version in range(4):
        assert consumer_assignment(assignment(version, "t", 2, 0)) == (("t", 0), ("t", 2))
    assert consumer_assignment(b"") == ()
    for version in range(4):
        assert consumer_subscription(subscription(version, "t", "a")) == ("a", "t")
    assert consumer_subscription(b"") == ()


@pytest.mark.parametrize("rest", [b"", b"\0\0\0\0"], ids=["eager", "sessioned"])
def test_the_position_of_a_worker_of_connect_is_read(rest: bytes) -> None:
    for offset in (-1, 0, 4):
        data = b"\0\2\0\5" + b"http:" + offset.to_bytes(8, signed=True) + rest
        assert worker_position(data) == offset
    assert worker_position(b"") is None
    assert worker_position(b"\0\2\0\5http:\0") is None
    assert worker_position(b"\0\2\xff\xff" + bytes(8)) is None


def subscription(version: int, *topics: str) -> bytes:
    """Return the bytes of a member's subscription in a version, with all fields of that version."""
    names = b"".join(struct.pack(f">h{len(name)}s", len(name), name.encode()) for name in topics)
    later = struct.pack(">i", 0) + struct.pack(">i", -1) + struct.pack(">h", -1)
    return struct.pack(">hi", version, len(topics)) + names + struct.pack(">i", -1) + (later if version else b"")


@given(st.binary(max_size=40))
def test_whatever_a_client_calls_its_subscription_and_assignment_is_survived(data: bytes) -> None:
    assert isinstance(consumer_subscription(data), tuple)
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
    """All groups share one object for the name of a topic; otherwise 15,000 groups that read four partitions each would
    hold it 60,000 times.
    """
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
    """The replicas of a log directory are sorted by topic, partition and size, in whatever order a broker sends
    them.
    """
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

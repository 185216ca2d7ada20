"""What alice is told of records and groups to which she is denied everything."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.contract import acls
from tests.contract.target import ALICE, Target
from tests.embedded.record_batches import START, batch, fetch_request, produce_request


@pytest.fixture(autouse=True)
def denied(target: Target) -> Iterator[None]:
    """Whatever this suite makes; ACLs are gone afterwards."""
    kinds = (acls.TOPIC, acls.GROUP)
    every = [
        acls.Binding("contract", f"User:{ALICE}", kind, acls.PREFIXED, operation=acls.ALL, permission=acls.DENY)
        for kind in kinds
    ]
    assert acls.create(target, *every) == [acls.FINE] * 2
    yield
    acls.delete(target, acls.EVERYTHING)
    assert acls.found(target)[1] == set()


def told(target: Target, api: str, version: int, build: Any, where: str) -> str:
    """The one error in an answer to alice, which is the same everywhere once brokers know the ACLs."""

    def ask() -> dict[str, Any]:
        return dict(target.ask(api, version, build, broker=1, user=ALICE))

    target.until(lambda: "AUTHORIZATION_FAILED" in str(ask()))
    found_here: Any = ask()
    for part in where.split("."):
        found_here = found_here[0][part] if isinstance(found_here, list) else found_here[part]
    return str(found_here)


NO_TOPIC, NO_GROUP = "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED"


def test_records(target: Target, topic: str) -> None:
    data = batch(b"a", times=[START])
    assert told(
        target,
        "produce",
        9,
        lambda m: produce_request(m, data, topic, 0, -1),
        "responses.partition_responses.error_code",
    ) == (NO_TOPIC)
    assert told(target, "fetch", 12, lambda m: fetch_request(m, 0, topic=topic), "responses.partitions.error_code") == (
        NO_TOPIC
    )

    def offsets(m: Any) -> Any:
        part = m.ListOffsetsPartition(partition_index=0, timestamp=-1)
        item = m.ListOffsetsTopic(name=topic, partitions=(part,))
        return m.ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=(item,))

    assert told(target, "list_offsets", 5, offsets, "topics.partitions.error_code") == NO_TOPIC


def test_groups(target: Target, name: str, topic: str) -> None:
    seconds = timedelta(seconds=10)

    def join(m: Any) -> Any:
        protocol = m.JoinGroupRequestProtocol(name="range", metadata=b"")
        return m.JoinGroupRequest(
            group_id=name,
            session_timeout=seconds,
            rebalance_timeout=seconds,
            member_id="",
            protocol_type="consumer",
            protocols=(protocol,),
        )

    assert told(target, "join_group", 5, join, "error_code") == NO_GROUP

    def sync(m: Any) -> Any:
        return m.SyncGroupRequest(group_id=name, generation_id=1, member_id="x", assignments=())

    assert told(target, "sync_group", 3, sync, "error_code") == NO_GROUP

    def heartbeat(m: Any) -> Any:
        return m.HeartbeatRequest(group_id=name, generation_id=1, member_id="x")

    assert told(target, "heartbeat", 3, heartbeat, "error_code") == NO_GROUP

    def leave(m: Any) -> Any:
        return m.LeaveGroupRequest(group_id=name, members=(m.MemberIdentity(member_id="x"),))

    assert told(target, "leave_group", 4, leave, "error_code") == NO_GROUP

    def commit(m: Any) -> Any:
        part = m.OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")
        item = m.OffsetCommitRequestTopic(name=topic, partitions=(part,))
        return m.OffsetCommitRequest(group_id=name, member_id="", topics=(item,))

    assert told(target, "offset_commit", 7, commit, "topics.partitions.error_code") == NO_GROUP

    def fetched(m: Any) -> Any:
        return m.OffsetFetchRequest(
            group_id=name, topics=(m.OffsetFetchRequestTopic(name=topic, partition_indexes=(0,)),)
        )

    assert told(target, "offset_fetch", 5, fetched, "error_code") == NO_GROUP
    target.ask("offset_fetch", 1, fetched, broker=1, user=ALICE)

    def described(m: Any) -> Any:
        return m.DescribeGroupsRequest(groups=(name,), include_authorized_operations=True)

    assert told(target, "describe_groups", 5, described, "groups.error_code") == NO_GROUP

    def deleted(m: Any) -> Any:
        return m.DeleteGroupsRequest(groups_names=(name,))

    assert told(target, "delete_groups", 2, deleted, "results.error_code") == NO_GROUP

    def coordinator(m: Any) -> Any:
        return m.FindCoordinatorRequest(key=name, key_type=0)

    assert told(target, "find_coordinator", 3, coordinator, "error_code") == NO_GROUP

    def offset_deleted(m: Any) -> Any:
        part = m.OffsetDeleteRequestPartition(partition_index=0)
        return m.OffsetDeleteRequest(
            group_id=name, topics=(m.OffsetDeleteRequestTopic(name=topic, partitions=(part,)),)
        )

    assert told(target, "offset_delete", 0, offset_deleted, "error_code") == NO_GROUP

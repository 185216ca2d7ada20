"""Tests of requests about topics and groups by the user alice, whom ACLs deny all operations on them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract import acls
from tests.contract.target import ALICE, Target
from tests.embedded.record_batches import START, batch, fetch_request, produce_request
from tests.support.kafka_messages import with_fields


@pytest.fixture(autouse=True)
def denied(target: Target) -> Iterator[None]:
    """Deny alice all operations on the topics and groups of the contract tests. Delete all ACLs after the test."""
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
    """Wait until brokers know the ACLs, and return the error at a path in the answer to alice's request."""

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
    offsets = with_fields(replica_id=-1, isolation_level=0, topics=[(topic, [{"partition_index": 0, "timestamp": -1}])])
    for api, version, asked, where in (
        ("produce", 9, produce_request(data, topic, 0, -1), "responses.partition_responses"),
        ("fetch", 12, fetch_request(0, topic=topic), "responses.partitions"),
        ("list_offsets", 5, offsets, "topics.partitions"),
    ):
        assert told(target, api, version, asked, f"{where}.error_code") == NO_TOPIC


def test_groups(target: Target, name: str, topic: str) -> None:
    joined = {
        "session_timeout": 10,
        "rebalance_timeout": 10,
        "protocol_type": "consumer",
        "protocols": [("range", b"")],
    }
    committed = [(topic, [{"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}])]
    fetched = with_fields(group_id=name, topics=[(topic, [0])])
    for api, version, asked, where in (
        ("join_group", 5, with_fields(group_id=name, member_id="", **joined), ""),
        ("sync_group", 3, with_fields(group_id=name, generation_id=1, member_id="x", assignments=[]), ""),
        ("heartbeat", 3, with_fields(group_id=name, generation_id=1, member_id="x"), ""),
        ("leave_group", 4, with_fields(group_id=name, members=["x"]), ""),
        ("offset_commit", 7, with_fields(group_id=name, member_id="", topics=committed), "topics.partitions."),
        ("offset_fetch", 5, fetched, ""),
        ("describe_groups", 5, with_fields(groups=[name], include_authorized_operations=True), "groups."),
        ("delete_groups", 2, with_fields(groups_names=[name]), "results."),
        ("find_coordinator", 3, with_fields(key=name, key_type=0), ""),
        ("offset_delete", 0, with_fields(group_id=name, topics=[(topic, [0])]), ""),
    ):
        assert told(target, api, version, asked, f"{where}error_code") == NO_GROUP
        if api == "offset_fetch":
            target.ask(api, 1, fetched, broker=1, user=ALICE)

"""Tests of transactions: the states of coordinators and partitions, the records that readers get, and the ways to end a
transaction. Producer ids differ between clusters, so each script runs on one cluster after the other, and the rest
of the results is compared.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.target import ADMIN, Server, Target
from tests.contract.test_records import NOW, topic_with
from tests.contract.verbs import BROKER, DELETE, FINE, SET, alter
from tests.embedded.record_batches import fetch_request
from tests.support.kafka_messages import with_fields
from tests.support.transactional_client import Refused, TransactionalClient

pytestmark = pytest.mark.live

COMMITTED = 1
VERIFICATION = "transaction.partition.verification.enable"
Facts = dict[str, Any]


def on_each(target: Target, script: Callable[[Server], Facts]) -> Facts:
    """Run a script on each cluster, and return its result. Raises AssertionError if the results differ."""
    found = [script(server) for server in target.servers]
    assert all(each == found[0] for each in found), f"real: {found[0]}\nembedded: {found[-1]}"
    return found[0]


def client_of(server: Server, name: str) -> TransactionalClient:
    return TransactionalClient(server.addresses, name, login=(ADMIN, server.users[ADMIN]))


def producers(server: Server, topic: str, partition: int = 0, user: str = ADMIN) -> Facts:
    """Send DescribeProducers for one partition to broker 1 as a user; return the partition's part of the answer."""
    answer = server.ask("describe_producers", 0, with_fields(topics=[(topic, [partition])]), 1, user)
    return dict(answer["topics"][0]["partitions"][0])


def one_producer(server: Server, topic: str, client: TransactionalClient) -> Facts:
    (found,) = (p for p in producers(server, topic)["active_producers"] if p["producer_id"] == client.producer_id)
    wanted = ("last_sequence", "last_timestamp", "current_txn_start_offset")
    return {
        **{key: found[key] for key in wanted},
        "epoch": found["producer_epoch"] - client.epoch,
        "had a marker": found["coordinator_epoch"] >= 0,
    }


def stable(server: Server, topic: str, isolation: int = COMMITTED) -> int:
    asked = with_fields(replica_id=-1, isolation_level=isolation, topics=[(topic, [(0, -1, -1)])])
    answer = server.ask("list_offsets", 4, asked, 1, ADMIN)
    return int(answer["topics"][0]["partitions"][0]["offset"])


def fetched(server: Server, topic: str, offset: int, isolation: int) -> Facts:
    answer = server.ask("fetch", 11, fetch_request(offset, topic=topic, isolation_level=isolation), 1, ADMIN)
    part = answer["responses"][0]["partitions"][0]
    aborted = part["aborted_transactions"]
    return {
        "end": part["high_watermark"],
        "stable": part["last_stable_offset"],
        "aborted": aborted if aborted is None else [each["first_offset"] for each in aborted],
        "records": len(part["records"] or b""),
    }


def described(server: Server, id_: str, user: str = ADMIN) -> list[Facts]:
    """Send DescribeTransactions for a transactional id to each broker as a user; return the answers without values that
    differ between clusters.
    """
    asked = with_fields(transactional_ids=[id_])
    answers = [
        server.ask("describe_transactions", 0, asked, broker, user)["transaction_states"][0]
        for broker in server.brokers
    ]
    return [
        {
            "error": each["error_code"],
            "state": each["transaction_state"],
            "timeout": each["transaction_timeout"],
            "topics": each["topics"],
            "began": min(each["transaction_start_time"], 1),
        }
        for each in answers
    ]


def listed(server: Server, id_: str, user: str = ADMIN, version: int = 0, **filters: Any) -> list[str]:
    """Send ListTransactions to each broker as a user; return the states in which they list this transactional id. Empty
    if no broker lists it.
    """
    asked = with_fields(**filters)
    return [
        each["transaction_state"]
        for broker in server.brokers
        for each in server.ask("list_transactions", version, asked, broker, user)["transaction_states"]
        if each["transactional_id"] == id_
    ]


def markers(server: Server, topic: str, producer: int, epoch: int, coordinator: int, user: str = ADMIN) -> str:
    wanted = (producer, epoch, False, [(topic, [0])], coordinator)
    answer = server.ask("write_txn_markers", 1, with_fields(markers=[wanted]), 1, user)
    return str(answer["markers"][0]["topics"][0]["partitions"][0]["error_code"])


def test_a_transactions_life(target: Target, name: str) -> None:
    def script(server: Server) -> Facts:
        found: Facts = {}
        with client_of(server, name) as client:
            client.begin()
            found["empty"] = sorted(described(server, name), key=str), listed(server, name)
            client.add(name, 0)
            found["added"] = sorted(described(server, name), key=str), listed(server, name)
            client.write(name, 0, b"a", b"b", times=[NOW, NOW])
            found["open"] = one_producer(server, name, client), stable(server, name), stable(server, name, 0)
            found["read"] = [fetched(server, name, 0, isolation) for isolation in (0, COMMITTED)]
            client.end()
            found["committed"] = one_producer(server, name, client) | {"last_timestamp": 0}, stable(server, name)
            found["done"] = sorted(described(server, name), key=str), listed(server, name)
            client.add(name, 0)
            client.write(name, 0, b"c", times=[NOW])
            client.end(commit=False)
            found["aborted"] = [fetched(server, name, at, COMMITTED) for at in (0, 3, 4, 5)], stable(server, name)
            found["filtered"] = (
                listed(server, name, state_filters=("Ongoing",)),
                listed(server, name, state_filters=("CompleteAbort",)),
            )
            client.begin()
            found["again"] = client.epoch > 0, sorted(described(server, name), key=str)
        return found

    with topic_with(target, name, segment_ms=str(2**62)):
        found = on_each(target, script)
    assert found["open"][0]["current_txn_start_offset"] == 0
    assert found["open"][1:] == (0, 2)
    assert found["committed"][0]["current_txn_start_offset"] == -1
    assert found["done"][1] == ["CompleteCommit"]
    assert found["aborted"][0][0]["aborted"] == [3]


def test_what_is_refused(target: Target, name: str) -> None:
    def refused(what: Callable[[], object]) -> str:
        try:
            what()
        except Refused as error:
            return str(error)
        return "not refused"

    def script(server: Server) -> Facts:
        found: Facts = {}
        with client_of(server, name) as client:
            client.begin()
            found["no transaction"] = refused(client.end)
            found["outside"] = refused(lambda: client.write(name, 0, b"a"))
            found["nowhere"] = refused(lambda: client.add(f"{name}-no", 0))
            client.add(name, 0)
            found["other partition"] = refused(lambda: client.add(name, 7))
            client.epoch += 1
            found["other epoch"] = refused(client.end)
            client.epoch -= 1
            client.producer_id += 1000
            found["other producer"] = refused(client.end)
            client.producer_id -= 1000
            client.end()
        found["unknown"] = sorted(each["error"] for each in described(server, f"{name}-no"))
        found["nobody"] = sorted(each["error"] for each in described(server, ""))
        found["no topic"] = producers(server, f"{name}-no")
        found["no partition"] = producers(server, name, 7)
        return found

    with topic_with(target, name):
        on_each(target, script)


def test_a_hanging_transaction_is_ended(target: Target, name: str) -> None:
    def script(server: Server) -> Facts:
        found: Facts = {}
        with client_of(server, name) as client:
            client.begin()
            client.begin()
            client.add(name, 0)
            client.write(name, 0, b"a", times=[NOW])
            client.end()
            client.write(name, 0, b"late", times=[NOW])
            found["hangs"] = one_producer(server, name, client), stable(server, name)
            who = client.producer_id
            (state,) = (p for p in producers(server, name)["active_producers"] if p["producer_id"] == who)
            epoch, coordinator = state["producer_epoch"], state["coordinator_epoch"]
            found["old epoch"] = markers(server, name, who, epoch - 1, coordinator)
            found["nowhere"] = markers(server, f"{name}-no", who, epoch, coordinator)
            found["still"] = stable(server, name)
            found["ended"] = markers(server, name, who, epoch, coordinator), stable(server, name)
            found["old coordinator"] = markers(server, name, who, epoch, -1)
            found["after"] = one_producer(server, name, client) | {"last_timestamp": 0}
        return found

    for side in target.sides():
        assert alter(side, BROKER, "", (VERIFICATION, SET, "false")) == FINE
    try:
        with topic_with(target, name):
            found = on_each(target, script)
    finally:
        for side in target.sides():
            assert alter(side, BROKER, "", (VERIFICATION, DELETE, None)) == FINE
    assert found["still"] == 2
    assert found["ended"] == ("NONE", 4)


def refused_as(what: Callable[[], object]) -> str:
    try:
        what()
    except Refused as error:
        return str(error)
    return "not refused"


def test_offsets_in_a_transaction(target: Target, name: str) -> None:
    def script(server: Server) -> Facts:
        found: Facts = {}
        group = f"{name}-group"
        with client_of(server, name) as client:
            client.begin()
            found["outside"] = refused_as(lambda: client.commit_offset(group, name, 1))
            client.add_offsets(group)
            client.commit_offset(group, name, 3)
            found["open"] = client.offset(group, name), client.offset(group, name, stable=False)
            client.end()
            while (now := client.offset(group, name)) == UNSTABLE:
                pass
            found["committed"] = now, client.offset(group, name, stable=False)
            client.add_offsets(group)
            client.commit_offset(group, name, 9)
            found["again"] = client.offset(group, name), client.offset(group, name, stable=False)
            client.end(commit=False)
            while (now := client.offset(group, name)) == UNSTABLE:
                pass
            found["aborted"] = now
            client.epoch -= 1
            found["old epoch"] = refused_as(lambda: client.add_offsets(group))
            client.epoch += 1
            found["nowhere"] = refused_as(lambda: client.commit_offset(group, f"{name}-no", 1))
        return found

    with topic_with(target, name):
        found = on_each(target, script)
    assert found["open"] == (UNSTABLE, -1)
    assert found["committed"] == (3, 3)
    assert found["again"] == (UNSTABLE, 3)
    assert found["aborted"] == 3


UNSTABLE = -88
"""What `TransactionalClient.offset` returns for the error UNSTABLE_OFFSET_COMMIT: the negated error code."""


def test_a_producer_that_goes_on_and_one_that_takes_over(target: Target, name: str) -> None:
    def script(server: Server) -> Facts:
        found: Facts = {}
        with client_of(server, name) as first, client_of(server, name) as second:
            first.begin()
            began = first.epoch
            first.begin(goes_on=True)
            found["next"] = first.epoch - began
            first.epoch -= 1
            first.begin(goes_on=True)
            found["asked again"] = first.epoch - began
            second.begin()
            found["taken over"] = refused_as(lambda: first.begin(goes_on=True))
            second.add(name, 0)
            found["open"] = refused_as(lambda: second.begin(goes_on=True))
            second.begin()
            found["after all"] = refused_as(lambda: second.begin(goes_on=True))
        return found

    with topic_with(target, name):
        on_each(target, script)


def test_each_transaction_has_its_own_epoch(target: Target, name: str) -> None:
    """With the newer transaction protocol (KIP-890), EndTxn v5 gives the producer a new epoch after each
    transaction.
    """
    if target.release == "3.9":
        pytest.skip("since 4.0")

    def script(server: Server) -> Facts:
        found: Facts = {}
        group = f"{name}-group"
        with client_of(server, name) as client:
            client.begin()
            before = client.epoch
            client.commit_offset(group, name, 3, version=5)
            found["open"] = client.offset(group, name)
            found["epoch"] = client.end(version=5) - before
            found["again"] = client.end(version=5) - before
            found["the other way"] = refused_as(lambda: client.end(commit=False, version=5))
            found["old"] = refused_as(lambda: client.commit_offset(group, name, 4, version=5))
            found["goes on"] = refused_as(lambda: client.begin(goes_on=True)), client.epoch - before
            client.commit_offset(group, name, 5, version=5)
            found["abort"] = client.end(commit=False, version=5) - before
            while (now := client.offset(group, name)) == UNSTABLE:
                pass
            found["offset"] = now
        return found

    with topic_with(target, name):
        found = on_each(target, script)
    assert found["open"] == UNSTABLE
    assert (found["epoch"], found["again"], found["offset"]) == (1, 1, 3)

"""Tests of records: accepted and refused batches, fetches, offsets by time, and leader epochs."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from console.embedded.spec import release
from tests.contract.target import ADMIN, SETTLED, Server, Target
from tests.contract.verbs import FINE, create_topics, delete_topics
from tests.embedded.record_batches import batch, fetch_request, produce_request
from tests.support.kafka_messages import Build, with_fields

LIST_OFFSETS = 2
NOW = 1_790_000_000_000
"""The time of the tests' records, Unix milliseconds. Their topics have unlimited retention, so brokers never delete
them.
"""


def produce(
    target: Target, topic: str, data: bytes, partition: int = 0, *, acks: int = -1, version: int = 9, **to: Any
) -> dict[str, Any]:
    """Send a record batch to a partition, and return the partition's part of the answer."""
    answer = target.ask("produce", version, produce_request(data, topic, partition, acks), **{"broker": 1, **to})
    (part,) = answer["responses"][0]["partition_responses"]
    return dict(part)


def fetch(target: Target, topic: str, offset: int, version: int = 12, **wanted: Any) -> dict[str, Any]:
    """Fetch partition 0 from an offset on, and return the partition's part of the answer."""
    to = {"broker": wanted.pop("broker", 1)}
    answer = target.ask("fetch", version, fetch_request(offset, topic=topic, **wanted), **to)
    (part,) = answer["responses"][0]["partitions"]
    return dict(part)


@contextmanager
def topic_with(target: Target, name: str, **configs: str) -> Iterator[None]:
    """Create a topic with one partition on broker 1, unlimited retention and these configs; delete it at the end of the
    block. The configs are set at creation, because a later change reaches real brokers with a delay.
    """
    wanted = {"retention.ms": "-1", **{key.replace("_", "."): value for key, value in configs.items()}}
    assert create_topics(target, {name: {0: [1]}}, wanted) == {name: FINE}
    for server in target.servers:
        leads(server, name)
    yield
    delete_topics(target, name)


def leads(server: Server, name: str) -> None:
    """Wait until broker 1 answers as the topic's leader and has its metadata. Raises AssertionError after `SETTLED`
    seconds.
    """
    deadline = time.monotonic() + SETTLED
    known = with_fields(topics=[name], allow_auto_topic_creation=False)
    while (
        "'NONE'" not in str(server.ask("list_offsets", 1, list_request(name, -1), 1, ADMIN)["topics"])
        or not (server.ask("metadata", 4, known, 1, ADMIN)["topics"][0]["partitions"])
    ):
        assert time.monotonic() < deadline


def code(part: dict[str, Any]) -> str:
    return str(part["error_code"])


def test_what_is_written_is_read(target: Target, name: str) -> None:
    with topic_with(target, name):
        for version in range(3, 13 if target.is_since("4.0") else 10):
            assert code(produce(target, name, batch(b"a", b"b", times=[NOW, NOW + 1]), version=version)) == "NONE"
        for version in range(4, 13):
            assert fetch(target, name, 0, version)["records"]
        assert fetch(target, name, 3)["records"]
        assert fetch(target, name, 2, most=1)["records"]


def test_records_that_are_refused(target: Target, name: str) -> None:
    with topic_with(target, name):
        good = batch(b"a", times=[NOW])
        spoiled = good[:-2] + bytes([good[-2] ^ 1]) + good[-1:]
        assert code(produce(target, name, spoiled)) == "CORRUPT_MESSAGE"
        produce(target, name, good + good)
        produce(target, name, b"")
        assert code(produce(target, "no-such-topic", good)) == "UNKNOWN_TOPIC_OR_PARTITION"
        assert code(produce(target, name, good, 7)) == "UNKNOWN_TOPIC_OR_PARTITION"
        assert code(produce(target, name, good, acks=2)) == "INVALID_REQUIRED_ACKS"
        if len(target.brokers) > 1:
            assert code(produce(target, name, good, broker=2)) == "NOT_LEADER_OR_FOLLOWER"


def test_what_a_topic_allows(target: Target, name: str) -> None:
    good = batch(b"a", times=[NOW])
    with topic_with(target, name, max_message_bytes="60"):
        assert code(produce(target, name, good)) == "MESSAGE_TOO_LARGE"
    with topic_with(target, f"{name}-2", min_insync_replicas="2"):
        assert code(produce(target, f"{name}-2", good)) == "NONE"
        assert code(produce(target, f"{name}-2", good, acks=1)) == "NONE"


def test_a_compacted_topic(target: Target, name: str) -> None:
    with topic_with(target, name, cleanup_policy="compact"):
        refused = produce(target, name, batch(b"a", b"b", key=None, times=[NOW] * 2))
        assert code(refused) == "INVALID_RECORD"
        assert code(produce(target, name, batch(b"a", times=[NOW]))) == "NONE"


@pytest.mark.live
def test_records_that_are_too_old_or_too_far_ahead(target: Target, name: str) -> None:
    now, hour = int(time.time() * 1000), 3_600_000
    with topic_with(target, name, message_timestamp_before_max_ms=str(24 * hour)):
        for codec in (0, 1):
            told = refused_alike(target, name, batch(b"a", b"b", times=[now, now - 25 * hour], codec=codec))
            assert told == ("INVALID_TIMESTAMP", [1])
        ahead = batch(b"a", times=[now + 25 * hour])
        expected = target.by_release(v3_9="NONE", v4_0="INVALID_TIMESTAMP")
        assert refused_alike(target, name, ahead)[0] == expected
        assert code(produce(target, name, batch(b"a", times=[now]))) == "NONE"


def refused_alike(target: Target, topic: str, data: bytes) -> tuple[str, list[int]]:
    """Send a batch that is refused to each cluster. Return the error, and the index of each refused record in the
    batch. Raises AssertionError if the clusters answer differently; only times in messages may differ.
    """
    told = []
    for server in target.servers:
        answer = server.ask("produce", 9, produce_request(data, topic, 0, -1), 1, ADMIN)
        (part,) = answer["responses"][0]["partition_responses"]
        words = [re.sub(r"-?\d{9,}", "N", each["batch_index_error_message"]) for each in part["record_errors"]]
        places = [each["batch_index"] for each in part["record_errors"]]
        told.append((code(part), places, words, part["error_message"], part["log_start_offset"]))
    assert told[0] == told[-1]
    return told[0][:2]


def test_idempotent_producers(target: Target, name: str) -> None:
    with topic_with(target, name):

        def write(epoch: int, sequence: int, *values: bytes) -> str:
            data = batch(*values, times=[NOW] * len(values), producer=(4711, epoch, sequence))
            part = produce(target, name, data)
            return f"{part['error_code']} {part['base_offset']}"

        assert write(0, 0, b"a", b"b") == "NONE 0"
        assert write(0, 0, b"a", b"b") == "NONE 0"
        assert write(0, 5, b"c") == "OUT_OF_ORDER_SEQUENCE_NUMBER -1"
        assert write(0, 2, b"c") == "NONE 2"
        assert write(1, 3, b"d") == "OUT_OF_ORDER_SEQUENCE_NUMBER -1"
        assert write(1, 0, b"d") == "NONE 3"
        assert write(0, 3, b"e") == "INVALID_PRODUCER_EPOCH -1"


def test_fetches_that_are_refused(target: Target, name: str) -> None:
    with topic_with(target, name):
        produce(target, name, batch(b"a", times=[NOW]))
        assert code(fetch(target, name, 2)) == "OFFSET_OUT_OF_RANGE"
        assert code(fetch(target, name, -1)) == "OFFSET_OUT_OF_RANGE"
        assert code(fetch(target, "no-such-topic", 0)) == "UNKNOWN_TOPIC_OR_PARTITION"
        assert code(fetch(target, name, 0, epoch=3)) == "UNKNOWN_LEADER_EPOCH"
        assert code(fetch(target, name, 0, epoch=0)) == "NONE"
        if len(target.brokers) > 1:
            assert code(fetch(target, name, 0, broker=2)) == "NOT_LEADER_OR_FOLLOWER"


def list_request(topic: str, timestamp: int, asker: int = -1) -> Build:
    """Return a function that builds a ListOffsets request for partition 0. timestamp: Unix milliseconds, or a special
    value (-1 the end, -2 the beginning). asker: the replica id; -1 for a consumer, -2 for a debugger.
    """
    part = {"partition_index": 0, "timestamp": timestamp}
    return with_fields(replica_id=asker, isolation_level=0, topics=[(topic, [part])], timeout=5)


def offset_at(
    target: Target, topic: str, timestamp: int, version: int = 6, asker: int = -1, **to: Any
) -> dict[str, Any]:
    """Send ListOffsets for partition 0, and return the partition's part of the answer."""
    answer = target.ask("list_offsets", version, list_request(topic, timestamp, asker), **{"broker": 1, **to})
    (part,) = answer["topics"][0]["partitions"]
    return dict(part)


@pytest.mark.live
def test_each_replica_returns_the_end_of_its_own_log(target: Target, name: str) -> None:
    """A replica that is not the leader returns the end offset of its own log to a debugger
    (ListOffsetsRequest.DEBUGGING_REPLICA_ID).
    """
    newest = release(target.release).apis[LIST_OFFSETS][1]
    with topic_with(target, name):
        produce(target, name, batch(b"a", b"b", times=[NOW, NOW]))
        for version in (1, newest):
            assert offset_at(target, name, -1, version, -2)["offset"] == 2
            assert code(offset_at(target, "no-such-topic", -1, version, -2)) == "UNKNOWN_TOPIC_OR_PARTITION"
            if len(target.brokers) > 1:
                assert code(offset_at(target, name, -1, version, -2, broker=2)) == "NOT_LEADER_OR_FOLLOWER"


@pytest.mark.live
def test_places_in_a_log(target: Target, name: str) -> None:
    with topic_with(target, name):
        newest = release(target.release).apis[LIST_OFFSETS][1]
        for timestamp in (-1, -2, 0):
            offset_at(target, name, timestamp)
        produce(target, name, batch(b"a", b"b", b"c", times=[NOW, NOW + 20, NOW + 10]))
        produce(target, name, batch(b"d", times=[NOW + 15], codec=1))
        for version in range(1, newest + 1):
            for timestamp in (-1, -2, NOW, NOW + 1, NOW + 20, NOW + 21):
                offset_at(target, name, timestamp, version)
        for version in range(7, newest + 1):
            # the offset of the record, not of the end of its batch (KAFKA-16310)
            assert offset_at(target, name, -3, version)["offset"] == 1
        for timestamp in (-3, -4, -5, -6, -7):
            for version in range(6, newest + 1):
                offset_at(target, name, timestamp, version)
        assert code(offset_at(target, "no-such-topic", -1)) == "UNKNOWN_TOPIC_OR_PARTITION"
        if len(target.brokers) > 1:
            assert code(offset_at(target, name, -1, broker=2)) == "NOT_LEADER_OR_FOLLOWER"


def test_log_append_time(target: Target, name: str) -> None:
    with topic_with(target, name, message_timestamp_type="LogAppendTime"):
        for server in target.servers:
            answer = server.ask("produce", 9, produce_request(batch(b"a", times=[5]), name, 0, -1), 1, "admin")
            assert answer["responses"][0]["partition_responses"][0]["log_append_time"] is not None


def end_of_epoch(target: Target, topic: str, epoch: int, current: int = -1) -> dict[str, Any]:
    """Send OffsetForLeaderEpoch for partition 0, and return the partition's part of the answer. epoch: the leader epoch
    whose end is asked for. current: the leader epoch that the client knows; -1 for none.
    """
    asked = with_fields(replica_id=-1, topics=[(topic, [(0, current, epoch)])])
    (part,) = target.ask("offset_for_leader_epoch", 4, asked, broker=1)["topics"][0]["partitions"]
    return dict(part)


def test_leader_epochs(target: Target, name: str) -> None:
    with topic_with(target, name):
        end_of_epoch(target, name, 0)
        produce(target, name, batch(b"a", b"b", times=[NOW] * 2))
        assert end_of_epoch(target, name, 0)["end_offset"] == 2
        end_of_epoch(target, name, 5)
        end_of_epoch(target, name, 0, current=5)
        assert code(end_of_epoch(target, "no-such-topic", 0)) == "UNKNOWN_TOPIC_OR_PARTITION"


def test_records_of_a_topic_that_was_deleted_are_gone(target: Target, name: str) -> None:
    for _ in range(2):
        with topic_with(target, name):
            assert produce(target, name, batch(b"a", times=[NOW]))["base_offset"] == 0


def test_no_fetch_sessions(target: Target, topic: str) -> None:
    with target.differing("no fetch sessions") as real:
        answer = target.ask("fetch", 12, fetch_request(0, topic=topic, session_epoch=0), broker=1)
        assert bool(answer["session_id"]) is real


def delete_before(target: Target, topic: str, *wanted: tuple[int, int], **to: Any) -> dict[int, tuple[str, int]]:
    """Send DeleteRecords v2; return partition -> (name of its error, its new first offset). wanted: (partition, offset)
    pairs; records before the offset are deleted.
    """
    asked = with_fields(topics=[(topic, wanted)], timeout=30)
    (told,) = target.ask("delete_records", 2, asked, **{"broker": 1, **to})["topics"]
    return {part["partition_index"]: (code(part), part["low_watermark"]) for part in told["partitions"]}


def first_offset(target: Target, topic: str) -> int:
    """Return the first offset of the log of a topic's partition 0."""
    return int(offset_at(target, topic, -2, 1)["offset"])


def test_records_before_an_offset_are_deleted(target: Target, name: str) -> None:
    with topic_with(target, name):
        produce(target, name, batch(*[b"a"] * 10, times=[NOW] * 10))
        for wanted, told in (
            (11, ("OFFSET_OUT_OF_RANGE", -1)),
            (-2, ("OFFSET_OUT_OF_RANGE", -1)),
            (4, ("NONE", 4)),
            (2, ("NONE", 4)),
            (0, ("NONE", 4)),
            (-1, ("NONE", 10)),
        ):
            assert delete_before(target, name, (0, wanted)) == {0: told}
            assert first_offset(target, name) == max(told[1], 0)
        assert code(fetch(target, name, 3)) == "OFFSET_OUT_OF_RANGE"
        assert delete_before(target, name, (7, 0)) == {7: ("UNKNOWN_TOPIC_OR_PARTITION", -1)}
        if len(target.brokers) > 1:
            assert delete_before(target, name, (0, 4), broker=2) == {0: ("NOT_LEADER_OR_FOLLOWER", -1)}


def test_records_that_are_not_deleted_by_request(target: Target, name: str) -> None:
    with topic_with(target, name, cleanup_policy="compact"):
        produce(target, name, batch(b"a", times=[NOW]))
        assert delete_before(target, name, (0, 1)) == {0: ("POLICY_VIOLATION", -1)}
    with topic_with(target, f"{name}-2", cleanup_policy="compact,delete"):
        produce(target, f"{name}-2", batch(b"a", times=[NOW]))
        assert delete_before(target, f"{name}-2", (0, 1)) == {0: ("NONE", 1)}
    assert delete_before(target, f"{name}-3", (0, 0)) == {0: ("UNKNOWN_TOPIC_OR_PARTITION", -1)}

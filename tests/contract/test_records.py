"""Records: what leaders take and refuse, what is fetched, where offsets and leader epochs are."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.contract.target import Target
from tests.contract.verbs import FINE, SET, TOPIC, alter, create_topics, delete_topics
from tests.embedded.record_batches import batch, fetch_request, produce_request

NOW = 1_790_000_000_000
"""No test is so old, or so young, that a broker would drop records of this moment: their topics keep everything."""


def produce(
    target: Target, topic: str, data: bytes, partition: int = 0, *, acks: int = -1, version: int = 9, **to: Any
) -> dict[str, Any]:
    """The partition's answer."""
    answer = target.ask(
        "produce", version, lambda m: produce_request(m, data, topic, partition, acks), **{"broker": 1, **to}
    )
    (part,) = answer["responses"][0]["partition_responses"]
    return dict(part)


def fetch(target: Target, topic: str, offset: int, version: int = 12, **wanted: Any) -> dict[str, Any]:
    """The partition's answer."""
    to = {"broker": wanted.pop("broker", 1)}
    answer = target.ask("fetch", version, lambda m: fetch_request(m, offset, topic=topic, **wanted), **to)
    (part,) = answer["responses"][0]["partitions"]
    return dict(part)


def keep(target: Target, topic: str, **configs: str) -> None:
    """Configs of a topic whose records stay."""
    wanted = {"retention.ms": "-1", **{key.replace("_", "."): value for key, value in configs.items()}}
    assert alter(target, TOPIC, topic, *((key, SET, value) for key, value in wanted.items())) == FINE


def code(part: dict[str, Any]) -> str:
    return str(part["error_code"])


def test_what_is_written_is_read(target: Target, topic: str) -> None:
    keep(target, topic)
    for version in range(3, 13 if target.release == "4.3" else 10):
        assert code(produce(target, topic, batch(b"a", b"b", times=[NOW, NOW + 1]), version=version)) == "NONE"
    for version in range(4, 13):
        assert fetch(target, topic, 0, version)["records"]
    assert fetch(target, topic, 3)["records"]
    assert fetch(target, topic, 2, most=1)["records"]


def test_records_that_are_refused(target: Target, topic: str) -> None:
    keep(target, topic)
    good = batch(b"a", times=[NOW])
    spoiled = good[:-2] + bytes([good[-2] ^ 1]) + good[-1:]
    assert code(produce(target, topic, spoiled)) == "CORRUPT_MESSAGE"
    produce(target, topic, good + good)
    produce(target, topic, b"")
    assert code(produce(target, "no-such-topic", good)) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert code(produce(target, topic, good, 7)) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert code(produce(target, topic, good, acks=2)) == "INVALID_REQUIRED_ACKS"
    if len(target.brokers) > 1:
        assert code(produce(target, topic, good, broker=2)) == "NOT_LEADER_OR_FOLLOWER"
    keep(target, topic, max_message_bytes="60")
    assert code(produce(target, topic, good)) == "MESSAGE_TOO_LARGE"
    keep(target, topic, max_message_bytes="1000", min_insync_replicas="2")
    assert code(produce(target, topic, good)) == "NOT_ENOUGH_REPLICAS"
    assert code(produce(target, topic, good, acks=1)) == "NONE"


def test_a_compacted_topic(target: Target, topic: str) -> None:
    keep(target, topic, cleanup_policy="compact")
    refused = produce(target, topic, batch(b"a", b"b", key=None, times=[NOW] * 2))
    assert code(refused) == "INVALID_RECORD"
    assert code(produce(target, topic, batch(b"a", times=[NOW]))) == "NONE"


def test_idempotent_producers(target: Target, topic: str) -> None:
    keep(target, topic)

    def write(epoch: int, sequence: int, *values: bytes) -> str:
        data = batch(*values, times=[NOW] * len(values), producer=(4711, epoch, sequence))
        part = produce(target, topic, data)
        return f"{part['error_code']} {part['base_offset']}"

    assert write(0, 0, b"a", b"b") == "NONE 0"
    assert write(0, 0, b"a", b"b") == "NONE 0"
    assert write(0, 5, b"c") == "OUT_OF_ORDER_SEQUENCE_NUMBER -1"
    assert write(0, 2, b"c") == "NONE 2"
    assert write(1, 3, b"d") == "OUT_OF_ORDER_SEQUENCE_NUMBER -1"
    assert write(1, 0, b"d") == "NONE 3"
    assert write(0, 3, b"e") == "INVALID_PRODUCER_EPOCH -1"


def test_fetches_that_are_refused(target: Target, topic: str) -> None:
    keep(target, topic)
    produce(target, topic, batch(b"a", times=[NOW]))
    assert code(fetch(target, topic, 2)) == "OFFSET_OUT_OF_RANGE"
    assert code(fetch(target, topic, -1)) == "OFFSET_OUT_OF_RANGE"
    assert code(fetch(target, "no-such-topic", 0)) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert code(fetch(target, topic, 0, epoch=3)) == "UNKNOWN_LEADER_EPOCH"
    assert code(fetch(target, topic, 0, epoch=0)) == "NONE"
    if len(target.brokers) > 1:
        assert code(fetch(target, topic, 0, broker=2)) == "NOT_LEADER_OR_FOLLOWER"


def offset_at(target: Target, topic: str, timestamp: int, version: int = 6, **to: Any) -> dict[str, Any]:
    """ListOffsets of partition 0."""
    answer = target.ask(
        "list_offsets",
        version,
        lambda m: m.ListOffsetsRequest(
            replica_id=-1,
            **({"isolation_level": 0} if version >= 2 else {}),
            **({"timeout": timedelta(seconds=5)} if version >= 10 else {}),
            topics=(
                m.ListOffsetsTopic(
                    name=topic, partitions=(m.ListOffsetsPartition(partition_index=0, timestamp=timestamp),)
                ),
            ),
        ),
        **{"broker": 1, **to},
    )
    (part,) = answer["topics"][0]["partitions"]
    return dict(part)


def test_places_in_a_log(target: Target, topic: str) -> None:
    keep(target, topic)
    newest = {"2.8": 6, "3.9": 9, "4.3": 11}[target.release]
    for timestamp in (-1, -2, 0):
        offset_at(target, topic, timestamp)
    produce(target, topic, batch(b"a", b"b", b"c", times=[NOW, NOW + 20, NOW + 10]))
    produce(target, topic, batch(b"d", times=[NOW + 15], codec=1))
    for version in range(1, newest + 1):
        for timestamp in (-1, -2, NOW, NOW + 1, NOW + 20, NOW + 21):
            offset_at(target, topic, timestamp, version)
    for version in range(7, newest + 1):
        assert offset_at(target, topic, -3, version)["offset"] == 1
    for timestamp in (-3, -4, -5, -6, -7):
        for version in range(6, newest + 1):
            offset_at(target, topic, timestamp, version)
    assert code(offset_at(target, "no-such-topic", -1)) == "UNKNOWN_TOPIC_OR_PARTITION"
    if len(target.brokers) > 1:
        assert code(offset_at(target, topic, -1, broker=2)) == "NOT_LEADER_OR_FOLLOWER"


def test_log_append_time(target: Target, topic: str) -> None:
    keep(target, topic, message_timestamp_type="LogAppendTime")
    answer = target.embedded.ask(
        "produce", 9, lambda m: produce_request(m, batch(b"a", times=[5]), topic, 0, -1), 1, "admin"
    )
    assert answer["responses"][0]["partition_responses"][0]["log_append_time"] is not None
    if target.real is not None:
        answer = target.real.ask(
            "produce", 9, lambda m: produce_request(m, batch(b"a", times=[5]), topic, 0, -1), 1, "admin"
        )
        assert answer["responses"][0]["partition_responses"][0]["log_append_time"] is not None


def end_of_epoch(target: Target, topic: str, epoch: int, current: int = -1) -> dict[str, Any]:
    """OffsetForLeaderEpoch of partition 0."""
    answer = target.ask(
        "offset_for_leader_epoch",
        4,
        lambda m: m.OffsetForLeaderEpochRequest(
            replica_id=-1,
            topics=(
                m.OffsetForLeaderTopic(
                    topic=topic,
                    partitions=(
                        m.OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current),
                    ),
                ),
            ),
        ),
        broker=1,
    )
    (part,) = answer["topics"][0]["partitions"]
    return dict(part)


def test_leader_epochs(target: Target, topic: str) -> None:
    keep(target, topic)
    end_of_epoch(target, topic, 0)
    produce(target, topic, batch(b"a", b"b", times=[NOW] * 2))
    assert end_of_epoch(target, topic, 0)["end_offset"] == 2
    end_of_epoch(target, topic, 5)
    end_of_epoch(target, topic, 0, current=5)
    assert code(end_of_epoch(target, "no-such-topic", 0)) == "UNKNOWN_TOPIC_OR_PARTITION"


def test_records_of_a_topic_that_was_deleted_are_gone(target: Target, name: str) -> None:
    for _ in range(2):
        assert create_topics(target, {name: {0: [1]}}) == {name: FINE}
        target.until(lambda: code(produce(target, name, batch(b"a", times=[NOW]), acks=1)) == "NONE")
        assert delete_topics(target, name) == {name: FINE}

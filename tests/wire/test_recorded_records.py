"""Records and transactions in frames of real brokers, against what record_frames.py told the brokers."""

from __future__ import annotations

from typing import Any

import pytest

from console.admin.errors import error_name
from console.wire.record_batches import batches, records
from tests.wire.recordings import VERSIONS, Recording, errors, named, read


@pytest.fixture(params=VERSIONS)
def recording(request: pytest.FixtureRequest) -> Recording:
    return read(request.param)


def fetched(recording: Recording, step: str) -> dict[Any, Any]:
    """The partitions of that Fetch of orders, by number."""
    (topic,) = recording[step].decode().responses
    assert topic.topic_id == named(recording["topics made"].decode().topics, "name")["orders"].topic_id
    return named(topic.partitions, "partition_index")


def values(partition: Any) -> dict[int, bytes | None]:
    """The records by their offsets, without markers."""
    return {
        record.offset: record.value
        for batch in batches(partition.records)
        if not batch.control
        for record in records(batch, "orders", partition.partition_index)
    }


def markers(partition: Any) -> list[tuple[int, int, bool]]:
    """Of each marker: offset, producer id, whether it aborts."""
    found = [batch for batch in batches(partition.records) if batch.control]
    return [(batch.base_offset, batch.facts.producer_id, batch.aborts) for batch in found]


def producer_id(recording: Recording) -> int:
    """Of till-1, which wrote "paid"."""
    states = recording["transactions by id"].decode().transaction_states
    found: int = named(states, "transactional_id")["till-1"].producer_id
    return found


def test_records(recording: Recording) -> None:
    """Four orders went to partition 0 and one to partition 1; "paid" went to 0 in a transaction that was aborted."""
    partitions = fetched(recording, "records")
    assert {number: error_name(part.error_code) for number, part in partitions.items()} == {
        0: "NONE",
        1: "NONE",
        2: "OFFSET_OUT_OF_RANGE",
        9: "UNKNOWN_TOPIC_OR_PARTITION",
    }
    assert values(partitions[0]) == {0: b"order", 1: b"order", 2: b"order", 3: b"order", 4: b"paid"}
    assert values(partitions[1]) == {0: b"order"}
    mine = producer_id(recording)
    assert markers(partitions[0]) == [(5, mine, True)]
    assert [(each.producer_id, each.first_offset) for each in partitions[0].aborted_transactions] == [(mine, 4)]
    ends = {number: (partitions[number].log_start_offset, partitions[number].high_watermark) for number in (0, 1)}
    assert ends == {0: (0, 6), 1: (0, 1)}


def test_records_deleted(recording: Recording) -> None:
    """Those of partition 0 before offset 3, all of partition 1; partition 2 is empty, and 99 is beyond its end."""
    topics = named(recording["records deleted"].decode().topics, "name")
    orders = topics["orders"].partitions
    assert errors(orders, "partition_index") == {
        0: "NONE",
        1: "NONE",
        2: "OFFSET_OUT_OF_RANGE",
        9: "UNKNOWN_TOPIC_OR_PARTITION",
    }
    assert errors(topics["missing"].partitions, "partition_index") == {0: "UNKNOWN_TOPIC_OR_PARTITION"}
    lowest = {number: part.low_watermark for number, part in named(orders, "partition_index").items()}
    assert lowest == {0: 3, 1: 1, 2: -1, 9: -1}


def test_records_left(recording: Recording) -> None:
    """The marker for producer 999999, which no coordinator asked for, is in the log."""
    partitions = fetched(recording, "records left")
    assert values(partitions[0]) == {3: b"order", 4: b"paid"}
    assert markers(partitions[0]) == [(5, producer_id(recording), True), (6, 999_999, True)]
    assert (partitions[0].log_start_offset, partitions[0].high_watermark) == (3, 7)
    assert error_name(partitions[1].error_code) == "OFFSET_OUT_OF_RANGE"


def test_producers(recording: Recording) -> None:
    topics = named(recording["producers"].decode().topics, "name")
    orders = named(topics["orders"].partitions, "partition_index")
    (producer,) = orders[0].active_producers
    assert (producer.producer_id, producer.current_txn_start_offset) == (producer_id(recording), 4)
    assert error_name(orders[7].error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
    missing = errors(topics["missing"].partitions, "partition_index")
    assert missing == dict.fromkeys((0, 7), "UNKNOWN_TOPIC_OR_PARTITION")


def test_transactions(recording: Recording) -> None:
    listed = named(recording["transactions"].decode().transaction_states, "transactional_id")
    assert {name: each.transaction_state for name, each in listed.items()} == {"till-1": "Ongoing", "till-2": "Empty"}
    described = recording["transactions by id"].decode().transaction_states
    assert errors(described, "transactional_id") == {
        "till-1": "NONE",
        "till-2": "NONE",
        "missing": "TRANSACTIONAL_ID_NOT_FOUND",
    }
    by_id = named(described, "transactional_id")
    (topic,) = by_id["till-1"].topics
    assert (topic.topic, topic.partitions, by_id["till-2"].topics) == ("orders", (0,), ())
    assert by_id["till-1"].transaction_start_time > 0
    assert by_id["till-2"].transaction_start_time == -1


def test_markers_written(recording: Recording) -> None:
    (marker,) = recording["markers"].decode().markers
    assert marker.producer_id == 999_999
    told = {topic.name: errors(topic.partitions, "partition_index") for topic in marker.topics}
    assert told == {"orders": {0: "NONE"}, "missing": {0: "UNKNOWN_TOPIC_OR_PARTITION"}}

"""The minute of a real broker that the demo has: its logs tell what was done to it, and by whom."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from console.history.requests.lines import altered
from console.lake.demo.real_broker import BULK, Kafka, NoBroker, find_kafka, record_broker
from console.lake.poll import Observation
from tests.support.kafka_jars import KAFKA_4_3, jars, java
from tests.support.metadata_log import read_log
from tests.support.real_clusters import running

pytestmark = [pytest.mark.broker, pytest.mark.slow]


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    """What a broker is started with."""
    for there in running(lambda: nullcontext(Kafka(Path(java()), jars(KAFKA_4_3)))):
        yield there.enter_result


def test_a_broker_is_recorded_and_gone(kafka: Kafka, tmp_path: Path) -> None:
    recorded = record_broker(kafka, tmp_path)
    assert recorded.metadata_log is not None
    troubles: list[object] = []
    _, batches = read_log([str(recorded.metadata_log)], None, troubles.append)
    rows = pa.Table.from_batches(list(batches)).to_pylist()
    assert not troubles
    assert {row["cluster_id"] for row in rows} == {recorded.cluster_id}
    configs = [json.loads(row["payload"]) for row in rows if row["record_type"] == "ConfigRecord"]
    assert [each["value"] for each in configs if each["name"] == "retention.ms"] == ["3600000", "7200000"]

    (log,) = recorded.request_logs.values()
    text = log.read_text(encoding="utf-8")
    changes = set()
    for line in text.splitlines():
        found = re.search(r"Completed request:(\{.*\})", line)
        for row in altered(found[1], datetime.now(UTC)) if found is not None else ():
            if not row[6]:
                changes.add((row[5], row[8], row[9], row[10], row[12]))
    assert changes >= {
        ("User:alice", "topic", "orders", ":partitions", "2"),
        ("User:ci", "topic", "orders", "retention.ms", "7200000"),
        ("User:alice", "topic", "orders", ":partitions", "4"),
        ("User:ci", "broker", "<default>", "log.retention.ms", "86400000"),
        ("User:ci", "quota", f"user=alice,client-id={BULK}", "producer_byte_rate", "50000"),
    }
    waited = [int(ms) for ms in re.findall(r'"requestApiKeyName":"PRODUCE".*?"throttleTimeMs":(\d+),"resp', text)]
    assert max(waited) > 0, "the producer was above its limit"
    before, after = recorded.taken
    assert isinstance(before.seen, Observation)
    assert isinstance(after.seen, Observation)
    assert len(after.seen.state) == len(before.seen.state) + 2, "a topic and a quota more"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(after.context.settings.bootstrap[0], 5.0).close()


def test_without_kafka_it_says_why(tmp_path: Path) -> None:
    with pytest.raises(NoBroker, match="no Kafka 4"):
        find_kafka({"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})

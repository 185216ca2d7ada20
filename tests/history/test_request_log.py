"""Request logs through Spark: their seconds, their changes, and what of them is damaged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from console.history.requests.parts import BrokerLog
from console.history.requests.progress import plan
from console.history.schema import REQUEST_1S
from tests.history.known_requests import BEFORE, MORE, S0, SALT, SALTED, expected, log, noise
from tests.history.request_lines import log_of, produce

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# One session starts for all of them, and machines are busy.
pytestmark = pytest.mark.timeout(900)


def rows(frame: DataFrame, *, broker: int = 1) -> set[tuple[Any, ...]]:
    """A broker's rows without the cluster and the broker, times in UTC; none may be there twice."""
    found = [
        tuple(
            value.astimezone(UTC) if isinstance(value, datetime) else value
            for name, value in row.asDict().items()
            if name not in ("cluster_id", "broker_id")
        )
        for row in frame.collect()
        if (row.cluster_id, row.broker_id) == ("lkc-1", broker)
    ]
    assert len(found) == len(set(found))
    return set(found)


def test_one_reading_gives_seconds_changes_and_damaged_lines(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    from console.history.schema import ALTER_REQUEST, QUARANTINE
    from console.history.spark_sources import counted_requests
    from console.history.transforms.request_logs import alter_request, damaged_request, request_1s

    middle = len(BEFORE) // 2
    content = log_of(BEFORE[:middle]) + noise() + log_of(BEFORE[middle:])
    logs = [
        log(tmp_path / "request.log", content),
        log(tmp_path / "request.log.2026-11-21-10.gz", content, broker=2),
    ]
    counted = counted_requests(spark, logs, part_bytes=9000).cache()
    made = request_1s(counted)
    assert tuple(made.columns) == REQUEST_1S.names
    for broker in (1, 2):
        assert rows(made, broker=broker) == expected()
    assert counted.agg(F.sum("lines"), F.sum("damaged")).first() == (2 * (len(BEFORE) + 3), 6)
    damaged = damaged_request(counted)
    assert (*damaged.columns, "run_id") == QUARANTINE.names
    found = damaged.collect()
    begin = len(log_of(BEFORE[:middle]))
    assert sorted((row.byte_pos - begin, row.reason) for row in found if row.file == "request.log") == [
        (noise().index(b"[2026", 10), "the end of the request is missing"),
        (noise().index(b"[2026", 300), "not whole JSON of a request"),
        (noise().rindex(produce(1).line[90:].encode()), "the beginning of the line is missing"),
    ]
    assert len(found) == 6
    assert all(len(row.sha256) == 64 and len(row.sample) <= 200 and "alice" not in row.sample for row in found)
    changed = alter_request(counted)
    assert (*changed.columns, "run_id") == ALTER_REQUEST.names
    told = [row.asDict() for row in changed.collect() if row.broker_id == 1]
    told.sort(key=lambda row: (row["byte_pos"], row["attr"]))
    assert [(each["entity_key"], each["attr"], each["op"], each["value"]) for each in told] == [
        ("orders", "cleanup.policy", "append", "compact"),
        ("orders", "retention.ms", "set", "86400000"),
        ("orders", "cleanup.policy", "append", "compact"),
        ("orders", "retention.ms", "set", "86400000"),
        ("carol", "SCRAM-SHA-256", "set", "iterations=8192"),
    ]
    assert [each["is_forwarded"] for each in told] == [False, False, True, True, False]
    assert [each["client_host"] for each in told] == ["10.0.0.7", "10.0.0.7", None, None, "10.0.0.7"]
    assert {(each["end_ts"] - each["start_ts"]).total_seconds() for each in told} == {0.00425}
    assert not any(secret in str(told) for secret in (SALT, SALTED))


def test_what_comes_later_adds_up_with_what_was_there(spark: SparkSession, tmp_path: Path) -> None:
    from console.history.spark_sources import counted_requests
    from console.history.transforms.request_logs import merge_request_1s, request_1s

    live, turned = tmp_path / "request.log", tmp_path / "request.log.1"
    first = log(live, log_of(BEFORE) + b"[2026-11-21 10:00:0")
    progress = plan([str(live)], {}).progress
    # Written on, and renamed: the first part of it is read from where it lay.
    turned.write_bytes(log_of([*BEFORE, *MORE]))
    rest = BrokerLog("lkc-1", 1, plan([str(turned)], progress).spans)
    merged = merge_request_1s(request_1s(counted_requests(spark, [first])), request_1s(counted_requests(spark, [rest])))
    at_once = request_1s(counted_requests(spark, [BrokerLog("lkc-1", 1, plan([str(turned)], {}).spans)]))
    assert rows(merged) == rows(at_once)
    assert rows(merged) - expected() == {
        (S0, "User:alice", "app", "PRODUCE", 3, 0, 607, 0, 4.5, 81, 41),
        (S0 + timedelta(hours=1), "User:alice", "app", "FETCH", 1, 0, 0, 8, 1.5, 0, 0),
    }


def test_nothing_to_read_is_no_rows(spark: SparkSession) -> None:
    from console.history.spark_sources import counted_requests
    from console.history.transforms.request_logs import request_1s

    assert request_1s(counted_requests(spark, [])).collect() == []


def test_the_zone_of_a_broker_is_its_own(spark: SparkSession, tmp_path: Path) -> None:
    from console.history.spark_sources import counted_requests
    from console.history.transforms.request_logs import request_1s

    clocks = ((1, 59), (2, 30), (2, 59), (2, 1), (2, 30), (3, 0))
    twice = [produce(1, at=datetime(2026, 10, 25, *clock)) for clock in clocks]
    berlin = log(tmp_path / "a.log", log_of(twice), zone="Europe/Berlin")
    utc = log(tmp_path / "b.log", log_of([produce(1, at=datetime(2026, 10, 25, 2, 30))]), broker=2)
    made = request_1s(counted_requests(spark, [berlin, utc], part_bytes=4000)).cache()
    shown = sorted(row[0].strftime("%H:%M") for row in rows(made))
    assert shown == ["00:30", "00:59", "01:01", "01:30", "02:00", "23:59"]
    assert [row[0].strftime("%H:%M") for row in rows(made, broker=2)] == ["02:30"]


def test_many_parts_are_few_tasks(spark: SparkSession, tmp_path: Path) -> None:
    from console.history.requests.parts import parts_of
    from console.history.spark_sources import counted_requests
    from console.history.transforms.request_logs import request_1s

    logs = [log(tmp_path / "request.log", log_of(BEFORE))]
    counted = counted_requests(spark, logs, part_bytes=300)
    tasks = counted.rdd.getNumPartitions()
    assert tasks == 8 * spark.sparkContext.defaultParallelism < len(parts_of(logs, 300))
    assert rows(request_1s(counted)) == expected()

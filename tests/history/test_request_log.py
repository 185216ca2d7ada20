"""Request logs through Spark: their seconds, their changes, and what of them is damaged."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from console.history.requests.parts import BrokerLog
from console.history.requests.progress import plan
from console.history.schema.silver import REQUEST_1S
from tests.history.request_lines import (
    Logged,
    alter_configs,
    alter_scram,
    fetch,
    log_of,
    metadata,
    produce,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ODD_CLIENT = 'we "quote" \\ and {"requestApiKeyName":"FETCH"} thïs\t☃'
SALT, SALTED = "c2FsdC1wbGFudGVk", "c2FsdGVkLXBsYW50ZWQ="
BEFORE = [
    produce(100, 200, local_ms=1.5),
    produce(300, local_ms=2.0, throttle_ms=40).later(0.4),
    produce(50, error=6, local_ms=0.5, throttle_ms=10).later(1),
    produce(70, client_id=ODD_CLIENT, response=""),
    produce(1000, forwarded=True),
    fetch(11, 22),
    fetch(33, old=True),
    fetch(1 << 40, replica=2),
    fetch(1 << 40, replica=2, old=True),
    fetch(5, error=1),
    fetch(),
    metadata(),
    metadata(error=3, client_id=""),
    alter_configs([("retention.ms", 0, "86400000"), ("cleanup.policy", 2, "compact")]),
    alter_configs([("retention.ms", 0, "86400000"), ("cleanup.policy", 2, "compact")], forwarded=True),
    alter_scram("carol", SALT, SALTED, principal="User:admin"),
]
MORE = [produce(7, local_ms=1.0, throttle_ms=41), fetch(8).later(3600)]
S0, S1 = (datetime(2026, 11, 21, 10, 0, second, tzinfo=UTC) for second in (0, 1))


def expected() -> set[tuple[Any, ...]]:
    """By hand: second, principal, client, api, requests, errors, in, out, local, throttled, longest."""
    a, admin = "User:alice", "User:admin"
    return {
        (S0, a, "app", "PRODUCE", 2, 0, 600, 0, 3.5, 40, 40),
        (S1, a, "app", "PRODUCE", 1, 1, 50, 0, 0.5, 10, 10),
        (S0, a, ODD_CLIENT, "PRODUCE", 1, 0, 70, 0, 1.5, 0, 0),
        (S0, a, "app", "FETCH", 4, 1, 0, 71, 6.0, 0, 0),
        (S0, a, "app", "METADATA", 1, 0, 0, 0, 1.5, 0, 0),
        (S0, a, "", "METADATA", 1, 1, 0, 0, 1.5, 0, 0),
        (S0, a, "app", "INCREMENTAL_ALTER_CONFIGS", 1, 0, 0, 0, 1.5, 0, 0),
        (S0, admin, "app", "ALTER_USER_SCRAM_CREDENTIALS", 1, 0, 0, 0, 1.5, 0, 0),
    }


def log(path: Path, content: bytes, **more: Any) -> BrokerLog:
    """The whole of a file, written there, as broker 1's."""
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return BrokerLog("lkc-1", 1, plan([str(path)], {}).spans, **more)


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Without the cluster and the broker, times in UTC."""
    return [
        tuple(
            value.astimezone(UTC) if isinstance(value, datetime) else value
            for name, value in row.asDict().items()
            if name not in ("cluster_id", "broker_id")
        )
        for row in frame.collect()
    ]


def noise() -> bytes:
    """What else may stand in such a file: other loggers' lines, a stack trace, and damaged ones."""
    cut = produce(1).line[:-60].encode() + b"\n"
    inside = produce(1).line.replace('"principal":', '"principal"').encode()
    return (
        b"[2026-11-21 10:00:00,000] INFO [broker] started (kafka.server.KafkaServer)\n"
        b"java.io.IOException: gone\n\tat kafka.Foo.bar(Foo.java:3)\n" + cut + inside + produce(1).line[90:].encode()
    )


@pytest.mark.parametrize("name", ["request.log", "request.log.2026-11-21-10.gz"])
def test_seconds_are_what_was_asked_whatever_else_stands_in_the_file(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    from console.history.sources.request_log import request_lines
    from console.history.transforms.damaged_request import damaged_request
    from console.history.transforms.request_1s import request_1s

    middle = len(BEFORE) // 2
    content = log_of(BEFORE[:middle]) + noise() + log_of(BEFORE[middle:])
    lines = request_lines(spark, [log(tmp_path / name, content)], part_bytes=6000)
    made = rows(request_1s(lines))
    assert len(made) == len(expected())
    assert set(made) == expected()
    found = damaged_request(lines).collect()
    assert sorted((row.byte_pos, row.reason) for row in found) == [
        (content.index(noise()) + noise().index(b"[2026", 10), "the end of the request is missing"),
        (content.index(noise()) + noise().index(b"[2026", 300), "not whole JSON of a request"),
        (
            content.index(noise()) + noise().rindex(produce(1).line[90:].encode()),
            "the beginning of the line is missing",
        ),
    ]
    assert all(len(row.sha256) == 64 and len(row.sample) <= 200 and "alice" not in row.sample for row in found)


def test_changes_are_found_in_all_lines_and_in_those_alone(spark: SparkSession, tmp_path: Path) -> None:
    from console.history.sources.request_log import request_lines
    from console.history.transforms.alter_request import NAMES, alter_request

    written = log(tmp_path / "request.log", noise() + log_of(BEFORE))
    for alters_only in (False, True):
        lines = request_lines(spark, [written], alters_only=alters_only, part_bytes=6000)
        found = alter_request(lines)
        assert tuple(found.columns) == NAMES
        told = [row.asDict() for row in found.orderBy("byte_pos", "attr").collect()]
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
        assert lines.where("json is null").count() == 2


def test_what_comes_later_adds_up_with_what_was_there(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.testing import assertDataFrameEqual

    from console.history.sources.request_log import request_lines
    from console.history.transforms.request_1s import merge_request_1s, request_1s

    path = tmp_path / "request.log"
    first = log(path, log_of(BEFORE) + b"[2026-11-21 10:00:0")
    progress = plan([str(path)], {}).progress
    old = request_1s(request_lines(spark, [first])).cache()
    old.count()
    # Written on, and renamed.
    whole = log_of([*BEFORE, *MORE])
    path.unlink()
    path = tmp_path / "request.log.1"
    path.write_bytes(whole)
    rest = BrokerLog("lkc-1", 1, plan([str(path)], progress).spans)
    new = request_1s(request_lines(spark, [rest]))
    at_once = request_1s(request_lines(spark, [BrokerLog("lkc-1", 1, plan([str(path)], {}).spans)]))
    assertDataFrameEqual(merge_request_1s(old, new), at_once, checkRowOrder=False)
    assert new.count() == 2
    assert tuple(at_once.columns) == REQUEST_1S.names


def test_nothing_to_read_is_no_rows(spark: SparkSession) -> None:
    from console.history.sources.request_log import request_lines
    from console.history.transforms.request_1s import request_1s

    assert request_1s(request_lines(spark, [])).collect() == []


def test_a_request_is_read_once_in_each_plan(spark: SparkSession, tmp_path: Path) -> None:
    from console.history.sources.request_log import request_lines
    from console.history.transforms.request_1s import request_1s

    made = request_1s(request_lines(spark, [log(tmp_path / "request.log", log_of([produce(1)]))]))
    plan_text = made._jdf.queryExecution().optimizedPlan().toString()
    assert plan_text.count("from_json(") == 1, plan_text


def test_the_zone_of_a_broker_is_its_own(spark: SparkSession, tmp_path: Path) -> None:
    from console.history.sources.request_log import request_lines
    from console.history.transforms.request_1s import request_1s

    twice = [
        produce(1, at=datetime(2026, 10, 25, *clock)) for clock in ((1, 59), (2, 30), (2, 59), (2, 1), (2, 30), (3, 0))
    ]
    berlin = log(tmp_path / "a.log", log_of(twice), zone="Europe/Berlin")
    utc = log(tmp_path / "b.log", log_of([Logged(**{**vars(produce(1)), "at": datetime(2026, 10, 25, 2, 30)})]))
    made = request_1s(request_lines(spark, [berlin, utc], part_bytes=2000)).orderBy("second")
    assert [row[0].strftime("%H:%M") for row in rows(made)] == [
        "23:59",
        "00:30",
        "00:59",
        "01:01",
        "01:30",
        "02:00",
        "02:30",
    ]

"""Request logs through Spark: their seconds, their changes, and what of them is damaged."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from console.history.requests.parts import BrokerLog
from console.history.requests.progress import plan
from console.history.schema.silver import REQUEST_1S
from tests.history.known_requests import BEFORE, MORE, SALT, SALTED, expected, log, noise
from tests.history.request_lines import Logged, log_of, produce

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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


@pytest.mark.parametrize("name", ["request.log", "request.log.2026-11-21-10.gz"])
def test_seconds_are_what_was_asked_whatever_else_stands_in_the_file(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    from pyspark.testing import assertDataFrameEqual

    from console.history.sources.request_log import request_lines
    from console.history.sources.request_log_duckdb import request_1s_of
    from console.history.transforms.damaged_request import damaged_request
    from console.history.transforms.request_1s import request_1s

    middle = len(BEFORE) // 2
    content = log_of(BEFORE[:middle]) + noise() + log_of(BEFORE[middle:])
    lines = request_lines(spark, [log(tmp_path / name, content)], part_bytes=6000)
    made = rows(request_1s(lines))
    assert len(made) == len(expected())
    assert set(made) == expected()
    assertDataFrameEqual(request_1s_of(spark, [log(tmp_path / name, content)]), request_1s(lines), checkRowOrder=False)
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

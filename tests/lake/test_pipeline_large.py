"""Tests of large logs on Spark, with a driver that accepts at most 4 MiB of any result: gold tables and sums equal
those that other programs compute.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.metadata_log import Day, write_log
from benchmarks.request_log import write
from console.lake.app import update
from console.lake.inputs import Inputs, MetadataLog, RequestLog
from console.lake.runs import Plan
from tests.lake import golden, lake_tables, small_site

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark-two"), pytest.mark.timeout(3600)]
CLUSTER = "benchmark-of-kac-lake1"
Sums = dict[str, int]


def test_the_driver_takes_no_more(spark: SparkSession) -> None:
    assert spark.sparkContext.getConf().get("spark.driver.maxResultSize") == "4m"


@pytest.mark.long
def test_a_metadata_log_of_157129_records(spark: SparkSession, tmp_path: Path) -> None:
    log = write_log(tmp_path / "data", 10 << 20, Day().batches())
    lake = small_site.new_lake(tmp_path / "lake", golden.KEY)
    report = update(Plan(lake, Inputs((MetadataLog(str(log)),))), lambda: nullcontext(spark))
    assert report.taken == {"kraft_log": {"good": golden.METADATA_RECORDS, "bad": 0}}
    wanted = golden.metadata_log_gold()
    for table in golden.GOLD:
        assert golden.summary_differences(table, wanted[table], lake_tables.held(lake, table)) == ""


@pytest.mark.parametrize("lines", [60_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_request_log(spark: SparkSession, tmp_path: Path, lines: int) -> None:
    log = tmp_path / "request.log"
    write(log, lines)
    lake = small_site.new_lake(tmp_path / "lake", golden.KEY)
    inputs = Inputs(request_logs=(RequestLog((str(log),), CLUSTER, 1),))
    report = update(Plan(lake, inputs), lambda: nullcontext(spark))
    assert report.taken == {"request_log": {"good": lines, "bad": 0}}
    rows = lake_tables.held(lake, "request")
    assert sum(row["lines"] for row in rows) == lines
    found: dict[tuple[str, ...], Counter[str]] = {}
    for row in (each["second"] for each in rows if each["second"]):
        key = (row["api"], row["principal"], row["client_id"])
        names = ("requests", "errors", "bytes_in", "bytes_out", "throttle_ms_sum")
        found.setdefault(key, Counter()).update({name: row[name] for name in names})
    assert {key: dict(sums) for key, sums in found.items()} == plain_sums(log)


def plain_sums(log: Path) -> dict[tuple[str, ...], Sums]:
    """Return (API, principal, client id) -> the sums that a plain loop over the lines of a log computes."""
    sums: dict[tuple[str, ...], Sums] = {}
    with log.open(encoding="utf-8") as file:
        for line in file:
            logged = json.loads(line[line.index("{") : line.rindex("}") + 1])
            if logged["request"].get("replicaState") or logged["isForwarded"]:
                continue
            header, answer = logged["requestHeader"], logged["response"]
            api = header["requestApiKeyName"]
            key = (api, logged["principal"], header["clientId"])
            mine = sums.setdefault(
                key, dict.fromkeys(("requests", "errors", "bytes_in", "bytes_out", "throttle_ms_sum"), 0)
            )
            mine["requests"] += 1
            mine["errors"] += _has_error(answer)
            mine["throttle_ms_sum"] += int(logged["throttleTimeMs"])
            if api == "PRODUCE":
                parts = (part for topic in logged["request"]["topicData"] for part in topic["partitionData"])
                mine["bytes_in"] += sum(part["recordsSizeInBytes"] for part in parts)
            elif api == "FETCH":
                parts = (part for topic in answer["responses"] for part in topic["partitions"])
                mine["bytes_out"] += sum(part["recordsSizeInBytes"] for part in parts)
    return sums


def _has_error(answer: object) -> bool:
    if isinstance(answer, dict):
        return any((name == "errorCode" and value != 0) or _has_error(value) for name, value in answer.items())
    return isinstance(answer, list) and any(map(_has_error, answer))

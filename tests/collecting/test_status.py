"""Tests of ``kac lake status``: it shows the contents of a lake without Spark, and the metrics of its runs."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from console.cli import main as cli
from console.collecting.results import LAST_RUNS, Status, prometheus_text, status
from console.lake.lake import Lake
from console.lake.reader import Gap
from console.lake.schema import HISTORY, KRAFT_RECORD, REQUEST
from tests.support import delta_lake, sample_lake
from tests.support.delta_lake import arrow_rows
from tests.support.sample_lake import CLUSTER, NOON

BEGAN = datetime(2026, 11, 26, 1, 0, tzinfo=UTC)


def ran(lake: Lake, number: int, job: str = "update", outcome: str = "done", **more: Any) -> Mapping[str, Any]:
    """Write the file that describes a run, as the application does; return what it contains."""
    started = BEGAN + timedelta(minutes=number)
    run_id = f"{started:%Y%m%dT%H%M%S}Z-{number:06x}"
    about = {
        "run_id": run_id,
        "job": job,
        "started": started.isoformat(),
        "ended": (started + timedelta(seconds=7)).isoformat(),
        "status": outcome,
        "rows": {"history": number},
        "taken": {"kraft_log": {"good": 10 * number, "bad": 1}, "request_log": {"good": 0, "bad": 2}},
        "message": "the disk is full" if outcome == "failed" else None,
        "bytes": 5,
        "lag_ms": 1500,
        "versions": {"kac": f"{number}"},
        **more,
    }
    lake.put_run(run_id, about)
    return about


def metrics(found: Status) -> dict[str, str]:
    lines = (line for line in prometheus_text(found).splitlines() if not line.startswith("#"))
    return dict(line.removeprefix("kac_lake_").rsplit(" ", 1) for line in lines)


def test_tables_with_their_versions_runs_and_times(tmp_path: Path) -> None:
    lake = sample_lake.make_lake(str(tmp_path / "lake"))
    second = {"second": NOON, **dict.fromkeys(("broker_id", "requests", "errors", "bytes_in", "bytes_out"), 1)}
    rows = [{"cluster_id": CLUSTER, "second": second}, {"cluster_id": CLUSTER, "quarantined": {"reason": "torn"}}]
    run = delta_lake.put(lake, KRAFT_RECORD, arrow_rows(KRAFT_RECORD, [{"record_ts": NOON}]))
    delta_lake.put(lake, HISTORY, sample_lake.arrow("history", sample_lake.history(CLUSTER, NOON)), run=run)
    delta_lake.put(lake, REQUEST, arrow_rows(REQUEST, rows))
    found = {each.name: each for each in status(lake).tables}
    assert (found["history"].version, found["history"].run) == (1, run)
    assert found["history"].rows == 2 * len(sample_lake.history(CLUSTER, NOON))
    assert (found["kraft_record"].version, found["kraft_record"].run, found["kraft_record"].latest) == (0, run, NOON)
    assert found["quota_usage"].run != run
    minutes = [row[2] for row in sample_lake.usage(CLUSTER, NOON)]
    assert (found["quota_usage"].earliest, found["quota_usage"].latest) == (min(minutes), max(minutes))
    assert (found["request"].earliest, found["request"].files) == (NOON, 2)
    assert found["quota_suggestion"].latest is None
    assert "change_event" not in found
    assert found["history"].bytes == sum(file.stat().st_size for file in Path(lake.folder(HISTORY)).rglob("*.parquet"))
    assert status(lake).gaps == (Gap(NOON - timedelta(hours=3), NOON - timedelta(hours=2), CLUSTER),)


def test_the_last_runs_and_of_each_job_the_newest_of_each_outcome(lake: Lake) -> None:
    ran(lake, 1, "maintain")
    ran(lake, 2, outcome="failed")
    for number in range(3, 3 + LAST_RUNS + 4):
        ran(lake, number)
    Path(lake.path("runs/20300101T000000Z-000001.json")).write_text("[torn")
    Path(lake.path("runs/20300101T000000Z-000002.json")).write_text('{"run_id": "x"}')
    shown = [(run.job, run.status) for run in status(lake).runs]
    assert shown == [("update", "done")] * LAST_RUNS + [("update", "failed"), ("maintain", "done")]
    assert status(lake).runs[0].quarantined == 3


def test_metrics_are_of_the_newest_run_that_did_not_fail(lake: Lake) -> None:
    assert metrics(status(lake)) == {}
    well = ran(lake, 1)
    ran(lake, 2, outcome="failed")
    ran(lake, 3, "run", "running")
    ran(lake, 4, "collect", "running", ended="")
    found = metrics(status(lake))
    assert {name: value for name, value in found.items() if name.startswith("failed")} == {
        'failed{job="update"}': "1",
        'failed{job="run"}': "0",
        'failed{job="collect"}': "0",
    }
    ended = datetime.fromisoformat(well["ended"]).timestamp()
    assert {name: value for name, value in found.items() if 'job="update"' in name and "failed" not in name} == {
        'end_seconds{job="update"}': f"{ended:.3f}",
        'run_seconds{job="update"}': "7.000",
        'lag_seconds{job="update"}': "1.500",
        'rows{job="update",table="history"}': "1",
        'bytes{job="update"}': "5",
        'taken{job="update",input="kraft_log",quality="good"}': "10",
        'taken{job="update",input="kraft_log",quality="bad"}': "1",
        'taken{job="update",input="request_log",quality="good"}': "0",
        'taken{job="update",input="request_log",quality="bad"}': "2",
        'quarantined{job="update"}': "3",
    }
    assert 'end_seconds{job="run"}' in found
    ran(lake, 5, "run", "running", message="request_log: it is refused")
    assert metrics(status(lake))['failed{job="run"}'] == "1"
    assert not any("collect" in name for name in found if not name.startswith("failed"))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = sample_lake.make_lake(str(tmp_path / "lake"))
    ran(lake, 1, outcome="failed")
    assert cli.run(["lake", "status", "--lake", lake.where]) == 0
    out = capsys.readouterr().out
    assert "the disk is full" in out
    assert "times without polls" in out
    assert cli.run(["lake", "status", "--lake", lake.where, "--output", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    by_name = {row["table"]: row for row in data["tables"]}
    assert by_name["quota_usage"]["rows"] == len(sample_lake.usage(CLUSTER, NOON))
    assert by_name["quota_usage"]["run"] == by_name["history"]["run"]
    assert data["runs"][0]["quarantined"] == 3
    assert data["gaps"] == [
        {"cluster_id": CLUSTER, "start": "2026-11-20T09:00:00+00:00", "end": "2026-11-20T10:00:00+00:00"}
    ]
    assert data["lake_id"] == lake.about()["lake_id"]
    empty = Lake.create(str(tmp_path / "empty"))
    file = tmp_path / "kac.prom"
    assert cli.run(["lake", "status", "--lake", empty.where, "--prometheus", str(file)]) == 0
    assert "it is empty: kac lake collect" in capsys.readouterr().out
    assert file.read_text() == prometheus_text(status(empty))
    assert cli.run(["lake", "status", "--lake", str(tmp_path / "none")]) == 1
    assert "There is no lake at" in capsys.readouterr().err

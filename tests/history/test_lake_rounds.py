"""What a build finds to do before Spark is started, `kac lake run`, and what is told of runs from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from console.cli.main import run
from console.history.jobs.plan_build import FORGOTTEN, nothing_to_build, this_build
from console.history.jobs.status import status
from console.history.schema import TABLES
from console.history.store import Lake
from console.history.store.lock import is_run_id, later_run_id, new_run_id
from console.history.store.write import writing
from console.lake.results import prometheus_text
from tests.history.lake_rows import START, arrow_rows, rows_of, snapshot_rows
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake.create(str(tmp_path / "lake"))
    with writing(made, "collect") as write:
        write.add_arrow("snapshot", snapshot_rows(20))
        write.commit()
    return made


def used(lake: Lake, second: datetime) -> None:
    """Requests, for whose usage a build needs Spark."""
    with writing(lake, "ingest") as write:
        rows = [{"second": second, "api": "PRODUCE"}]
        write.add_arrow("request_1s", arrow_rows(TABLES["request_1s"], rows))
        write.commit()


def built(lake: Lake) -> None:
    """A build that made nothing."""
    with writing(lake, "build") as write:
        write.remember(this_build(lake, write.run_id).as_input())
        write.commit()


def test_a_build_with_nothing_new_needs_no_spark(
    lake: Lake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert nothing_to_build(lake) is None
    built(lake)
    report = nothing_to_build(lake)
    assert report is not None
    assert report.run_id == lake.current().run_id
    monkeypatch.setattr("console.lake.spark_session.lake_session", None)  # calling it would fail
    before = lake.current()
    assert run(["lake", "build", "--lake", lake.where]) == 0
    assert "nothing new" in capsys.readouterr().out
    assert lake.current() == before

    Path(lake.where, "policies.yaml").write_text("version: 1\npolicies: []\n")
    assert nothing_to_build(lake) is None
    built(lake)
    assert nothing_to_build(lake) is not None
    with writing(lake, "collect") as write:
        write.add_arrow("snapshot", snapshot_rows(1, first=20))
        write.commit()
    assert nothing_to_build(lake) is None
    built(lake)
    with writing(lake, "build") as write:
        write.remember(FORGOTTEN)
        write.commit()
    assert nothing_to_build(lake) is None


def test_runs_have_names_later_than_what_holds(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    now = new_run_id()
    assert later_run_id(now, "") == now
    monkeypatch.setattr("console.history.store.write.new_run_id", lambda: "20200101T000000Z-00000a")
    before = lake.current().run_id
    with writing(lake, "collect") as write:
        write.add_arrow("snapshot", snapshot_rows(1, first=30))
        write.commit()
    assert lake.current().run_id > before
    assert is_run_id(lake.current().run_id)
    assert {path.split("/")[2] for path in lake.current().tables["snapshot"].files} > {f"v={lake.current().run_id}"}


def test_runs_are_told_with_rows_bytes_and_lag(lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    event = datetime.now(UTC) - timedelta(seconds=90)
    with writing(lake, "ingest") as write:
        rows = [{"record_ts": event}, {"record_ts": event - timedelta(days=1)}]
        write.add_arrow("kraft_record", arrow_rows(TABLES["kraft_record"], rows))
        write.commit(quarantined=3, taken={"kraft_log": {"good": 2, "bad": 3}})
    with pytest.raises(ZeroDivisionError), writing(lake, "build"):
        raise ZeroDivisionError
    told = {each.job: each for each in status(lake).runs}
    ingest = told["ingest"]
    assert ingest.taken == {"kraft_log": {"good": 2, "bad": 3}}
    written = [file for path, file in lake.current().tables["kraft_record"].files.items()]
    assert ingest.bytes == sum(file.bytes for file in written)
    assert ingest.lag_ms is not None
    assert ingest.lag_ms == pytest.approx(90_000 + (ingest.ended - event).total_seconds() * 1000 - 90_000, abs=5_000)
    file = tmp_path / "kac.prom"
    assert run(["lake", "status", "--lake", lake.where, "--prometheus", str(file)]) == 0
    capsys.readouterr()
    lines = file.read_text().splitlines()
    assert file.read_text() == prometheus_text(status(lake))
    assert 'kac_lake_failed{job="build"} 1' in lines
    assert 'kac_lake_failed{job="ingest"} 0' in lines
    assert 'kac_lake_rows{job="ingest",table="kraft_record"} 2' in lines
    assert 'kac_lake_taken{job="ingest",input="kraft_log",quality="bad"} 3' in lines
    assert 'kac_lake_quarantined{job="ingest"} 3' in lines
    assert not any(line.startswith('kac_lake_end_seconds{job="build"') for line in lines)
    for number, line in enumerate(lines):
        if line.startswith("# TYPE"):
            assert lines[number - 1].startswith(f"# HELP {line.split()[2]} ")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("ended_by", [signal.SIGTERM])
def test_rounds_go_on_until_they_are_ended(lake: Lake, tmp_path: Path, ended_by: signal.Signals) -> None:
    """One session for all rounds that need it; a broken input is said once, and the other one is taken in."""
    used(lake, START)
    (tmp_path / "journals").mkdir()
    (tmp_path / "not-a-log").mkdir()
    Path(lake.where, "sources.yaml").write_text(
        f"version: 1\nclusters:\n  - id: c1\n    metadata-log: {tmp_path}/not-a-log\njournals: {tmp_path}/journals\n"
    )
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.support.any_rows_on_spark", "lake", "run", "--lake", lake.where]
    command += ["--every", "5s", "--master", "local[1]", "--prometheus", str(tmp_path / "kac.prom")]
    with subprocess.Popen(
        command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert "build " in next(line for line in process.stdout if "rows written" in line)
        with writing(lake, "collect") as write:
            write.add_arrow("snapshot", snapshot_rows(3, first=40))
            write.commit()
        used(lake, START + timedelta(hours=2))
        assert "build " in next(line for line in process.stdout if "rows written" in line)
        process.send_signal(ended_by)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert said.count("starting Spark") == 1
    assert said.count("It is tried again") == 2, said  # of all inputs, and of the one that is broken
    assert "Traceback" not in said
    shown = {row[2] for row in rows_of(Lake.open(lake.where), "history")}
    assert {"topic-0", "topic-42"} <= shown
    assert 'kac_lake_failed{job="build"} 0' in (tmp_path / "kac.prom").read_text()

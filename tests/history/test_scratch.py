"""What a killed run of Spark leaves is deleted by the next one, and nothing else; nothing new needs no Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from console.history.store import Lake
from console.history.store.write import writing
from console.lake.spark_session import NoSpark, scratch_folder
from tests.history.lake_rows import rows_of
from tests.history.request_lines import log_of, produce

HOLD = """
import sys
from pathlib import Path
from console.lake.spark_session import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "spark-1").mkdir()
    print(folder, flush=True)
    sys.stdin.read()
"""


def holder(base: Path) -> tuple[subprocess.Popen[str], Path]:
    run = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(base)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    return run, Path(run.stdout.readline().strip())


def test_what_killed_runs_left_goes_and_what_lives_stays(tmp_path: Path) -> None:
    living, its = holder(tmp_path)
    dead, left = holder(tmp_path)
    dead.kill()
    dead.wait()
    others = [tmp_path / "spark-of-another", left.parent / "spark-unknown"]
    again = left.parent / "run-1-made-again"
    again.mkdir()
    for each in others:
        each.mkdir()
    assert left.is_dir()
    with scratch_folder(tmp_path) as own:
        assert own.is_dir()
        assert own.parent == left.parent
        assert not left.exists()
        assert not again.exists()
        assert (its / "spark-1").is_dir()
        assert all(each.is_dir() for each in others)
    assert not own.exists()
    living.communicate("")
    assert not its.exists()
    assert sorted(left.parent.iterdir()) == sorted(others[1:])


def test_a_folder_that_somebody_else_laid_there_is_not_used(tmp_path: Path) -> None:
    place = tmp_path / f"kac-spark-{os.getuid()}"
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NoSpark, match="not a folder that only this user can access"), scratch_folder(tmp_path):
        pass
    place.unlink()
    place.mkdir(mode=0o700)
    place.chmod(0o777)
    with pytest.raises(NoSpark, match="set TMPDIR"), scratch_folder(tmp_path):
        pass


def test_nothing_new_needs_no_spark(tmp_path: Path) -> None:
    from console.history.jobs.inputs import Inputs, RequestLog
    from console.history.jobs.plan_inputs import nothing_new, plan_request_logs

    log = tmp_path / "request.log"
    log.write_bytes(log_of([produce(1)]))
    inputs = Inputs(request_logs=(RequestLog((str(log),), "c", 1),))
    lake = Lake.create(str(tmp_path / "lake"))
    assert nothing_new(lake, inputs) is None
    assert lake.current().run_id == ""
    assert lake.failed_runs() == []
    with writing(lake, "ingest") as write:
        write.remember(plan_request_logs({}, inputs.request_logs).remember)
        write.commit()
    report = nothing_new(lake, inputs)
    assert report is not None
    assert (report.rows, report.unchanged) == ({}, 1)
    assert len(rows_of(lake, "run")) == 2
    # As it is typed: without Java, and pyspark is not imported.
    options = ["--lake", lake.where, "--cluster-id", "c", "--request-log", f"1={log}"]
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "console", "lake", "ingest", *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": "", "JAVA_HOME": "/nowhere"},
    )
    assert ran.returncode == 0, ran.stderr
    assert "pyspark" not in ran.stderr
    with log.open("ab") as file:
        file.write(log_of([produce(2)]))
    assert nothing_new(lake, inputs) is None

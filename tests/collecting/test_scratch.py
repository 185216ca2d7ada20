"""Tests of the lake's temporary files: a run deletes those that a killed run of Spark left, and no others. A run
without new data does not start Spark.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from console.collecting.java import NoSpark
from console.collecting.spark_session import scratch_folder
from tests.support.children import Child

HOLD = """
import sys
from pathlib import Path
from console.collecting.spark_session import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "spark-1").mkdir()
    print(folder, flush=True)
    sys.stdin.read()
"""


def holder(base: Path) -> tuple[subprocess.Popen[str], Path]:
    run = Child([sys.executable, "-c", HOLD, str(base)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
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


def test_where_nothing_is_new_neither_java_nor_spark_is_needed(tmp_path: Path) -> None:
    for job in ("update", "status"):
        ran = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "console", "lake", job, "--lake", str(tmp_path / "lake")],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": "", "JAVA_HOME": "/nowhere"},
        )
        assert ran.returncode == 0, ran.stderr
        assert "pyspark" not in ran.stderr
    assert (
        "nothing new"
        in subprocess.run(
            [sys.executable, "-m", "console", "lake", "update", "--lake", str(tmp_path / "lake")],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": "", "JAVA_HOME": "/nowhere"},
        ).stdout
    )

"""Whenever a run is killed, the former tables are whole, and the next run goes on from there."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from console.history.store import Lake, Manifest
from tests.history.endless_runs import DAYS, one_run
from tests.history.lake_rows import rows_of

KILLS = 20
ROOT = Path(__file__).parents[2]


def consistent(lake: Lake, manifest: Manifest) -> int:
    """How many runs the version holds; each table tells of the same number."""
    runs = int(manifest.inputs.get("runs", 0))
    assert {row[6] for row in rows_of(lake, "snapshot", manifest)} == {str(number + 1) for number in range(runs)}
    assert len(rows_of(lake, "snapshot", manifest)) == runs * DAYS * 2
    assert [row[5] for row in rows_of(lake, "history", manifest)] == [str(runs)] * runs
    assert len(rows_of(lake, "run", manifest)) == runs
    return runs


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_moment_leaves_the_former_tables(tmp_path: Path) -> None:
    lake = Lake.create(str(tmp_path / "lake"))
    chance = random.Random(20261121)
    held, in_the_midst = 0, 0
    for _ in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-m", "tests.history.endless_runs", lake.where],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "began\n"
            seconds = float(child.stdout.readline())
            assert child.stdout.readline() == "began\n"
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(chance.uniform(0, seconds))
            child.kill()
        manifest = lake.current()
        runs = consistent(lake, manifest)
        assert runs > held
        held = runs
        for older in lake.manifests()[1:]:
            consistent(lake, older)
        in_the_midst += bool(Path(lake.path("lock")).read_bytes())
    assert in_the_midst > KILLS / 2  # of a run, and not between two
    one_run(lake)
    assert consistent(lake, lake.current()) == held + 1
    named = {folder.split("/")[2] for manifest in lake.manifests() for folder in manifest.folders}
    assert {each.name for each in Path(lake.path("data")).glob("*/v=*")} == named
    assert {each.stem for each in Path(lake.path("manifests")).iterdir()} == {m.run_id for m in lake.manifests()}
    assert lake.failed_runs() == []

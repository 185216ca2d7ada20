"""Tables built as Delta tables: one state for readers of releases and of Delta, whatever fails in between."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from console.history.jobs.tables import PACKAGE
from console.history.store import Lake
from console.history.store.write import writing
from tests.history.lake_rows import rows_of, snapshot_rows
from tests.support.kafka_jars import fetched

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_delta_and_the_release_name_one_state(tmp_path: Path) -> None:
    jars = ",".join(map(str, fetched("delta", (PACKAGE,)).glob("delta-*.jar")))
    lake = Lake.create(str(tmp_path / "lake"))
    with writing(lake, "collect") as write:
        write.add_arrow("snapshot", snapshot_rows(200, days=3))
        write.commit()
    command = [sys.executable, "-m", "tests.history.delta_build", lake.where, jars]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not ran.returncode, ran.stderr[-3000:]
    made, failed, again, since, last = json.loads(ran.stdout.splitlines()[-1])
    assert made == [0, 200]
    assert "hunter2" in failed
    # What the failed run wrote was taken back first (one version), and then written anew (one more).
    assert again == [3, 200]
    assert since == [4, 210]
    assert last == [5, 230]

    versions = lake.releases()
    assert len(versions) == 1
    named = {path for table in versions[0].tables.values() for path in table.paths()}
    there = {str(path.relative_to(lake.where)) for path in Path(lake.path("data")).rglob("*.parquet")}
    assert {path for path in there if "/_delta_log/" not in path} == named
    assert sorted(row[8] for row in rows_of(lake, "change_event")) == sorted(
        row[6] for row in rows_of(lake, "snapshot")
    )

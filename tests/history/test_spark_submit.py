"""The jobs on a Spark cluster, with nothing of the product but the zip: the same rows as on this machine."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from console.history.schema import TABLES
from console.history.store import Lake
from console.history.store.write import writing
from console.lake.spark_session import write_package
from tests.history.known_requests import BEFORE, noise
from tests.history.lake_rows import rows_of, snapshot_rows
from tests.history.request_lines import log_of
from tests.support.metadata_log import batch, value
from tests.support.spark_cluster import spark_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.timeout(2000)]
TOPIC_ID = "A" * 22
MADE = ("change_event",)


@pytest.fixture
def metadata_log(tmp_path: Path) -> Path:
    """Topics, their configs and quotas of one cluster."""
    folder = tmp_path / "meta" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    (folder.parent / "meta.properties").write_text("cluster.id=cluster-0\n")
    batches = []
    for at in range(40):
        name = f"orders-{at}"
        values = [
            value("TopicRecord", name=name, topicId=TOPIC_ID),
            value("ConfigRecord", resourceType=2, resourceName=name, name="retention.ms", value=str(at)),
            value("ConfigRecord", resourceType=2, resourceName=name, name="retention.ms", value=str(at + 1)),
        ]
        batches.append(batch(at * len(values), values))
    (folder / f"{0:020}.log").write_bytes(b"".join(batches))
    return folder


def test_a_cluster_makes_the_same_rows_as_this_machine(spark: SparkSession, tmp_path: Path, metadata_log: Path) -> None:
    from console.history.jobs.build import build
    from console.history.jobs.ingest import ingest
    from console.history.jobs.inputs import Inputs, MetadataLog, RequestLog

    here, there = tmp_path / "here", tmp_path / "there"
    with writing(Lake.create(str(here)), "collect") as write:
        write.add_arrow("snapshot", snapshot_rows(200, days=3))
        write.commit()
    shutil.copytree(here, there)
    middle = len(BEFORE) // 2
    (tmp_path / "request.log").write_bytes(log_of(BEFORE[:middle]) + noise() + log_of(BEFORE[middle:]))
    inputs = Inputs((MetadataLog(str(metadata_log)),), (RequestLog((str(tmp_path / "request.log"),), "", 1),))
    package, script = write_package(tmp_path / "kac-lake.zip")
    cluster_folder = tmp_path / "cluster"
    cluster_folder.mkdir()
    with spark_cluster(cluster_folder) as cluster:
        alone = subprocess.run(
            [cluster.environ["PYSPARK_PYTHON"], "-c", "import console"], capture_output=True, check=False, cwd=tmp_path
        )
        assert b"ModuleNotFoundError" in alone.stderr
        ingesting = ["ingest", str(there), msgspec.json.encode(inputs).decode(), "--max-bad-ratio=0.5"]
        for arguments in (ingesting, ["build", str(there), *MADE]):
            done = cluster.submit(script, arguments, zips=package)
            assert done.returncode == 0, done.stderr[-4000:]
            assert json.loads(done.stdout.splitlines()[-1])["job"] == arguments[0]
        assert all(count > 0 for count in cluster.executors), "a worker had nothing to do"
    ingest(None, Lake.open(str(here)), inputs, max_bad_ratio=0.5)
    build(lambda: spark, Lake.open(str(here)), MADE)
    for table in sorted(set(TABLES) - {"run"}):
        assert rows_of(Lake.open(str(there)), table) == rows_of(Lake.open(str(here)), table), table
    assert len(rows_of(Lake.open(str(there)), "change_event")) >= 200

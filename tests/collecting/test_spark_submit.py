"""A test of the application on a Spark cluster of two workers that have only the zip of kac: it writes the same rows as
on this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from console.collecting.executor_package import write_package
from console.collecting.java import Group, find_java, spark_jars
from console.lake.app import update
from console.lake.inputs import Inputs, MetadataLog, RequestLog
from console.lake.lake import Lake
from console.lake.runs import Plan
from console.lake.schema import TABLES
from tests.lake.known_requests import BEFORE, noise
from tests.lake.request_lines import log_of
from tests.support.lake_reading import rows_in
from tests.support.metadata_log import batch, value
from tests.support.spark_cluster import spark_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.timeout(2000), pytest.mark.slow]
TOPIC_ID = "A" * 22


@pytest.fixture
def metadata_log(tmp_path: Path) -> Path:
    """Write the metadata log of a cluster, with topics and their configs; return its path."""
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


@pytest.mark.xdist_group("spark-two")
@pytest.mark.long
def test_a_cluster_makes_the_same_rows_as_this_machine(spark: SparkSession, tmp_path: Path, metadata_log: Path) -> None:
    middle = len(BEFORE) // 2
    (tmp_path / "request.log").write_bytes(log_of(BEFORE[:middle]) + noise() + log_of(BEFORE[middle:]))
    inputs = Inputs((MetadataLog(str(metadata_log)),), (RequestLog((str(tmp_path / "request.log"),), "", 1),))
    package, script = write_package(tmp_path / "kac-lake.zip")
    jars = spark_jars(os.environ, [Group.DELTA], find_java(os.environ).program)
    cluster_folder = tmp_path / "cluster"
    cluster_folder.mkdir()
    there, here = (str(tmp_path / name) for name in ("there", "here"))
    with spark_cluster(cluster_folder) as cluster:
        alone = subprocess.run(
            [cluster.environ["PYSPARK_PYTHON"], "-c", "import console"], capture_output=True, check=False, cwd=tmp_path
        )
        assert b"ModuleNotFoundError" in alone.stderr
        given = ["update", there, msgspec.json.encode(inputs).decode(), "--max-bad-ratio=0.5"]
        done = cluster.submit(script, given, zips=package, jars=jars)
        assert done.returncode == 0, done.stderr[-4000:]
        report = json.loads(done.stdout.splitlines()[-1])
        assert all(count > 0 for count in cluster.executors), "a worker had nothing to do"
    for each in (report, asdict(update(Plan(Lake.create(here), inputs, 0.5), lambda: nullcontext(spark)))):
        assert each["status"] == "done"
        assert each["rows"]["history"] >= 40
    lakes = {"there": Lake.open(there), "here": Lake.open(here)}
    for table in TABLES.values():
        names = ", ".join(table.names)
        assert sorted(map(repr, rows_in(lakes["there"], table, names))) == sorted(
            map(repr, rows_in(lakes["here"], table, names))
        ), table.name

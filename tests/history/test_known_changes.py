"""From a real broker to the tables: every change with its author, the throttled pair with the quota that counts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from console.history.schema import TABLES
from console.history.store import Lake, parquet_files
from console.history.store.filesystem import Filesystem
from console.history.store.write import writing
from console.lake.sources import given_sources
from tests.history.known_changes import (
    ALICE,
    BULK,
    KEYSTORE,
    KEYSTORE_PASSWORD,
    PRODUCER_LIMIT,
    SCRAM_PASSWORD,
    known,
    make_changes,
    produce_above_the_limit,
)
from tests.history.lake_rows import rows_of
from tests.support.kafka_cluster import KafkaCluster
from tests.support.real_clusters import running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.broker, pytest.mark.slow, pytest.mark.core, pytest.mark.timeout(1200)]

ZONE = "America/New_York"
SECONDS = 8.0
UNBUILT: dict[str, list[dict[str, Any]]] = {}
"""What `kac history` had of a lake before it was built."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    """Two brokers, so that changes are forwarded; their clocks' zone is not UTC."""
    options = ("-Xmx256m", f"-Duser.timezone={ZONE}")
    yield from running(lambda: KafkaCluster(brokers=2, logins=True, request_log=True, jvm_options=options))


@pytest.fixture(scope="module")
def lake(cluster: KafkaCluster, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake of a cluster that was polled, changed, used, and polled again."""
    from console.history.jobs.build import build
    from console.history.jobs.ingest import ingest

    where = str(tmp_path_factory.mktemp("known") / "lake")
    kac("lake", "collect", "-b", cluster.bootstrap, "--lake", where)
    make_changes(cluster)
    mark = cluster.request_log.mark()
    assert produce_above_the_limit(cluster, SECONDS) > 0
    assert cluster.request_log.wait_for(1, "PRODUCE", since=mark)
    kac("lake", "collect", "-b", cluster.bootstrap, "--lake", where)
    for broker in cluster.broker_ids:
        # A log that no longer grows, and cores for Spark. The last of two controllers would wait for the other.
        cluster.kill(broker)
    metadata_log, logs = logs_of(cluster)
    sources = given_sources(
        metadata_logs=[metadata_log],
        request_logs=logs,
        cluster_id=cluster.cluster_id,
        zone=ZONE,
        folder=Path(where),
    )
    ingest(None, Lake.open(where), sources)
    UNBUILT[where] = history(where)
    build(lambda: spark, Lake.open(where))
    return where


def logs_of(cluster: KafkaCluster) -> tuple[str, list[str]]:
    """The folder of the metadata log, and each broker's request log as the option names it."""
    (metadata_log,) = (cluster.directory / "broker-1").glob("data-*/__cluster_metadata-0")
    logs = [f"{broker}={cluster.directory}/broker-{broker}/request.log" for broker in cluster.broker_ids]
    return str(metadata_log), logs


def ingest_by_command(cluster: KafkaCluster, where: str) -> None:
    metadata_log, logs = logs_of(cluster)
    options = [f"--request-log={log}" for log in logs]
    of_cluster = ("--cluster-id", cluster.cluster_id, "--timezone", ZONE)
    kac("lake", "ingest", "--lake", where, "--metadata-log", metadata_log, *options, *of_cluster)


def kac(*arguments: str) -> str:
    """Run it; its standard output."""
    ran = subprocess.run(
        [sys.executable, "-m", "console", *arguments], capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == 0, f"kac {' '.join(arguments)}: {ran.returncode}\n{ran.stderr}\n{ran.stdout}"
    return ran.stdout


def history(lake: str, **wanted: str) -> list[dict[str, Any]]:
    """What changed, the oldest first."""
    rows = json.loads(kac("history", "--lake", lake, "--output", "json", "--limit", "1000"))["history"]
    found = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return sorted(found, key=lambda row: row["valid_from"])


def usage(lake: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(kac("usage", "--lake", lake, "--output", "json"))["usage"]
    return found


def test_every_change_is_there_with_its_author(lake: str) -> None:
    rows = history(lake)
    for change in known():
        fits = [
            row
            for row in rows
            if (row["entity_type"], row["entity_key"], row["attr"]) == (change.type, change.key, change.attr)
            and (row["old_value"], row["new_value"]) == (change.old, change.new)
        ]
        told = [row for row in rows if row["attr"] == change.attr]
        assert len(fits) == 1, (change, fits, told)
        (row,) = fits
        assert (row["principal"], row["attribution"]) == (f"User:{change.who}", "request"), (change, row)
        assert row["is_deleted"] is (change.new is None)
        assert row["source"] == "kraft_log"


def test_every_change_is_shown_before_the_build_too(lake: str) -> None:
    """What the build has of the metadata log is what was shown of it before, less who did it."""
    names = ("entity_type", "entity_key", "attr", "old_value", "new_value", "valid_from", "valid_to", "is_deleted")
    before, after = (
        sorted([tuple(row[name] for name in names) for row in rows if row["source"] == "kraft_log"], key=repr)
        for rows in (UNBUILT[lake], history(lake))
    )
    assert before == after
    assert {row["is_built"] for row in UNBUILT[lake]} == {False}
    assert {row["is_built"] for row in history(lake)} == {True}


def test_what_nobody_is_known_to_have_done_has_no_author(lake: str) -> None:
    # Brokers register by themselves.
    registered = history(lake, entity_type="broker", entity_key="2", attr=":endpoints")
    assert [(row["principal"], row["attribution"]) for row in registered] == [(None, "none")]


def test_a_hidden_value_has_an_author_and_no_value(lake: str) -> None:
    (row,) = history(lake, entity_type="broker", entity_key="1", attr=KEYSTORE)
    assert (row["old_value"], row["new_value"], row["is_deleted"]) == (None, None, False)
    assert row["principal"] == "User:admin"


def test_no_secret_is_anywhere_in_the_lake(lake: str, cluster: KafkaCluster) -> None:
    import pyarrow.parquet as pq

    log = next((cluster.directory / "broker-1").glob("data-*/__cluster_metadata-0/*.log")).read_bytes()
    assert KEYSTORE_PASSWORD.encode() in log, "the broker keeps it in plain text: else this shows nothing"
    secrets = [KEYSTORE_PASSWORD, SCRAM_PASSWORD, *cluster.users.values()]
    files = [path for path in Path(lake).rglob("*") if path.is_file() and path.name != "hmac.key"]
    assert any(path.suffix == ".parquet" for path in files)
    for path in files:
        text = str(pq.read_table(path).to_pylist()) if path.suffix == ".parquet" else path.read_text(errors="replace")
        assert not [secret for secret in secrets if secret in text], path


def test_the_throttled_pair_is_found_with_the_quota_that_counts(lake: str) -> None:
    (row,) = [row for row in usage(lake) if row["quota_key"] == "producer_byte_rate" and row["throttle_ms"]]
    # Level 2: of the user, with the default client id; it is shared by nobody else, since each client id has its own.
    assert (row["scope_user"], row["scope_client"], row["level"]) == (ALICE, BULK, 2)
    assert row["quota_value"] == PRODUCER_LIMIT
    assert row["throttled_requests"] > 0
    assert row["utilisation"] > 1
    assert row["suggested_value"] is None or row["suggested_value"] > PRODUCER_LIMIT


def test_ingesting_again_takes_nothing_in_twice(lake: str, cluster: KafkaCluster) -> None:
    before = tables(lake)
    ingest_by_command(cluster, lake)
    assert tables(lake) == before


@pytest.mark.long
def test_commands_make_the_same_tables(lake: str, cluster: KafkaCluster, tmp_path: Path) -> None:
    """Each in a process of its own, with its own Spark."""
    where = str(tmp_path / "lake")
    Path(where).mkdir()
    shutil.copy2(Path(lake, "hmac.key"), where)  # what is hidden is equal by it alone
    with writing(Lake.create(where), "collect") as write:
        for table in ("snapshot", "poll"):
            write.add_arrow(table, parquet_files.read(Filesystem(), files_of(lake, table), TABLES[table]))
        write.commit()
    ingest_by_command(cluster, where)
    kac("lake", "build", "--lake", where)
    for table in ("change_event", "history", "drift", "quota_usage", "policy_violation"):
        assert rows_of(Lake.open(where), table) == rows_of(Lake.open(lake), table)


def files_of(lake: str, table: str) -> list[str]:
    opened = Lake.open(lake)
    return opened.files(opened.current(), table)


def tables(lake: str) -> dict[str, Any]:
    """What each table is made of, less the pipeline's own."""
    release = Lake.open(lake).current()
    return {name: files for name, files in release.tables.items() if name != "run"}

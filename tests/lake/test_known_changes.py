"""Tests of the path from the logs of real brokers to the lake's tables: each change has its author, and the throttled
client has its quota.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from console.lake import app, landing, runs
from console.lake.inputs import Inputs, MetadataLog, RequestLog
from console.lake.lake import Lake, Report
from tests.lake import golden
from tests.lake import known_changes as lake_known_changes
from tests.lake.lake_tables import different, held
from tests.lake.small_site import new_lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
Row = dict[str, Any]
_ROW = ("kind", "entity_type", "entity_key", "attr", "value", "source", "is_sensitive")


def unpacked(folder: Path, cluster_id: str) -> Inputs:
    """Unpack the metadata log and the request logs of the known changes into a folder; return them as inputs of a
    lake.
    """
    with zipfile.ZipFile(golden.KNOWN) as archive:
        archive.extractall(folder)
    logs = [
        RequestLog((str(folder / f"broker-{each}" / "request.log"),), cluster_id, each, golden.KNOWN_ZONE)
        for each in (1, 2)
    ]
    return Inputs((MetadataLog(str(folder / "data" / "__cluster_metadata-0")),), tuple(logs))


def deliver_polls(lake: Lake, rows: golden.Rows, name: str) -> None:
    """Deliver rows of the table `snapshot` to a lake as a polling host does, under this name."""
    polls = {(row["cluster_id"], row["observed_ts"]): list[Sequence[object]]() for row in rows}
    for row in rows:
        of_row = [row.get(each) for each in _ROW]
        polls[row["cluster_id"], row["observed_ts"]].append((*of_row[:-1], bool(of_row[-1])))
    landing.deliver(lake, [landing.Landed(cluster, at, found) for (cluster, at), found in polls.items()], name)  # type: ignore[arg-type]


def taken_in(spark: SparkSession, lake: Lake, world: golden.World, folder: Path) -> list[Report]:
    """Update a lake three times: with the poll before the changes; with the logs and the poll after the changes; and
    without new data. Return the three reports.
    """
    first, second = world.steps
    inputs = unpacked(folder, first["snapshot"][0]["cluster_id"])
    reports = []
    for number, (step, given) in enumerate(((first, Inputs()), (second, inputs), ({}, inputs))):
        if rows := [*step.get("snapshot", ()), *step.get("poll", ())]:
            deliver_polls(lake, rows, f"poll-{number}")
        reports.append(app.update(runs.Plan(lake, given), lambda: nullcontext(spark)))
    return reports


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide the directory of the lake and the brokers' files."""
    return tmp_path_factory.mktemp("known")


@pytest.fixture(scope="module")
def lake(folder: Path) -> Lake:
    return new_lake(folder / "lake", golden.KEY)


@pytest.fixture(scope="module")
def reports(spark: SparkSession, lake: Lake, folder: Path) -> list[Report]:
    """Update the lake with the known changes, and provide the reports of the updates."""
    return taken_in(spark, lake, golden.known_changes(), folder)


@pytest.fixture(scope="module")
def history(lake: Lake, reports: list[Report]) -> list[Row]:
    """Provide the rows of the table `history`, the oldest first."""
    assert [report.status for report in reports] == ["done"] * 3
    return sorted(held(lake, "history"), key=lambda row: row["valid_from"])


def of(history: list[Row], *entity: str) -> list[Row]:
    return [row for row in history if (row["entity_type"], row["entity_key"], row["attr"]) == entity]


@pytest.mark.takes(50)
def test_gold_is_what_was_kept(lake: Lake, history: list[Row]) -> None:
    assert history
    assert different(golden.known_changes(), lake) == ""


def test_every_change_is_there_with_its_author(history: list[Row]) -> None:
    for change in lake_known_changes.known():
        told = of(history, change.type, change.key, change.attr)
        fits = [row for row in told if (row["old_value"], row["new_value"]) == (change.old, change.new)]
        assert len(fits) == 1, (change, told)
        (row,) = fits
        assert (row["principal"], row["attribution"]) == (f"User:{change.who}", "request"), (change, row)
        assert row["is_deleted"] is (change.new is None)
        assert row["source"] == "kraft_log"


def test_what_nobody_is_known_to_have_done_has_no_author(history: list[Row]) -> None:
    # Brokers register without a request of a client.
    registered = of(history, "broker", "2", ":endpoints")
    assert [(row["principal"], row["attribution"]) for row in registered] == [(None, "none")]


def test_a_hidden_value_has_an_author_and_no_value(history: list[Row]) -> None:
    (row,) = of(history, "broker", "1", lake_known_changes.KEYSTORE)
    assert (row["old_value"], row["new_value"], row["is_deleted"]) == (None, None, False)
    assert row["principal"] == "User:admin"


def test_no_secret_is_anywhere_in_the_lake(lake: Lake, history: list[Row], folder: Path) -> None:
    log = next((folder / "data" / "__cluster_metadata-0").glob("*.log")).read_bytes()
    assert lake_known_changes.KEYSTORE_PASSWORD.encode() in log, (
        "the broker keeps it in plain text: else this shows nothing"
    )
    secrets = [
        lake_known_changes.KEYSTORE_PASSWORD,
        lake_known_changes.SCRAM_PASSWORD,
        golden.KEY.decode(),
        golden.KEY.hex(),
    ]
    files = [path for path in Path(lake.where).rglob("*") if path.is_file() and path.name != "hmac.key"]
    assert any(path.suffix == ".parquet" for path in files)
    for path in files:
        text = str(pq.ParquetFile(path).read().to_pylist()) if path.suffix == ".parquet" else ""
        text += path.read_bytes().decode(errors="replace")
        assert not [secret for secret in secrets if secret in text], path


def test_the_throttled_pair_is_found_with_the_quota_that_counts(lake: Lake, reports: list[Report]) -> None:
    rows = held(lake, "quota_usage")
    throttled = [row for row in rows if row["quota_key"] == "producer_byte_rate" and row["throttle_ms"]]
    assert throttled
    for row in throttled:
        # Level 2 is a limit of the user with the default client id; each client id has its own quota.
        assert (row["scope_user"], row["scope_client"], row["level"]) == (
            lake_known_changes.ALICE,
            lake_known_changes.BULK,
            2,
        )
        assert row["quota_value"] == lake_known_changes.PRODUCER_LIMIT
        assert row["throttled_requests"] > 0
    assert any(row["utilisation"] > 1 for row in throttled)


def test_an_update_without_news_takes_nothing_in(reports: list[Report]) -> None:
    first, second, third = reports
    assert first.taken.keys() == {"polls"}
    assert second.taken.keys() == {"polls", "kraft_log", "request_log"}
    assert (third.taken, third.rows) == ({}, {})

"""Tests of ``kac history``, ``kac drift`` and ``kac usage`` on a lake: as text, JSON and CSV, without a cluster."""

import csv
import io
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from console.cli import main as cli
from console.lake.lake import Lake
from console.lake.schema import HISTORY
from tests.support import delta_lake, loaded_modules, sample_lake
from tests.support.sample_lake import CLUSTER, NOON, OTHER


class Ran(NamedTuple):
    code: int
    out: str
    complaints: str

    @property
    def data(self) -> dict[str, Any]:
        return dict(json.loads(self.out))

    @property
    def rows(self) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.out)))


class Kac:
    """Runs command lines in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *argv: str) -> Ran:
        code = cli.run(argv)
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sample_lake.make_lake(str(tmp_path_factory.mktemp("sample") / "lake")).where


@pytest.fixture
def kac(capsys: pytest.CaptureFixture[str], lake: str, monkeypatch: pytest.MonkeyPatch) -> Kac:
    monkeypatch.setenv("KAC_LAKE", lake)
    return Kac(capsys)


def test_history_is_the_lakes_where_there_is_one(kac: Kac) -> None:
    ran = kac("history", "--cluster", CLUSTER)
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert lines[0].split() == ["When", "Entity", "Key", "Was", "Became", "Who", "Known", "by"]
    assert [word for word in lines[1].split() if word != "(1"][2:] == [
        *("topic", "orders", "retention.ms", "86400000", "d)", "604800000", "(7", "d)", "bob", "journal"),
    ]
    assert "alice or bob  several" in ran.out
    assert "······" in next(line for line in lines if "keystore.password" in line)
    assert "not polled" in ran.out
    assert "as of" in lines[-1]
    assert re.search(r"by run \d{8}T\d{6}Z-[0-9a-f]{6};", lines[-1])
    assert "unobserved" in lines[-1]
    assert OTHER not in ran.out


def test_history_of_all_clusters_names_them(kac: Kac) -> None:
    assert OTHER in kac("history").out
    assert kac("history", "--cluster", "all").out == kac("history").out


def test_what_a_first_poll_showed_is_one_line(kac: Kac, tmp_path: Path) -> None:
    lake = Lake.create(str(tmp_path / "first"))
    rows = [
        ("c", "topic", f"t{number}", "a", None, "1", NOON, None, True, False, None, "none", "snapshot")
        for number in range(12)
    ]
    delta_lake.put(lake, HISTORY, sample_lake.arrow("history", rows))
    ran = kac("history", "--lake", lake.where)
    (line,) = (line for line in ran.out.splitlines() if "first seen" in line)
    assert "first poll" in line
    assert "12 values of 12 entities" in line
    assert "--key '*' lists each value" in ran.out
    assert len(kac("history", "--lake", lake.where, "--key", "*").out.splitlines()) > 12
    assert len(kac("history", "--lake", lake.where, "--output", "json").data["history"]) == 12


def test_what_the_first_poll_shows_was_nobody_knows_what(kac: Kac, tmp_path: Path) -> None:
    lake = Lake.create(str(tmp_path / "first"))
    of_orders = (CLUSTER, "topic", "orders", "retention.ms")
    seen = (*of_orders, None, "604800000", NOON, NOON + timedelta(hours=1), False, False, None, "none", "snapshot")
    new = (*of_orders, None, "1000", NOON + timedelta(hours=2), None, True, False, None, "none", "snapshot")
    delta_lake.put(lake, HISTORY, sample_lake.arrow("history", [seen, new]))
    rows = kac("history", "--lake", lake.where).out.splitlines()[1:3]
    assert ["first seen" in row for row in rows] == [False, True]


def test_history_filtered(kac: Kac) -> None:
    ran = kac("history", "--key", "retention.*", "--principal", "bob", "--output", "json")
    assert [row["new_value"] for row in ran.data["history"]] == ["604800000"]
    since = f"{NOON:%Y-%m-%d}T11:00Z"
    found = kac("history", "orders", "--since", since, "--cluster", CLUSTER, "--output", "csv").rows
    assert {row["entity_key"] for row in found} == {"orders", "old-orders"}
    assert all(row["valid_from"] >= f"{NOON:%Y-%m-%d}T11:00" for row in found)
    found = kac("history", "--entity", "topic:orders", "--cluster", CLUSTER, "--output", "csv").rows
    assert {row["entity_key"] for row in found} == {"orders", "TOPIC:LITERAL:orders", CLUSTER}
    assert kac("history", "--since", "1min").out.startswith("nothing changed")
    assert "older changes are not shown" in kac("history", "--limit", "2").out


def test_what_is_not_understood(kac: Kac) -> None:
    ran = kac("history", "--since", "soon")
    assert ran.code == 2
    assert "'soon' is no time: 2h and 7d (ago)" in ran.complaints
    ran = kac("history", "--since", "1h", "--until", "2h")
    assert (ran.code, "--since is not before --until" in ran.complaints) == (2, True)
    ran = kac("usage", "--cluster", "nobody")
    assert ran.code == 2
    assert f"has no cluster 'nobody': {CLUSTER}, {OTHER}" in ran.complaints
    ran = kac("history", "--entity", "orders")
    assert (ran.code, "'orders' is no entity: they look like topic:orders" in ran.complaints) == (2, True)
    ran = kac("history", "--journal", "--key", "retention*")
    assert (ran.code, "--key is of a lake" in ran.complaints) == (2, True)


def test_a_lake_that_is_not_there(kac: Kac, tmp_path: Path) -> None:
    for command in ("history", "drift", "usage", "denied"):
        ran = kac(command, "--lake", str(tmp_path / "none"))
        assert ran.code == 1
        assert "There is no lake at" in ran.complaints
        assert "kac lake collect" in ran.complaints


def test_a_file_that_is_gone_is_told_in_a_line(kac: Kac, tmp_path: Path) -> None:
    where = sample_lake.make_lake(str(tmp_path / "lake")).where
    for file in Path(where).rglob("history/**/*.parquet"):
        file.write_bytes(b"PAR1 no")
    ran = kac("history", "--lake", where)
    assert ran.code == 1
    assert ran.complaints.count("\n") == 1
    assert "open the lake again" in ran.complaints


def test_without_a_lake_history_is_the_journals(kac: Kac, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAC_LAKE", str(tmp_path / "none"))
    ran = kac("history")
    assert ran.code == 2
    assert "which cluster?" in ran.complaints


def test_a_context_names_cluster_and_lake(kac: Kac, lake: str, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAC_LAKE")
    folder = own_home / ".config" / "kac"
    folder.mkdir(parents=True)
    named = f'bootstrap.servers = "127.0.0.1:1"\nlake = "{lake}"\ncluster_id = "{OTHER}"\n'
    (folder / "config.toml").write_text(f"[contexts.other]\n{named}")
    assert [row["cluster_id"] for row in kac("history", "--output", "csv").rows] == [OTHER]
    assert [row["cluster_id"] for row in kac("drift", "-c", "other", "--output", "csv").rows] == [OTHER]


def test_drift(kac: Kac) -> None:
    ran = kac("drift", "--cluster", CLUSTER, "--scope", "broker")
    assert [line.split()[0] for line in ran.out.splitlines()[1:4]] == ["high", "medium", "low"]
    assert "/data/kafka  /mnt/kafka" in ran.out
    assert "\x1b" not in kac("drift").out
    assert kac("drift", "--exit-code").code == 3
    assert kac("drift", "--key", "none", "--exit-code").code == 0
    assert "nothing differs" in kac("drift", "--key", "none").out
    (row,) = kac("drift", "--scope", "baseline", "--key", "min*", "--output", "json").data["drift"]
    assert (row["majority_value"], row["this_value"], row["entity_key"]) == ("2", None, "topic:payments")


def test_usage(kac: Kac) -> None:
    ran = kac("usage", "--cluster", CLUSTER)
    first = ran.out.splitlines()[1]
    assert first.startswith("alice / checkout  producer_byte_rate")
    assert "120%  (user, client)" in first
    assert "8 MB/s" in first
    assert "estimates from request logs" in ran.out
    rows = kac("usage", "--principal", "alice", "--output", "json").data["usage"]
    assert [row["quota_key"] for row in rows] == ["producer_byte_rate", "consumer_byte_rate"]
    assert len(rows[0]["series"]) == 120
    assert len(kac("usage", "--limit", "2", "--output", "csv").rows) == 2
    assert kac("usage", "--cluster", OTHER).out.startswith("nothing was used in this window")


def test_reading_a_lake_loads_no_client_no_screen_and_no_spark(lake: str) -> None:
    loaded = loaded_modules.loaded_by("history", "--lake", lake, "--cluster", CLUSTER)
    assert loaded.code == 0
    assert loaded.any_of("asyncio", "textual", "rich", "aiokafka", "kio", "pyarrow", "pyspark", "yaml") == set()
    # The import of these modules took half of the time of a query on a year, and built tables do not need them.
    assert loaded.any_of("console.journal", "console.plan.kinds", "console.triage") == set()

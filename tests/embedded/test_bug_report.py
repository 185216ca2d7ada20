"""Tests of ``kac bug-report``: it writes one file that only its owner can read, which has the cluster's names only in
the checks, and no secrets.
"""

import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec, SaslSpec, clusters_of
from console.flight.flight_reader import FlightReader
from console.model.secret import Secret
from tests.support.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
LOGIN = """
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
  username="ops" password="${env:SECRET}";
"""


def report(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    return subprocess.run(
        [sys.executable, "-m", "console", "bug-report", *arguments],
        cwd=folder,
        env=environ | environment,
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip


def held(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_of_a_cluster_it_has_checks_and_a_record_without_names(tmp_path: Path) -> None:
    users = SaslSpec(plain={"ops": Secret("hunter2")})
    asked = ClusterSpec(sasl=users, super_users=frozenset({"User:ops"}))
    (spec,) = clusters_of("incident", asked).values()
    (tmp_path / "client.properties").write_text(LOGIN)
    with run_in_thread(spec) as cluster:
        options = ("--command-config", "client.properties", "-b", cluster.bootstrap)
        done = report(tmp_path, "one.zip", *options, "--for", "1s", SECRET="hunter2")
    assert done.returncode == 0, done.stderr
    file = tmp_path / "one.zip"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    files = held(file)
    assert list(files) == ["READ-ME-FIRST.txt", "checks.json", "about.json", "brokers.kacflight"]
    assert files["READ-ME-FIRST.txt"].decode() in done.stdout
    checks = {each["name"]: each for each in json.loads(files["checks.json"])["checks"]}
    assert checks["kac"]["health"] == "ok"
    assert len(checks) > 8
    assert str(tmp_path).encode() not in files["checks.json"]
    assert json.loads(files["about.json"])["kac"].startswith("0.")
    (tmp_path / "brokers.kacflight").write_bytes(files["brokers.kacflight"])
    record = FlightReader(tmp_path / "brokers.kacflight")
    assert record.header.anonymous
    for content in files.values():
        assert b"hunter2" not in content
    assert "hunter2" not in done.stdout + done.stderr
    assert b"checkout.orders" not in files["brokers.kacflight"]


def test_without_a_cluster_it_is_about_this_host(tmp_path: Path) -> None:
    done = report(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (file,) = tmp_path.glob("kac-bug-report-*.zip")
    files = held(file)
    assert list(files) == ["READ-ME-FIRST.txt", "checks.json", "about.json"]
    assert b"no cluster was named" in files["READ-ME-FIRST.txt"]


def test_where_no_broker_answers_it_has_the_checks(tmp_path: Path) -> None:
    done = report(tmp_path, "one.zip", "-b", "127.0.0.1:1", "--for", "1s")
    assert done.returncode == 0
    files = held(tmp_path / "one.zip")
    assert "brokers.kacflight" not in files
    assert b"no broker answered" in files["READ-ME-FIRST.txt"]
    assert "bad" in {each["health"] for each in json.loads(files["checks.json"])["checks"]}


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "one.zip").write_text("mine")
    done = report(tmp_path, "one.zip")
    assert (done.returncode, (tmp_path / "one.zip").read_text()) == (2, "mine")
    assert "is there already" in done.stderr

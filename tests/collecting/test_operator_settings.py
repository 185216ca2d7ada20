"""Tests of an operator's settings for Spark: which kac accepts, and from which files and variables it reads them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from console.cli.main import run
from console.collecting.java import NoSpark
from console.collecting.operator_settings import HELD, setting_of, settings_of_file
from console.lake.spark import EVERYWHERE

SECRET = "planted-91c2d7"


@pytest.mark.parametrize(
    "text", ["spark.ui.enabled=true", "spark.x=a=b", "spark.eventLog.dir=file:/tmp/a b", "spark.x="]
)
def test_a_name_and_a_value(text: str) -> None:
    assert "=".join(setting_of(text)) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spark.ui.enabled", "write NAME=VALUE"),
        (f"ui.enabled={SECRET}", "write NAME=VALUE"),
        (f" spark.ui={SECRET}", "write NAME=VALUE"),
        ("spark.master=local", "--master URL"),
        ("spark.driver.bindAddress=0.0.0.0", "is set by kac"),
        ("spark.authenticate=false", "is set by kac"),
        ("spark.redaction.regex=none", "is set by kac"),
        (f"spark.hadoop.fs.s3a.secret.key={SECRET}", "spark-defaults.conf, in the folder that SPARK_CONF_DIR names"),
        (f"spark.ssl.keyStorePassword={SECRET}", "every user of this host sees a command line"),
    ],
)
def test_what_is_not_taken_is_said_without_its_value(text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(["lake", "update", "--conf", text])
    shown = capsys.readouterr().err
    assert said in shown
    assert SECRET not in shown


def test_what_the_tables_depend_on_is_kacs_own() -> None:
    assert EVERYWHERE.keys() <= HELD


def test_only_jobs_that_start_spark_take_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lake", "status", "--conf", "spark.ui.enabled=true"]) == 2
    assert "lake status takes no --conf" in capsys.readouterr().err


def test_the_file_of_defaults_is_that_of_spark(tmp_path: Path) -> None:
    assert settings_of_file({}) == {}
    assert settings_of_file({"SPARK_CONF_DIR": str(tmp_path)}) == {}
    file = tmp_path / "spark-defaults.conf"
    file.write_text(
        f"# ours\nspark.eventLog.enabled  true \nspark.ui.port=4050\nspark.ssl.keyPassword {SECRET}\n"
        "spark.sql.session.timeZone CET\nspark.master yarn\nother.x 1\n"
    )
    assert settings_of_file({"SPARK_CONF_DIR": str(tmp_path)}) == {
        "spark.eventLog.enabled": "true",
        "spark.ui.port": "4050",
        "spark.ssl.keyPassword": SECRET,
    }


def test_a_file_of_the_working_folder_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.plugins no.such.Plugin\n")
    monkeypatch.chdir(tmp_path)
    assert [settings_of_file({"SPARK_CONF_DIR": each}) for each in ("", ".")] == [{}, {}]


def test_a_file_that_another_user_may_change_is_refused(tmp_path: Path) -> None:
    """kac does not read a spark-defaults.conf that another user may change, because it names code that Spark loads."""
    file = tmp_path / "spark-defaults.conf"
    file.write_text("spark.plugins no.such.Plugin\n")
    file.chmod(0o666)
    with pytest.raises(NoSpark, match=r"spark-defaults\.conf is not read: .*chmod go-w"):
        settings_of_file({"SPARK_CONF_DIR": str(tmp_path)})


@pytest.mark.parametrize(
    ("content", "said"), [(b"\xff", "UTF-8"), (b"spark.x=\\u00", "line 1"), (b"#" * (1 << 21), "")]
)
def test_a_file_that_is_none_is_said(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_bytes(content)
    with pytest.raises(NoSpark, match=rf"spark-defaults\.conf can't be read: .*{said}"):
        settings_of_file({"SPARK_CONF_DIR": str(tmp_path)})


_IN_A_SESSION = """
import os, sys, urllib.request
from console.collecting.spark_session import lake_session

conf = {"spark.ui.enabled": "true", "spark.sql.shuffle.partitions": "3"}
with lake_session(os.environ, master="local[1]", conf=conf) as spark:
    context = spark.sparkContext
    assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
    assert context._jsc.hadoopConfiguration().get("secret.of.file") == sys.argv[1]
    assert context._jvm.java.lang.Runtime.getRuntime().maxMemory() < 1000 << 20
    assert context.uiWebUrl.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(f"{context.uiWebUrl}/jobs/", timeout=60) as page:
        assert page.status == 200
    assert spark.range(10).repartition(3).count() == 10
"""


@pytest.mark.slow
@pytest.mark.takes(20)
def test_a_session_here_has_them_its_page_and_its_events(tmp_path: Path) -> None:
    """A Spark session on this machine has the operator's settings, Spark's web page, and an event log without
    secrets. It runs in a process of its own, because a process can have only one session, and other tests share
    the session of this process.
    """
    events = tmp_path / "events"
    events.mkdir()
    (tmp_path / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.dir {events.as_uri()}\nspark.driver.memory 900m\n"
        "spark.eventLog.rolling.enabled false\nspark.eventLog.compress false\n"
        f"spark.hadoop.secret.of.file {SECRET}\nspark.sql.shuffle.partitions 7\nspark.ui.port 0\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", _IN_A_SESSION, SECRET],
        env={**os.environ, "SPARK_CONF_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (log,) = events.glob("local-*")
    assert '"SparkListenerJobEnd"' in log.read_text()
    assert SECRET not in log.read_text()

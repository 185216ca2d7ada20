"""Tests of `kac lake` on the command line: its messages if something is missing, and complete runs, after which no Java
process is left.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path

import pytest

from console.cli.lake import JOBS
from console.cli.lake_progress import Lines, fraction, shown
from console.cli.main import run
from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec
from console.extras import how_to_add
from console.lake.files import LakeError
from console.lake.lake import Lake
from console.lake.landing import Landed, deliver
from console.lake.runs import Progress, SparkFailed
from console.lake.schema import HISTORY, SNAPSHOT
from tests.support.children import Child

ROOT = Path(__file__).parents[2]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return polled_lake(tmp_path / "lake")


def polled_lake(where: Path) -> Lake:
    """Create a lake with polls that no update has read yet, and return it."""
    made = Lake.create(str(where))
    polls = [
        Landed("c", at, [("state", "topic", f"t{number}", "retention.ms", str(at), None, False) for number in range(5)])
        for at in range(10)
    ]
    deliver(made, polls, "20261121T101500Z-3f9a1c")
    return made


def test_each_job_has_its_module_and_its_options() -> None:
    from importlib import import_module

    for module, function, *_ in JOBS.values():
        assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["status", "--master", "local"], 2, "lake status takes no --master"),
        (["collect", "--keep", "90d", "--max-bad-ratio", "0.5"], 2, "takes no --keep, --max-bad-ratio"),
        (["update", "--every", "5min"], 2, "lake update takes no --every"),
        (["update", "--since", "2d"], 2, "lake update takes no --since"),
        (["update", "--keep", "5"], 2, "a duration is a number with a unit"),
        (["update", "--keep", "5h"], 2, "--keep 5h: a day or more"),
        (["run", "--every", "1s"], 2, "not more often than every 5s"),
        (["run", "--all"], 2, "--all polls clusters: say how often"),
        (["collect", "--every", "1s"], 2, "not more often than every 5s"),
        (["collect", "--every", "5"], 2, "a duration is a number with a unit"),
        (["collect", "--all"], 2, "kac contexts says where they are looked for"),
    ],
)
def test_what_can_not_be_done_is_said(
    argv: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["lake", *argv]) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--max-bad-ratio", "2"], ["--max-bad-ratio", "-1"], ["--max-bad-ratio", "many"]])
def test_numbers_have_their_limits(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(["lake", "update", *argv])
    assert caught.value.code == 2


def test_all_that_is_wrong_in_sources_is_said_with_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sources.yaml").write_text("version: 1\nclusters:\n - idd: a\njournals: [/not/there]\n")
    assert run(["lake", "update", "--lake", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path}/sources.yaml:3: unknown key 'idd'; did you mean id?" in said
    (tmp_path / "sources.yaml").write_text("version: 1\njournals: [/not/there]\n")
    assert run(["lake", "update", "--lake", str(tmp_path)]) == 1
    assert "there is no journal at /not/there" in capsys.readouterr().err


def test_a_refused_update_is_in_status_and_in_the_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake, file = Lake.create(str(tmp_path / "lake")), tmp_path / "kac.prom"
    sources, log = Path(lake.where, "sources.yaml"), tmp_path / "server.log"

    def updated(text: str) -> tuple[int, str, bool]:
        """Run `kac lake update` with this text as sources.yaml. Return its exit code, the message of the last run in
        `kac lake status` (``""`` without a run), and whether the metrics show a failure.
        """
        sources.write_text(text)
        code = run(["lake", "update", "--lake", lake.where, "--prometheus", str(file)])
        capsys.readouterr()
        assert run(["lake", "status", "--lake", lake.where, "--output", "json"]) == 0
        runs = json.loads(capsys.readouterr().out)["runs"]
        is_failed = 'kac_lake_failed{job="update"} 1' in file.read_text()
        file.unlink()
        return code, runs[0]["message"] if runs else "", is_failed

    (tmp_path / "journals").mkdir()
    assert updated(f"version: 1\njournals: {tmp_path}/journals\n") == (0, "", False)
    log.write_text("[2026-11-21 10:00:00,123] INFO up (kafka.server.KafkaServer)\n" * 200)
    code, said, is_failed = updated(
        f"version: 1\nclusters:\n - id: a\n   request-logs: [{{broker: 1, files: {log}}}]\n"
    )
    assert (code, is_failed) == (1, True)
    assert "lines of other loggers" in said
    code, said, is_failed = updated("version: 1\njournals: [/not/there]\n")
    assert (code, said, is_failed) == (1, "there is no journal at /not/there", True)
    code, said, is_failed = updated("version: 2\n")
    assert (code, is_failed) == (2, True)
    assert f"{sources}:1: " in said
    assert len([*lake.runs()]) == 3


def test_without_the_extra_it_says_what_to_install(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("console.collecting.spark_session.find_spec", lambda _: None)
    assert run(["lake", "update", "--lake", lake.where]) == 1
    assert how_to_add("lake") in capsys.readouterr().err


def test_without_java_it_says_what_to_do(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("console.collecting.java._bundled", lambda: None)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert run(["lake", "update", "--lake", lake.where]) == 1
    said = capsys.readouterr().err
    assert "install Java 17 or newer" in said
    assert "kac lake doctor" in said


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (TypeError("hunter2"), "kac itself failed: TypeError; kac.log"),
        (FileNotFoundError(2, "No such file or directory", "/logs/a"), "/logs/a: No such file or directory"),
        (SparkFailed("it failed in Spark (SOME_CONDITION)"), "SOME_CONDITION"),
        (LakeError("It is busy."), "kac: It is busy."),
    ],
)
def test_what_fails_in_a_job_is_a_line_without_values(
    wrong: Exception, said: str, lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def no_session(*_: object, **__: object) -> Iterator[None]:
        yield None

    def failing(*_: object, **__: object) -> None:
        raise wrong

    monkeypatch.setattr("console.collecting.spark_session.lake_session", no_session)
    monkeypatch.setattr("console.lake.app.update", failing)
    assert run(["lake", "update", "--lake", lake.where]) == 1
    told = capsys.readouterr()
    assert said in told.err
    assert len(told.err.splitlines()) == 1
    log = Path(os.environ["HOME"], ".local/state/kac/kac.log").read_text()
    assert "hunter2" not in told.out + told.err + log
    assert isinstance(wrong, LakeError) or "failing" in log


def test_where_nothing_is_new_no_spark_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("Spark is started")

    monkeypatch.setattr("console.collecting.spark_session.lake_session", never)
    where = str(tmp_path / "lake")
    assert run(["lake", "update", "--lake", where]) == 0
    assert "update: nothing new" in capsys.readouterr().out
    assert run(["lake", "update", "--lake", where, "--output", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["rows"], told["run_id"]) == ("done", {}, "")
    monkeypatch.setenv("KAC_LAKE", where)
    assert run(["lake", "update"]) == 0
    Path(where, "policies.yaml").write_text("nonsense: [")
    assert run(["lake", "update"]) == 0, "it is read when there is something to judge"


def test_a_lake_that_is_being_written_is_named_with_who_does_it(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with lake.alone("20261121T101500Z-3f9a1c", "run"):
        assert run(["lake", "update", "--lake", lake.where]) == 1
    said = capsys.readouterr().err
    assert f"The lake at {lake.where} is being written by `run` of" in said
    assert "Wait for it to end" in said
    ((status, kept),) = [(each["status"], each["message"]) for each in lake.runs()]
    assert status == "failed"
    assert kept in said


@pytest.mark.slow  # it fetches jars
def test_package_says_how_it_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lake", "package", "--file", str(tmp_path / "p.zip")]) == 0
    said = capsys.readouterr().out
    assert "spark-submit --master URL " in said
    assert f" --py-files {tmp_path}/p.zip {tmp_path}/kac_lake.py " in said
    assert run(["lake", "package", "--file", str(tmp_path / "not" / "p.zip")]) == 1
    assert "can't write" in capsys.readouterr().err


def test_progress_where_there_is_no_terminal() -> None:
    stream = StringIO()
    with shown(stream) as progress:
        assert isinstance(progress, Lines)
        for _ in range(4):
            progress.say("archiving")
        progress.step(Progress("update", "history", 1, 2))
        progress.step(Progress("update", "history", 1, 2, 3, 10))
        progress.step(Progress("update", "history", 1, 2, 10, 10, 12345, ended=True))
        progress.count("collect", 1, 2, "prod: 7 resources")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "archiving"
    assert re.fullmatch(r"update 1/2 history: 12,345 rows, \d+\.\d s", lines[1])
    assert lines[2:] == ["collect 1/2: prod: 7 resources"]


def test_how_much_of_a_job_is_done() -> None:
    assert fraction(Progress("b", "x", 1, 4)) == 0
    assert fraction(Progress("b", "x", 2, 4, 5, 10)) == 0.375
    assert fraction(Progress("b", "x", 4, 4, 0, 0, ended=True)) == 1


class Typed:
    """A command in a process of its own. A variable in its environment marks all processes that it starts."""

    def __init__(self, argv: Sequence[str], state: Path) -> None:
        self.mark = uuid.uuid4().hex
        environ = {**os.environ, "KAC_TEST_MARK": self.mark, "XDG_STATE_HOME": str(state)}
        self.process = Child(
            [sys.executable, "-m", "console", "lake", *argv],
            cwd=ROOT,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def marked(self) -> list[int]:
        """Return the process ids of the marked processes that still run, without those that make the class archive,
        which may continue.
        """
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and f"KAC_TEST_MARK={self.mark}".encode() in (entry / "environ").read_bytes():
                    command = (entry / "cmdline").read_bytes()
                    if b"console.collecting.java" not in command and b"-Xshare:dump" not in command:
                        found.append(int(entry.name))
        return found


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.takes(35)
def test_ctrl_c_ends_it_wherever_it_is_and_the_next_does_the_rest(tmp_path: Path) -> None:
    lake = polled_lake(tmp_path / "lake")
    for moment in ("starting Spark", "update 1/3 polls: 50 rows"):
        interrupted_at(moment, lake, tmp_path / "interrupted")
    again = Typed(argv_of(lake), tmp_path / "state")
    out, err = again.process.communicate(timeout=600)
    assert again.process.returncode == 0, err
    assert (lake.table(SNAPSHOT).rows, lake.table(HISTORY).rows) == (50, 50)
    told_and_left_no_java(again, out, err, tmp_path / "state")


def argv_of(lake: Lake) -> list[str]:
    return ["update", "--lake", lake.where, "--master", "local[1]", "--output", "json"]


def interrupted_at(moment: str, lake: Lake, state: Path) -> None:
    """Start an update of the lake, and interrupt it when it prints the text `moment`. Check that it ends with all its
    processes, and releases the lake's lock.
    """
    typed = Typed(argv_of(lake), state)
    assert typed.process.stderr is not None
    for line in typed.process.stderr:
        if moment in line:
            break
    else:
        pytest.fail(f"it did not come to {moment!r}")
    typed.process.send_signal(signal.SIGINT)
    _, rest = typed.process.communicate(timeout=600)
    assert typed.process.returncode == 130, rest
    assert "interrupted: what was taken in until then is in the lake" in rest
    assert "Traceback" not in rest
    assert typed.marked() == []
    with lake.alone("20261121T101500Z-3f9a1c", "test"):
        pass  # no process holds the lock


def told_and_left_no_java(built: Typed, out: str, err: str, state: Path) -> None:
    """Check the output of the first update of a lake, and that no Java process is left after it."""
    told = json.loads(out)
    assert told["rows"].items() >= {"change_event": 50, "history": 50}.items()
    assert abs(told["lag_ms"] / 1000 - time.time()) < 600  # the polls have times in the first microseconds of 1970
    assert "starting Spark" in err.splitlines()
    assert "update 1/2 gold" in err
    assert "WARN" not in err
    assert built.marked() == []
    assert "WARN" in (state / "kac" / "spark.log").read_text()


def test_nothing_but_its_own_words_is_on_standard_error(lake: Lake, tmp_path: Path) -> None:
    """`kac lake collect` writes at most one line of its own to standard error, and libraries report no leaks there when
    the process ends.
    """
    environ = {**os.environ, "HOME": str(tmp_path)}
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        command = [sys.executable, "-m", "console", "lake", "collect", "-b", cluster.bootstrap, "--lake", lake.where]
        ran = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stderr.splitlines()) <= 1, ran.stderr

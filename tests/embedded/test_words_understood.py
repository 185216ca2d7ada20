"""What a newcomer types: words of other prompts, a version, a command line without a cluster, JSON that is followed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from console.cli import main as cli
from console.embedded.brokers import ThreadedCluster
from console.embedded.scenarios.seed import add_topic
from console.embedded.spec import ClusterSpec
from console.language.errors import ParseError
from console.language.grammar import parse
from console.language.statements import Where
from console.language.verbs.leave import Quit
from tests.support import worlds
from tests.support.children import Child
from tests.support.patience import PATIENCE
from widgets.row_table import TextSearch

ROOT = Path(__file__).resolve().parents[2]


cluster = worlds.cluster(ClusterSpec(brokers=2), scope="module")


@pytest.mark.parametrize("where", [Where.BAR, Where.SHELL])
@pytest.mark.parametrize("text", ["q", "quit", "exit", ":q", ":quit", ":exit"])
def test_words_that_leave(text: str, where: Where) -> None:
    assert parse(text, where) == (Quit(),)


def test_they_end_a_script_too_which_has_no_colons() -> None:
    for text in ("q", "quit", "exit"):
        assert parse(text, Where.RUN) == (Quit(),)
    with pytest.raises(ParseError):
        parse(":q", Where.RUN)


@pytest.mark.parametrize("words", [["version"], ["-V"], ["--version"]])
def test_the_version(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(words) == 0
    assert capsys.readouterr().out.startswith("kac ")


def test_help_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    for words, wanted in ((["help"], "usage: kac"), (["help", "topics"], "kac topics")):
        with pytest.raises(SystemExit) as left:
            cli.run(words)
        assert left.value.code == 0
        assert wanted in capsys.readouterr().out


def test_without_a_cluster_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["run", "-e", "list topics"]) == 2
    said = capsys.readouterr().err
    for word in ("-b HOST:PORT", "--command-config FILE", "kac demo", "kac contexts", "kac --help"):
        assert word in said


def test_history_of_the_journal_has_a_time(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    script = "create topic timed partitions=1 replication=1; apply --yes"
    assert cli.run(["run", "-b", cluster.bootstrap, "-e", script]) == 0
    capsys.readouterr()

    def shown(*words: str) -> str:
        assert cli.run(["history", "-b", cluster.bootstrap, "--journal", *words]) == 0
        return capsys.readouterr().out

    assert "timed" in shown("--since", "2h")
    assert "timed" not in shown("--until", "2h")
    assert "no changes" in shown("--until", "2h")
    assert cli.run(["history", "-b", cluster.bootstrap, "--journal", "--since", "yesterday-ish"]) == 2
    assert cli.run(["history", "-b", cluster.bootstrap, "--journal", "--key", "x"]) == 2


@pytest.mark.parametrize(
    ("added", "hint"),
    [
        ("retention.ms=7d", "retention.ms takes no unit here: write retention.ms=604800000"),
        ("segment.bytes=64MiB", "segment.bytes takes no unit here: write segment.bytes=67108864"),
        ("retention.ms=soon", "Check the key's name"),
    ],
)
def test_an_amount_with_a_unit_is_named_as_kafka_takes_it(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], added: str, hint: str
) -> None:
    cluster.call(lambda each: each.state.topics.get("units") or add_topic(each.state, "units", 1, 1))
    words = ["configs", "-b", cluster.bootstrap, "--alter", "--topic", "units", "--add-config", added]
    assert cli.run(words) == 1
    assert hint in capsys.readouterr().err


def test_doctor_counts_what_failed_and_what_it_warns_of(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.run(["doctor", "-b", cluster.bootstrap])
    first = capsys.readouterr().out.splitlines()[0]
    assert re.fullmatch(r"\d+ checks: \d+ failed, (1 warning|\d+ warnings)", first), first


def test_nothing_due_is_said(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["due", "-b", cluster.bootstrap, "--apply"]) == 0
    written = capsys.readouterr()
    assert (written.out, written.err) == ("", "kac: nothing is due\n")


@pytest.mark.parametrize(
    ("query", "hits"), [("/!red", [1]), ("!red", [1]), ("/!/^r", [1]), ("/red/", [0]), ("/\\!", [2])]
)
def test_a_filter_is_taken_with_the_key_that_opens_it(query: str, hits: list[int]) -> None:
    """As the pages write it: /!not is what is typed from the first key on."""
    texts = ["red", "blue", "red!"] if query.startswith("/\\") else ["red", "blue"]
    assert list(TextSearch(texts).hits(query)) == hits


def test_a_watched_verdict_is_an_object_a_line(cluster: ThreadedCluster) -> None:
    command = [sys.executable, "-m", "console", "triage", "-b", cluster.bootstrap, "--watch", "--output", "json"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with Child(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while not json.loads(process.stdout.readline())["healthy"]:  # a busy machine may be late at first
            pass
        cluster.run(lambda each: each.broker_killed(2))
        while True:
            data = json.loads(process.stdout.readline())
            if data.get("causes"):
                break
        assert data["healthy"] is False
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)

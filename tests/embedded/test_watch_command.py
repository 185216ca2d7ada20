"""Tests of ``kac watch`` and of the same statement in scripts: their rows equal those of the screen."""

import json
from pathlib import Path

import pytest

from console.cli import main as cli
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from tests.support import fleets, worlds

cluster = worlds.cluster(
    ClusterSpec(brokers=3), worlds.topic("orders", ((1, 2), (3, 1), (2, 3))), down=(3,), scope="module"
)
SET = '[contexts.prod.watch]\nshop = "topic orders, group billing, broker *"\n'


@pytest.fixture(autouse=True)
def _context(cluster: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in fleets.write(tmp_path, {"prod": cluster}, prod=SET).items():
        monkeypatch.setenv(name, value)


ROWS = [["broker", "3", "fenced"], ["topic", "orders", "URP"], ["group", "billing", "no"], ["broker", "1", "up"]]


@pytest.mark.parametrize(
    "words",
    [["shop"], ["topic orders, group billing, broker *"], ["topic", "orders,", "group", "billing,", "broker", "*"]],
    ids=["set", "one word", "words"],
)
def test_the_rows_are_printed_with_the_worst_first(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["watch", "-c", "prod", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines[1:5]] == ROWS


def test_json_has_the_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["watch", "-c", "prod", "shop", "--output", "json"]) == 0
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)["watched"]}
    assert found["orders"]["values"]["under_replicated"] == 2
    assert found["orders"]["troubled"] is True
    assert found["billing"]["exists"] is False
    assert found["1"]["values"]["leaders"] >= 1
    assert found["1"]["state"] == "up"


def test_a_script_takes_the_statement_and_refuses_a_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["run", "-c", "prod", "-e", "watch broker 9"]) == 0
    assert "no such broker" in capsys.readouterr().out
    assert cli.run(["run", "-c", "prod", "-e", "watch shop"]) == 1
    assert "kac watch SET" in capsys.readouterr().err


def test_a_set_that_the_context_does_not_have_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["watch", "-c", "prod", "other"]) == 2
    assert "the context prod has no set 'other': it has shop" in capsys.readouterr().err

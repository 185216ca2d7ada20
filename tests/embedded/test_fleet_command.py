"""Tests of ``kac fleet``, which polls the cluster of each context once."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from console.cli import main as cli
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.log_file import state_directory
from console.session.muted_causes import MutedCauses
from tests.support import fleets, worlds

healthy = worlds.cluster(ClusterSpec(brokers=1), worlds.topic("orders", 2, 1, brokers=(1,)), scope="module")
troubled = worlds.cluster(
    ClusterSpec(brokers=3), worlds.topic("orders", ((1, 2), (3, 1), (2, 3))), down=(3,), scope="module"
)


@pytest.fixture(autouse=True)
def _contexts(
    healthy: ThreadedCluster, troubled: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = {"calm": healthy, "bad": troubled, "dead": fleets.nowhere(), "asks": healthy}
    for name, value in fleets.write(tmp_path, at, asks=fleets.ASKS).items():
        monkeypatch.setenv(name, value)


def test_a_row_for_each_context_and_the_worst_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["fleet"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [
        ["dead", "LOST"], ["bad", "CRIT"], ["asks", "asks"], ["calm", "healthy"],
    ]  # fmt: skip
    assert "nothing listens there" in lines[1]
    assert "broker 3 is down" in lines[2]
    assert "asks for its secret" in lines[3]


@pytest.mark.parametrize(("names", "code"), [(["calm"], 0), (["bad"], 1), (["dead"], 1), (["asks"], 1)])
def test_the_exit_code_says_whether_all_are_known_to_be_healthy(
    names: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["fleet", *names, "--output", "json"]) == code
    (row,) = json.loads(capsys.readouterr().out)["clusters"]
    assert (row["name"], row["healthy"]) == (names[0], code == 0)


def test_muted_causes_do_not_count(troubled: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    muted = MutedCauses(state_directory(os.environ) / "muted.json")
    cluster_id = troubled.call(lambda each: each.state.cluster_id)
    until = datetime.now(UTC) + timedelta(hours=1)
    try:
        muted.write(cluster_id, {"broker-down:broker:3": until})
        cli.run(["fleet", "bad", "--output", "json"])
        (row,) = json.loads(capsys.readouterr().out)["clusters"]
        assert "broker 3 is down" not in row["cause"]
        assert row["verdict"] == "HIGH"
    finally:
        muted.write(cluster_id, {})


def test_json_has_what_the_columns_have(capsys: pytest.CaptureFixture[str]) -> None:
    cli.run(["fleet", "bad", "--output", "json"])
    (row,) = json.loads(capsys.readouterr().out)["clusters"]
    assert [row[key] for key in ("verdict", "brokers", "brokers_up", "offline")] == ["CRIT", 3, 2, 0]
    assert row["under_replicated"] >= 2
    assert row["cause"].startswith("broker 3 is down")
    assert row["since"] is None, "it was so before the first look"


def test_a_context_that_does_not_exist_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["fleet", "calm", "nobody"]) == 2
    assert "there is no context 'nobody'" in capsys.readouterr().err


def test_no_context_at_all_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "empty.toml").write_text("")
    monkeypatch.setenv("KAC_CONFIG", str(tmp_path / "empty.toml"))
    assert cli.run(["fleet"]) == 2
    assert "no contexts are configured" in capsys.readouterr().err

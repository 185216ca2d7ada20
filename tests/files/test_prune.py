"""Tests of `--prune` on an embedded cluster of three brokers. tests/broker has a test on a real broker."""

from pathlib import Path

import pytest

from console.cli.main import run
from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec
from tests.support.prune_walk import walk


def test_what_no_file_has_is_removed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with run_in_thread(ClusterSpec(brokers=3)) as cluster:

        def kac(*words: str) -> tuple[int, str, str]:
            code = run([words[0], "-b", cluster.bootstrap, *words[1:]])
            captured = capsys.readouterr()
            return code, captured.out, captured.err

        walk(kac, tmp_path)

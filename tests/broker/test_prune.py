"""`--prune` on real brokers: the walk of the embedded cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.main import run
from tests.support.kafka_cluster import KafkaCluster
from tests.support.prune_walk import walk


def test_what_no_file_has_is_removed_and_nothing_else(
    empty_cluster: KafkaCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def kac(*words: str) -> tuple[int, str, str]:
        code = run([words[0], "-b", empty_cluster.bootstrap, *words[1:]])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    walk(kac, tmp_path)

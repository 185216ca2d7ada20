"""`--prune` on real brokers: the walk of the embedded cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import worlds
from tests.support.kafka_cluster import KafkaCluster
from tests.support.prune_walk import walk


def test_what_no_file_has_is_removed_and_nothing_else(
    empty_cluster: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walk(worlds.commands_on(empty_cluster, capsys), tmp_path)

"""What commands on a real cluster load: no screen, none of the heavy things that this cluster does not need."""

from __future__ import annotations

from tests.support.kafka_cluster import KafkaCluster
from tests.support.loaded_modules import loaded_by
from tests.unit.test_import_hygiene import MEASURES, SCREEN


def test_run_loads_no_screen(plain_cluster: KafkaCluster) -> None:
    loaded = loaded_by("run", "-b", plain_cluster.bootstrap, "-e", "describe broker 1")
    assert loaded.code == 0
    assert loaded.any_of(*SCREEN, "yaml", "cryptography") == set()
    assert {name for name in loaded.modules if name.split(".")[0] == "widgets"} <= MEASURES


def test_snapshot_loads_no_screen(plain_cluster: KafkaCluster) -> None:
    loaded = loaded_by("snapshot", "-b", plain_cluster.bootstrap)
    assert loaded.code == 0
    assert loaded.any_of(*SCREEN, "yaml", "cryptography") == set()
    assert {name for name in loaded.modules if name.split(".")[0] == "widgets"} <= MEASURES

"""Fixtures: a small cluster, and kac's commands on it."""

from pathlib import Path

import pytest

from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from tests.support import worlds
from tests.support.worlds import Kac, commands_on

cluster = worlds.cluster(ClusterSpec(brokers=3, scenario="quiet"))
"""Provide an embedded cluster of three brokers with a few topics."""


@pytest.fixture
def kac(
    cluster: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Kac:
    """Provide a function that runs a command line of kac on the cluster, and returns (exit code, standard output,
    standard error).
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return commands_on(cluster, capsys)

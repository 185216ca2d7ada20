"""A small cluster, and kac's commands on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.spec import ClusterSpec
from tests.embedded.apply_fronts import Kac, commands_on


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    """Three brokers with a few topics."""
    with run_in_thread(ClusterSpec(brokers=3, scenario="quiet")) as running:
        yield running


@pytest.fixture
def kac(
    cluster: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Kac:
    """Run a command line on the cluster: exit code, output, complaints."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return commands_on(cluster, capsys)

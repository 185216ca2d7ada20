"""Test of replaying a moment of the last half hour: another process opens the console's own flight record on the same
terminal.
"""

import os
import sys
from pathlib import Path

import pytest

from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec
from tests.support.terminal import Terminal

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.takes(20)
def test_enter_on_a_moment_replays_it_and_q_comes_back(tmp_path: Path) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if name in ("PATH", "TMPDIR", "LC_ALL")},
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        command = [sys.executable, "-m", "console", "-b", cluster.bootstrap]
        with Terminal(command, cwd=ROOT, environment=environment, columns=120, rows=40) as terminal:
            terminal.wait_for("watched since")
            terminal.send("\x07")
            terminal.wait_for("under-replicated")
            terminal.send("\x1b[D")
            terminal.wait_for("at the cursor")
            terminal.send("\r")
            terminal.wait_for("REPLAY")
            terminal.send("q")
            terminal.wait_for("back from the replay")
            assert terminal.process.poll() is None
    assert not [*tmp_path.rglob("*.kacflight")]

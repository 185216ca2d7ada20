"""Tests of `kac shell` as a process: in a dumb terminal, in a real one, and with its input from a pipe."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from tests.support import worlds
from tests.support.patience import PATIENCE
from tests.support.terminal import Terminal

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.slow

cluster = worlds.cluster(ClusterSpec(brokers=1, scenario="quiet"), scope="module")


def command(cluster: ThreadedCluster) -> list[str]:
    return [sys.executable, "-m", "console", "shell", "-b", cluster.bootstrap]


def environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "PYTHONPATH": str(ROOT),
        "PROMPT_TOOLKIT_NO_CPR": "1",
    }


def test_a_dumb_terminal_gets_no_escape_sequence(cluster: ThreadedCluster, tmp_path: Path) -> None:
    surroundings = {**environment(tmp_path), "TERM": "dumb"}
    with Terminal(command(cluster), cwd=tmp_path, environment=surroundings) as terminal:
        terminal.wait_for(f"{cluster.bootstrap}>")
        terminal.send("list topics identity*\r")
        terminal.wait_for("identity.sessions")
        terminal.wait_for(f"{cluster.bootstrap}>", times=2)
        terminal.send("q\r")
        assert terminal.wait_for_end() == 0
        assert b"\x1b" not in terminal.written


def test_keys_are_completed_and_coloured_on_a_real_one(cluster: ThreadedCluster, tmp_path: Path) -> None:
    with Terminal(command(cluster), cwd=tmp_path, environment=environment(tmp_path)) as terminal:
        terminal.wait_for(f"{cluster.bootstrap}>")
        terminal.send("show topic identity.aud")
        terminal.wait_for("identity.audit")
        terminal.send("\t\r")
        terminal.wait_for("overrides of")
        terminal.send("help show\r")
        terminal.wait_for("show [ENTITY] {KEY}")
        terminal.send("q\r")
        assert terminal.wait_for_end() == 0
        assert b"\x1b[" in terminal.written


def test_keys_that_interrupt_the_pager_do_not_end_the_shell(cluster: ThreadedCluster, tmp_path: Path) -> None:
    r"""Ctrl-C and Ctrl-\ in the pager do not end kac's shell, although the terminal sends their signals to kac too."""
    pager = tmp_path / "pager"
    wait = "until read typed < /dev/tty; do :; done"  # `read` fails at a signal
    traps = "trap 'echo it was interrupted' INT\ntrap 'echo it quits not' QUIT\n"
    pager.write_text(f"#!/bin/sh\n{traps}cat > /dev/null\necho opened\n{wait}\n")
    pager.chmod(0o700)
    surroundings = {**environment(tmp_path), "PAGER": str(pager)}
    session = ["setsid", "--ctty", "--wait", *command(cluster)]
    with Terminal(session, cwd=tmp_path, environment=surroundings, rows=10) as terminal:
        terminal.wait_for(f"{cluster.bootstrap}>")
        terminal.send("help reset\r")
        terminal.wait_for("opened")
        for key, said in (("\x03", "it was interrupted"), ("\x1c", "it quits not")):
            terminal.send(key)
            terminal.wait_for(said)
        terminal.send("a\n")
        terminal.wait_for(f"{cluster.bootstrap}>", times=2)
        terminal.send("q\r")
        assert terminal.wait_for_end() == 0


@pytest.mark.parametrize(
    ("script", "code", "out", "said"),
    [
        ("list topics identity*\n", 0, "identity.audit", ""),
        ("list topics identity*\nexit\nset topic nowhere retention.ms=2d\n", 0, "identity.audit", ""),
        ("lsit topics\nlist topics\n", 2, "", "did you mean 'list'"),
        (
            "set topic identity.audit retention.ms=2d\n",
            3,
            "staged",
            "kac: 1 edit staged and not applied: end the script with apply --yes",
        ),
        ("set topic nowhere retention.ms=2d\n", 1, "", "there is no topic 'nowhere'"),
    ],
)
def test_a_pipe_is_a_script(
    cluster: ThreadedCluster, tmp_path: Path, script: str, code: int, out: str, said: str
) -> None:
    done = subprocess.run(
        command(cluster),
        input=script,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=environment(tmp_path),
    )
    assert done.returncode == code
    assert out in done.stdout
    assert said in done.stderr

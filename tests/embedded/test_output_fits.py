"""What commands write on a terminal of 80 columns fits it: lines are broken at blanks, never in a name."""

from __future__ import annotations

import fcntl
import os
import pty
import socket
import struct
import sys
import termios
import threading

import pytest

from console.cli import main as cli
from console.cli import opening
from console.embedded.brokers import ThreadedCluster
from console.embedded.scenarios.seed import add_topic
from console.embedded.spec import ClusterSpec
from tests.support import worlds
from tests.support.patience import PATIENCE
from widgets.cells import cell_width

COLUMNS = 80


cluster = worlds.cluster(
    ClusterSpec(brokers=3),
    lambda running: add_topic(running.state, "platform.mirror-heartbeats", 3, 3),
    lambda running: add_topic(running.state, "logistics.stock-changes-of-all-warehouses", 3, 3),
    down=(3,),
    scope="module",
)


class Terminal:
    """A terminal of a width, in the place of standard output or of standard error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
        self._patched = monkeypatch
        self._columns = columns

    def __call__(self, *words: str, stream: str = "stdout") -> list[str]:
        """Run a command; the lines that it wrote there."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, self._columns, 0, 0))
        read: list[bytes] = []

        def reading() -> None:
            try:
                while piece := os.read(ours, 65_536):
                    read.append(piece)
            except OSError:
                return

        reader = threading.Thread(target=reading)
        reader.start()
        with os.fdopen(theirs, "w") as out, self._patched.context() as patch:
            patch.delenv("COLUMNS", raising=False)
            patch.setattr(sys, stream, out)
            cli.run(list(words))
        reader.join(PATIENCE)
        os.close(ours)
        return b"".join(read).decode().replace("\r\n", "\n").splitlines()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(monkeypatch, COLUMNS)


@pytest.mark.parametrize(
    "words",
    [
        ["topics", "--list"],
        ["topics", "--describe", "--topic", "platform.mirror-heartbeats"],
        ["configs", "--describe", "--topic", "platform.mirror-heartbeats"],
        ["brokers", "--list"],
        ["run", "-e", "list topics; list brokers; show topic platform.mirror-heartbeats"],
        ["doctor"],
        ["triage", "--for", "1s"],
        ["moves", "drain", "3"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_lines_are_as_wide_as_the_terminal(cluster: ThreadedCluster, terminal: Terminal, words: list[str]) -> None:
    lines = terminal(words[0], "-b", cluster.bootstrap, *words[1:])
    assert len(lines) > 2
    assert [line for line in lines if cell_width(line) > COLUMNS] == []
    assert any("platform.mirror-heartbeats" in line for line in lines) or words[0] in ("brokers", "doctor")


def test_a_reason_that_many_partitions_have_is_said_once(cluster: ThreadedCluster, terminal: Terminal) -> None:
    lines = terminal("moves", "-b", cluster.bootstrap, "drain", "3")
    told = " ".join(" ".join(lines).split())
    assert told.count("6 partitions can't move: factor 3 needs 3 other brokers") == 1
    assert told.count("can't move") == 1


def test_who_waits_is_told_what_for(
    cluster: ThreadedCluster, terminal: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal; a script's standard error has what is wrong alone."""
    words = ("triage", "-b", cluster.bootstrap, "--for", "1s")
    assert terminal(*words, stream="stderr") == ["kac: looking at the cluster for 1 s before the verdict…"]
    capsys.readouterr()
    cli.run(list(words))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(opening, "SAID_AFTER", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and never answers
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        said = " ".join(terminal("topics", "-b", address, "--list", stream="stderr"))
    assert f"kac: no answer yet from {address}; still trying" in said

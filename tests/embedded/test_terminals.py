"""Tests of many types of terminals: kac writes only what they can show, or says why it does not work there."""

import contextlib
import fcntl
import io
import os
import pty
import shutil
import socket
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.cli import main as cli
from console.cli import opening
from console.cli.main import COMMANDS, Command, run
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.replicas import new_topic, striped
from console.embedded.scenarios.seed import add_topic
from console.embedded.spec import ClusterSpec
from console.terminal import HANDLER, never_fail, register
from tests.support import worlds
from tests.support.patience import PATIENCE
from tests.support.terminal import Terminal
from widgets.cells import cell_width

ROOT = Path(__file__).parents[2]
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    """Provide a cluster with a topic, and a user whose name is not ASCII."""
    with run_in_thread(ClusterSpec(brokers=2)) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", striped([1, 2], 2, 2), [1, 2])))
        run(
            [
                "run",
                "--no-journal",
                "-b",
                running.bootstrap,
                "-e",
                "set user 'jürgen €' producer_byte_rate=5MB/s; apply --yes",
            ]
        )
        yield running


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON", "TERM"))}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


@pytest.mark.parametrize("command", [["demo"], ["-b", "127.0.0.1:1"]], ids=["demo", "screen"])
@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"TERM": "dumb"}, "TERM is dumb"),
        ({"TERM": ""}, "TERM is not set"),
        ({"LC_ALL": "C"}, "LC_ALL=C has no UTF-8"),
        ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, "LC_ALL=POSIX has no UTF-8"),
    ],
)
def test_a_terminal_without_a_screen_is_sent_to_the_shell(
    command: list[str], more: dict[str, str], why: str, tmp_path: Path
) -> None:
    # The test sets the locale, so the terminal's default settings are removed.
    with Terminal(
        [sys.executable, "-m", "console", *command],
        cwd=tmp_path,
        environment=environment(**{"TERM": "xterm", "LANG": "C.UTF-8", **more}),
    ) as terminal:
        terminal.wait_for("`kac --plain` works here")
        assert terminal.process.wait(timeout=PATIENCE) == 2
        assert why in " ".join(terminal.text.split())
        assert b"\x1b" not in terminal.written


@pytest.mark.skipif(shutil.which("screen") is None, reason="screen is not installed")
@pytest.mark.parametrize("utf8", [(), ("-U",)], ids=["bytes", "utf8"])
def test_a_window_of_gnu_screen_without_utf8_is_told(utf8: tuple[str, ...], tmp_path: Path) -> None:
    """The doctor says that a window of GNU screen has no UTF-8 unless GNU screen was started with UTF-8, whatever the
    locale of the shell in it is.
    """
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    environ = environment(TERM="xterm", LANG="C", SCREENDIR=str(folder), HOME=str(tmp_path))
    inner = ["env", "LC_ALL=C.UTF-8", sys.executable, "-m", "console", "doctor"]
    screen = ["screen", "-S", "plain", "-c", "/dev/null", *utf8, *inner]
    with Terminal(screen, cwd=tmp_path, environment=environ) as terminal:
        terminal.wait_for("screen is terminating")
        text = " ".join(terminal.text.split())
    assert ("this window of GNU screen has no UTF-8" in text) is not bool(utf8)


def test_what_is_no_terminal_gets_no_screen(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "console", "-b", "127.0.0.1:1"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        env=environment(TERM="xterm", LANG="C.UTF-8"),
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"standard input, output and error are not one" in done.stderr
    assert b"kac shell" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [
            "run",
            "-e",
            "list users; show user 'jürgen €'; effective user ü client ''; set topic orders retention.ms=1h; plan",
        ],
        ["quotas", "--list"],
        ["topics", "--describe"],
        ["configs", "--describe", "--topic", "orders", "--all", "--output", "table"],
        ["export"],
        ["snapshot"],
        ["compare", "--brokers"],
        ["history"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_ascii_streams_take_every_text(cluster: ThreadedCluster, arguments: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "console", arguments[0], "-b", cluster.bootstrap, *arguments[1:]],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        env=environment(**ASCII),
    )
    assert b"Traceback" not in done.stderr
    assert b"UnicodeEncodeError" not in done.stderr
    assert done.returncode in (0, 3), done.stderr
    assert done.stdout.isascii()
    assert arguments[0] == "history" or done.stdout


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.help], ids=lambda each: each.name)
def test_every_help_is_written_in_ascii_too(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    out = io.TextIOWrapper(written, encoding="ascii")
    never_fail([out])
    monkeypatch.setattr(sys, "stdout", out)
    with contextlib.suppress(SystemExit):
        run([command.name, "--help"])
    out.flush()
    assert written.getvalue()
    assert written.getvalue().isascii()


@given(st.text(st.characters(), max_size=30), st.sampled_from(["ascii", "latin-1", "cp437", "utf-8"]))
def test_no_text_fails(text: str, encoding: str) -> None:
    register()
    assert text.encode(encoding, HANDLER).decode(encoding)[:0] == ""
    if text.isascii():
        assert text.encode(encoding, HANDLER) == text.encode()


@pytest.mark.parametrize("leader", [[], ["setsid", "--ctty", "--wait"]], ids=["silently", "with SIGHUP"])
@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_the_console_ends_with_its_terminal(
    leader: list[str], seconds: float, cluster: ThreadedCluster, tmp_path: Path
) -> None:
    """The console ends when its terminal is closed, even without SIGHUP, and even if it has more output than the
    terminal accepts.
    """
    home = environment(HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path / "state"))
    command = [*leader, sys.executable, "-m", "console", "-b", cluster.bootstrap]
    with Terminal(command, cwd=tmp_path, environment=home, columns=120, rows=40) as terminal:
        terminal.wait_for("healthy")
        terminal.read_for(seconds)
        terminal.hang_up()
        terminal.process.wait(PATIENCE)


# -- Output fits a terminal of 80 columns: lines break at blanks, never in a name --------------------------------------

COLUMNS = 80

wide_cluster = worlds.cluster(
    ClusterSpec(brokers=3),
    lambda running: add_topic(running.state, "platform.mirror-heartbeats", 3, 3),
    lambda running: add_topic(running.state, "logistics.stock-changes-of-all-warehouses", 3, 3),
    down=(3,),
    scope="module",
)


class NarrowTerminal:
    """A terminal of a given width in place of standard output or standard error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
        self._patched = monkeypatch
        self._columns = columns

    def __call__(self, *words: str, stream: str = "stdout") -> list[str]:
        """Run a command; return the lines that it wrote to the terminal in place of `stream`."""
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
def terminal(monkeypatch: pytest.MonkeyPatch) -> NarrowTerminal:
    return NarrowTerminal(monkeypatch, COLUMNS)


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
def test_lines_are_as_wide_as_the_terminal(
    wide_cluster: ThreadedCluster, terminal: NarrowTerminal, words: list[str]
) -> None:
    lines = terminal(words[0], "-b", wide_cluster.bootstrap, *words[1:])
    assert len(lines) > 2
    assert [line for line in lines if cell_width(line) > COLUMNS] == []
    assert any("platform.mirror-heartbeats" in line for line in lines) or words[0] in ("brokers", "doctor")


def test_a_reason_that_many_partitions_have_is_said_once(
    wide_cluster: ThreadedCluster, terminal: NarrowTerminal
) -> None:
    lines = terminal("moves", "-b", wide_cluster.bootstrap, "drain", "3")
    told = " ".join(" ".join(lines).split())
    assert told.count("6 partitions can't move: factor 3 needs 3 other brokers") == 1
    assert told.count("can't move") == 1


def test_who_waits_is_told_what_for(
    wide_cluster: ThreadedCluster,
    terminal: NarrowTerminal,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While kac waits, it writes its progress to a terminal; if standard error is no terminal, only errors are written
    there.
    """
    words = ("triage", "-b", wide_cluster.bootstrap, "--for", "1s")
    assert terminal(*words, stream="stderr") == ["kac: looking at the cluster for 1 s before the verdict…"]
    capsys.readouterr()
    cli.run(list(words))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(opening, "SAID_AFTER", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts connections, and never answers
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        said = " ".join(terminal("topics", "-b", address, "--list", stream="stderr"))
    assert f"kac: no answer yet from {address}; still trying" in said

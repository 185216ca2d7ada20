"""Tests of copying to the clipboard through tmux, GNU screen and other terminals: which escape sequences kac writes,
and which text arrives.
"""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from console.tui.clipboard import sequence, takes_copies
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]
_SET = re.compile(rb"\x1b\]52;c?;([A-Za-z0-9+/=]*)(?:\x07|\x1b\\\\)")
PROGRAM = """
import asyncio, os, sys
from console.tui.clipboard import copy, sequence
class App:
    def copy_to_clipboard(self, text):
        self.clipboard = text
        sys.stdout.write(sequence(text, os.environ)); sys.stdout.flush()
said, _ = asyncio.run(copy(App(), sys.argv[1] * int(sys.argv[2]), os.environ))
print("said:", said, flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize(
    ("environ", "takes"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "foot"}, True),
        ({"TERM": "linux", "TMUX": "/tmp/x,1,0"}, True),
        ({"TERM": "screen", "STY": "1.x"}, True),
        ({"TERM": "linux"}, False),
        ({"TERM": "dtterm"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "6800"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
    ],
)
def test_which_terminals_take_copies(environ: Mapping[str, str], takes: bool) -> None:
    assert takes_copies(environ) is takes
    assert bool(sequence("orders", environ)) is takes


def test_sequences_are_wrapped_for_what_stands_between() -> None:
    plain = sequence("orders", {"TERM": "xterm"})
    assert plain == "\x1b]52;c;b3JkZXJz\x07"
    for tmux in ({"TERM": "screen-256color", "TMUX": "x"}, {"TERM": "tmux-256color"}):
        assert sequence("orders", tmux) == plain + "\x1bPtmux;\x1b\x1b]52;c;b3JkZXJz\x07\x1b\\"
    long = sequence("x" * 3_000, {"TERM": "screen", "STY": "1.x"})
    wrapped = long.removeprefix(sequence("x" * 3_000, {"TERM": "xterm"}))
    parts = re.findall("\x1bP(.*?)\x1b\\\\", wrapped, re.DOTALL)
    assert "".join(parts) == sequence("x" * 3_000, {"TERM": "xterm"})
    assert max(map(len, parts)) <= 240


def reached(command: list[str], environ: Mapping[str, str]) -> tuple[list[bytes], str]:
    """Run a command in a terminal until its program has copied and printed, or `PATIENCE` seconds have passed. Return
    the texts that arrived in the clipboard, and the output.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, {**os.environ, **environ, "TERM": "xterm-256color"})
    data, deadline = b"", time.monotonic() + PATIENCE
    try:
        while time.monotonic() < deadline and not (b" terminal" in data and _SET.search(data)):
            if select.select([terminal], [], [], 0.1)[0]:
                data += os.read(terminal, 65_536)
    except OSError:
        """The program has ended."""
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        os.close(terminal)
        os.waitpid(pid, 0)
    return [b64decode(found[1]) for found in _SET.finditer(data)], data.decode(errors="replace")


def program(folder: Path, times: int) -> list[str]:
    file = folder / "copies.py"
    file.write_text(PROGRAM)
    return [sys.executable, str(file), "orders", str(times)]


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.parametrize("times", [1, 500])
@pytest.mark.parametrize("option", ["", "set-clipboard on", "set-clipboard off", "allow-passthrough on"])
def test_it_reaches_the_terminal_around_tmux(tmp_path: Path, option: str, times: int) -> None:
    (tmp_path / "conf").write_text(option and f"set -g {option}")
    tmux = ["tmux", "-S", str(tmp_path / "tmux"), "-f", str(tmp_path / "conf")]
    try:
        took, shown = reached(
            [*tmux, "new-session", " ".join(program(tmp_path, times))], {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
        )
    finally:  # the server of tmux outlives the terminal
        subprocess.run([*tmux, "kill-server"], capture_output=True, check=False, timeout=PATIENCE)
    assert took
    assert set(took) == {b"orders" * times}
    assert "said: in tmux's buffer, and sent to its terminal" in shown
    assert "Ptmux" not in shown


@pytest.mark.skipif(shutil.which("screen") is None, reason="screen is not installed")
@pytest.mark.parametrize("times", [1, 500])
def test_it_reaches_the_terminal_around_screen(tmp_path: Path, times: int) -> None:
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    environ = {"PYTHONPATH": str(ROOT), "SCREENDIR": str(folder), "HOME": str(tmp_path)}
    try:
        took, shown = reached(["screen", "-S", "copies", "-c", "/dev/null", *program(tmp_path, times)], environ)
    finally:
        quits = ["screen", "-S", "copies", "-X", "quit"]
        subprocess.run(quits, env={**os.environ, **environ}, capture_output=True, check=False, timeout=PATIENCE)
    assert set(took) == {b"orders" * times}
    assert "said: sent to the terminal" in shown

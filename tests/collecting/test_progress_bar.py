"""Tests of the progress bar on a terminal of 80 columns: the counts and times are never cut off."""

import io
import re

import pytest

from console.cli.lake_progress import shown
from console.lake.runs import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def lines(terminal: Terminal) -> list[str]:
    """Return the lines on the terminal, without escape codes."""
    return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue()))


def test_what_has_no_end_tells_its_time_alone(terminal: Terminal) -> None:
    text = "archiving Spark's classes, once: later starts are faster"
    with shown(terminal) as told:
        told.say(text)
    (line,) = [line for line in lines(terminal) if text in line][-1:]
    assert re.search(r"━ +0:00:00 *$", line), line
    assert len(line) <= 80


def test_a_step_tells_its_counts_and_its_time(terminal: Terminal) -> None:
    with shown(terminal) as told:
        told.step(Progress("build", "policy_violation", 5, 5, 17, 66))
    (line,) = [line for line in lines(terminal) if "policy_violation" in line][-1:]
    assert re.match(r"build policy_violation +\S+ 5/5 17/66 tasks +0:00:00", line), line
    assert len(line) <= 80
    assert "-:--" not in line

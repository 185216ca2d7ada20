"""Tests of the pictures in the repository: they equal those that the console draws now, except for times of day and
ports.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from screenshots.take import lasting
from tests.support.patience import LONG_PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.core
@pytest.mark.takes(50)
@pytest.mark.parametrize(
    "words", [["--once"], pytest.param([], marks=pytest.mark.long)], ids=["each walk in one size", "all"]
)
def test_the_pictures_are_what_the_console_shows(words: list[str]) -> None:
    command = [sys.executable, "-m", "screenshots.take", "--check", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONG_PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_only_times_of_day_and_ports_may_differ() -> None:
    one = '<g id="terminal-12-matrix">applied 10:11:12 at 127.0.0.1:19092</g>'
    other = one.replace("12-", "99-").replace("10:11:12", "23:59:01").replace("19092", "40123")
    assert lasting(one) == lasting(other)
    assert lasting(one) != lasting(one.replace("applied", "checked"))

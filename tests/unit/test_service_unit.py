"""Tests that systemd accepts the unit in the packages and calls it safe, and that its options are options of kac."""

import argparse
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bundle.inputs import ROOT
from bundle.packages import UNIT
from console.cli.triage import triage_options

TEXT = (ROOT / "bundle" / UNIT).read_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_it_and_calls_it_safe(tmp_path: Path) -> None:
    # systemd-analyze needs a command that exists.
    (tmp_path / UNIT).write_text(TEXT.replace("/usr/bin/kac", "/bin/true"))
    one = str(tmp_path / UNIT.replace("@", "@prod"))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", one], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")
    judge = ["systemd-analyze", "security", "--offline=true", "--no-pager", one]
    judged = subprocess.run(judge, capture_output=True, text=True, check=False)
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", judged.stdout)
    assert found is not None
    assert float(found[1]) < 2.0


def test_its_options_are_options_of_kac() -> None:
    (line,) = re.findall(r"^ExecStart=/usr/bin/kac triage (.*)$", TEXT, re.MULTILINE)
    (example,) = re.findall(r"KAC_WATCH=(.*)$", TEXT, re.MULTILINE)
    parser = argparse.ArgumentParser()
    parser.add_argument("--context")
    parser.add_argument("--read-only", action="store_true")
    triage_options(parser)
    found = parser.parse_args(line.replace("%I", "prod").replace("$KAC_WATCH", example).split())
    assert (found.context, found.watch, found.notify, str(found.listen)) == ("prod", True, ["chat"], "127.0.0.1:9108")

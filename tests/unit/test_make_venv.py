"""Making the environments: nothing to do where they are up to date, and a clear word where Python lacks a part."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bundle.__main__ import first_ours
from tests.support.patience import PATIENCE

SCRIPT = Path(__file__).resolve().parents[2] / "requirements" / "make_venv.py"
# Runs the script in an interpreter that is made to look like another.
RUN_AS = "import runpy, sys; {}; sys.argv[:] = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


def make(folder: Path, lock: Path, *, pretend: str = "pass") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", RUN_AS.format(pretend), str(SCRIPT), str(folder), str(lock)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


def test_a_python_without_ensurepip_is_told_which_package_to_install(tmp_path: Path) -> None:
    done = make(tmp_path / "venv", tmp_path / "lock", pretend="sys.modules['ensurepip'] = None")
    found = "{}.{}".format(*sys.version_info[:2])
    assert done.returncode == 1
    assert f"apt install python{found}-venv" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_an_old_python_is_told_which_one_to_install(tmp_path: Path) -> None:
    done = make(tmp_path / "venv", tmp_path / "lock", pretend="sys.version_info = (3, 10, 2)")
    assert done.returncode == 1
    assert "is Python 3.10; kac needs 3.11 or newer" in done.stderr


def test_the_environment_of_another_checkout_is_left_alone(tmp_path: Path) -> None:
    """A link to it is how several checkouts share one: to make it anew would empty it for all of them."""
    lock, theirs, ours = tmp_path / "lock.txt", tmp_path / "theirs", tmp_path / "ours"
    lock.write_text("")
    theirs.mkdir()
    (theirs / "made-from").write_text("another lock, another checkout")
    ours.symlink_to(theirs)
    done = make(ours, lock)
    assert done.returncode == 1
    assert f"{ours} is a link to {theirs}, which is another checkout's environment" in done.stderr
    assert [each.name for each in theirs.iterdir()] == ["made-from"]


@pytest.mark.slow
def test_a_lock_that_cannot_be_had_leaves_no_environment_that_looks_ready(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(f"./nowhere.whl --hash=sha256:{'0' * 64}\n")
    for _ in range(2):
        done = make(tmp_path / "venv", lock)
        assert done.returncode == 1
        assert "pip could not install lock.txt" in done.stderr
        # It takes minutes: who waits knows what for.
        said = done.stderr.splitlines()
        assert said[:2] == [
            f"making a virtual environment in {tmp_path / 'venv'}",
            "pip installs the packages of lock.txt: a minute or so",
        ]


def test_a_bundle_begins_with_the_architecture_of_this_host() -> None:
    assert first_ours("aarch64") == ["aarch64", "x86_64"]
    assert first_ours("x86_64") == ["x86_64", "aarch64"]
    assert first_ours("riscv64") == ["aarch64", "x86_64"]

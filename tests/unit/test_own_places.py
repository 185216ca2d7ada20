"""Tests have a home of their own from the first on, and what they change outside of it fails the run."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.own_places import changed, real_places, too_few_files
from tests.support.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
INNER = """
import os
from pathlib import Path

import pytest

@pytest.fixture(scope="session")
def of_the_session():
    return os.environ["HOME"]

def test_it(of_the_session):
    assert of_the_session != {home!r}
    Path({target!r}).parent.mkdir(parents=True, exist_ok=True)
    Path({target!r}).write_text("x")
"""


@pytest.mark.parametrize(("below", "code"), [(".local/state/kac/journal/of.jsonl", 1), ("elsewhere/x", 0)])
def test_what_is_changed_outside_fails_the_run(tmp_path: Path, below: str, code: int) -> None:
    home = tmp_path / "home"
    home.mkdir()
    # Beside the tests, so that their conftest is the one that counts.
    folder = ROOT / "tests" / "unit"
    inner = folder / f"test_inner_{os.getpid()}_{code}.py"
    inner.write_text(INNER.format(home=str(home), target=str(home / below)))
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(inner)],
            cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
    finally:
        inner.unlink()
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert done.returncode == code, done.stdout
    assert ("changed outside of the tests' own folders" in done.stdout) is bool(code)
    assert (str(home / below) in done.stdout) is bool(code)


def test_what_changed_is_named(tmp_path: Path) -> None:
    places = real_places({"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")})
    (tmp_path / "state" / "kac").mkdir(parents=True)
    kept = tmp_path / "state" / "kac" / "kept"
    kept.write_text("x")
    before = places.seen()
    assert changed(before, places.seen()) == []
    kept.write_text("longer")
    (tmp_path / ".kaf").mkdir()
    assert changed(before, places.seen()) == sorted([str(kept), str(tmp_path / ".kaf")])


def test_more_files_than_a_shell_allows() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == resource.RLIM_INFINITY or soft >= min(8_192, hard if hard != resource.RLIM_INFINITY else 8_192)
    assert not too_few_files(10)
    assert "ulimit -n" in too_few_files(10**9)


def test_an_embedded_cluster_says_what_it_needs() -> None:
    code = (
        "import asyncio, resource\n"
        "from console.embedded.brokers import EmbeddedCluster\n"
        "from console.embedded.spec import ClusterSpec\n"
        "async def main():\n"
        "    cluster = EmbeddedCluster(ClusterSpec(brokers=60))\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (40, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n"
        "    await cluster.start()\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert "60 brokers need a file each, and one for each connection: ulimit -n is 40" in done.stderr


@pytest.mark.parametrize("path", ["", "real"])
def test_java_is_looked_for_before_anything_is_waited_for(tmp_path: Path, path: str) -> None:
    """As make asks; what can't run is said, and is no reason to stop."""
    environ = {"PATH": os.environ["PATH"] if path else str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.kafka_jars", "--java"],
        cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0
    assert ("the core will NOT RUN" in done.stdout) is ("no Java found" in done.stdout)
    if not path:
        assert "no Java found" in done.stdout
        jars = subprocess.run(
            [sys.executable, "-m", "tests.support.kafka_jars"],
            cwd=ROOT, env=environ | {"XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]},
            capture_output=True, text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
        assert jars.returncode == 1, jars.stdout

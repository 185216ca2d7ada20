"""Tests of how much the start of kac imports: the modules of kac, and the dataclasses in them, each of which takes a
millisecond to define.

`benchmarks/start.py` measures the times. If a limit is exceeded, the failure lists the modules or classes: import them
later, or make the classes `msgspec.Struct`.
"""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec
from tests.support.patience import PATIENCE
from tests.support.start_counts import StartCounts, of_command, of_screen

TOPIC = "checkout.orders"


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        yield cluster.bootstrap


RECORD = frozenset(f"console.flight.{name}" for name in ("memory", "record_file", "store"))
"""Modules that the thread of the flight record imports a second after the first answer; on a slow machine this may be
before the first rows are shown.
"""


def assert_small(made: StartCounts, *, modules: int, dataclasses: int) -> None:
    # First check that the counts are not empty.
    assert "console.cli.main" in made.modules
    assert made.others > 0
    assert len(made.modules - RECORD) <= modules, "\n".join(sorted(made.modules - RECORD))
    assert len(made.dataclasses) <= dataclasses, "\n".join(made.dataclasses)


def test_the_screen_until_its_first_rows(bootstrap: str) -> None:
    made = of_screen(bootstrap, "looking at what is wrong")
    assert "console.tui.panes.now" in made.modules
    assert not any(name.startswith("console.triage") for name in made.modules)
    assert made.structs > 20
    # Four of them receive the brokers' answers for the flight record, from the first answer on: 2 ms. Two list the
    # parts and their paces; two have the targets of edits of connectors and of schemas.
    assert_small(made, modules=132, dataclasses=8)


def test_configs_describe(bootstrap: str) -> None:
    made = of_command("configs", "--bootstrap-server", bootstrap, "--topic", TOPIC, "--describe")
    assert "console.admin.configs" in made.modules
    assert_small(made, modules=75, dataclasses=8)


def test_kio_imports_no_hypothesis_where_that_is_installed(bootstrap: str) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "console", "topics", "--list", "-b", bootstrap]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    imported = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert TOPIC in ran.stdout
    assert "kio.static._phantom" in imported
    assert "hypothesis.core" not in imported


def test_help() -> None:
    assert_small(of_command("--help"), modules=8, dataclasses=0)

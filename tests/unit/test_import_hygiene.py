"""Tests that a command loads only the modules that it needs, because imports take most of the start-up time."""

import subprocess
import sys

import pytest

from tests.support.loaded_modules import loaded_by

SCREEN = ("textual", "rich", "console.tui", "themes", "prompt_toolkit", "pygments")
MEASURES = {"widgets", "widgets.cells", "widgets.row_source"}
"""The modules that escape text and define columns; importing them loads no other module of `widgets`."""
CLIENT = ("aiokafka", "kio", "cryptography", "yaml")
TESTING = ("hypothesis", "pytest")


def test_help_loads_next_to_nothing() -> None:
    loaded = loaded_by("--help")
    assert loaded.code == 0
    assert loaded.output.startswith("usage: kac")
    assert loaded.any_of("asyncio", "ssl", *SCREEN, *CLIENT, *TESTING) == set()
    assert loaded.any_of("shutil", "_colorize", "dataclasses") == set()  # argparse would load them to format its help
    assert {name for name in loaded.modules if name.startswith("console.")} == {"console.cli", "console.cli.main"}


@pytest.mark.parametrize("argv", [("contexts",), ("run", "-e", "help"), ("run", "-e", "set nonsense")])
def test_what_needs_no_cluster_loads_no_client_and_no_screen(argv: tuple[str, ...]) -> None:
    loaded = loaded_by(*argv)
    assert loaded.any_of(*SCREEN, *CLIENT, *TESTING) == set()
    assert {name for name in loaded.modules if name.split(".")[0] == "widgets"} <= MEASURES


def test_what_nouns_agents_and_registries_need_is_loaded_for_them_alone() -> None:
    loaded = loaded_by("topics", "--help")
    assert loaded.code == 0
    assert loaded.any_of("console.cli.groups", "console.cli.transactions", "console.cli.features") == set()
    assert loaded.any_of("console.cli.partition_files", "asyncio", *SCREEN, *CLIENT) == set()
    for argv in (("mcp", "--help"), ("contexts",)):
        assert loaded_by(*argv).any_of("mcp", "mcp_types", "pydantic", "console.cli.mcp.serving", *CLIENT) == set()
    # Decoders load with the first schema, so commands without a schema load none of them.
    decoding = ("fastavro", "google", "grpc_tools", "console.admin.schema_registry", "console.wire.avro")
    for argv in (("--help",), ("contexts",), ("run", "-e", "help")):
        assert loaded_by(*argv).any_of(*decoding) == set()


def test_what_the_screen_watches_with_loads_no_reader_of_a_lake() -> None:
    """The modules with which the console keeps events and answers do not load, when they are imported, the lake's
    reader, which only contexts with a lake need; the journal and the kinds of edits, which are needed only after
    a change; and the reader of kac's version, which is needed only to write a record.
    """
    watching = "console.session.event_feed", "console.session.kept_record", "console.flight.memory"
    code = f"import sys\nfor name in {watching}: __import__(name)\nprint(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    )
    assert set(watching) <= loaded
    assert loaded & {"console.lake.reader", "console.lake.lake", "importlib.metadata", "email"} == set()
    assert {name for name in loaded if name.startswith(("console.journal", "console.plan.kinds"))} == set()


def test_help_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    widest = {}
    for columns in (60, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        help_ = loaded_by("--help").output.partition("options:")[2].partition("commands (")[0]  # options are wrapped
        widest[columns] = max(map(len, help_.splitlines()))
    assert 40 < widest[60] <= 58
    assert 80 < widest[120] <= 118


def test_another_thread_finds_pandas_meanwhile() -> None:
    pytest.importorskip("pandas")
    code = """import sys, threading
from console.lake import schema
import pyarrow
array, found = pyarrow.array, []
def slow(*values):
    other = threading.Thread(target=lambda: found.append(__import__("pandas").__name__))
    other.start()
    other.join()
    return array(*values)
pyarrow.array = slow
finders = list(sys.meta_path)
schema.arrow_schema(schema.REQUEST)
print(found, set(sys.meta_path) >= set(finders), any("Pandas" in type(each).__name__ for each in sys.meta_path))"""
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout == "['pandas'] True False\n"


def test_python_workers_of_spark_make_arrays_without_pandas_and_pandas_still_works() -> None:
    # PyArrow imports pandas by itself if it is installed, which takes 40 MiB in each worker.
    pytest.importorskip("pandas")
    code = """import sys
import console.lake.gold, console.lake.plans
import pyarrow
pyarrow.table({"a": pyarrow.array([1])})
assert "pandas" not in sys.modules
print(pyarrow.table({"a": [1]}).to_pandas().a[0])
import pandas
print(pyarrow.array(pandas.Series([2.0, None])).to_pylist())"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "1\n[2.0, None]\n", done.stderr

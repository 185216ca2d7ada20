"""What it takes until tests begin: each process of a run imports all files of tests that it was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
MARKED_BY_FOLDER = frozenset({"broker", "contract", "pipeline"})
"""Folders whose `conftest.py` marks tests."""
SLOW_MARKS = ("broker", "core", "slow")
_MARK = re.compile(rf"\bmark\.({'|'.join(SLOW_MARKS)})\b")


def may_be_slow(file: Path) -> bool:
    """Return whether a file may have tests with one of the `SLOW_MARKS`."""
    is_ours = file.is_relative_to(TESTS)
    return not is_ours or file.relative_to(TESTS).parts[0] in MARKED_BY_FOLDER or bool(_MARK.search(file.read_text()))


def refuse_hidden(items: Iterable[pytest.Item]) -> None:
    """Raise UsageError where a slow test stands in a file that `--slow-files` leaves out: nobody would run it."""
    slow = {each.path for each in items if any(map(each.get_closest_marker, SLOW_MARKS))}
    hidden = sorted(path for path in slow if not may_be_slow(path))
    if hidden:
        names = ", ".join(map(str, hidden))
        raise pytest.UsageError(f"no pytest.mark.{SLOW_MARKS[-1]} or its like stands in {names}, whose tests are slow")


def files_of(config: pytest.Config) -> list[Path]:
    """Return the files of tests that a run collects, in one order for all of its processes."""
    asked = [Path(each.partition("::")[0]).resolve() for each in config.args]
    ignored = [Path(each).resolve() for each in config.getoption("ignore") or ()]
    files = {file for path in asked for file in ([path] if path.is_file() else path.rglob("test_*.py"))}
    return sorted(
        file
        for file in files
        if file.is_relative_to(TESTS)
        and not any(map(file.is_relative_to, ignored))
        and (may_be_slow(file) or not config.getoption("slow_files"))
    )


def import_share(files: Sequence[Path], number: int, count: int) -> None:
    """Import every count-th file, from the number-th on.

    Processes that begin at once and import in the same order all compile every file and rewrite its assertions: none
    finds one that another process has kept. What can't be imported is left to the collection, which says so.
    """
    for file in files[number::count]:
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(file.relative_to(TESTS.parent).with_suffix("").parts))

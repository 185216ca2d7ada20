"""Decides which test files a run imports. Each process of a run imports every file that the run was given."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
MARKED_BY_FOLDER = frozenset({"broker", "scenarios", "collecting", "contract", "lake"})
"""Folders whose `conftest.py` marks tests."""
SLOW_MARKS = ("broker", "core", "slow")
_MARK = re.compile(rf"\bmark\.({'|'.join(SLOW_MARKS)})\b")


def may_be_slow(file: Path) -> bool:
    """Return whether a file may have tests with one of the `SLOW_MARKS`."""
    is_ours = file.is_relative_to(TESTS)
    return not is_ours or file.relative_to(TESTS).parts[0] in MARKED_BY_FOLDER or bool(_MARK.search(file.read_text()))


def refuse_hidden(items: Iterable[pytest.Item]) -> None:
    """Raise UsageError if a slow test stands in a file that `--slow-files` leaves out, because nobody would run it."""
    slow = {each.path for each in items if any(map(each.get_closest_marker, SLOW_MARKS))}
    hidden = sorted(path for path in slow if not may_be_slow(path))
    if hidden:
        names = ", ".join(map(str, hidden))
        raise pytest.UsageError(f"no pytest.mark.{SLOW_MARKS[-1]} or its like stands in {names}, whose tests are slow")

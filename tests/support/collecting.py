"""Decides which test files a run imports, because each worker process of a run imports every file that it is given."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
MARKED_BY_FOLDER = frozenset({"broker", "scenarios", "collecting", "contract", "lake"})
"""Folders of tests/ whose `conftest.py` gives tests a mark of `SLOW_MARKS`."""
SLOW_MARKS = ("broker", "core", "slow")
_MARK = re.compile(rf"\bmark\.({'|'.join(SLOW_MARKS)})\b")


def may_be_slow(file: Path) -> bool:
    """Return whether a test file may have tests with a mark of `SLOW_MARKS`: it names such a mark, is in a folder of
    `MARKED_BY_FOLDER`, or is outside tests/.
    """
    is_ours = file.is_relative_to(TESTS)
    return not is_ours or file.relative_to(TESTS).parts[0] in MARKED_BY_FOLDER or bool(_MARK.search(file.read_text()))


def refuse_hidden(items: Iterable[pytest.Item]) -> None:
    """Raise UsageError if a test has a mark of `SLOW_MARKS` and `may_be_slow` does not recognize its file: a run with
    `--slow-files` would leave the test out.
    """
    slow = {each.path for each in items if any(map(each.get_closest_marker, SLOW_MARKS))}
    hidden = sorted(path for path in slow if not may_be_slow(path))
    if hidden:
        names = ", ".join(map(str, hidden))
        raise pytest.UsageError(f"no pytest.mark.{SLOW_MARKS[-1]} or its like stands in {names}, whose tests are slow")

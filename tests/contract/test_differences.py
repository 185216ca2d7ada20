"""Test that each intended difference in differences.py is used by a test."""

from pathlib import Path

from tests.contract.differences import ON_PURPOSE


def test_every_difference_is_looked_for() -> None:
    tests = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    assert [name for name in ON_PURPOSE if f'differing("{name}")' not in tests] == []

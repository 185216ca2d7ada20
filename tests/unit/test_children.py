"""What a test starts ends with it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.children import Child, end_children

TESTS = Path(__file__).parents[1]
FOREVER = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(3600)"]
OWN_ENDS = ("support", "wire/record_frames.py")
"""What starts programs that several tests share, and ends them itself."""


def test_a_failed_assertion_within_the_block_ends_the_child() -> None:
    child = Child(FOREVER, stdout=subprocess.PIPE, text=True)

    def fail() -> None:
        with child:
            assert child.poll() is not None

    with pytest.raises(AssertionError):
        fail()
    assert child.returncode == -9


def test_a_child_that_nobody_waits_for_ends_with_the_test() -> None:
    child = Child(FOREVER, stdout=subprocess.PIPE, text=True)
    assert child.poll() is None
    end_children()
    assert child.returncode == -9


def test_no_test_starts_a_program_in_another_way() -> None:
    wrong = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in TESTS.rglob("*.py")
        if not str(path.relative_to(TESTS)).startswith(OWN_ENDS)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Popen", "create_subprocess_exec"))
    ]
    assert wrong == []

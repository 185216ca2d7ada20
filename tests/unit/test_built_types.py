"""Tests that only one thread prepares a type for msgspec (by `built`), because a second thread would use it half
prepared.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import console

# An annotation that takes half a second to evaluate leaves the outer type half built meanwhile.
TWO_THREADS = """
import threading, time
from dataclasses import dataclass
from typing import NamedTuple
import msgspec
from console.model.built_types import built

asked = threading.Event()

def slow():
    asked.set()
    time.sleep(0.5)
    return int

{kind}

def read():
    print(msgspec.convert({data}, built(Outer)).y)

first = threading.Thread(target=read)
first.start()
asked.wait()
read()
first.join()
"""
DATACLASS = "@dataclass\nclass Inner:\n    x: 'slow()'\n@dataclass\nclass Outer:\n    of: Inner\n    y: int"
KINDS = {
    "dataclass": (DATACLASS, '{"of": {"x": 1}, "y": 7}'),
    "Struct": (
        "class Inner(msgspec.Struct):\n    x: 'slow()'\nclass Outer(msgspec.Struct):\n    of: Inner\n    y: int",
        '{"of": {"x": 1}, "y": 7}',
    ),
    "NamedTuple": (
        "class Inner(NamedTuple):\n    x: 'slow()'\nclass Outer(NamedTuple):\n    of: Inner\n    y: int",
        "[[1], 7]",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_threads_that_first_use_a_type_together_all_read_it(kind: str) -> None:
    code, data = KINDS[kind]
    program = TWO_THREADS.format(kind=code, data=data)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    # Both threads write at once, so both values may come before both line ends.
    assert (ended.returncode, "".join(ended.stdout.split())) == (0, "77"), ended.stderr


ALONE = {"wire/decoding.py"}
"""Files whose code only runs in a process with one thread, so that they are exempt."""


def _given_types(tree: ast.AST) -> list[ast.expr]:
    """Return the types that functions in a syntax tree give to msgspec's `convert` and `decode`, without types that
    have no fields.
    """
    found = []
    for each in (
        node for function in ast.walk(tree) if isinstance(function, ast.FunctionDef) for node in ast.walk(function)
    ):
        if not isinstance(each, ast.Call):
            continue
        called = ast.unparse(each.func)
        if called in ("msgspec.convert", "convert"):
            found += each.args[1:2]
        elif called.endswith(("json.decode", "msgpack.decode")):
            found += [word.value for word in each.keywords if word.arg == "type"]
        elif called.endswith("msgpack.Decoder") or called.endswith("json.Decoder"):
            found += each.args[:1]
    return [each for each in found if ast.unparse(each) not in ("list[str]", "list[str | None]")]


def test_functions_give_msgspec_built_types_alone() -> None:
    """Functions give msgspec types only through `built`: msgspec prepares a type at its first use, perhaps while
    another thread uses it.
    """
    root = Path(console.__file__).parent
    wrong = {
        f"{path.relative_to(root)}:{each.lineno} {ast.unparse(each)}"
        for path in root.rglob("*.py")
        if str(path.relative_to(root)) not in {*ALONE, "model/built_types.py"}
        for each in _given_types(ast.parse(path.read_text()))
        if not ast.unparse(each).startswith("built(")
    }
    assert not wrong

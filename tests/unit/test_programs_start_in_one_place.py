"""Tests that only `console.programs` starts a process, and no other module of the product."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STARTER = ROOT / "console" / "programs.py"
OF_MODULES = {
    "subprocess": {"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "os": {"system", "popen", "fork", "forkpty", "startfile"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "webbrowser": {"open", "open_new", "open_new_tab", "get"},
}
PREFIXES = ("exec", "spawn", "posix_spawn")
"""Prefixes of the functions of `os` that start a process."""
METHODS = {"subprocess_exec", "subprocess_shell", "create_subprocess_exec", "create_subprocess_shell"}
"""Names of methods of event loops that start a process."""
WHOLE = {"pty", "multiprocessing", "webbrowser", "commands", "pexpect"}
"""Modules whose only use is to start a process."""
NAMES = {"ProcessPoolExecutor", "open_in_editor", "enable_open_in_editor", "open_url"}
"""Names of functions and classes in other libraries, each of which starts a process."""
NAMED = re.compile(rf"\b(?:{'|'.join(['subprocess', 'os', *METHODS, *WHOLE, *NAMES])})\b")
"""Words of which a file must contain one to start a process; other files are not searched further."""


def starts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of each place that starts a process, or refers to a function that does."""
    annotations = {
        id(inner)
        for node in ast.walk(tree)
        for of in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if of is not None
        for inner in ast.walk(of)
    }
    aliases = {
        each.asname or each.name: each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for each in node.names
    }
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, each.name) for each in names if each.name.partition(".")[0] in WHOLE)
            case ast.ImportFrom(module=module, names=names):
                taken = {each.name for each in names}
                bad = taken & (OF_MODULES.get(module or "", set()) | NAMES)
                bad |= {each for each in taken if module == "os" and each.startswith(PREFIXES)}
                bad |= {module} if module and module.partition(".")[0] in WHOLE else set()
                yield from ((node.lineno, each) for each in sorted(bad))
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if (module := aliases.get(name)) in OF_MODULES:
                starts_one = attr in OF_MODULES[module] or (module == "os" and attr.startswith(PREFIXES))
                if starts_one and id(node) not in annotations:
                    yield node.lineno, f"{module}.{attr}"
            case ast.Attribute(attr=attr) if attr in METHODS | NAMES:
                yield node.lineno, attr
            case ast.keyword(arg=arg) if arg in NAMES:
                yield node.value.lineno, str(arg)


def test_nothing_else_starts_a_process() -> None:
    files = [path for room in ("console", "widgets", "themes") for path in sorted((ROOT / room).rglob("*.py"))]
    assert STARTER in files
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in files
        if path != STARTER and NAMED.search(text := path.read_text(encoding="utf-8"))
        for line, what in starts(ast.parse(text))
    ]
    assert not found


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess\nsubprocess.run(['x'])",
        "import subprocess as s\nstart = s.Popen",
        "from subprocess import check_output",
        "import os\nos.execv('x', ['x'])",
        "import os\nos.posix_spawnp('x', ['x'], {})",
        "from os import spawnl",
        "import asyncio\nasyncio.create_subprocess_shell('x')",
        "loop.subprocess_exec(p, 'x')",
        "import pty",
        "from multiprocessing import Process",
        "from concurrent.futures import ProcessPoolExecutor",
        "session(enable_open_in_editor=True)",
        "app.open_url('https://x')",
    ],
)
def test_each_way_is_seen(code: str) -> None:
    assert NAMED.search(code)
    assert list(starts(ast.parse(code)))


def test_words_of_a_process_that_was_started_are_no_start() -> None:
    code = "import subprocess\ndef f(p: subprocess.Popen[bytes]) -> subprocess.Popen[str]:\n    p.wait(subprocess.PIPE)"
    assert not list(starts(ast.parse(code)))

"""The fast tests of what was changed: ``python -m tests.support.touched [COMMIT]`` runs them, of what is not committed
yet, or differs from that commit.

A test file is taken where it was changed itself, is named after a changed module, imports one, or names a changed page;
what holds the shape of the whole is always there. It is for a first answer within a minute: `make test-fast` has what
this can't see, such as a test of a screen that stands on a changed function three rooms below.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
ALWAYS = (
    "tests/unit/test_architecture.py",
    "tests/unit/test_import_circles.py",
    "tests/unit/test_links.py",
    "tests/unit/test_packages.py",
    "tests/unit/test_plain_words.py",
)
MOST = 30
"""Files of tests beside those: they take about a minute on two cores."""
NEAR = ("tests/unit", "tests/language", "tests/wire", "tests/files")
"""Whose tests take milliseconds: they come first where there are too many."""
SLOW = ("tests/broker", "tests/faults", "tests/lake", "tests/collecting", "tests/packaging", "tests/contract")
"""Whose tests are not fast, or not few."""


def changed(commit: str) -> list[str]:
    """Return the paths that differ from a commit, new files that git does not know yet among them."""
    known = _git("diff", "--name-only", commit)
    return sorted({*known, *_git("ls-files", "--others", "--exclude-standard")})


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


@cache
def imported(source: str) -> frozenset[str]:
    """Return the modules that a module imports, and what it takes of them as if that were modules, too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return frozenset(found)


def module_of(path: str) -> str:
    """Return a path's dotted name."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def weight(test: str, source: str, paths: Iterable[str]) -> int:
    """Return how much a test file is about changed paths: 0 not at all, 3 it is one of them."""
    most, modules = 0, imported(source)
    for path in paths:
        stem = PurePosixPath(path).stem.removesuffix(".tcss")
        if path == test:
            return 3
        if path.endswith(".py") and re.fullmatch(rf"test_{re.escape(stem)}(_\w+)?", PurePosixPath(test).stem):
            most = max(most, 2)
        elif module_of(path) in modules if path.endswith(".py") else PurePosixPath(path).name in source:
            most = max(most, 1)
    return most


def names_taken(source: str, paths: Iterable[str]) -> int:
    """Return how many names a test file takes of changed modules, by import or through the module's name."""
    modules = {module_of(path) for path in paths if path.endswith(".py")}
    tree = ast.parse(source)
    imports = [(n.module, each) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for each in n.names]
    whole = {each.asname or each.name for module, each in imports if f"{module}.{each.name}" in modules}
    through = {
        (node.value.id, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in whole
    }
    return len(through) + sum(module in modules for module, _ in imports)


def for_changes(paths: Sequence[str], root: Path) -> tuple[list[str], int]:
    """Return the test files for changed paths, those that are most about them first, and how many were left out."""
    weights: dict[str, tuple[int, bool, int]] = {}
    for file in sorted((root / "tests").rglob("test_*.py")):
        test = file.relative_to(root).as_posix()
        source = file.read_text("utf-8")
        about = weight(test, source, paths)
        if about == 3 or (about and not test.startswith(SLOW)):
            weights[test] = about, test.startswith(NEAR), names_taken(source, paths)
    found = sorted(weights, key=weights.__getitem__, reverse=True)
    return found[:MOST], max(0, len(found) - MOST)


def main() -> int:
    """Run them; pytest's exit code."""
    paths = changed(sys.argv[1] if len(sys.argv) > 1 else "HEAD")
    if not paths:
        print("nothing is changed; SINCE=COMMIT says since when")
        return 0
    found, more = for_changes(paths, ROOT)
    print(
        f"{len(paths)} paths changed: {len(found)} files of tests"
        + (f", {more} more in make test-fast" if more else "")
    )
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal"]
    fast = ["-m", "not broker and not slow and not long"]
    return subprocess.run([*pytest, *fast, *dict.fromkeys([*ALWAYS, *found])], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

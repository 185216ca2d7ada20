"""Runs the fast tests that concern changed files: ``python -m tests.support.touched [COMMIT]``. Without COMMIT the
changed files are the uncommitted ones.

It runs a test file that has changed, is named after a changed module, imports one, or names a changed page, and always
the tests of the structure of the whole tree. This takes less than a minute. Only `make test-fast` also finds indirect
effects, such as on a test of a screen that depends on a changed function through three packages.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
ALWAYS = tuple(f"tests/unit/test_{name}.py" for name in ("house", "import_circles", "pages", "plain_words"))
MOST = 30
"""Greatest number of test files to run besides the tests of the structure; they take about a minute on two cores."""
NEAR = ("tests/unit", "tests/language", "tests/wire", "tests/files")
"""Folders whose tests take milliseconds; their files are preferred if there are more than `MOST`."""
SLOW = tuple(f"tests/{name}" for name in ("broker", "faults", "nights", "lake", "collecting", "packaging", "contract"))
"""Folders with slow or many tests; their files only run if they have changed themselves."""


def changed(commit: str) -> list[str]:
    """Return the sorted paths of files that differ from a commit, including untracked files."""
    asked = (["diff", "--name-only", commit], ["ls-files", "--others", "--exclude-standard"])
    said = [
        subprocess.run(["git", *each], cwd=ROOT, capture_output=True, text=True, check=True).stdout for each in asked
    ]
    return sorted({*"\n".join(said).split("\n")} - {""})


@cache
def imported(source: str) -> frozenset[str]:
    """Return the names in a module's ``from … import`` statements: each module, and ``module.name`` of each name
    imported from it, which may be a module, too. source: the module's text.
    """
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return frozenset(
        name for each in nodes for name in (f"{each.module}", *(f"{each.module}.{of.name}" for of in each.names))
    )


def weight(test: str, source: str, path: str) -> tuple[int, int]:
    """Return how closely a test file is related to a changed path: 3 if it is that path, 2 if it is named after the
    changed module, 1 if it imports the module or names the file, else 0; and how often it names the module.
    """
    stem = PurePosixPath(path).stem.removesuffix(".tcss")
    names = re.search(rf"\b{re.escape(PurePosixPath(path).name if not path.endswith('.py') else stem)}\b", source)
    if path == test:
        return 3, 0
    if path.endswith(".py") and re.fullmatch(rf"test_{re.escape(stem)}(_\w+)?", PurePosixPath(test).stem):
        return 2, 0
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    is_about = names and (module in imported(source) if path.endswith(".py") else True)
    return (1, source.count(f"{stem}.")) if is_about else (0, 0)


def for_changes(paths: Sequence[str], root: Path) -> tuple[list[str], int]:
    """Return at most `MOST` test files for changed paths, the most closely related first, and the number of further
    ones that are left out.
    """
    found: dict[str, tuple[int, bool, int]] = {}
    for file in (root / "tests").rglob("test_*.py"):
        test, source = file.relative_to(root).as_posix(), file.read_text("utf-8")
        about, often = max((weight(test, source, path) for path in paths), default=(0, 0))
        if about == 3 or (about and not test.startswith(SLOW)):
            found[test] = about, test.startswith(NEAR), often
    ordered = sorted(found, key=lambda test: (*found[test], test), reverse=True)
    return ordered[:MOST], max(0, len(ordered) - MOST)


def main() -> int:
    """Run the fast tests of the changed paths, and return pytest's exit code; 0 if no path is changed."""
    paths = changed(sys.argv[1] if len(sys.argv) > 1 else "HEAD")
    if not paths:
        print("nothing is changed; SINCE=COMMIT says since when")
        return 0
    found, more = for_changes(paths, ROOT)
    more_of = f", {more} more in make test-fast" if more else ""
    print(f"{len(paths)} paths changed: {len(found)} files of tests{more_of}")
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal"]
    fast = ["-m", "not broker and not slow and not long"]
    return subprocess.run([*pytest, *fast, *dict.fromkeys([*ALWAYS, *found])], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
